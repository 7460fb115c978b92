//! `unlink(2)`, `rmdir(2)`: the removal of names, and of what is mounted on them in other
//! namespaces.

use super::may_change::{Victim, may_delete, writing};
use super::parent::{Last, Parent, parent};
use super::security;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::security::Rights;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::Ending;
use crate::walk::{Env, Whose};

pub(crate) fn unlink(asker: &Asker, at: Begin, path: &[u8]) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let Parent { dir, last, ending } = parent(&env, at, path)?;
    let Last::Name(name) = last else { return Err(Errno::EISDIR) };
    let _writing = writing(&env, dir.mount())?;
    let removed = env.trees().unlink(dir.id(), name, |victim| {
        if ending == Ending::Slash {
            let is_directory = env.caches().dentries.word(victim.id()) & flags::DIRECTORY != 0;
            return Err(if is_directory { Errno::EISDIR } else { Errno::ENOTDIR });
        }
        security::may(&env, dir.place(), Rights::REMOVE_FILE)?;
        may_delete(&env, &env.who_in(dir.mount()), dir.id(), victim, Victim::Other)?;
        not_covered(&env, victim)
    })?;
    uncover(&env, removed);
    Ok(())
}

pub(crate) fn rmdir(asker: &Asker, at: Begin, path: &[u8]) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let Parent { dir, last, .. } = parent(&env, at, path)?;
    let name = match last {
        Last::Name(name) => name,
        Last::Dot => return Err(Errno::EINVAL),
        Last::DotDot => return Err(Errno::ENOTEMPTY),
        Last::Root => return Err(Errno::EBUSY),
    };
    let _writing = writing(&env, dir.mount())?;
    let removed = env.trees().unlink(dir.id(), name, |victim| {
        security::may(&env, dir.place(), Rights::REMOVE_DIR)?;
        may_delete(&env, &env.who_in(dir.mount()), dir.id(), victim, Victim::Directory)?;
        not_covered(&env, victim)
    })?;
    uncover(&env, removed);
    Ok(())
}

/// Returns `EBUSY` for an entry on which something is mounted in the asker's namespace. Linux:
/// `is_local_mountpoint`.
pub(super) fn not_covered(env: &Env<'_>, entry: &Pinned<'_>) -> Result<(), Errno> {
    let is_covered =
        env.caches().dentries.word(entry.id()) & flags::MOUNTED != 0 && env.world.is_mounted_in(entry.id(), env.asker.namespace);
    if is_covered { Err(Errno::EBUSY) } else { Ok(()) }
}

/// Unmounts, in all namespaces, what is mounted on a removed entry. Linux: `detach_mounts`.
pub(super) fn uncover(env: &Env<'_>, removed: Option<Pinned<'_>>) {
    if let Some(point) = removed {
        env.world.change(|change| change.detach_at(point.id()));
        env.caches().discard_out(point.into_id());
    }
}
