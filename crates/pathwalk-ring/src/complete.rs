//! The workers' side of a ring: the queue for their completions, and the time limits of their work.
//!
//! A time limit is settled once, by the thread that removes it from `armed` under the lock: the
//! worker whose entry has ended, or the owner of the ring that sees it expire.
//!
//! Always: a result that cannot be queued because the ring is gone is returned, and dropped after
//! the lock.

use std::collections::VecDeque;
use std::time::Instant;

use pathwalk::Errno;

use crate::chain::{Limit, LimitState, Link};
use crate::foreign::{Foreign, caught};
use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering, wait};
use crate::{Completion, Value};

/// The state shared by the owner of a ring and the workers that do its work.
pub(crate) struct Completions {
    /// The number by which the pool identifies the ring.
    pub(crate) owner: u64,
    queue: Mutex<Queue>,
    /// The owner sleeps on this.
    woken: Condvar,
    notify: Option<Foreign<Notify>>,
    /// Whether the owner will not look again. Stored under the lock of `queue`, and loaded under
    /// that lock before a completion is queued. It is also stored before the owner's work is
    /// withdrawn under the pool's lock, and loaded after that lock by a worker that took work
    /// later.
    abandoned: AtomicBool,
}

/// The function that is called when a worker has completed something.
pub(crate) type Notify = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Queue {
    done: VecDeque<Completion>,
    armed: Vec<Limit>,
    /// The number of completions for which the owner sleeps; 0 if it does not sleep.
    wanted: usize,
}

impl Queue {
    /// Removes a time limit. Returns whether it was still open.
    fn settle(&mut self, number: u64) -> bool {
        let at = self.armed.iter().position(|limit| limit.number == number);
        at.map(|at| self.armed.swap_remove(at)).is_some()
    }

    fn put(&mut self, user_data: u64, result: Result<Value, Errno>) {
        self.done.push_back(Completion::new(user_data, result));
    }

    /// Cancels the time limit of an entry that is completed, if it is still open.
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
        // If the owner does not sleep, no thread is woken.
        let enough = queue.done.len() >= queue.wanted;
        drop(queue);
        if enough {
            self.woken.notify_one();
        }
    }

    /// Calls the owner's function after a worker has completed something.
    fn notify(&self) {
        if let Some(notify) = &self.notify {
            _ = caught(&***notify);
        }
    }

    /// Completes an entry, as a worker.
    pub(crate) fn tell(&self, link: &Link<'_>, result: Foreign<Result<Value, Errno>>) {
        let unread = self.answer(link, result);
        drop(unread);
        self.notify();
    }

    /// Completes an entry as a worker if its time limit expired before it was begun. Returns
    /// whether it did.
    pub(crate) fn tell_expired(&self, link: &Link<'_>) -> bool {
        let is_expired = self.expire(link);
        if is_expired {
            self.notify();
        }
        is_expired
    }

    /// Completes an entry. Its time limit is cancelled, if it has one that has not expired. Returns
    /// the result if the ring is gone.
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

    /// Completes an entry with an error. May be called under the pool's lock.
    pub(crate) fn answer_error(&self, link: &Link<'_>, errno: Errno) {
        let mut queue = self.queue.lock();
        queue.put(link.user_data, Err(errno));
        queue.end_limit(link);
        self.wake(queue);
    }

    /// Completes an entry whose time limit expired before it was begun. Returns false if its owner
    /// was told that it runs, so that it has to run.
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

    /// Starts a time limit. Its owner is woken if it sleeps, because it may now have to wake
    /// earlier.
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

    /// Returns the time limits that have expired.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<u64> {
        let queue = self.queue.lock();
        let is_over = |limit: &&Limit| limit.until().is_some_and(|until| until <= now);
        queue.armed.iter().filter(is_over).map(|limit| limit.number).collect()
    }

    /// Completes a time limit that expired while its entry runs and can no longer be stopped.
    pub(crate) fn let_run(&self, number: u64) {
        let mut queue = self.queue.lock();
        let limit = queue.armed.iter().find(|limit| limit.number == number).copied();
        if let Some(limit) = limit
            && queue.settle(number)
        {
            queue.put(limit.user_data, Err(Errno::EALREADY));
        }
    }

    /// Moves the completions of workers over to the owner.
    pub(crate) fn fetch(&self, done: &mut VecDeque<Completion>) {
        done.append(&mut self.queue.lock().done);
    }

    /// Returns the instant at which the first time limit expires.
    pub(crate) fn next_limit(&self) -> Option<Instant> {
        self.queue.lock().armed.iter().filter_map(Limit::until).min()
    }

    /// Sleeps until `wanted` completions are queued, a time limit expires, or `until`. Spurious
    /// wake-ups are possible.
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

    /// Marks the ring as gone: nothing more is begun for it, or kept for it.
    pub(crate) fn abandon(&self) {
        let _queue = self.queue.lock();
        self.abandoned.store(true, Ordering::Release);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}
