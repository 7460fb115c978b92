//! The workers: threads that may wait, as many as there is something to wait for, up to a bound.
//!
//! One lock guards all of it. Work is in one place at a time: in the queue; parked behind work that asks the file system for the same name; or
//! taken by a worker, who leaves its tag behind. Taking it out is what decides between cancelling and running.
//!
//! `idle` counts the workers that will look into the queue next: those asleep, woken or just started. So a worker is started exactly when more
//! waits than they can take.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use pathwalk::{Errno, MissingName};

use crate::punt::{Cut, Punted, Tag, Which, Work};
use crate::sync::{Condvar, Mutex, MutexGuard, spawn};
use crate::worker;

/// Threads that do what the caches cannot answer. Clones share them; rings and async contexts may. When the last clone is dropped, what is begun is
/// finished and the threads end; dropping never waits for them. Source: io-wq, the bounded workers of `io_uring`.
///
/// Threads are started when something waits and none is idle, at most [`workers`](PoolBuilder::workers) of them, and end after having been idle for
/// [`idle`](PoolBuilder::idle). Where no thread can be had at all, what waits completes with the errno of that (`EAGAIN`).
#[derive(Clone)]
pub struct Pool(Arc<Handle>);

/// What all clones of a pool share; the threads have the inside only.
struct Handle(Arc<Shared>);

/// How a [`Pool`] is made.
#[derive(Clone, Copy, Debug)]
pub struct PoolBuilder {
    workers: usize,
    idle: Duration,
}

/// What the workers of a pool are about just now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// Threads.
    pub workers: usize,
    /// Those of them that have nothing to do.
    pub idle: usize,
    /// Work that waits for a thread.
    pub queued: usize,
    /// Work that waits for somebody else's answer about the same name.
    pub parked: usize,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something is in the queue, or the pool is closed.
    some: Condvar,
    max: usize,
    pub(crate) idle_time: Duration,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) queue: VecDeque<Punted>,
    /// By the name that somebody asks for: those who wait for the same.
    asked: HashMap<MissingName, Vec<Box<dyn Work>>>,
    /// What workers have taken.
    running: Vec<Tag>,
    pub(crate) workers: usize,
    pub(crate) idle: usize,
    pub(crate) closed: bool,
}

/// What became of what was to be cancelled.
pub(crate) enum Found {
    /// It was cut; what is empty now is to be dropped, outside of all locks.
    Cut(Option<Box<dyn Work>>),
    Running,
    Nowhere,
}

/// What somebody who brought work has to do once the lock is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Nothing,
    Wake,
    Start,
}

impl Pool {
    /// How one is made: by default with four workers a processor, idle for five seconds at most.
    pub fn builder() -> PoolBuilder {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        PoolBuilder { workers: 4 * processors, idle: Duration::from_secs(5) }
    }

    /// What the workers do just now.
    pub fn stats(&self) -> PoolStats {
        let state = self.shared().lock();
        let parked = state.asked.values().map(Vec::len).sum();
        PoolStats { workers: state.workers, idle: state.idle, queued: state.queue.len(), parked }
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

    /// Cancels what is not begun, of one owner.
    pub(crate) fn cancel(&self, owner: u64, which: Which) -> Found {
        self.shared().lock().cancel(owner, which)
    }

    /// Takes all work of one owner out, to be dropped.
    pub(crate) fn withdraw(&self, owner: u64) -> Vec<Box<dyn Work>> {
        let mut state = self.shared().lock();
        std::iter::from_fn(|| match state.cancel(owner, Which::All) {
            Found::Cut(work) => work,
            Found::Running | Found::Nowhere => None,
        })
        .collect()
    }
}

impl PoolBuilder {
    /// The most threads there can be, at least 1. More than this many calls that wait for a file system at once have to wait for each other.
    #[must_use]
    pub fn workers(self, workers: usize) -> PoolBuilder {
        PoolBuilder { workers: workers.max(1), ..self }
    }

