//! What a walk must not leave: `RESOLVE_*` of `openat2(2)`, for every operation; and contexts that
//! are confined.
//!
//! A walk in a scope has a directory as its root that it must not get above. Going down leads
//! nowhere else, unless a directory on the way is moved out; `..` leads up, unless the walk is at
//! its root. So the count of moves is sampled at the beginning. If it is another after a `..`, or
//! at the end, the way up from there is looked at, as of one instant. If the root is not on it, the
//! walk was led out: after a `..`, that is `EAGAIN`, and at the end, `EXDEV`.
//!
//! Linux does not look at the way after a `..`: it says `EAGAIN` wherever anything was renamed
//! meanwhile.
//!
//! What always holds: an operation in a scope has its effect at a place that was below the root at
//! some instant of the operation, after everything on the way there was walked.
//!
//! What it does not do: it does not keep what was found where it is. A directory that is moved out
//! between the check and the effect takes the effect along, as on Linux.

use super::asker::{Asker, Begin};
use super::{Cursor, Env, Stop, validated};
use crate::Errno;
use crate::abi::Resolve;
use crate::cache::Caches;
use crate::memory::slot::DentryId;

/// The scope of one walk.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    resolve: Resolve,
    /// The directory that the walk must not leave, if there is one.
    top: Option<DentryId>,
    /// The root of an asker that is confined to it.
    confined: Option<DentryId>,
    /// The count of moves before the walk; none if one was under way.
    began: Option<u64>,
}

impl Scope {
    /// Returns the scope of a walk that begins there, by the asker's rules and these; none where
    /// nothing is forbidden.
    pub(crate) fn of(asker: &Asker, at: Begin, more: Resolve) -> Option<Scope> {
        let resolve = asker.rules.resolve() | more;
        if resolve.is_empty() && asker.rules.are_none() {
            return None;
        }
        let start = match at {
            Begin::Cwd => asker.cwd,
            Begin::At(dentry) => dentry,
            Begin::Elsewhere => DentryId::NONE,
        };
        let confined = asker.rules.is_confined().then_some(asker.root);
        let top = if resolve.intersects(Resolve::SCOPED) { Some(start) } else { confined };
        Some(Scope { resolve, top, confined, began: asker.world.caches().moves.still() })
    }

    /// Returns the root of its walk: where absolute links begin, and `..` ends.
    pub(super) fn root(&self, of_asker: DentryId) -> DentryId {
        self.top.unwrap_or(of_asker)
    }

    /// Returns whether the root is known when a walk of this path begins. Linux looks it up when a
    /// path is absolute, for `BENEATH` and `IN_ROOT`, and at the first `..`; with `NO_XDEV`, an
    /// absolute link before that is `EXDEV`, wherever it leads.
    pub(super) fn knows_root(&self, path: &[u8]) -> bool {
        self.resolve.intersects(Resolve::SCOPED) || path.first() == Some(&b'/')
    }

    pub(crate) fn has(&self, flag: Resolve) -> bool {
        self.resolve.contains(flag)
    }

    /// Returns whether a walk may begin at this place, which it was given. `EXDEV` if it is out of
    /// what the asker is confined to.
    pub(super) fn admits(&self, start: DentryId, look: Look<'_>) -> Result<(), Refused> {
        self.confined.map_or(Ok(()), |root| look.below(start, root, Errno::EXDEV))
    }

    /// Returns whether a walk may go on that `..` led from one dentry to another, just now. `EXDEV`
    /// at the top, with `BENEATH`; `EAGAIN` if it led out, since a directory was moved.
    pub(super) fn after_dot_dot(&self, from: DentryId, to: DentryId, look: Look<'_>) -> Result<(), Refused> {
        if self.has(Resolve::BENEATH) && self.top == Some(from) {
            return Err(Refused::With(Errno::EXDEV));
        }
        match self.top {
            Some(top) if !self.nothing_moved(look.caches()) => look.below(to, top, Errno::EAGAIN),
            _ => Ok(()),
        }
    }

    /// Returns whether a walk may end at a place. `EXDEV` if that is not below the top any more.
    pub(super) fn holds(&self, place: DentryId, look: Look<'_>) -> Result<(), Refused> {
        match self.top {
            Some(top) if !self.nothing_moved(look.caches()) => {
                look.below(place, top, Errno::EXDEV).and_then(|()| self.admits(top, look))
            }
            _ => Ok(()),
        }
    }

    fn nothing_moved(&self, caches: &Caches) -> bool {
        self.began.is_some_and(|began| !caches.moves.moved_since(began))
    }
}

/// How a walk looks at the way up from a place.
#[derive(Clone, Copy)]
pub(super) enum Look<'a> {
    /// Without a lock: of a place that it samples.
    Once(&'a Caches),
    /// Behind any move of a directory that is under way: of a place that is pinned.
    AtLast(&'a Caches),
}

/// Why a walk in a scope does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    With(Errno),
    /// A move of a directory is in the way: a walk that may wait can tell.
    NotNow,
}

impl Refused {
    /// Returns the errno of a walk that may not wait, or need not.
    pub(super) fn errno(self) -> Errno {
        match self {
            Refused::With(errno) => errno,
            Refused::NotNow => Errno::EAGAIN,
        }
    }
}

impl<'a> Look<'a> {
    fn caches(self) -> &'a Caches {
        match self {
            Look::Once(caches) | Look::AtLast(caches) => caches,
        }
    }

    fn below(self, place: DentryId, top: DentryId, otherwise: Errno) -> Result<(), Refused> {
        let is_below = match self {
            Look::Once(caches) => caches.is_below(place, top).ok_or(Refused::NotNow)?,
            Look::AtLast(caches) => caches.is_below_at_last(place, top),
        };
        if is_below { Ok(()) } else { Err(Refused::With(otherwise)) }
    }
}

/// Returns why a walk must not go on where `..` led it.
#[cold]
#[inline(never)]
pub(super) fn refused_up<'a>(env: &Env<'a>, scope: &Scope, from: Cursor<'a>, to: Cursor<'a>) -> Option<Stop<'a>> {
    let may = scope.after_dot_dot(from.dentry(), to.dentry(), Look::Once(env.caches()));
    may.err().map(|refused| stop(from, refused))
}

/// Returns why a walk must not end at a cursor.
#[cold]
#[inline(never)]
pub(super) fn refused_end<'a>(env: &Env<'a>, scope: &Scope, at: Cursor<'a>) -> Option<Stop<'a>> {
    scope.holds(at.dentry(), Look::Once(env.caches())).err().map(|refused| stop(at, refused))
}

fn stop(cur: Cursor<'_>, refused: Refused) -> Stop<'_> {
    match refused {
        Refused::With(errno) => validated(cur, errno),
        Refused::NotNow => Stop::CHANGED,
    }
}
