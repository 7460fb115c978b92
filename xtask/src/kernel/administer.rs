//! System calls of an administrator, those that do not wait, and listings in parts.

use std::os::fd::{BorrowedFd, OwnedFd};

use pathwalk::OpenFlags;
use rustix::fs::{self, RawDir, ResolveFlags};
use rustix::io::{self, ReadWriteFlags};

use super::Stage;
use super::calls::{device_of, open};
use super::tree::file_type;
use crate::cast::Actor;
use crate::composite::changes;
use crate::listing::{self, BesideChanges, Directory, Entry};
use crate::op::Op;
use crate::outcome::{Answer, Node, number};
use crate::words::{Body, Slot};

/// Clears the flags that users set, of an open file. Those stay by which ext4 says how it stores
/// the file.
pub(super) fn clear_flags(file: &OwnedFd) -> io::Result<()> {
    let set = fs::IFlags::IMMUTABLE | fs::IFlags::APPEND | fs::IFlags::NOATIME | fs::IFlags::NODUMP;
    let found = fs::ioctl_getflags(file)?;
    fs::ioctl_setflags(file, found.difference(set))
}

/// Clears the flags that users set, the ACLs and the extended attributes of a directory.
pub(super) fn reset(dir: &OwnedFd) -> io::Result<()> {
    clear_flags(dir)?;
    let mut list = vec![0_u8; 1 << 16];
    let length = fs::flistxattr(dir, &mut list[..])?;
    let mut names = list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.try_for_each(|name| fs::fremovexattr(dir, name))
}

/// Opens from the cache alone, and closes again.
pub(super) fn try_open(at: BorrowedFd<'_>, path: &[u8], flags: OpenFlags, mode: u16) -> io::Result<Node> {
    open(at, path, flags, mode, ResolveFlags::CACHED).map(|(_, node)| node)
}

/// Reads without waiting. On a tmpfs without such reads, reads in the ordinary way, which may wait.
pub(super) fn try_read_at(fd: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    // `preadv2(2)` treats greater offsets in another way, and answers an empty read in another way.
    if offset > i64::MAX as u64 || buffer.is_empty() {
        return io::pread(fd, buffer, offset);
    }
    let tried = io::preadv2(fd, &mut [std::io::IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT);
    match tried {
        Err(io::Errno::OPNOTSUPP) => io::pread(fd, buffer, offset),
        tried => tried,
    }
}

impl Stage<'_> {
    pub(super) fn list_parts(&mut self, actor: Actor, slot: Slot, size: u64, names: [&Body; 2]) -> io::Result<Answer> {
        let changes = changes(slot, names[0], names[1]);
        let touched = names.map(|name| &name.0[..]);
        let buffer = Vec::with_capacity(size.max(LEAST) as usize);
        listing::in_parts(Listed { stage: self, actor, slot, buffer, changes }, touched)
    }
}

/// The size of a buffer that holds any one entry, in bytes.
const LEAST: u64 = 300;

struct Listed<'a, 'k> {
    stage: &'a mut Stage<'k>,
    actor: Actor,
    slot: Slot,
    buffer: Vec<u8>,
    changes: [Op; listing::CHANGES],
}

impl Directory for Listed<'_, '_> {
    type Error = io::Errno;

    fn beside_changes(&self) -> BesideChanges {
        BesideChanges::Repeated
    }

    fn part(&mut self) -> io::Result<Vec<Entry>> {
        let mut listing = RawDir::new(self.stage.fd(self.slot), self.buffer.spare_capacity_mut());
        let mut part = Vec::new();
        let minor = device_of(self.stage.fd(self.slot))?;
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let (name, kind) = (entry.file_name().to_bytes().to_vec(), file_type(entry.file_type())?);
            let ino = number(minor, entry.ino());
            part.push(Entry { name, kind, ino, cookie: entry.next_entry_cookie() });
            if listing.is_buffer_empty() {
                break;
            }
        }
        Ok(part)
    }

    fn seek(&mut self, to: u64) -> io::Result<()> {
        fs::seek(self.stage.fd(self.slot), fs::SeekFrom::Start(to)).map(drop)
    }

    fn change(&mut self, which: usize) {
        // The change may be refused. The tree shows its result.
        let _ = self.stage.answer(self.actor, &self.changes[which]);
    }
}
