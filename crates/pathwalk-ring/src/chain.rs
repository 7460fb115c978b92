//! Linked entries, in order; a single entry is a chain of one.
//!
//! The one thread that has the chain answers its entries, each once: the submitter as far as the caches know, then the worker that took it. An
//! entry that fails cancels those behind it.
//!
//! Always: an entry that is answered is handed over with its answer, so what becomes of its operation, which may be the last to hold a file, is for the
//! thread that answers to say.

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

/// A `LinkTimeout`.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    after: Duration,
    pub(crate) user_data: u64,
    /// By which its ring knows it.
    pub(crate) number: u64,
    pub(crate) state: LimitState,
}

#[derive(Clone, Copy)]
pub(crate) enum LimitState {
    /// Its entry may not start yet.
    Unarmed,
    /// Until then; never: `None`.
    Armed(Option<Instant>),
}

/// What is left of linked entries.
pub(crate) struct Chain<'p> {
    /// The next.
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

    /// Whether what is behind it goes on when it has failed.
    pub(crate) fn is_hard(&self) -> bool {
        self.flags.contains(EntryFlags::HARDLINK)
    }

    /// Its time limit begins.
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
    /// Of at least one entry. A time limit goes to the entry before it; one that has none is an entry by itself, which is refused.
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

    /// Of one entry, linked to nothing.
    pub(crate) fn single(entry: Entry<'p>) -> Chain<'p> {
        Chain { head: Link::new(entry), rest: VecDeque::new() }
    }

    pub(crate) fn has_limits(&self) -> bool {
        self.head.limit.is_some() || self.rest.iter().any(|link| link.limit.is_some())
    }

    pub(crate) fn into_owned(self) -> Chain<'static> {
        Chain { head: self.head.into_owned(), rest: self.rest.into_iter().map(Link::into_owned).collect() }
    }

    /// The `user_data` of its entries.
    pub(crate) fn ids(&self) -> Ids {
        let head = self.head.user_data;
        if self.rest.is_empty() {
            return Ids::One(head);
        }
        Ids::Many([head].into_iter().chain(self.rest.iter().map(|link| link.user_data)).collect())
    }

    /// Its entries, in order.
    pub(crate) fn into_links(self) -> impl Iterator<Item = Link<'p>> {
        [self.head].into_iter().chain(self.rest)
    }

    /// Answers the head; returns what is left. Entries behind one that failed are cancelled.
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

    /// The same where the head has failed and was answered: it is handed over.
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

    /// Answers as many entries as the caches can; what is left has to go to a worker, who may have to ask for a name that is missing.
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
