//! `link(2)`, `linkat(2)`: another name for a node.
//!
//! Order, as Linux has it: what is linked, the new name (`EEXIST`, `ENOENT` for a slash, `EROFS`), `protected_hardlinks` (`EPERM`), the right to
//! write to the directory, and only then whether the node can have another name.

use super::lookup;
use super::make::may_take_name;
use super::may_change::{SGID, SUID, may_create};
use super::parent::{Last, Parent, parent};
use crate::Errno;
use crate::attr::FileType;
use crate::context::{At, AtFlags, Context, LinkFlags};
use crate::dcache::dentry::{DentryId, flags};
use crate::limits::PATH_MAX;
use crate::permission::{Access, Capabilities};
use crate::vfs::Pinned;
use crate::walk::may::Snapshot;
use crate::walk::{Env, Whose};

pub(crate) fn link(
    context: &Context,
    (from, old): (At<'_>, &[u8]),
    (to, new): (At<'_>, &[u8]),
    how: LinkFlags,
) -> Result<(), Errno> {
    let env = Env::new(context, Whose::Effective);
    let node = source(&env, from, old, how)?;
    let Parent { dir, last, ending } = parent(&env, to, new)?;
    let Last::Name(name) = last else { return Err(Errno::EEXIST) };
    let inode = env.core.dentries.inode(node.id());
    env.core.link(node.id(), dir.id(), name, || {
        let of_node = env.core.known_snapshot(inode)?;
        may_take_name(&env, ending, FileType::Regular)?;
        protected(&env, node.id(), &of_node)?;
        may_create(&env, dir.id())?;
        if of_node.is_append_only() || of_node.is_immutable() || of_node.kind() == FileType::Directory {
            return Err(Errno::EPERM);
        }
        // One that never had a name may get one. An entry that was dropped says nothing of the names.
        let word = env.core.dentries.word(node.id());
        let is_new = env.core.is_unnamed(node.id()) && word & flags::REMOVED == 0;
        let may_be_gone = !is_new && word & (flags::REMOVED | flags::UNHASHED) != 0;
        if may_be_gone && env.core.stat(inode)?.nlink == 0 { Err(Errno::ENOENT) } else { Ok(()) }
    })?;
    if env.core.is_unnamed(node.id()) {
        // It may get a first name, and no first name again.
        env.core.mark_removed(node.id());
    }
    Ok(())
}

/// What is to get another name.
fn source<'a>(env: &Env<'a>, at: At<'_>, path: &'a [u8], how: LinkFlags) -> Result<Pinned<'a>, Errno> {
    if !LinkFlags::all().contains(how) {
        return Err(Errno::EINVAL);
    }
    let mut flags = AtFlags::empty();
    flags.set(AtFlags::EMPTY_PATH, how.contains(LinkFlags::EMPTY_PATH));
    flags.set(AtFlags::SYMLINK_NOFOLLOW, !how.contains(LinkFlags::SYMLINK_FOLLOW));
    if path.len() > PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    // Since Linux 6.10 for all that starts at a descriptor, be the path empty or not.
    let from_handle = matches!(at, At::Handle(_)) && path.first() != Some(&b'/');
    if from_handle && how.contains(LinkFlags::EMPTY_PATH) && !env.who().has(Capabilities::DAC_READ_SEARCH) {
        return Err(Errno::ENOENT);
    }
    lookup::pinned_at(env, at, path, flags)
}

/// `protected_hardlinks`: who does not own a node may link it only if he could read and write it, and it gives no rights.
fn protected(env: &Env<'_>, node: DentryId, of_node: &Snapshot) -> Result<(), Errno> {
    let who = env.who();
    if !env.core.protects_hardlinks() || of_node.uid() == who.uid() || who.has(Capabilities::FOWNER) {
        return Ok(());
    }
    let mode = of_node.mode();
    let gives_rights = mode & SUID != 0 || mode & (SGID | 0o010) == SGID | 0o010;
    let is_plain = of_node.kind() == FileType::Regular && !gives_rights;
    let may = || env.core.may(env.core.dentries.inode(node), &who, Access::READ | Access::WRITE).is_ok();
    if is_plain && !of_node.is_immutable() && may() { Ok(()) } else { Err(Errno::EPERM) }
}
