//! A chain of a ring as work for the pool.
//!
//! What always holds:
//!
//! - An entry is completed before what it held is dropped, so that a file whose closing blocks or
//!   panics keeps no entry from completing.
//! - The last entry is completed after the context was let go of, so that no worker keeps a mount
//!   busy for a ring that was dropped behind its completions. As long as a completion can be read,
//!   the ring holds the context, too: letting go of it does not block.

use std::sync::Arc;

use pathwalk::{Context, Errno};

use crate::chain::{Chain, Link};
use crate::complete::Completions;
use crate::foreign::Foreign;
use crate::punt::{Cut, Punted, Tag, Which, Work};
use crate::{Op, Value};

/// A chain whose head the caches could not answer.
pub(crate) struct Linked {
    ring: Arc<Completions>,
    tag: Tag,
    chain: Chain<'static>,
    /// The last field to be dropped: it may be the last to hold the `Vfs`, when its ring is gone.
    context: Foreign<Arc<Context>>,
}

impl Linked {
    /// Creates the work, and starts the time limit of its head.
    pub(crate) fn new(ring: &Arc<Completions>, context: &Arc<Context>, chain: Chain<'_>) -> Linked {
        let mut chain = chain.into_owned();
        ring.arm(&mut chain.head);
        let tag = Tag::new(ring.owner, chain.ids());
        Linked { ring: ring.clone(), context: Foreign::new(context.clone()), tag, chain }
    }

    /// Removes the head, which was completed as cancelled.
    fn cut_head(&mut self) -> Cut {
        if !self.chain.head.is_hard() {
            let ring = &self.ring;
            self.chain.rest.iter().for_each(|link| ring.answer_error(link, Errno::ECANCELED));
            return Cut::Whole;
        }
        let Some(next) = self.chain.rest.pop_front() else { return Cut::Whole };
        let head = std::mem::replace(&mut self.chain.head, next);
        self.ring.arm(&mut self.chain.head);
        Cut::Part(vec![head.op])
    }

    /// Cancels an entry behind the head.
    fn cut_behind(&mut self, at: usize) -> Cut {
        let rest = &mut self.chain.rest;
        let last = if rest[at].is_hard() { at + 1 } else { rest.len() };
        let cut = rest.drain(at..last).map(|link| {
            self.ring.answer_error(&link, Errno::ECANCELED);
            link.op
        });
        Cut::Part(cut.collect())
    }
}

impl Work for Linked {
    fn tag(&self) -> &Tag {
        &self.tag
    }

    fn cut(&mut self, which: Which) -> Cut {
        let head = &self.chain.head;
        match which {
            Which::All => Cut::Whole,
            Which::Limit(number) if head.limit.is_some_and(|limit| limit.number == number) && self.ring.expire(head) => {
                self.cut_head()
            }
            Which::UserData(wanted) if head.user_data == wanted => {
                self.ring.answer_error(head, Errno::ECANCELED);
                self.cut_head()
            }
            Which::UserData(wanted) => match self.chain.rest.iter().position(|link| link.user_data == wanted) {
                Some(at) => self.cut_behind(at),
                None => Cut::Nothing,
            },
            Which::Limit(_) => Cut::Nothing,
        }
    }

    fn into_ops(self: Box<Self>) -> Vec<Foreign<Op<'static>>> {
        self.chain.into_links().map(|link| link.op).collect()
    }

    fn retry(self: Box<Self>) -> Option<Punted> {
        let Linked { context, ring, tag, chain } = *self;
        let mut done = Done::of(&ring);
        let left = chain.advance(&context, &mut |link, result| done.add(link, result));
        let context = left.is_some().then_some(context);
        done.tell();
        let ((mut chain, missing), context) = left.zip(context)?;
        if chain.head.limit.is_some_and(|limit| limit.is_unarmed()) {
            ring.arm(&mut chain.head);
        }
        drop(done);
        Some(Punted { work: Box::new(Linked { ring, context, tag, chain }), missing })
    }

    fn run(self: Box<Self>) -> Option<Box<dyn Work>> {
        // In reverse order of their drops: the context is dropped last.
        let Linked { context, ring, tag, mut chain } = *self;
        // Its owner may have gone while it was in no queue.
        if ring.is_abandoned() {
            return None;
        }
        let mut done = Done::of(&ring);
        let left = if chain.head.is_overdue() && ring.tell_expired(&chain.head) {
            let (head, left) = chain.go_on_behind(&mut |link, result| done.add(link, result));
            done.keep(head);
            left
        } else {
            let op = std::mem::replace(&mut *chain.head.op, Op::Nop);
            let wanted = op.wanted();
            let result = op.run(&context);
            let is_complete = wanted.is_complete(&result);
            chain.go_on(result, is_complete, &mut |link, result| done.add(link, result))
        };
        let context = left.is_some().then_some(context);
        done.tell();
        let (mut chain, context) = left.zip(context)?;
        ring.arm(&mut chain.head);
        drop(done);
        Some(Box::new(Linked { ring, context, tag, chain }))
    }

    fn fail(self: Box<Self>, errno: Errno) {
        let Linked { context, ring, chain, .. } = *self;
        let (mut done, mut left) = (Done::of(&ring), Some(chain));
        while let Some(chain) = left {
            left = chain.go_on(Err(errno), false, &mut |link, result| done.add(link, result));
        }
        drop(context);
        done.tell();
    }
}

/// Entries that are done. What they held is dropped with this, after all of them were completed.
struct Done<'a> {
    ring: &'a Completions,
    /// The first entry. Most chains have no other, and then take no allocation.
    first: Option<Ended>,
    others: Vec<Ended>,
}

/// An entry with its result, until it is completed.
struct Ended {
    link: Link<'static>,
    result: Option<Foreign<Result<Value, Errno>>>,
}

impl Done<'_> {
    fn of(ring: &Completions) -> Done<'_> {
        Done { ring, first: None, others: Vec::new() }
    }

    /// Adds an entry with its result.
    fn add(&mut self, link: Link<'static>, result: Result<Value, Errno>) {
        self.put(Ended { link, result: Some(Foreign::new(result)) });
    }

    /// Adds an entry that was completed.
    fn keep(&mut self, link: Link<'static>) {
        self.put(Ended { link, result: None });
    }

    fn put(&mut self, ended: Ended) {
        match self.first {
            None => self.first = Some(ended),
            Some(_) => self.others.push(ended),
        }
    }

    /// Completes the entries, in the order in which they were added.
    fn tell(&mut self) {
        for Ended { link, result } in self.first.iter_mut().chain(&mut self.others) {
            result.take().into_iter().for_each(|result| self.ring.tell(link, result));
        }
    }
}
