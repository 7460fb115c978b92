//! The leases on one node: which are granted beside which opens, and how an open breaks them.
//!
//! What always holds: there is one exclusive lease, or any number of shared ones. An open file has
//! at most one. A lease whose break has begun gets no longer for it, whatever other opens come.
//!
//! Source: `generic_add_lease`, `check_conflicting_open`, `__break_lease`, `lease_modify` and
//! `time_out_leases` of Linux.
//!
//! Deviation: a holder that has changed its lease as it was asked to has done so for good. Linux
//! keeps the end of the time, so a lease that was made exclusive again later becomes shared at that
//! time, without a signal.

use std::sync::Weak;
use std::time::Instant;

use super::lease::Shared;
use super::request::{FileNumber, Id, LockKind};
use crate::Errno;

/// The files that a node is open in, without those that are places only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Opens {
    /// Files that are open for reading alone. Linux: `i_readcount`.
    pub(super) readers: u32,
    /// Files that are open for writing, and truncations. Linux: `i_writecount`.
    pub(super) writers: u32,
}

/// The time until which a holder has to give way; `None` if there is no end.
pub(super) type Until = Option<Instant>;

/// A lease that is held. Its kind is never [`LockKind::Unlock`].
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: Id,
    pub(super) file: FileNumber,
    pub(super) kind: LockKind,
    /// Set while it is to become shared. Linux: `FL_DOWNGRADE_PENDING`, `fl_downgrade_time`.
    shared_by: Option<Until>,
    /// Set from when it is to be released. Linux: `FL_UNLOCK_PENDING`, `fl_break_time`.
    released_by: Option<Until>,
    /// The number of breaks that have begun.
    pub(super) breaks: u64,
    /// What the holder has of it.
    pub(super) shared: Weak<Shared>,
}

impl Held {
    pub(super) fn new(id: Id, file: FileNumber, kind: LockKind) -> Held {
        Held { id, file, kind, shared_by: None, released_by: None, breaks: 0, shared: Weak::new() }
    }

    /// Returns what the lease has to become. Linux: `target_leasetype`.
    pub(super) fn target(&self) -> LockKind {
        match (self.released_by, self.shared_by) {
            (Some(_), _) => LockKind::Unlock,
            (None, Some(_)) => LockKind::Shared,
            (None, None) => self.kind,
        }
    }

    /// Returns what it has to become, if its holder has to do something.
    pub(super) fn broken(&self) -> Option<LockKind> {
        (self.released_by.is_some() || self.shared_by.is_some()).then(|| self.target())
    }

    fn conflicts_with(&self, opener: LockKind) -> bool {
        self.kind == LockKind::Exclusive || opener == LockKind::Exclusive
    }

    /// Begins a break. Returns whether the holder does not have to do the same already.
    fn begin_break(&mut self, opener: LockKind, until: Until) -> bool {
        let due = match opener {
            LockKind::Exclusive => &mut self.released_by,
            // A lease that is to be released need not become shared before.
            _ if self.released_by.is_some() => return false,
            _ => &mut self.shared_by,
        };
        let is_news = due.is_none();
        if is_news {
            *due = Some(until);
            self.breaks += 1;
        }
        is_news
    }

    /// Makes it shared or exclusive.
    fn set(&mut self, kind: LockKind) {
        self.kind = kind;
        if kind == LockKind::Shared {
            self.shared_by = None;
        }
    }

    /// Returns when it next changes, unless its holder changes it before.
    fn due(&self) -> Until {
        [self.shared_by, self.released_by].into_iter().flatten().flatten().min()
    }
}

/// All leases on a node.
#[derive(Debug, Default)]
pub(super) struct Leases(pub(super) Vec<Held>);

impl Leases {
    pub(super) fn of_file(&self, file: FileNumber) -> Option<&Held> {
        self.0.iter().find(|held| held.file == file)
    }

    /// Takes away what holders did not give back in time. Returns whether that was something.
    pub(super) fn time_out(&mut self, now: Instant) -> bool {
        let is_past = |due: Option<Until>| due.flatten().is_some_and(|until| until <= now);
        let mut has_changed = false;
        self.0.retain_mut(|held| {
            if is_past(held.shared_by) {
                held.set(LockKind::Shared);
                has_changed = true;
            }
            let stays = !is_past(held.released_by);
            has_changed |= !stays;
            stays
        });
        has_changed
    }

    /// Returns the end of the time of the first holder in the way of an opener.
    pub(super) fn due(&self) -> Until {
        self.0.iter().filter_map(Held::due).min()
    }

    pub(super) fn conflict_with(&self, opener: LockKind) -> bool {
        self.0.iter().any(|held| held.conflicts_with(opener))
    }

    /// Begins the breaks of all leases that conflict with an opener. Returns those whose holders
    /// have to be told.
    pub(super) fn begin_breaks(&mut self, opener: LockKind, until: Until) -> Vec<&Held> {
        let conflicting = self.0.iter_mut().filter(|held| held.conflicts_with(opener));
        conflicting.filter_map(|held| held.begin_break(opener, until).then_some(&*held)).collect()
    }

    /// Grants a file a lease, or changes the one that it has. Returns whether it is a new one.
    /// `EAGAIN` if another file, or another lease, is in the way.
    pub(super) fn set(&mut self, file: FileNumber, kind: LockKind, id: Id) -> Result<bool, Errno> {
        let others = self.0.iter().filter(|held| held.file != file);
        if others.into_iter().any(|held| kind == LockKind::Exclusive || held.released_by.is_some()) {
            return Err(Errno::EAGAIN);
        }
        match self.0.iter_mut().find(|held| held.file == file) {
            Some(own) => {
                own.set(kind);
                Ok(false)
            }
            None => {
                self.0.push(Held::new(id, file, kind));
                Ok(true)
            }
        }
    }
}

impl Opens {
    /// Returns whether a file may have a lease beside all that is open. `writes`: whether the file
    /// itself is open for writing. Linux: `check_conflicting_open`.
    pub(super) fn allow(self, kind: LockKind, writes: bool) -> bool {
        let own = Opens { readers: u32::from(!writes), writers: u32::from(writes) };
        if kind == LockKind::Exclusive { self == own } else { self.writers == 0 }
    }
}
