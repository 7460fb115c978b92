//! The file system itself: translates the engine's questions to system calls of the host.
//!
//! A lookup opens the name's whole path beneath the root, as a place only, and asks the descriptor.
//! A question by key uses the path under which the node was last found, and verifies that the same
//! node is still there. If it is not, the answer is `ESTALE`.
//!
//! Locks: the table of nodes. It is locked shared to read a path and exclusively to count. It is
//! never held across a system call.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AclState, Attributes, Directory, Errno, FileSystem, FileType, InodeFlags, Leases, MountFlags, Name, Node, NodeKey,
    OpenFile, OpenFor, Siblings, SpecialFiles, StatFs, SuperblockFlags, XattrName,
};
use rustix::fs::fstatfs;
use rustix::io;

use crate::OpenError;
use crate::acl;
use crate::attributes::from_statx;
use crate::beneath::{Reached, Root, errno};
use crate::guard::Guard;
use crate::key;
use crate::mounts::Mounts;
use crate::nodes::Nodes;
use crate::open_file::{Descriptors, Open, Wait};
use crate::xattr::Source;

/// A directory of the host, for trees that do not change meanwhile. The crate's documentation lists
/// its guarantees.
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
    pub(crate) root: Arc<Root>,
    key: NodeKey,
    pub(crate) source: Source,
    pub(crate) mounts: Arc<Mounts>,
    /// The table of nodes, shared with the open files.
    pub(crate) nodes: Arc<RwLock<Nodes>>,
    descriptors: Descriptors,
}

/// A node as it was just loaded.
struct Loaded {
    attributes: Attributes,
    /// The guard of the node, if it has a list.
    guard: Option<Arc<Guard>>,
}

impl HostFs {
    /// Opens the directory at `path`, following links in the path, as the root.
    ///
    /// `/` is a path like any other. After `chroot(2)`, open anew: a `HostFs` keeps the directory
    /// that it was opened on.
    pub fn open(path: &Path) -> Result<HostFs, OpenError> {
        let root = Arc::new(Root::open(path)?);
        let failed = |errno| OpenError::open(path, errno);
        let stat = root.reach(b"").and_then(|node| node.stat()).map_err(failed)?;
        let key = key::of(&stat).map_err(|_| OpenError::unsupported(path, "device or mount number out of range"))?;
        let mounts = Arc::new(Mounts::new(key, root.as_fd()).map_err(failed)?);
        let source = Source::probe(root.as_fd());
        let (nodes, descriptors) = (Arc::new(RwLock::new(Nodes::new(key))), Descriptors::default());
        Ok(HostFs { root, key, source, mounts, nodes, descriptors })
    }

    /// Sets when open files get their descriptors of the host. The default is
    /// [`Descriptors::AtOpen`].
    pub fn with_descriptors(self, descriptors: Descriptors) -> HostFs {
        HostFs { descriptors, ..self }
    }

    /// Returns the mount flags that only the engine can apply, for `VfsBuilder::mount_flags`. This
    /// is nosymfollow, if the root's mount has it. The engine then applies it to links on mounts
    /// below as well. Read-only and noexec are not included, because this file system applies them
    /// itself, mount by mount.
    pub fn mount_flags(&self) -> MountFlags {
        self.mounts.of(self.key).flags & MountFlags::NOSYMFOLLOW
    }

    /// Looks up `name` in a directory that was handed out.
    fn find(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let path = self.nodes.read().path_in(dir, name.bytes()).ok_or(Errno::ESTALE)?;
        let reached = match self.root.reach(&path) {
            Ok(reached) => reached,
            Err(io::Errno::NOENT) => return Ok(None),
            Err(other) => return Err(errno(other)),
        };
        let stat = reached.stat().map_err(errno)?;
        let key = key::of(&stat)?;
        let Loaded { attributes, guard } = self.load(&reached, from_statx(&stat)?);
        let rule = self.mounts.rule(key, attributes.kind, reached.fd()).map_err(errno)?;
        let mut node = Node::new(key, attributes).with_rule(rule);
        if attributes.kind == FileType::Symlink {
            // A body that cannot be read now, or is empty, is read again when it is needed. An
            // error is reported then.
            node.link_body = reached.link_body().ok().filter(|body| !body.is_empty());
        }
        let mut nodes = self.nodes.write();
        nodes.hold(key, dir, name.bytes()).ok_or(Errno::ESTALE)?;
        if guard.is_some() {
            nodes.set_guard(key, guard);
        }
        Ok(Some(node))
    }

