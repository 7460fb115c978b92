//! The trait of a security hook, and what it is told of a caller.

use std::any::Any;
use std::sync::Arc;

use super::{Object, Rights};
use crate::Errno;
use crate::permission::Credentials;

/// A value that a hook attaches to a context: the domain of the caller, for example. Clones of a
/// context share it.
///
/// [`SecurityHook`] has an example.
#[derive(Clone)]
pub struct Label(Arc<dyn Any + Send + Sync>);

impl Label {
    /// Creates a label.
    ///
    /// [`SecurityHook`] has an example.
    pub fn new(value: impl Any + Send + Sync) -> Label {
        Label(Arc::new(value))
    }

    /// Returns the value, if it has this type.
    ///
    /// [`SecurityHook`] has an example.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl std::fmt::Debug for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Label").finish_non_exhaustive()
    }
}

/// The caller of an operation, as a hook is told of it.
///
/// [`SecurityHook`] has an example.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Caller<'a> {
    /// The credentials.
    pub credentials: &'a Credentials,
    /// The label of the context, if it was given one.
    pub label: Option<&'a Label>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(credentials: &'a Credentials, label: Option<&'a Label>) -> Caller<'a> {
        Caller { credentials, label }
    }
}

/// A rename or a link: the nodes, and the directories before and after it.
///
/// [`SecurityHook`] has an example.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Move<'a> {
    /// The directory that the node is in.
    pub from: Object<'a>,
    /// The directory that it gets into; its mount is that of `from`.
    pub to: Object<'a>,
    /// The node.
    pub node: Object<'a>,
    /// The node that has the new name now, if there is one.
    pub target: Option<Object<'a>>,
    /// Whether the node leaves its old name, and what becomes of the target.
    pub how: MoveKind,
}

/// The kind of a [`Move`].
///
/// [`SecurityHook`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveKind {
    /// The node gets one more name.
    Link,
    /// The node leaves its name; the target, if there is one, is replaced.
    Rename,
    /// The node and the target swap their names.
    Exchange,
}

/// The answer of a hook to the question whether a directory may be searched.
///
/// [`SecurityHook::may_search`] says when it is given.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// use pathwalk::security::{Caller, NodeId, Object, Rights, Search, SecurityHook};
/// use pathwalk::{Credentials, Errno, Vfs};
///
/// static IS_CLOSED: AtomicBool = AtomicBool::new(false);
///
/// /// Closes the directory with this key to users, at times.
/// struct Curfew(pathwalk::NodeKey);
///
/// impl SecurityHook for Curfew {
///     fn granted(&self, _: &Caller<'_>, _: &Object<'_>, rights: Rights) -> Rights {
///         rights
///     }
///     fn cares_about_search(&self) -> bool {
///         true
///     }
///     fn may_search(&self, who: &Caller<'_>, directory: &Object<'_>) -> Search {
///         match IS_CLOSED.load(SeqCst) {
///             true if directory.node().key() != self.0 => Search::GrantedToAll,
///             true if who.credentials.effective().uid() != 0 => Search::Refused,
///             true => Search::Granted,
///             false => Search::GrantedToAll,
///         }
///     }
/// }
///
/// let fs = pathwalk_memfs::MemFs::new();
/// fs.mkdir("/club", 0o755)?;
/// fs.file("/club/bar", 0o644)?;
/// let probe = Vfs::builder().build(fs.alias())?.context(Credentials::root());
/// let hook = Curfew(probe.lookup("/club")?.key());
/// let vfs = Vfs::builder().security(hook).build(fs)?;
/// let user = vfs.context(Credentials::user(1000, 1000, &[]));
/// assert!(user.stat("/club/bar").is_ok());
/// IS_CLOSED.store(true, SeqCst);
/// vfs.search_rules_changed();
/// assert_eq!(user.stat("/club/bar"), Err(Errno::EACCES));
/// assert!(vfs.context(Credentials::root()).stat("/club/bar").is_ok());
/// IS_CLOSED.store(false, SeqCst);
/// vfs.search_rule_changed(&user.lookup("/club")?)?;
/// assert!(user.stat("/club/bar").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// This caller may search it now. The next search asks again.
    Granted,
    /// All callers may search it, wherever it is, until
    /// [`Vfs::search_rules_changed`](crate::Vfs::search_rules_changed) or
    /// [`Vfs::search_rule_changed`](crate::Vfs::search_rule_changed) is called: the hook is not
    /// asked about the directory again while it is cached, and a lookup through it costs the same
    /// as without a hook.
    GrantedToAll,
    /// The search is refused: `EACCES`.
    Refused,
}

