//! `unlink(2)`, `rmdir(2)`: names are taken away.

use super::may_change::{Victim, may_delete, writable};
use super::parent::{Last, Parent, parent};
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::Ending;
use crate::walk::{Env, Whose};

pub(crate) fn unlink(asker: &Asker, at: Begin, path: &[u8]) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let Parent { dir, last, ending } = parent(&env, at, path)?;
    let Last::Name(name) = last else { return Err(Errno::EISDIR) };
    writable(env.world)?;
    env.trees().unlink(dir.id(), name, |victim| {
        if ending == Ending::Slash {
            let is_directory = env.caches().dentries.word(victim.id()) & flags::DIRECTORY != 0;
            return Err(if is_directory { Errno::EISDIR } else { Errno::ENOTDIR });
        }
        may_delete(&env, dir.id(), victim, Victim::Other)
    })
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
    writable(env.world)?;
    env.trees().unlink(dir.id(), name, |victim| may_delete(&env, dir.id(), victim, Victim::Directory))
}
