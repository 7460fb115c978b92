//! Subscriptions to what changes, by node.

use std::sync::Arc;

use crate::Errno;
use crate::events::hub::unheard_by;
use crate::events::{NodeEvent, Queue};
use crate::vfs::Vfs;

/// A queue of [`NodeEvent`]s: what changed in any file system of a `Vfs`, also in those that are
/// mounted later, through this `Vfs` or by a report that it changed without. Made by
/// [`Vfs::subscribe_nodes`]; ends when it is dropped.
///
/// An event is told after the change: a caller that has it, and asks, gets what is true since. All
/// else is as for a [`Subscription`](crate::Subscription), with [`NodeEvent::Anything`] in the
/// place of what is lost.
///
/// ```
/// use pathwalk::{Credentials, NodeEvent, Vfs};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/old", "some text")?;
/// let (root, old) = (context.root().node_id(), context.lookup("/old")?.node_id());
/// let events = context.vfs().subscribe_nodes(1000);
///
/// context.hard_link("/old", "/new")?;
/// context.remove_file("/old")?;
/// events.unheard(|| context.write("/new", "changed by the subscriber itself"))?;
///
/// let name = |name: &str, removed| NodeEvent::Name { directory: root, name: name.as_bytes().into(), removed };
/// assert_eq!(events.next()?, name("new", None));
/// assert_eq!(events.next()?, NodeEvent::Attributes(old));
/// assert_eq!(events.next()?, name("old", Some(old)));
/// assert_eq!(events.next()?, NodeEvent::Attributes(old));
/// assert_eq!(events.try_next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NodeSubscription {
    vfs: Vfs,
    queue: Arc<Queue<NodeEvent>>,
}

impl Vfs {
    /// Subscribes to the changes of all nodes, with room for this many events (at least one).
    ///
    /// Cost: while there is a subscription, each change takes a lock for each event and
    /// subscription; lookups cost the same. Without one, a change loads one word.
    ///
    /// [`NodeSubscription`] has an example.
    pub fn subscribe_nodes(&self, capacity: usize) -> NodeSubscription {
        let queue = Arc::new(Queue::new(capacity.max(1)));
        self.world().trees.events.add_of_nodes(queue.clone());
        NodeSubscription { vfs: self.clone(), queue }
    }
}

impl NodeSubscription {
    /// Takes the oldest event, if there is one. Never blocks.
    pub fn try_next(&self) -> Option<NodeEvent> {
        self.queue.take()
    }

    /// Takes the oldest event, or waits for one. A [`Cancellation`](crate::Cancellation) ends the
    /// wait (`ECANCELED`).
    pub fn next(&self) -> Result<NodeEvent, Errno> {
        self.queue.next()
    }

    /// Waits until there is an event, and leaves it to [`try_next`](Self::try_next). `ECANCELED` as
    /// for [`next`](Self::next).
    ///
    /// [`NodeSubscription`] has an example.
    pub fn wait(&self) -> Result<(), Errno> {
        self.queue.wait()
    }

    /// Calls `what`, and leaves out the changes that this thread makes meanwhile: for a subscriber
    /// that makes changes and need not be told of them. Reports of file systems are told all the
    /// same. Of nested calls for several subscriptions, the inner one counts.
    pub fn unheard<T>(&self, what: impl FnOnce() -> T) -> T {
        unheard_by(&self.queue, what)
    }
}

impl Drop for NodeSubscription {
    fn drop(&mut self) {
        self.vfs.world().trees.events.remove_of_nodes(&self.queue);
    }
}

impl std::fmt::Debug for NodeSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeSubscription").finish_non_exhaustive()
    }
}
