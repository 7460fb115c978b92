//! One branch of a server: opened with its first use, and closed for what has to see all that the
//! base has become.
//!
//! What always holds: one command runs in it at a time, and none while it is committed, dropped or
//! put back. It can be looked at meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pathwalk::Context;
use pathwalk_branch::{Branches, Error};
use pathwalk_hostfs::Coherence;

use super::message::{Failure, Kind};
use crate::branch::place::{Missing, Place};
use crate::trial::overlay::context;

/// A branch.
pub(super) struct Line {
    pub(super) name: String,
    /// What it is made of where it is not there; `None` for one that a client names.
    made_of: Option<Option<String>>,
    open: RwLock<Option<Open>>,
    turn: Mutex<Option<&'static str>>,
    /// The way to end the command that runs.
    pub(super) running: Mutex<Option<Sender<Ask>>>,
}

/// What a command is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    /// To end.
    End,
    /// Nothing: it is ended.
    Kill,
}

/// A branch that is open. The context goes first, so that the branch is free when the list goes.
pub(super) struct Open {
    pub(super) context: Context,
    pub(super) branches: Branches,
}

/// The right to change a branch, until this is dropped.
pub(super) struct Turn(Arc<Line>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.running.lock() = None;
        *self.0.turn.lock() = None;
    }
}

impl Line {
    /// Returns that of a branch that a client has named.
    pub(super) fn named(name: &str) -> Line {
        Line::of(name, None)
    }

    /// Returns that of the server's own branch, which is made where it is not there.
    pub(super) fn own(name: &str, made_of: Option<String>) -> Line {
        Line::of(name, Some(made_of))
    }

    fn of(name: &str, made_of: Option<Option<String>>) -> Line {
        let (open, turn, running) = (RwLock::default(), Mutex::default(), Mutex::default());
        Line { name: name.to_owned(), made_of, open, turn, running }
    }

    /// Takes the turn, or fails at once: `doing` is what another one is told meanwhile.
    ///
    /// A command that waited for another one would hide that this hangs.
    pub(super) fn turn(self: &Arc<Line>, doing: &'static str) -> Result<Turn, Failure> {
        let mut turn = self.turn.lock();
        if let Some(other) = *turn {
            return Err(Failure::new(
                Kind::Busy,
                format!("the branch \"{}\" {other}: wait, stop it, or fork the branch", self.name),
            ));
        }
        *turn = Some(doing);
        Ok(Turn(Arc::clone(self)))
    }

    /// Returns the branch, which is opened if it is not.
    pub(super) fn open(&self, place: &Place) -> Result<MappedRwLockReadGuard<'_, Open>, Failure> {
        let open = self.open.read();
        if open.is_some() {
            return Ok(RwLockReadGuard::map(open, there));
        }
        drop(open);
        let mut open = self.open.write();
        if open.is_none() {
            *open = Some(self.opened(place)?);
        }
        Ok(RwLockReadGuard::map(RwLockWriteGuard::downgrade(open), there))
    }

    fn opened(&self, place: &Place) -> anyhow::Result<Open> {
        let branches = place.open(Coherence::Watch, None, Missing::Make)?;
        let branch = match (branches.get(&self.name), &self.made_of) {
            (Err(Error::NoBranch(_)), Some(of)) => branches.fork(of.as_deref(), &self.name),
            (found, _) => found,
        };
        Ok(Open { context: context(branch?)?, branches })
    }

    /// Closes the branch, and returns all branches of a base that is asked anew. The branch is
    /// closed as long as the result is there.
    pub(super) fn anew(&self, place: &Place) -> Result<Anew<'_>, Failure> {
        let mut open = self.open.write();
        if let Some(open) = &*open {
            open.branches.sync()?;
        }
        *open = None;
        let branches = place.open(Coherence::Exclusive, None, Missing::Make)?;
        Ok(Anew { branches, _closed: open })
    }

    /// Returns what a command that is about to run is asked. From now on, it can be asked.
    pub(super) fn asks(&self) -> Receiver<Ask> {
        let (ask, asks) = channel();
        *self.running.lock() = Some(ask);
        asks
    }

    /// Asks the command that runs to end.
    pub(super) fn ask(&self, ask: Ask) -> Result<(), Failure> {
        let running = self.running.lock();
        let asked = running.as_ref().is_some_and(|running| running.send(ask).is_ok());
        let nothing = || Failure::new(Kind::NotThere, format!("no command runs in the branch \"{}\"", self.name));
        if asked { Ok(()) } else { Err(nothing()) }
    }

    /// Returns what changes it now.
    pub(super) fn doing(&self) -> Option<&'static str> {
        *self.turn.lock()
    }
}

/// All branches, while one is closed.
pub(super) struct Anew<'a> {
    pub(super) branches: Branches,
    _closed: RwLockWriteGuard<'a, Option<Open>>,
}

fn there(open: &Option<Open>) -> &Open {
    open.as_ref().expect("it was opened under this lock")
}

/// Returns the path of a working directory.
pub(super) fn directory(base: &Path, default: &Path, wished: Option<&Path>) -> std::path::PathBuf {
    wished.map_or_else(|| default.to_owned(), |wished| base.join(wished))
}
