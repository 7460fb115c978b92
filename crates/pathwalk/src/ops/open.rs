//! `open(2)`, `openat2(2)`.
//!
//! 1. The flags are checked: whether they are consistent (`EINVAL`), and whether the cache alone
//!    could serve them (`EAGAIN`).
//! 2. The node is made without a name, made under one, or found.
//! 3. The right to open it is checked. Then it is truncated, if that was requested.
//!
//! Source: `build_open_flags`, `open_last_lookups`, `do_open` and `may_open` of Linux.
//!
//! What it does not do: the open of what is no file and no directory, for which see
//! [`open_special`](super::open_special).

use super::healed::Way;
use super::leases;
use super::lookup;
use super::make::may_take_name;
use super::may_change::{may_create, new_node, owner, writing};
use super::open_special::open_special;
use super::parent::{Last, Parent, parent};
use super::security;
use crate::Errno;
use crate::abi::MountFlags;
use crate::abi::{AtFlags, OpenFlags, OpenHow, Resolve};
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::key_of;
use crate::cache::icache::snapshot::Snapshot;
use crate::fs_api::{OpenFile, OpenFor};
use crate::locks::breaks::{Breaks, Counted};
use crate::memory::slot::{InodeId, MountId};
use crate::mount::{MountPin, MountWriter, PinnedPlace, Place};
use crate::node::NewKind;
use crate::permission::Access;
use crate::security::Rights;
use crate::superblock::change::Made;
use crate::superblock::early::Early;
use crate::superblock::write::Times;
use crate::walk::asker::{Asker, Begin};
use crate::walk::locked::{LastOf, Walker};
use crate::walk::verdict::{Ending, Stopped};
use crate::walk::{Env, Follow, Whose, cross, start};

/// A node that was opened.
pub(crate) struct Opened<'a> {
    /// The open file; `None` for a mere place, as by `O_PATH`. Dropped before the pin.
    pub(crate) file: Option<Box<dyn OpenFile>>,
    /// A guard that counts as a file that is open, where leases are granted. Dropped
    /// before the pin.
    pub(crate) counted: Option<Counted<'a>>,
    pub(crate) node: PinnedPlace<'a>,
    /// A guard that counts as a writer of the mount for as long as the file is open.
    pub(crate) writer: Option<MountWriter<'a>>,
    /// What the security hook grants for as long as the file is open.
    pub(crate) rights: Rights,
}

/// The origin of the node. If this open made it, its mode does not restrict what this open may do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Made,
    Found,
}

/// The source of data that is not cached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    FileSystem,
    CachesOnly,
}

/// Returns the way of an open.
pub(crate) fn way<'a>(at: Begin, path: &'a [u8], how: &OpenHow) -> Way<'a> {
    let makes = how.flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
    let flags = if makes { AtFlags::SYMLINK_NOFOLLOW } else { nofollow(how.flags) };
    Way::new(at, path, flags).with(how.resolve)
}

/// Opens a path. The outer result is `ESTALE` only if nothing was done that others see; an error
/// after a file was made under a name is in the inner one.
pub(crate) fn open<'a>(asker: &'a Asker, at: Begin, path: &'a [u8], how: &OpenHow) -> Result<Result<Opened<'a>, Errno>, Errno> {
    check(how)?;
    let env = Env::scoped(asker, Whose::Effective, at, how.resolve);
    let flags = how.flags;
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    if how.resolve.contains(Resolve::CACHED) {
        return cached(&env, at, path, how).map(Ok).map_err(Stopped::or_again);
    }
    if flags.contains(OpenFlags::TMPFILE) {
        // A file without a name leaves no trace.
        return opened(&env, unnamed(&env, at, path, how)?, flags, Came::Made, Asks::FileSystem).map(Ok);
    }
    if flags.contains(OpenFlags::CREATE) {
        let (node, came) = create(&env, at, path, how)?;
        let opened = opened(&env, node, flags, came, Asks::FileSystem);
        return if came == Came::Made { Ok(opened) } else { opened.map(Ok) };
    }
    if flags & (OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TRUNCATE) != OpenFlags::READ {
        let node = lookup::pinned_at(&env, at, path, nofollow(flags))?;
        return opened(&env, node, flags, Came::Found, Asks::FileSystem).map(Ok);
    }
    let expected = flags.contains(OpenFlags::DIRECTORY).then_some(FileType::Directory);
    let (node, early) = lookup::pinned_to_read(&env, at, path, nofollow(flags), expected)?;
    opened_early(&env, node, flags, (Came::Found, Asks::FileSystem), early).map(Ok)
}

