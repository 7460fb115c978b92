//! Chains of linked entries, in order. A single entry is a chain of one.
//!
//! The one thread that has the chain completes its entries, each once: first the submitter, as far
//! as the caches have the answers, then the worker that took the chain. An entry that fails cancels
//! those behind it.
//!
//! Always: an entry that is completed is handed over with its result. So the thread that completes
//! it decides what becomes of its operation, which may be the last to hold a file.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pathwalk::{Context, Errno, MissingName};

use crate::foreign::Foreign;
use crate::inline::Tried;
use crate::punt::{Ids, unique};
use crate::{Entry, EntryFlags, Op, Value};

/// One entry of a chain, and its time limit.
pub(crate) struct Link<'p> {
    pub(crate) op: Foreign<Op<'p>>,
    flags: EntryFlags,
    pub(crate) user_data: u64,
    pub(crate) limit: Option<Limit>,
}

/// The time limit of a `LinkTimeout`.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    after: Duration,
    pub(crate) user_data: u64,
    /// The number by which its ring identifies it.
    pub(crate) number: u64,
    pub(crate) state: LimitState,
}

#[derive(Clone, Copy)]
pub(crate) enum LimitState {
    /// The entry may not start yet.
    Unarmed,
    /// The instant at which it expires; `None` for never.
    Armed(Option<Instant>),
}

/// The rest of a chain of linked entries.
pub(crate) struct Chain<'p> {
    /// The next entry.
    pub(crate) head: Link<'p>,
    pub(crate) rest: VecDeque<Link<'p>>,
}

impl<'p> Link<'p> {
    fn new(entry: Entry<'p>) -> Link<'p> {
        let Entry { op, flags, user_data } = entry;
        Link { op: Foreign::new(op), flags, user_data, limit: None }
    }

    fn into_owned(self) -> Link<'static> {
        let Link { op, flags, user_data, limit } = self;
        Link { op: Foreign::new(op.into_inner().into_owned()), flags, user_data, limit }
    }

    /// Returns whether the next entry starts even if this one fails.
    pub(crate) fn is_hard(&self) -> bool {
        self.flags.contains(EntryFlags::HARDLINK)
    }

    /// Starts its time limit.
    pub(crate) fn arm(&mut self) -> Option<Limit> {
        let limit = self.limit.as_mut()?;
        limit.state = LimitState::Armed(Instant::now().checked_add(limit.after));
        Some(*limit)
    }

    pub(crate) fn is_overdue(&self) -> bool {
        let until = self.limit.and_then(|limit| limit.until());
        until.is_some_and(|until| until <= Instant::now())
    }
}

impl Limit {
    pub(crate) fn is_unarmed(&self) -> bool {
        matches!(self.state, LimitState::Unarmed)
    }

    pub(crate) fn until(&self) -> Option<Instant> {
        match self.state {
            LimitState::Unarmed => None,
            LimitState::Armed(until) => until,
        }
    }
}

impl<'p> Chain<'p> {
    /// Builds the chain of at least one entry. A time limit goes to the entry before it. One that
    /// has none before it is an entry by itself, which is refused.
    pub(crate) fn new(mut entries: impl Iterator<Item = Entry<'p>>) -> Option<Chain<'p>> {
        let mut chain = Chain::single(entries.next()?);
        for entry in entries {
            let last = chain.rest.back_mut().unwrap_or(&mut chain.head);
            match entry.op {
                Op::LinkTimeout { after } if last.limit.is_none() && !matches!(*last.op, Op::LinkTimeout { .. }) => {
                    let (user_data, number) = (entry.user_data, unique());
                    last.limit = Some(Limit { after, user_data, number, state: LimitState::Unarmed });
                }
                _ => chain.rest.push_back(Link::new(entry)),
            }
        }
        Some(chain)
    }

    /// Builds a chain of one entry that is linked to nothing.
    pub(crate) fn single(entry: Entry<'p>) -> Chain<'p> {
        Chain { head: Link::new(entry), rest: VecDeque::new() }
    }

    pub(crate) fn has_limits(&self) -> bool {
        self.head.limit.is_some() || self.rest.iter().any(|link| link.limit.is_some())
    }

    pub(crate) fn into_owned(self) -> Chain<'static> {
        Chain { head: self.head.into_owned(), rest: self.rest.into_iter().map(Link::into_owned).collect() }
    }

    /// Returns the `user_data` of its entries.
    pub(crate) fn ids(&self) -> Ids {
        let head = self.head.user_data;
        if self.rest.is_empty() {
            return Ids::One(head);
        }
        Ids::Many([head].into_iter().chain(self.rest.iter().map(|link| link.user_data)).collect())
    }

    /// Returns its entries, in order.
    pub(crate) fn into_links(self) -> impl Iterator<Item = Link<'p>> {
        [self.head].into_iter().chain(self.rest)
    }

    /// Completes the head, and returns the rest. Entries behind one that failed are cancelled.
    pub(crate) fn go_on(
        self,
        result: Result<Value, Errno>,
        is_complete: bool,
        answer: &mut impl FnMut(Link<'p>, Result<Value, Errno>),
    ) -> Option<Chain<'p>> {
        let Chain { head, rest } = self;
        let goes_on = is_complete || head.is_hard();
        answer(head, result);
        Chain::behind(goes_on, rest, answer)
    }

    /// Does the same where the head has failed and was completed already. Returns the head and the
    /// rest.
    pub(crate) fn go_on_behind(self, answer: &mut impl FnMut(Link<'p>, Result<Value, Errno>)) -> (Link<'p>, Option<Chain<'p>>) {
        let Chain { head, rest } = self;
        let left = Chain::behind(head.is_hard(), rest, answer);
        (head, left)
    }

    fn behind(
        goes_on: bool,
        mut rest: VecDeque<Link<'p>>,
        answer: &mut impl FnMut(Link<'p>, Result<Value, Errno>),
    ) -> Option<Chain<'p>> {
        if !goes_on {
            rest.drain(..).for_each(|link| answer(link, Err(Errno::ECANCELED)));
        }
        rest.pop_front().map(|head| Chain { head, rest })
    }

    /// Completes as many entries as the caches can answer. The rest has to go to a worker, which
    /// may have to look up the returned missing name.
    pub(crate) fn advance(
        mut self,
        context: &Context,
        answer: &mut impl FnMut(Link<'p>, Result<Value, Errno>),
    ) -> Option<(Chain<'p>, Option<MissingName>)> {
        loop {
            let (flags, wanted) = (self.head.flags, self.head.op.wanted());
            let tried = match () {
                () if !EntryFlags::all().contains(flags) => Tried::Answered(Err(Errno::EINVAL)),
                () if flags.contains(EntryFlags::ASYNC) => Tried::Punted(None),
                () => self.head.op.try_cached(context),
            };
            match tried {
                Tried::Punted(missing) => return Some((self, missing)),
                Tried::Answered(result) => {
                    let is_complete = wanted.is_complete(&result);
                    self = self.go_on(result, is_complete, answer)?;
                }
            }
        }
    }
}
