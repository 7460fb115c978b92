//! The work that goes to the workers: one punted operation, or a chain of them, and the tag by
//! which it is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::{Errno, MissingName};

use crate::Op;
use crate::foreign::Foreign;

/// A piece of work for a worker. The thread that takes it out of the pool is the only one that has
/// it, so it is completed once.
pub(crate) trait Work: Send {
    /// Returns the tag by which it is found.
    fn tag(&self) -> &Tag;

    /// Cancels the selected entries, before the work was begun. Called under the pool's lock: it
    /// takes only locks below that, and drops nothing that is not of this crate.
    fn cut(&mut self, which: Which) -> Cut;

    /// Returns the operations of work that was cut as a whole, and completed.
    fn into_ops(self: Box<Self>) -> Vec<Foreign<Op<'static>>>;

    /// Tries the caches again, after the name that was missing has been looked up for other work.
    /// Returns what is still not answered.
    fn retry(self: Box<Self>) -> Option<Punted>;

    /// Does its first part, in a thread that may wait. Returns what is left of it.
    fn run(self: Box<Self>) -> Option<Box<dyn Work>>;

    /// Completes it with an error, because there is no thread to do it.
    fn fail(self: Box<Self>, errno: Errno);
}

/// A piece of work, and the name whose absence from the caches keeps it from being answered.
pub(crate) struct Punted {
    pub(crate) work: Box<dyn Work>,
    pub(crate) missing: Option<MissingName>,
}

/// A selection of entries to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// The first entry that has this `user_data`.
    UserData(u64),
    /// The entry whose time limit has this number.
    Limit(u64),
    /// All entries.
    All,
}

/// The part of the work that was cut.
#[must_use = "what was cut is given up behind the pool's lock"]
pub(crate) enum Cut {
    Nothing,
    /// These operations. There is work left.
    Part(Vec<Foreign<Op<'static>>>),
    /// All of it, which has to be taken out.
    Whole,
}

/// Work that was taken out of the pool under its lock.
#[must_use = "it may be the last to hold a file: it is given up behind the lock"]
pub(crate) enum Taken {
    Part(Vec<Foreign<Op<'static>>>),
    Whole(Box<dyn Work>),
}

impl Taken {
    pub(crate) fn into_ops(self) -> Vec<Foreign<Op<'static>>> {
        match self {
            Taken::Part(ops) => ops,
            Taken::Whole(work) => work.into_ops(),
        }
    }
}

/// The identity of a piece of work.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    /// A unique number.
    ticket: u64,
    /// The ring or future to which it belongs.
    pub(crate) owner: u64,
    /// The `user_data` of its entries.
    pub(crate) ids: Ids,
}

#[derive(Clone, Debug)]
pub(crate) enum Ids {
    One(u64),
    Many(Arc<[u64]>),
}

impl Tag {
    pub(crate) fn new(owner: u64, ids: Ids) -> Tag {
        Tag { ticket: unique(), owner, ids }
    }

    pub(crate) fn is(&self, other: &Tag) -> bool {
        self.ticket == other.ticket
    }

    /// Returns whether it has such an entry. Only its owner can find the entry of a time limit.
    pub(crate) fn has(&self, which: Which) -> bool {
        match (which, &self.ids) {
            (Which::UserData(wanted), Ids::One(id)) => wanted == *id,
            (Which::UserData(wanted), Ids::Many(ids)) => ids.contains(&wanted),
            (Which::Limit(_), _) => false,
            (Which::All, _) => true,
        }
    }
}

/// The owner of work that cannot be cancelled.
pub(crate) const NO_OWNER: u64 = 0;

/// Returns a number that is used only once, and is not [`NO_OWNER`]. `Relaxed`, and std's atomic
/// under shuttle as well, because it synchronizes nothing.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
