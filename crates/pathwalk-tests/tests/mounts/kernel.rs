//! The kernel as a system of mounts: system calls in a thread that has a namespace of its own.
//!
//! Nothing here changes the mounts of other processes: the thread leaves their namespace, makes its
//! copy private, and has a file system of its own for a root.

use std::ffi::CString;
use std::io::Error;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use pathwalk::{MountFlags, Recursion};
use pathwalk_tests::mounts::{mountinfo, new_tmpfs};
use rustix::fs::CWD;
use xtask::id_maps;
use xtask::mount_attr::{MountAttr, mount_setattr};

use super::files::calls_kernel::{self, As};
use super::files::{Owner, USERS};
use super::op::{Kind, Op, SLOTS, Spot, Umount};
use super::system::{DIRECTORIES, Failure, Line, System};

const MS_NOSYMFOLLOW: libc::c_ulong = 0x100;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
const MOVE_MOUNT_T_EMPTY_PATH: libc::c_uint = 0x40;
const MOVE_MOUNT_BENEATH: libc::c_uint = 0x200;
const OPEN_TREE_CLONE: libc::c_uint = 1;
const AT_RECURSIVE: libc::c_uint = 0x8000;

/// The kernel, as one thread sees it.
pub(crate) struct Kernel {
    proc: OwnedFd,
    /// The namespace that the thread came from.
    base: OwnedFd,
    held: [Option<OwnedFd>; SLOTS],
    namespaces: [Option<OwnedFd>; SLOTS],
}

pub(crate) fn check(result: i64) -> Result<i64, Failure> {
    if result >= 0 {
        return Ok(result);
    }
    Err(Error::last_os_error().into())
}

pub(crate) fn text(path: &str) -> CString {
    CString::new(path).expect("a path without NUL")
}

macro_rules! call {
    ($($call:tt)*) => {
        // SAFETY: all pointers are to NUL-terminated strings or structures that outlive the call.
        check(i64::from(unsafe { libc::$($call)* }))
    };
}

pub(crate) fn owned(fd: i64) -> OwnedFd {
    // SAFETY: a call that opens the descriptor just returned the number, which has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd as RawFd) }
}

fn open(path: &str, flags: i32) -> Result<OwnedFd, Failure> {
    Ok(owned(call!(open(text(path).as_ptr(), flags | libc::O_CLOEXEC))?))
}

/// Makes a file system with directories that is mounted nowhere.
fn new_file_system() -> Result<OwnedFd, Failure> {
    let mount = new_tmpfs()?;
    for directory in DIRECTORIES {
        call!(mkdirat(mount.as_raw_fd(), text(directory).as_ptr(), 0o755))?;
    }
    call!(mknodat(mount.as_raw_fd(), c"f".as_ptr(), libc::S_IFREG | 0o644, 0))?;
    Ok(mount)
}

/// Returns the attributes that give a mount the map of this number.
fn mapped(map: usize) -> Result<MountAttr<'static>, Failure> {
    let users = id_maps::namespaces().map_err(|_| Failure::Skipped)?[map].as_fd();
    Ok(MountAttr { users: Some(users), ..MountAttr::default() })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Errno(error.raw_os_error().unwrap_or(0))
    }
}

