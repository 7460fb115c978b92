//! The calls of users to the kernel.

use std::os::fd::{AsRawFd, OwnedFd};

use pathwalk::permission::Capabilities;
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Call, Owner, User};
use crate::kernel::{check, owned, text};
use crate::system::Failure;

macro_rules! call {
    ($($call:tt)*) => {
        // SAFETY: all pointers are to NUL-terminated strings or structures that outlive the call.
        check(i64::from(unsafe { libc::$($call)* }))
    };
}

const PAIRS: [(Capabilities, CapabilitySet); 8] = [
    (Capabilities::DAC_OVERRIDE, CapabilitySet::DAC_OVERRIDE),
    (Capabilities::DAC_READ_SEARCH, CapabilitySet::DAC_READ_SEARCH),
    (Capabilities::FOWNER, CapabilitySet::FOWNER),
    (Capabilities::CHOWN, CapabilitySet::CHOWN),
    (Capabilities::FSETID, CapabilitySet::FSETID),
    (Capabilities::MKNOD, CapabilitySet::MKNOD),
    (Capabilities::SYS_ADMIN, CapabilitySet::SYS_ADMIN),
    (Capabilities::SETFCAP, CapabilitySet::SETFCAP),
];

/// The calling thread as a user, until dropped.
pub(crate) struct As {
    before: CapabilitySets,
}

impl As {
    /// Makes the calling thread, and no other, this user: its effective ids, groups and
    /// capabilities.
    pub(crate) fn user(user: &User) -> As {
        let before = rustix::thread::capabilities(None).expect("our own capabilities");
        let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        set_ids(&groups, user.uid, user.gid).expect("root may take any ids");
        let effective = PAIRS.iter().filter(|(ours, _)| user.caps.contains(*ours)).map(|(_, theirs)| *theirs).collect();
        rustix::thread::set_capabilities(None, CapabilitySets { effective, ..before }).expect("fewer capabilities");
        As { before }
    }
}

impl Drop for As {
    fn drop(&mut self) {
        rustix::thread::set_capabilities(None, self.before).expect("the capabilities are permitted still");
        set_ids(&[], 0, 0).expect("the real user is root still");
    }
}

fn set_ids(groups: &[Gid], uid: u32, gid: u32) -> rustix::io::Result<()> {
    rustix::thread::set_thread_groups(groups)?;
    let root = Gid::from_raw(0);
    rustix::thread::set_thread_res_gid(root, Gid::from_raw(gid), root)?;
    let root = Uid::from_raw(0);
    rustix::thread::set_thread_res_uid(root, Uid::from_raw(uid), root)
}

/// Makes a call as the calling thread.
pub(crate) fn call(call: &Call) -> Result<Option<Owner>, Failure> {
    let done = match call {
        Call::Stat(path) => return stat(path).map(Some),
        Call::Access(path, want) => {
            let (path, want) = (text(path), i32::from(*want));
            call!(syscall(libc::SYS_faccessat2, libc::AT_FDCWD, path.as_ptr(), want, libc::AT_EACCESS))
        }
        Call::Create { path, mode, exclusive } => {
            let flags = libc::O_CREAT | libc::O_WRONLY | if *exclusive { libc::O_EXCL } else { 0 };
            open(path, flags, *mode).map(|_| 0)
        }
        Call::Write { path, truncate } => {
            let file = open(path, libc::O_WRONLY | if *truncate { libc::O_TRUNC } else { 0 }, 0)?;
            rustix::io::write(&file, b"x").map(|_| 0).map_err(|errno| Failure::Errno(errno.raw_os_error()))
        }
        Call::Read(path) => open(path, libc::O_RDONLY, 0).map(|_| 0),
        Call::Mkdir(path, mode) => call!(mkdir(text(path).as_ptr(), (*mode).into())),
        Call::Pipe(path, mode) => call!(mknod(text(path).as_ptr(), libc::S_IFIFO | libc::mode_t::from(*mode), 0)),
        Call::Symlink(path) => call!(symlink(c"f".as_ptr(), text(path).as_ptr())),
        Call::Unnamed(path, mode) => {
            let file = open(path, libc::O_TMPFILE | libc::O_WRONLY, *mode)?;
            return stat_at(file.as_raw_fd(), "", libc::AT_EMPTY_PATH).map(Some);
        }
        Call::Link(from, to) => call!(link(text(from).as_ptr(), text(to).as_ptr())),
        Call::Rename(from, to) => call!(rename(text(from).as_ptr(), text(to).as_ptr())),
        Call::Unlink(path) => call!(unlink(text(path).as_ptr())),
        Call::Rmdir(path) => call!(rmdir(text(path).as_ptr())),
        Call::Chmod(path, mode) => call!(chmod(text(path).as_ptr(), (*mode).into())),
        Call::Chown(path, uid, gid) => {
            let (uid, gid) = (uid.unwrap_or(u32::MAX), gid.unwrap_or(u32::MAX));
            call!(lchown(text(path).as_ptr(), uid, gid))
        }
        Call::Truncate(path) => call!(truncate(text(path).as_ptr(), 0)),
        Call::Touch(path) => set_times(path, std::ptr::null()),
        Call::SetTimes(path) => {
            let time = libc::timespec { tv_sec: 86_400, tv_nsec: 0 };
            set_times(path, [time; 2].as_ptr())
        }
    };
    done.map(|_| None)
}

fn set_times(path: &str, times: *const libc::timespec) -> Result<i64, Failure> {
    call!(utimensat(libc::AT_FDCWD, text(path).as_ptr(), times, libc::AT_SYMLINK_NOFOLLOW))
}

/// Opens a file without waiting for the other end of a pipe.
fn open(path: &str, flags: i32, mode: u16) -> Result<OwnedFd, Failure> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NONBLOCK;
    Ok(owned(call!(open(text(path).as_ptr(), flags, libc::c_uint::from(mode)))?))
}

fn stat(path: &str) -> Result<Owner, Failure> {
    stat_at(libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW)
}

fn stat_at(at: i32, path: &str, flags: i32) -> Result<Owner, Failure> {
    // SAFETY: all zeroes are a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    call!(fstatat(at, text(path).as_ptr(), &raw mut stat, flags))?;
    Ok([stat.st_uid, stat.st_gid, stat.st_mode])
}
