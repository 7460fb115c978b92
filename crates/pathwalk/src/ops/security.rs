//! The questions of operations to the security hook.
//!
//! Where a `Vfs` has no hook, a question is one test of a pointer. The walk's own question, about
//! search, is in [`hooked`](crate::walk::hooked).

use crate::Errno;
use crate::cache::Pinned;
use crate::memory::slot::DentryId;
use crate::mount::{PinnedPlace, Place};
use crate::security::{Move, MoveKind, Object, Rights, Way};
use crate::walk::asker::{Asker, Begin};
use crate::walk::hooked::{caller, hook, node_of, way};
use crate::walk::{Env, Whose};

/// Checks whether the hook grants rights to a place on which the caller has a pin. `EACCES` if not.
pub(super) fn may(env: &Env<'_>, place: Place, rights: Rights) -> Result<(), Errno> {
    if granted(env, place, rights)?.contains(rights) { Ok(()) } else { Err(Errno::EACCES) }
}

/// Returns those of the rights that the hook grants; all of them if there is no hook.
pub(super) fn granted(env: &Env<'_>, place: Place, rights: Rights) -> Result<Rights, Errno> {
    let Some(hook) = hook(env) else { return Ok(rights) };
    Ok(hook.granted(&caller(env.asker), &way(env, place)?.object(), rights) & rights)
}

/// Returns what `tell` says of a place on which the caller has a pin.
pub(crate) fn about<T>(asker: &Asker, place: Place, tell: impl FnOnce(&Object<'_>) -> T) -> Result<T, Errno> {
    Ok(tell(&way(&Env::of(asker, Whose::Effective, Begin::Cwd), place)?.object()))
}

/// Checks whether the hook lets the caller change the tree of mounts.
pub(super) fn may_mount(asker: &Asker) -> Result<(), Errno> {
    asker.world.policy.security.as_deref().map_or(Ok(()), |hook| hook.may_mount(&caller(asker)))
}

/// Checks a rename between two directories of one mount. The caller has pins on all of them.
pub(super) fn may_rename(
    env: &Env<'_>,
    (from, to): (Place, Place),
    (node, target): (DentryId, Option<DentryId>),
    how: MoveKind,
) -> Result<(), Errno> {
    let Some(hook) = hook(env) else { return Ok(()) };
    let target = target.map(|target| alone(env, target)).transpose()?;
    let (from, to, node) = (way(env, from)?, way(env, to)?, alone(env, node)?);
    let target = target.as_ref().map(Way::object);
    hook.may_move(&caller(env.asker), &Move { from: from.object(), to: to.object(), node: node.object(), target, how })
}

/// Checks a link to a node into a directory of the same mount.
pub(super) fn may_link(env: &Env<'_>, node: &PinnedPlace<'_>, to: Place) -> Result<(), Errno> {
    let Some(hook) = hook(env) else { return Ok(()) };
    let caches = env.caches();
    // What a mount shows of a single file is in no directory of that mount.
    let is_root = env.world.mounts.root(node.mount.id()) == node.id();
    let parent = (!is_root).then(|| Pinned::new(caches, caches.pin_parent(node.id())));
    let from = Place::new(node.mount.id(), parent.as_ref().map_or(node.id(), Pinned::id));
    let (from, to, node) = (way(env, from)?, way(env, to)?, alone(env, node.id())?);
    let (from, to, node) = (from.object(), to.object(), node.object());
    hook.may_move(&caller(env.asker), &Move { from, to, node, target: None, how: MoveKind::Link })
}

/// Returns a node without those above it.
fn alone(env: &Env<'_>, dentry: DentryId) -> Result<Way, Errno> {
    let inode = env.caches().dentries.inode(dentry);
    Ok(Way { kind: env.trees().known_snapshot(inode)?.kind(), nodes: vec![node_of(env, inode)], in_mount: 1 })
}
