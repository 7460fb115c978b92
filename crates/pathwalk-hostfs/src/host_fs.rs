//! The file system itself: translates the engine's questions to system calls of the host.
//! `file_system` has the engine's interface; here is what makes one, and what its answers share.
//!
//! A lookup opens the name's whole path beneath the root, as a place only, and asks the descriptor.
//! A question by key uses the path under which the node was last found, and verifies that the same
//! node is still there. If it is not, the answer is `ESTALE`.
//!
//! Locks: the table of nodes. It is locked shared to read a path and exclusively to count. It is
//! never held across a system call.

mod file_system;

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::RwLock;
use pathwalk::{AclState, Attributes, Errno, FileType, Leases, MountFlags, Name, Node, NodeKey, OpenFile, OpenFor, SpecialFiles};
use rustix::io;

use crate::OpenError;
use crate::acl;
use crate::attributes::from_statx;
use crate::beneath::{Reached, Root, errno, own_descriptors};
use crate::changed::{Changed, SyncAtEnd};
use crate::coherence::Coherence;
use crate::descriptors::{MOST, OpenFiles, Reopening};
use crate::finding::{Found, Reach};
use crate::guard::Guard;
use crate::key::{Identity, Keys};
use crate::mounts::Mounts;
use crate::nodes::{Kept, Nodes};
use crate::open_file::{Descriptors, Open, Wait, host};
use crate::tree::{Asks, Changes, Tree};
use crate::watch::Choice;
use crate::watch::coverage::{Covering, Handing};
use crate::xattr::Source;

/// A directory of the host. What its answers promise about changes of other processes is chosen by
/// [`with_coherence`](HostFs::with_coherence). The crate's documentation lists its guarantees.
///
/// ```
/// use pathwalk::{Errno, OpenFlags, Vfs};
/// use pathwalk_hostfs::{Descriptors, HostFs, credentials};
/// let tree = tempfile::tempdir()?;
/// std::fs::write(tree.path().join("file"), "data")?;
///
/// let fs = HostFs::open(tree.path())?.with_descriptors(Descriptors::AtFirstUse);
/// let flags = fs.mount_flags();
/// let vfs = Vfs::builder().mount_flags(flags).build(fs)?;
/// let context = vfs.context(credentials()?);
/// assert_eq!(context.read("/file")?, b"data");
/// assert_eq!(context.open("/file", OpenFlags::WRITE).unwrap_err(), Errno::EROFS);
/// assert_eq!(context.stat("/../etc"), Err(Errno::ENOENT), "the host's root is elsewhere");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HostFs {
    pub(crate) tree: Arc<Tree>,
    pub(crate) key: NodeKey,
    pub(crate) source: Source,
    pub(crate) descriptors: Descriptors,
    special_files: SpecialFiles,
    leases: Leases,
    end: SyncAtEnd,
    /// What the caches promise about changes by others.
    pub(crate) coherence: Coherence,
    pub(crate) watch: Choice,
}

/// A node as it was just loaded.
pub(crate) struct Loaded<'a> {
    pub(crate) attributes: Attributes,
    /// The watch of the node, until it is handed out.
    pub(crate) covering: Covering<'a>,
    /// The guard of the node, if it has a list.
    pub(crate) guard: Option<Arc<Guard>>,
}

impl HostFs {
    /// Opens the directory at `path`, following links in the path, as the root.
    ///
    /// `/` is a path like any other. After `chroot(2)`, open anew: a `HostFs` keeps the directory
    /// that it was opened on.
    pub fn open(path: &Path) -> Result<HostFs, OpenError> {
        HostFs::open_to(path, Changes::Refused)
    }

