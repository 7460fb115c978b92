//! The place of each piece of work of a pool.
//!
//! Work is in one place at a time: in the queue; parked behind work that asks the file system for
//! the same name; or taken by a worker, which leaves its tag behind. Taking it out decides between
//! cancelling and running.
//!
//! `idle` counts the workers that will look into the queue next: those asleep, woken or just
//! started. So a worker is started exactly when more work waits than they can take.
//!
//! Always: all of this runs under the pool's lock, so it drops nothing that is not of this crate.
//! What is taken out is returned.

use std::collections::{HashMap, VecDeque};

use pathwalk::{Cancellation, MissingName};

use crate::PoolStats;
use crate::punt::{Cut, Punted, Tag, Taken, Which, Work};
use crate::waiting::Running;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) queue: VecDeque<Punted>,
    /// The work that waits for the same name, by the name that is being looked up.
    asked: HashMap<MissingName, Vec<Box<dyn Work>>>,
    /// The work that workers have taken.
    running: Vec<Running>,
    /// The number of threads, without those that wait. It exceeds the bound for the
    /// moment after such a wait.
    pub(crate) workers: usize,
    /// The number of threads that wait for a lock or in a named pipe.
    waiting: usize,
    pub(crate) idle: usize,
    pub(crate) closed: bool,
}

/// The result of a search for work to be cancelled.
#[must_use = "what was cut is given up behind the lock"]
pub(crate) enum Search {
    Cut(Taken),
    /// It runs. Its waits are to be cancelled behind the lock, if it may have some.
    Running(Option<Cancellation>),
    Nowhere,
}

/// The duty of the thread that brought work, once the lock is released.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    Wake,
    Start,
}

impl State {
    /// Puts work into its place.
    pub(crate) fn place(&mut self, punted: Punted, max: usize) -> Then {
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
        self.one_more(max)
    }

    /// Counts a thread that the caller starts, if there may be one more.
    fn one_more(&mut self, max: usize) -> Then {
        if self.workers >= max {
            return Then::Nothing;
        }
        self.workers += 1;
        self.idle += 1;
        Then::Start
    }

    /// Uncounts a worker that begins to wait. Other work may need a thread in its place.
    pub(crate) fn wait_begins(&mut self, max: usize) -> Then {
        self.workers -= 1;
        self.waiting += 1;
        if self.idle >= self.queue.len() { Then::Nothing } else { self.one_more(max) }
    }

    /// Counts a worker that has waited.
    pub(crate) fn wait_ends(&mut self) {
        self.workers += 1;
        self.waiting -= 1;
    }

    /// Returns whether there is no work, and no worker is about to look for some.
    #[cfg(test)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_empty() && self.idle == self.workers
    }

    /// Returns whether no work waits, and none runs.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.asked.is_empty() && self.running.is_empty()
    }

    /// Returns the next work for a worker, which is then no longer idle. Its waits are those of the
    /// cancellation.
    pub(crate) fn take(&mut self, waits: impl FnOnce() -> Cancellation) -> Option<(Punted, Cancellation)> {
        let punted = self.queue.pop_front()?;
        self.idle -= 1;
        let waits = waits();
        self.running.push(Running::begun(punted.work.tag().clone(), waits.clone()));
        Some((punted, waits))
    }

    /// Ends work that was taken, or is put back.
    pub(crate) fn end(&mut self, tag: &Tag) {
        if let Some(at) = self.running.iter().position(|running| running.tag.is(tag)) {
            self.running.swap_remove(at);
        }
    }

    /// Returns the work that waited for a name that was being looked up, as taken by the calling
    /// thread.
    pub(crate) fn release(&mut self, name: MissingName) -> Vec<Box<dyn Work>> {
        let parked = self.asked.remove(&name).unwrap_or_default();
        self.running.extend(parked.iter().map(|work| Running::tried(work.tag().clone())));
        parked
    }

    /// Uncounts a thread that could not be started. If there is no other, returns the work that
    /// waits, which the caller completes after the lock.
    pub(crate) fn not_started(&mut self) -> Vec<Box<dyn Work>> {
        self.workers -= 1;
        self.idle -= 1;
        if self.workers > 0 {
            return Vec::new();
        }
        let queued = self.queue.drain(..).map(|punted| punted.work);
        queued.chain(self.asked.drain().flat_map(|(_, parked)| parked)).collect()
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let parked = self.asked.values().map(Vec::len).sum();
        PoolStats { workers: self.workers, idle: self.idle, queued: self.queue.len(), parked, waiting: self.waiting }
    }

    /// Takes out all work of one owner that is not begun. Returns also what ends the waits of the
    /// rest.
    pub(crate) fn withdraw(&mut self, owner: u64) -> (Vec<Taken>, Vec<Cancellation>) {
        let taken = std::iter::from_fn(|| match self.cancel(owner, Which::All) {
            Search::Cut(taken) => Some(taken),
            Search::Running(_) | Search::Nowhere => None,
        });
        let taken = taken.collect();
        let running = self.running.iter().filter(|running| running.tag.owner == owner);
        (taken, running.filter_map(|running| running.waits_of(Which::All).cloned()).collect())
    }

    pub(crate) fn cancel(&mut self, owner: u64, which: Which) -> Search {
        for at in 0..self.queue.len() {
            let work = &mut self.queue[at].work;
            if work.tag().owner != owner {
                continue;
            }
            match work.cut(which) {
                Cut::Nothing => {}
                Cut::Part(ops) => return Search::Cut(Taken::Part(ops)),
                Cut::Whole => return Search::Cut(Taken::Whole(self.take_out(at))),
            }
        }
        for parked in self.asked.values_mut() {
            for at in 0..parked.len() {
                if parked[at].tag().owner != owner {
                    continue;
                }
                match parked[at].cut(which) {
                    Cut::Nothing => {}
                    Cut::Part(ops) => return Search::Cut(Taken::Part(ops)),
                    Cut::Whole => return Search::Cut(Taken::Whole(parked.remove(at))),
                }
            }
        }
        let running = self.running.iter().find(|running| running.tag.owner == owner && running.tag.has(which));
        running.map_or(Search::Nowhere, |running| Search::Running(running.waits_of(which).cloned()))
    }

    /// Takes work out of the queue at this position. If other work waits for the name that it would
    /// have looked up, one piece of that takes its place.
    fn take_out(&mut self, at: usize) -> Box<dyn Work> {
        let heir = self.queue[at].missing.and_then(|name| self.heir(name));
        match heir {
            Some(heir) => std::mem::replace(&mut self.queue[at].work, heir),
            None => self.queue.remove(at).expect("it is there").work,
        }
    }

    /// Returns one piece of the work that waits for a name. If there is none, the name is no longer
    /// marked as being looked up.
    fn heir(&mut self, name: MissingName) -> Option<Box<dyn Work>> {
        let parked = self.asked.get_mut(&name)?;
        if parked.is_empty() {
            self.asked.remove(&name);
            return None;
        }
        Some(parked.remove(0))
    }
}