/// Opens a node that was found without a path. `EINVAL` for rules of a path.
pub(super) fn node<'a>(env: &Env<'a>, node: PinnedPlace<'a>, how: &OpenHow) -> Result<Opened<'a>, Errno> {
    check(how)?;
    if !how.resolve.is_empty() {
        return Err(Errno::EINVAL);
    }
    let flags = how.flags;
    if flags.contains(OpenFlags::TMPFILE) {
        return opened(env, unnamed_in(env, node, how)?, flags, Came::Made, Asks::FileSystem);
    }
    if flags.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) {
        return Err(Errno::EEXIST);
    }
    let node = if flags.contains(OpenFlags::CREATE) { found(env, node)? } else { node };
    opened(env, node, flags, Came::Found, Asks::FileSystem)
}

fn nofollow(flags: OpenFlags) -> AtFlags {
    if flags.contains(OpenFlags::NOFOLLOW) { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() }
}

/// Checks that the flags are consistent.
fn check(how: &OpenHow) -> Result<(), Errno> {
    let OpenHow { flags, mode, resolve } = *how;
    let makes = flags.intersects(OpenFlags::CREATE | OpenFlags::TMPFILE);
    let known = OpenFlags::all().contains(flags) && resolve.is_valid();
    let for_path = OpenFlags::PATH | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW;
    let wrong = !known
        || mode > 0o7777
        || mode != 0 && !makes
        || flags.contains(OpenFlags::CREATE | OpenFlags::DIRECTORY)
        || flags.contains(OpenFlags::CREATE | OpenFlags::TMPFILE)
        || flags.contains(OpenFlags::TMPFILE) && !flags.contains(OpenFlags::WRITE)
        || flags.contains(OpenFlags::PATH) && !for_path.contains(flags)
        || !flags.intersects(OpenFlags::READ | OpenFlags::WRITE | OpenFlags::PATH);
    if wrong {
        return Err(Errno::EINVAL);
    }
    let changes = makes || flags.contains(OpenFlags::TRUNCATE);
    if changes && resolve.contains(Resolve::CACHED) { Err(Errno::EAGAIN) } else { Ok(()) }
}

/// Opens what is cached, if the file system can open it at once. `EAGAIN` also if the file system
/// would have to decide about the right to the node.
pub(crate) fn cached<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: &OpenHow) -> Result<Opened<'a>, Stopped<'a>> {
    check(&OpenHow { resolve: how.resolve | Resolve::CACHED, ..*how })?;
    if path.is_empty() {
        return Err(Errno::ENOENT.into());
    }
    let node = lookup_fast(env, at, path, how.flags)?;
    Ok(opened(env, node, how.flags, Came::Found, Asks::CachesOnly)?)
}

/// Returns what the lock-free walk finds.
fn lookup_fast<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], flags: OpenFlags) -> Result<PinnedPlace<'a>, Stopped<'a>> {
    let from = start::at_once(env, at, path)?;
    let follow = if flags.contains(OpenFlags::NOFOLLOW) { Follow::Not } else { Follow::Links };
    lookup::fast(&env.from(from), path, follow)
}

/// Makes a file without a name in the directory that the path leads to.
fn unnamed<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: &OpenHow) -> Result<PinnedPlace<'a>, Errno> {
    unnamed_in(env, lookup::pinned_at(env, at, path, nofollow(how.flags))?, how)
}

