//! `link(2)`, `linkat(2)`: another name for a node.
//!
//! Order of the checks, as Linux has it: the node, the new name (`EEXIST`, `ENOENT` for a slash,
//! `EROFS`), owners that the mount does not map (`EOVERFLOW`), `protected_hardlinks` (`EPERM`), the
//! right to write to the directory, and only then whether the node can have another name.

use super::healed::Way;
use super::lookup;
use super::make::may_take_name;
use super::may_change::{may_create, writing};
use super::parent::{Last, Parent, parent};
use super::security;
use crate::Errno;
use crate::abi::{AtFlags, LinkFlags};
use crate::attr::FileType;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::snapshot::Snapshot;
use crate::limits::PATH_MAX;
use crate::memory::slot::DentryId;
use crate::mount::PinnedPlace;
use crate::permission::{Access, Capabilities, GROUP_EXECUTE, SGID, SUID, Subject};
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

pub(crate) fn link(asker: &Asker, (from, old): (Begin, &[u8]), (to, new): (Begin, &[u8]), how: LinkFlags) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, from);
    let node = source(&env, from, old, how)?;
    let Parent { dir, last, ending } = parent(&Env::of(asker, Whose::Effective, to), to, new)?;
    let Last::Name(name) = last else { return Err(Errno::EEXIST) };
    let inode = env.caches().dentries.inode(node.id());
    let writing = writing(&env, dir.mount());
    env.trees().link(node.id(), dir.id(), name, || {
        let of_node = env.trees().known_snapshot(inode)?;
        may_take_name(&writing, ending, FileType::Regular)?;
        if node.mount.id() != dir.mount() {
            return Err(Errno::EXDEV);
        }
        let who = env.who_in(node.mount.id());
        if !of_node.is_seen_by(&who) {
            return Err(Errno::EOVERFLOW);
        }
        protected(&env, node.id(), &of_node, &who)?;
        security::may_link(&env, &node, dir.place())?;
        may_create(&env, &who, dir.id())?;
        if of_node.is_append_only() || of_node.is_immutable() || of_node.kind() == FileType::Directory {
            return Err(Errno::EPERM);
        }
        // A node that never had a name may get one. A dropped entry says nothing about the node's
        // names.
        let word = env.caches().dentries.word(node.id());
        let is_new = env.caches().is_unnamed(node.id()) && word & flags::REMOVED == 0;
        let may_be_gone = !is_new && word & (flags::REMOVED | flags::UNHASHED) != 0;
        if may_be_gone && env.trees().stat(inode)?.nlink == 0 { Err(Errno::ENOENT) } else { Ok(()) }
    })?;
    if env.caches().is_unnamed(node.id()) {
        // The node may get one first name. It must not get another first name after that was
        // removed.
        env.trees().mark_removed(node.id());
    }
    Ok(())
}

/// Returns the way to the node.
pub(crate) fn way<'a>((at, path): (Begin, &'a [u8]), how: LinkFlags) -> Way<'a> {
    Way::new(at, path, at_flags(how))
}

fn at_flags(how: LinkFlags) -> AtFlags {
    let mut flags = AtFlags::empty();
    flags.set(AtFlags::EMPTY_PATH, how.contains(LinkFlags::EMPTY_PATH));
    flags.set(AtFlags::SYMLINK_NOFOLLOW, !how.contains(LinkFlags::SYMLINK_FOLLOW));
    flags
}

/// Returns the node that is to get another name.
fn source<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: LinkFlags) -> Result<PinnedPlace<'a>, Errno> {
    if !LinkFlags::all().contains(how) {
        return Err(Errno::EINVAL);
    }
    if path.len() > PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    // Since Linux 6.10, this holds for all paths that start at a descriptor, whether empty or not.
    let from_handle = at != Begin::Cwd && path.first() != Some(&b'/');
    if from_handle && how.contains(LinkFlags::EMPTY_PATH) && !env.who().has(Capabilities::DAC_READ_SEARCH) {
        return Err(Errno::ENOENT);
    }
    lookup::pinned_at(env, at, path, at_flags(how))
}

/// Checks `protected_hardlinks`: a subject that does not own a node may link it only if it could
/// read and write the node, and the node gives no rights.
fn protected(env: &Env<'_>, node: DentryId, of_node: &Snapshot, who: &Subject<'_>) -> Result<(), Errno> {
    if !env.world.protects_hardlinks() || who.owns_or_may(of_node.uid()) {
        return Ok(());
    }
    let mode = of_node.mode();
    let gives_rights = mode & SUID != 0 || mode & (SGID | GROUP_EXECUTE) == SGID | GROUP_EXECUTE;
    let is_plain = of_node.kind() == FileType::Regular && !gives_rights;
    let may = || env.trees().may(env.caches().dentries.inode(node), who, Access::READ | Access::WRITE).is_ok();
    if is_plain && !of_node.is_immutable() && may() { Ok(()) } else { Err(Errno::EPERM) }
}
