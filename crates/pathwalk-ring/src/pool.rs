//! The workers: threads that may wait, as many as there are calls to wait for, up to a bound.
//!
//! One lock guards the place of each piece of work: see `state`. Always: what is taken out under
//! that lock is given up after it, and a drop that may block becomes work itself.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::{Cancellation, Errno, Vfs};

use crate::closing::Closing;
use crate::punt::{Punted, Taken, Which};
use crate::state::{Search, State, Then};
use crate::sync::{Condvar, Mutex, MutexGuard, spawn};
use crate::worker;

/// Threads that do what the caches cannot answer. Clones share them; rings and async contexts may.
/// When the last clone is dropped, work that was begun is finished and the threads end; dropping
/// never waits for them. Source: io-wq, the bounded workers of `io_uring`.
///
/// Threads are started when work waits and none is idle, at most [`workers`](PoolBuilder::workers)
/// of them, and end after having been idle for [`idle`](PoolBuilder::idle). If no thread can be
/// started at all, the waiting work completes with the errno of that failure (`EAGAIN`).
///
/// ```
/// use std::time::Duration;
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_ring::{AsyncContext, Pool, Ring};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// // At most four threads for all that waits, of both faces.
/// let pool = Pool::builder().workers(4).idle(Duration::from_secs(1)).build();
/// let ring = Ring::builder(context.clone()).pool(pool.clone()).build();
/// let context = AsyncContext::new(context, pool.clone());
/// assert_eq!(pool.stats().workers, 0, "no thread is started before work waits");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Handle>);

/// The data that all clones of a pool share. The threads have the inside only.
struct Handle(Arc<Shared>);

/// The configuration of a [`Pool`] to be built.
///
/// [`Pool`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct PoolBuilder {
    workers: usize,
    idle: Duration,
}

/// The current state of the workers of a pool.
///
/// [`Pool`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// The number of threads, without those that are `waiting`.
    pub workers: usize,
    /// The number of threads that have nothing to do.
    pub idle: usize,
    /// The number of pieces of work that wait for a thread.
    pub queued: usize,
    /// The number of pieces of work that wait for another one's answer about the same name.
    pub parked: usize,
    /// The number of threads that wait for a lock, or in a named pipe for the other end, for data
    /// or for room. Other threads are started in their place, so they are not bounded.
    pub waiting: usize,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// The workers sleep on this until work is queued or the pool is closed.
    some: Condvar,
    max: usize,
    pub(crate) idle_time: Duration,
}

/// The result of a search for work to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Cut,
    Running,
    Nowhere,
}

impl Pool {
    /// Creates a builder: by default with four workers a processor, idle for five seconds at most.
    pub fn builder() -> PoolBuilder {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        PoolBuilder { workers: 4 * processors, idle: Duration::from_secs(5) }
    }

    /// Returns the current state of the workers.
    pub fn stats(&self) -> PoolStats {
        self.shared().lock().stats()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }

    /// Takes work in, in this order.
    pub(crate) fn take_in(&self, punted: impl IntoIterator<Item = Punted>) {
        let shared = self.shared();
        let (mut wake, mut start) = (0, 0);
        {
            let mut state = shared.lock();
            for punted in punted {
                match state.place(punted, shared.max) {
                    Then::Nothing => {}
                    Then::Wake => wake += 1,
                    Then::Start => start += 1,
                }
            }
        }
        (0..wake).for_each(|_| shared.then(Then::Wake));
        (0..start).for_each(|_| shared.then(Then::Start));
    }

    /// Has a worker drop these files, which are of this `Vfs`.
    pub(crate) fn close(&self, closing: Closing, vfs: &Vfs) {
        if !closing.is_empty() {
            self.take_in([closing.into_work(vfs)]);
        }
    }

    /// Cancels work of one owner that is not begun, and is about this `Vfs`.
    pub(crate) fn cancel(&self, owner: u64, which: Which, vfs: &Vfs) -> Found {
        let found = self.shared().lock().cancel(owner, which);
        match found {
            Search::Cut(taken) => {
                self.give_up([taken], vfs);
                Found::Cut
            }
            Search::Running(waits) => {
                waits.iter().for_each(Cancellation::cancel);
                Found::Running
            }
            Search::Nowhere => Found::Nowhere,
        }
    }

    /// Drops all work of one owner that is not begun, and ends the waits of what is.
    pub(crate) fn withdraw(&self, owner: u64, vfs: &Vfs) {
        let (taken, waits) = self.shared().lock().withdraw(owner);
        waits.iter().for_each(Cancellation::cancel);
        self.give_up(taken, vfs);
    }

    fn give_up(&self, taken: impl IntoIterator<Item = Taken>, vfs: &Vfs) {
        let mut closing = Closing::default();
        taken.into_iter().for_each(|taken| closing.ops(taken.into_ops(), vfs));
        self.close(closing, vfs);
    }
}

impl PoolBuilder {
    /// Sets the maximum number of threads, at least 1. If more calls than that wait for a file
    /// system at once, some wait for others. A thread that waits for a lock or in a named pipe does
    /// not count.
    ///
    /// [`Pool`] has an example.
    #[must_use]
    pub fn workers(self, workers: usize) -> PoolBuilder {
        PoolBuilder { workers: workers.max(1), ..self }
    }

    /// Sets how long a thread without work stays.
    ///
    /// [`Pool`] has an example.
    #[must_use]
    pub fn idle(self, idle: Duration) -> PoolBuilder {
        PoolBuilder { idle, ..self }
    }

    /// Builds a pool, without threads until work waits.
    ///
    /// [`Pool`] has an example.
    pub fn build(self) -> Pool {
        let (state, some) = (Mutex::new(State::default()), Condvar::new());
        Pool(Arc::new(Handle(Arc::new(Shared { state, some, max: self.workers, idle_time: self.idle }))))
    }
}

impl Default for Pool {
    fn default() -> Pool {
        Pool::builder().build()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.some.notify_all();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({:?})", self.stats())
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn some(&self) -> &Condvar {
        &self.some
    }

    /// Takes work back that a worker had taken to try it again.
    pub(crate) fn put_back(self: &Arc<Self>, punted: Punted) {
        let then = {
            let mut state = self.lock();
            state.end(punted.work.tag());
            state.place(punted, self.max)
        };
        self.then(then);
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn then(self: &Arc<Self>, then: Then) {
        match then {
            Then::Nothing => {}
            Then::Wake => _ = self.some.notify_one(),
            Then::Start => {
                let shared = self.clone();
                if let Err(error) = spawn(move || worker::work(&shared)) {
                    self.not_started(Errno::from(&error));
                }
            }
        }
    }

    /// Handles a thread that could not be started: if there is no other, the waiting work would
    /// never be done, so it fails.
    fn not_started(&self, errno: Errno) {
        let waiting = self.lock().not_started();
        waiting.into_iter().for_each(|work| work.fail(errno));
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_four_workers_a_processor_by_default() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Pool::default();
        assert_eq!((pool.shared().max, pool.shared().idle_time), (4 * processors, Duration::from_secs(5)));
    }

    /// Calls the methods in both orders.
    #[test]
    fn each_part_of_a_builder_keeps_the_others() {
        let idle = Duration::from_nanos(7);
        for builder in [Pool::builder().workers(3).idle(idle), Pool::builder().idle(idle).workers(3)] {
            let pool = builder.build();
            assert_eq!((pool.shared().max, pool.shared().idle_time), (3, idle));
        }
        assert_eq!(Pool::builder().workers(0).build().shared().max, 1);
    }
}
