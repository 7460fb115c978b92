//! The trait that a file system implements.

use super::{
    AccessTimes, Accessed, Directory, FileHandle, FoundName, FoundToRead, HandleFor, Leases, Locks, Notifier, OpenFile, OpenFor,
    Siblings, SpecialFiles, StatFs, XattrName,
};
use crate::Errno;
use crate::abi::{SuperblockFlags, XattrFlags};
use crate::attr::{AclState, Attributes, Details, FileType, InodeFlags, StatxMask, Timestamp};
use crate::node::{Freshness, NewNode, Node, NodeKey, RenameFlags, SetAttributes, Validity};
use crate::permission::{Access, Acl, AclKind, Subject};
use crate::text::Name;

/// A file system: it answers about nodes, and the engine caches the answers.
///
/// # Which methods to implement
///
/// Everything has a default, except for the three of the first row.
///
/// | what is to be done | methods |
/// |---|---|
/// | find names, return attributes, check rights, follow links | [`root`](Self::root), [`lookup`](Self::lookup), [`attributes`](Self::attributes) |
/// | read files | [`open`](Self::open), which returns an [`OpenFile`] with [`read_at`](OpenFile::read_at) |
/// | list directories | `open`, with [`read_dir`](OpenFile::read_dir) |
/// | give attributes with a listing, at less cost than by a lookup each | [`read_dir_with_nodes`](OpenFile::read_dir_with_nodes) |
/// | open and look up at once, where that costs less | [`lookup_to_read`](Self::lookup_to_read) |
/// | refuse all changes before a method is called | [`superblock_flags`](Self::superblock_flags) |
/// | make, remove and rename | [`create`](Self::create), [`link`](Self::link), [`unlink`](Self::unlink), [`rename`](Self::rename) |
/// | write files | `open`, with [`write_at`](OpenFile::write_at), and [`set_attributes`](Self::set_attributes) |
/// | keep extended attributes | [`get_xattr`](Self::get_xattr), [`list_xattrs`](Self::list_xattrs), [`set_xattr`](Self::set_xattr), [`remove_xattr`](Self::remove_xattr) |
/// | be served to clients that keep handles | [`encode_handle`](Self::encode_handle), [`decode_handle`](Self::decode_handle), [`find_name`](Self::find_name) |
/// | keep the flags of `chattr(1)` | [`inode_flags`](Self::inode_flags), [`set_inode_flags`](Self::set_inode_flags) |
/// | give an NFS server change cookies | [`details`](Self::details) |
/// | give a FUSE server generations | [`generation`](Self::generation) |
/// | have the times of accesses kept as Linux does | [`access_times`](Self::access_times), [`accessed`](Self::accessed) |
/// | keep locks on files that others see too | [`locks`](Self::locks) |
/// | change without the engine, and say what changed | [`attached`](Self::attached), which hands over a [`Notifier`] |
/// | change without the engine, and be asked each time | [`with_freshness`](Node::with_freshness), [`absence_in`](Self::absence_in), [`attributes_freshness`](Self::attributes_freshness), [`revalidate`](Self::revalidate) |
/// | refuse leases, since others open the files | [`leases`](Self::leases) |
/// | keep access control lists | [`keeps_acls`](Self::keeps_acls), [`get_acl`](Self::get_acl), [`set_acl`](Self::set_acl), `acl`, `permission`, and what new nodes [inherit](NewNode::inherit) |
///
/// Without `open`, a file is there and cannot be read (`EOPNOTSUPP`).
///
/// ```
/// use pathwalk::{
///     Attributes, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, OpenFile, OpenFor, Vfs,
/// };
///
/// /// A root with one file, `motd`.
/// struct Motd(&'static [u8]);
///
/// impl FileSystem for Motd {
///     fn root(&self) -> Result<Node, Errno> {
///         Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
///     }
///
///     fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
///         let motd = || Ok(Node::new(NodeKey(1), self.attributes(NodeKey(1))?));
///         (name.bytes() == b"motd").then(motd).transpose()
///     }
///
///     fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
///         Ok(match node.0 {
///             0 => Attributes::new(FileType::Directory, 0o555).with_ino(1),
///             _ => Attributes::new(FileType::Regular, 0o444).with_ino(2).with_size(self.0.len() as u64),
///         })
///     }
///
///     // What makes the file readable.
///     fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
///         Ok(Box::new(Contents(self.0)))
///     }
/// }
///
/// struct Contents(&'static [u8]);
///
/// impl OpenFile for Contents {
///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
///         let rest = self.0.get(offset as usize..).unwrap_or_default();
///         let length = rest.len().min(buffer.len());
///         buffer[..length].copy_from_slice(&rest[..length]);
///         Ok(length)
///     }
/// }
///
/// let context = Vfs::builder().build(Motd(b"hello"))?.context(Credentials::user(1000, 1000, &[]));
/// assert_eq!(context.read_to_string("/motd")?, "hello");
/// assert_eq!(context.read("/absent").unwrap_err().errno(), Errno::ENOENT);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Of the repository's examples, `zip_fs` serves an archive with listings, and `squares` computes a
/// tree with links, whose files cannot be read.
///
/// # What the engine does for you
///
/// The engine handles paths, `.` and `..`, links, permission by mode bits and ACL, negative
/// entries, and makes one `lookup` per missing name however many threads ask for it. You never see
/// `.` or `..`, nor a name with a slash, nor one over 255 bytes.
///
/// # Calls, threads and locks
///
/// - Calls come from the thread that called the `Vfs`, and block it. Any method may be called from
///   any thread, and from several at once.
/// - `lookup` and `revalidate` may run concurrently in one directory. A method that changes a
///   directory ([`create`](Self::create), [`link`](Self::link), [`unlink`](Self::unlink),
///   [`rename`](Self::rename)) never runs concurrently with another call about that directory's
///   names. Calls about a node (`attributes`, `read_link`, `permission`, `acl`, `set_attributes`,
///   `forget`, and those of extended attributes and flags) may run concurrently with any other
///   call.
/// - A name may be looked up again although the answer was kept: to read a link's body that found
///   no room, when a directory turns up under another name, or because something was stale.
/// - **Re-entrancy.** The engine holds the directory's lock while it calls: a method must not call
///   back into the same `Vfs`, except for [`Directory::path`] and a [`Notifier`]. Another `Vfs` is
///   fine.
/// - **Checks.** The engine checks names: it calls `unlink` and `rename` for names that exist,
///   `create` and `link` for names that do not, and never moves a directory below itself. You check
///   what depends on your nodes: `ENOTEMPTY`, `ENOTDIR` and `EISDIR` of a rename over a node of
///   another kind, `EPERM` for a link to a directory, `EMLINK`, `ENOSPC`, `EROFS`.
/// - **Panics.** A panic unwinds through the caller's operation. Threads that wait for the same
///   name wake and ask again, no lock of the engine stays held, the name stays uncached. The file
///   system's own locks are its own responsibility. (A panic in `forget`, or in the drop of an open
///   file, may meet another and abort.)
///
/// # Errors
///
/// Any errno goes to the caller as it is, and nothing is cached. To report a name as absent, return
/// `Ok(None)` from `lookup`, and not `ENOENT`: only `Ok(None)` is cached.
///
/// [`Errno::ESTALE`] from any method says that a node or a way is no longer what the engine takes
/// it to be, and that **nothing was done**. An operation on a path then asks about every entry on
/// the way, by `revalidate`, `attributes` and `lookup`, drops what is wrong, and is done once more.
/// Only a second `ESTALE` reaches the caller. An operation on a handle or an open file is not
/// repeated.
///
/// # Nodes and their keys
///
/// A [`NodeKey`] is yours to choose. The engine calls with keys that you handed out and that were
/// not yet forgotten: [`forget`](Self::forget) comes exactly once for each [`Node`] you returned. A
/// key belongs to one type of node for as long as it is not forgotten: another type under it is
/// [`Errno::ESTALE`]. A directory that turns up under a second name is taken to have been moved
/// there. A change that names it by both is `ESTALE`, too.
///
/// # Memory
///
/// The `Vfs`'s budget covers its caches, not your memory: report what you hold in
/// [`memory`](Self::memory).
///
/// ```
/// use pathwalk::{Attributes, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs};
///
/// /// A root with one file, `hello`.
/// struct Hello;
///
/// impl Hello {
///     fn node(key: NodeKey) -> Node {
///         let kind = if key == NodeKey(1) { FileType::Directory } else { FileType::Regular };
///         Node::new(key, Attributes::new(kind, 0o755).with_ino(key.0 as u64))
///     }
/// }
///
/// impl FileSystem for Hello {
///     fn root(&self) -> Result<Node, Errno> {
///         Ok(Hello::node(NodeKey(1)))
///     }
///
///     fn lookup(&self, _dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
///         Ok((name.bytes() == b"hello").then(|| Hello::node(NodeKey(2))))
///     }
///
///     fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
///         Ok(Hello::node(node).attributes)
///     }
/// }
///
/// let context = Vfs::builder().build(Hello)?.context(Credentials::user(1000, 1000, &[]));
/// assert_eq!(context.stat("/../hello")?.ino, 2);
/// assert_eq!(context.stat("/hello/below"), Err(Errno::ENOTDIR));
/// assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
/// assert_eq!(context.mkdir("/new", 0o755), Err(Errno::EACCES), "the root belongs to user 0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FileSystem: Send + Sync {
    /// Returns the root directory. Called once, when the `Vfs` is built or the file system is
    /// mounted.
    fn root(&self) -> Result<Node, Errno>;

    /// Takes the handle by which the file system reports changes that are made without the engine.
    /// Called once for each time that the file system is mounted by itself, before
    /// [`root`](Self::root); a file system that several `Vfs` have gets several. Must not block.
    /// Default: drops it.
    ///
    /// [`Notifier`] has an example.
    fn attached(&self, notifier: Notifier) {
        let _ = notifier;
    }

    /// Returns the node behind `name` in `dir`, or `None` where there is none.
    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno>;

    /// Does the same as [`lookup`](Self::lookup) for a name that is to be opened for reading, or
    /// listed: returns the open file with the node, if both together cost less than one after the
    /// other. `expected` is the type that the caller insists on, as by `O_DIRECTORY`.
    ///
    /// The engine checks the right to open the node afterwards, and drops the open file where there
    /// is none, or where the path leads elsewhere. So opening must have no effect that a caller
    /// without that right could be refused. Runs as `lookup` does. Default: `lookup`, without an
    /// open file. Source: `i_op->atomic_open` of Linux.
    fn lookup_to_read(
        &self,
        dir: &Directory<'_>,
        name: Name<'_>,
        expected: Option<FileType>,
    ) -> Result<Option<FoundToRead>, Errno> {
        let _ = expected;
        Ok(self.lookup(dir, name)?.map(|node| FoundToRead { node, file: None }))
    }

    /// Gives the names of `dir` that were not looked up yet. It is called beside a `lookup`, when
    /// so many names of the directory, or of one like it, were looked up that the rest is likely to
    /// follow. If giving all of them at once costs less than one at a time,
    /// [`give`](Siblings::give) them, if they are at most [`most`](Siblings::most). Else do
    /// nothing, as the default does. An error is not reported.
    ///
    /// Runs as `lookup` does, and the caller of that lookup waits for it. Inside `give`, the engine
    /// may call `attributes` and `forget`, so hold no lock then that those take.
    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        let _ = (dir, siblings);
        Ok(())
    }

    /// Returns the attributes of a node as they are now. Called when those cached are known to be
    /// out of date.
    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno>;

    /// Returns those of the details that the mask names, as far as the file system has them. Called
    /// for each [`Context::details`](crate::Context::details), since nothing of them is cached.
    /// Default: has none. Source: `i_op->getattr` of Linux.
    ///
    /// A change cookie is another one after each change of the node: of its data, its attributes
    /// and, for a directory, its names. The engine asks for the attributes after it, unless they
    /// [come with it](Details::with_attributes).
    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        let _ = (node, wanted);
        Ok(Details::default())
    }

    /// Returns the generation of a node: a number that another node under the same inode number
    /// does not have, for servers that name nodes by both. Default: `ENOTTY`, which says that there
    /// is none. Source: `FS_IOC_GETVERSION`, `i_generation` of Linux.
    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        let _ = node;
        Err(Errno::ENOTTY)
    }

    /// Sets the generation of a node, moves `ctime`, and returns all attributes as they are then.
    /// The engine has checked the right to do so. Handles that have the old one in them may lead
    /// nowhere afterwards, so few file systems allow it. Default: `ENOTTY`. Source:
    /// `FS_IOC_SETVERSION`.
    fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
        let _ = (node, to);
        Err(Errno::ENOTTY)
    }

    /// Returns the body of a link that came without one in its [`Node`]: 0 to 4095 bytes.
    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        let _ = node;
        Err(Errno::EINVAL)
    }

    /// Checks whether `who` has the rights `want` to a node under
    /// [`PermissionRule::Own`](crate::PermissionRule), or to one whose ACL is
    /// [`Present`](AclState::Present). The answer is final: capabilities are yours to grant
    /// (`EACCES` to refuse; [`Subject::overrides`] has the generic rule for them). For a node with
    /// an ACL, [`Acl::check`](crate::permission::Acl::check) is the whole answer. Through an
    /// id-mapped mount, `who` has the ids that you store.
    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let _ = (node, who, want);
        Err(Errno::EACCES)
    }

    /// Returns whether a node whose ACL was [`Unknown`](AclState::Unknown) has an access list. The
    /// answer is kept until the node leaves the cache or [`Vfs::refresh`](crate::Vfs::refresh) is
    /// called for it, even if later attributes say `Unknown` again. `Unknown` counts as `Absent`.
    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        let _ = node;
        Ok(AclState::Absent)
    }

    /// Returns whether nodes have access control lists that can be read and set. Called once, at
    /// the first mount. Default: false, and reading or setting a list is `EOPNOTSUPP`. Source:
    /// `SB_POSIXACL` of Linux.
    ///
    /// If true, the file system also applies the umask to new nodes, since a default ACL replaces
    /// it: [`NewNode::inherit`] returns what a new node gets. `set_attributes` with a mode sets the
    /// entries of the access ACL that stand for it ([`Acl::with_mode`]).
    fn keeps_acls(&self) -> bool {
        false
    }

    /// Returns a list of a node as it is now, or `None` if the node has none. Not called for links.
    /// `EOPNOTSUPP` if the node can have none.
    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        let _ = (node, kind);
        Err(Errno::EOPNOTSUPP)
    }

    /// Sets a list of a node, or removes it. Returns all attributes as they are then.
    ///
    /// The engine has checked the right to do so, and that the list is valid. Only directories get
    /// a default ACL. An access ACL comes with the permission bits that the node gets at the same
    /// time, 0..=0o7777; one that grants what those bits grant comes as `None`. The call also moves
    /// `ctime`. Source: `i_op->set_acl` and `posix_acl_update_mode` of Linux.
    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        let _ = (node, kind, acl, mode);
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns whether the removal of an access ACL clears the sgid bit of a node, as setting one
    /// does, if the caller is outside the node's group. A tmpfs does that (`simple_set_acl` of
    /// Linux), and the default is true. On ext4, XFS and btrfs, a removal changes no mode.
    fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
        let _ = node;
        true
    }

    /// Returns whether `name` in `dir` still leads to `node` (`None`: is still absent). Called
    /// before each use where the freshness is [`Freshness::AskEachTime`], and for every entry on
    /// the way once something was `ESTALE`.
    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        let _ = (dir, name, node);
        Ok(Validity::Valid)
    }

    /// Returns how long an absence is valid, for a file system in which that is the same
    /// everywhere. [`absence_in`](Self::absence_in) asks it.
    fn absence(&self) -> Freshness {
        Freshness::Stable
    }

    /// Returns how long an absence in the directory `dir` is valid. Asked before each absence is
    /// cached, and before a listing makes a directory complete. Must not block. Default: as
    /// [`absence`](Self::absence) says.
    ///
    /// After [`Stable`](Freshness::Stable), a file system that can no longer keep that promise
    /// reports the directory by [`Notifier::invalidate_node`]. By then it must answer
    /// [`AskEachTime`](Freshness::AskEachTime).
    fn absence_in(&self, dir: NodeKey) -> Freshness {
        let _ = dir;
        self.absence()
    }

    /// Returns whether attributes of a node may be used later without a question: all that `statx`
    /// shows, rights, and whether there is an access control list. Asked before the attributes are
    /// kept. Must not block. Default: they may, until they are reported as changed.
    ///
    /// After [`AskEachTime`](Freshness::AskEachTime), each use asks
    /// [`attributes`](Self::attributes): a `stat` by path, handle or open file, and each check of a
    /// right, also that of a walk which passes through a directory. The caches alone then answer
    /// `EAGAIN`. After [`Stable`](Freshness::Stable), a file system that can no longer keep that
    /// promise reports the node by [`Notifier::invalidate_attributes`]. By then it must answer
    /// `AskEachTime`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU16, Ordering};
    /// use std::sync::Arc;
    ///
    /// use pathwalk::{Attributes, Credentials, Directory, Errno, FileSystem, FileType, Freshness, Name, Node, NodeKey, Vfs};
    ///
    /// /// A root whose mode others change.
    /// struct Changing(AtomicU16);
    ///
    /// impl FileSystem for Changing {
    ///     fn root(&self) -> Result<Node, Errno> {
    ///         Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
    ///     }
    ///     fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
    ///         Ok(None)
    ///     }
    ///     fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
    ///         Ok(Attributes::new(FileType::Directory, self.0.load(Ordering::SeqCst)))
    ///     }
    ///     fn attributes_freshness(&self, _: NodeKey) -> Freshness {
    ///         Freshness::AskEachTime
    ///     }
    /// }
    ///
    /// let fs = Arc::new(Changing(AtomicU16::new(0o755)));
    /// let context = Vfs::builder().build(fs.clone())?.context(Credentials::user(1000, 1000, &[]));
    /// assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
    /// fs.0.store(0o700, Ordering::SeqCst);
    /// assert_eq!(context.stat("/absent"), Err(Errno::EACCES), "the right to search is asked for");
    /// assert_eq!(context.stat("/")?.mode, 0o700);
    /// assert_eq!(context.cached().stat("/"), Err(Errno::EAGAIN));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        let _ = node;
        Freshness::Stable
    }

    /// Returns whether a doubtful `name` in `dir` still leads to `node` (`None`: is still absent),
    /// and how long that is valid, if that is known at less cost than by a lookup. Called once for
    /// an entry that one [sweep](crate::Notifier::invalidate_all_of) has marked, and no other
    /// report: so the file system answered for it, or confirmed it, after the sweep of that kind
    /// before this one. The directory's lock is held as for a change. `None` if it is not known, or
    /// no longer so: then the name is looked up. Default: `None`.
    ///
    /// One look at a directory can confirm all its names:
    /// [`Notifier::invalidate_all_of`](crate::Notifier::invalidate_all_of) has an example.
    fn confirm(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        let _ = (dir, name, node);
        Ok(None)
    }

    /// Releases one [`Node`] of this key that you returned. Must not block for long: it runs in
    /// whichever thread needed the memory, perhaps with a directory's lock held. A node that was
    /// unlinked while it was open is forgotten when the last open file on it is closed. If only a
    /// handle held it, it is forgotten when its slot is needed or you return `ENOSPC`: dropping a
    /// handle never blocks.
    fn forget(&self, node: NodeKey) {
        let _ = node;
    }

    /// Puts all that was written on stable storage. Called for `syncfs`, and when the file system
    /// became read-only. Default: does nothing. Source: `sync_fs` of Linux.
    fn sync(&self) -> Result<(), Errno> {
        Ok(())
    }

    /// Puts on stable storage what was changed through this file system. Called when nothing of it
    /// is mounted any more, before its nodes are forgotten and it is dropped. Others that change
    /// what is below it sync that themselves, so nothing is to be done if all changes were theirs.
    /// Default: calls [`sync`](FileSystem::sync). Source: `generic_shutdown_super` of Linux.
    fn sync_at_end(&self) -> Result<(), Errno> {
        self.sync()
    }

    /// Returns whether its mounts may have id maps ([`IdMap`](crate::IdMap)). Called once, at the
    /// first mount. Return true if you handle ids only as they are passed to you: a [`Subject`] has
    /// the ids that you store, and so have nodes to be made. Default: false, and setting a map is
    /// `EINVAL`. Source: `FS_ALLOW_IDMAP` of Linux.
    fn allows_id_maps(&self) -> bool {
        false
    }

    /// Returns the flags that the whole file system has of itself, with any mount options: a
    /// remount does not remove them. Called once, at the first mount. Default: none. Source:
    /// `SB_RDONLY` as squashfs sets it.
    ///
    /// Under [`SuperblockFlags::READ_ONLY`] the engine refuses each change (`EROFS`), and calls
    /// none of the methods that change something.
    fn superblock_flags(&self) -> SuperblockFlags {
        SuperblockFlags::empty()
    }

    /// Returns the bytes of memory that this file system holds, separate from the `Vfs`'s own
    /// budget.
    fn memory(&self) -> u64 {
        0
    }

    /// Makes a node. `EEXIST` if the name is taken, `EROFS` where nothing can be changed.
    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let _ = (dir, name, new);
        Err(Errno::EROFS)
    }

    /// Makes a regular file that has no name, in the file system of `dir`, with link count 0.
    /// [`link`](Self::link) may give it one; else it is freed when it is forgotten. Source:
    /// `O_TMPFILE` in `open(2)`.
    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let _ = (dir, new);
        Err(Errno::EOPNOTSUPP)
    }

    /// Opens a regular file or a directory; a special file only where
    /// [`special_files`](Self::special_files) says so. Never called to create or truncate.
    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        let _ = (node, what_for);
        Err(Errno::EOPNOTSUPP)
    }

    /// Does the same as [`open`](Self::open) without blocking: no call of another system, no wait
    /// for a lock that is held over one. `EAGAIN` where that is impossible: then `open` is called
    /// by a thread that may wait. The open file is the same. Source: `O_NONBLOCK` as Linux sets it
    /// for an open that is only tried, and clears it again.
    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        let _ = (node, what_for);
        Err(Errno::EAGAIN)
    }

    /// Returns what opens named pipes and devices. Called at each such open. Default: the engine.
    fn special_files(&self) -> SpecialFiles {
        SpecialFiles::OfEngine
    }

    /// Returns size and limits.
    fn statfs(&self) -> Result<StatFs, Errno> {
        Ok(StatFs::default())
    }

    /// Returns size and limits as they are for a node: less, for example, in a directory with a
    /// quota. Called by `statfs` of a path or handle. Default: as [`statfs`](Self::statfs).
    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        let _ = node;
        self.statfs()
    }

    /// Gives a node another name. Returns the node again (and it is forgotten once more).
    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        let _ = (node, dir, name);
        Err(Errno::EROFS)
    }

    /// Removes the name of `node`: `ENOTEMPTY` for a directory with entries. The node lives on
    /// until it is forgotten.
    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let _ = (dir, name, node);
        Err(Errno::EROFS)
    }

    /// Moves `from` to `to`, atomically for all observers, and replaces what is there unless
    /// `flags` forbid it.
    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        let _ = (from, to, flags);
        Err(Errno::EROFS)
    }

    /// Returns the time with which this file system stamps its nodes, which is what
    /// [`SetTime::Now`](crate::SetTime) means. Must not block. Default: the system's clock.
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Returns the side that keeps the times of accesses. Asked once, when the file system is
    /// mounted first. Default: the file system.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// use pathwalk::{AccessTimes, Accessed, Attributes, Errno, FileType, NodeKey, Timestamp};
    ///
    /// /// A file system with one file.
    /// struct OneFile(Mutex<Attributes>);
    ///
    /// // As methods of `FileSystem`.
    /// impl OneFile {
    ///     fn access_times(&self) -> AccessTimes {
    ///         AccessTimes::OfEngine
    ///     }
    ///     fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
    ///         if node != NodeKey(1) {
    ///             return Ok(Accessed::NotKept);
    ///         }
    ///         self.0.lock().unwrap().atime = at;
    ///         Ok(Accessed::Stored)
    ///     }
    /// }
    ///
    /// let fs = OneFile(Mutex::new(Attributes::new(FileType::Regular, 0o644)));
    /// assert_eq!(fs.access_times(), AccessTimes::OfEngine);
    /// assert_eq!(fs.accessed(NodeKey(1), Timestamp::now()), Ok(Accessed::Stored));
    /// assert_eq!(fs.accessed(NodeKey(2), Timestamp::now()), Ok(Accessed::NotKept));
    /// ```
    fn access_times(&self) -> AccessTimes {
        AccessTimes::OfFileSystem
    }

    /// Stores the time of an access to a node, and changes no other time. `at` is what
    /// [`now`](Self::now) returned. Called for a file system that says
    /// [`AccessTimes::OfEngine`], after a read or a listing, and before the body of a link is used,
    /// also by a walk; under no lock but that of an open file's position.
    ///
    /// Must not block, since threads that must not wait call it, too: a file system that has to
    /// wait for storage keeps the time, and writes it later, as Linux does with `lazytime`. An
    /// error is dropped: the access has happened. Default: [`Accessed::NotKept`]. Source:
    /// `i_op->update_time` of Linux.
    fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
        let _ = (node, at);
        Ok(Accessed::NotKept)
    }

    /// Returns the locks that this file system keeps itself, because others than this `Vfs` set
    /// some, too. Default: none, and the `Vfs` keeps them.
    ///
    /// [`Locks`] has an example.
    fn locks(&self) -> Option<&dyn Locks> {
        None
    }

    /// Returns whether files can be leased. Called for each lease. Must not block. Default: they
    /// can, unless the file system keeps [`locks`](Self::locks) itself, since others open its files
    /// then.
    fn leases(&self) -> Leases {
        if self.locks().is_some() { Leases::Refused } else { Leases::OfEngine }
    }

    /// Sets attributes. Returns all attributes as they are then. A size may be the one that the
    /// file has: that frees what is allocated behind it, and may update the times.
    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let _ = (node, set);
        Err(Errno::EROFS)
    }

    /// Returns the error with which [`set_attributes`](Self::set_attributes) would refuse a size
    /// for itself: `EFBIG` if it is too large for a file, or the error that comes before that.
    /// Called for a regular file that may have a capability, which is removed before the size is
    /// set. Changes nothing. Default: no size is too large. Source: `inode_newsize_ok` of Linux,
    /// which compares with `s_maxbytes`.
    fn check_size(&self, node: NodeKey, size: u64) -> Result<(), Errno> {
        let _ = (node, size);
        Ok(())
    }

    /// Returns the value of an extended attribute; `None` where the node does not have it. Of most
    /// files, only `security.capability` is asked for, before a write, and that it is absent is
    /// kept. Default: `EOPNOTSUPP`, as for a namespace that is not supported. Source: `xattr(7)`.
    ///
    /// The engine checks rights and limits, and never asks for access control lists here.
    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        let _ = (node, name);
        Err(Errno::EOPNOTSUPP)
    }

    /// Sets an extended attribute, of 0 to 65,536 bytes, and moves `ctime`. `EEXIST` under
    /// [`XattrFlags::CREATE`] if the node has it, `ENODATA` under [`XattrFlags::REPLACE`] if not,
    /// `ENOSPC`. Changes of one node's attributes come one after the other. Default: `EOPNOTSUPP`.
    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        let _ = (node, name, value, flags);
        Err(Errno::EOPNOTSUPP)
    }

    /// Passes the name of each extended attribute to `each`, whatever the caller: the engine leaves
    /// out what the caller must not see, and the names of access control lists, which it asks
    /// [`get_acl`](Self::get_acl) for. Inside `each`, the engine calls nothing. Default: passes
    /// none.
    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        let _ = (node, each);
        Ok(())
    }

    /// Removes an extended attribute, and moves `ctime`: `ENODATA` if the node does not have it.
    /// `EPERM` for the `security.capability` of a file whose attributes cannot be set any more,
    /// though those that have opened it change it still: then the change that follows has to remove
    /// it. Default: `EOPNOTSUPP`.
    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        let _ = (node, name);
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns the handle of a node: of no other node ever, so a number that is reused goes with a
    /// generation. Kinds are 0 to 65,535, and there is at least one byte. Default: `EOPNOTSUPP`.
    /// Source: `encode_fh` of Linux.
    ///
    /// For each purpose the handle is the same as long as the node lives. One for
    /// [`HandleFor::Connecting`] may be another after the node was moved or linked; `EOPNOTSUPP`
    /// if a file cannot be found by its handle together with a name. For an
    /// [`Identity`](HandleFor::Identity) after `EOPNOTSUPP`, the engine makes a handle of the key,
    /// which cannot be opened.
    fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        let _ = (node, what_for);
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns the node of a handle, handed out as by a lookup. `ESTALE` if the node is gone, and
    /// for a handle that this file system did not give: handles come from clients, so nothing in
    /// one is to be trusted. A node that lost its names and is held lives. Called under no lock.
    /// Default: `EOPNOTSUPP`. Source: `fh_to_dentry` of Linux.
    ///
    /// `near` is the node below which the caller looks for the node. Of a file with several names,
    /// it is a hint which of them [`find_name`](Self::find_name) should return next. It is no
    /// limit: the engine checks where the name is.
    fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        let _ = (handle, near);
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns a directory in which a node has a name at the moment, and that name: of a directory
    /// its parent. `ESTALE` if the node has no name, and for a file if finding one costs too much:
    /// then the file is open without a path. The engine looks the name up afterwards, so a result
    /// that is out of date at once does no harm. Called under no lock, and not for the root.
    /// Default: `ESTALE`. Source: `get_parent` and `get_name` of Linux.
    ///
    /// ```
    /// use pathwalk::{Attributes, Credentials, Directory, Errno, FileHandle, FileSystem, FileType, FoundName, HandleFlags};
    /// use pathwalk::HandleFor;
    /// use pathwalk::{Name, Node, NodeKey, Vfs};
    ///
    /// /// A root with one directory, `d`.
    /// struct OneDirectory;
    ///
    /// fn node(number: u128) -> Node {
    ///     Node::new(NodeKey(number), Attributes::new(FileType::Directory, 0o755))
    /// }
    ///
    /// impl FileSystem for OneDirectory {
    ///     fn encode_handle(&self, node: NodeKey, _: HandleFor) -> Result<FileHandle, Errno> {
    ///         FileHandle::new(1, &[node.0 as u8])
    ///     }
    ///     fn decode_handle(&self, handle: &FileHandle, _near: NodeKey) -> Result<Node, Errno> {
    ///         match (handle.kind(), handle.bytes()) {
    ///             (1, [number @ 1..=2]) => Ok(node(u128::from(*number))),
    ///             _ => Err(Errno::ESTALE),
    ///         }
    ///     }
    ///     fn find_name(&self, _node: NodeKey) -> Result<FoundName, Errno> {
    ///         Ok(FoundName { dir: node(1), name: b"d"[..].into() })
    ///     }
    ///     // `root`, `lookup` and `attributes` as in the example of `FileSystem`.
    /// #   fn root(&self) -> Result<Node, Errno> {
    /// #       Ok(node(1))
    /// #   }
    /// #   fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
    /// #       Ok((dir.key() == NodeKey(1) && name.bytes() == b"d").then(|| node(2)))
    /// #   }
    /// #   fn attributes(&self, key: NodeKey) -> Result<Attributes, Errno> {
    /// #       Ok(node(key.0).attributes)
    /// #   }
    /// }
    ///
    /// let of_d = Vfs::builder().build(OneDirectory)?.context(Credentials::root()).name_to_handle("/d", HandleFlags::empty())?.0;
    /// let restarted = Vfs::builder().build(OneDirectory)?.context(Credentials::root());
    /// assert_eq!(restarted.lookup_by_handle(restarted.root(), &of_d)?.path()?, b"/d");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        let _ = node;
        Err(Errno::ESTALE)
    }

    /// Returns the flags of a node that users set. The engine asks each time. Default: `ENOTTY`,
    /// which says that the node has no flags; by a path it becomes `EOPNOTSUPP`. Source:
    /// `i_op->fileattr_get` of Linux.
    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        let _ = node;
        Err(Errno::ENOTTY)
    }

    /// Sets these flags of a node, clears all others, and moves `ctime` even if none changes.
    /// Returns all attributes as they are then: what [`StatxFlags`](crate::StatxFlags) has of the
    /// flags is among them, and the engine enforces that. `EOPNOTSUPP` for a flag that is not kept.
    /// Default: `ENOTTY`. Source: `i_op->fileattr_set` of Linux.
    ///
    /// The engine has checked the right to do so. It asked [`inode_flags`](Self::inode_flags)
    /// before, with changes of the node's attributes locked out.
    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        let _ = (node, to);
        Err(Errno::ENOTTY)
    }
}
