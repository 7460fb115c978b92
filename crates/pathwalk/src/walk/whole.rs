//! Whole paths: a lookup asks the memo first, and walks where the memo has no answer.
//!
//! The memo answers as the walk would, with a dentry that is sampled and not pinned. Some paths
//! that were walked before are walked once more, to be recorded; that is out of line.
//!
//! What the rules of a scope forbid depends on the way. Where there are rules, the memo answers
//! only ways that no rule is about.
//!
//! What always holds: an answer of the memo is rechecked as the end of a walk is.

use super::component::Path;
use super::scope::Scope;
use super::verdict::Stopped;
use super::{Arrived, Cursor, Env, Follow, Whose, last};
use crate::Errno;
use crate::abi::Resolve;
use crate::cache::dcache::dentry::WORD;
use crate::cache::dcache::remembered::{Changes, same_but_remembered};
use crate::config::{Config, Recorded};
use crate::memo::classes::ClassNumber;
use crate::memo::question::{LastLink, Question};
use crate::memo::recording::{End, Recording};
use crate::memo::{Found, Lookup, OfMount, Slots, Taught, What};
use crate::memory::lines::Line;
use crate::memory::seqcount;
use crate::memory::slot::{DentryId, MountId};
use crate::mount::{Standing, World};
use crate::text::swar::last_slash;

/// Returns the question that stands for a walk.
#[inline(always)]
fn question<'p>(env: &Env<'_>, path: Path<'p>, follow: Follow) -> Question<'p> {
    let last_link = match follow {
        Follow::Links => LastLink::Followed,
        Follow::Not => LastLink::Found,
        Follow::OnTheWay => LastLink::FollowedOnTheWay,
    };
    Question { path: path.0, start: env.start.bits(), root: env.root().bits(), last_link }
}

impl<'a> Slots<'a> for &'a World {
    #[inline(always)]
    fn changes(self) -> &'a Changes {
        self.caches().dentries.changes()
    }

    fn mount_changes(self) -> Option<u64> {
        self.mounts.settled()
    }

    #[inline(always)]
    fn dentries(self) -> &'a [Line] {
        self.caches().dentries.hot()
    }

    #[inline(always)]
    fn mounts(self) -> &'a [Line] {
        self.mounts.lines()
    }
}

/// A lookup of a caller whose class `C` returns.
#[derive(Clone, Copy)]
struct By<'a, C> {
    world: &'a World,
    class: C,
}

impl<'a, C: Copy> Slots<'a> for By<'a, C> {
    #[inline(always)]
    fn changes(self) -> &'a Changes {
        self.world.changes()
    }

    fn mount_changes(self) -> Option<u64> {
        self.world.mount_changes()
    }

    #[inline(always)]
    fn dentries(self) -> &'a [Line] {
        self.world.dentries()
    }

    #[inline(always)]
    fn mounts(self) -> &'a [Line] {
        Slots::mounts(self.world)
    }
}

impl<'a, C: Fn() -> u32 + Copy> Lookup<'a> for By<'a, C> {
    #[inline(always)]
    fn class(self) -> u32 {
        (self.class)()
    }

    #[inline(always)]
    fn may_go(self, what: What) -> bool {
        may_go(self.world, what.has_dot_dot(), what.has_links())
    }
}

/// Returns the class of the credentials with which a walk checks.
#[inline(always)]
fn class<'a>(env: &Env<'a>) -> &'a ClassNumber {
    match env.whose {
        Whose::Real => &env.asker.real_class,
        Whose::Effective => &env.asker.effective_class,
    }
}

/// Finishes at the end of a path, from the memo or as [`last::to_end`] does.
#[inline(always)]
pub(crate) fn to_end<'a, C: Config, T>(
    env: &Env<'a>,
    path: &'a [u8],
    follow: Follow,
    finish: impl Fn(Arrived<'a>) -> Result<T, Stopped<'a>> + Copy,
) -> Result<T, Stopped<'a>> {
    let walk = || last::to_end::<C, T>(env, path, follow, finish);
    if C::WHOLE_PATHS { remembered::<C, T>(env, path, follow, finish).unwrap_or_else(walk) } else { walk() }
}

