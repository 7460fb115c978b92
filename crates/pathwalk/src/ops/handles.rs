//! `name_to_handle_at(2)`, `open_by_handle_at(2)`: nodes by handles instead of paths.
//!
//! Order of the checks, as Linux has it: the form of the handle (`EINVAL`), the mount (`EBADF`),
//! the capability (`EPERM`), the node (`ESTALE`), and then what an open checks.
//!
//! A handle names a node of the whole file system, whatever part of it the mount shows. So a node
//! that is not below the mount's root, or not below the root of a confined asker, is `ESTALE`. In a
//! confined context, so is one that a mount covers: no walk of the context leads there.
//! (Linux lets a caller with `CAP_DAC_READ_SEARCH` open any node of the file system.)

use super::healed::Way;
use super::lookup;
use super::open::{self, Opened};
use crate::Errno;
use crate::abi::{AtFlags, HandleFlags, OpenFlags, OpenHow, Resolve};
use crate::attr::FileType;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::{self, WORD, key_of};
use crate::fs_api::{FileHandle, HandleFor};
use crate::memory::slot::{DentryId, InodeId};
use crate::mount::{PinnedPlace, Place};
use crate::permission::Capabilities;
use crate::sync::Ordering;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose, start};

/// The kind of a handle that the engine makes of a key. Source: `FILEID_INO64_GEN`, the kind of a
/// file system without handles of its own.
const BY_KEY: i32 = 0x81;

/// Returns the way of [`name_to_handle`].
pub(crate) fn way<'a>(at: Begin, path: &'a [u8], how: HandleFlags) -> Way<'a> {
    Way::new(at, path, at_flags(how))
}

fn at_flags(how: HandleFlags) -> AtFlags {
    let mut flags = AtFlags::empty();
    flags.set(AtFlags::EMPTY_PATH, how.contains(HandleFlags::EMPTY_PATH));
    flags.set(AtFlags::SYMLINK_NOFOLLOW, !how.contains(HandleFlags::SYMLINK_FOLLOW));
    flags
}

/// Returns the handle of the node that a path leads to, and the number of its mount.
pub(crate) fn name_to_handle(asker: &Asker, at: Begin, path: &[u8], how: HandleFlags) -> Result<(FileHandle, u64), Errno> {
    let connects = how.contains(HandleFlags::CONNECTABLE);
    if !HandleFlags::all().contains(how) || connects && how.intersects(HandleFlags::FID | HandleFlags::EMPTY_PATH) {
        return Err(Errno::EINVAL);
    }
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, at_flags(how))?;
    let inode = env.caches().dentries.inode(node.id());
    let key = key_of(env.caches().inodes.record(inode));
    let handle = match env.trees().superblock(inode).fs.encode_handle(key, purpose(how)) {
        Err(Errno::EOPNOTSUPP) if how.contains(HandleFlags::FID) => FileHandle::new(BY_KEY, &key.0.to_be_bytes())?,
        handle => handle?,
    };
    // A handle that is refused when it comes back must not go out.
    handle.check().map_err(|_| Errno::EIO)?;
    let of_directory = if kind_of(&env, inode) == FileType::Directory { FileHandle::IS_DIRECTORY } else { 0 };
    let handle = if connects { handle.with_flags(FileHandle::IS_CONNECTABLE | of_directory) } else { handle };
    Ok((handle, env.world.seen(node.place()).mount))
}

fn purpose(how: HandleFlags) -> HandleFor {
    if how.contains(HandleFlags::CONNECTABLE) {
        HandleFor::Connecting
    } else if how.contains(HandleFlags::FID) {
        HandleFor::Identity
    } else {
        HandleFor::Opening
    }
}

/// Returns the place of a handle's node in the mount that `at` is in.
pub(crate) fn lookup<'a>(asker: &'a Asker, at: Begin, handle: &FileHandle) -> Result<PinnedPlace<'a>, Errno> {
    decode(&Env::of(asker, Whose::Effective, at), at, handle)
}