    /// Opens the directory at `path` as [`open`](Self::open) does, and carries changes out.
    ///
    /// The crate's documentation says as which user things are made, and what does not happen as in
    /// the kernel.
    ///
    /// ```
    /// use pathwalk::Vfs;
    /// use pathwalk_hostfs::{HostFs, credentials};
    /// let tree = tempfile::tempdir()?;
    /// let vfs = Vfs::builder().build(HostFs::open_writable(tree.path())?)?;
    /// let context = vfs.context(credentials()?);
    /// context.create_dir("/dir")?;
    /// context.write("/dir/new", "data")?;
    /// context.rename("/dir/new", "/dir/file")?;
    /// assert_eq!(std::fs::read(tree.path().join("dir/file"))?, b"data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_writable(path: &Path) -> Result<HostFs, OpenError> {
        HostFs::open_to(path, Changes::CarriedOut)
    }

    fn open_to(path: &Path, mode: Changes) -> Result<HostFs, OpenError> {
        let root = Root::open(path)?;
        let failed = |errno| OpenError::open(path, errno);
        let at_root = root.reach(b"").map_err(failed)?;
        let stat = at_root.stat().map_err(failed)?;
        let (identity, kept) = match mode {
            Changes::Refused => (Identity::BirthTime, Kept::Newest),
            Changes::CarriedOut => (Identity::Handle, Kept::All),
        };
        let keys = Keys::new(identity);
        let key = at_root.key(&keys, &stat).map_err(|errno| failed(io::Errno::from_raw_os_error(errno.raw())))?;
        let mounts = Mounts::new(key, stat.stx_mnt_id, root.as_fd()).map_err(failed)?;
        let source = Source::probe(root.as_fd());
        // A node that lost its names can be opened again through `/proc` alone.
        let is_lost = mode == Changes::CarriedOut && own_descriptors().is_err();
        let reopening = if is_lost { Reopening::Impossible } else { Reopening::Possible };
        let (moves, changes) = (RwLock::default(), RwLock::default());
        let (nodes, open) = (RwLock::new(Nodes::new(key, kept)), OpenFiles::new(MOST, reopening));
        let asks = Asks::IfReported;
        let tree = Arc::new(Tree {
            root,
            keys,
            nodes,
            mounts,
            open,
            mode,
            changed: Changed::default(),
            asks,
            moves,
            changes,
            watch: OnceLock::new(),
            ttl: OnceLock::new(),
        });
        let coherence = Coherence::default();
        let (descriptors, special_files, leases) = (Descriptors::default(), SpecialFiles::Refused, Leases::Refused);
        let end = SyncAtEnd::default();
        let fs = HostFs { tree, key, source, descriptors, special_files, leases, coherence, end, watch: Choice::default() };
        Ok(fs.with_coherence(coherence))
    }

    /// Sets whether the disk is synced at the end. The default is [`SyncAtEnd::IfChanged`].
    ///
    /// [`SyncAtEnd`] has an example.
    pub fn with_sync_at_end(self, end: SyncAtEnd) -> HostFs {
        HostFs { end, ..self }
    }

    /// Sets when open files get their descriptors of the host. The default is
    /// [`Descriptors::AtOpen`].
    pub fn with_descriptors(self, descriptors: Descriptors) -> HostFs {
        HostFs { descriptors, ..self }
    }

    /// Sets the number of descriptors that open files may have at once. The default is 1,024. Those
    /// of more files are closed, and opened again when they are needed, which takes up to 8 system
    /// calls.
    ///
    /// A file that lost its last name keeps one descriptor beyond that number. So do the files that
    /// calls are using at the moment. Without `/proc`, the number is not kept to where changes are
    /// carried out.
    ///
    /// ```
    /// use pathwalk_hostfs::HostFs;
    /// let fs = HostFs::open("/".as_ref())?.with_most_descriptors(64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_most_descriptors(self, most: usize) -> HostFs {
        self.tree.open.set_most(most);
        self
    }

    /// Sets what opens named pipes. The default is [`SpecialFiles::Refused`].
    /// [`SpecialFiles::OfEngine`] is for a tree that no other process uses: the data of a pipe then
    /// passes within this process. The host's own pipes and devices are never opened, so
    /// [`SpecialFiles::OfFileSystem`] means `Refused`.
    ///
    /// ```
    /// use pathwalk::SpecialFiles;
    /// use pathwalk_hostfs::HostFs;
    /// let fs = HostFs::open("/".as_ref())?.with_special_files(SpecialFiles::OfEngine);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_special_files(self, special_files: SpecialFiles) -> HostFs {
        let special_files = if special_files == SpecialFiles::OfEngine { SpecialFiles::OfEngine } else { SpecialFiles::Refused };
        HostFs { special_files, ..self }
    }

    /// Sets whether files can be leased. The default is [`Leases::Refused`].
    /// [`Leases::OfEngine`] is for a tree whose files are opened through one `Vfs` alone, or where
    /// each other open is reported to it.
    ///
    /// ```
    /// use pathwalk::{FileSystem, Leases};
    /// use pathwalk_hostfs::HostFs;
    /// let fs = HostFs::open("/".as_ref())?.with_leases(Leases::OfEngine);
    /// assert_eq!(fs.leases(), Leases::OfEngine);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_leases(self, leases: Leases) -> HostFs {
        HostFs { leases, ..self }
    }

    /// Returns the mount flags that only the engine can apply, for `VfsBuilder::mount_flags`. This
    /// is nosymfollow, if the root's mount has it. The engine then applies it to links on mounts
    /// below as well. Read-only and noexec are not included, because this file system applies them
    /// itself, mount by mount.
    pub fn mount_flags(&self) -> MountFlags {
        self.tree.mounts.of(self.key).flags & MountFlags::NOSYMFOLLOW
    }

    /// Looks up `name` in a directory that was handed out.
    pub(crate) fn find(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(self.find_by(dir, name, Reach::Place)?.map(|(node, _)| node))
    }

    /// Does the same, and returns the descriptor by which the node was reached, with what it is
    /// for.
    pub(crate) fn find_by(&self, dir: NodeKey, name: Name<'_>, how: Reach) -> Result<Option<(Node, Found)>, Errno> {
        let begun = self.tree.begun();
        let now = SystemTime::now();
        let Some(Found { reached, stat, is_to_read }) = self.tree.find(dir, name, how)? else { return Ok(None) };
        let key = reached.key(&self.tree.keys, &stat)?;
        let loaded = self.load((key, &reached), from_statx(&stat)?, Handing::Out)?;
        let mut node = self.node(key, &reached, &loaded)?.with_freshness(self.tree.freshness(dir));
        let mut nodes = self.tree.nodes.write();
        self.tree.is_handed_out((key, &node.attributes), now, &nodes);
        nodes.hold(key, dir, name.bytes()).ok_or(Errno::ESTALE)?;
        if loaded.guard.is_some() {
            nodes.set_guard(key, loaded.guard);
        }
        let done_with = nodes.take_done_with();
        drop(nodes);
        drop(done_with);
        drop(loaded.covering);
        if self.tree.may_be_older(begun.as_ref(), key) {
            self.read_again((key, &reached), &mut node);
        }
        Ok(Some((node, Found { reached, stat, is_to_read })))
    }

    /// Reads the attributes of a node once more that was just handed out. If that fails, the engine
    /// is to ask.
    fn read_again(&self, (key, reached): (NodeKey, &Reached), node: &mut Node) {
        let stat = reached.stat().map_err(errno).and_then(|stat| from_statx(&stat));
        match stat.and_then(|attributes| self.load((key, reached), attributes, Handing::Again)) {
            Ok(Loaded { attributes, guard, .. }) => {
                node.attributes = attributes;
                self.tree.nodes.write().refresh_guard(key, guard);
            }
            Err(_) => self.tree.report_attributes(key),
        }
    }

    /// Returns the node that was just reached and loaded.
    pub(crate) fn node(&self, key: NodeKey, reached: &Reached, loaded: &Loaded) -> Result<Node, Errno> {
        let attributes = loaded.attributes;
        let mount = self.tree.keys.mount_of(key).ok_or(Errno::ESTALE)?;
        let rule = self.tree.mounts.rule((key, mount), attributes.kind, reached.fd()).map_err(errno)?;
        let mut node = Node::new(key, attributes).with_rule(rule);
        if attributes.kind == FileType::Symlink {
            // A body that cannot be read now, or is empty, is read again when it is needed. An
            // error is reported then.
            node.link_body = reached.link_body().ok().filter(|body| !body.is_empty());
        }
        Ok(node)
    }

    /// Loads the attributes and, for a directory, the list. If the list cannot be read now, the
    /// first check reads it again. Where the tree is watched, the node is covered, and its
    /// attributes are read once more if they may be older than that.
    pub(crate) fn load(
        &self,
        (key, node): (NodeKey, &Reached),
        mut attributes: Attributes,
        handing: Handing,
    ) -> Result<Loaded<'_>, Errno> {
        let covering = self.tree.cover((key, node, &attributes), handing);
        if covering.read_again {
            attributes = from_statx(&node.stat().map_err(host)?)?;
        }
        let mut guard = None;
        if attributes.kind == FileType::Directory
            && let Ok(list) = self.guard_of(node, &attributes)
        {
            attributes.acl = if list.has_acl() { AclState::Present } else { AclState::Absent };
            guard = list.has_acl().then(|| Arc::new(list));
        }
        Ok(Loaded { attributes, covering, guard })
    }

    pub(crate) fn guard_of(&self, node: &Reached, attributes: &Attributes) -> Result<Guard, Errno> {
        let value = self.source.read(node, attributes.kind)?;
        let list = value.map(|value| acl::parse(&value)).transpose()?;
        Ok(Guard::new(attributes, list))
    }

    /// Opens a node to be read, listed or written.
    fn open_node(&self, key: NodeKey, what_for: OpenFor, wait: Wait) -> Result<Box<dyn OpenFile>, Errno> {
        if what_for.contains(OpenFor::WRITE) {
            self.tree.writable()?;
        }
        let file = Open::new(&self.tree, key, what_for);
        Ok(Box::new(if self.descriptors == Descriptors::AtOpen { file.at_once(wait)? } else { file }))
    }

    /// Returns the guard for checks of a node. It is stored if `keep` returns true and no
    /// attributes were reloaded meanwhile.
    fn guard(&self, key: NodeKey, keep: impl FnOnce(&Guard) -> bool) -> Result<Arc<Guard>, Errno> {
        let version = {
            let nodes = self.tree.nodes.read();
            if let Some(guard) = nodes.guard(key) {
                return Ok(guard);
            }
            nodes.refreshes()
        };
        let (node, attributes) = self.tree.reach_by_name(key)?;
        let guard = Arc::new(self.guard_of(&node, &attributes)?);
        if keep(&guard) {
            let mut nodes = self.tree.nodes.write();
            if nodes.refreshes() == version {
                nodes.set_guard(key, Some(Arc::clone(&guard)));
            }
        }
        Ok(guard)
    }
}

impl std::fmt::Debug for HostFs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostFs").field("root", &self.tree.root).field("mounts", &self.tree.mounts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
