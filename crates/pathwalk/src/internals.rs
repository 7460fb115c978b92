//! Hidden: what benches and proofs need and users do not. Covered by no promise.

pub use crate::config::{Config, SearchCheck, Shipped};

use crate::memory::reclaim::Short;
use crate::ops;
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
    ops::change::create(dir, name, new)
}

/// Gives a node another name: asks for no permission.
pub fn link(node: &Handle, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    ops::change::link(node, dir, name)
}

/// Takes a name away: asks for no permission; a directory must be empty (`ENOTEMPTY`).
pub fn unlink(dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    ops::change::unlink(dir, name)
}

/// Renames: asks for no permission.
pub fn rename(from: (&Handle, Name<'_>), to: (&Handle, Name<'_>), how: RenameFlags) -> Result<(), Errno> {
    ops::change::rename(from, to, how)
}

/// Sets attributes: asks for no permission.
pub fn set_attributes(node: &Handle, set: &SetAttributes) -> Result<Attributes, Errno> {
    ops::change::set_attributes(node, set)
}
