//! Symbolic links, followed without recursion and without copying.
//!
//! A link's body is a text like the path. When the walk enters a link, it records the rest of the
//! current text as (inode, count, offset) in a [`Trail`] of fixed size. After the last component of
//! a body the walk goes on in the previous text. Nothing of a body is used before its inode's count
//! was rechecked.
//!
//! Order of the checks for one link: `ELOOP` past 40, `protected_symlinks` for the last component,
//! a mount that follows no links, the time of access, the body. Where a time of access may be due,
//! the walk hands over: the locked walk stores it.
//!
//! A walk that starts again counts its links from zero. Linux goes on counting (`path_init` leaves
//! `total_link_count`), so a walk of 21 to 40 links beside changes may be `ELOOP` there.

use std::cell::Cell;

use super::component::{Path, Text};
use super::fast::{Broken, segment};
use super::link_body::Body;
use super::scope::Scope;
use super::verdict::{Ending, Entered, Rest, Stopped, Trail, arrive, usable};
use super::{Arrived, Cursor, Env, Follow, Stop, cross, dotdot, may, validated};
use crate::Errno;
use crate::abi::MountFlags;
use crate::abi::Resolve;
use crate::cache::dcache::dentry::{flags, inode_of, parent_of};
use crate::cache::icache::inode;
use crate::cache::icache::snapshot::Snapshot;
use crate::config::{Config, Crossing};
use crate::limits::MAX_LINKS;
use crate::memo::recording::Recording;
use crate::memory::seqcount;
use crate::memory::slot::InodeId;
use crate::permission::Subject;
use crate::stats::HandOver;
use crate::sync::Ordering;

/// Returns why a link must not be followed, in the order in which Linux checks. Also stops at a
/// link that is the root of a mount: it is resolved from the place where it is mounted, which only
/// the locked walk determines.
#[cold]
#[inline(never)]
fn refused<'a>(env: &Env<'a>, at: Arrived<'a>, dir: Cursor<'a>, links: usize, is_last: bool) -> Option<Stop<'a>> {
    let link = at.cur;
    if links == MAX_LINKS {
        return Some(validated(link, Errno::ELOOP));
    }
    if link.is(flags::ROOTED) && env.world.mounts.root(at.mount.mount) == link.dentry() {
        return Some(Stop::FromStart(HandOver::Mount));
    }
    if is_last && env.world.protects_symlinks() {
        let (Some(of_link), Some(of_dir)) = (may::snapshot(env, link), may::snapshot(env, dir)) else {
            return Some(Stop::CHANGED);
        };
        let Some(who) = env.who_at(at.mount) else { return Some(Stop::CHANGED) };
        if of_link.if_known().and(of_dir.if_known()).is_err() {
            return Some(Stop::FromStart(HandOver::Permission));
        }
        if is_protected(&who, &of_link, &of_dir) {
            return Some(validated(link, Errno::EACCES));
        }
    }
    let Some(of_mount) = env.world.mounts.switches_at(at.mount) else { return Some(Stop::CHANGED) };
    let no_links = env.scope.is_some_and(|scope| scope.has(Resolve::NO_SYMLINKS)) || of_mount.contains(MountFlags::NOSYMFOLLOW);
    if no_links {
        return Some(validated(link, Errno::ELOOP));
    }
    let word = seqcount::sample(&env.caches().inodes.record(inode_of(link.line))[inode::WORD]);
    let stores = env.world.stores_each_access(at.mount, word);
    stores.then_some(Stop::FromStart(HandOver::AccessTime))
}

/// Returns why the body of a link that has no [`BODY`](inode::flags::BODY) must not be used.
#[cold]
#[inline(never)]
fn withheld<'a>(env: &Env<'a>, at: Arrived<'a>, word: u64) -> Option<Stop<'a>> {
    if word & inode::flags::BODY_DUE == 0 {
        return Some(Stop::FromStart(HandOver::LinkBody));
    }
    if !env.world.stores_no_access(at.mount, word) {
        return Some(Stop::FromStart(HandOver::AccessTime));
    }
    // The way is followed as long as the mount stores none.
    env.tell(Recording::asks_mounts);
    None
}

/// The mode bits of a directory in which `protected_symlinks` may forbid a link.
const STICKY_FOR_ALL: u16 = 0o1002;

/// Returns whether `protected_symlinks` forbids `follower` a link in this directory: the directory
/// is sticky and writable by all users, and neither the follower nor the directory's owner owns the
/// link.
pub(crate) fn is_protected(follower: &Subject<'_>, link: &Snapshot, dir: &Snapshot) -> bool {
    let have_one_owner = link.uid() == dir.uid() && follower.sees_uid(dir.uid());
    dir.mode() & STICKY_FOR_ALL == STICKY_FOR_ALL && !follower.owns(link.uid()) && !have_one_owner
}