    /// Loads the attributes and, for a directory, the list. If the list cannot be read now, the
    /// first check reads it again.
    fn load(&self, node: &Reached, mut attributes: Attributes) -> Loaded {
        let mut guard = None;
        if attributes.kind == FileType::Directory
            && let Ok(list) = self.guard_of(node, &attributes)
        {
            attributes.acl = if list.has_acl() { AclState::Present } else { AclState::Absent };
            guard = list.has_acl().then(|| Arc::new(list));
        }
        Loaded { attributes, guard }
    }

    fn guard_of(&self, node: &Reached, attributes: &Attributes) -> Result<Guard, Errno> {
        let value = self.source.read(node, attributes.kind)?;
        let list = value.map(|value| acl::parse(&value)).transpose()?;
        Ok(Guard::new(attributes, list))
    }

    /// Reaches a node that was handed out, by a descriptor of its own.
    fn reach(&self, key: NodeKey) -> Result<(Reached, Attributes), Errno> {
        let path = self.nodes.read().path_in(key, b"").ok_or(Errno::ESTALE)?;
        verified(key, self.root.reach(&path))
    }

    /// Opens a node to be read or listed.
    fn open_node(&self, key: NodeKey, what_for: OpenFor, wait: Wait) -> Result<Box<dyn OpenFile>, Errno> {
        if what_for.contains(OpenFor::WRITE) {
            return Err(Errno::EROFS);
        }
        let file = Open::new(self, key);
        Ok(Box::new(if self.descriptors == Descriptors::AtOpen { file.at_once(wait)? } else { file }))
    }

    /// Reaches a node by its name in its directory. That way its attributes are readable without
    /// any permission on the node itself.
    pub(crate) fn reach_by_name(&self, key: NodeKey) -> Result<(Reached, Attributes), Errno> {
        let (dir, name) = self.nodes.read().place(key).ok_or(Errno::ESTALE)?;
        verified(key, self.root.reach_in(&dir, name.bytes()))
    }

    /// Returns the guard for checks of a node. It is stored if `keep` returns true and no
    /// attributes were reloaded meanwhile.
    fn guard(&self, key: NodeKey, keep: impl FnOnce(&Guard) -> bool) -> Result<Arc<Guard>, Errno> {
        let version = {
            let nodes = self.nodes.read();
            if let Some(guard) = nodes.guard(key) {
                return Ok(guard);
            }
            nodes.refreshes()
        };
        let (node, attributes) = self.reach_by_name(key)?;
        let guard = Arc::new(self.guard_of(&node, &attributes)?);
        if keep(&guard) {
            let mut nodes = self.nodes.write();
            if nodes.refreshes() == version {
                nodes.set_guard(key, Some(Arc::clone(&guard)));
            }
        }
        Ok(guard)
    }
}

/// Verifies that the reached node has this key, and returns it with its attributes. Fails with
/// `ESTALE` if it has another key.
pub(crate) fn verified(key: NodeKey, reached: io::Result<Reached>) -> Result<(Reached, Attributes), Errno> {
    let stale = |e| if e == io::Errno::NOENT { Errno::ESTALE } else { errno(e) };
    let node = reached.map_err(stale)?;
    let stat = node.stat().map_err(stale)?;
    if key::of(&stat)? != key {
        return Err(Errno::ESTALE);
    }
    Ok((node, from_statx(&stat)?))
}