/// Opens a handle's node.
pub(crate) fn open<'a>(asker: &'a Asker, at: Begin, handle: &FileHandle, how: &OpenHow) -> Result<Opened<'a>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = decode(&env, at, handle)?;
    let is_link = env.caches().dentries.word(node.id()) & flags::LINK != 0 && !how.flags.contains(OpenFlags::PATH);
    match open::node(&env, node, how) {
        // Linux refuses a link before it looks at more (`do_file_open_root`).
        Err(Errno::ENOTDIR | Errno::EEXIST) if is_link => Err(Errno::ELOOP),
        opened => opened,
    }
}

/// Opens the node at a place once more. `ELOOP` with `NOFOLLOW`, unless it is a place only: Linux
/// has a link there, in `/proc`.
pub(crate) fn reopen<'a>(asker: &'a Asker, at: Begin, how: &OpenHow) -> Result<Opened<'a>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let place = start::at(&env, at, b"")?;
    let keeps_link = how.flags.contains(OpenFlags::NOFOLLOW) && !how.flags.contains(OpenFlags::PATH);
    if keeps_link && !how.flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
        return Err(Errno::ELOOP);
    }
    open::node(&env, PinnedPlace::again(env.world, place), how)
}

fn decode<'a>(env: &Env<'a>, at: Begin, handle: &FileHandle) -> Result<PinnedPlace<'a>, Errno> {
    let (handle, of_kind) = handle.split();
    handle.check()?;
    let from = start::at(env, at, b"")?;
    let mount = PinnedPlace::again(env.world, from);
    if !env.who().has(Capabilities::DAC_READ_SEARCH) {
        return Err(Errno::EPERM);
    }
    let superblock = env.trees().superblock_at(mount.id());
    let accepts = |node: DentryId| {
        let place = Place::new(from.mount(), node);
        let is_below = of_kind & FileHandle::IS_CONNECTABLE == 0 || env.world.is_below_at_last(place, from);
        is_below && is_within(env, from, place)
    };
    let node = env.trees().of_handle(&superblock, &handle, from.dentry(), accepts);
    env.world.unmount_dropped();
    let node = mount.with(node?);
    let is_kind =
        of_kind & FileHandle::IS_DIRECTORY == 0 || kind_of(env, env.caches().dentries.inode(node.id())) == FileType::Directory;
    if is_kind && accepts(node.id()) { Ok(node) } else { Err(Errno::ESTALE) }
}

fn kind_of(env: &Env<'_>, inode: InodeId) -> FileType {
    inode::kind_of(env.caches().inodes.record(inode)[WORD].load(Ordering::Relaxed))
}

/// Returns whether a node is below the root of its mount, and where an asker with rules may be.
fn is_within(env: &Env<'_>, from: Place, node: Place) -> bool {
    let (caches, shown) = (env.caches(), env.world.mounts.root(node.mount()));
    if !caches.is_root(shown) && !caches.is_below_at_last(node.dentry(), shown) {
        return false;
    }
    let rules = env.asker.rules;
    let confined = rules.is_confined().then_some(env.asker.root);
    let scoped = rules.resolve().intersects(Resolve::SCOPED).then_some(from);
    let mut tops = [confined, scoped].into_iter().flatten();
    tops.all(|top| env.world.is_below_at_last(node, top) && !is_covered(env, node, shown))
}

/// Returns whether something is mounted on a place, or on a directory above it in its mount.
fn is_covered(env: &Env<'_>, place: Place, top: DentryId) -> bool {
    let (dentries, mut at) = (&env.caches().dentries, place.dentry());
    while at != top && !env.caches().is_root(at) {
        if dentries.word(at) & flags::MOUNTED != 0 {
            return true;
        }
        at = dentries.parent(at);
    }
    false
}
