//! The operations as the caches alone answer them: the fast walk, without a locked walk that goes
//! on where it stops.
//!
//! Nothing here takes a lock, calls the file system (except `try_open`, which does not block) or
//! waits for either.

use super::{access, follow, lookup, readlink, stat};
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::{Attributes, Statx, StatxMask};
use crate::config::Shipped;
use crate::memory::seqcount::ODD;
use crate::mount::PinnedPlace;
use crate::permission::Access;
use crate::stats::HandOver;
use crate::walk::asker::Begin;
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::whole::to_end;
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

pub(crate) fn fstatat<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: AtFlags) -> Result<Attributes, Stopped<'a>> {
    let how = if AtFlags::OF_PATH.contains(how) { how } else { stat::of_fstatat(how) };
    statx(env, at, path, how, StatxMask::BASIC_STATS).map(Attributes::from)
}

#[inline(always)]
pub(crate) fn statx<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: AtFlags, mask: StatxMask) -> Result<Statx, Stopped<'a>> {
    if !AtFlags::OF_PATH.contains(how) || mask.contains(StatxMask::RESERVED) {
        return statx_by_flags(env, at, path, how, mask);
    }
    match target(env, at, path, how, AtFlags::OF_PATH)? {
        Target::Start(at) => stat::statx_at_end(env, at, mask),
        Target::Path(env) => stat::statx_fast(&env, path, follow(how), mask),
    }
}

/// Returns the attributes by any flags. Under `FORCE_SYNC` the caches have no answer.
#[cold]
#[inline(never)]
fn statx_by_flags<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], how: AtFlags, mask: StatxMask) -> Result<Statx, Stopped<'a>> {
    stat::check(how, mask)?;
    let rest = how & AtFlags::OF_PATH;
    if how.contains(AtFlags::FORCE_SYNC) {
        return match target(env, at, path, rest, AtFlags::OF_PATH)? {
            Target::Start(_) => Err(Stopped::HandOver(Resume::FromStart(HandOver::Attributes))),
            // An error on the way is one in any case.
            Target::Path(env) => stat::statx_fast(&env, path, follow(rest), StatxMask::empty())
                .and(Err(Stopped::HandOver(Resume::FromStart(HandOver::Attributes)))),
        };
    }
    let end = |env: &Env<'a>, at| match how.contains(AtFlags::DONT_SYNC) {
        true => stat::at_hand_at_end(env, at, mask),
        false => stat::statx_at_end(env, at, mask),
    };
    match target(env, at, path, rest, AtFlags::OF_PATH)? {
        Target::Start(at) => end(env, at),
        Target::Path(env) => to_end::<Shipped, _>(&env, path, follow(rest), Ok).and_then(|at| end(&env, at)),
    }
}

pub(crate) fn access<'a>(env: &Env<'a>, at: Begin, path: &'a [u8], want: Access, how: AtFlags) -> Result<(), Stopped<'a>> {
    match target(env, at, path, how, AtFlags::OF_ACCESS)? {
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
    match target(env, at, path, how, AtFlags::OF_PATH)? {
        Target::Start(at) => Ok(PinnedPlace::again(env.world, at.place())),
        Target::Path(env) => lookup::fast(&env, path, follow(how)),
    }
}
