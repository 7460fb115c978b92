//! The kernel as a system: a thread whose root is a tmpfs of its own, in a namespace of its own.
//!
//! The kernel has rules for `openat2(2)` alone. For any other question with rules, `openat2` opens
//! the node with `O_PATH`, and the question is asked of that descriptor. A name is made or removed
//! in the directory that `openat2` opens for the path up to the last component, as the kernel's own
//! calls do after their walk.
//!
//! What it does not do: it does not clean up. Mounts go with the namespace, when the thread ends.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use pathwalk::{AtFlags, Errno, LinkFlags, MountFlags, OpenFlags, Propagation, Recursion, Resolve, UmountFlags};
use pathwalk_tests::mounts::{mountinfo, new_tmpfs};
use pathwalk_tests::place::Place;
use rustix::fs::{self, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io;
use rustix::mount::{self, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use xtask::mount_attr::{MountAttr, mount_setattr};
use xtask::system_calls::{at_flags, errno, faccessat2, link_flags, open_flags, rename_flags};

use crate::op::{Layer, Op, Spot};
use crate::rows::From;
use crate::stage::{Ask, Outcome, Seen, System};

/// The number of retries of a call that a change elsewhere on the machine made `EAGAIN`.
const TRIES: usize = 1000;

/// The kernel, as the calling thread sees it.
pub(crate) struct Kernel {
    proc: OwnedFd,
    held: HashMap<String, OwnedFd>,
    opened: Option<String>,
}

/// A starting point and a path.
type Named<'a> = (BorrowedFd<'a>, &'a str);

fn failed(error: std::io::Error) -> io::Errno {
    io::Errno::from_io_error(&error).unwrap_or(io::Errno::IO)
}

/// Opens by rules. An `EAGAIN` has no effect, so the call is repeated.
fn openat2((at, path): Named<'_>, flags: OpenFlags, rules: Resolve) -> io::Result<OwnedFd> {
    let mode = if flags.intersects(OpenFlags::CREATE | OpenFlags::TMPFILE) { 0o644 } else { 0 };
    let rules = ResolveFlags::from_bits_retain(rules.bits().into());
    let open = || fs::openat2(at, path, open_flags(flags), Mode::from_raw_mode(mode), rules);
    let mut answers = std::iter::repeat_with(open).take(TRIES);
    answers.find(|answer| !matches!(answer, Err(io::Errno::AGAIN))).unwrap_or(Err(io::Errno::AGAIN))
}

/// Returns the identity of an open file.
fn seen(fd: BorrowedFd<'_>) -> io::Result<Outcome> {
    look((fd, ""), fs::AtFlags::EMPTY_PATH | fs::AtFlags::SYMLINK_NOFOLLOW)
}

fn look((at, path): Named<'_>, flags: fs::AtFlags) -> io::Result<Outcome> {
    let found = fs::statx(at, path, flags, StatxFlags::INO | StatxFlags::MNT_ID)?;
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    let is_root = found.stx_attributes.contains(fs::StatxAttributes::MOUNT_ROOT);
    Ok(Outcome::Place(Seen { node: (device, found.stx_ino), mount: found.stx_mnt_id, is_root }))
}

fn body((at, path): Named<'_>) -> io::Result<Outcome> {
    Ok(Outcome::Body(fs::readlinkat(at, path, Vec::new())?.into_bytes()))
}

fn done((): ()) -> Outcome {
    Outcome::Done
}

impl Kernel {
    /// Puts the calling thread into a place of its own.
    pub(crate) fn new(place: &Place) -> std::io::Result<Kernel> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = fs::open("/proc", flags, Mode::empty())?;
        place.become_root_of_its_own()?;
        rustix::process::umask(Mode::from_raw_mode(0o022));
        Ok(Kernel { proc, held: HashMap::new(), opened: None })
    }

    fn held(&self, name: &str) -> io::Result<BorrowedFd<'_>> {
        self.held.get(name).map(AsFd::as_fd).ok_or(io::Errno::BADF)
    }

    fn at<'a>(&'a self, from: &From, spot: &'a Spot) -> io::Result<Named<'a>> {
        Ok(match (spot, from) {
            (Spot::Held(name, path), _) => (self.held(name)?, path),
            (Spot::Path(path), From::Held(name)) => (self.held(name)?, path),
            (Spot::Path(path), _) => (CWD, path),
        })
    }

    /// Returns a path for calls that take no descriptor. A held file becomes the working directory.
    fn entered<'a>(&self, from: &From, spot: &'a Spot) -> io::Result<&'a str> {
        let (name, path) = match (spot, from) {
            (Spot::Held(name, path), _) => (name, path),
            (Spot::Path(path), From::Held(name)) => (name, path),
            (Spot::Path(path), _) => return Ok(path),
        };
        rustix::process::fchdir(self.held(name)?)?;
        Ok(if path.is_empty() { "." } else { path })
    }

    /// Opens a place by rules: a node, or the directory of a last component.
    fn by_rules(&self, ask: &Ask<'_>, spot: &Spot, flags: OpenFlags) -> io::Result<OwnedFd> {
        openat2(self.at(ask.from, spot)?, OpenFlags::PATH | flags, ask.rules)
    }

    fn parent<'a>(&self, ask: &Ask<'_>, spot: &'a Spot) -> io::Result<(OwnedFd, &'a str)> {
        let (directory, name) = spot.split().ok_or(io::Errno::INVAL)?;
        Ok((self.by_rules(ask, &directory, OpenFlags::DIRECTORY)?, name))
    }

    fn call(&mut self, ask: &Ask<'_>) -> io::Result<Outcome> {
        if let Op::Open(flags, at) = ask.op {
            let fd = openat2(self.at(ask.from, at)?, *flags, ask.rules)?;
            self.opened = self.path_of(&fd)?;
            return seen(fd.as_fd());
        }
        if ask.rules.is_empty() { self.plainly(ask) } else { self.scoped(ask) }
    }

    fn path_of(&self, fd: &OwnedFd) -> io::Result<Option<String>> {
        let path = fs::readlinkat(&self.proc, format!("thread-self/fd/{}", fd.as_raw_fd()), Vec::new())?;
        Ok(path.into_string().ok().filter(|path| !path.ends_with(" (deleted)")))
    }

    /// Carries out an operation with rules, which only `openat2` has.
    fn scoped(&self, ask: &Ask<'_>) -> io::Result<Outcome> {
        let empty = AtFlags::EMPTY_PATH;
        let node = |at, flags| self.by_rules(ask, at, flags);
        match ask.op {
            Op::Stat(at) => seen(node(at, OpenFlags::empty())?.as_fd()),
            Op::Lstat(at) => seen(node(at, OpenFlags::NOFOLLOW)?.as_fd()),
            Op::Access(want, at) => faccessat2(node(at, OpenFlags::empty())?.as_fd(), b"", want.bits().into(), empty).map(done),
            Op::Readlink(at) => match body((node(at, OpenFlags::NOFOLLOW)?.as_fd(), "")) {
                // An empty path that is no link is `ENOENT`; a name that is no link is `EINVAL`.
                Err(io::Errno::NOENT) => Err(io::Errno::INVAL),
                answer => answer,
            },
            Op::Link(flags, from, to) => {
                let follow = if flags.contains(LinkFlags::SYMLINK_FOLLOW) { OpenFlags::empty() } else { OpenFlags::NOFOLLOW };
                let (old, (dir, name)) = (node(from, follow)?, self.parent(ask, to)?);
                fs::linkat(old, "", dir, name, at_flags(empty)).map(done)
            }
            Op::Rename(flags, from, to) => {
                let ((old_dir, old), (dir, name)) = (self.parent(ask, from)?, self.parent(ask, to)?);
                fs::renameat_with(old_dir, old, dir, name, rename_flags(*flags)).map(done)
            }
            op => {
                let (dir, name) = self.parent(ask, op.spots()[0])?;
                names(op, (dir.as_fd(), name))
            }
        }
    }

    fn plainly(&mut self, ask: &Ask<'_>) -> io::Result<Outcome> {
        let at = |spot| self.at(ask.from, spot);
        match ask.op {
            Op::Stat(spot) | Op::Lstat(spot) => {
                let (at, path) = at(spot)?;
                let mut flags = if path.is_empty() { fs::AtFlags::EMPTY_PATH } else { fs::AtFlags::empty() };
                flags.set(fs::AtFlags::SYMLINK_NOFOLLOW, matches!(ask.op, Op::Lstat(_)));
                look((at, path), flags)
            }
            Op::Access(want, spot) => {
                let (at, path) = at(spot)?;
                let flags = if path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
                faccessat2(at, path.as_bytes(), want.bits().into(), flags).map(done)
            }
            Op::Readlink(spot) => body(at(spot)?),
            Op::Rename(flags, from, to) => {
                let ((from, old), (to, new)) = (at(from)?, at(to)?);
                fs::renameat_with(from, old, to, new, rename_flags(*flags)).map(done)
            }
            Op::Link(flags, from, to) => {
                let ((from, old), (to, new)) = (at(from)?, at(to)?);
                let empty = if old.is_empty() { fs::AtFlags::EMPTY_PATH } else { fs::AtFlags::empty() };
                fs::linkat(from, old, to, new, link_flags(*flags) | empty).map(done)
            }
            Op::Mkdir(spot) | Op::File(spot) | Op::Device(spot) | Op::Pipe(spot) => names(ask.op, at(spot)?),
            Op::Symlink(spot, _) => names(ask.op, at(spot)?),
            Op::Unlink(spot) | Op::Rmdir(spot) => names(ask.op, at(spot)?),
            Op::Chmod(spot) => {
                let (at, path) = at(spot)?;
                fs::chmodat(at, path, Mode::from_raw_mode(0o700), fs::AtFlags::empty()).map(done)
            }
            Op::Mode(mode, spot) => {
                let (at, path) = at(spot)?;
                fs::chmodat(at, path, Mode::from_raw_mode((*mode).into()), fs::AtFlags::empty()).map(done)
            }
            Op::Chown(spot) => {
                let (at, path) = at(spot)?;
                fs::chownat(at, path, Some(fs::Uid::ROOT), Some(fs::Gid::ROOT), fs::AtFlags::empty()).map(done)
            }
            // There is no `truncateat`.
            Op::Truncate(spot) => truncate(self.entered(ask.from, spot)?),
            Op::Touch(spot) => set_times(at(spot)?, fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW }),
            Op::SetTimes(spot) => set_times(at(spot)?, fs::Timespec { tv_sec: 1, tv_nsec: 0 }),
            _ => self.mounting(ask),
        }
    }

    fn mounting(&mut self, ask: &Ask<'_>) -> io::Result<Outcome> {
        let enter = |spot| self.entered(ask.from, spot);
        match ask.op {
            Op::Mount(flags, at) => {
                let flags = mount::MountFlags::from_bits_retain(mount_flags(*flags)) | mount::MountFlags::NOATIME;
                mount::mount("none", enter(at)?, "tmpfs", flags, c"mode=755").map(done)
            }
            Op::Bind(Recursion::Alone, from, to) => mount::mount_bind(enter(from)?, enter(to)?).map(done),
            Op::Bind(Recursion::Recursive, from, to) => mount::mount_bind_recursive(enter(from)?, enter(to)?).map(done),
            Op::Move(layer, from, to) => {
                let ((from, old), (to, new)) = (self.at(ask.from, from)?, self.at(ask.from, to)?);
                let mut flags = MoveMountFlags::empty();
                flags.set(MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH, old.is_empty());
                flags.set(MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH, new.is_empty());
                flags.set(MoveMountFlags::MOVE_MOUNT_BENEATH, *layer == Layer::Beneath);
                mount::move_mount(from, old, to, new, flags).map(done)
            }
            Op::Remount(flags, at) => {
                let flags = mount::MountFlags::from_bits_retain(mount_flags(*flags)) | mount::MountFlags::NOATIME;
                mount::mount_remount(enter(at)?, flags, "").map(done)
            }
            Op::Umount(flags, at) => mount::unmount(enter(at)?, umount_flags(*flags)).map(done),
            Op::Set(how, flags, at) => self.attributes(ask, at, (*flags, MountFlags::empty()), *how),
            Op::Clear(how, flags, at) => self.attributes(ask, at, (MountFlags::empty(), *flags), *how),
            Op::Propagate(kind, at) => {
                let kind = match kind {
                    Propagation::Private => MountPropagationFlags::PRIVATE,
                    Propagation::Shared => MountPropagationFlags::SHARED,
                    Propagation::Slave => MountPropagationFlags::DOWNSTREAM,
                    Propagation::Unbindable => MountPropagationFlags::UNBINDABLE,
                };
                mount::mount_change(enter(at)?, kind).map(done)
            }
            Op::Pivot(new, old) => rustix::process::pivot_root(enter(new)?, enter(old)?).map(done),
            _ => self.caller(ask),
        }
    }

    fn attributes(
        &self,
        ask: &Ask<'_>,
        at: &Spot,
        (set, clear): (MountFlags, MountFlags),
        how: Recursion,
    ) -> io::Result<Outcome> {
        let (at, path) = self.at(ask.from, at)?;
        let to = MountAttr { set, clear, ..MountAttr::default() };
        mount_setattr(at, path.as_bytes(), &to, how).map(done).map_err(failed)
    }

    fn caller(&mut self, ask: &Ask<'_>) -> io::Result<Outcome> {
        match ask.op {
            Op::Tree(name) => {
                let tree = new_tmpfs().map_err(failed)?;
                self.hold(name, tree)
            }
            Op::Clone(name, how, at) => {
                let (at, path) = self.at(ask.from, at)?;
                let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                flags.set(OpenTreeFlags::AT_EMPTY_PATH, path.is_empty());
                flags.set(OpenTreeFlags::AT_RECURSIVE, *how == Recursion::Recursive);
                let tree = mount::open_tree(at, path, flags)?;
                self.hold(name, tree)
            }
            Op::Keep(name, flags, at) => {
                let file = openat2(self.at(ask.from, at)?, *flags, Resolve::empty())?;
                self.hold(name, file)
            }
            Op::Hold(name, at) => {
                let place = openat2(self.at(ask.from, at)?, OpenFlags::PATH | OpenFlags::NOFOLLOW, Resolve::empty())?;
                self.hold(name, place)
            }
            Op::Close(name) => self.held.remove(name).map(|_| Outcome::Done).ok_or(io::Errno::BADF),
            Op::Unshare => {
                // SAFETY: the mounts, root and working directory become the thread's own; no
                // descriptor is affected.
                unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.map(done)
            }
            Op::Chdir(at) => {
                rustix::process::chdir(self.entered(ask.from, at)?)?;
                look((CWD, "."), fs::AtFlags::empty())
            }
            Op::Chroot(at) => {
                rustix::process::chroot(self.entered(ask.from, at)?)?;
                look((CWD, "/"), fs::AtFlags::empty())
            }
            Op::User(id) => {
                let (uid, gid) = (fs::Uid::from_raw(*id), fs::Gid::from_raw(*id));
                rustix::thread::set_thread_groups(&[])?;
                rustix::thread::set_thread_res_gid(gid, gid, gid)?;
                rustix::thread::set_thread_res_uid(uid, uid, uid).map(done)
            }
            Op::Powerless => {
                let none = rustix::thread::CapabilitySet::empty();
                let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
                rustix::thread::set_capabilities(None, sets).map(done)
            }
            op => unreachable!("{op:?} is carried out elsewhere"),
        }
    }

    fn hold(&mut self, name: &str, fd: OwnedFd) -> io::Result<Outcome> {
        let found = seen(fd.as_fd());
        self.held.insert(name.to_owned(), fd);
        found
    }
}

