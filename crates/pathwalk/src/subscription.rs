//! Subscriptions to what changes below a directory.

use std::sync::Arc;

use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::events::hub::Below;
use crate::events::{Event, Queue};
use crate::handle::Handle;
use crate::vfs::Vfs;

mod nodes;

pub use nodes::NodeSubscription;

/// A queue of [`Event`]s: what changed below a directory, through this `Vfs` or by a report that it
/// changed without. Made by [`Vfs::subscribe`]; ends when it is dropped.
///
/// Events of one directory come in the order of the changes. An event that is the same as the last
/// one in the queue is not repeated. If the queue is full, an [`Event::Overflow`] takes the place
/// of what is lost, once, however much that is. Each event goes to one of the threads that take
/// them.
///
/// ```
/// use pathwalk::{Credentials, Event, FileType, Invalidated, Name, Vfs};
/// let fs = pathwalk_memfs::MemFs::new();
/// let behind = fs.alias();
/// let context = Vfs::builder().build(fs)?.context(Credentials::root());
/// context.create_dir_all("/www/old")?;
/// let www = context.lookup("/www")?;
/// let events = context.vfs().subscribe(&www, 1000)?;
///
/// context.write("/www/index.html", "hello")?;
/// context.rename("/www/old", "/www/new")?;
/// context.write("/elsewhere", "")?;
/// behind.file("/www/new/file", 0o644)?;
/// context.vfs().invalidate(&context.lookup("/www/new")?, Name::new(b"file")?)?;
///
/// let path = |path: &str| Box::from(path.as_bytes());
/// assert_eq!(events.next()?, Event::Created { path: path("index.html"), kind: FileType::Regular });
/// assert_eq!(events.next()?, Event::Content { path: path("index.html") });
/// let Event::Renamed { from, to, .. } = events.next()? else { panic!() };
/// assert_eq!((from, to), (Some(path("old")), Some(path("new"))));
/// assert_eq!(events.next()?, Event::Invalidated { path: path("new/file"), what: Invalidated::Name });
/// assert!(!events.is_ready());
/// assert_eq!(events.try_next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Subscription {
    queue: Arc<Queue<Event>>,
    /// The handle on the directory, which keeps its slot from being reused.
    top: Handle,
}

impl Vfs {
    /// Subscribes to the changes below `dir`, in its file system, with room for this many events
    /// (at least one). `ENOTDIR` if `dir` is no directory, `EBADF` if it is of another `Vfs`. The
    /// subscription holds `dir` as a handle does.
    ///
    /// Cost: while there is a subscription, each change takes a lock and builds the path of the
    /// event for each subscription; lookups cost the same. Without one, a change loads one word.
    ///
    /// [`Subscription`] has an example.
    pub fn subscribe(&self, dir: &Handle, capacity: usize) -> Result<Subscription, Errno> {
        if !self.owns(dir) {
            return Err(Errno::EBADF);
        }
        if self.world().caches().dentries.word(dir.dentry()) & flags::DIRECTORY == 0 {
            return Err(Errno::ENOTDIR);
        }
        let queue = Arc::new(Queue::new(capacity.max(1)));
        self.world().trees.events.add(Below { top: dir.dentry(), queue: queue.clone() });
        Ok(Subscription { queue, top: dir.clone() })
    }
}

impl Subscription {
    /// Takes the oldest event, if there is one. Never blocks.
    pub fn try_next(&self) -> Option<Event> {
        self.queue.take()
    }

    /// Takes the oldest event, or waits for one. A [`Cancellation`](crate::Cancellation) ends the
    /// wait (`ECANCELED`).
    pub fn next(&self) -> Result<Event, Errno> {
        self.queue.next()
    }

    /// Waits until there is an event, and leaves it to [`try_next`](Self::try_next). `ECANCELED` as
    /// for [`next`](Self::next).
    ///
    /// [`Subscription`] has an example.
    pub fn wait(&self) -> Result<(), Errno> {
        self.queue.wait()
    }

    /// Returns whether there is an event.
    pub fn is_ready(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns the directory below which it is told of changes.
    ///
    /// [`Subscription`] has an example.
    pub fn directory(&self) -> &Handle {
        &self.top
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.top.world().trees.events.remove(&self.queue);
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("directory", &self.top).finish_non_exhaustive()
    }
}
