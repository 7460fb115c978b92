//! What a watch notices, as values for programs: events, counts, and reasons why a part of the tree
//! is not watched.

/// A change that the host reported.
///
/// [`WatchEvent`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A name was made.
    Created,
    /// A name was removed.
    Removed,
    /// A name was moved away.
    MovedFrom,
    /// A name was moved here.
    MovedTo,
    /// Mode, owner, times, number of links, lists, flags or extended attributes were set.
    Attributes,
    /// Data was written, or the size set.
    Data,
    /// A file that was open for writing was closed.
    Closed,
    /// A node lost its last name.
    Gone,
    /// A node was moved.
    Moved,
}

/// What a watch noticed, and what is asked for again because of that. See
/// [`HostFs::on_watch_event`](crate::HostFs::on_watch_event).
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_hostfs::{Coherence, HostFs};
/// use std::sync::{Arc, Mutex};
///
/// let tree = tempfile::tempdir()?;
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let fs = HostFs::open(tree.path())?.with_coherence(Coherence::Watch).on_watch_event({
///     let seen = Arc::clone(&seen);
///     move |event| seen.lock().unwrap().push(event.clone())
/// });
/// let fs = Arc::new(fs);
/// let vfs = Vfs::builder().build(Arc::clone(&fs))?;
/// assert!(vfs.context(Credentials::root()).stat("/new").is_err());
///
/// std::fs::write(tree.path().join("new"), "")?;
/// fs.catch_up();
/// assert!(vfs.context(Credentials::root()).stat("/new").is_ok());
/// assert!(format!("{:?}", seen.lock().unwrap()).contains("Created"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEvent {
    /// Something changed that is cached, or that is absent in a directory that is cached.
    Changed {
        /// The path from the root, without a slash before it; empty for the root. `None` if it is
        /// not known any more.
        path: Option<Box<[u8]>>,
        /// The changes, which the kernel may have merged.
        changes: Box<[Change]>,
        /// The part that is asked for again.
        drops: Drops,
    },
    /// The kernel's queue was full, and events were lost. Everything is asked for again.
    Overflow,
    /// Something was mounted or unmounted below the root, or mounted otherwise. Everything is asked
    /// for again.
    Mounts,
    /// The root itself was removed. Everything is asked for again; below it, all is absent.
    RootGone,
    /// A directory is not watched, so what is in it is checked at each use.
    Uncovered {
        /// The path from the root, without a slash before it. `None` if it is not known any more.
        path: Option<Box<[u8]>>,
        /// The reason.
        why: Uncovered,
    },
    /// A directory is watched that was not before.
    Covered {
        /// The path from the root, without a slash before it. `None` if it is not known any more.
        path: Option<Box<[u8]>>,
    },
}

impl std::fmt::Debug for WatchEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |path: &Option<Box<[u8]>>| path.as_ref().map_or("?".into(), |path| format!("\"{}\"", path.escape_ascii()));
        match self {
            WatchEvent::Changed { path, changes, drops } => write!(f, "Changed({}, {changes:?}, {drops:?})", shown(path)),
            WatchEvent::Uncovered { path, why } => write!(f, "Uncovered({}, {why:?})", shown(path)),
            WatchEvent::Covered { path } => write!(f, "Covered({})", shown(path)),
            WatchEvent::Overflow => f.write_str("Overflow"),
            WatchEvent::Mounts => f.write_str("Mounts"),
            WatchEvent::RootGone => f.write_str("RootGone"),
        }
    }
}

/// The part of what is cached that is asked for again.
///
/// [`WatchEvent`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Drops {
    /// A name: what it leads to, or its absence; and the attributes of its node and directory.
    Name,
    /// The attributes of a node.
    Attributes,
    /// The names in a directory, and its attributes.
    Names,
}

/// The reason why a directory is not watched.
///
/// ```
/// use pathwalk_hostfs::Uncovered;
/// println!("{}", Uncovered::NoWatchLeft);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Uncovered {
    /// This user has no inotify watch left (`ENOSPC`), or the kernel no memory for one.
    #[error("no inotify watch is left for this user: raise /proc/sys/fs/inotify/max_user_watches")]
    NoWatchLeft,
    /// The bound of [`HostFs::with_most_watches`](crate::HostFs::with_most_watches) is reached.
    #[error("the bound on watches is reached: raise HostFs::with_most_watches")]
    BoundReached,
    /// This user has no inotify instance left (`EMFILE`), or this process no descriptor.
    #[error(
        "no inotify instance is left for this user, or no descriptor: raise /proc/sys/fs/inotify/max_user_instances or ulimit -n"
    )]
    NoInstanceLeft,
    /// This process may not read the directory (`EACCES`), which a watch requires.
    #[error("this process may not read the directory: run as a user who may")]
    NotReadable,
    /// A file system that other machines or the kernel itself change without an event, such as NFS,
    /// FUSE or `/proc`.
    #[error("the file system may change without an event")]
    FileSystem,
    /// There is no `/proc`, by which a watch is put on a descriptor; or another error.
    #[error("no watch can be put on the directory: mount /proc")]
    Impossible,
}

/// Counts of a watch. Returned by [`HostFs::watch_stats`](crate::HostFs::watch_stats), which has an
/// example.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WatchStats {
    /// The number of mounts whose file systems are watched as a whole, by fanotify.
    pub whole_mounts: u64,
    /// The number of inotify watches.
    pub watches: u64,
    /// The number of directories that should have a watch and have none.
    pub uncovered: u64,
    /// The number of mounts whose file systems may change without an event.
    pub uncovered_mounts: u64,
    /// The last reason why a directory was not watched, as long as there is such a directory or
    /// mount.
    pub why_uncovered: Option<Uncovered>,
    /// The number of events that the kernel reported.
    pub events: u64,
    /// The number of reports to the caches that came of them.
    pub reports: u64,
    /// The number of times that the kernel's queue was full.
    pub overflows: u64,
    /// The number of times that mounts below the root changed.
    pub mount_changes: u64,
}

/// The means by which [`Coherence::Watch`](crate::Coherence::Watch) watches. See
/// [`HostFs::with_watch_by`](crate::HostFs::with_watch_by), which has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum WatchBy {
    /// Fanotify for each file system that allows it, which takes `CAP_SYS_ADMIN` and Linux 5.17;
    /// inotify elsewhere.
    #[default]
    Any,
    /// Inotify alone.
    Inotify,
}
