//! Mounts within a program: the system calls that change the tree of mounts.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use pathwalk::{MountFlags, MoveFlags, Recursion, UmountFlags};
use rustix::fs::{self, CWD, Mode, OFlags, StatVfsMountFlags};
use rustix::io;
use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

use super::Stage;
use crate::cast::Actor;
use crate::id_maps;
use crate::mount_attr::{MountAttr, attributes, mount_setattr};
use crate::mounts::{self, Sight};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Place, Text};

/// The options of a fresh tmpfs: the same as of the one on which programs begin.
const OPTIONS: [(&str, &str); 3] = [("mode", "755"), ("nr_inodes", "1048576"), ("size", "1073741824")];

/// A switch of a mount in three forms: the engine's, that of `mount(2)` and that of `statvfs(3)`.
type Switch = (MountFlags, mount::MountFlags, u64);

const SWITCHES: [Switch; 5] = [
    (MountFlags::READ_ONLY, mount::MountFlags::RDONLY, 1),
    (MountFlags::NOSUID, mount::MountFlags::NOSUID, 2),
    (MountFlags::NODEV, mount::MountFlags::NODEV, 4),
    (MountFlags::NOEXEC, mount::MountFlags::NOEXEC, 8),
    (MountFlags::NOSYMFOLLOW, mount::MountFlags::NOSYMFOLLOW, 0x2000),
];

/// Returns the kernel's switches that concern the times of accesses.
pub(super) fn of_accesses(flags: MountFlags) -> impl Iterator<Item = mount::MountFlags> {
    let all = [
        (MountFlags::NOATIME, mount::MountFlags::NOATIME),
        (MountFlags::RELATIME, mount::MountFlags::RELATIME),
        (MountFlags::STRICTATIME, mount::MountFlags::STRICTATIME),
        (MountFlags::NODIRATIME, mount::MountFlags::NODIRATIME),
    ];
    all.into_iter().filter(move |(ours, _)| flags.contains(*ours)).map(|(_, theirs)| theirs)
}

/// Returns the form of `mount(2)` of these switches.
pub(super) fn bits(flags: MountFlags) -> impl Iterator<Item = mount::MountFlags> {
    SWITCHES.into_iter().filter(move |switch| flags.contains(switch.0)).map(|switch| switch.1)
}

/// Returns the switches that `statvfs(3)` reports.
pub(super) fn switches(told: StatVfsMountFlags) -> MountFlags {
    let set = SWITCHES.into_iter().filter(|switch| told.bits() & switch.2 != 0);
    set.fold(MountFlags::empty(), |all, switch| all | switch.0)
}

/// The view that one actor has of the mounts.
struct Eyes<'a> {
    proc: &'a OwnedFd,
    is_elsewhere: bool,
}

impl Sight for Eyes<'_> {
    fn mounts(&self) -> u64 {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = fs::openat(self.proc, "thread-self/mountinfo", flags, Mode::empty()).expect("the list of mounts");
        let mut text = Vec::new();
        std::fs::File::from(file).read_to_end(&mut text).expect("the list of mounts");
        // Names may be any bytes, and have their newlines escaped.
        text.iter().filter(|byte| **byte == b'\n').count() as u64
    }

    fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    fn is_at_root(&self, path: &[u8]) -> bool {
        let mask = fs::StatxFlags::MNT_ID;
        let mount = |path: &[u8]| fs::statx(CWD, path, fs::AtFlags::empty(), mask).map(|found| found.stx_mnt_id);
        mount(path).is_ok_and(|id| mount(b"/") == Ok(id))
    }
}

