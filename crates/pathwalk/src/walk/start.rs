//! The places where walks start.

use super::Env;
use super::asker::Begin;
use super::component::{Path, Text};
use super::scope::{Look, Refused};
use crate::Errno;
use crate::abi::Resolve;
use crate::cache::dcache::dentry::flags;
use crate::limits::PATH_MAX;
use crate::mount::Place;

/// Returns where a walk starts that was given no starting point. Checks what is refused before any
/// walk: `ENAMETOOLONG` for a path over `PATH_MAX`, `ENOENT` for an empty one.
///
/// The result is a place and not a cursor: within a `Result`, the word of a cursor would be split
/// up and reassembled at every step of the walk.
#[inline(always)]
pub(crate) fn at_cwd(env: &Env<'_>, path: &[u8]) -> Result<Place, Errno> {
    if path.len() > PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    match path.first() {
        Some(b'/') => Ok(env.root()),
        Some(_) => Ok(env.asker.cwd),
        None => Err(Errno::ENOENT),
    }
}

/// Returns where a walk starts that was given a starting point. It accepts an empty path; the
/// caller refuses that where it has to. It may wait for a move of a directory.
pub(crate) fn at(env: &Env<'_>, at: Begin, path: &[u8]) -> Result<Place, Errno> {
    within(env, at, path, Look::AtLast(env.world)).map_err(Refused::errno)
}

/// Does the same as [`at`] without waiting: `EAGAIN` where it might have to wait.
pub(crate) fn at_once(env: &Env<'_>, at: Begin, path: &[u8]) -> Result<Place, Errno> {
    within(env, at, path, Look::Once(env.world)).map_err(Refused::errno)
}

fn within(env: &Env<'_>, at: Begin, path: &[u8], look: Look<'_>) -> Result<Place, Refused> {
    if path.len() > PATH_MAX {
        return Err(Refused::With(Errno::ENAMETOOLONG));
    }
    if Path(path).has_nul(path) {
        return Err(Refused::With(Errno::EINVAL));
    }
    let is_absolute = path.first() == Some(&b'/');
    match &env.scope {
        None if is_absolute => Ok(env.root()),
        None => given(env, at, path).map_err(Refused::With),
        Some(scope) if is_absolute && scope.has(Resolve::BENEATH) => Err(Refused::With(Errno::EXDEV)),
        Some(scope) if is_absolute && !scope.has(Resolve::IN_ROOT) => Ok(env.root()),
        Some(scope) => {
            let start = given(env, at, path).map_err(Refused::With)?;
            scope.admits(start, look).map(|()| start)
        }
    }
}

/// Returns the starting point that was given. `EBADF` if it is not of this world, `ENOTDIR` if it
/// is no directory and the path is not empty.
fn given(env: &Env<'_>, at: Begin, path: &[u8]) -> Result<Place, Errno> {
    match at {
        Begin::Cwd => Ok(env.asker.cwd),
        Begin::Elsewhere => Err(Errno::EBADF),
        Begin::At(place) if path.is_empty() => Ok(place),
        Begin::At(place) if env.caches().dentries.word(place.dentry()) & flags::DIRECTORY == 0 => Err(Errno::ENOTDIR),
        Begin::At(place) => Ok(place),
    }
}