fn unnamed_in<'a>(env: &Env<'a>, dir: PinnedPlace<'a>, how: &OpenHow) -> Result<PinnedPlace<'a>, Errno> {
    if env.caches().dentries.word(dir.id()) & flags::DIRECTORY == 0 {
        return Err(Errno::ENOTDIR);
    }
    let _writing = writing(env, dir.mount.id())?;
    let who = env.who_in(dir.mount.id());
    let of_dir = may_create(env, &who, dir.id())?;
    let new = new_node(env, &who, (dir.id(), &of_dir), NewKind::Regular, how.mode);
    let node = env.trees().make_unnamed(dir.id(), &new)?;
    if how.flags.contains(OpenFlags::EXCLUSIVE) {
        // The file must never get a name.
        env.trees().mark_removed(node.id());
    }
    Ok(dir.with(node))
}

/// Returns the node that has the last name, or makes one under it.
fn create<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: &OpenHow) -> Result<(PinnedPlace<'a>, Came), Errno> {
    if !how.flags.contains(OpenFlags::EXCLUSIVE)
        && path.last() != Some(&b'/')
        && let Ok(node) = lookup_fast(env, at, path, how.flags)
    {
        // An existing node need not be made, so no lock is taken.
        return found(env, node).map(|node| (node, Came::Found));
    }
    let Parent { dir, last, ending } = parent(env, at, path)?;
    let Last::Name(name) = last else { return Err(taken_by_directory(env, at, path, how)) };
    match create_in(env, dir.place(), name, ending, how)? {
        (link, Came::Found) if follows(env, &link, how.flags) => create_through_links(env, at, path, how),
        found => Ok(found),
    }
}

/// Does the same as [`create`] where a link has the last name. The link may lead to a name that
/// does not exist: then a node is made under that name.
fn create_through_links<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: &OpenHow) -> Result<(PinnedPlace<'a>, Came), Errno> {
    let mut walker = Walker::start(env, path, start::at(env, at, path)?, Follow::Links);
    loop {
        let LastOf::Name(name, ending) = walker.up_to_last()? else { return Err(taken_by_directory(env, at, path, how)) };
        if matches!(&*name, b"." | b"..") {
            return Err(taken_by_directory(env, at, path, how));
        }
        match create_in(env, walker.here().place(), &name, ending, how)? {
            (link, Came::Found) if follows(env, &link, how.flags) => walker.through(link)?,
            found => return Ok(found),
        }
    }
}

fn follows(env: &Env<'_>, node: &PinnedPlace<'_>, flags: OpenFlags) -> bool {
    let stays = flags.intersects(OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW);
    env.caches().dentries.word(node.id()) & flags::LINK != 0 && !stays
}

/// Returns why a directory cannot be created at a path that ends in `.`, `..` or the root. The
/// rules of the path may already forbid to go there.
fn taken_by_directory(env: &Env<'_>, at: Begin, path: &[u8], how: &OpenHow) -> Errno {
    match lookup::pinned_at(env, at, path, AtFlags::empty()) {
        Err(why) => why,
        Ok(_) if how.flags.contains(OpenFlags::EXCLUSIVE) => Errno::EEXIST,
        Ok(_) => Errno::EISDIR,
    }
}

fn create_in<'a>(
    env: &Env<'a>,
    dir: Place,
    name: &[u8],
    ending: Ending,
    how: &OpenHow,
) -> Result<(PinnedPlace<'a>, Came), Errno> {
    if ending == Ending::Slash {
        return Err(Errno::EISDIR);
    }
    let writing = writing(env, dir.mount());
    let made = env.trees().make(dir.dentry(), name, || {
        may_take_name(&writing, ending, FileType::Regular)?;
        security::may(env, dir, Rights::MAKE_REG)?;
        let who = env.who_in(dir.mount());
        let of_dir = may_create(env, &who, dir.dentry())?;
        Ok(new_node(env, &who, (dir.dentry(), &of_dir), NewKind::Regular, how.mode))
    })?;
    let place = |node| PinnedPlace { node, mount: MountPin::again(env.world, dir.mount()) };
    let mut there = match made {
        Made::New(node) => return Ok((place(node), Came::Made)),
        Made::There(node) => place(node),
    };
    // The rules of the path may forbid to enter a mount on the node. That comes before all other
    // errors.
    while let Some(root) = cross::next_down(env, &there)? {
        there = root;
    }
    env.world.mounts.used(there.mount.id());
    if how.flags.contains(OpenFlags::EXCLUSIVE) {
        return Err(Errno::EEXIST);
    }
    if follows(env, &there, how.flags) { Ok((there, Came::Found)) } else { found(env, there).map(|node| (node, Came::Found)) }
}

