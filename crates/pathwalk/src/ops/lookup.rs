//! A handle on what a path leads to, as `open(O_PATH)` gives; and what `chdir(2)` and `chroot(2)` want of it.

use super::{Target, answer, follow, target};
use crate::Errno;
use crate::config::Shipped;
use crate::context::{At, AtFlags, Context};
use crate::dcache::dentry::{DentryId, flags};
use crate::handle::Handle;
use crate::permission::Access;
use crate::stats::HandOver;
use crate::vfs::Pinned;
use crate::walk::hand_over::Resume;
use crate::walk::last::{Stopped, to_end};
use crate::walk::{Cursor, Env, Follow, Whose};

pub(crate) fn lookupat(context: &Context, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
    let env = Env::new(context, Whose::Effective);
    let found = pinned_at(&env, at, path, flags)?;
    Ok(Handle::from_pinned(&context.vfs, found.into_id()))
}

/// What a path leads to, pinned; with the flags of an operation that takes no others.
pub(crate) fn pinned_at<'a>(env: &Env<'a>, at: At<'_>, path: &'a [u8], flags: AtFlags) -> Result<Pinned<'a>, Errno> {
    match target(env, at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Start(start) => Ok(start),
        Target::Path(from) => pinned(env, path, from.dentry(), follow(flags)),
    }
}

/// What a path leads to from a starting point, pinned.
pub(crate) fn pinned<'a>(env: &Env<'a>, path: &'a [u8], from: DentryId, follow: Follow) -> Result<Pinned<'a>, Errno> {
    let fast = fast(env, path, env.cursor(from), follow);
    answer(env, path, from, follow, fast, Ok)
}

pub(crate) fn fast<'a>(env: &Env<'a>, path: &'a [u8], from: Cursor<'a>, follow: Follow) -> Result<Pinned<'a>, Stopped<'a>> {
    to_end::<Shipped, _>(env, path, from, follow, Ok).and_then(|cur| at_end(env, cur))
}

/// Pins what a walk arrived at.
pub(super) fn at_end<'a>(env: &Env<'a>, cur: Cursor<'a>) -> Result<Pinned<'a>, Stopped<'a>> {
    let id = cur.dentry();
    if env.core.dentries.pin_sampled(id, cur.word) {
        Ok(Pinned::new(env.core, id))
    } else {
        Err(Stopped::HandOver(Resume::FromStart(HandOver::Changed)))
    }
}

/// A directory that the caller may search.
pub(crate) fn searchable_directory(context: &Context, path: &[u8]) -> Result<Handle, Errno> {
    let handle = lookupat(context, At::Cwd, path, AtFlags::empty())?;
    let core = context.vfs.core();
    if core.dentries.word(handle.dentry()) & flags::DIRECTORY == 0 {
        return Err(Errno::ENOTDIR);
    }
    core.may(core.dentries.inode(handle.dentry()), &context.credentials.effective(), Access::EXECUTE)?;
    Ok(handle)
}
