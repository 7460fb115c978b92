//! `mount(2)`, `umount2(2)`, `open_tree(2)`, `move_mount(2)`, `mount_setattr(2)`, `pivot_root(2)`,
//! `unshare(2)`: paths are looked up, and the tree of mounts is changed.
//!
//! Order, as Linux has it: the newer system calls check the capability first, `mount` and `umount2`
//! after the path was found.

use std::sync::Arc;

use super::{lookup, security};
use crate::Errno;
use crate::abi::{AtFlags, MountAttributes, MountFlags, MoveFlags, Recursion, SuperblockFlags, UmountFlags};
use crate::cache::Pinned;
use crate::fs_api::FileSystem;
use crate::memory::slot::MountId;
use crate::mount::{Attributes, Caller, MountPin, NamespaceId, PinnedPlace, Place, Setting};
use crate::permission::Capabilities;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

/// Returns `EPERM` for callers that may not mount. Linux: `may_mount`.
fn may_mount(asker: &Asker) -> Result<(), Errno> {
    if asker.credentials.effective().has(Capabilities::SYS_ADMIN) { Ok(()) } else { Err(Errno::EPERM) }
}

/// Returns `EPERM` for callers that may not mount, and asks the security hook.
fn may_change_mounts(asker: &Asker) -> Result<(), Errno> {
    may_mount(asker)?;
    security::may_mount(asker)
}

fn caller(asker: &Asker) -> Caller {
    Caller { namespace: asker.namespace, root: asker.root }
}

fn find<'a>(asker: &'a Asker, (at, path): (Begin, &'a [u8]), how: AtFlags) -> Result<PinnedPlace<'a>, Errno> {
    lookup::pinned_at(&Env::of(asker, Whose::Effective, at), at, path, how)
}

pub(crate) fn mount(asker: &Asker, at: Begin, path: &[u8], fs: Arc<dyn FileSystem>, flags: MountFlags) -> Result<(), Errno> {
    let at = find(asker, (at, path), AtFlags::empty())?;
    may_change_mounts(asker)?;
    let world = &*asker.world;
    world.with_superblock(fs, flags.of_superblock(), |superblock, root| {
        let attributes = Attributes::new(flags);
        world.change(|change| change.mount(&caller(asker), superblock, root, attributes, at.place()).map(drop))
    })
}

/// Returns the root of a new mount that is attached nowhere yet. The caller dissolves the mount.
pub(crate) fn new_tree(asker: &Asker, fs: Arc<dyn FileSystem>, flags: MountFlags) -> Result<PinnedPlace<'_>, Errno> {
    may_mount(asker)?;
    let world = &*asker.world;
    world.with_superblock(fs, SuperblockFlags::empty(), |superblock, root| {
        let (_, mount) = world.change(|change| change.new_detached(superblock, root, Attributes::new(flags)))?;
        Ok(PinnedPlace::again(world, Place::new(mount, root)))
    })
}

/// Returns the root of a detached copy of the mount tree at a path. The caller dissolves it.
pub(crate) fn open_tree<'a>(
    asker: &'a Asker,
    at: Begin,
    path: &'a [u8],
    how: AtFlags,
    recursion: Recursion,
) -> Result<PinnedPlace<'a>, Errno> {
    may_mount(asker)?;
    let from = find(asker, (at, path), how)?;
    let is_recursive = recursion == Recursion::Recursive;
    let (_, mount) = asker.world.change(|change| change.clone_tree(&caller(asker), from.place(), is_recursive))?;
    Ok(PinnedPlace::again(&asker.world, Place::new(mount, from.id())))
}

pub(crate) fn bind(asker: &Asker, from: (Begin, &[u8]), to: (Begin, &[u8]), how: Recursion) -> Result<(), Errno> {
    let to = find(asker, to, AtFlags::empty())?;
    may_change_mounts(asker)?;
    let from = find(asker, from, AtFlags::empty())?;
    let is_recursive = how == Recursion::Recursive;
    asker.world.change(|change| change.bind(&caller(asker), from.place(), to.place(), is_recursive).map(drop))
}