/// Checks a node that exists where one was to be made. `EISDIR` for a directory. `EACCES` for a
/// node that is neither a regular file nor a FIFO, in a sticky directory that all users may write
/// to, where another user may have put it in order to have it written to.
fn found<'a>(env: &Env<'a>, node: PinnedPlace<'a>) -> Result<PinnedPlace<'a>, Errno> {
    let of = env.trees().known_snapshot(env.caches().dentries.inode(node.id()))?;
    match of.kind() {
        FileType::Directory => Err(Errno::EISDIR),
        // `protected_regular` and `protected_fifos`, which are off.
        FileType::Regular | FileType::Fifo => Ok(node),
        _ => {
            let dir = Pinned::new(env.caches(), env.caches().pin_parent(node.id()));
            let of_dir = env.trees().known_snapshot(env.caches().dentries.inode(dir.id()))?;
            let who = env.who_in(node.mount.id());
            let owns = of.uid() == of_dir.uid() && who.sees_uid(of.uid()) || who.owns(of.uid());
            if of_dir.mode() & 0o1002 == 0o1002 && !owns { Err(Errno::EACCES) } else { Ok(node) }
        }
    }
}

/// Opens a node, if these flags are allowed for it.
fn opened<'a>(env: &Env<'a>, node: PinnedPlace<'a>, flags: OpenFlags, came: Came, asks: Asks) -> Result<Opened<'a>, Errno> {
    opened_early(env, node, flags, (came, asks), None)
}

/// Does the same for a node whose lookup may have brought the open file.
fn opened_early<'a>(
    env: &Env<'a>,
    node: PinnedPlace<'a>,
    flags: OpenFlags,
    (came, asks): (Came, Asks),
    early: Option<Early>,
) -> Result<Opened<'a>, Errno> {
    let is_directory = env.caches().dentries.word(node.id()) & flags::DIRECTORY != 0;
    if flags.contains(OpenFlags::DIRECTORY) && !flags.contains(OpenFlags::TMPFILE) && !is_directory {
        return Err(Errno::ENOTDIR);
    }
    let inode = env.caches().dentries.inode(node.id());
    if flags.contains(OpenFlags::PATH) {
        return Ok(Opened { file: None, node, writer: None, rights: Rights::empty(), counted: None });
    }
    let kind = match came {
        Came::Made => FileType::Regular,
        Came::Found => may_open(env, node.mount.id(), inode, flags, asks)?,
    };
    let counts = |flag| (flags.contains(flag) && kind == FileType::Regular).then(|| writing(env, node.mount.id())).transpose();
    let writer = counts(OpenFlags::WRITE)?;
    let _truncating = counts(OpenFlags::TRUNCATE)?;
    let counted = leases::count(env, (inode, kind), flags);
    let needed = needed(flags, kind);
    let rights = security::granted(env, node.place(), needed | Rights::TRUNCATE)?;
    if !rights.contains(needed) {
        return Err(Errno::EACCES);
    }
    let mut what_for = OpenFor::empty();
    what_for.set(OpenFor::READ, flags.contains(OpenFlags::READ));
    what_for.set(OpenFor::WRITE, flags.contains(OpenFlags::WRITE));
    if !matches!(kind, FileType::Regular | FileType::Directory) {
        let file = open_special(env, (inode, kind), (flags, what_for), asks)?;
        if flags.contains(OpenFlags::DIRECT) && !file.allows_direct() {
            return Err(Errno::EINVAL);
        }
        return Ok(Opened { file: Some(file), node, writer, rights, counted: None });
    }
    if let Some(counted) = &counted {
        counted.break_leases(breaks(flags, asks))?;
    }
    let key = key_of(env.caches().inodes.record(inode));
    let superblock = env.trees().superblock(inode);
    let early = early.and_then(|early| early.file_of(env.caches().superblock_of(inode), key));
    let file = match (early, asks) {
        (Some(file), _) => file,
        (None, Asks::FileSystem) => superblock.fs.open(key, what_for)?,
        (None, Asks::CachesOnly) => superblock.fs.try_open(key, what_for)?,
    };
    if flags.contains(OpenFlags::DIRECT) && !file.allows_direct() {
        return Err(Errno::EINVAL);
    }
    if flags.contains(OpenFlags::TRUNCATE) && came == Came::Found && kind == FileType::Regular {
        if !rights.contains(Rights::TRUNCATE) {
            return Err(Errno::EACCES);
        }
        env.trees().resize(node.id(), &env.who_in(node.mount.id()), 0, Times::Always)?;
    }
    Ok(Opened { file: Some(file), node, writer, rights, counted })
}