/// Finishes at the end of a path, as of now, if the memo has it.
#[inline(always)]
pub(crate) fn remembered<'a, C: Config, T>(
    env: &Env<'a>,
    path: &'a [u8],
    follow: Follow,
    finish: impl Fn(Arrived<'a>) -> Result<T, Stopped<'a>>,
) -> Option<Result<T, Stopped<'a>>> {
    if env.world.memo.is_off() {
        return None;
    }
    let mut of_end = OfMount::default();
    let found = find(env.world, &question(env, Path(path), follow), || class(env).known(), &mut of_end)?;
    if C::RULES && env.scope.is_some() && !is_within_rules(env, &found) {
        return None;
    }
    Some(if found.what.is_absent() {
        Err(Stopped::Errno(Errno::ENOENT))
    } else {
        last::within_scope::<C, T>(env, arrived(env, found, of_end), finish)
    })
}

/// Returns what the memo, which is not off, has of a path, as of now. The caller rechecks the end
/// after its last read, as after a walk. The end's mount is written to `of_end` where it is not
/// that of the start.
#[inline(always)]
pub(crate) fn find(
    world: &World,
    question: &Question<'_>,
    class: impl Fn() -> u32 + Copy,
    of_end: &mut OfMount,
) -> Option<Found> {
    world.memo.find(question, By { world, class }, of_end)
}

/// Returns whether a way with `..` or links leads where it led. What a mount shows is checked at
/// each `..`, and may be less than before. Whether a mount's links may be followed is checked at
/// each link.
#[inline(always)]
fn may_go(world: &World, has_dot_dot: bool, has_links: bool) -> bool {
    !(has_dot_dot && world.may_stray() || has_links && world.mounts.some_ask_at_links())
}

/// Returns what was found as a walk from the same start would have arrived at it.
pub(crate) fn arrived<'a>(env: &Env<'a>, found: Found, of_end: OfMount) -> Arrived<'a> {
    let mount = match of_end {
        OfMount { slot: 0, .. } => Standing::pinned(env.start.mount()),
        OfMount { slot, word } => Standing { mount: MountId(slot as u32), word },
    };
    Arrived { cur: env.sampled(DentryId(found.end), found.word), mount }
}

/// Returns whether no rule of the scope is about a way.
#[cold]
fn is_within_rules(env: &Env<'_>, found: &Found) -> bool {
    match &env.scope {
        None => true,
        Some(scope) if scope.rules().difference(Resolve::CACHED).is_empty() => !found.what.has_dot_dot(),
        Some(_) => found.what.is_plain(),
    }
}

/// The place where a walk begins of which the memo may learn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whence {
    /// The start of the path.
    Start,
    /// The directory in which the path ends, found in the memo.
    Directory,
}

/// Returns the directory in which a path ends, as of now, and the position of the last name, if the
/// memo has the directory and its way follows no link. The walk goes on from there as if it had
/// walked to there: the caller checks that it is a directory, and may be searched.
#[inline(never)]
pub(crate) fn directory<'a>(env: &Env<'a>, path: Path<'_>) -> Option<(DentryId, u64, Standing, usize)> {
    let (dir, pos) = parent(path)?;
    let (mut of_end, world) = (OfMount::default(), env.world);
    let by = By { world, class: || class(env).known() };
    let found = world.memo.find_directory(&question(env, dir, Follow::OnTheWay), by, &mut of_end)?;
    // Links are counted over the whole path: behind a link, `ELOOP` might come too late.
    if found.what.has_links() || env.scope.is_some() && !is_within_rules(env, &found) {
        return None;
    }
    let Arrived { cur, mount } = arrived(env, found, of_end);
    Some((cur.dentry(), cur.word, mount, pos))
}

/// Returns the path of the directory in which a path ends, and the position of the name. The path
/// of the root is empty, and never remembered.
fn parent(path: Path<'_>) -> Option<(Path<'_>, usize)> {
    let slash = last_slash(path.0)?;
    let pos = slash + 1;
    (pos < path.0.len()).then(|| (Path(&path.0[..slash]), pos))
}

/// Marks the dentry at which a walk ends, and lets the memo learn as [`walked`] does. Returns the
/// dentry's word then, since what is learned is remembered.
#[inline(always)]
pub(super) fn walked_to<C: Config>(env: &Env<'_>, path: Path<'_>, (follow, whence): (Follow, Whence), end: Cursor<'_>) -> u64 {
    let used_before = end.mark();
    if C::WHOLE_PATHS
        && let Some(taught) = env.world.memo.learns()
    {
        return learn_with_end(env, (path, follow), (taught, whence), (end, used_before));
    }
    end.word
}

