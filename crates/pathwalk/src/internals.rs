//! Hidden: what benches and proofs need and users do not. Covered by no promise.

pub use crate::config::{Config, SearchCheck, Shipped};

use crate::memory::reclaim::Short;
use crate::ops;
use crate::ops::change::Made;
use crate::{Access, At, Attributes, Context, Errno, Handle, Name, NewNode, RenameFlags, SetAttributes, Vfs};

/// `Context::access` through a variant of the walk.
#[inline]
pub fn access<C: Config>(context: &Context, path: &[u8], want: Access) -> Result<(), Errno> {
    ops::access::access_with::<C>(context, path, want)
}

/// `Context::readlink` through a variant of the walk.
pub fn readlink<C: Config>(context: &Context, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
    ops::readlink::readlinkat_with::<C>(context, At::Cwd, path, buffer)
}

/// Address ranges (first, one past the last) of slots and tables: everything that a hit reads in the caches.
pub fn memory_ranges(vfs: &Vfs) -> Vec<(usize, usize)> {
    let core = vfs.core();
    [core.dentries.ranges(), core.inodes.ranges(), vec![core.side.range()]].concat()
}

/// Evicts up to `n` dentries that nobody pins; returns how many.
pub fn evict(vfs: &Vfs, n: usize) -> usize {
    (0..n).take_while(|_| vfs.core().evict_one(Short::Dentries)).count()
}

/// Makes a node: asks for no permission.
pub fn create(dir: &Handle, name: Name<'_>, new: &NewNode<'_>) -> Result<Handle, Errno> {
    match dir.vfs().core().make(dir.dentry(), name.bytes(), || Ok(*new))? {
        Made::New(node) => Ok(Handle::from_pinned(dir.vfs(), node.into_id())),
        Made::There(_) => Err(Errno::EEXIST),
    }
}

/// Gives a node another name: asks for no permission.
pub fn link(node: &Handle, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    same(node, dir)?;
    dir.vfs().core().link(node.dentry(), dir.dentry(), name.bytes(), || Ok(()))
}

/// Takes a name away: asks for no permission; a directory must be empty (`ENOTEMPTY`).
pub fn unlink(dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    dir.vfs().core().unlink(dir.dentry(), name.bytes(), |_| Ok(()))
}

/// Renames: asks for no permission.
pub fn rename(from: (&Handle, Name<'_>), to: (&Handle, Name<'_>), how: RenameFlags) -> Result<(), Errno> {
    same(from.0, to.0)?;
    let (old, new) = ((from.0.dentry(), from.1.bytes()), (to.0.dentry(), to.1.bytes()));
    from.0.vfs().core().rename(old, new, how, |_, _| Ok(()), |_, _| Ok(()))
}

/// Sets attributes: asks for no permission.
pub fn set_attributes(node: &Handle, set: &SetAttributes) -> Result<Attributes, Errno> {
    let core = node.vfs().core();
    core.set_attributes(core.dentries.inode(node.dentry()), set)
}

fn same(a: &Handle, b: &Handle) -> Result<(), Errno> {
    if a.vfs().is(b.vfs()) { Ok(()) } else { Err(Errno::EXDEV) }
}