impl Stage<'_> {
    /// Mounts or unmounts. The answer is the number of mounts that the actor sees afterwards.
    pub(super) fn change_mounts(&mut self, actor: Actor, op: &Op) -> io::Result<Answer> {
        if !mounts::counts(op, &eyes_of(self, actor)) {
            return Ok(Answer::NotCarriedOut);
        }
        match op {
            Op::Attach { at, flags } => {
                let file_system = self.attach(at, *flags)?;
                self.kernel.mounted.push(file_system);
            }
            Op::Bind { from, to, how, ids } => {
                let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                flags.set(OpenTreeFlags::AT_RECURSIVE, *how == Recursion::Recursive);
                flags.set(OpenTreeFlags::AT_EMPTY_PATH, from.path.0.is_empty());
                let tree = mount::open_tree(self.at(from.at), &from.path.0, flags)?;
                if let Some(map) = ids.0 {
                    let users = id_maps::namespaces().expect("it was looked for")[map].as_fd();
                    let to = MountAttr { users: Some(users), ..MountAttr::default() };
                    mount_setattr(tree.as_fd(), b"", &to, *how).map_err(|error| errno_of(&error))?;
                }
                self.move_tree(&tree, to)?;
            }
            Op::MoveMount { from, to, flags } => {
                let mut how = moved_to(to);
                how.set(MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH, from.path.0.is_empty());
                how |= MoveMountFlags::from_bits_retain(if flags.contains(MoveFlags::BENEATH) { BENEATH } else { 0 });
                mount::move_mount(self.at(from.at), &from.path.0, self.at(to.at), &to.path.0, how)?;
            }
            Op::Unmount { path, flags } => patiently(|| unmount(path, *flags))?,
            Op::Remount { path, flags } => {
                // With `NOATIME`, since reads must not change times.
                let bits = bits(*flags).fold(mount::MountFlags::NOATIME, mount::MountFlags::union);
                patiently(|| mount::mount_remount(&path.0, bits, ""))?;
            }
            Op::SetMount { at, set, clear, spread, how } => {
                let to = MountAttr { set: *set, clear: *clear, propagation: spread.0, users: None };
                patiently(|| mount_setattr(self.at(at.at), &at.path.0, &to, *how).map_err(|error| errno_of(&error)))?;
            }
            other => unreachable!("{} changes no mounts", other.verb()),
        }
        Ok(Answer::Number(eyes_of(self, actor).mounts()))
    }

    /// Mounts a fresh tmpfs. While the returned descriptor is open, its device number is not
    /// reused.
    fn attach(&self, to: &Place, flags: MountFlags) -> io::Result<OwnedFd> {
        let file_system = mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (key, value) in OPTIONS {
            mount::fsconfig_set_string(&file_system, key, value)?;
        }
        mount::fsconfig_create(&file_system)?;
        // With `NOATIME`, since reads must not change times.
        let attributes = attributes(flags) | MountAttrFlags::MOUNT_ATTR_NOATIME;
        let tree = mount::fsmount(&file_system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        self.move_tree(&tree, to)?;
        Ok(file_system)
    }

    fn move_tree(&self, tree: &OwnedFd, to: &Place) -> io::Result<()> {
        let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | moved_to(to);
        mount::move_mount(tree, "", self.at(to.at), &to.path.0, how)
    }
}

/// The kernel's `MOVE_MOUNT_BENEATH`.
const BENEATH: u32 = 0x200;

fn eyes_of<'a>(stage: &'a Stage<'_>, actor: Actor) -> Eyes<'a> {
    Eyes { proc: &stage.kernel.proc, is_elsewhere: stage.elsewhere[actor.index()] }
}

/// Repeats a call for as long as it fails with `EBUSY`, up to some ten milliseconds. The kernel
/// puts files and mounts away after the call that ends them has returned.
fn patiently(call: impl Fn() -> io::Result<()>) -> io::Result<()> {
    for _ in 0..TRIES {
        match call() {
            Err(io::Errno::BUSY) => std::thread::sleep(PAUSE),
            answer => return answer,
        }
    }
    call()
}

/// How often a busy call is repeated, and the pause before.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(2);

fn errno_of(error: &std::io::Error) -> io::Errno {
    io::Errno::from_io_error(error).unwrap_or(io::Errno::IO)
}

fn moved_to(to: &Place) -> MoveMountFlags {
    if to.path.0.is_empty() { MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH } else { MoveMountFlags::empty() }
}

fn unmount(path: &Text, flags: UmountFlags) -> io::Result<()> {
    let pairs = [
        (UmountFlags::DETACH, UnmountFlags::DETACH),
        (UmountFlags::EXPIRE, UnmountFlags::EXPIRE),
        (UmountFlags::NOFOLLOW, UnmountFlags::NOFOLLOW),
    ];
    let set = pairs.iter().filter(|(ours, _)| flags.contains(*ours));
    let how = set.fold(UnmountFlags::empty(), |all, (_, theirs)| all | *theirs);
    if !flags.contains(UmountFlags::EXPIRE) {
        return mount::unmount(&path.0, how);
    }
    // A use of the mount clears its expiry mark.
    drop(fs::openat(CWD, &path.0, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()));
    match mount::unmount(&path.0, how) {
        Err(io::Errno::AGAIN) => mount::unmount(&path.0, how),
        refused => refused,
    }
}