/// Records that the walk follows a link. Where `protected_symlinks` may forbid the link to other
/// users, or later, the way is not learned: a link's owner may change while its entry stays. Nor is
/// it where the link's time of access may become due and another dentry would move.
#[cold]
fn tell(env: &Env<'_>, at: Arrived<'_>, dir: Cursor<'_>, is_last: bool) {
    env.tell_place(dir);
    let is_free = |of_dir: Snapshot| of_dir.mode() & STICKY_FOR_ALL != STICKY_FOR_ALL;
    if env.world.protects_symlinks() && !may::snapshot(env, dir).is_some_and(is_free) {
        env.tell(Recording::refuse);
    }
    let record = env.caches().inodes.record(inode_of(at.cur.line));
    let keeps = record[inode::WORD].load(Ordering::Relaxed) & inode::flags::KEEPS_ACCESS != 0;
    if keeps && env.caches().alias(record) != at.cur.dentry().0 {
        env.tell(Recording::refuse);
    }
    env.tell(|way| way.follows(at.cur.dentry().0, is_last));
}

/// Returns why a link must not lead to the root.
#[cold]
#[inline(never)]
fn refused_absolute<'a>(env: &Env<'a>, at: Arrived<'a>, path: Path<'_>, scope: &Scope<'_>) -> Option<Stop<'a>> {
    let link = at.cur;
    let to_another = scope.has(Resolve::NO_XDEV) && at.mount.mount != env.root().mount();
    if scope.has(Resolve::BENEATH) || to_another {
        return Some(validated(link, Errno::EXDEV));
    }
    // Only the locked walk records whether there was a `..` before.
    (scope.has(Resolve::NO_XDEV) && !scope.knows_root(path.0)).then_some(Stop::FromStart(HandOver::LinkBody))
}

/// Follows a link at which the walk of the path stopped, and all links after it, to the end of the
/// path. `after` is the position of the next component, or the length of the path.
#[cold]
#[inline(never)]
pub(crate) fn through<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    link: Arrived<'a>,
    after: usize,
    follow: Follow,
) -> Result<Arrived<'a>, Stopped<'a>> {
    let mut trail = Trail::none();
    let first = if after < path.len() { Rest::At(after) } else { Rest::Over(Ending::of(path)) };
    trail.follow::<C>(env, path, (link, first), follow).map_err(|stop| match stop {
        // A NUL anywhere in the path takes precedence over other errors. It is looked for only
        // after another error was found.
        Stop::Errno(_) if path.has_nul(path.0) => Stopped::Errno(Errno::EINVAL),
        other => trail.stopped(other),
    })
}

/// The kind of place at which a walk of a text stopped.
enum Way {
    ToEnd,
    /// A stop at a link with a component behind it.
    ToLink,
    /// A stop at a dentry that may be covered by a mount.
    Covered,
    /// A stop at a `..` that may lead to another mount.
    Top,
    Stopped,
}

/// The result of a walk of a text. Cells and not a sum type, for the reason that `segment` gives.
struct Reached<'a> {
    at: Cell<Arrived<'a>>,
    /// The position of the next component, except for [`Way::ToEnd`] and [`Way::Stopped`].
    after: Cell<usize>,
    /// The reason, for [`Way::Stopped`].
    stop: Cell<Stop<'a>>,
}

impl<'a> Reached<'a> {
    #[inline(always)]
    fn walk<C: Config, T: Text>(&self, env: &Env<'a>, text: T, rest: T::Rest) -> (Way, usize, Ending) {
        let way = self.segment::<C, T>(env, text, rest);
        let way = if matches!(way, Way::Covered | Way::Top) { self.across::<C, T>(env, text, way) } else { way };
        (way, text.len(), Ending::of(text))
    }

    #[inline(always)]
    fn segment<C: Config, T: Text>(&self, env: &Env<'a>, text: T, rest: T::Rest) -> Way {
        let end = |at| {
            self.at.set(at);
            Way::ToEnd
        };
        let go_on = |at, pos, way| {
            self.at.set(at);
            self.after.set(pos);
            way
        };
        let broken = |why| match why {
            Broken::Link(link, after) => go_on(link, after, Way::ToLink),
            Broken::Covered(at, pos) => go_on(at, pos, Way::Covered),
            Broken::Top(at, pos) => go_on(at, pos, Way::Top),
            Broken::Stop(stop) => {
                self.stop.set(stop);
                Way::Stopped
            }
        };
        segment::<C, _, _>(env, text, self.at.get(), rest, end, broken)
    }

