//! Opens from the cache alone, and listings in parts, which the model lists as a whole.

use pathwalk::OpenFlags;
use pathwalk_model::{AT_FDCWD, OpenHow, Resolve};

use super::convert::{node, open_flags};
use super::{Answered, World, number};
use crate::composite::changes;
use crate::outcome::Answer;
use crate::words::{Body, Place, Slot};

impl World {
    pub(super) fn try_open(&mut self, at: &Place, flags: OpenFlags, mode: u16) -> Answered<Answer> {
        let Self { model, process, .. } = self;
        let start = at.at.map_or(AT_FDCWD, number);
        let how = OpenHow { flags: open_flags(flags), mode: mode.into(), resolve: Resolve::CACHED };
        let new = model.open2(process, start, &at.path.0, how)?;
        let found = model.fstat(process, new)?;
        model.close(process, new)?;
        Ok(Answer::Node(node(&found)))
    }

    pub(super) fn list_parts(&mut self, slot: Slot, names: [&Body; 2]) -> Answered<Answer> {
        let Answer::Listing(_) = self.list(slot)? else { return Ok(Answer::Done) };
        for change in changes(slot, names[0], names[1]) {
            // The change may be refused. The tree shows its result.
            let _ = self.answer(&change);
        }
        let Answer::Listing(mut listing) = self.list(slot)? else { return Ok(Answer::Done) };
        listing.retain(|name, _| !names.iter().any(|touched| touched.0 == *name));
        Ok(Answer::Listing(listing))
    }
}
