//! What a walk tells the security hook, and its question whether a directory may be searched.
//!
//! The nodes up to the root are collected first, as Landlock goes up: one after the other, so
//! directories that move meanwhile may be seen at either place.

use super::Env;
use super::asker::Asker;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::icache::inode::key_of;
use crate::cache::icache::snapshot::Snapshot;
use crate::cache::search::is_promised;
use crate::memory::slot::{DentryId, InodeId};
use crate::mount::{MountPin, PinnedPlace, Place};
use crate::permission::Access;
use crate::security::{Caller, NodeId, Search, SecurityHook, Way};

/// Returns the hook, if there is one.
pub(crate) fn hook<'a>(env: &Env<'a>) -> Option<&'a dyn SecurityHook> {
    env.world.policy.security.as_deref()
}

pub(crate) fn caller(asker: &Asker) -> Caller<'_> {
    Caller::new(&asker.credentials, asker.label.as_ref())
}

/// The check that refuses a search.
pub(crate) enum NoSearch {
    /// Permissions, or the file system's own check.
    Rights(Errno),
    /// The security hook.
    Hook(Errno),
}

impl NoSearch {
    pub(crate) fn errno(&self) -> Errno {
        match *self {
            NoSearch::Rights(errno) | NoSearch::Hook(errno) => errno,
        }
    }
}

/// Checks whether the asker may search a directory on which the caller has a pin: by its rights,
/// and then by the hook, if that cares. May block.
pub(crate) fn may_search(env: &Env<'_>, dir: Place) -> Result<(), NoSearch> {
    let inode = env.caches().dentries.inode(dir.dentry());
    env.trees().may(inode, &env.who_in(dir.mount()), Access::EXECUTE).map_err(NoSearch::Rights)?;
    hook_lets_search(env, dir).map_err(NoSearch::Hook)
}

/// Checks whether the hook lets the asker search a directory on which the caller has a pin, and
/// notes its promise, if it gives one.
pub(crate) fn hook_lets_search(env: &Env<'_>, dir: Place) -> Result<(), Errno> {
    let (caches, rules) = (env.caches(), &env.caches().search);
    let inode = caches.dentries.inode(dir.dentry());
    let Some(hook) = hook(env).filter(|_| rules.asks()) else { return Ok(()) };
    if is_promised(Snapshot::of_pinned(caches, inode).word) {
        return Ok(());
    }
    let version = rules.version();
    match hook.may_search(&caller(env.asker), &way(env, dir)?.object()) {
        Search::Granted => Ok(()),
        Search::GrantedToAll => {
            caches.note_promise(inode, version);
            Ok(())
        }
        Search::Refused => Err(Errno::EACCES),
    }
}

pub(crate) fn node_of(env: &Env<'_>, inode: InodeId) -> NodeId {
    NodeId::new(env.caches().superblock_of(inode), key_of(env.caches().inodes.record(inode)))
}

/// Collects the nodes from a place up to the root of the topmost mount.
pub(crate) fn way(env: &Env<'_>, place: Place) -> Result<Way, Errno> {
    let caches = env.caches();
    let inode = |dentry: DentryId| caches.dentries.inode(dentry);
    let kind = env.trees().known_snapshot(inode(place.dentry()))?.kind();
    let (mut nodes, mut in_mount) = (Vec::new(), 0);
    let node = Pinned::again(caches, place.dentry());
    let mut at = Some(PinnedPlace { node, mount: MountPin::again(env.world, place.mount()) });
    while let Some(here) = at {
        nodes.push(node_of(env, inode(here.id())));
        in_mount += usize::from(here.mount.id() == place.mount());
        at = env.world.above(&here, Place::NONE);
    }
    Ok(Way { kind, nodes, in_mount })
}
