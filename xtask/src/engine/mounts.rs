//! The changes of mounts within a program, and opens with `RESOLVE_*` rules.

use anyhow::Result;
use pathwalk::{
    At, AtFlags, Context, Credentials, DetachedTree, Errno, Handle, MountAttributes, MountFlags, MoveFlags, StatxMask,
    UmountFlags,
};
use pathwalk_memfs::MemFs;

use super::{Process, Stage, late::Late, options};
use crate::cast::Actor;
use crate::id_maps;
use crate::mounts::{self, Sight};
use crate::op::Op;
use crate::outcome::{Answer, OF_ACCESSES};
use crate::program::Settings;
use crate::words::{Place, Text};

/// Returns a context at the root of this file system, which is mounted on the root of another. The
/// kernel's processes have such a root, too: the namespace's own root mount cannot be unmounted.
pub(super) fn covered(settings: Settings, flags: MountFlags, fs: &MemFs) -> Result<Context> {
    let mut context = super::build(settings, MountFlags::empty(), &MemFs::new())?.context(Credentials::root());
    let tree = new_tree(&context, settings, flags, fs)?;
    context.move_mount_at(tree.handle(), "", At::Cwd, "/", MoveFlags::FROM_EMPTY_PATH)?;
    context.chroot("/..")?;
    context.chdir("/")?;
    Ok(context)
}

fn new_tree(context: &Context, settings: Settings, flags: MountFlags, fs: &MemFs) -> Result<DetachedTree, Errno> {
    let flags = (flags - OF_ACCESSES) | settings.of_accesses();
    if settings.contains(Settings::LATE) {
        context.new_tree(Late::new(fs.alias()), flags)
    } else {
        context.new_tree(fs.alias(), flags)
    }
}

impl Sight for Process {
    fn mounts(&self) -> u64 {
        self.face.context().mountinfo().len() as u64
    }

    fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    fn is_at_root(&self, path: &[u8]) -> bool {
        let context = self.face.context();
        let mount = |path: &[u8]| context.statx(path, StatxMask::MNT_ID).map(|found| found.mount_id);
        mount(path).is_ok_and(|id| mount(b"/") == Ok(id))
    }
}

impl Stage {
    /// Mounts or unmounts. The answer is the number of mounts that the actor sees afterwards.
    pub(super) fn change_mounts(&mut self, actor: Actor, op: &Op) -> Result<Answer, Errno> {
        if !mounts::counts(op, &self.processes[actor.index()]) {
            return Ok(Answer::NotCarriedOut);
        }
        let context = self.processes[actor.index()].face.context().clone();
        match op {
            Op::Attach { at, flags } => self.attach(&context, at, *flags)?,
            Op::Bind { from, to, how, ids } => {
                let (at, path) = self.place(from);
                let tree = context.open_tree_at(at, path, empty(path, AtFlags::EMPTY_PATH), *how)?;
                if let Some(map) = ids.0 {
                    let change = MountAttributes::default().with_id_map(id_maps::map(map));
                    context.mount_setattr_at(tree.handle(), "", AtFlags::EMPTY_PATH, &change, *how)?;
                }
                self.move_tree(&context, tree.handle(), to)?;
            }
            Op::MoveMount { from, to, flags } => {
                let ((from, old), (to, new)) = (self.place(from), self.place(to));
                let how = empty(old, MoveFlags::FROM_EMPTY_PATH) | empty(new, MoveFlags::TO_EMPTY_PATH);
                context.move_mount_at(from, old, to, new, how | *flags)?;
            }
            Op::Unmount { path, flags } => unmount(&context, path, *flags)?,
            Op::Remount { path, flags } => context.remount(&path.0, *flags)?,
            Op::SetMount { at, set, clear, spread, how } => {
                let mut change = MountAttributes::default().with_set(*set).with_clear(*clear);
                change.propagation = spread.0;
                let (at, path) = self.place(at);
                context.mount_setattr_at(at, path, empty(path, AtFlags::EMPTY_PATH), &change, *how)?;
            }
            other => unreachable!("{} changes no mounts", other.verb()),
        }
        Ok(Answer::Number(self.processes[actor.index()].mounts()))
    }

    fn place<'a>(&'a self, place: &'a Place) -> (At<'a>, &'a [u8]) {
        (self.slots.at(place.at), &place.path.0)
    }

    fn attach(&mut self, context: &Context, to: &Place, flags: MountFlags) -> Result<(), Errno> {
        let fs = MemFs::with(options(self.settings, &self.clock));
        let tree = new_tree(context, self.settings, flags, &fs)?;
        self.move_tree(context, tree.handle(), to)?;
        self.file_systems.insert(tree.handle().attributes()?.device, fs);
        Ok(())
    }

    fn move_tree(&self, context: &Context, tree: &Handle, to: &Place) -> Result<(), Errno> {
        let (to, path) = self.place(to);
        let how = MoveFlags::FROM_EMPTY_PATH | empty(path, MoveFlags::TO_EMPTY_PATH);
        context.move_mount_at(tree, "", to, path, how)
    }
}

/// Returns the flag if the path is empty.
fn empty<F: bitflags::Flags>(path: &[u8], flag: F) -> F {
    if path.is_empty() { flag } else { F::empty() }
}

fn unmount(context: &Context, path: &Text, flags: UmountFlags) -> Result<(), Errno> {
    let unmount = || context.umount(&path.0, flags);
    if !flags.contains(UmountFlags::EXPIRE) {
        return unmount();
    }
    // A use of the mount clears its expiry mark.
    _ = context.lookup(&path.0);
    match unmount() {
        Err(Errno::EAGAIN) => unmount(),
        refused => refused,
    }
}
