//! One operation as one system call, with the kernel's answer.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use pathwalk::{AtFlags, Device, Errno, FileType, LinkFlags, OpenFlags, RenameFlags, SetTime, StatxFlags, StatxMask};
use rustix::fs::{self, Gid, Mode, OFlags, RawMode, ResolveFlags, Timespec, Timestamps, Uid};
use rustix::io;

use super::{Descriptor, Stage, Told, acl, administer, inode_flags, mounts, xattr};
use crate::cast::{Actor, sets_to_look};
use crate::composite::all_parts;
use crate::op::Op;
use crate::outcome::{self, Answer, Node, directory_of, told_of_file_system};
use crate::program::Settings;
use crate::times::Time;
use crate::words::{Kind, Place, Slot, Whence};

/// Returns the engine's form of a kernel error.
pub fn errno(errno: io::Errno) -> Errno {
    Errno::from_raw(errno.raw_os_error())
}

impl Stage<'_> {
    pub(super) fn answer(&mut self, actor: Actor, op: &Op) -> io::Result<Answer> {
        match op {
            Op::Open { slot, at, flags, mode } => {
                let (fd, node) = open(self.at(at.at), &at.path.0, *flags, mode.0, ResolveFlags::empty())?;
                self.slots[usize::from(slot.0)] = Some(Descriptor { fd, opener: actor, path: Told::Compares });
                return Ok(Answer::Node(node));
            }
            Op::OpenUnder { slot, at, flags, mode, rules } => {
                let rules = ResolveFlags::from_bits_retain(rules.bits().into());
                let (fd, node) = open(self.at(at.at), &at.path.0, *flags, mode.0, rules)?;
                self.slots[usize::from(slot.0)] = Some(Descriptor { fd, opener: actor, path: Told::Compares });
                return Ok(Answer::Node(node));
            }
            op if op.changes_mounts() => return self.change_mounts(actor, op),
            op if op.is_helper() => return self.help(actor, op),
            op if op.is_on_open_files() => return self.of_open_files(actor, op),
            Op::Chroot { path } => {
                rustix::process::chroot(&path.0)?;
                self.elsewhere[actor.index()] = true;
                return Ok(Answer::Done);
            }
            Op::Mount { .. } => return Ok(Answer::Done),
            Op::Close { slot } => {
                self.slots[usize::from(slot.0)] = None;
                return Ok(Answer::Done);
            }
            Op::Fill { .. } | Op::Dig { .. } => {
                return all_parts(&op.parts().unwrap_or_default(), |part| self.answer(actor, part));
            }
            Op::ListParts { slot, size, name, to } => return self.list_parts(actor, *slot, *size, [name, to]),
            _ => {}
        }
        let at = |place: &Place| self.at(place.at);
        match op {
            Op::Mkdir { at: to, mode } => fs::mkdirat(at(to), &to.path.0, Mode::from_raw_mode(mode.0.into())).map(done),
            Op::Mknod { at: to, kind, mode } => mknod(at(to), &to.path.0, *kind, mode.0).map(done),
            Op::Symlink { body, at: to } => fs::symlinkat(&body.0, at(to), &to.path.0).map(done),
            Op::Link { from, to, flags } => fs::linkat(at(from), &from.path.0, at(to), &to.path.0, link_flags(*flags)).map(done),
            Op::Unlink { at: of } => fs::unlinkat(at(of), &of.path.0, fs::AtFlags::empty()).map(done),
            Op::Rmdir { at: of } => fs::unlinkat(at(of), &of.path.0, fs::AtFlags::REMOVEDIR).map(done),
            Op::Rename { from, to, flags } => {
                fs::renameat_with(at(from), &from.path.0, at(to), &to.path.0, rename_flags(*flags)).map(done)
            }
            Op::Chmod { at: of, mode, flags } => fchmodat2(at(of), &of.path.0, mode.0, *flags).map(done),
            Op::Chown { at: of, uid, gid, flags } => {
                let given = |owner: &crate::words::Owner| owner.0.filter(|id| *id != pathwalk::permission::NO_ID);
                let (uid, gid) = (given(uid).map(Uid::from_raw), given(gid).map(Gid::from_raw));
                fs::chownat(at(of), &of.path.0, uid, gid, at_flags(*flags)).map(done)
            }
            Op::Truncate { path, size } => {
                let look = || look(fs::CWD, &path.0, AtFlags::empty());
                let before = look();
                truncate(&path.0, *size)?;
                if outcome::keeps_size(before.as_ref().ok(), *size) { look().map(Answer::Node) } else { Ok(Answer::Done) }
            }
            Op::Times { at: of, atime, mtime, flags } => {
                let times = Timestamps { last_access: time(*atime), last_modification: time(*mtime) };
                fs::utimensat(at(of), &of.path.0, &times, at_flags(*flags)).map(done)
            }
            Op::Stat { at: of, flags } => {
                // `fstatat(2)` checks all flags where the path is empty, but `statx(2)` returns the
                // device's number in a better form.
                fs::statat(at(of), &of.path.0, at_flags(*flags))?;
                // Nor does it mind both of these, which `statx(2)` refuses.
                let flags = if flags.contains(BOTH) { *flags - BOTH } else { *flags };
                look(at(of), &of.path.0, flags).map(Answer::Node)
            }
            Op::Statx { at: of, flags, mask } => {
                let asked = fs::StatxFlags::from_bits_retain(mask.bits());
                let found = fs::statx(at(of), &of.path.0, at_flags(*flags), asked)?;
                let present = StatxMask::from_bits_retain(found.stx_mask) & *mask & outcome::COMPARED;
                Ok(Answer::Some(present, node(&found)?.only(*mask)))
            }
            Op::Readlink { at: of, size } => {
                let mut buffer = vec![0; *size as usize];
                let length = fs::readlinkat_raw(at(of), &of.path.0, &mut buffer[..])?;
                buffer.truncate(length);
                Ok(Answer::Bytes(buffer))
            }
            Op::Access { at: of, want, flags } => faccessat2(at(of), &of.path.0, u32::from(want.bits()), *flags).map(done),
            Op::Chdir { path } => rustix::process::chdir(&path.0).map(done),
            Op::Umask { mask } => {
                let old = rustix::process::umask(Mode::from_raw_mode(mask.0.into()));
                Ok(Answer::Number(old.as_raw_mode().into()))
            }
            Op::GetXattr { at: of, name, size, flags } => xattr::get(at(of), &of.path.0, &name.0, *size, *flags),
            Op::SetXattr { at: of, name, value, how, flags } => {
                xattr::set(at(of), &of.path.0, (&name.0, &value.0), *how, *flags).map(done)
            }
            Op::ListXattr { at: of, flags } => xattr::list(at(of), &of.path.0, *flags).map(Answer::Bytes),
            Op::RemoveXattr { at: of, name, flags } => xattr::remove(at(of), &of.path.0, &name.0, *flags).map(done),
            Op::SetAcl { at: of, list, flags } => acl::set(at(of), &of.path.0, list.kind, list.acl().as_ref(), *flags).map(done),
            Op::GetAcl { at: of, kind, flags } => acl::get(at(of), &of.path.0, *kind, *flags).map(Answer::Bytes),
            Op::SetFlags { at: of, set, flags } => inode_flags::set(at(of), &of.path.0, *set, *flags).map(done),
            Op::GetFlags { at: of, flags } => {
                inode_flags::get(at(of), &of.path.0, *flags).map(|found| Answer::Number(found.bits().into()))
            }
            Op::TryOpen { at: of, flags, mode } => administer::try_open(at(of), &of.path.0, *flags, mode.0).map(Answer::Node),
            Op::Statfs { path } => {
                fs::statvfs(&path.0).map(|found| told_of_file_system(found.f_namemax, mounts::switches(found.f_flag)))
            }
            op if op.is_of_space() => self.space(op),
            _ => self.data(op),
        }
    }

    /// Carries out an operation on an open file.
    fn data(&self, op: &Op) -> io::Result<Answer> {
        match *op {
            Op::Read { slot, size } => read(size, |buffer| io::read(self.fd(slot), buffer)),
            Op::ReadAt { slot, size, offset } => read(size, |buffer| io::pread(self.fd(slot), buffer, offset)),
            Op::TryReadAt { slot, size, offset } => read(size, |buffer| administer::try_read_at(self.fd(slot), buffer, offset)),
            Op::Write { slot, byte, size } => io::write(self.fd(slot), &vec![byte; size as usize]).map(number),
            Op::WriteAt { slot, byte, size, offset } => io::pwrite(self.fd(slot), &vec![byte; size as usize], offset).map(number),
            Op::Seek { slot, whence, by } => {
                let kind = look(self.fd(slot), b"", AtFlags::EMPTY_PATH)?.kind;
                if !outcome::may_seek(kind, whence) {
                    return Ok(Answer::NotCarriedOut);
                }
                let to = match whence {
                    Whence::Start => fs::SeekFrom::Start(by as u64),
                    Whence::Current => fs::SeekFrom::Current(by),
                    Whence::End => fs::SeekFrom::End(by),
                };
                fs::seek(self.fd(slot), to).map(Answer::Number)
            }
            Op::SetLen { slot, size } => fs::ftruncate(self.fd(slot), size).map(done),
            Op::List { slot } => self.list(slot),
            Op::ListNodes { slot, .. } => self.list_nodes(slot),
            Op::Sync { slot } => fs::fsync(self.fd(slot)).map(done),
            ref other => unreachable!("{} is no operation on what is open", other.verb()),
        }
    }

    fn list(&self, slot: Slot) -> io::Result<Answer> {
        let fd = self.fd(slot);
        fs::seek(fd, fs::SeekFrom::Start(0))?;
        let mut listing = BTreeMap::new();
        let minor = device_of(fd)?;
        for entry in super::tree::entries(fd)? {
            listing.insert(entry.name, (entry.kind, outcome::number(minor, entry.ino)));
        }
        Ok(Answer::Listing(listing))
    }

    /// Lists a directory, and asks for the attributes of each entry.
    fn list_nodes(&self, slot: Slot) -> io::Result<Answer> {
        let fd = self.fd(slot);
        fs::seek(fd, fs::SeekFrom::Start(0))?;
        let entries = super::tree::entries(fd)?;
        let node = |name: &[u8]| look(fd, name, AtFlags::SYMLINK_NOFOLLOW).map_err(errno);
        Ok(Answer::Nodes(entries.into_iter().map(|entry| (entry.name.clone(), node(&entry.name))).collect()))
    }

    pub(super) fn seen(&self, actor: Actor, op: &Op, settings: Settings) -> Vec<Result<Node, Errno>> {
        let places = op.places();
        if places.is_empty() {
            return Vec::new();
        }
        let as_root = actor.may_look_as_root() && !settings.contains(Settings::OBSERVE_AS_ACTOR);
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        let look =
            |slot, path: &[u8]| super::sure_of_links(&Err(Errno::ELOOP), || look(self.at(slot), path, flags).map_err(errno));
        let look = || places.into_iter().flat_map(|(slot, path)| [look(slot, path), look(slot, directory_of(path))]).collect();
        if as_root { looking_as_root(actor, look) } else { look() }
    }
}