impl Kernel {
    /// Puts the calling thread into a namespace of its own; the error is the reason why that is
    /// impossible. `place` is an existing directory, on which a file system is mounted for a
    /// moment.
    pub(crate) fn new(place: &str) -> Result<Kernel, Failure> {
        // Programs can be started only in the original namespace.
        let _ = id_maps::namespaces();
        let base = open("/proc/thread-self/ns/mnt", libc::O_RDONLY)?;
        call!(unshare(libc::CLONE_NEWNS))?;
        // SAFETY: the umask is this thread's own, since it left the namespace; the call touches no
        // memory.
        unsafe { libc::umask(0) };
        let mut kernel = Kernel {
            proc: open("/proc", libc::O_PATH | libc::O_DIRECTORY)?,
            base,
            held: [const { None }; SLOTS],
            namespaces: [const { None }; SLOTS],
        };
        kernel.mount(std::ptr::null(), "/", libc::MS_REC | libc::MS_PRIVATE)?;
        let root = new_file_system()?;
        kernel.move_fd(&root, libc::AT_FDCWD, place, 0)?;
        call!(chdir(text(place).as_ptr()))?;
        call!(syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        call!(umount2(c".".as_ptr(), libc::MNT_DETACH))?;
        call!(chdir(c"/".as_ptr()))?;
        kernel.namespaces[0] = Some(kernel.own_namespace()?);
        Ok(kernel)
    }

    fn own_namespace(&self) -> Result<OwnedFd, Failure> {
        let path = c"thread-self/ns/mnt".as_ptr();
        Ok(owned(call!(openat(self.proc.as_raw_fd(), path, libc::O_RDONLY | libc::O_CLOEXEC))?))
    }

    fn mount(&self, kind: *const libc::c_char, at: &str, flags: libc::c_ulong) -> Result<i64, Failure> {
        call!(mount(c"none".as_ptr(), text(at).as_ptr(), kind, flags, std::ptr::null()))
    }

    fn move_fd(&self, from: &OwnedFd, to: RawFd, path: &str, flags: u32) -> Result<i64, Failure> {
        let flags = flags | MOVE_MOUNT_F_EMPTY_PATH;
        let (from, empty, path) = (from.as_raw_fd(), c"".as_ptr(), text(path));
        call!(syscall(libc::SYS_move_mount, from, empty, to, path.as_ptr(), flags))
    }

    /// Returns a descriptor and a path that together name the spot.
    fn at(&self, spot: &Spot) -> Result<(RawFd, String), Failure> {
        match spot {
            Spot::Path(path) => Ok((libc::AT_FDCWD, path.clone())),
            Spot::Held(slot) => Ok((self.held(*slot)?, String::new())),
        }
    }

    fn held(&self, slot: usize) -> Result<RawFd, Failure> {
        self.held[slot].as_ref().map(AsRawFd::as_raw_fd).ok_or(Failure::Skipped)
    }

    /// Returns a path that names the spot; enters a held spot, so that the path starts there.
    fn enter(&self, spot: &Spot) -> Result<String, Failure> {
        match spot {
            Spot::Path(path) => Ok(path.clone()),
            Spot::Held(slot) => {
                call!(fchdir(self.held(*slot)?))?;
                Ok(".".into())
            }
        }
    }

    fn open_spot(&self, spot: &Spot, flags: u32) -> Result<OwnedFd, Failure> {
        let (fd, path) = self.at(spot)?;
        let empty = if path.is_empty() { libc::AT_EMPTY_PATH as u32 } else { 0 };
        let path = text(&path);
        Ok(owned(call!(syscall(libc::SYS_open_tree, fd, path.as_ptr(), flags | empty))?))
    }

    fn move_mount(&self, from: &Spot, to: &Spot, flags: u32) -> Result<i64, Failure> {
        let ((from, from_path), (to, to_path)) = (self.at(from)?, self.at(to)?);
        let mut flags = flags;
        flags |= if from_path.is_empty() { MOVE_MOUNT_F_EMPTY_PATH } else { 0 };
        flags |= if to_path.is_empty() { MOVE_MOUNT_T_EMPTY_PATH } else { 0 };
        let (from_path, to_path) = (text(&from_path), text(&to_path));
        let paths = (from_path.as_ptr(), to_path.as_ptr());
        call!(syscall(libc::SYS_move_mount, from, paths.0, to, paths.1, flags))
    }

    fn mount_new(&self, at: &Spot) -> Result<i64, Failure> {
        let (to, path) = self.at(at)?;
        let flags = if path.is_empty() { MOVE_MOUNT_T_EMPTY_PATH } else { 0 };
        let mount = new_file_system()?;
        self.move_fd(&mount, to, &path, flags)
    }

    fn bind(&self, from: &Spot, to: &Spot, recursive: bool) -> Result<i64, Failure> {
        // The source may need the working directory as well, so it is named by a descriptor in
        // `/proc`.
        let flags = libc::MS_BIND | if recursive { libc::MS_REC } else { 0 };
        match (from, to) {
            (Spot::Held(_), Spot::Held(_)) => Err(Failure::Skipped),
            _ => {
                let held = if matches!(from, Spot::Held(_)) { from } else { to };
                self.enter(held)?;
                let name = |spot: &Spot| match spot {
                    Spot::Path(path) => text(path),
                    Spot::Held(_) => text("."),
                };
                let (from, to) = (name(from), name(to));
                let none = std::ptr::null();
                call!(mount(from.as_ptr(), to.as_ptr(), none, flags, none.cast()))
            }
        }
    }

    fn umount(&self, at: &Spot, way: Umount) -> Result<i64, Failure> {
        let path = text(&self.enter(at)?);
        let umount = |flags: i32| call!(umount2(path.as_ptr(), flags));
        match way {
            Umount::Plain => umount(0),
            Umount::Detach => umount(libc::MNT_DETACH),
            Umount::Expire => {
                drop(open(&path.to_string_lossy(), libc::O_PATH)?);
                match umount(libc::MNT_EXPIRE) {
                    Err(Failure::Errno(libc::EAGAIN)) => umount(libc::MNT_EXPIRE),
                    result => result,
                }
            }
        }
    }

    fn set_propagation(&self, at: &Spot, kind: Kind, recursive: bool) -> Result<i64, Failure> {
        let flags = match kind {
            Kind::Private => libc::MS_PRIVATE,
            Kind::Shared => libc::MS_SHARED,
            Kind::Slave => libc::MS_SLAVE,
            Kind::Unbindable => libc::MS_UNBINDABLE,
        };
        let path = self.enter(at)?;
        self.mount(std::ptr::null(), &path, flags | if recursive { libc::MS_REC } else { 0 })
    }

    fn remount(&self, at: &Spot, flags: u32, of_mount: bool) -> Result<i64, Failure> {
        let all = [libc::MS_RDONLY, libc::MS_NOEXEC, MS_NOSYMFOLLOW, libc::MS_NOSUID];
        let set = all.iter().enumerate().filter(|(bit, _)| flags & 1 << bit != 0);
        let how = libc::MS_REMOUNT | if of_mount { libc::MS_BIND } else { 0 };
        self.mount(std::ptr::null(), &self.enter(at)?, set.fold(how, |flags, (_, flag)| flags | flag))
    }

    /// Returns a descriptor and a path that together name the spot.
    fn named<'a>(&'a self, spot: &'a Spot) -> Result<(BorrowedFd<'a>, &'a str), Failure> {
        match spot {
            Spot::Path(path) => Ok((CWD, path)),
            Spot::Held(slot) => Ok((self.held[*slot].as_ref().ok_or(Failure::Skipped)?.as_fd(), "")),
        }
    }

