//! The reports of the base, passed on to the caches of the branches.
//!
//! The `Vfs` of the base puts what changed into a queue, in the order of the changes. A thread
//! takes it from there, and tells each branch of what it shows of the base: names that it has no
//! entry of, and attributes and data of nodes that it has not copied. With
//! [`BaseChanges::AskEachTime`] there is nothing to tell, and no thread.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use pathwalk::{Cancellation, Errno, Name, NodeEvent, NodeKey, NodeSubscription};

use crate::base::Base;
use crate::branch::Inner;
use crate::options::BaseChanges;

/// The number of events that wait for the thread. If there are more, all is asked for again.
const CAPACITY: usize = 1 << 16;

/// What passes the reports on. Its end ends the thread.
pub(crate) struct Pump(Option<Running>);

struct Running {
    queue: Arc<Queue>,
    end: Cancellation,
}

struct Queue {
    events: NodeSubscription,
    /// All branches that are in use, those that were dropped from the list included.
    branches: Mutex<Vec<Weak<Inner>>>,
    /// Held while events are taken and passed on, so that no thread overtakes another.
    passing: Mutex<()>,
}

impl Pump {
    pub(crate) fn new(base: &Base, changes: BaseChanges) -> Result<Pump, Errno> {
        if changes == BaseChanges::AskEachTime {
            return Ok(Pump(None));
        }
        let events = base.context().vfs().subscribe_nodes(CAPACITY);
        let queue = Arc::new(Queue { events, branches: Mutex::default(), passing: Mutex::default() });
        let end = Cancellation::new();
        let (of_thread, until) = (Arc::clone(&queue), end.clone());
        let run = move || {
            until.during(|| {
                while of_thread.events.wait().is_ok() {
                    of_thread.pass_all();
                }
            })
        };
        std::thread::Builder::new().name("branch events".into()).spawn(run).map_err(|_| Errno::EAGAIN)?;
        Ok(Pump(Some(Running { queue, end })))
    }

    /// Adds a branch that is told.
    pub(crate) fn add(&self, branch: &Arc<Inner>) {
        if let Some(running) = &self.0 {
            let mut branches = running.queue.branches.lock();
            branches.retain(|branch| branch.strong_count() > 0);
            branches.push(Arc::downgrade(branch));
        }
    }

    /// Passes on what the base has reported by now.
    pub(crate) fn catch_up(&self) {
        if let Some(running) = &self.0 {
            running.queue.pass_all();
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if let Some(running) = &self.0 {
            running.end.cancel();
        }
    }
}

impl Queue {
    fn pass_all(&self) {
        let _passing = self.passing.lock();
        while let Some(event) = self.events.try_next() {
            // A branch whose last use ends here must not end under the lock.
            let branches: Vec<Arc<Inner>> = self.branches.lock().iter().filter_map(Weak::upgrade).collect();
            branches.iter().for_each(|branch| branch.tell(&event));
        }
    }
}

impl Inner {
    /// Reports a change of the base to the caches, as far as the branch shows it.
    fn tell(&self, event: &NodeEvent) {
        match event {
            NodeEvent::Name { directory, name, .. } => {
                if let Some(dir) = self.shows_name(*directory, name)
                    && let Ok(name) = Name::new(name)
                {
                    self.notify(|notifier| notifier.invalidate_name(NodeKey(dir.into()), name));
                }
            }
            NodeEvent::Attributes(node) => {
                if let Some(number) = self.shows_node(*node) {
                    self.notify(|notifier| notifier.invalidate_attributes(NodeKey(number.into())));
                }
            }
            NodeEvent::Data(node) => {
                if let Some(number) = self.shows_node(*node) {
                    self.notify(|notifier| notifier.invalidate_data(NodeKey(number.into())));
                }
            }
            NodeEvent::Names(node) => {
                if let Some(number) = self.held_for(*node) {
                    self.notify(|notifier| notifier.invalidate_node(NodeKey(number.into())));
                }
            }
            // Something was mounted, or anything may have changed.
            _ => self.notify(pathwalk::Notifier::invalidate_all),
        }
    }
}