fn set_times((at, path): Named<'_>, time: fs::Timespec) -> io::Result<Outcome> {
    let times = fs::Timestamps { last_access: time, last_modification: time };
    fs::utimensat(at, path, &times, fs::AtFlags::empty()).map(done)
}

fn truncate(path: &str) -> io::Result<Outcome> {
    let path = CString::new(path).expect("a path without NUL");
    // SAFETY: the path ends in a NUL and outlives the call, which only reads it.
    match unsafe { libc::truncate(path.as_ptr(), 0) } {
        0 => Ok(Outcome::Done),
        _ => Err(failed(std::io::Error::last_os_error())),
    }
}

/// Makes or removes a name.
fn names(op: &Op, (at, path): Named<'_>) -> io::Result<Outcome> {
    let made = match op {
        Op::Mkdir(_) => fs::mkdirat(at, path, Mode::from_raw_mode(0o755)),
        Op::File(_) => fs::mknodat(at, path, fs::FileType::RegularFile, Mode::from_raw_mode(0o755), 0),
        Op::Device(_) => {
            let null = fs::makedev(1, 3);
            fs::mknodat(at, path, fs::FileType::CharacterDevice, Mode::from_raw_mode(0o666), null)
        }
        Op::Pipe(_) => fs::mknodat(at, path, fs::FileType::Fifo, Mode::from_raw_mode(0o755), 0),
        Op::Symlink(_, body) => fs::symlinkat(body.as_str(), at, path),
        Op::Rmdir(_) => fs::unlinkat(at, path, fs::AtFlags::REMOVEDIR),
        _ => fs::unlinkat(at, path, fs::AtFlags::empty()),
    };
    made.map(done)
}

