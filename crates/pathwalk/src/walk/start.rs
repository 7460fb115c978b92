//! Where a walk starts.

use super::Env;
use super::component::{Path, Text};
use crate::Errno;
use crate::context::At;
use crate::dcache::dentry::{DentryId, flags};
use crate::limits::PATH_MAX;

/// Where a walk starts that was given no starting point, and what there is to refuse before a walk.
///
/// Not a cursor: within a `Result`, its word would be taken apart and put together again at every step of the walk.
#[inline(always)]
pub(crate) fn at_cwd(env: &Env<'_>, path: &[u8]) -> Result<DentryId, Errno> {
    if path.len() > PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    match path.first() {
        Some(b'/') => Ok(env.root()),
        Some(_) => Ok(env.context.cwd.dentry()),
        None => Err(Errno::ENOENT),
    }
}

/// The same from a starting point; an empty path is refused by the caller, if it is to be.
pub(crate) fn at(env: &Env<'_>, at: At<'_>, path: &[u8]) -> Result<DentryId, Errno> {
    if path.len() > PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    if Path(path).has_nul(path) {
        return Err(Errno::EINVAL);
    }
    match at {
        _ if path.first() == Some(&b'/') => Ok(env.root()),
        At::Cwd => Ok(env.context.cwd.dentry()),
        At::Handle(handle) if !handle.vfs().is(&env.context.vfs) => Err(Errno::EBADF),
        At::Handle(handle) if path.is_empty() => Ok(handle.dentry()),
        At::Handle(handle) if env.core.dentries.word(handle.dentry()) & flags::DIRECTORY == 0 => Err(Errno::ENOTDIR),
        At::Handle(handle) => Ok(handle.dentry()),
    }
}
