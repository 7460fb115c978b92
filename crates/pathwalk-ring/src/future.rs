//! One operation as work for the pool, and the future that waits for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use pathwalk::{Context, Errno, MissingName};

use crate::closing::Closing;
use crate::foreign::{Foreign, caught};
use crate::inline::Tried;
use crate::pool::Pool;
use crate::punt::{Cut, Ids, Punted, Tag, Which, Work, unique};
use crate::sync::Mutex;
use crate::{Op, Value};

/// A future for a worker's result. Its drop takes the operation back, if no worker has begun it.
pub(crate) struct Pending {
    pool: Pool,
    owner: u64,
    context: Arc<Context>,
    slot: Arc<Mutex<Slot>>,
    state: State,
}

/// The state of a future: whether there is something to take back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Answered,
}

type Answer = Foreign<Result<Value, Errno>>;

/// The state shared by the worker and the future. Always: what is taken out of it is dropped after
/// its lock.
#[derive(Default)]
struct Slot {
    answer: Option<Answer>,
    waker: Option<Foreign<Waker>>,
    future: FutureIs,
}

/// The state of the future: whether a result will be read.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum FutureIs {
    #[default]
    There,
    Dropped,
}

impl Pending {
    pub(crate) fn new(pool: &Pool, context: &Arc<Context>, op: Op<'static>, missing: Option<MissingName>) -> Pending {
        let (owner, slot) = (unique(), Arc::<Mutex<Slot>>::default());
        let tag = Tag::new(owner, Ids::One(0));
        let (op, of_work) = (Foreign::new(op), Foreign::new(context.clone()));
        let work = Single { tag, context: of_work, op, slot: slot.clone() };
        pool.take_in([Punted { work: Box::new(work), missing }]);
        Pending { pool: pool.clone(), owner, context: context.clone(), slot, state: State::Waiting }
    }

    /// Returns the result, if it is there. Otherwise stores this waker, if there is one, and hands
    /// the previous one back.
    fn ask(&self, waker: &mut Option<Foreign<Waker>>) -> Option<Answer> {
        let mut slot = self.slot.lock();
        if slot.answer.is_none() && waker.is_some() {
            std::mem::swap(&mut slot.waker, waker);
        }
        slot.answer.take()
    }

    fn wakes(&self, waker: &Waker) -> bool {
        self.slot.lock().waker.as_ref().is_some_and(|told| told.will_wake(waker))
    }
}

impl Future for Pending {
    type Output = Result<Value, Errno>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        // Cloned and dropped outside of the lock, because both run foreign code.
        let mut waker = (!self.wakes(task.waker())).then(|| Foreign::new(task.waker().clone()));
        let answer = self.ask(&mut waker);
        match answer {
            Some(answer) => {
                self.state = State::Answered;
                Poll::Ready(answer.into_inner())
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.state == State::Answered {
            return;
        }
        let vfs = self.context.vfs();
        self.pool.withdraw(self.owner, vfs);
        let (answer, waker) = {
            let mut slot = self.slot.lock();
            slot.future = FutureIs::Dropped;
            (slot.answer.take(), slot.waker.take())
        };
        drop(waker);
        let mut closing = Closing::default();
        answer.into_iter().for_each(|answer| closing.answer(answer.into_inner()));
        self.pool.close(closing, vfs);
    }
}

/// One operation of a future.
struct Single {
    tag: Tag,
    op: Foreign<Op<'static>>,
    slot: Arc<Mutex<Slot>>,
    context: Foreign<Arc<Context>>,
}

impl Single {
    /// Answers, and drops what the operation held behind that. The context is let go of before, so
    /// that no worker keeps a mount busy for a future that has ended. As long as an answer can be
    /// read, the future holds the context, too: letting go of it does not block.
    fn answered(self, answer: Result<Value, Errno>) {
        let answer = Foreign::new(answer);
        let Single { tag: _, op: _held, slot, context } = self;
        drop(context);
        let waker = {
            let mut slot = slot.lock();
            if slot.future == FutureIs::Dropped {
                drop(slot);
                return;
            }
            slot.answer = Some(answer);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            _ = caught(|| waker.into_inner().wake());
        }
    }
}

impl Work for Single {
    fn tag(&self) -> &Tag {
        &self.tag
    }

    fn cut(&mut self, _which: Which) -> Cut {
        Cut::Whole
    }

    fn into_ops(self: Box<Self>) -> Vec<Foreign<Op<'static>>> {
        vec![self.op]
    }

    fn retry(mut self: Box<Self>) -> Option<Punted> {
        match self.op.try_cached(&self.context) {
            Tried::Punted(missing) => Some(Punted { work: self, missing }),
            Tried::Answered(answer) => {
                self.answered(answer);
                None
            }
        }
    }

    fn run(mut self: Box<Self>) -> Option<Box<dyn Work>> {
        let op = std::mem::replace(&mut *self.op, Op::Nop);
        // The future may have been dropped while this was in no queue.
        if self.slot.lock().future == FutureIs::There {
            let answer = op.run(&self.context);
            self.answered(answer);
        }
        None
    }

    fn fail(self: Box<Self>, errno: Errno) {
        self.answered(Err(errno));
    }
}