#[cold]
#[inline(never)]
fn learn_with_end(
    env: &Env<'_>,
    path: (Path<'_>, Follow),
    taught: (Taught, Whence),
    (end, used_before): (Cursor<'_>, bool),
) -> u64 {
    learn(env, path, taught, used_before);
    same_but_remembered(&end.line[WORD], end.word)
}

/// Lets the memo learn a path that was just walked, or its directory. `used_before` says whether
/// the end had been used before this walk.
#[inline(always)]
pub(super) fn walked<C: Config>(env: &Env<'_>, path: Path<'_>, follow: Follow, whence: Whence, used_before: bool) {
    if C::WHOLE_PATHS
        && let Some(taught) = env.world.memo.learns()
    {
        learn(env, (path, follow), (taught, whence), used_before);
    }
}

#[cold]
#[inline(never)]
fn learn(env: &Env<'_>, (path, follow): (Path<'_>, Follow), (taught, whence): (Taught, Whence), used_before: bool) {
    let memo = &env.world.memo;
    match parent(path) {
        Some((dir, _)) if (taught, whence) == (Taught::Directory, Whence::Start) && memo.remembers_directory(dir.0) => {
            learn_path(env, dir, Follow::OnTheWay, taught);
        }
        _ if memo.may_learn(path.0, used_before) => learn_path(env, path, follow, Taught::Path),
        _ => {}
    }
}

fn learn_path(env: &Env<'_>, path: Path<'_>, follow: Follow, taught: Taught) {
    let (memo, question, slots) = (&env.world.memo, question(env, path, follow), env.world);
    let has_rules = env.scope.is_some_and(|scope| !scope.rules().difference(Resolve::CACHED).is_empty() || scope.looks_only());
    if has_rules || path.0.contains(&0) {
        return;
    }
    let Some(room) = memo.room(&question, slots, class(env).known()) else { return };
    let begins = [env.start.mount(), env.root().mount()].map(|mount| (mount.0, env.world.mounts.word(mount)));
    let recording = Recording::default();
    let recorded = Env { scope: Some(Scope::telling(env.scope, &recording)), ..*env };
    recording.begins(env.start.dentry().0, seqcount::sample(&env.cursor(env.start.dentry()).line[0]));
    let end = match last::to_end::<Recorded, _>(&recorded, path.0, follow, Ok) {
        Ok(Arrived { cur, mount }) => End::At(cur.dentry().0, cur.word, mount.mount.0),
        Err(Stopped::Errno(Errno::ENOENT)) => End::Absent,
        Err(_) => return memo.refuse(),
    };
    let leads_on = taught == Taught::Path || !recording.has_links();
    if !leads_on || !may_go(env.world, recording.has_dot_dot(), recording.has_links()) {
        return memo.refuse();
    }
    // Looked up only where it is needed: that may allocate.
    let class = if recording.needs_class() { class(env).number(&memo.classes, &env.who()) } else { 0 };
    memo.fill(&room, (&question, class), (&recording, &begins, end), slots);
}

impl<'a> Env<'a> {
    /// Calls with the recording of this walk, if it is recorded.
    #[inline(always)]
    pub(super) fn tell(&self, what: impl FnOnce(&Recording)) {
        if let Some(recording) = self.scope.and_then(Scope::recording) {
            what(recording);
        }
    }

    /// Records that the walk came to a dentry by a name or `..`.
    pub(super) fn tell_step(&self, to: Cursor<'_>, is_up: bool) {
        let (dentry, word) = (to.dentry().0, to.word);
        self.tell(|way| if is_up { way.went_up(dentry, word) } else { way.came_to(dentry, word) });
    }

    /// Records that the walk goes on at a place without looking up a name.
    pub(super) fn tell_place(&self, at: Cursor<'_>) {
        self.tell(|way| way.begins(at.dentry().0, at.word));
    }

    /// Records that the walk depends on a mount, which was sampled.
    pub(super) fn tell_mount(&self, mount: Standing) {
        self.tell(|way| if mount.word == 0 { way.asks_mounts() } else { way.crosses(mount.mount.0, mount.word) });
    }
}
