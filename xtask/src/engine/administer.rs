//! What is set beside the engine, which is told of it; and listings in parts.

use std::io::SeekFrom;
use std::ops::ControlFlow;

use pathwalk::{AtFlags, Errno, FileType, Handle, MountFlags, StatxFlags};

use super::Stage;
use crate::cast::Actor;
use crate::composite::changes;
use crate::listing::{self, Directory, Entry, Repeats};
use crate::op::Op;
use crate::outcome::{Answer, number};
use crate::words::{Body, List, Place, Slot};

impl Stage {
    pub(super) fn set_acl(&self, actor: Actor, of: &Place, list: &List, flags: AtFlags) -> Result<(), Errno> {
        let node = self.administered(actor, of, flags)?;
        may_set(&node)?;
        let found = node.attributes()?;
        if found.flags.intersects(StatxFlags::IMMUTABLE | StatxFlags::APPEND) {
            return Err(Errno::EPERM);
        }
        self.file_systems[&found.device].set_acl_of(node.key(), &list.0)?;
        self.vfs.refresh(&node).map(drop)
    }

    pub(super) fn set_flags(&self, actor: Actor, of: &Place, set: StatxFlags, flags: AtFlags) -> Result<(), Errno> {
        let node = self.administered(actor, of, flags)?;
        if matches!(node.kind(), FileType::Regular | FileType::Directory) {
            may_set(&node)?;
        }
        self.file_systems[&node.attributes()?.device].set_flags_of(node.key(), set)?;
        self.vfs.refresh(&node).map(drop)
    }

    fn administered(&self, actor: Actor, of: &Place, flags: AtFlags) -> Result<Handle, Errno> {
        if !AtFlags::SYMLINK_NOFOLLOW.contains(flags) {
            return Err(Errno::EINVAL);
        }
        self.processes[actor.index()].face.context().lookupat(self.slots.at(of.at), &of.path.0, flags)
    }

    pub(super) fn list_parts(&mut self, actor: Actor, slot: Slot, size: u64, names: [&Body; 2]) -> Result<Answer, Errno> {
        let changes = changes(slot, names[0], names[1]);
        let touched = names.map(|name| &name.0[..]);
        listing::in_parts(Listed { stage: self, actor, slot, most: (size / ENTRY).max(1) as usize, changes }, touched)
    }
}

/// Refuses with `EROFS` on a read-only mount, of which the file system does not know.
fn may_set(node: &Handle) -> Result<(), Errno> {
    if node.statfs()?.flags.contains(MountFlags::READ_ONLY) { Err(Errno::EROFS) } else { Ok(()) }
}

/// Bytes that an entry of a short name takes in the kernel's listing.
const ENTRY: u64 = 24;

struct Listed<'a> {
    stage: &'a mut Stage,
    actor: Actor,
    slot: Slot,
    /// Entries of a part.
    most: usize,
    changes: [Op; listing::CHANGES],
}

impl Directory for Listed<'_> {
    type Error = Errno;
    const REPEATS: Repeats = Repeats::Never;

    fn part(&mut self) -> Result<Vec<Entry>, Errno> {
        let mut part = Vec::new();
        let dir = self.stage.slots.file(self.slot);
        let minor = dir.handle().attributes()?.device.minor;
        dir.read_dir(|entry| {
            let (kind, ino, cookie): (FileType, u64, u64) = (entry.kind, number(minor, entry.ino), entry.cookie);
            part.push(Entry { name: entry.name.to_vec(), kind, ino, cookie });
            if part.len() < self.most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(part)
    }

    fn seek(&mut self, to: u64) -> Result<(), Errno> {
        self.stage.slots.file(self.slot).seek(SeekFrom::Start(to)).map(drop)
    }

    fn change(&mut self, which: usize) {
        // It may be refused: the tree shows what was made of it.
        let _ = self.stage.answer(self.actor, &self.changes[which]);
    }
}
