//! The side of a ring that workers see: where they put completions, and the time limits of what they do.
//!
//! A time limit is settled once, by the thread that takes it out of `armed` under the lock: the worker whose entry has ended, or the owner of the
//! ring whose clock says that it is over.
//!
//! Always: what is not put into the queue, since the ring is gone, comes back, and is dropped behind the lock.

use std::collections::VecDeque;
use std::time::Instant;

use pathwalk::Errno;

use crate::chain::{Limit, LimitState, Link};
use crate::foreign::{Foreign, caught};
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering, wait};
use crate::{Completion, Value};

/// Shared by the owner of a ring and the workers that do its work.
pub(crate) struct Completions {
    /// By which the pool knows the ring.
    pub(crate) owner: u64,
    queue: Mutex<Queue>,
    /// The owner sleeps here.
    woken: Condvar,
    notify: Option<Foreign<Notify>>,
    /// The owner looks no more. Stored under the lock of `queue`, and loaded under it to put nothing in; also stored before the owner's work is withdrawn
    /// under the pool's lock, and loaded after that lock by the worker that took work later.
    abandoned: AtomicBool,
}

/// What is called when a worker has completed something.
pub(crate) type Notify = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Queue {
    done: VecDeque<Completion>,
    armed: Vec<Limit>,
    /// The owner sleeps until so many are done; 0: he does not.
    wanted: usize,
}

impl Queue {
    /// Whether a time limit was still open.
    fn settle(&mut self, number: u64) -> bool {
        let at = self.armed.iter().position(|limit| limit.number == number);
        at.map(|at| self.armed.swap_remove(at)).is_some()
    }

    fn put(&mut self, user_data: u64, result: Result<Value, Errno>) {
        self.done.push_back(Completion::new(user_data, result));
    }

    /// The same for the time limit of an entry that is answered, if it is still open.
    fn end_limit(&mut self, link: &Link<'_>) {
        let Some(limit) = link.limit else { return };
        let is_open = match limit.state {
            LimitState::Unarmed => true,
            LimitState::Armed(_) => self.settle(limit.number),
        };
        if is_open {
            self.put(limit.user_data, Err(Errno::ECANCELED));
        }
    }
}

impl Completions {
    pub(crate) fn new(owner: u64, notify: Option<Notify>) -> Completions {
        let notify = notify.map(Foreign::new);
        Completions { owner, queue: Mutex::default(), woken: Condvar::new(), notify, abandoned: AtomicBool::new(false) }
    }

    fn wake(&self, queue: MutexGuard<'_, Queue>) {
        // Where the owner does not sleep, none is woken.
        let enough = queue.done.len() >= queue.wanted;
        drop(queue);
        if enough {
            self.woken.notify_one();
        }
    }

    /// A worker has completed something.
    fn notify(&self) {
        if let Some(notify) = &self.notify {
            _ = caught(&***notify);
        }
    }

    /// Completes an entry, as a worker.
    pub(crate) fn tell(&self, link: &Link<'_>, result: Result<Value, Errno>) {
        let unread = self.answer(link, Foreign::new(result));
        drop(unread);
        self.notify();
    }

    /// The same if it was not begun before its time was over.
    pub(crate) fn tell_expired(&self, link: &Link<'_>) -> bool {
        let is_expired = self.expire(link);
        if is_expired {
            self.notify();
        }
        is_expired
    }

    /// Completes an entry. Its time limit, if it has one that is not over, is cancelled. The answer comes back if the ring is gone.
    fn answer(&self, link: &Link<'_>, result: Foreign<Result<Value, Errno>>) -> Option<Foreign<Result<Value, Errno>>> {
        let mut queue = self.queue.lock();
        if self.is_abandoned() {
            return Some(result);
        }
        queue.put(link.user_data, result.into_inner());
        queue.end_limit(link);
        self.wake(queue);
        None
    }

    /// The same with an error, perhaps under the pool's lock.
    pub(crate) fn answer_error(&self, link: &Link<'_>, errno: Errno) {
        let mut queue = self.queue.lock();
        queue.put(link.user_data, Err(errno));
        queue.end_limit(link);
        self.wake(queue);
    }

    /// Completes an entry that was not begun before its time was over. False: its owner was told that it runs, so it has to.
    pub(crate) fn expire(&self, link: &Link<'_>) -> bool {
        let Some(limit) = link.limit else { return false };
        let mut queue = self.queue.lock();
        let is_open = queue.settle(limit.number);
        if is_open {
            queue.put(link.user_data, Err(Errno::ECANCELED));
            queue.put(limit.user_data, Err(Errno::ETIME));
        }
        self.wake(queue);
        is_open
    }

    /// A time limit begins. Its owner is woken, if he sleeps: he may have to wake earlier now.
    pub(crate) fn arm(&self, link: &mut Link<'_>) {
        if let Some(limit) = link.arm() {
            let mut queue = self.queue.lock();
            queue.armed.push(limit);
            let sleeps = queue.wanted > 0;
            drop(queue);
            if sleeps {
                self.woken.notify_one();
            }
        }
    }

    /// The time limits that are over.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<u64> {
        let queue = self.queue.lock();
        let is_over = |limit: &&Limit| limit.until().is_some_and(|until| until <= now);
        queue.armed.iter().filter(is_over).map(|limit| limit.number).collect()
    }

    /// A time limit is over whose entry runs: that cannot be stopped any more.
    pub(crate) fn let_run(&self, number: u64) {
        let mut queue = self.queue.lock();
        let limit = queue.armed.iter().find(|limit| limit.number == number).copied();
        if let Some(limit) = limit
            && queue.settle(number)
        {
            queue.put(limit.user_data, Err(Errno::EALREADY));
        }
    }

    /// Moves what workers have completed over to the owner.
    pub(crate) fn fetch(&self, done: &mut VecDeque<Completion>) {
        done.append(&mut self.queue.lock().done);
    }

    /// When the first of the time limits is over.
    pub(crate) fn next_limit(&self) -> Option<Instant> {
        self.queue.lock().armed.iter().filter_map(Limit::until).min()
    }

    /// Sleeps until so many are done, a time limit is over, or then; may wake for nothing.
    pub(crate) fn sleep(&self, wanted: usize, until: Option<Instant>) {
        let mut queue = self.queue.lock();
        if queue.done.len() >= wanted {
            return;
        }
        let limits = queue.armed.iter().filter_map(Limit::until);
        let until = limits.chain(until).min();
        queue.wanted = wanted;
        let (mut queue, _) = wait(&self.woken, queue, until);
        queue.wanted = 0;
    }

    /// The ring is gone: nothing more is begun for it, or kept for it.
    pub(crate) fn abandon(&self) {
        let _queue = self.queue.lock();
        self.abandoned.store(true, Ordering::Release);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}
