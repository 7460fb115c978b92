//! The scope of a walk: the directory that it must not leave. It implements `RESOLVE_*` of
//! `openat2(2)` for every operation, and contexts that are confined.
//!
//! A walk in a scope has a directory as its root, above which it must not get. Going down leads
//! nowhere else, unless a directory on the way is moved out. `..` leads up, unless the walk is at
//! its root. So the counts of moves and of mounts are sampled at the beginning. If one of them
//! differs after a `..`, or at the end, the way up from that place is checked, as of one instant.
//! If the root is not on it, the walk was led out: after a `..`, that is `EAGAIN`, and at the end,
//! `EXDEV`.
//!
//! Linux does not check the way after a `..`: it returns `EAGAIN` wherever anything was renamed
//! meanwhile.
//!
//! What always holds: an operation in a scope has its effect at a place that was below the root at
//! some instant of the operation, after everything on the way there was walked.
//!
//! What it does not do: it does not keep the result where it is. A directory that is moved out
//! between the check and the effect takes the effect along, as on Linux.

use super::asker::{Asker, Begin};
use super::{Arrived, Cursor, Env, Stop, validated};
use crate::Errno;
use crate::abi::Resolve;
use crate::memo::recording::Recording;
use crate::mount::{Place, Standing, World};

/// The scope of one walk.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    resolve: Resolve,
    /// The directory that the walk must not leave, if there is one.
    top: Option<Place>,
    /// The root of an asker that is confined to it.
    confined: Option<Place>,
    /// The counts of moves and of mounts before the walk; `None` if a move was under way.
    began: Option<(u64, u64)>,
    /// Whether the walk does not count as a use of the mounts on its way.
    looks_only: bool,
    /// The recording of the walk's way; `None` for most walks. It is here because a walk with a
    /// scope takes the slow paths, and a walk that is recorded has to take them too.
    recording: Option<&'a Recording>,
}

impl<'a> Scope<'a> {
    /// A scope that forbids nothing.
    const NONE: Scope<'static> =
        Scope { resolve: Resolve::empty(), top: None, confined: None, began: None, looks_only: false, recording: None };

    /// Returns the scope of a walk that begins at `at`, by the asker's rules and `more`; `None`
    /// where nothing is forbidden.
    pub(crate) fn of(asker: &Asker, at: Begin, more: Resolve) -> Option<Scope<'a>> {
        let resolve = asker.rules.resolve() | more;
        if resolve.is_empty() && asker.rules.are_none() {
            return None;
        }
        let start = match at {
            Begin::Cwd => asker.cwd,
            Begin::At(place) => place,
            Begin::Elsewhere => Place::NONE,
        };
        let confined = asker.rules.is_confined().then_some(asker.root);
        let top = if resolve.intersects(Resolve::SCOPED) { Some(start) } else { confined };
        Some(Scope { resolve, top, confined, began: asker.world.still(), ..Scope::NONE })
    }

    /// Returns the scope of a walk that does not count as a use of the mounts on its way: to
    /// unmount one.
    pub(crate) fn looking_only(asker: &Asker, at: Begin) -> Scope<'a> {
        Scope { looks_only: true, ..Scope::of(asker, at, Resolve::empty()).unwrap_or(Scope::NONE) }
    }

    /// Returns `scope` with a recording of the walk's way.
    pub(super) fn telling(scope: Option<Scope<'a>>, recording: &'a Recording) -> Scope<'a> {
        Scope { recording: Some(recording), ..scope.unwrap_or(Scope::NONE) }
    }

    /// Returns the recording of the walk's way.
    pub(super) fn recording(self) -> Option<&'a Recording> {
        self.recording
    }

    /// Returns the rules of `openat2(2)` that it keeps.
    pub(super) fn rules(&self) -> Resolve {
        self.resolve
    }

    pub(super) fn looks_only(&self) -> bool {
        self.looks_only
    }

    /// Returns whether a crossing to a mount is forbidden, or must leave no trace.
    #[inline(always)]
    pub(super) fn asks_at_mounts(&self) -> bool {
        self.looks_only || self.has(Resolve::NO_XDEV)
    }

    /// Returns the root of its walk, where absolute links begin and `..` ends.
    pub(super) fn root(&self, of_asker: Place) -> Place {
        self.top.unwrap_or(of_asker)
    }

    /// Returns whether the root is known when a walk of this path begins. Linux looks it up when a
    /// path is absolute, for `BENEATH` and `IN_ROOT`, and at the first `..`. With `NO_XDEV`, an
    /// absolute link before that is `EXDEV`, wherever it leads.
    pub(super) fn knows_root(&self, path: &[u8]) -> bool {
        self.resolve.intersects(Resolve::SCOPED) || path.first() == Some(&b'/')
    }

    pub(crate) fn has(&self, flag: Resolve) -> bool {
        self.resolve.contains(flag)
    }

    /// Checks whether a walk may begin at this place, which the caller gave. `EXDEV` if the place
    /// is outside what the asker is confined to.
    pub(super) fn admits(&self, start: Place, look: Look<'_>) -> Result<(), Refused> {
        self.confined.map_or(Ok(()), |root| look.below(Standing::pinned(start.mount()), start, root, Errno::EXDEV))
    }

    /// Checks whether a walk may go on after a `..` that led from `from` to `to`. `EXDEV` with
    /// `BENEATH`, if `..` led nowhere; `EAGAIN` if it led out of the scope, because something was
    /// moved.
    pub(super) fn after_dot_dot(&self, from: Place, (to, in_mount): (Place, Standing), look: Look<'_>) -> Result<(), Refused> {
        if self.has(Resolve::BENEATH) && from == to {
            return Err(Refused::With(Errno::EXDEV));
        }
        match self.top {
            Some(top) if !self.nothing_moved(look.world()) => look.below(in_mount, to, top, Errno::EAGAIN),
            _ => Ok(()),
        }
    }

    /// Checks whether a walk may end at a place. `EXDEV` if the place is no longer below the top.
    pub(super) fn holds(&self, (place, in_mount): (Place, Standing), look: Look<'_>) -> Result<(), Refused> {
        match self.top {
            Some(top) if !self.nothing_moved(look.world()) => {
                look.below(in_mount, place, top, Errno::EXDEV).and_then(|()| self.admits(top, look))
            }
            _ => Ok(()),
        }
    }

    fn nothing_moved(&self, world: &World) -> bool {
        self.began.is_some_and(|began| world.is_as_it_was(began))
    }
}