/// Returns the bits of `MS_*`.
fn mount_flags(flags: MountFlags) -> u32 {
    let pairs = [
        (MountFlags::READ_ONLY, mount::MountFlags::RDONLY),
        (MountFlags::NOEXEC, mount::MountFlags::NOEXEC),
        (MountFlags::NOSYMFOLLOW, mount::MountFlags::NOSYMFOLLOW),
        (MountFlags::NOSUID, mount::MountFlags::NOSUID),
        (MountFlags::NODEV, mount::MountFlags::NODEV),
    ];
    pairs.iter().filter(|(ours, _)| flags.contains(*ours)).fold(0, |all, (_, theirs)| all | theirs.bits())
}

fn umount_flags(flags: UmountFlags) -> UnmountFlags {
    let pairs = [
        (UmountFlags::DETACH, UnmountFlags::DETACH),
        (UmountFlags::EXPIRE, UnmountFlags::EXPIRE),
        (UmountFlags::NOFOLLOW, UnmountFlags::NOFOLLOW),
    ];
    let set = pairs.iter().filter(|(ours, _)| flags.contains(*ours)).map(|(_, theirs)| *theirs);
    set.fold(UnmountFlags::empty(), UnmountFlags::union)
}

impl System for Kernel {
    fn run(&mut self, ask: &Ask<'_>) -> Result<Outcome, Errno> {
        self.call(ask).map_err(errno)
    }

    fn path_opened(&self) -> Option<String> {
        self.opened.clone()
    }

    fn stand(&mut self, from: &From) -> Result<(), Errno> {
        match from {
            From::Cwd(path) => rustix::process::chdir(path).map_err(errno),
            From::Here => Ok(()),
            From::Held(name) => self.held(name).map(drop).map_err(errno),
        }
    }

    fn mounts(&mut self) -> Vec<(u64, String)> {
        let lines = mountinfo(&self.proc).expect("mountinfo");
        lines.into_iter().map(|line| (line.id, line.point)).collect()
    }

    fn read_only(&mut self) -> HashMap<u64, (bool, bool)> {
        let lines = mountinfo(&self.proc).expect("mountinfo");
        lines.into_iter().map(|line| (line.id, (line.flags & 1 != 0, line.superblock_flags & 1 != 0))).collect()
    }
}
