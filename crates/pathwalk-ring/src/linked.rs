//! A chain of a ring as work for the pool.

use std::sync::Arc;

use pathwalk::{Context, Errno};

use crate::Op;
use crate::chain::Chain;
use crate::complete::Completions;
use crate::punt::{Cut, Punted, Tag, Which, Work};

/// A chain whose head the caches could not answer.
pub(crate) struct Linked {
    ring: Arc<Completions>,
    context: Arc<Context>,
    tag: Tag,
    chain: Chain<'static>,
}

impl Linked {
    /// The time limit of its head begins.
    pub(crate) fn new(ring: &Arc<Completions>, context: &Arc<Context>, chain: Chain<'_>) -> Linked {
        let mut chain = chain.into_owned();
        ring.arm(&mut chain.head);
        Linked { ring: ring.clone(), context: context.clone(), tag: Tag::new(ring.owner, chain.ids()), chain }
    }

    /// The head was cancelled.
    fn cut_head(&mut self) -> Cut {
        if !self.chain.head.is_hard() {
            self.cut_rest(0);
        }
        let Some(next) = self.chain.rest.pop_front() else { return Cut::Whole };
        self.chain.head = next;
        self.ring.arm(&mut self.chain.head);
        Cut::Part
    }

    fn cut_rest(&mut self, from: usize) {
        self.chain.rest.drain(from..).for_each(|link| self.ring.answer(&link, Err(Errno::ECANCELED)));
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
            Which::UserData(wanted) if head.entry.user_data == wanted => {
                self.ring.answer(head, Err(Errno::ECANCELED));
                self.cut_head()
            }
            Which::UserData(wanted) => {
                let found = self.chain.rest.iter().position(|link| link.entry.user_data == wanted);
                let Some(link) = found.and_then(|at| self.chain.rest.remove(at)) else { return Cut::Nothing };
                self.ring.answer(&link, Err(Errno::ECANCELED));
                if !link.is_hard() {
                    self.cut_rest(found.unwrap_or(0));
                }
                Cut::Part
            }
            Which::Limit(_) => Cut::Nothing,
        }
    }

    fn retry(self: Box<Self>) -> Option<Punted> {
        let Linked { ring, context, tag, chain } = *self;
        let (mut chain, missing) = chain.advance(&context, &mut |link, result| ring.tell(link, result))?;
        if chain.head.limit.is_some_and(|limit| limit.is_unarmed()) {
            ring.arm(&mut chain.head);
        }
        Some(Punted { work: Box::new(Linked { ring, context, tag, chain }), missing })
    }

    fn run(self: Box<Self>) -> Option<Box<dyn Work>> {
        let Linked { ring, context, tag, mut chain } = *self;
        // Its owner may have gone when it was in nobody's queue.
        if ring.is_abandoned() {
            return None;
        }
        let is_complete = if chain.head.is_overdue() && ring.tell_expired(&chain.head) {
            false
        } else {
            let op = std::mem::replace(&mut chain.head.entry.op, Op::Nop);
            let wanted = op.wanted();
            let result = op.run(&context);
            let is_complete = wanted.is_complete(&result);
            ring.tell(&chain.head, result);
            is_complete
        };
        let mut chain = chain.go_on(is_complete, &mut |link, result| ring.tell(link, result))?;
        ring.arm(&mut chain.head);
        Some(Box::new(Linked { ring, context, tag, chain }))
    }

    fn fail(self: Box<Self>, errno: Errno) {
        let mut left = Some(self.chain);
        while let Some(chain) = left {
            self.ring.tell(&chain.head, Err(errno));
            left = chain.go_on(false, &mut |link, result| self.ring.tell(link, result));
        }
    }
}