/// A policy that may refuse what permissions allow. A `Vfs` gets it by
/// [`VfsBuilder::security`](crate::VfsBuilder::security) and keeps it.
///
/// It is asked when a node is opened, made, removed, renamed, linked or cut off, and when the tree
/// of mounts is changed. Lookups, `access`, `stat` and `readlink` do not ask it, unless it
/// [cares about search](Self::cares_about_search). Reads and writes of what is open never do.
///
/// # Threads and locks
///
/// Any method may be called from any thread, and from several at once. The engine may hold the lock
/// of a directory meanwhile: a hook must not call back into the `Vfs`, and should not block.
///
/// # Ready-made
///
/// [`Landlock`](crate::landlock::Landlock) is a hook with the rules of Linux's module of that name.
///
/// ```
/// use pathwalk::security::{Caller, Label, Object, Rights, SecurityHook};
/// use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
///
/// /// Lets only user 0, and contexts that are labelled `Writer`, write.
/// struct ReadersAndWriters;
/// struct Writer;
///
/// impl SecurityHook for ReadersAndWriters {
///     fn granted(&self, who: &Caller<'_>, object: &Object<'_>, rights: Rights) -> Rights {
///         let is_writer = who.label.is_some_and(|label| label.get::<Writer>().is_some());
///         assert!(object.and_above().next() == Some(object.node()));
///         let _ = (object.kind(), object.node().key());
///         if who.credentials.effective().uid() == 0 || is_writer { rights } else { rights & (Rights::READ_FILE | Rights::READ_DIR) }
///     }
/// }
///
/// let vfs = Vfs::builder().security(ReadersAndWriters).build(pathwalk_memfs::MemFs::new())?;
/// vfs.context(Credentials::root()).create_dir("/shared")?;
/// vfs.context(Credentials::root()).chmod("/shared", 0o777)?;
/// let mut user = vfs.context(Credentials::user(1000, 1000, &[]));
/// assert_eq!(user.mkdir("/shared/a", 0o755), Err(Errno::EACCES));
/// user.set_label(Some(Label::new(Writer)));
/// assert_eq!(user.mkdir("/shared/a", 0o755), Ok(()));
/// assert!(user.label().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SecurityHook: Any + Send + Sync {
    /// Returns those of `rights` that a caller has to a node. For rights to make and remove, the
    /// node is the directory. A right that is not granted is `EACCES` to the caller. The right to
    /// truncate is asked for at each open, and kept with the file: without it, `O_TRUNC` and
    /// [`File::set_len`](crate::File::set_len) are `EACCES`.
    fn granted(&self, who: &Caller<'_>, object: &Object<'_>, rights: Rights) -> Rights;

    /// Returns whether the hook cares about search: whether [`may_search`](Self::may_search) is to be
    /// called. Called once, when the `Vfs` is built. Default: no, and a lookup costs the same with
    /// the hook as without.
    fn cares_about_search(&self) -> bool {
        false
    }

    /// Checks whether a caller may search a directory: look up a name in it, go up from it, or make
    /// it a working directory or root; also by `access` with [`Access::EXECUTE`](crate::Access).
    /// Asked after the directory's permissions have granted it, each time, and with no lock held,
    /// unless the hook has given its promise for the directory ([`Search::GrantedToAll`]).
    ///
    /// Such a lookup leaves the lock-free walk, and
    /// [`Context::cached`](crate::Context::cached) answers it with `EAGAIN`. Nodes that are held, by
    /// a handle or an open file, are used without a search.
    fn may_search(&self, who: &Caller<'_>, directory: &Object<'_>) -> Search {
        let _ = (who, directory);
        Search::GrantedToAll
    }

    /// Checks a rename or a link. Default: asks [`granted`](Self::granted) for the rights to remove
    /// and to make in the two directories, and for [`Rights::REFER`] in both if they differ
    /// (`EXDEV`).
    fn may_move(&self, who: &Caller<'_>, the: &Move<'_>) -> Result<(), Errno> {
        let (leaves, arrives) = the.rights();
        let has = |object: &Object<'_>, rights| self.granted(who, object, rights).contains(rights);
        if !has(&the.from, leaves) || !has(&the.to, arrives) {
            return Err(Errno::EACCES);
        }
        let is_same = the.from.node() == the.to.node();
        let refers = || has(&the.from, Rights::REFER) && has(&the.to, Rights::REFER);
        if is_same || refers() { Ok(()) } else { Err(Errno::EXDEV) }
    }

    /// Checks whether a caller with `CAP_SYS_ADMIN` may change the tree of mounts. Default: yes.
    fn may_mount(&self, who: &Caller<'_>) -> Result<(), Errno> {
        let _ = who;
        Ok(())
    }
}

impl Move<'_> {
    /// Returns the rights that it takes in the directory that the node leaves, and in the one that
    /// it gets into, apart from [`Rights::REFER`].
    ///
    /// ```
    /// use pathwalk::security::{Caller, Move, Object, Rights, SecurityHook};
    /// use pathwalk::{Credentials, Errno, Vfs};
    ///
    /// /// Lets nothing be removed, so nothing is renamed.
    /// struct Archive;
    ///
    /// impl SecurityHook for Archive {
    ///     fn granted(&self, _: &Caller<'_>, _: &Object<'_>, rights: Rights) -> Rights {
    ///         rights & !(Rights::REMOVE_DIR | Rights::REMOVE_FILE)
    ///     }
    ///     fn may_move(&self, _: &Caller<'_>, the: &Move<'_>) -> Result<(), Errno> {
    ///         let (leaves, _arrives) = the.rights();
    ///         if leaves.is_empty() { Ok(()) } else { Err(Errno::EPERM) }
    ///     }
    /// }
    ///
    /// let context = Vfs::builder().security(Archive).build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "")?;
    /// context.hard_link("/a", "/b")?;
    /// assert_eq!(context.rename("/a", "/c").unwrap_err().errno(), Errno::EPERM);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rights(&self) -> (Rights, Rights) {
        let target = self.target.map(|target| target.kind());
        let made = Rights::to_make(self.node.kind());
        let back = target.filter(|_| self.how == MoveKind::Exchange).map_or(Rights::empty(), Rights::to_make);
        if self.how == MoveKind::Link {
            return (Rights::empty(), made);
        }
        (back | Rights::to_remove(self.node.kind()), made | target.map_or(Rights::empty(), Rights::to_remove))
    }
}
