//! Lookups of paths, as by `open(O_PATH)`, and with the checks of `chdir(2)` and `chroot(2)`.

use super::{Target, answer, follow, slow, target};
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::config::Shipped;
use crate::mount::{MountPin, PinnedPlace, Place};
use crate::stats::HandOver;
use crate::superblock::early::Early;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::whole::to_end;
use crate::walk::{Arrived, Env, Follow, Whose, hooked};

pub(crate) fn lookupat<'a>(asker: &'a Asker, at: Begin, path: &'a [u8], flags: AtFlags) -> Result<PinnedPlace<'a>, Errno> {
    pinned_at(&Env::of(asker, Whose::Effective, at), at, path, flags)
}

/// Returns the place that a path leads to, pinned. Accepts only the flags `SYMLINK_NOFOLLOW` and
/// `EMPTY_PATH`.
pub(crate) fn pinned_at<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], flags: AtFlags) -> Result<PinnedPlace<'a>, Errno> {
    match target(env, at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Start(start) => Ok(start),
        Target::Path(from) => pinned(env, path, from, follow(flags)),
    }
}

/// Does the same as [`pinned_at`] for an open for reading, which may get the open file with the
/// last lookup.
pub(super) fn pinned_to_read<'a>(
    env: &Env<'a>,
    at: Begin,
    path: &'a [u8],
    flags: AtFlags,
    expected: Option<FileType>,
) -> Result<(PinnedPlace<'a>, Option<Early>), Errno> {
    let from = match target(env, at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Start(start) => return Ok((start, None)),
        Target::Path(from) => from,
    };
    let env = env.from(from);
    match fast(&env, path, follow(flags)) {
        Ok(place) => Ok((place, None)),
        Err(Stopped::Errno(errno)) => Err(errno),
        Err(Stopped::HandOver(resume)) => {
            slow(&env, path, follow(flags), &resume, |walker| walker.for_reading(Early::expecting(expected)).run_to_read())
        }
    }
}

/// Returns the place that a path leads to from a starting point, pinned.
pub(crate) fn pinned<'a>(env: &Env<'a>, path: &'a [u8], from: Place, follow: Follow) -> Result<PinnedPlace<'a>, Errno> {
    let env = env.from(from);
    let fast = fast(&env, path, follow);
    answer(&env, path, follow, fast, Ok)
}

pub(crate) fn fast<'a>(env: &Env<'a>, path: &'a [u8], follow: Follow) -> Result<PinnedPlace<'a>, Stopped<'a>> {
    to_end::<Shipped, _>(env, path, follow, Ok).and_then(|at| at_end(env, at))
}

/// Pins what a walk arrived at.
pub(super) fn at_end<'a>(env: &Env<'a>, at: Arrived<'a>) -> Result<PinnedPlace<'a>, Stopped<'a>> {
    let changed = || Stopped::HandOver(Resume::FromStart(HandOver::Changed));
    let id = at.cur.dentry();
    let mount = MountPin::sampled(env.world, at.mount).ok_or_else(changed)?;
    if env.caches().dentries.pin_sampled(id, at.cur.word) {
        Ok(PinnedPlace { node: Pinned::new(env.caches(), id), mount })
    } else {
        Err(changed())
    }
}

/// Returns the directory that a path leads to, `ENOTDIR` if it is none. Linux: `LOOKUP_DIRECTORY`.
pub(crate) fn directory<'a>(env: &Env<'a>, at: Begin, path: &'a [u8]) -> Result<PinnedPlace<'a>, Errno> {
    let dir = pinned_at(env, at, path, AtFlags::empty())?;
    let is_directory = env.caches().dentries.word(dir.id()) & flags::DIRECTORY != 0;
    if is_directory { Ok(dir) } else { Err(Errno::ENOTDIR) }
}

/// Returns a directory that the asker may search.
pub(crate) fn searchable_directory<'a>(asker: &'a Asker, at: Begin, path: &'a [u8]) -> Result<PinnedPlace<'a>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let dir = directory(&env, at, path)?;
    hooked::may_search(&env, dir.place()).map_err(|why| why.errno())?;
    Ok(dir)
}