impl FileSystem for HostFs {
    fn root(&self) -> Result<Node, Errno> {
        let node = self.root.reach(b"").map_err(errno)?;
        let attributes = from_statx(&node.stat().map_err(errno)?)?;
        let Loaded { attributes, guard } = self.load(&node, attributes);
        let rule = self.mounts.rule(self.key, attributes.kind, node.fd()).map_err(errno)?;
        let mut nodes = self.nodes.write();
        nodes.hold_root();
        nodes.refresh_guard(self.key, guard);
        Ok(Node::new(self.key, attributes).with_rule(rule))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.find(dir.key(), name)
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        self.give_siblings(dir.key(), siblings)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let loaded = self.reach(node).map(|(reached, attributes)| self.load(&reached, attributes));
        // This drops the guard even if the node is gone, because its key may be reused.
        let guard = loaded.as_ref().ok().and_then(|loaded| loaded.guard.clone());
        self.nodes.write().refresh_guard(node, guard);
        loaded.map(|loaded| loaded.attributes)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        let (reached, attributes) = self.reach(node)?;
        if attributes.kind == FileType::Symlink { reached.link_body() } else { Err(Errno::EINVAL) }
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        // The guard is stored with or without a list: on read-only and noexec mounts every check
        // comes here.
        self.guard(node, |_| true)?.check(who, want, self.mounts.of(node))
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        // A node without a list needs no stored guard, because the engine remembers that there is
        // none.
        Ok(if self.guard(node, Guard::has_acl)?.has_acl() { AclState::Present } else { AclState::Absent })
    }

    /// Returns true: both lists of a node can be read. Setting one is `EROFS`.
    fn keeps_acls(&self) -> bool {
        true
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        let (node, attributes) = self.reach_by_name(node)?;
        let value = self.source.read_list(&node, attributes.kind, kind)?;
        Ok(value.map(|value| acl::parse(&value)).transpose()?.map(|(list, _)| list))
    }

    /// Fails with `EROFS`.
    fn set_acl(&self, _: NodeKey, _: AclKind, _: Option<&Acl>, _: Option<u16>) -> Result<Attributes, Errno> {
        Err(Errno::EROFS)
    }

    /// Returns true. Nothing on the host is changed, and each check uses the credentials that the
    /// engine passes. So a map changes only the ids under which the host's owners are shown.
    fn allows_id_maps(&self) -> bool {
        true
    }

    /// Returns read-only if the root's file system is read-only, its mount is not noexec, and
    /// nothing is mounted below the root.
    fn superblock_flags(&self) -> SuperblockFlags {
        self.mounts.by_engine()
    }

    fn forget(&self, node: NodeKey) {
        self.nodes.write().forget(node);
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.open_node(node, what_for, Wait::ForHost)
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.open_node(node, what_for, Wait::Never)
    }

    /// Refuses them all: the other end of a pipe may be in another process, and the open of a
    /// device may do something on the host.
    fn special_files(&self) -> SpecialFiles {
        SpecialFiles::Refused
    }

    /// Refuses them: the opens of other processes break none.
    fn leases(&self) -> Leases {
        Leases::Refused
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        let of_root = fstatfs(self.root.as_fd()).map_err(errno)?;
        let mut stat = StatFs::default();
        stat.kind = of_root.f_type as u64;
        stat.block_size = of_root.f_bsize as u64;
        stat.blocks = of_root.f_blocks;
        stat.blocks_free = of_root.f_bfree;
        stat.blocks_available = of_root.f_bavail;
        stat.files = of_root.f_files;
        stat.files_free = of_root.f_ffree;
        stat.name_max = of_root.f_namelen as u64;
        stat.flags = self.mounts.of(self.key).flags;
        Ok(stat)
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        self.xattr(node, name)
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        self.each_xattr(node, each)
    }

    /// Opens the node on the host, which requires that this process may read it (`EACCES`).
    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        match self.attributes(node)?.kind {
            FileType::Regular | FileType::Directory => Open::new(self, node).inode_flags(),
            _ => Err(Errno::ENOTTY),
        }
    }

    fn memory(&self) -> u64 {
        size_of::<HostFs>() as u64 + self.nodes.read().memory() + self.mounts.memory()
    }
}

impl std::fmt::Debug for HostFs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostFs").field("root", &self.root).field("mounts", &self.mounts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