    fn set_attributes(&self, at: &Spot, to: &MountAttr<'_>, recursive: bool) -> Result<i64, Failure> {
        let how = if recursive { Recursion::Recursive } else { Recursion::Alone };
        let (at, path) = self.named(at)?;
        mount_setattr(at, path.as_bytes(), to, how)?;
        Ok(0)
    }

    /// Mounts a copy of a tree that maps the ids of its owners.
    fn mapped(&self, from: &Spot, to: &Spot, map: usize, recursive: bool) -> Result<i64, Failure> {
        let tree = self.open_spot(from, OPEN_TREE_CLONE | if recursive { AT_RECURSIVE } else { 0 })?;
        let how = if recursive { Recursion::Recursive } else { Recursion::Alone };
        mount_setattr(tree.as_fd(), b"", &mapped(map)?, how)?;
        let (to, path) = self.at(to)?;
        self.move_fd(&tree, to, &path, if path.is_empty() { MOVE_MOUNT_T_EMPTY_PATH } else { 0 })
    }

    fn set_namespace(&mut self, op: &Op) -> Result<i64, Failure> {
        match *op {
            Op::Unshare(slot) => {
                call!(unshare(libc::CLONE_NEWNS))?;
                self.namespaces[slot] = Some(self.own_namespace()?);
            }
            Op::Enter(slot) => {
                let namespace = self.namespaces[slot].as_ref().ok_or(Failure::Skipped)?;
                call!(setns(namespace.as_raw_fd(), libc::CLONE_NEWNS))?;
            }
            Op::Drop(slot) => self.namespaces[slot] = None,
            _ => return Err(Failure::Skipped),
        }
        Ok(0)
    }