    /// How long a thread stays that has nothing to do.
    #[must_use]
    pub fn idle(self, idle: Duration) -> PoolBuilder {
        PoolBuilder { idle, ..self }
    }

    /// A pool, without threads until something waits.
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

    fn then(self: &Arc<Self>, then: Then) {
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

    /// A thread could not be started: if there is none at all, nobody would ever do what waits.
    fn not_started(&self, errno: Errno) {
        let mut waiting = Vec::new();
        {
            let mut state = self.lock();
            state.workers -= 1;
            state.idle -= 1;
            if state.workers == 0 {
                waiting.extend(state.queue.drain(..).map(|punted| punted.work));
                waiting.extend(state.asked.drain().flat_map(|(_, parked)| parked));
            }
        }
        waiting.into_iter().for_each(|work| work.fail(errno));
    }
}

impl State {
    /// Puts work where it belongs.
    fn place(&mut self, punted: Punted, max: usize) -> Then {
        if let Some(name) = punted.missing {
            if let Some(parked) = self.asked.get_mut(&name) {
                parked.push(punted.work);
                return Then::Nothing;
            }
            self.asked.insert(name, Vec::new());
        }
        self.queue.push_back(punted);
        if self.idle >= self.queue.len() {
            return Then::Wake;
        }
        if self.workers == max {
            return Then::Nothing;
        }
        self.workers += 1;
        self.idle += 1;
        Then::Start
    }

    /// Whether nothing waits, and nothing runs.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.asked.is_empty() && self.running.is_empty()
    }

    /// The next work for a worker, who is idle no more.
    pub(crate) fn take(&mut self) -> Option<Punted> {
        let punted = self.queue.pop_front()?;
        self.idle -= 1;
        self.running.push(punted.work.tag().clone());
        Some(punted)
    }

    /// What was taken has ended, or is put back.
    pub(crate) fn end(&mut self, tag: &Tag) {
        if let Some(at) = self.running.iter().position(|running| running.is(tag)) {
            self.running.swap_remove(at);
        }
    }

    /// Those who waited for a name that somebody was asking for: taken by whoever did that.
    pub(crate) fn release(&mut self, name: MissingName) -> Vec<Box<dyn Work>> {
        let parked = self.asked.remove(&name).unwrap_or_default();
        self.running.extend(parked.iter().map(|work| work.tag().clone()));
        parked
    }

    fn cancel(&mut self, owner: u64, which: Which) -> Found {
        for at in 0..self.queue.len() {
            let work = &mut self.queue[at].work;
            if work.tag().owner != owner {
                continue;
            }
            match work.cut(which) {
                Cut::Nothing => {}
                Cut::Part => return Found::Cut(None),
                Cut::Whole => return Found::Cut(self.take_out(at)),
            }
        }
        for parked in self.asked.values_mut() {
            for at in 0..parked.len() {
                if parked[at].tag().owner != owner {
                    continue;
                }
                match parked[at].cut(which) {
                    Cut::Nothing => {}
                    Cut::Part => return Found::Cut(None),
                    Cut::Whole => return Found::Cut(Some(parked.remove(at))),
                }
            }
        }
        let is_running = self.running.iter().any(|tag| tag.owner == owner && tag.has(which));
        if is_running { Found::Running } else { Found::Nowhere }
    }

    /// Takes work out of the queue. If others wait for the name that it was going to ask for, one of them takes its place.
    fn take_out(&mut self, at: usize) -> Option<Box<dyn Work>> {
        let punted = &mut self.queue[at];
        let heir = punted.missing.and_then(|name| {
            let parked = self.asked.get_mut(&name).filter(|parked| !parked.is_empty());
            if parked.is_none() {
                self.asked.remove(&name);
                return None;
            }
            parked.map(|parked| parked.remove(0))
        });
        match heir {
            Some(heir) => Some(std::mem::replace(&mut punted.work, heir)),
            None => self.queue.remove(at).map(|punted| punted.work),
        }
    }
}
