//! The flags that users set; access control lists; and listings in parts.

use std::io::SeekFrom;

use pathwalk::permission::AclKind;
use pathwalk::{AtFlags, Errno, InodeFlags, OpenFlags};

use super::Stage;
use super::tree::value;
use crate::base::Tree;
use crate::cast::Actor;
use crate::composite::changes;
use crate::listing::{self, BesideChanges, Directory, Entry};
use crate::op::Op;
use crate::outcome::{Answer, number};
use crate::words::{Body, List, Place, Slot};

impl Stage {
    pub(super) fn set_acl(&mut self, actor: Actor, of: &Place, list: &List, flags: AtFlags) -> Result<(), Errno> {
        self.more_than_a_place(of, flags)?;
        let (at, face) = (self.slots.at(of.at), &mut self.processes[actor.index()].face);
        face.set_acl(at, &of.path.0, list.kind, list.acl(), flags)
    }

    pub(super) fn acl(&mut self, actor: Actor, of: &Place, kind: AclKind, flags: AtFlags) -> Result<Answer, Errno> {
        self.more_than_a_place(of, flags)?;
        let (at, face) = (self.slots.at(of.at), &mut self.processes[actor.index()].face);
        face.acl(at, &of.path.0, kind, flags).map(|list| Answer::Bytes(value(list)))
    }

    /// Fails with `EBADF` for the descriptor of a mere place with an empty path, as `setxattrat(2)`
    /// does. A handle has no such mark.
    fn more_than_a_place(&self, of: &Place, flags: AtFlags) -> Result<(), Errno> {
        let known = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        let is_start = of.path.0.is_empty() && flags.contains(AtFlags::EMPTY_PATH) && known.contains(flags);
        let is_place = |slot| self.slots.file(slot).flags().contains(OpenFlags::PATH);
        if is_start && of.at.is_some_and(is_place) { Err(Errno::EBADF) } else { Ok(()) }
    }

    pub(super) fn set_flags(&mut self, actor: Actor, of: &Place, set: InodeFlags, flags: AtFlags) -> Result<(), Errno> {
        self.more_than_a_place(of, flags)?;
        let (at, face) = (self.slots.at(of.at), &mut self.processes[actor.index()].face);
        face.set_inode_flags(at, &of.path.0, set, flags)
    }

    pub(super) fn inode_flags(&mut self, actor: Actor, of: &Place, flags: AtFlags) -> Result<Answer, Errno> {
        self.more_than_a_place(of, flags)?;
        let (at, face) = (self.slots.at(of.at), &mut self.processes[actor.index()].face);
        let kept = InodeFlags::IMMUTABLE | InodeFlags::APPEND | InodeFlags::NOATIME | InodeFlags::NODUMP;
        face.inode_flags(at, &of.path.0, flags).map(|found| Answer::Number((found & kept).bits().into()))
    }

    pub(super) fn list_parts(&mut self, actor: Actor, slot: Slot, size: u64, names: [&Body; 2]) -> Result<Answer, Errno> {
        let changes = changes(slot, names[0], names[1]);
        let touched = names.map(|name| &name.0[..]);
        listing::in_parts(Listed { stage: self, actor, slot, most: (size / ENTRY).max(1) as usize, changes }, touched)
    }
}

/// The size of an entry with a short name in the kernel's listing, in bytes.
const ENTRY: u64 = 24;

struct Listed<'a> {
    stage: &'a mut Stage,
    actor: Actor,
    slot: Slot,
    /// The number of entries of a part.
    most: usize,
    changes: [Op; listing::CHANGES],
}

impl Directory for Listed<'_> {
    type Error = Errno;

    fn beside_changes(&self) -> BesideChanges {
        let is_of_host = self.stage.file_systems.values().any(Tree::lists_as_host);
        if is_of_host { BesideChanges::Repeated } else { BesideChanges::Checked }
    }

    fn part(&mut self) -> Result<Vec<Entry>, Errno> {
        let dir = self.stage.slots.file(self.slot);
        let minor = dir.handle().attributes()?.device.minor;
        let entry = |entry: pathwalk::Listed| {
            let (kind, ino, cookie) = (entry.kind, number(minor, entry.ino), entry.cookie);
            Entry { name: entry.name.into(), kind, ino, cookie }
        };
        Ok(dir.getdents(self.most)?.into_iter().map(entry).collect())
    }

    fn seek(&mut self, to: u64) -> Result<(), Errno> {
        self.stage.slots.file(self.slot).seek(SeekFrom::Start(to)).map(drop)
    }

    fn change(&mut self, which: usize) {
        // The change may be refused. The tree shows its result.
        let _ = self.stage.answer(self.actor, &self.changes[which]);
    }
}
