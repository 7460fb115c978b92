//! Hidden functions that benches and proofs need and users do not. They are covered by no promise.

pub use crate::cache::icache::first::{FirstProbe, Global, LockFree, Locked};
pub use crate::config::{Config, SearchCheck, Shipped};

use crate::attr::Attributes;
use crate::cache::reclaim::Short;
use crate::memo::Learning;
use crate::mount::PinnedPlace;
use crate::node::{NewNode, NodeKey, RenameFlags, SetAttributes};
use crate::superblock::change::Made;
use crate::text::Name;
use crate::walk::asker::Begin;
use crate::{Access, Context, Errno, Handle, InodeCache, InodeOwner, Vfs, VfsBuilder, ops};

/// Does what `Context::access` does in a variant of the walk, for a context without rules.
#[inline]
pub fn access<C: Config>(context: &Context, path: &[u8], want: Access) -> Result<(), Errno> {
    ops::access::access_with::<C>(context.asker(), path, want)
}

/// Does what `Context::readlink` does in a variant of the walk.
pub fn readlink<C: Config>(context: &Context, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
    ops::readlink::readlinkat_with::<C>(context.asker(), Begin::Cwd, path, buffer)
}

/// Returns the address ranges (first, one past the last) of slots and tables: everything that a hit
/// reads in the caches.
pub fn memory_ranges(vfs: &Vfs) -> Vec<(usize, usize)> {
    let caches = vfs.world().caches();
    let superblocks = caches.superblocks.as_ptr_range();
    let others = vec![vfs.world().memo.range(), caches.side.range(), (superblocks.start.addr(), superblocks.end.addr())];
    [caches.dentries.ranges(), caches.inodes.ranges(), others].concat()
}

/// Returns the address ranges of mounts, which are beside the budget.
pub fn mount_ranges(vfs: &Vfs) -> Vec<(usize, usize)> {
    vfs.world().mounts.ranges()
}

/// Creates an inode cache with a first probe of this kind; see [`InodeCache::new`].
pub fn inode_cache<P: FirstProbe>(capacity: u32, owner: impl InodeOwner + 'static) -> Result<InodeCache<P>, Errno> {
    InodeCache::probed(capacity, owner)
}

/// Holds the lock of a key's bucket while `then` runs. `then` must not call operations of this
/// cache that take it.
pub fn with_bucket_held<P: FirstProbe, T>(cache: &InodeCache<P>, key: NodeKey, then: impl FnOnce() -> T) -> T {
    let _held = cache.bucket(key);
    then()
}

/// Makes the memo of whole paths learn each path that is walked, and probes it each time.
#[must_use]
pub fn learning_at_once(builder: VfsBuilder) -> VfsBuilder {
    builder.learning(Learning::AtOnce)
}

/// Makes the memo of whole paths learn the directory of each path that is walked, however short,
/// and probes it each time.
#[must_use]
pub fn directories_learned_at_once(builder: VfsBuilder) -> VfsBuilder {
    builder.learning(Learning::DirectoriesAtOnce)
}

/// Makes the memo of whole paths learn nothing. It is still probed.
#[must_use]
pub fn learning_never(builder: VfsBuilder) -> VfsBuilder {
    builder.learning(Learning::Never)
}

/// Counts a change of a dentry of which the memo of whole paths knows, as a rename elsewhere does:
/// no entry is fresh any more.
pub fn count_change(vfs: &Vfs) {
    vfs.world().caches().dentries.changes().count();
}

/// Evicts up to `n` dentries that are not pinned. Returns the number of evicted ones.
pub fn evict(vfs: &Vfs, n: usize) -> usize {
    (0..n).take_while(|_| vfs.world().caches().evict_one(Short::Dentries)).count()
}

/// Evicts every dentry that is not pinned, at the cost of a few visits to each.
pub fn evict_all(vfs: &Vfs) {
    // A directory can be evicted when all its cached children are.
    while vfs.world().caches().evict_any(Short::Dentries, u32::MAX) {}
}

/// Returns the root of the topmost mount on a place, or the place itself where there is none.
pub fn topmost(handle: &Handle) -> Handle {
    let world = handle.world();
    Handle::from_pinned(handle.vfs(), world.topmost(PinnedPlace::again(world, handle.place())))
}

/// Makes a node without permission checks.
pub fn create(dir: &Handle, name: Name<'_>, new: &NewNode<'_>) -> Result<Handle, Errno> {
    match dir.world().trees.make(dir.dentry(), name.bytes(), || Ok(*new))? {
        Made::New(node) => Ok(dir.beside(node)),
        Made::There(_) => Err(Errno::EEXIST),
    }
}

/// Gives a node another name without permission checks.
pub fn link(node: &Handle, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    same(node, dir)?;
    dir.world().trees.link(node.dentry(), dir.dentry(), name.bytes(), || Ok(()))
}

/// Removes a name without permission checks. A directory must be empty (`ENOTEMPTY`).
pub fn unlink(dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    dir.world().trees.unlink(dir.dentry(), name.bytes(), |_| Ok(())).map(drop)
}

/// Renames without permission checks.
pub fn rename(from: (&Handle, Name<'_>), to: (&Handle, Name<'_>), how: RenameFlags) -> Result<(), Errno> {
    same(from.0, to.0)?;
    let (old, new) = ((from.0.dentry(), from.1.bytes()), (to.0.dentry(), to.1.bytes()));
    from.0.world().trees.rename(old, new, how, |_, _| Ok(()), |_, _| Ok(()), |_, _| Ok(())).map(drop)
}

/// Sets attributes without permission checks.
pub fn set_attributes(node: &Handle, set: &SetAttributes) -> Result<Attributes, Errno> {
    node.world().trees.set_attributes(node.inode(), set)
}

fn same(a: &Handle, b: &Handle) -> Result<(), Errno> {
    if a.vfs().is(b.vfs()) { Ok(()) } else { Err(Errno::EXDEV) }
}