/// Runs `look` with all capabilities. The actor must be able to have them.
pub(super) fn looking_as_root<T>(actor: Actor, look: impl FnOnce() -> T) -> T {
    let become_who = |sets| rustix::thread::set_capabilities(None, sets).expect("what is permitted can be had");
    become_who(sets_to_look());
    let seen = look();
    become_who(actor.sets());
    seen
}

pub(super) fn done((): ()) -> Answer {
    Answer::Done
}

pub(super) fn number(number: usize) -> Answer {
    Answer::Number(number as u64)
}

pub(super) fn read(size: u64, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<Answer> {
    let mut buffer = vec![0; size as usize];
    let length = read(&mut buffer)?;
    buffer.truncate(length);
    Ok(Answer::Bytes(buffer))
}

/// Returns the attributes of the node that a path leads to.
pub(super) fn look(at: impl std::os::fd::AsFd, path: &[u8], flags: AtFlags) -> io::Result<Node> {
    let mask = fs::StatxFlags::BASIC_STATS | fs::StatxFlags::BTIME;
    node(&fs::statx(at, path, at_flags(flags), mask)?)
}

/// Returns the minor number of the device of an open file.
pub(super) fn device_of(fd: impl std::os::fd::AsFd) -> io::Result<u32> {
    fs::fstat(fd).map(|found| fs::minor(found.st_dev))
}

/// Opens a path by these rules, and returns the descriptor with its attributes.
pub(super) fn open(
    at: BorrowedFd<'_>,
    path: &[u8],
    flags: OpenFlags,
    mode: u16,
    rules: ResolveFlags,
) -> io::Result<(OwnedFd, Node)> {
    let mode = Mode::from_raw_mode(mode.into());
    let mut tries = 0;
    let fd = loop {
        match fs::openat2(at, path, open_flags(flags), mode, rules) {
            // A mount or a rename anywhere on the machine makes `..` uncertain.
            // A pipe refuses this after it was opened, and in the engine a pipe cannot be opened.
            Err(io::Errno::INVAL) if flags.contains(OpenFlags::DIRECT) => {
                let opened = open(at, path, flags - OpenFlags::DIRECT, mode.as_raw_mode() as u16, rules);
                return Err(if matches!(opened, Err(io::Errno::NXIO)) { io::Errno::NXIO } else { io::Errno::INVAL });
            }
            Err(io::Errno::AGAIN) if !rules.contains(ResolveFlags::CACHED) && tries < TRIES => tries += 1,
            opened => break opened?,
        }
    };
    let node = look(&fd, b"", AtFlags::EMPTY_PATH)?;
    Ok((fd, node))
}

/// The two flags that contradict each other.
const BOTH: AtFlags = AtFlags::FORCE_SYNC.union(AtFlags::DONT_SYNC);

/// The number of retries of an open that other processes make uncertain.
const TRIES: u32 = 1000;

fn node(found: &fs::Statx) -> io::Result<Node> {
    let kind = FileType::from_mode(found.stx_mode.into()).ok_or(io::Errno::IO)?;
    Ok(Node {
        kind,
        mode: found.stx_mode & 0o7777,
        nlink: found.stx_nlink,
        uid: found.stx_uid,
        gid: found.stx_gid,
        ino: outcome::number(found.stx_dev_minor, found.stx_ino),
        size: found.stx_size,
        blocks: found.stx_blocks,
        block_size: found.stx_blksize,
        device: Device { major: found.stx_rdev_major, minor: found.stx_rdev_minor },
        atime: time_of(found.stx_atime),
        mtime: time_of(found.stx_mtime),
        ctime: time_of(found.stx_ctime),
        btime: time_of(found.stx_btime),
        flags: StatxFlags::from_kernel(found.stx_attributes.bits()),
        flags_mask: StatxFlags::from_kernel(found.stx_attributes_mask.bits()),
    })
}

fn time_of(time: fs::StatxTimestamp) -> Time {
    Time::of_kernel(time.tv_sec, time.tv_nsec)
}

/// Returns the kernel's form of open flags. Pipes are opened without waiting for the other end.
pub fn open_flags(flags: OpenFlags) -> OFlags {
    let pairs = [
        (OpenFlags::CREATE, OFlags::CREATE),
        (OpenFlags::EXCLUSIVE, OFlags::EXCL),
        (OpenFlags::TRUNCATE, OFlags::TRUNC),
        (OpenFlags::APPEND, OFlags::APPEND),
        (OpenFlags::DIRECTORY, OFlags::DIRECTORY),
        (OpenFlags::NOFOLLOW, OFlags::NOFOLLOW),
        (OpenFlags::PATH, OFlags::PATH),
        (OpenFlags::TMPFILE, OFlags::TMPFILE),
        (OpenFlags::DIRECT, OFlags::DIRECT),
        (OpenFlags::NOATIME, OFlags::NOATIME),
    ];
    let rights = match (flags.contains(OpenFlags::READ), flags.contains(OpenFlags::WRITE)) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    let waiting = if flags.contains(OpenFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
    let set = pairs.iter().filter(|(ours, _)| flags.contains(*ours)).map(|(_, theirs)| *theirs);
    set.fold(OFlags::CLOEXEC | rights | waiting, OFlags::union)
}

/// Returns the kernel's form of `AT_` flags.
pub fn at_flags(flags: AtFlags) -> fs::AtFlags {
    fs::AtFlags::from_bits_retain(flags.bits())
}

/// Returns the kernel's form of link flags.
pub fn link_flags(flags: LinkFlags) -> fs::AtFlags {
    fs::AtFlags::from_bits_retain(flags.bits())
}

/// Returns the kernel's form of rename flags.
pub fn rename_flags(flags: RenameFlags) -> fs::RenameFlags {
    fs::RenameFlags::from_bits_retain(flags.bits())
}

fn time(time: SetTime) -> Timespec {
    match time {
        SetTime::Now => Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW },
        SetTime::Keep => Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT },
        SetTime::To(time) => Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() },
    }
}