    /// Goes on where the walk may come to another mount.
    #[cold]
    #[inline(never)]
    fn across<C: Config, T: Text>(&self, env: &Env<'a>, text: T, mut way: Way) -> Way {
        while matches!(way, Way::Covered | Way::Top) {
            let (at, pos) = (self.at.get(), self.after.get());
            let above = if matches!(way, Way::Top) { dotdot::up_from_top(env, at) } else { Ok(at) };
            match above.and_then(|above| cross::down(env, above, pos)) {
                Ok(at) => {
                    self.at.set(at);
                    // This variant crosses mounts. The other would stop once more where nothing is
                    // mounted on this mount's dentry.
                    way = self.segment::<Crossing<C>, T>(env, text, text.from(pos));
                }
                Err(stop) => {
                    self.stop.set(stop);
                    return Way::Stopped;
                }
            }
        }
        way
    }
}

impl Trail {
    /// Follows a link, and all links after it. A walk that crosses mounts crosses within its own
    /// loop, so it has already crossed at the end of a text.
    #[inline(always)]
    fn follow<'a, C: Config>(
        &mut self,
        env: &Env<'a>,
        path: Path<'a>,
        first: (Arrived<'a>, Rest),
        follow: Follow,
    ) -> Result<Arrived<'a>, Stop<'a>> {
        let (mut at, mut rest) = first;
        loop {
            let link = at.cur;
            // The directory in which the link was found, as of an instant at which the link was in
            // it.
            let dir = env.cursor(parent_of(link.line));
            let is_last = matches!(rest, Rest::Over(_)) && self.left.is_empty() && follow != Follow::OnTheWay;
            if (self.links == MAX_LINKS
                || is_last && env.world.protects_symlinks()
                || env.world.mounts.some_ask_at_links()
                || C::RULES && env.scope.is_some())
                && let Some(stop) = refused(env, at, dir, self.links, is_last)
            {
                return Err(stop);
            }
            let inode = inode_of(link.line);
            let word = seqcount::sample(&env.caches().inodes.record(inode)[inode::WORD]);
            if word & inode::flags::BODY == 0
                && let Some(stop) = withheld(env, at, word)
            {
                return Err(stop);
            }
            let body = Body::of(env, inode, word);
            let is_absolute = (&body).is_absolute();
            if !(&body).still_there() || !link.unchanged() {
                return Err(Stop::CHANGED);
            }
            if C::RULES
                && is_absolute
                && let Some(scope) = &env.scope
                && let Some(stop) = refused_absolute(env, at, path, scope)
            {
                return Err(stop);
            }
            if C::RECORDS {
                tell(env, at, dir, matches!(rest, Rest::Over(_)) && self.left.is_empty());
            }
            // A link has no children that would protect it from eviction.
            link.mark();
            self.enter(inode, word, rest);
            let from = if is_absolute {
                let root = if C::RULES { env.root() } else { env.asker.root };
                let from = env.from(root).begin();
                if C::RECORDS {
                    env.tell_place(from.cur);
                }
                from
            } else {
                Arrived { cur: dir, mount: at.mount }
            };
            let reached = Reached { at: Cell::new(from), after: Cell::new(0), stop: Cell::new(Stop::CHANGED) };
            let mut walked = reached.walk::<C, _>(env, &body, (&body).beginning());
            (at, rest) = loop {
                let (way, length, ending) = walked;
                let at = reached.at.get();
                match way {
                    Way::Stopped => return Err(reached.stop.get()),
                    Way::ToLink => break (at, Rest::At(reached.after.get())),
                    Way::ToEnd | Way::Covered | Way::Top => {}
                }
                let ending = self.current.behind.or(ending);
                usable(at.cur, length)?;
                if !C::CROSSES && at.cur.is(flags::MOUNTED) {
                    // The first mounts were made during this walk.
                    return Err(Stop::FromStart(HandOver::Mount));
                }
                let stays = self.left.is_empty() && follow == Follow::Not && ending == Ending::Nothing;
                if at.cur.is(flags::LINK) && !stays {
                    break (at, Rest::Over(ending));
                }
                if self.leave().is_none() {
                    arrive(at.cur, length, ending)?;
                    return Ok(at);
                }
                walked = self.go_on::<C>(env, path, &reached);
            };
        }
    }

    /// Continues the walk in a text that was left.
    fn go_on<'a, C: Config>(&self, env: &Env<'a>, path: Path<'a>, reached: &Reached<'a>) -> (Way, usize, Ending) {
        let Entered { inode, word, pos, .. } = self.current;
        if inode == InodeId::NONE {
            return reached.walk::<C, _>(env, path, path.from(pos));
        }
        let body = Body::of(env, inode, word);
        // If the body changed, the first step detects it.
        reached.walk::<C, _>(env, &body, (&body).from(pos))
    }
}
