//! The owner's records of the entries of a ring.

use std::collections::HashMap;

use pathwalk::Errno;
use pathwalk_ring::{Completion, Entry, EntryFlags, Op};

/// The number of completions by operation and result, with 0 for success.
pub(crate) type Counts = HashMap<(&'static str, i32), u64>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Waits,
    /// A cancellation of it was reported as successful.
    Cancelled,
}

/// The entries that were submitted, and the counts of completed ones.
#[derive(Default)]
pub(crate) struct Ledger {
    waiting: HashMap<u64, (&'static str, Known)>,
    next: u64,
    pub(crate) counts: Counts,
}

fn name(op: &Op<'_>) -> &'static str {
    match op {
        Op::Cancel { .. } => "cancel",
        Op::Timeout { .. } => "timeout",
        Op::LinkTimeout { .. } => "limit",
        _ => "operation",
    }
}

impl Ledger {
    /// Creates and records an entry.
    pub(crate) fn entry(&mut self, op: Op<'static>, flags: EntryFlags) -> Entry<'static> {
        let user_data = self.next;
        self.next += 1;
        self.waiting.insert(user_data, (name(&op), Known::Waits));
        Entry::new(user_data, op).with(flags)
    }

    /// Returns the number of the next entry.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = u64> {
        self.waiting.keys().copied()
    }

    /// Records the result of a cancellation.
    pub(crate) fn cancelled(&mut self, user_data: u64, answer: Result<(), Errno>) {
        match (self.waiting.get_mut(&user_data), answer) {
            (Some((_, known)), Ok(())) => *known = Known::Cancelled,
            (None, Ok(())) => panic!("{user_data} was cancelled, which does not wait"),
            (_, Err(Errno::ENOENT | Errno::EALREADY)) => {}
            (_, Err(errno)) => panic!("{errno} for cancelling {user_data}"),
        }
    }

    pub(crate) fn settle(&mut self, done: &Completion) {
        let Some((what, known)) = self.waiting.remove(&done.user_data) else {
            panic!("{} completed twice, or was never submitted: {done:?}", done.user_data)
        };
        let is_cancelled = done.result.as_ref().err() == Some(&Errno::ECANCELED);
        assert!(known == Known::Waits || is_cancelled, "it was cancelled: {done:?}");
        self.count(what, done.res());
    }

    pub(crate) fn count(&mut self, what: &'static str, res: i32) {
        *self.counts.entry((what, res.min(0))).or_default() += 1;
    }

    /// Drops the records of a ring that is gone, with all that it had.
    pub(crate) fn forget_all(&mut self) {
        self.waiting.clear();
    }

    pub(crate) fn assert_settled(&self) {
        let waiting: Vec<_> = self.waiting().collect();
        assert!(waiting.is_empty(), "never completed: {waiting:?}");
    }
}
