//! All subscriptions of a `Vfs`, and which of them an event concerns.

use std::cell::Cell;
use std::sync::Arc;

use super::event::{Event, Invalidated};
use super::node_event::NodeEvent;
use super::queue::Queue;
use crate::attr::FileType;
use crate::cache::Caches;
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Mutex, Ordering, thread_local};

thread_local! {
    /// The address of the queue that is not told of changes by this thread, or 0.
    static UNHEARD: Cell<usize> = Cell::new(0);
}

/// The subscriptions.
#[derive(Default)]
pub(crate) struct Hub {
    /// The number of subscriptions. `Relaxed`: a thread that begins a change after a subscription
    /// was made, by whatever tells it so, sees that there is one.
    count: AtomicU32,
    /// The number of moves so far that were told. `Relaxed`: it is only a number.
    moves: AtomicU32,
    queues: Mutex<Arc<Vec<Below>>>,
    /// The queues of subscriptions by node.
    of_nodes: Mutex<Arc<Vec<Arc<Queue<NodeEvent>>>>>,
}

/// A subscription to what is below a directory.
#[derive(Clone)]
pub(crate) struct Below {
    /// The directory. The subscription keeps it pinned.
    pub(crate) top: DentryId,
    pub(crate) queue: Arc<Queue<Event>>,
}

/// The maker of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// The thread that tells of it.
    Caller,
    /// Something outside the `Vfs`.
    Outside,
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

    pub(crate) fn add(&self, subscription: Below) {
        added(&self.queues, subscription);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, queue: &Arc<Queue<Event>>) {
        removed(&self.queues, |other| !Arc::ptr_eq(&other.queue, queue));
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn add_of_nodes(&self, queue: Arc<Queue<NodeEvent>>) {
        added(&self.of_nodes, queue);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_of_nodes(&self, queue: &Arc<Queue<NodeEvent>>) {
        removed(&self.of_nodes, |other| !Arc::ptr_eq(other, queue));
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    fn all(&self) -> Arc<Vec<Below>> {
        self.queues.lock().clone()
    }

    /// Puts an event into the queues of all subscriptions by node, but for the one that is not to
    /// hear the calling thread.
    #[cold]
    pub(crate) fn tell_of_nodes(&self, event: &NodeEvent, maker: Maker) {
        let queues = self.of_nodes.lock().clone();
        let unheard = if maker == Maker::Caller { UNHEARD.with(Cell::get) } else { 0 };
        queues.iter().filter(|queue| Arc::as_ptr(queue) as usize != unheard).for_each(|queue| queue.put(event.clone()));
    }

    /// Puts a change into the queues of the subscriptions that it concerns. The caller has pins on
    /// its directories, and holds what orders the change; it does not stop moves of directories.
    #[cold]
    pub(crate) fn tell(&self, caches: &Caches, change: &Change<'_>) {
        let cookie = match change {
            Change::Renamed(..) => self.moves.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        for below in self.all().iter() {
            if let Some(event) = event_for(caches, below.top, change, cookie) {
                below.queue.put(event);
            }
        }
    }

    /// Puts into all queues of a file system that anything may have changed. `is_of_it` says of a
    /// directory whether it is in that file system.
    #[cold]
    pub(crate) fn tell_all(&self, is_of_it: impl Fn(DentryId) -> bool) {
        for below in self.all().iter().filter(|below| is_of_it(below.top)) {
            below.queue.put(Event::Invalidated { path: Box::default(), what: Invalidated::Below });
        }
    }
}

fn added<T: Clone>(list: &Mutex<Arc<Vec<T>>>, new: T) {
    let mut list = list.lock();
    *list = Arc::new(list.iter().cloned().chain([new]).collect());
}

fn removed<T: Clone>(list: &Mutex<Arc<Vec<T>>>, stays: impl Fn(&T) -> bool) {
    let mut list = list.lock();
    *list = Arc::new(list.iter().filter(|other| stays(other)).cloned().collect());
}

/// Calls `what`, of whose changes by this thread a queue is not told.
pub(crate) fn unheard_by<T>(queue: &Arc<Queue<NodeEvent>>, what: impl FnOnce() -> T) -> T {
    struct Back(usize);
    impl Drop for Back {
        fn drop(&mut self) {
            UNHEARD.with(|unheard| unheard.set(self.0));
        }
    }
    let _back = Back(UNHEARD.with(|unheard| unheard.replace(Arc::as_ptr(queue) as usize)));
    what()
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
