//! One operation as work for the pool, and the future that waits for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use pathwalk::{Context, Errno, MissingName};

use crate::inline::Tried;
use crate::pool::Pool;
use crate::punt::{Cut, Ids, Punted, Tag, Which, Work, unique};
use crate::sync::Mutex;
use crate::{Op, Value};

/// Waits for a worker's answer. Dropped, it takes its operation back, if no worker has begun it.
pub(crate) struct Pending {
    pool: Pool,
    owner: u64,
    answer: Arc<Mutex<Slot>>,
    state: State,
}

/// Whether there is something to take back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Answered,
}

/// Where worker and future meet.
#[derive(Default)]
struct Slot {
    answer: Option<Result<Value, Errno>>,
    waker: Option<Waker>,
}

impl Pending {
    pub(crate) fn new(pool: &Pool, context: &Arc<Context>, op: Op<'static>, missing: Option<MissingName>) -> Pending {
        let (owner, answer) = (unique(), Arc::default());
        let pending = Pending { pool: pool.clone(), owner, answer: Arc::clone(&answer), state: State::Waiting };
        let work = Single { tag: Tag::new(owner, Ids::One(0)), context: context.clone(), op, answer };
        pool.take_in([Punted { work: Box::new(work), missing }]);
        pending
    }
}

impl Future for Pending {
    type Output = Result<Value, Errno>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let mut slot = self.answer.lock();
        if let Some(answer) = slot.answer.take() {
            drop(slot);
            self.state = State::Answered;
            return Poll::Ready(answer);
        }
        if slot.waker.as_ref().is_some_and(|waker| waker.will_wake(task.waker())) {
            return Poll::Pending;
        }
        let other = slot.waker.replace(task.waker().clone());
        // Foreign code: outside of the lock.
        drop(slot);
        drop(other);
        Poll::Pending
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.state == State::Waiting {
            drop(self.pool.withdraw(self.owner));
        }
    }
}

/// One operation of a future.
struct Single {
    tag: Tag,
    context: Arc<Context>,
    op: Op<'static>,
    answer: Arc<Mutex<Slot>>,
}

fn give(slot: &Mutex<Slot>, answer: Result<Value, Errno>) {
    let waker = {
        let mut slot = slot.lock();
        slot.answer = Some(answer);
        slot.waker.take()
    };
    // Foreign code: outside of the lock.
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Work for Single {
    fn tag(&self) -> &Tag {
        &self.tag
    }

    fn cut(&mut self, _which: Which) -> Cut {
        Cut::Whole
    }

    fn retry(mut self: Box<Self>) -> Option<Punted> {
        match self.op.try_cached(&self.context) {
            Tried::Punted(missing) => Some(Punted { work: self, missing }),
            Tried::Answered(answer) => {
                give(&self.answer, answer);
                None
            }
        }
    }

    fn run(self: Box<Self>) -> Option<Box<dyn Work>> {
        // The future may have been dropped when this was in nobody's queue.
        if Arc::strong_count(&self.answer) == 1 {
            return None;
        }
        let Single { context, op, answer, .. } = *self;
        give(&answer, op.run(&context));
        None
    }

    fn fail(self: Box<Self>, errno: Errno) {
        give(&self.answer, Err(errno));
    }
}
