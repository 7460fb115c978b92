//! What goes to the workers: one punted operation, or a chain of them, and how it is found again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::{Errno, MissingName};

use crate::Op;
use crate::foreign::Foreign;

/// Something for a worker to do. Whoever takes it out of the pool is the only one who has it: so it is answered once.
pub(crate) trait Work: Send {
    /// How it is found.
    fn tag(&self) -> &Tag;

    /// Cancels what of it is asked for, before it was begun. Called under the pool's lock: takes only locks that are below, and drops nothing that is not of
    /// this crate.
    fn cut(&mut self, which: Which) -> Cut;

    /// The operations of what was cut as a whole, which was answered for.
    fn into_ops(self: Box<Self>) -> Vec<Foreign<Op<'static>>>;

    /// Tries the caches again, after somebody else was answered about the name that was missing; what is still not answered comes back.
    fn retry(self: Box<Self>) -> Option<Punted>;

    /// Does its first part, in a thread that may wait; what is left of it comes back.
    fn run(self: Box<Self>) -> Option<Box<dyn Work>>;

    /// Answers with an error, since there is no thread to do it.
    fn fail(self: Box<Self>, errno: Errno);
}

/// Work, and the name whose absence from the caches keeps it from being answered.
pub(crate) struct Punted {
    pub(crate) work: Box<dyn Work>,
    pub(crate) missing: Option<MissingName>,
}

/// Which entries of somebody's work are cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// The first that has this `user_data`.
    UserData(u64),
    /// The one whose time limit has this number.
    Limit(u64),
    /// All of them.
    All,
}

/// What was cut.
#[must_use = "what was cut is given up behind the pool's lock"]
pub(crate) enum Cut {
    Nothing,
    /// These; there is work left.
    Part(Vec<Foreign<Op<'static>>>),
    /// All of it, which is to be taken out.
    Whole,
}

/// What was taken out of the pool under its lock.
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

/// By what work is known.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    /// Unique.
    ticket: u64,
    /// The ring or future that it belongs to.
    pub(crate) owner: u64,
    /// The `user_data` of its entries.
    ids: Ids,
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

    /// Whether it has such an entry; that of a time limit is its owner's to know.
    pub(crate) fn has(&self, which: Which) -> bool {
        match (which, &self.ids) {
            (Which::UserData(wanted), Ids::One(id)) => wanted == *id,
            (Which::UserData(wanted), Ids::Many(ids)) => ids.contains(&wanted),
            (Which::Limit(_), _) => false,
            (Which::All, _) => true,
        }
    }
}

/// The owner of what cannot be cancelled.
pub(crate) const NO_OWNER: u64 = 0;

/// A number that nothing else has, and not [`NO_OWNER`]. `Relaxed`, and std's under shuttle as well: nothing is synchronized by it.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
