//! All subscriptions of a `Vfs`, and which of them an event concerns.

use std::sync::Arc;

use super::event::{Event, Invalidated};
use super::queue::Queue;
use crate::attr::FileType;
use crate::cache::Caches;
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The subscriptions.
#[derive(Default)]
pub(crate) struct Hub {
    /// The number of subscriptions. `Relaxed`: a thread that begins a change after a subscription
    /// was made, by whatever tells it so, sees that there is one.
    count: AtomicU32,
    /// The number of moves so far that were told. `Relaxed`: it is only a number.
    moves: AtomicU32,
    queues: Mutex<Arc<Vec<Arc<Queue>>>>,
}

/// A name in a directory, or the directory itself without one.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) dir: DentryId,
    pub(crate) name: &'a [u8],
}

/// A change that was just made.
#[derive(Clone, Copy)]
pub(crate) enum Change<'a> {
    Created(Spot<'a>, FileType),
    Removed(Spot<'a>, FileType),
    Renamed(Spot<'a>, Spot<'a>, FileType),
    Attributes(Spot<'a>, FileType),
    Content(Spot<'a>),
    Invalidated(Spot<'a>, Invalidated),
}

impl Hub {
    /// Returns whether there are subscriptions.
    #[inline(always)]
    pub(crate) fn is_heard(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn add(&self, queue: Arc<Queue>) {
        let mut queues = self.queues.lock();
        let all = queues.iter().cloned().chain([queue]).collect();
        *queues = Arc::new(all);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, queue: &Arc<Queue>) {
        let mut queues = self.queues.lock();
        let others = queues.iter().filter(|other| !Arc::ptr_eq(other, queue)).cloned().collect();
        *queues = Arc::new(others);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    fn all(&self) -> Arc<Vec<Arc<Queue>>> {
        self.queues.lock().clone()
    }

    /// Puts a change into the queues of the subscriptions that it concerns. The caller has pins on
    /// its directories, and holds what orders the change; it does not stop moves of directories.
    #[cold]
    pub(crate) fn tell(&self, caches: &Caches, change: &Change<'_>) {
        let cookie = match change {
            Change::Renamed(..) => self.moves.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        for queue in self.all().iter() {
            if let Some(event) = event_for(caches, queue.top, change, cookie) {
                queue.put(event);
            }
        }
    }

    /// Puts into all queues of a file system that anything may have changed. `is_of_it` says of a
    /// directory whether it is in that file system.
    #[cold]
    pub(crate) fn tell_all(&self, is_of_it: impl Fn(DentryId) -> bool) {
        for queue in self.all().iter().filter(|queue| is_of_it(queue.top)) {
            queue.put(Event::Invalidated { path: Box::default(), what: Invalidated::Below });
        }
    }
}

/// Returns the event that a change is for a subscription to what is below `top`.
fn event_for(caches: &Caches, top: DentryId, change: &Change<'_>, cookie: u32) -> Option<Event> {
    let path = |spot: Spot<'_>| {
        let mut path = caches.names_below(spot.dir, top)?;
        if !path.is_empty() && !spot.name.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(spot.name);
        Some(path.into_boxed_slice())
    };
    Some(match *change {
        Change::Created(spot, kind) => Event::Created { path: path(spot)?, kind },
        Change::Removed(spot, kind) => Event::Removed { path: path(spot)?, kind },
        Change::Renamed(from, to, kind) => match (path(from), path(to)) {
            (None, None) => return None,
            (from, to) => Event::Renamed { from, to, kind, cookie },
        },
        Change::Attributes(spot, kind) => Event::Attributes { path: path(spot)?, kind },
        Change::Content(spot) => Event::Content { path: path(spot)? },
        Change::Invalidated(spot, what) => match path(spot) {
            Some(path) => Event::Invalidated { path, what },
            // What may have changed below a directory above concerns all that is below.
            None if what == Invalidated::Below && caches.names_below(top, spot.dir).is_some() => {
                Event::Invalidated { path: Box::default(), what }
            }
            None => return None,
        },
    })
}
