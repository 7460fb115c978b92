//! What the caches of a `Vfs` promise about changes of the host's tree that others make.
//!
//! What it does not do: keep the promises, which is the work of the modules of each mode.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::Notifier;

use crate::HostFs;
use crate::key::{Identity, Keys};
use crate::nodes::{Kept, Nodes};
use crate::tree::{Asks, Changes};
use crate::ttl::{Ttl, TtlStats};
use crate::watch::Watch;
use crate::watch::drain::Look;
use crate::watch::event::{WatchBy, WatchEvent, WatchStats};

/// What the answers of a `Vfs` on a [`HostFs`] promise about changes that do not go through that
/// `Vfs`, chosen by [`HostFs::with_coherence`]. What goes through the `Vfs` is seen at once in each
/// mode.
///
/// | mode | changes by others are seen | cost |
/// |---|---|---|
/// | [`Frozen`](Coherence::Frozen) | where nothing is cached, or by a report | none |
/// | [`Exclusive`](Coherence::Exclusive) | where nothing is cached, or by a report | none |
/// | [`Watch`](Coherence::Watch) | when their events were handled, some milliseconds later | a watch for each cached directory |
/// | [`Ttl`](Coherence::Ttl) | once the time that is set is over | a call of the host when it is over |
/// | [`Strict`](Coherence::Strict) | by each operation that begins after them | calls of the host for each operation |
///
/// ```
/// use pathwalk::Vfs;
/// use pathwalk_hostfs::{Coherence, HostFs};
/// let fs = HostFs::open("/".as_ref())?.with_coherence(Coherence::Frozen);
/// assert_eq!(fs.coherence(), Coherence::Frozen);
/// let vfs = Vfs::builder().build(fs)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Coherence {
    /// A tree that nothing changes as long as the `Vfs` is used. Answers that are cached are never
    /// checked.
    Frozen,
    /// A tree that is changed through this one `Vfs` alone. Answers that are cached are never
    /// checked.
    Exclusive,
    /// A tree that other processes change: the kernel reports what they do, and what is cached of
    /// it is asked for again. What is cached is used at full speed.
    ///
    /// **What is promised.** A change is seen by each operation that begins after its event was
    /// handled, which a thread does as events come. [`catch_up`](HostFs::catch_up) handles all that
    /// is queued: after it, no answer is older than the changes that had returned before it began.
    /// Events merge and come late, so they only invalidate. While directories on a way are moved
    /// again and again, an operation may end with `ESTALE`.
    ///
    /// **By which means.** As root (`CAP_SYS_ADMIN`, Linux 5.17), fanotify reports each change in a
    /// file system as a whole. Elsewhere, and where a file system does not allow that, each cached
    /// directory has an inotify watch, and so has each file with several names. Mounts below the
    /// root that come, go, move or get other flags are noticed.
    ///
    /// **What is lost** is said by [`watch_stats`](HostFs::watch_stats) and by an event
    /// ([`on_watch_event`](HostFs::on_watch_event)). After an overflow of the kernel's queue, and
    /// after a change of mounts, everything is asked for again. A directory for which there is no
    /// watch, and a file system that others change without an event (NFS, CIFS, FUSE, 9P, `/proc`),
    /// is checked at each use, as in [`Strict`](Coherence::Strict). Watches that could not be had
    /// are tried again four times a second.
    ///
    /// **What comes late or never.** Writes through a shared mapping are reported when the file is
    /// closed; until then, its size and times may be old. There are no events for times of access
    /// and for the number of blocks, which are as of the last answer. By inotify, a file that gets
    /// its second name in a directory that is not cached keeps its number of links and its time of
    /// change until that name is looked up. Flags of the root's own mount are those of the
    /// beginning. The root is the directory that was opened, also when another one gets its path.
    ///
    /// Changes through this `Vfs` make events, too, and are asked for again once.
    #[default]
    Watch,
    /// A tree that other processes change: each answer is used for a time, at full speed, and then
    /// asked for again.
    ///
    /// An operation uses no answer that the host was asked for longer before the operation began
    /// than the time of its kind. A thread sees to that, and begins a pass over the caches each
    /// half of that time. If the thread is late, answers are used for longer, and
    /// [`ttl_stats`](HostFs::ttl_stats) says for how long: after the process was stopped
    /// (`SIGSTOP`), until the thread has run; while the machine sleeps, time does not pass. So the
    /// promise is no bound for a machine that is overloaded.
    ///
    /// Below one millisecond, answers of the kind are asked for at each use, as in
    /// [`Strict`](Coherence::Strict). [`Duration::MAX`] has them used for good. A pass costs a look
    /// at each slot of the caches. After it, the first question about a directory takes 5 system
    /// calls, and confirms all its names, if it has not changed for three passes; else each name is
    /// looked up. Attributes take up to 5 for each node.
    ///
    /// [`ttl_stats`](HostFs::ttl_stats) has an example.
    Ttl {
        /// The time for which a name that is present is used: which node it leads to.
        entry: Duration,
        /// The time for which a name that is absent is used.
        absence: Duration,
        /// The time for which the attributes of a node are used: all that `statx` shows, rights,
        /// and access control lists.
        attributes: Duration,
    },
    /// A tree that other processes change: the host confirms each answer before it is used.
    ///
    /// Each name and absence on a way, and the rights and attributes of each node, are asked for
    /// within the operation that uses them. So an operation sees what others had done before it
    /// began; a walk of several components is no snapshot, as on the host itself. The caches alone
    /// ([`Context::cached`](pathwalk::Context::cached)) answer `EAGAIN`. Files that are open keep
    /// their attributes when they lose their names.
    ///
    /// A `stat` of a path with *d* directories takes 17 + 13 *d* system calls, and 10 + 13 *d* for
    /// a name that is absent: 8 for each name, whose directory is reached, too, and 5 for the
    /// rights of each directory. So this is many times slower than the host itself.
    ///
    /// What is not asked for again: the directory behind `..` of a handle or working directory that
    /// another process has moved, and the path of such a handle, until a walk has found the
    /// directory at its new place.
    Strict,
}

