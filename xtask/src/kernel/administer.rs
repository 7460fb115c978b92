//! System calls of an administrator, those that do not wait, and listings in parts.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use pathwalk::permission::{AclEntry, AclTag};
use pathwalk::{AtFlags, FileType, OpenFlags, StatxFlags};
use rustix::fs::{self, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::{self, ReadWriteFlags};

use super::Stage;
use super::calls::{answered, c_path, device_of, look, open};
use super::tree::file_type;
use crate::cast::Actor;
use crate::composite::changes;
use crate::listing::{self, Directory, Entry, Repeats};
use crate::op::Op;
use crate::outcome::{Answer, Node, number};
use crate::words::{Body, Slot};

const ACCESS_LIST: &std::ffi::CStr = c"system.posix_acl_access";

/// The kernel's `struct xattr_args`.
#[repr(C)]
struct XattrArgs {
    value: u64,
    size: u32,
    flags: u32,
}

const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;

/// Sets an access control list, or removes it. No library has these calls yet.
pub(super) fn set_acl(at: BorrowedFd<'_>, path: &[u8], list: &[AclEntry], flags: AtFlags) -> io::Result<()> {
    let (path, flags) = (c_path(path)?, flags.bits() as libc::c_int);
    if list.is_empty() {
        let name = ACCESS_LIST.as_ptr();
        // SAFETY: path and name end with a NUL and outlive the call, which writes to none of our
        // memory.
        return answered(unsafe { libc::syscall(SYS_REMOVEXATTRAT, at.as_raw_fd(), path.as_ptr(), flags, name) });
    }
    let value = xattr(list);
    let args = XattrArgs { value: value.as_ptr().expose_provenance() as u64, size: value.len() as u32, flags: 0 };
    // SAFETY: path and name end with a NUL; they, the value and the arguments outlive the call,
    // which writes to none of our memory.
    answered(unsafe {
        let name = ACCESS_LIST.as_ptr();
        libc::syscall(SYS_SETXATTRAT, at.as_raw_fd(), path.as_ptr(), flags, name, &raw const args, size_of::<XattrArgs>())
    })
}

/// Returns the value of the extended attribute for an ACL.
fn xattr(list: &[AclEntry]) -> Vec<u8> {
    const VERSION: u32 = 2;
    let mut value = VERSION.to_le_bytes().to_vec();
    for AclEntry { tag, grants } in list {
        let (tag, id): (u16, u32) = match *tag {
            AclTag::Owner => (0x01, u32::MAX),
            AclTag::User(uid) => (0x02, uid),
            AclTag::Group => (0x04, u32::MAX),
            AclTag::NamedGroup(gid) => (0x08, gid),
            AclTag::Mask => (0x10, u32::MAX),
            AclTag::Other => (0x20, u32::MAX),
        };
        value.extend(tag.to_le_bytes());
        value.extend(u16::from(grants.bits()).to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

/// Sets attribute bits. On a tmpfs only files and directories have them, and they are set through a
/// descriptor.
pub(super) fn set_flags(at: BorrowedFd<'_>, path: &[u8], set: StatxFlags, flags: AtFlags) -> io::Result<()> {
    let kind = look(at, path, flags)?.kind;
    if !matches!(kind, FileType::Regular | FileType::Directory) {
        return Err(io::Errno::OPNOTSUPP);
    }
    let file = fs::openat(at, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    set_open_flags(&file, set)
}

/// Sets the attribute bits of an open file.
pub(super) fn set_open_flags(file: &OwnedFd, set: StatxFlags) -> io::Result<()> {
    let pairs = [
        (StatxFlags::IMMUTABLE, fs::IFlags::IMMUTABLE),
        (StatxFlags::APPEND, fs::IFlags::APPEND),
        (StatxFlags::NODUMP, fs::IFlags::NODUMP),
    ];
    let all = pairs.iter().filter(|(ours, _)| set.contains(*ours)).map(|(_, theirs)| *theirs);
    fs::ioctl_setflags(file, all.fold(fs::IFlags::empty(), fs::IFlags::union))
}

/// Clears the attribute bits and the ACL of a directory.
pub(super) fn reset(dir: &OwnedFd) -> io::Result<()> {
    set_open_flags(dir, StatxFlags::empty())?;
    fs::fremovexattr(dir, ACCESS_LIST)
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
    const REPEATS: Repeats = Repeats::Sometimes;

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
