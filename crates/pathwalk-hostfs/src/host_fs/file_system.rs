//! The engine's interface: each method asks the host, or hands on to the module that does.

use std::os::fd::{AsFd, BorrowedFd};

use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AclState, Attributes, Details, Directory, Errno, FileHandle, FileSystem, FileType, FoundName, FoundToRead, Freshness,
    HandleFor, InodeFlags, Leases, MountFlags, Name, NewNode, Node, NodeKey, Notifier, OpenFile, OpenFor, RenameFlags,
    SetAttributes, Siblings, SpecialFiles, StatFs, StatxMask, SuperblockFlags, Sweep, Validity, XattrFlags, XattrName,
};
use rustix::fs::{OFlags, fstatfs, syncfs};

use super::HostFs;
#[cfg(doc)]
use crate::Coherence;
use crate::acl;
use crate::attributes::{details_of, from_statx};
use crate::beneath::{errno, open_beneath};
use crate::changed::SyncAtEnd;
use crate::guard::Guard;
use crate::key;
use crate::nodes::Forgotten;
use crate::open_file::{Open, Wait, host};
use crate::opening::TO_READ;
use crate::ttl::Ttl;
use crate::watch::coverage::Handing;

/// The largest size of a file that each file system of Linux allows, in bytes. Source:
/// `MAX_NON_LFS`.
const ALWAYS_FITS: u64 = (1 << 31) - 1;

impl FileSystem for HostFs {
    fn root(&self) -> Result<Node, Errno> {
        let reached = self.tree.root.reach(b"").map_err(errno)?;
        let loaded = self.load((self.key, &reached), from_statx(&reached.stat().map_err(errno)?)?, Handing::Out)?;
        let node = self.node(self.key, &reached, &loaded)?;
        let mut nodes = self.tree.nodes.write();
        nodes.hold_root();
        nodes.refresh_guard(self.key, loaded.guard);
        Ok(node)
    }

    /// Begins to watch the tree in the mode [`Coherence::Watch`], or to have answers asked for
    /// again in the mode [`Coherence::Ttl`].
    fn attached(&self, notifier: Notifier) {
        self.begin_to_expire(&notifier);
        self.begin_to_watch(notifier);
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.tree.with_room(|| self.find(dir.key(), name))
    }

    /// Opens what it finds at once, where that has no effect.
    fn lookup_to_read(
        &self,
        dir: &Directory<'_>,
        name: Name<'_>,
        expected: Option<FileType>,
    ) -> Result<Option<FoundToRead>, Errno> {
        self.tree.with_room(|| self.find_to_read(dir, name, expected))
    }

