//! Waits for a lock or in a named pipe: they may last for long, so they take no worker from
//! other work, and they can be ended.
//!
//! Always: a thread that waits is not counted among the workers, so another one may be started in
//! its place. Linux: workers of io-wq for what is no regular file are unbounded.

use std::sync::{Arc, Weak};

use pathwalk::{Cancellation, WaitObserver};

use crate::pool::Shared;
use crate::punt::{Ids, Tag, Which};

/// Work that a worker has taken.
pub(crate) struct Running {
    pub(crate) tag: Tag,
    /// The end of its waits; `None` if it waits for nothing.
    waits: Option<Cancellation>,
}

impl Running {
    /// Creates an entry for work that is about to be tried again, which does not wait.
    pub(crate) fn tried(tag: Tag) -> Running {
        Running { tag, waits: None }
    }

    /// Creates an entry for work whose waits are those of the cancellation.
    pub(crate) fn begun(tag: Tag, waits: Cancellation) -> Running {
        Running { tag, waits: Some(waits) }
    }

    /// Returns what ends its waits, if it consists of what is selected. A chain does only if all of
    /// it is.
    pub(crate) fn waits_of(&self, which: Which) -> Option<&Cancellation> {
        let is_whole = which == Which::All || matches!(self.tag.ids, Ids::One(_));
        self.waits.as_ref().filter(|_| is_whole && self.tag.has(which))
    }
}

/// The observer of the waits of a pool's threads.
struct Observer(Weak<Shared>);

/// Creates the cancellation for a piece of work that a thread of this pool takes.
pub(crate) fn cancellation(pool: &Arc<Shared>) -> Cancellation {
    Cancellation::observed(Arc::new(Observer(Arc::downgrade(pool))))
}

impl WaitObserver for Observer {
    fn wait_begins(&self) {
        if let Some(pool) = self.0.upgrade() {
            let then = pool.lock().wait_begins(pool.max());
            pool.then(then);
        }
    }

    fn wait_ends(&self) {
        if let Some(pool) = self.0.upgrade() {
            pool.lock().wait_ends();
        }
    }
}
