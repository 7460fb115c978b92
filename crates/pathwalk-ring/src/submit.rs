//! Submission: places are reserved, the caches are tried, and the rest goes to the workers.

use std::time::Instant;

use pathwalk::Errno;

use crate::chain::{Chain, Link};
use crate::linked::Linked;
use crate::punt::{Punted, unique};
use crate::ring::HasLimits;
use crate::{Completion, Entry, Op, Ring, SubmissionQueue, Value};

/// The maximum number of pieces of work that go to the workers together.
const AT_ONCE: usize = 32;

impl Ring {
    /// Takes entries from the front of the queue for as long as there is room for their
    /// completions, and completes at once what the caches can answer. Returns the number of entries
    /// taken. The others can be submitted when completions were reaped. Linked entries are taken
    /// together. Never blocks (but see [`Pool`](crate::Pool) about starting a thread).
    ///
    /// `EBUSY` if there was no room for any; `EINVAL` if so many are linked that there never will
    /// be. Source: `io_uring_enter(2)`, and there `EBUSY`.
    pub fn submit(&mut self, queue: &mut SubmissionQueue<'_>) -> Result<usize, Errno> {
        let (mut taken, mut ahead) = (0, 0);
        let refused = loop {
            if queue.is_empty() {
                break None;
            }
            let linked = queue.chain();
            if linked > self.places {
                break Some(Errno::EINVAL);
            }
            if self.outstanding + linked > self.places {
                break Some(Errno::EBUSY);
            }
            if ahead == 0 {
                ahead = queue.read_ahead(&self.context, self.places - self.outstanding);
            }
            ahead = ahead.saturating_sub(linked);
            self.outstanding += linked;
            taken += linked;
            let mut entries = queue.take(linked);
            if linked == 1 {
                let first = entries.next();
                drop(entries);
                first.into_iter().for_each(|entry| self.begin(entry));
            } else if let Some(chain) = Chain::new(entries) {
                self.begin_chain(chain);
            }
        };
        self.hand_over();
        refused.filter(|_| taken == 0).map_or(Ok(taken), Err)
    }

    /// Submits one entry, without a queue. Several entries for workers cost less when submitted
    /// together, because each that is submitted alone may wake a worker. Its link flags are
    /// ignored. Errors as [`submit`](Self::submit). After `EBUSY` the entry is gone, so call
    /// [`has_room`](Self::has_room) first.
    pub fn submit_one(&mut self, entry: Entry<'_>) -> Result<(), Errno> {
        if !self.has_room() {
            self.closing.op(entry.op, self.context.vfs());
            self.hand_over();
            return Err(Errno::EBUSY);
        }
        self.outstanding += 1;
        self.begin(entry);
        self.hand_over();
        Ok(())
    }

    /// Returns whether one more entry can be submitted.
    pub fn has_room(&self) -> bool {
        self.outstanding < self.places
    }

    /// Begins an entry that is linked to nothing. Some operations are for the ring itself.
    fn begin(&mut self, entry: Entry<'_>) {
        match entry.op {
            Op::Timeout { after } => match Instant::now().checked_add(after) {
                Some(until) => _ = self.timeouts.insert((until, unique()), entry.user_data),
                None => self.complete(entry.user_data, Err(Errno::EINVAL)),
            },
            Op::Cancel { user_data } => {
                self.hand_over();
                let result = self.cancel(user_data).map(|()| Value::Done);
                self.complete(entry.user_data, result);
            }
            _ => self.begin_chain(Chain::single(entry)),
        }
    }

    fn begin_chain(&mut self, chain: Chain<'_>) {
        let (done, closing, vfs) = (&mut self.done, &mut self.closing, self.context.vfs());
        let mut answer = |link: Link<'_>, result| {
            done.push_back(Completion::new(link.user_data, result));
            // The entry was completed before its time limit started.
            done.extend(link.limit.map(|limit| Completion::new(limit.user_data, Err(Errno::ECANCELED))));
            closing.op(link.op.into_inner(), vfs);
        };
        if let Some((chain, missing)) = chain.advance(&self.context, &mut answer) {
            if chain.has_limits() {
                self.has_limits = HasLimits::Some;
            }
            let work = Linked::new(&self.completions, &self.context, chain);
            self.punted.push(Punted { work: Box::new(work), missing });
            if self.punted.len() == AT_ONCE {
                self.hand_over();
            }
        }
    }

    /// Gives the workers the punted work and what has to be closed, together, so that they are not
    /// woken for each.
    fn hand_over(&mut self) {
        if !self.closing.is_empty() {
            self.punted.push(std::mem::take(&mut self.closing).into_work(self.context.vfs()));
        }
        if !self.punted.is_empty() {
            self.pool.take_in(self.punted.drain(..));
        }
    }

    pub(crate) fn complete(&mut self, user_data: u64, result: Result<Value, Errno>) {
        self.done.push_back(Completion::new(user_data, result));
    }
}
