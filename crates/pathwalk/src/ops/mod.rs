//! The operations, one file each: a fast walk with an action at its end, and the same action behind
//! a locked walk.

pub(crate) mod access;
pub(crate) mod acl;
pub(crate) mod cached;
pub(crate) mod connect;
pub(crate) mod execute;
pub(crate) mod generation;
pub(crate) mod handles;
mod healed;
pub(crate) mod inode_flags;
pub(crate) mod invalidate;
pub(crate) mod leases;
pub(crate) mod link;
pub(crate) mod listed;
pub(crate) mod lookup;
pub(crate) mod make;
mod may_change;
pub(crate) mod mounts;
pub(crate) mod open;
mod open_special;
mod parent;
pub(crate) mod readlink;
pub(crate) mod remove;
pub(crate) mod rename;
pub(crate) mod security;
pub(crate) mod set;
pub(crate) mod stat;
pub(crate) mod steps;
pub(crate) mod sync;
pub(crate) mod xattr;

pub(crate) use healed::{Way, healed};

use crate::Errno;
use crate::abi::AtFlags;
use crate::mount::{PinnedPlace, Place};
use crate::walk::asker::Begin;
use crate::walk::hand_over;
use crate::walk::locked::Walker;
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::{Env, Follow, start};

/// The object of an operation.
pub(crate) enum Target<'a> {
    /// The end of the path, which starts at this place.
    Path(Place),
    /// The starting point itself: the path is empty.
    Start(PinnedPlace<'a>),
}

/// Checks what can be checked before a walk.
fn target<'a>(env: &Env<'a>, at: Begin, path: &[u8], flags: AtFlags, allowed: AtFlags) -> Result<Target<'a>, Errno> {
    if !allowed.contains(flags) {
        return Err(Errno::EINVAL);
    }
    target_of(env, at, path, flags)
}

/// Does the same with flags that were checked.
fn target_of<'a>(env: &Env<'a>, at: Begin, path: &[u8], flags: AtFlags) -> Result<Target<'a>, Errno> {
    if path.is_empty() && !flags.contains(AtFlags::EMPTY_PATH) {
        return Err(Errno::ENOENT);
    }
    let start = start::at(env, at, path)?;
    Ok(if path.is_empty() { Target::Start(PinnedPlace::again(env.world, start)) } else { Target::Path(start) })
}

fn follow(flags: AtFlags) -> Follow {
    if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { Follow::Not } else { Follow::Links }
}

/// Returns the answer of a fast walk, or else of a locked one and of `finish` at its end.
#[inline(always)]
fn answer<'a, T>(
    env: &Env<'a>,
    path: &'a [u8],
    follow: Follow,
    fast: Result<T, Stopped<'a>>,
    finish: impl Fn(PinnedPlace<'a>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    match fast {
        Ok(answer) => Ok(answer),
        Err(Stopped::Errno(errno)) => Err(errno),
        Err(Stopped::HandOver(resume)) => slow(env, path, follow, &resume, |walker| walker.run().and_then(&finish)),
    }
}

/// Has `run` do a locked walk, and what is behind it. A second time, if something was stale.
#[cold]
#[inline(never)]
fn slow<'a, T>(
    env: &Env<'a>,
    path: &'a [u8],
    follow: Follow,
    resume: &Resume<'a>,
    run: impl Fn(Walker<'a>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    if path.contains(&0) {
        return Err(Errno::EINVAL);
    }
    match run(hand_over::walker(env, path, resume, follow)) {
        // The walk is repeated, and asks the file system about every entry on the way.
        Err(Errno::ESTALE) => run(Walker::start(env, path, env.start, follow).distrusting()),
        answer => answer,
    }
}
