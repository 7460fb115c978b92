//! Opens from the cache alone, and listings in parts, which the model lists as a whole.

use pathwalk::{Errno, OpenFlags};
use pathwalk_model::{AT_FDCWD, AtFlags, OpenHow, Resolve};

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

    /// Lists a directory, and asks for the attributes of each entry. The model lists neither `.`
    /// nor `..`, but has both.
    pub(super) fn list_nodes(&mut self, slot: Slot) -> Answered<Answer> {
        let Answer::Listing(names) = self.list(slot)? else { return Ok(Answer::Done) };
        let Self { model, process, .. } = self;
        let mut node = |name: Vec<u8>| {
            let found = model.stat(process, number(slot), &name, AtFlags::SYMLINK_NOFOLLOW);
            (name, found.map(|found| node(&found)).map_err(|errno| Errno::from_raw(errno.0)))
        };
        let dots = [b".".to_vec(), b"..".to_vec()];
        Ok(Answer::Nodes(dots.into_iter().chain(names.into_keys()).map(&mut node).collect()))
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
