//! The way from a file system to the caches that hold its answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::memory::slot::SuperblockId;
use crate::node::{NodeKey, Sweep};
use crate::text::Name;

/// A report that something changed without the engine.
#[derive(Clone, Copy)]
pub(crate) enum Report<'a> {
    Name(NodeKey, Name<'a>),
    Attributes(NodeKey),
    Data(NodeKey),
    Node(NodeKey),
    Subtree(NodeKey),
    Kinds(Sweep),
    All,
}

/// A file system that is mounted: its superblock, and the number that no other one ever has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reporter {
    pub(crate) superblock: SuperblockId,
    pub(crate) serial: u64,
}

/// The function that takes the reports.
pub(crate) type TakesReports = Box<dyn Fn(Reporter, Report<'_>) + Send + Sync>;

/// The link from notifiers to a `Vfs`. It does not keep the `Vfs` alive.
#[derive(Default)]
pub(crate) struct Relay {
    to: OnceLock<TakesReports>,
    /// Whether something was reported while the `Vfs` was being built.
    missed: AtomicBool,
}

impl Relay {
    /// Connects the notifiers. The function is called at once if something was reported before.
    pub(crate) fn connect(&self, to: TakesReports, root: Reporter) {
        let to = self.to.get_or_init(|| to);
        if self.missed.swap(false, Ordering::SeqCst) {
            to(root, Report::All);
        }
    }

    fn report(&self, from: Reporter, report: Report<'_>) {
        if self.to.get().is_none() {
            self.missed.store(true, Ordering::SeqCst);
        }
        // Connected meanwhile, or before: either this thread sees that, or the other one sees the
        // mark.
        if let Some(to) = self.to.get() {
            to(from, report);
        }
    }
}

/// A file system's handle on the caches that hold its answers: by it, the file system reports that
/// something changed without the engine. It gets one in [`FileSystem::attached`].
///
/// Once a report has returned, no operation that begins uses an answer that the file system gave
/// before the report. An operation that began before may still use one, and go on from it; nothing
/// of that stays cached. Nothing is unmounted by a report: what is mounted on a name stays, unless
/// the name turns out to lead to another node.
///
/// # From where it may be called
///
/// From any thread, at any time, also from inside each method of the file system, and under locks
/// of the file system's own. A report calls nothing of the file system and waits for no call of it:
/// it marks what is cached, and the file system is asked when that is next needed. For the same
/// reason a report never calls [`FileSystem::forget`]; nodes are forgotten later.
///
/// It does not keep the `Vfs` alive. Once the `Vfs` is gone, or the file system is no longer
/// mounted there, a report does nothing. A key that is not cached costs one search.
///
/// # Which report
///
/// | what changed | report |
/// |---|---|
/// | a name was made, removed, replaced, or leads elsewhere | [`invalidate_name`](Self::invalidate_name), for a rename one for each name |
/// | mode, owner, times, number of links, lists, flags, extended attributes | [`invalidate_attributes`](Self::invalidate_attributes) |
/// | the data of a file, and its size | [`invalidate_data`](Self::invalidate_data) |
/// | a node, in an unknown way | [`invalidate_node`](Self::invalidate_node) |
/// | anything below a directory | [`invalidate_subtree`](Self::invalidate_subtree) |
/// | anything | [`invalidate_all`](Self::invalidate_all) |
/// | perhaps something, since it was asked long ago | [`invalidate_all_of`](Self::invalidate_all_of) |
///
/// A name that goes also changes its node's number of links, which other names of the node show:
/// the node is marked, too, if it is cached under that name. A new name of a node that has others
/// goes with a report about the node's attributes.
///
/// ```
/// use pathwalk::{Attributes, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Notifier, Vfs};
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::sync::{Arc, OnceLock};
///
/// /// A root in which the file `new` may appear.
/// #[derive(Default)]
/// struct Appears {
///     is_there: AtomicBool,
///     notifier: OnceLock<Notifier>,
/// }
///
/// impl FileSystem for Appears {
///     fn attached(&self, notifier: Notifier) {
///         _ = self.notifier.set(notifier);
///     }
///     fn root(&self) -> Result<Node, Errno> {
///         Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
///     }
///     fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
///         let is_there = name.bytes() == b"new" && self.is_there.load(Ordering::SeqCst);
///         is_there.then(|| Ok(Node::new(NodeKey(1), self.attributes(NodeKey(1))?))).transpose()
///     }
///     fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
///         let kind = if node == NodeKey(0) { FileType::Directory } else { FileType::Regular };
///         Ok(Attributes::new(kind, 0o755))
///     }
/// }
///
/// let fs = Arc::new(Appears::default());
/// let context = Vfs::builder().build(fs.clone())?.context(Credentials::root());
/// assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
/// fs.is_there.store(true, Ordering::SeqCst);
/// assert_eq!(context.stat("/new"), Err(Errno::ENOENT), "the absence is cached");
/// fs.notifier.get().expect("it is mounted").invalidate_name(NodeKey(0), Name::new(b"new")?);
/// assert!(context.stat("/new").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`FileSystem::attached`]: crate::FileSystem::attached
/// [`FileSystem::forget`]: crate::FileSystem::forget
#[derive(Clone)]
pub struct Notifier {
    relay: Arc<Relay>,
    from: Reporter,
}

impl Notifier {
    pub(crate) fn new(relay: Arc<Relay>, from: Reporter) -> Notifier {
        Notifier { relay, from }
    }

    /// Reports that a name in a directory was made or removed, or leads to another node. What is
    /// below the name stays cached if the name still leads to the same node. The attributes of the
    /// directory, and of the node that is cached under the name, are asked for again. Cost: O(1).
    pub fn invalidate_name(&self, dir: NodeKey, name: Name<'_>) {
        self.relay.report(self.from, Report::Name(dir, name));
    }

    /// Reports that attributes of a node changed: all that `statx` shows, rights, access control
    /// lists, extended attributes. Cost: O(1).
    ///
    /// [`Notifier`] has an example.
    pub fn invalidate_attributes(&self, node: NodeKey) {
        self.relay.report(self.from, Report::Attributes(node));
    }

    /// Reports that the data of a file changed. The engine caches no data, but its size and times.
    /// Cost: O(1).
    ///
    /// [`Notifier`] has an example.
    pub fn invalidate_data(&self, node: NodeKey) {
        self.relay.report(self.from, Report::Data(node));
    }

    /// Reports that a node changed: its attributes, the body of a link, and of a directory all its
    /// names, but nothing below these. Cost: O(1), of a directory the number of its cached names.
    ///
    /// [`Notifier`] has an example.
    pub fn invalidate_node(&self, node: NodeKey) {
        self.relay.report(self.from, Report::Node(node));
    }

    /// Reports that something changed below a directory. Cost: the number of entries that are
    /// cached below; lookups go on meanwhile, and moves of directories wait.
    ///
    /// [`Notifier`] has an example.
    pub fn invalidate_subtree(&self, dir: NodeKey) {
        self.relay.report(self.from, Report::Subtree(dir));
    }

    /// Reports that anything of the file system may have changed, for example because changes were
    /// missed. Cost: a pass over all slots of the caches.
    ///
    /// [`Notifier`] has an example.
    pub fn invalidate_all(&self) {
        self.relay.report(self.from, Report::All);
    }

    /// Reports that all that is cached of these kinds is to be asked for again when it is next
    /// needed, for example because it has become too old. Names and absences are first asked about
    /// by [`FileSystem::confirm`]. Subscribers are not told: nothing is known to have changed.
    /// Cost: a pass over all slots of the caches, at less cost for each than by
    /// [`invalidate_all`](Self::invalidate_all).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::sync::{Arc, OnceLock};
    ///
    /// use pathwalk::{Attributes, Credentials, Directory, Errno, FileSystem, FileType, Freshness, Name, Node, NodeKey};
    /// use pathwalk::{Notifier, Sweep, Vfs};
    ///
    /// /// A root with the files `a` and `b`, and a number that moves when its names change.
    /// #[derive(Default)]
    /// struct Numbered {
    ///     lookups: AtomicU32,
    ///     /// Moved by each change of the names.
    ///     changes: AtomicU32,
    ///     /// The number of changes when the names were looked up.
    ///     looked_up_at: AtomicU32,
    ///     notifier: OnceLock<Notifier>,
    /// }
    ///
    /// impl FileSystem for Numbered {
    ///     fn attached(&self, notifier: Notifier) {
    ///         _ = self.notifier.set(notifier);
    ///     }
    ///     fn root(&self) -> Result<Node, Errno> {
    ///         Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
    ///     }
    ///     fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
    ///         self.lookups.fetch_add(1, Ordering::SeqCst);
    ///         let key = match name.bytes() {
    ///             b"a" => NodeKey(1),
    ///             b"b" => NodeKey(2),
    ///             _ => return Ok(None),
    ///         };
    ///         Ok(Some(Node::new(key, self.attributes(key)?)))
    ///     }
    ///     fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
    ///         let kind = if node == NodeKey(0) { FileType::Directory } else { FileType::Regular };
    ///         Ok(Attributes::new(kind, 0o755))
    ///     }
    ///     // One comparison confirms all names of the directory.
    ///     fn confirm(&self, _: &Directory<'_>, _: Name<'_>, _: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
    ///         let now = self.changes.load(Ordering::SeqCst);
    ///         let is_unchanged = self.looked_up_at.swap(now, Ordering::SeqCst) == now;
    ///         Ok(is_unchanged.then_some(Freshness::Stable))
    ///     }
    /// }
    ///
    /// let fs = Arc::new(Numbered::default());
    /// let context = Vfs::builder().build(fs.clone())?.context(Credentials::root());
    /// let ask = || ["/a", "/b", "/absent"].map(|path| context.stat(path).is_ok());
    /// assert_eq!(ask(), [true, true, false]);
    /// let lookups = fs.lookups.load(Ordering::SeqCst);
    /// fs.notifier.get().expect("it is mounted").invalidate_all_of(Sweep::NAMES | Sweep::ABSENCES);
    /// assert_eq!(ask(), [true, true, false]);
    /// assert_eq!(fs.lookups.load(Ordering::SeqCst), lookups, "all three were confirmed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`FileSystem::confirm`]: crate::FileSystem::confirm
    pub fn invalidate_all_of(&self, kinds: Sweep) {
        self.relay.report(self.from, Report::Kinds(kinds));
    }
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Notifier(file system {})", self.from.superblock.0)
    }
}