    /// Asks the host about a name: in the mode [`Coherence::Strict`] before each use, in
    /// [`Coherence::Watch`] in directories that are not watched.
    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        let freshness = if node.is_some() { self.tree.freshness(dir.key()) } else { self.absence_in(dir.key()) };
        if freshness == Freshness::Stable {
            return Ok(Validity::Valid);
        }
        let is_valid = self.tree.with_room(|| self.tree.still_leads(dir.key(), name, node))?;
        Ok(if is_valid { Validity::Valid } else { Validity::Invalid })
    }

    fn absence_in(&self, dir: NodeKey) -> Freshness {
        self.tree.ttl.get().map_or_else(|| self.tree.freshness(dir), |ttl| ttl.freshness(Sweep::ABSENCES))
    }

    /// Looks at the directory, in the mode [`Coherence::Ttl`]: once for all names that a pass has
    /// marked.
    fn confirm(&self, dir: &Directory<'_>, _: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        let Some(ttl) = self.tree.ttl.get() else { return Ok(None) };
        let of = if node.is_some() { Sweep::NAMES } else { Sweep::ABSENCES };
        let holds = ttl.confirms(dir.key(), of, || self.tree.stamp(dir.key()));
        Ok(holds.then(|| ttl.freshness(of)))
    }

    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        self.tree.attributes_freshness(node)
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        self.give_siblings(dir.key(), siblings)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.attributes_with(node, |_, _| Ok(())).map(|(attributes, ())| attributes)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        let (reached, attributes) = self.tree.reach(node)?;
        if attributes.kind == FileType::Symlink { reached.link_body() } else { Err(Errno::EINVAL) }
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        // The guard is stored with or without a list: on read-only and noexec mounts every check
        // comes here.
        self.guard(node, |_| true)?.check(who, want, self.tree.mounts.of(node))
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        // A node without a list needs no stored guard, because the engine remembers that there is
        // none.
        Ok(if self.guard(node, Guard::has_acl)?.has_acl() { AclState::Present } else { AclState::Absent })
    }

    /// Returns true: both lists of a node can be read and, where changes are carried out, set.
    fn keeps_acls(&self) -> bool {
        true
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        let (node, attributes) = self.tree.reach_by_name(node)?;
        let value = self.source.read_list(&node, attributes.kind, kind)?;
        Ok(value.map(|value| acl::parse(&value)).transpose()?.map(|(list, _)| list))
    }

    /// Returns true on a tmpfs alone.
    fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
        self.tree.mounts.of(node).has_simple_acls
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.set_list(node, kind, acl, mode))
    }

    /// Returns true: each check and change uses the ids that the engine passes.
    fn allows_id_maps(&self) -> bool {
        true
    }

    /// Returns read-only if the root's file system is read-only, its mount is not noexec, and
    /// nothing is mounted below the root.
    fn superblock_flags(&self) -> SuperblockFlags {
        self.tree.mounts.by_engine()
    }

    fn forget(&self, node: NodeKey) {
        let mut nodes = self.tree.nodes.write();
        let forgotten = nodes.forget(node);
        let lost = self.tree.ttl.get().filter(|_| key::kind_of(node) == Some(FileType::Directory) && !nodes.is_held(node));
        let done_with = nodes.take_done_with();
        drop(nodes);
        drop(done_with);
        if let Some(ttl) = lost {
            ttl.forget(node);
        }
        if let (Forgotten::ForGood, Some(watch)) = (forgotten, self.tree.watch.get()) {
            watch.forget(&self.tree, node);
        }
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.open_node(node, what_for, Wait::ForHost)
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.open_node(node, what_for, Wait::Never)
    }

    /// Refuses them all unless [`HostFs::with_special_files`] was called: the other end of a pipe
    /// may be in another process, and the open of a device may do something on the host.
    fn special_files(&self) -> SpecialFiles {
        self.special_files
    }

    /// Refuses them unless [`HostFs::with_leases`] was called: the opens of other processes break
    /// none.
    fn leases(&self) -> Leases {
        self.leases
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        statfs(self.tree.root.as_fd(), self.tree.mounts.of(self.key).flags)
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        let (reached, _) = self.tree.reach(node)?;
        statfs(reached.fd(), self.tree.mounts.of(node).flags)
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
            FileType::Regular | FileType::Directory => Open::new(&self.tree, node, OpenFor::READ).inode_flags(),
            _ => Err(Errno::ENOTTY),
        }
    }

    /// Returns the time of the last change as a cookie, where the host's file system gives each
    /// change after a request for it another one (Linux 6.13, on ext4, XFS, Btrfs and tmpfs); and
    /// the number of the subvolume.
    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        let (attributes, details) = self.attributes_with(node, |reached, found| details_of(reached, found, wanted))?;
        Ok(details.with_attributes(attributes))
    }

    /// Opens the node on the host, as [`inode_flags`](FileSystem::inode_flags) does. It cannot be
    /// set: by the host's handle, which has it, a node is told from others.
    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        match self.attributes(node)?.kind {
            FileType::Regular | FileType::Directory => Open::new(&self.tree, node, OpenFor::READ).generation(),
            _ => Err(Errno::ENOTTY),
        }
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let _changing = self.tree.changing()?;
        let made = self.tree.with_room(|| self.make(dir.key(), name, new))?;
        Ok(made.with_freshness(self.tree.freshness(dir.key())))
    }

    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.make_unnamed(dir.key(), new))
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        let _changing = self.tree.changing()?;
        let linked = self.tree.with_room(|| self.link_in(node, dir.key(), name))?;
        Ok(linked.with_freshness(self.tree.freshness(dir.key())))
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.unlink_in(dir.key(), name, node))
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.rename_in((from.0.key(), from.1), (to.0.key(), to.1), flags))
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.set(node, set))
    }

    /// Seeks to that position in a file that is opened for reading, which has the same limit; not
    /// for a size that each file system of Linux allows. If this process may not read the file, the
    /// change of the size is what fails.
    fn check_size(&self, node: NodeKey, size: u64) -> Result<(), Errno> {
        self.tree.writable()?;
        if size <= ALWAYS_FITS {
            return Ok(());
        }
        self.tree.with_room(|| match Open::new(&self.tree, node, OpenFor::READ).check_size(size) {
            Err(Errno::EFBIG) => self.refused_size(node, size),
            checked => checked,
        })
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.set_value(node, name, value, flags))
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        let _changing = self.tree.changing()?;
        self.tree.with_room(|| self.remove_value(node, name))
    }

    /// Opens the node on the host, as [`inode_flags`](FileSystem::inode_flags) does.
    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        let _changing = self.tree.changing()?;
        Open::new(&self.tree, node, OpenFor::READ).set_inode_flags(to)?;
        self.attributes(node)
    }

    fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        self.tree.with_room(|| self.handle_of(node, what_for))
    }

    /// Takes the name below `near` of a file with several names, if the handle is connectable and
    /// the host knows such a name.
    fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        self.tree.with_room(|| self.node_of(handle, near))
    }

    /// Returns the name under which the node was found last, and searches no other.
    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.tree.with_room(|| self.name_of(node))
    }

    /// Puts the whole file system of the root on stable storage, if changes are carried out.
    fn sync(&self) -> Result<(), Errno> {
        if self.tree.writable().is_err() {
            return Ok(());
        }
        let root = open_beneath(self.tree.root.as_fd(), b".", TO_READ | OFlags::DIRECTORY).map_err(errno)?;
        self.tree.changed.synced(|| syncfs(root).map_err(host))
    }

    /// Does so if something was changed since the last time. What others have changed on the host
    /// is theirs to sync.
    fn sync_at_end(&self) -> Result<(), Errno> {
        match self.end {
            SyncAtEnd::IfChanged if self.tree.changed.is_set() => self.sync(),
            SyncAtEnd::IfChanged | SyncAtEnd::Never => Ok(()),
        }
    }

    fn memory(&self) -> u64 {
        size_of::<HostFs>() as u64
            + self.tree.nodes.read().memory()
            + self.tree.open.memory()
            + self.tree.mounts.memory()
            + self.tree.watch.get().map_or(0, |watch| watch.memory())
            + self.tree.ttl.get().map_or(0, Ttl::memory)
    }
}

/// Returns size and limits of the file system that `fd` is on.
fn statfs(fd: BorrowedFd<'_>, flags: MountFlags) -> Result<StatFs, Errno> {
    let found = fstatfs(fd).map_err(errno)?;
    let mut stat = StatFs::default();
    stat.kind = found.f_type as u64;
    stat.block_size = found.f_bsize as u64;
    stat.blocks = found.f_blocks;
    stat.blocks_free = found.f_bfree;
    stat.blocks_available = found.f_bavail;
    stat.files = found.f_files;
    stat.files_free = found.f_ffree;
    stat.name_max = found.f_namelen as u64;
    stat.flags = flags;
    Ok(stat)
}