/// Returns what an open does that is in the way of a lease.
fn breaks(flags: OpenFlags, asks: Asks) -> Breaks {
    match asks {
        Asks::CachesOnly => Breaks::Not,
        Asks::FileSystem if flags.contains(OpenFlags::NONBLOCK) => Breaks::Begins,
        Asks::FileSystem => Breaks::Waits,
    }
}

fn wanted(flags: OpenFlags) -> Access {
    let mut want = Access::empty();
    want.set(Access::READ, flags.contains(OpenFlags::READ));
    want.set(Access::WRITE, flags.intersects(OpenFlags::WRITE | OpenFlags::TRUNCATE));
    want
}

/// Returns the rights that the security hook has to grant.
fn needed(flags: OpenFlags, kind: FileType) -> Rights {
    let reads = if kind == FileType::Directory { Rights::READ_DIR } else { Rights::READ_FILE };
    let mut needed = Rights::empty();
    needed.set(reads, flags.contains(OpenFlags::READ));
    needed.set(Rights::WRITE_FILE, flags.contains(OpenFlags::WRITE));
    needed
}

/// Checks whether a node that was found may be opened with these flags. Returns its type.
fn may_open(env: &Env<'_>, mount: MountId, inode: InodeId, flags: OpenFlags, asks: Asks) -> Result<FileType, Errno> {
    let (want, who) = (wanted(flags), env.who_in(mount));
    let of_mount = env.world.mounts.switches(mount);
    let of = match asks {
        Asks::FileSystem => env.trees().known_snapshot(inode)?,
        Asks::CachesOnly => Snapshot::of_pinned(env.caches(), inode).if_known()?,
    };
    let kind = of.kind();
    match kind {
        FileType::Regular if flags.contains(OpenFlags::TRUNCATE) && of_mount.is_read_only() => {
            return Err(Errno::EROFS);
        }
        FileType::Symlink => return Err(Errno::ELOOP),
        FileType::Directory if want.contains(Access::WRITE) => return Err(Errno::EISDIR),
        FileType::CharDevice | FileType::BlockDevice if of_mount.contains(MountFlags::NODEV) => return Err(Errno::EACCES),
        _ => {}
    }
    if want.contains(Access::WRITE) && of_mount.refuse_writing_to(kind) {
        return Err(Errno::EROFS);
    }
    if want.contains(Access::WRITE) && of.is_immutable() {
        return Err(Errno::EPERM);
    }
    match asks {
        Asks::FileSystem => env.trees().may(inode, &who, want)?,
        Asks::CachesOnly => of.may_cached(&who, want)?,
    }
    // Nothing but a file is truncated.
    let truncates = flags.contains(OpenFlags::TRUNCATE) && kind == FileType::Regular;
    let overwrites = flags.contains(OpenFlags::WRITE) && !flags.contains(OpenFlags::APPEND) || truncates;
    if of.is_append_only() && overwrites {
        return Err(Errno::EPERM);
    }
    if flags.contains(OpenFlags::NOATIME) {
        owner(&of, &who)?;
    }
    match kind {
        FileType::Regular if of_mount.is_read_only() && want.contains(Access::WRITE) => Err(Errno::EROFS),
        _ => Ok(kind),
    }
}