impl HostFs {
    /// Sets what the caches promise about changes by others. The default is [`Coherence::Watch`].
    ///
    /// [`Coherence`] has an example.
    #[must_use]
    pub fn with_coherence(mut self, coherence: Coherence) -> HostFs {
        self.coherence = coherence;
        self.identify(match coherence {
            Coherence::Frozen | Coherence::Exclusive => (Identity::BirthTime, Kept::Newest),
            _ => (Identity::Handle, Kept::NewestAlone),
        });
        if let Some(tree) = Arc::get_mut(&mut self.tree) {
            tree.asks = if coherence == Coherence::Strict { Asks::EachTime } else { Asks::IfReported };
        }
        self
    }

    /// Returns what the caches promise about changes by others.
    ///
    /// [`Coherence`] has an example.
    pub fn coherence(&self) -> Coherence {
        self.coherence
    }

    /// Sets by which means [`Coherence::Watch`] watches. The default is [`WatchBy::Any`].
    ///
    /// ```
    /// use pathwalk_hostfs::{Coherence, HostFs, WatchBy};
    /// let fs = HostFs::open("/".as_ref())?.with_coherence(Coherence::Watch).with_watch_by(WatchBy::Inotify);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_watch_by(mut self, by: WatchBy) -> HostFs {
        self.watch.by = by;
        self
    }

    /// Sets the largest number of inotify watches that are used. The default is no bound but the
    /// kernel's, which all processes of a user share. Directories beyond it are checked at each
    /// use.
    ///
    /// ```
    /// use pathwalk_hostfs::{Coherence, HostFs};
    /// let fs = HostFs::open("/".as_ref())?.with_coherence(Coherence::Watch).with_most_watches(10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_most_watches(mut self, most: usize) -> HostFs {
        self.watch.most = most;
        self
    }

    /// Sets the function that is called for each event of [`Coherence::Watch`], after the caches
    /// were told. It is called by one thread at a time, and must not wait for that thread, as
    /// [`catch_up`](Self::catch_up) does.
    ///
    /// [`WatchEvent`] has an example.
    #[must_use]
    pub fn on_watch_event(mut self, observer: impl Fn(&WatchEvent) + Send + Sync + 'static) -> HostFs {
        self.watch.observer = Some(Arc::new(observer));
        self
    }

    /// Handles all events that the kernel has queued, in the mode [`Coherence::Watch`]. What a call
    /// of another process changed, and had returned before this was called, is seen by each
    /// operation that begins after this has returned: the kernel queues the event within the
    /// changing call. Nothing is done in other modes, and before a `Vfs` is built.
    ///
    /// So two processes that pass a message for each change, and call this when a message comes,
    /// see each other's writes. Without it, a change is seen as soon as its event was handled,
    /// which takes some milliseconds. Waits for the thread that handles events, and for no process.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_hostfs::{Coherence, HostFs};
    /// use std::sync::Arc;
    ///
    /// let tree = tempfile::tempdir()?;
    /// let fs = Arc::new(HostFs::open(tree.path())?.with_coherence(Coherence::Watch));
    /// let context = Vfs::builder().build(Arc::clone(&fs))?.context(Credentials::root());
    /// assert!(context.stat("/new").is_err());
    /// std::fs::write(tree.path().join("new"), "by another way")?;
    /// fs.catch_up();
    /// assert_eq!(context.stat("/new")?.size, 14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn catch_up(&self) {
        if let Some(watch) = self.tree.watch.get() {
            watch.drain(&self.tree, Look::AtMountsToo);
        }
    }

    /// Returns the counts of the watch: all 0 in other modes than [`Coherence::Watch`], and before
    /// a `Vfs` is built.
    ///
    /// ```
    /// use pathwalk::Vfs;
    /// use pathwalk_hostfs::{Coherence, HostFs};
    /// use std::sync::Arc;
    /// let fs = Arc::new(HostFs::open("/".as_ref())?.with_coherence(Coherence::Watch));
    /// let vfs = Vfs::builder().build(Arc::clone(&fs))?;
    /// let stats = fs.watch_stats();
    /// if let Some(why) = stats.why_uncovered {
    ///     println!("{} directories are not watched: {why}", stats.uncovered);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch_stats(&self) -> WatchStats {
        self.tree.watch.get().map(|watch| watch.stats()).unwrap_or_default()
    }

    /// Returns the counts of the mode [`Coherence::Ttl`]: all 0 in other modes, and before a `Vfs`
    /// is built.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use pathwalk::Vfs;
    /// use pathwalk_hostfs::{Coherence, HostFs};
    /// let second = Duration::from_secs(1);
    /// let ttl = Coherence::Ttl { entry: second, absence: second, attributes: second };
    /// let fs = Arc::new(HostFs::open("/".as_ref())?.with_coherence(ttl));
    /// let vfs = Vfs::builder().build(Arc::clone(&fs))?;
    /// let stats = fs.ttl_stats();
    /// if stats.late > 0 {
    ///     println!("answers were used for {:?}", stats.oldest);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ttl_stats(&self) -> TtlStats {
        self.tree.ttl.get().map(Ttl::stats).unwrap_or_default()
    }

    /// Begins to have answers asked for again after a time, if that is the mode.
    pub(crate) fn begin_to_expire(&self, notifier: &Notifier) {
        if let Coherence::Ttl { entry, absence, attributes } = self.coherence {
            self.tree.ttl.get_or_init(|| Ttl::begin([entry, absence, attributes])).attach(notifier.clone());
        }
    }

    /// Begins to watch, if that is the mode.
    pub(crate) fn begin_to_watch(&self, notifier: Notifier) {
        if self.coherence != Coherence::Watch {
            return;
        }
        self.tree.watch.get_or_init(|| Watch::begin(&self.tree, self.key, &self.watch)).attach(notifier);
    }

    /// Sets how nodes are told apart where changes are refused. Events have file handles. By their
    /// birth times, two nodes may be the same, of which one is seen after the other.
    fn identify(&mut self, (by, kept): (Identity, Kept)) {
        let Some(tree) = Arc::get_mut(&mut self.tree).filter(|tree| tree.mode == Changes::Refused) else { return };
        let keys = Keys::new(by);
        let key = tree.root.reach(b"").ok().and_then(|root| root.key(&keys, &root.stat().ok()?).ok());
        if let Some(key) = key {
            (tree.keys, self.key) = (keys, key);
            *tree.nodes.get_mut() = Nodes::new(key, kept);
        }
    }
}
