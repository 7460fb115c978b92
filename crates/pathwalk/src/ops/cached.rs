//! The operations as the caches alone answer them: the fast walk, without a locked walk that goes
//! on where it stops.
//!
//! Nothing here takes a lock, calls the file system (except `try_open`, which does not block) or
//! waits for either.

use super::{access, follow, lookup, readlink, stat};
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::{Statx, StatxMask};
use crate::config::Shipped;
use crate::memory::seqcount::ODD;
use crate::mount::PinnedPlace;
use crate::permission::Access;
use crate::stats::HandOver;
use crate::walk::asker::Begin;
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::{Arrived, Env, start};

/// The object of an operation. Nothing is pinned for it.
enum Target<'a> {
    /// The end of the path, walked in this environment.
    Path(Env<'a>),
    /// The starting point itself, on which the asker has a pin: the path is empty.
    Start(Arrived<'a>),
}

fn target<'a>(env: &Env<'a>, at: Begin, path: &[u8], how: AtFlags, allowed: AtFlags) -> Result<Target<'a>, Stopped<'a>> {
    if !allowed.contains(how) {
        return Err(Errno::EINVAL.into());
    }
    if path.is_empty() && !how.contains(AtFlags::EMPTY_PATH) {
        return Err(Errno::ENOENT.into());
    }
    let env = env.from(start::at_once(env, at, path)?);
    let at = env.begin();
    if !path.is_empty() {
        Ok(Target::Path(env))
    } else if at.cur.is(ODD) {
        Err(Stopped::HandOver(Resume::FromStart(HandOver::Changed)))
    } else {
        Ok(Target::Start(at))
    }
}

const OF_STAT: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::EMPTY_PATH);

pub(crate) fn statx<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: AtFlags, mask: StatxMask) -> Result<Statx, Stopped<'a>> {
    if !StatxMask::all().contains(mask) {
        return Err(Errno::EINVAL.into());
    }
    match target(env, at, path, how, OF_STAT)? {
        Target::Start(at) => stat::statx_at_end(env, at, mask),
        Target::Path(env) => stat::statx_fast(&env, path, follow(how), mask),
    }
}

pub(crate) fn access<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], want: Access, how: AtFlags) -> Result<(), Stopped<'a>> {
    match target(env, at, path, how, AtFlags::all())? {
        Target::Start(at) => access::at_end(env, at, want),
        Target::Path(env) => access::fast::<Shipped>(&env, path, follow(how), want),
    }
}

pub(crate) fn readlink<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], buffer: &mut [u8]) -> Result<usize, Stopped<'a>> {
    if buffer.is_empty() {
        return Err(Errno::EINVAL.into());
    }
    match target(env, at, path, AtFlags::EMPTY_PATH, AtFlags::EMPTY_PATH)? {
        Target::Start(at) => readlink::at_end::<Shipped>(env, at, buffer, Errno::ENOENT),
        Target::Path(env) => readlink::fast::<Shipped>(&env, path, buffer),
    }
}

pub(crate) fn lookup<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: AtFlags) -> Result<PinnedPlace<'a>, Stopped<'a>> {
    match target(env, at, path, how, OF_STAT)? {
        Target::Start(at) => Ok(PinnedPlace::again(env.world, at.place())),
        Target::Path(env) => lookup::fast(&env, path, follow(how)),
    }
}