fn mknod(at: BorrowedFd<'_>, path: &[u8], kind: Kind, mode: u16) -> io::Result<()> {
    let (kind, device) = match kind {
        Kind::File => (fs::FileType::RegularFile, Device::default()),
        Kind::Directory => (fs::FileType::Directory, Device::default()),
        Kind::Link => (fs::FileType::Symlink, Device::default()),
        Kind::Fifo => (fs::FileType::Fifo, Device::default()),
        Kind::Socket => (fs::FileType::Socket, Device::default()),
        Kind::Char(device) => (fs::FileType::CharacterDevice, device),
        Kind::Block(device) => (fs::FileType::BlockDevice, device),
    };
    let mode = Mode::from_raw_mode(RawMode::from(mode));
    fs::mknodat(at, path, kind, mode, fs::makedev(device.major, device.minor))
}

pub(super) fn c_path(path: &[u8]) -> io::Result<CString> {
    CString::new(path).map_err(|_| io::Errno::INVAL)
}

pub(super) fn answered(result: libc::c_long) -> io::Result<()> {
    if result == -1 {
        let error = std::io::Error::last_os_error();
        return Err(io::Errno::from_io_error(&error).unwrap_or(io::Errno::IO));
    }
    Ok(())
}

/// Calls `fchmodat2(2)`, which no library has with its flags.
fn fchmodat2(at: BorrowedFd<'_>, path: &[u8], mode: u16, flags: AtFlags) -> io::Result<()> {
    let path = c_path(path)?;
    let (mode, flags) = (libc::c_uint::from(mode), flags.bits());
    // SAFETY: the path ends with a NUL and outlives the call, which writes to none of our memory.
    answered(unsafe { libc::syscall(libc::SYS_fchmodat2, at.as_raw_fd(), path.as_ptr(), mode, flags) })
}

/// Calls `faccessat2(2)`. Libraries emulate some of its flags, so this is a raw system call.
pub fn faccessat2(at: BorrowedFd<'_>, path: &[u8], want: u32, flags: AtFlags) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: the path ends with a NUL and outlives the call, which writes to none of our memory.
    answered(unsafe { libc::syscall(libc::SYS_faccessat2, at.as_raw_fd(), path.as_ptr(), want, flags.bits()) })
}

fn truncate(path: &[u8], size: u64) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: the path ends with a NUL and outlives the call, which writes to none of our memory.
    answered(unsafe { libc::syscall(libc::SYS_truncate, path.as_ptr(), size) })
}