pub(crate) fn move_mount(asker: &Asker, from: (Begin, &[u8]), to: (Begin, &[u8]), how: MoveFlags) -> Result<(), Errno> {
    may_change_mounts(asker)?;
    if !MoveFlags::all().contains(how) {
        return Err(Errno::EINVAL);
    }
    let mut of_target = AtFlags::SYMLINK_NOFOLLOW;
    of_target.set(AtFlags::EMPTY_PATH, how.contains(MoveFlags::TO_EMPTY_PATH));
    // The target is looked up first, as on Linux.
    let to = find(asker, to, of_target)?;
    let mut of_source = AtFlags::SYMLINK_NOFOLLOW;
    of_source.set(AtFlags::EMPTY_PATH, how.contains(MoveFlags::FROM_EMPTY_PATH));
    let from = find(asker, from, of_source)?;
    asker.world.change(|change| {
        if how.contains(MoveFlags::BENEATH) {
            change.move_beneath(&caller(asker), from.place(), to.place())
        } else {
            change.move_mount(&caller(asker), from.place(), to.place())
        }
    })
}

pub(crate) fn umount(asker: &Asker, at: Begin, path: &[u8], flags: UmountFlags) -> Result<(), Errno> {
    if !UmountFlags::all().contains(flags) {
        return Err(Errno::EINVAL);
    }
    let mut how = AtFlags::empty();
    how.set(AtFlags::SYMLINK_NOFOLLOW, flags.contains(UmountFlags::NOFOLLOW));
    let world = &*asker.world;
    // Linux: `LOOKUP_MOUNTPOINT`.
    let env = Env::looking_only(asker, Whose::Effective, at);
    let found = world.topmost(lookup::pinned_at(&env, at, path, how)?);
    may_change_mounts(asker)?;
    let (place, number) = (found.place(), world.mounts.number(found.mount.id()));
    // The pin would keep the mount busy. Without it, the slot may hold another mount by then.
    drop(found);
    world.change(|change| {
        if !change.is(place.mount(), number) {
            return Err(Errno::EINVAL);
        }
        change.umount(&caller(asker), place, flags)
    })
}

pub(crate) fn remount(asker: &Asker, at: Begin, path: &[u8], flags: MountFlags) -> Result<(), Errno> {
    let found = find(asker, (at, path), AtFlags::empty())?;
    may_change_mounts(asker)?;
    asker.world.change(|change| change.remount(&caller(asker), found.place(), flags))
}

pub(crate) fn set_attributes(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    how: AtFlags,
    to: &MountAttributes,
    recursion: Recursion,
) -> Result<(), Errno> {
    may_mount(asker)?;
    if *to == MountAttributes::default() {
        // Linux does not even read the path.
        return Ok(());
    }
    let found = find(asker, (at, path), how)?;
    let is_recursive = recursion == Recursion::Recursive;
    let setting = Setting { set: to.set, clear: to.clear, id_map: to.id_map.clone() };
    asker.world.change(|change| {
        change.set_attributes(&caller(asker), found.place(), &setting, is_recursive)?;
        to.propagation.map_or(Ok(()), |kind| change.set_propagation(found.place(), kind, is_recursive))
    })
}

/// Makes another mount the root. Returns the new root.
pub(crate) fn pivot_root<'a>(asker: &'a Asker, new_root: &'a [u8], put_old: &'a [u8]) -> Result<PinnedPlace<'a>, Errno> {
    may_change_mounts(asker)?;
    let env = Env::of(asker, Whose::Effective, Begin::Cwd);
    let directory = |path| lookup::directory(&env, Begin::Cwd, path);
    let (new_root, put_old) = (directory(new_root)?, directory(put_old)?);
    asker.world.change(|change| change.pivot_root(&caller(asker), new_root.place(), put_old.place()))?;
    Ok(new_root)
}

/// Returns the topmost place at the root of a namespace. `EINVAL` if nothing is mounted in it.
pub(crate) fn root_of(asker: &Asker, namespace: NamespaceId) -> Result<PinnedPlace<'_>, Errno> {
    may_mount(asker)?;
    let world = &*asker.world;
    Ok(world.topmost(world.root_of(namespace).ok_or(Errno::EINVAL)?))
}

/// Creates a namespace as a copy of the asker's. Returns it, with the asker's root and working
/// directory in it.
pub(crate) fn unshare(asker: &Asker) -> Result<(NamespaceId, PinnedPlace<'_>, PinnedPlace<'_>), Errno> {
    may_mount(asker)?;
    let world = &*asker.world;
    let (namespace, copies) = world.change(|change| change.clone_namespace(asker.namespace))?;
    let copy = |place: Place| {
        let mount: MountId = copies.get(&place.mount()).copied().unwrap_or(place.mount());
        PinnedPlace { node: Pinned::again(world.caches(), place.dentry()), mount: MountPin::again(world, mount) }
    };
    Ok((namespace, copy(asker.root), copy(asker.cwd)))
}