    fn call(&mut self, op: &Op) -> Result<i64, Failure> {
        match op {
            Op::MountEmpty(at) => self.mount(c"tmpfs".as_ptr(), &self.enter(at)?, 0),
            Op::Mount(at) => self.mount_new(at),
            Op::Bind { from, to, recursive } => self.bind(from, to, *recursive),
            Op::Move { from, to, beneath } => self.move_mount(from, to, if *beneath { MOVE_MOUNT_BENEATH } else { 0 }),
            Op::Clone { from, slot, recursive } => {
                let flags = OPEN_TREE_CLONE | if *recursive { AT_RECURSIVE } else { 0 };
                let tree = self.open_spot(from, flags)?;
                self.held[*slot] = Some(tree);
                Ok(0)
            }
            Op::Hold { from, slot } => {
                let file = open(from, libc::O_PATH)?;
                self.held[*slot] = Some(file);
                Ok(0)
            }
            Op::Close(slot) => {
                self.held[*slot] = None;
                Ok(0)
            }
            Op::Umount(at, way) => self.umount(at, *way),
            Op::Propagation { at, kind, recursive } => self.set_propagation(at, *kind, *recursive),
            Op::Attributes { at, set, clear, recursive } => {
                let flags = MountFlags::from_bits_truncate;
                let to = MountAttr { set: flags(*set), clear: flags(*clear), ..MountAttr::default() };
                self.set_attributes(at, &to, *recursive)
            }
            Op::Remount { at, flags, of_mount } => self.remount(at, *flags, *of_mount),
            Op::MapIds { at, map, recursive } => self.set_attributes(at, &mapped(*map)?, *recursive),
            Op::Mapped { from, to, map, recursive } => self.mapped(from, to, *map, *recursive),
            Op::Pivot { new, old } => {
                let (new, old) = (text(&self.enter(new)?), text(old));
                call!(syscall(libc::SYS_pivot_root, new.as_ptr(), old.as_ptr()))
            }
            Op::Chroot(path) => call!(chroot(text(path).as_ptr())),
            Op::Mkdir(path) => call!(mkdir(text(path).as_ptr(), 0o755)),
            Op::Rmdir(path) => call!(rmdir(text(path).as_ptr())),
            Op::Unshare(_) | Op::Enter(_) | Op::Drop(_) => self.set_namespace(op),
            Op::File { .. } => Err(Failure::Skipped),
        }
    }
}

impl System for Kernel {
    fn run(&mut self, op: &Op) -> Result<Option<Owner>, Failure> {
        if let Op::File { user, call } = op {
            let _as_user = As::user(&USERS[*user]);
            return calls_kernel::call(call);
        }
        let result = self.call(op);
        // If the root may not be searched, the comparison ends.
        let _ = call!(chdir(c"/".as_ptr()));
        result.map(|_| None)
    }

    fn mountinfo(&mut self) -> Vec<Line> {
        mountinfo(&self.proc).expect("mountinfo")
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = call!(setns(self.base.as_raw_fd(), libc::CLONE_NEWNS));
    }
}
