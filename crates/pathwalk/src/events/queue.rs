//! The events of one subscription.

use std::collections::VecDeque;
use std::sync::Arc;

use super::event::Event;
use super::node_event::NodeEvent;
use crate::Errno;
use crate::cancellation::{Sleeper, Wake};
use crate::sync::{Condvar, Mutex, wait};

/// An event that may be lost.
pub(crate) trait Loses: PartialEq + Send {
    /// Returns the mark that takes the place of lost events.
    fn lost() -> Self;
}

impl Loses for Event {
    fn lost() -> Event {
        Event::Overflow
    }
}

impl Loses for NodeEvent {
    fn lost() -> NodeEvent {
        NodeEvent::Anything
    }
}

/// The queue of one subscription.
pub(crate) struct Queue<E> {
    /// The largest number of events in it, but for a mark of lost ones.
    capacity: usize,
    /// The events, the oldest first. Nothing else is locked while this is, and nothing is called.
    events: Mutex<VecDeque<E>>,
    /// The threads that wait for an event.
    waiting: Condvar,
}

/// A wait for an event that can be cancelled.
struct Waits<E>(Arc<Queue<E>>);

impl<E: Loses> Wake for Waits<E> {
    fn wake(&self) {
        // A thread that has looked at its cancellation, and does not sleep yet, has the lock.
        drop(self.0.events.lock());
        self.0.waiting.notify_all();
    }
}

impl<E: Loses + 'static> Queue<E> {
    pub(crate) fn new(capacity: usize) -> Queue<E> {
        Queue { capacity, events: Mutex::new(VecDeque::new()), waiting: Condvar::new() }
    }

    /// Appends an event, unless it is the same as the last one. If there is no room, appends the
    /// mark of lost events, unless that is the last one.
    pub(super) fn put(&self, event: E) {
        let mut events = self.events.lock();
        let event = if events.len() < self.capacity { event } else { E::lost() };
        let merges = events.back() == Some(&event);
        if !merges {
            events.push_back(event);
            drop(events);
            // A thread that waits may leave the event to another one.
            self.waiting.notify_all();
        }
    }

    /// Takes the oldest event.
    pub(crate) fn take(&self) -> Option<E> {
        self.events.lock().pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.lock().is_empty()
    }

    /// Takes the oldest event, or waits for one. `ECANCELED`.
    pub(crate) fn next(self: &Arc<Queue<E>>) -> Result<E, Errno> {
        self.wait_until(VecDeque::pop_front)
    }

    /// Waits until there is an event. `ECANCELED`.
    pub(crate) fn wait(self: &Arc<Queue<E>>) -> Result<(), Errno> {
        self.wait_until(|events| events.front().map(|_| ()))
    }

    fn wait_until<T>(self: &Arc<Queue<E>>, look: impl Fn(&mut VecDeque<E>) -> Option<T>) -> Result<T, Errno> {
        let mut sleeper = Sleeper::default();
        loop {
            let mut events = self.events.lock();
            if let Some(seen) = look(&mut events) {
                return Ok(seen);
            }
            if sleeper.has_begun() {
                sleeper.go_on()?;
                drop(wait(&self.waiting, events));
            } else {
                drop(events);
                sleeper.begin(Waits(self.clone()))?;
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn content(path: &str) -> Event {
        Event::Content { path: path.as_bytes().into() }
    }

    #[test]
    fn what_does_not_fit_leaves_one_mark_where_it_was_lost() {
        let queue = Queue::new(2);
        ["a", "b", "c", "d"].iter().for_each(|path| queue.put(content(path)));
        assert_eq!(queue.take(), Some(content("a")));
        // Two are left, so there is no room yet.
        queue.put(content("e"));
        assert_eq!(queue.take(), Some(content("b")));
        queue.put(content("f"));
        queue.put(content("g"));
        let rest: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(rest, [Event::Overflow, content("f"), Event::Overflow]);
    }

    #[test]
    fn an_event_that_is_the_last_one_again_is_not_repeated() {
        let queue = Queue::new(9);
        ["a", "a", "b", "a", "a"].iter().for_each(|path| queue.put(content(path)));
        let all: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(all, ["a", "b", "a"].map(content));
    }
}
