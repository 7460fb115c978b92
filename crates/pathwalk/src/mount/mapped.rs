//! Id-mapped mounts, as walks and operations see them.
//!
//! A record has the number of its mount's map, in a word of its own. It is written as the other
//! words are. But a mount that is at no place yet may get its map while it is used through a
//! handle, by a caller that has a pin and so rechecks nothing. Pair: the number's Release store
//! with the Acquire load here, so that the map is found.
//!
//! What always holds: a mount that has a map keeps that map until it ends.

use super::id_maps::IdMapNumber;
use super::records::{Changed, MAP, MountRecords, Standing};
use crate::attr::Attributes;
use crate::memory::slot::MountId;
use crate::permission::IdMap;
use crate::sync::Ordering;

impl MountRecords {
    /// Returns the id map of a mount that the caller has a pin on, if it has one.
    pub(crate) fn id_map(&self, mount: MountId) -> Option<&IdMap> {
        if !self.some_have_maps() {
            return None;
        }
        let number = IdMapNumber::from_word(self.line(mount)[MAP].load(Ordering::Acquire))?;
        Some(self.id_maps.get(number))
    }

    /// Returns the id map of the mount that a reader stands in.
    pub(crate) fn id_map_at(&self, standing: Standing) -> Result<Option<&IdMap>, Changed> {
        if !self.some_have_maps() {
            return Ok(None);
        }
        let map = self.id_map(standing.mount);
        if self.is_still(standing) { Ok(map) } else { Err(Changed) }
    }

    /// Returns attributes as they are seen through a mount that the caller has a pin on.
    pub(crate) fn shown(&self, mount: MountId, of: Attributes) -> Attributes {
        self.id_map(mount).map_or(of, |map| map.shown(of))
    }
}
