//! Mounts within a program: system calls that change the tree of mounts.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};

use pathwalk::{AtFlags, MountFlags, MoveFlags, Propagation, Recursion, UmountFlags};
use rustix::fs::{self, CWD, Mode, OFlags, StatVfsMountFlags};
use rustix::io;
use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

use super::Stage;
use super::calls::{answered, c_path};
use crate::cast::Actor;
use crate::mounts::{self, Sight};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Place, Spread, Text};

/// What a fresh tmpfs is like: as the one that programs begin on.
const OPTIONS: [(&str, &str); 3] = [("mode", "755"), ("nr_inodes", "1048576"), ("size", "1073741824")];

/// A switch of a mount: ours, and of `mount(2)`, `mount_setattr(2)` and `statvfs(3)`.
type Switch = (MountFlags, mount::MountFlags, MountAttrFlags, u64);

const SWITCHES: [Switch; 5] = [
    (MountFlags::READ_ONLY, mount::MountFlags::RDONLY, MountAttrFlags::MOUNT_ATTR_RDONLY, 1),
    (MountFlags::NOSUID, mount::MountFlags::NOSUID, MountAttrFlags::MOUNT_ATTR_NOSUID, 2),
    (MountFlags::NODEV, mount::MountFlags::NODEV, MountAttrFlags::MOUNT_ATTR_NODEV, 4),
    (MountFlags::NOEXEC, mount::MountFlags::NOEXEC, MountAttrFlags::MOUNT_ATTR_NOEXEC, 8),
    (MountFlags::NOSYMFOLLOW, mount::MountFlags::NOSYMFOLLOW, MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW, 0x2000),
];

/// Returns what `mount(2)` calls these switches.
pub(super) fn bits(flags: MountFlags) -> impl Iterator<Item = mount::MountFlags> {
    SWITCHES.into_iter().filter(move |switch| flags.contains(switch.0)).map(|switch| switch.1)
}

/// Returns the switches that `statvfs(3)` tells.
pub(super) fn switches(told: StatVfsMountFlags) -> MountFlags {
    let set = SWITCHES.into_iter().filter(|switch| told.bits() & switch.3 != 0);
    set.fold(MountFlags::empty(), |all, switch| all | switch.0)
}

fn attributes(flags: MountFlags) -> MountAttrFlags {
    let set = SWITCHES.into_iter().filter(|switch| flags.contains(switch.0));
    set.fold(MountAttrFlags::empty(), |all, switch| all | switch.2)
}

/// What one actor sees.
struct Eyes<'a> {
    proc: &'a OwnedFd,
    is_elsewhere: bool,
}

impl Sight for Eyes<'_> {
    fn mounts(&self) -> u64 {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = fs::openat(self.proc, "thread-self/mountinfo", flags, Mode::empty()).expect("the list of mounts");
        let mut text = String::new();
        std::fs::File::from(file).read_to_string(&mut text).expect("the list of mounts");
        text.lines().count() as u64
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
    /// Mounts and unmounts. The answer tells how many mounts the actor sees then.
    pub(super) fn change_mounts(&mut self, actor: Actor, op: &Op) -> io::Result<Answer> {
        if !mounts::counts(op, &eyes_of(self, actor)) {
            return Ok(Answer::NotCarriedOut);
        }
        match op {
            Op::Attach { at, flags } => {
                let file_system = self.attach(at, *flags)?;
                self.kernel.mounted.push(file_system);
            }
            Op::Bind { from, to, how } => {
                let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
                flags.set(OpenTreeFlags::AT_RECURSIVE, *how == Recursion::Recursive);
                flags.set(OpenTreeFlags::AT_EMPTY_PATH, from.path.0.is_empty());
                let tree = mount::open_tree(self.at(from.at), &from.path.0, flags)?;
                self.move_tree(&tree, to)?;
            }
            Op::MoveMount { from, to, flags } => {
                let mut how = moved_to(to);
                how.set(MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH, from.path.0.is_empty());
                how |= MoveMountFlags::from_bits_retain(if flags.contains(MoveFlags::BENEATH) { BENEATH } else { 0 });
                mount::move_mount(self.at(from.at), &from.path.0, self.at(to.at), &to.path.0, how)?;
            }
            Op::Unmount { path, flags } => unmount(path, *flags)?,
            Op::SetMount { at, set, clear, spread, how } => self.set_mount(at, [*set, *clear], *spread, *how)?,
            other => unreachable!("{} changes no mounts", other.verb()),
        }
        Ok(Answer::Number(eyes_of(self, actor).mounts()))
    }

    /// Mounts a fresh tmpfs. What is returned keeps its number from being given to another.
    fn attach(&self, to: &Place, flags: MountFlags) -> io::Result<OwnedFd> {
        let file_system = mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (key, value) in OPTIONS {
            mount::fsconfig_set_string(&file_system, key, value)?;
        }
        mount::fsconfig_create(&file_system)?;
        // Reading moves no time.
        let attributes = attributes(flags) | MountAttrFlags::MOUNT_ATTR_NOATIME;
        let tree = mount::fsmount(&file_system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        self.move_tree(&tree, to)?;
        Ok(file_system)
    }

    fn move_tree(&self, tree: &OwnedFd, to: &Place) -> io::Result<()> {
        let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | moved_to(to);
        mount::move_mount(tree, "", self.at(to.at), &to.path.0, how)
    }

    /// No library has `mount_setattr(2)`.
    fn set_mount(&self, at: &Place, [set, clear]: [MountFlags; 2], spread: Spread, how: Recursion) -> io::Result<()> {
        let propagation = spread.0.map_or(0, |spread| match spread {
            Propagation::Private => libc::MS_PRIVATE,
            Propagation::Shared => libc::MS_SHARED,
            Propagation::Slave => libc::MS_SLAVE,
            Propagation::Unbindable => libc::MS_UNBINDABLE,
        });
        let [set, clear] = [set, clear].map(|flags| u64::from(attributes(flags).bits()));
        let attributes: [u64; 4] = [set, clear, propagation, 0];
        let path = c_path(&at.path.0)?;
        let mut flags = 0;
        flags |= if at.path.0.is_empty() { AtFlags::EMPTY_PATH.bits() } else { 0 };
        flags |= if how == Recursion::Recursive { AT_RECURSIVE } else { 0 };
        let (fd, size) = (self.at(at.at).as_raw_fd(), size_of_val(&attributes));
        // SAFETY: the path ends with a NUL; it and the attributes outlive the call, which writes to
        // nothing of ours.
        answered(unsafe { libc::syscall(libc::SYS_mount_setattr, fd, path.as_ptr(), flags, attributes.as_ptr(), size) })
    }
}

/// `MOVE_MOUNT_BENEATH`
const BENEATH: u32 = 0x200;

const AT_RECURSIVE: u32 = 0x8000;

fn eyes_of<'a>(stage: &'a Stage<'_>, actor: Actor) -> Eyes<'a> {
    Eyes { proc: &stage.kernel.proc, is_elsewhere: stage.elsewhere[actor.index()] }
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
    // The use of a mount clears its mark.
    drop(fs::openat(CWD, &path.0, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()));
    match mount::unmount(&path.0, how) {
        Err(io::Errno::AGAIN) => mount::unmount(&path.0, how),
        refused => refused,
    }
}
