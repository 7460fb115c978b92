//! The place at which a path ends in the caches, for reports by path.

use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::mount::PinnedPlace;
use crate::walk::asker::{Asker, Begin};
use crate::walk::locked::Walker;
use crate::walk::{Env, Follow, Whose, start};

/// Returns a directory and a name in it: the last name of a path, or the first one behind which the
/// caches have nothing. Calls no file system. `EINVAL` if the last component is no name.
pub(crate) fn last_cached<'a>(asker: &'a Asker, path: &'a [u8]) -> Result<(PinnedPlace<'a>, Box<[u8]>), Errno> {
    let env = Env::of(asker, Whose::Effective, Begin::Cwd);
    let start = start::at(&env, Begin::Cwd, path)?;
    let (place, name) = Walker::start(&env, path, start, Follow::Not).in_the_caches();
    let (dir, name) = if env.caches().dentries.word(place.id()) & flags::DIRECTORY != 0 {
        (place, name.ok_or(Errno::EINVAL)?)
    } else {
        // The walk ended at a node that is no directory, or at a link whose body is not cached.
        let own = env.caches().name_of(env.caches().dentries.line(place.id()));
        let dir = Pinned::new(env.caches(), env.caches().pin_parent(place.id()));
        (place.with(dir), own.into())
    };
    if matches!(&*name, b"." | b"..") { Err(Errno::EINVAL) } else { Ok((dir, name)) }
}