/// The way in which a walk checks the way up from a place.
#[derive(Clone, Copy)]
pub(super) enum Look<'a> {
    /// A check without a lock, of a place that the walk samples.
    Once(&'a World),
    /// A check after any move of a directory or mount that is under way, of a place that is
    /// pinned.
    AtLast(&'a World),
}

/// The reason why a walk in a scope does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    With(Errno),
    /// A move is in the way. A walk that may wait can decide.
    NotNow,
}

impl Refused {
    /// Returns the errno for a walk that does not wait: `EAGAIN` where a move is in the way.
    pub(super) fn errno(self) -> Errno {
        match self {
            Refused::With(errno) => errno,
            Refused::NotNow => Errno::EAGAIN,
        }
    }
}

impl<'a> Look<'a> {
    fn world(self) -> &'a World {
        match self {
            Look::Once(world) | Look::AtLast(world) => world,
        }
    }

    fn below(self, in_mount: Standing, place: Place, top: Place, otherwise: Errno) -> Result<(), Refused> {
        let is_below = match self {
            Look::Once(world) => world.is_below(in_mount, place.dentry(), top).ok_or(Refused::NotNow)?,
            Look::AtLast(world) => world.is_below_at_last(place, top),
        };
        if is_below { Ok(()) } else { Err(Refused::With(otherwise)) }
    }
}

/// Returns why a walk must not go on where `..` led it.
pub(super) fn refused_up<'a>(env: &Env<'a>, scope: &Scope<'_>, from: Arrived<'a>, to: Arrived<'a>) -> Option<Stop<'a>> {
    let may = scope.after_dot_dot(from.place(), (to.place(), to.mount), Look::Once(env.world));
    may.err().map(|refused| stop(from.cur, refused))
}

/// Returns why a walk must not end where it arrived.
#[cold]
#[inline(never)]
pub(super) fn refused_end<'a>(env: &Env<'a>, scope: &Scope<'_>, at: Arrived<'a>) -> Option<Stop<'a>> {
    scope.holds((at.place(), at.mount), Look::Once(env.world)).err().map(|refused| stop(at.cur, refused))
}

fn stop(cur: Cursor<'_>, refused: Refused) -> Stop<'_> {
    match refused {
        Refused::With(errno) => validated(cur, errno),
        Refused::NotNow => Stop::CHANGED,
    }
}
