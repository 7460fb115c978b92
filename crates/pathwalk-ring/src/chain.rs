//! Linked entries, in order; a single entry is a chain of one.
//!
//! Whoever has the chain answers its entries, each once: the submitter as far as the caches know, then whichever worker took it. An
//! entry that fails cancels those behind it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pathwalk::{Context, Errno, MissingName};

use crate::inline::Tried;
use crate::punt::{Ids, unique};
use crate::{Entry, EntryFlags, Op, Value};

/// One entry of a chain, and its time limit.
pub(crate) struct Link<'p> {
    pub(crate) entry: Entry<'p>,
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
        Link { entry, limit: None }
    }

    /// Whether what is behind it goes on when it has failed.
    pub(crate) fn is_hard(&self) -> bool {
        self.entry.flags.contains(EntryFlags::HARDLINK)
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
                Op::LinkTimeout { after } if last.limit.is_none() && !matches!(last.entry.op, Op::LinkTimeout { .. }) => {
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
        let owned = |link: Link<'p>| Link { entry: link.entry.into_owned(), limit: link.limit };
        Chain { head: owned(self.head), rest: self.rest.into_iter().map(owned).collect() }
    }

    /// The `user_data` of its entries.
    pub(crate) fn ids(&self) -> Ids {
        let head = self.head.entry.user_data;
        if self.rest.is_empty() {
            return Ids::One(head);
        }
        Ids::Many([head].into_iter().chain(self.rest.iter().map(|link| link.entry.user_data)).collect())
    }

    /// What is left when the head was answered. Entries behind one that failed are cancelled.
    pub(crate) fn go_on(
        mut self,
        is_complete: bool,
        answer: &mut impl FnMut(&Link<'p>, Result<Value, Errno>),
    ) -> Option<Chain<'p>> {
        if !is_complete && !self.head.is_hard() {
            self.rest.drain(..).for_each(|link| answer(&link, Err(Errno::ECANCELED)));
        }
        self.head = self.rest.pop_front()?;
        Some(self)
    }

    /// Answers as many entries as the caches can; what is left has to go to a worker, who may have to ask for a name that is missing.
    pub(crate) fn advance(
        mut self,
        context: &Context,
        answer: &mut impl FnMut(&Link<'p>, Result<Value, Errno>),
    ) -> Option<(Chain<'p>, Option<MissingName>)> {
        loop {
            let (flags, wanted) = (self.head.entry.flags, self.head.entry.op.wanted());
            let tried = match () {
                () if !EntryFlags::all().contains(flags) => Tried::Answered(Err(Errno::EINVAL)),
                () if flags.contains(EntryFlags::ASYNC) => Tried::Punted(None),
                () => self.head.entry.op.try_cached(context),
            };
            match tried {
                Tried::Punted(missing) => return Some((self, missing)),
                Tried::Answered(result) => {
                    let is_complete = wanted.is_complete(&result);
                    answer(&self.head, result);
                    self = self.go_on(is_complete, answer)?;
                }
            }
        }
    }
}
