//! The nodes of file handles, and their ways to the root.
//!
//! A handle leads to a node without a path, so the node may be one that is not cached. A directory
//! is never in the cache without its way to the root: the file system is asked for its parent and
//! its name, and so on up to a directory that is cached; then the names are looked up on the way
//! down, as by a walk. So each dentry comes from a lookup, under the lock of its directory. If a
//! lookup finds another node, a directory was moved meanwhile, and the search begins anew.
//!
//! A node that is no directory is taken at one of its names, where the file system finds one; at
//! one that the caller accepts, if the caches or the file system have such a name. Else its dentry
//! has no name, as that of a file which lost its last one.
//!
//! What it does not do: it checks no right, and refuses no place. The caller checks where it is.
//!
//! Source: `exportfs_decode_fh` and `reconnect_path` of Linux. Linux keeps directories that are not
//! connected yet in its cache, and connects them in place.

use super::Trees;
use super::iget::Origin;
use super::miss::Trust;
use super::superblock::Superblock;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::hold::{HandedOut, PinnedInode};
use crate::cache::icache::inode::{self, WORD};
use crate::cache::icache::probe::InodeView;
use crate::fs_api::{FileHandle, FoundName};
use crate::memory::slot::{DentryId, InodeId};
use crate::node::{Node, NodeKey};
use crate::sync::Ordering;

/// The maximum number of times that the way to a node is looked for. Each time but the first takes
/// another thread that moves a directory of it.
const TRIES: u32 = 100;

/// The maximum number of directories on a way that is looked for. Without it, a file system whose
/// answers lead in a circle would be asked without end.
const LEVELS: usize = 1 << 17;

/// The state of a search for the way to a node.
enum Way<'a> {
    Found(Pinned<'a>),
    /// A part of the way was moved or removed meanwhile.
    Changed,
    /// The file system knows no name of the node.
    NoName,
}

impl Trees {
    /// Returns the dentry of a handle's node. `ESTALE` if the node is gone, is a directory without
    /// a way to the root, or if the file system has no handles. Of a file with several names, it is
    /// one that the caller accepts, if the caches or the file system have one. `near` is what the
    /// file system is told. The caller has a pin on a mount of the superblock, and no lock.
    /// Afterwards it unmounts what was dropped.
    pub(crate) fn of_handle(
        &self,
        superblock: &Superblock,
        handle: &FileHandle,
        near: DentryId,
        accepts: impl Fn(DentryId) -> bool,
    ) -> Result<Pinned<'_>, Errno> {
        let near = inode::key_of(self.caches.inodes.record(self.caches.dentries.inode(near)));
        let decode = || superblock.fs.decode_handle(handle, near).map_err(stale_if_unsupported);
        let mut node = decode()?;
        // A node without a name is there as long as it is held. One that was held is dropped late.
        if node.attributes.nlink == 0 {
            superblock.fs.forget(node.key);
            self.caches.collect_removed();
            node = decode()?;
        }
        let handed_out = HandedOut::new(&self.caches, superblock.id, node.key);
        for attempt in 0..TRIES {
            let trust = if attempt == 0 { Trust::Cache } else { Trust::AskAlways };
            match self.way_to(superblock, &node, trust, &accepts)? {
                Way::Found(there) => return Ok(there),
                Way::Changed => {}
                Way::NoName => break,
            }
        }
        self.without_name(superblock, node, handed_out)
    }

    /// Returns the dentry of a node at one of its names: that which is cached unless the caller
    /// does not accept it, and then that which the file system finds, if it finds one.
    fn way_to(
        &self,
        superblock: &Superblock,
        node: &Node,
        trust: Trust,
        accepts: impl Fn(DentryId) -> bool,
    ) -> Result<Way<'_>, Errno> {
        let cached = self.connected(superblock, node.key);
        let only = node.attributes.kind == FileType::Directory;
        let cached = match cached {
            Some(cached) if only || accepts(cached.id()) => return Ok(Way::Found(cached)),
            cached => cached,
        };
        // Each directory stays handed out until its name was looked up, so its key stays its own.
        let (mut names, mut at) = (Vec::new(), node.key);
        let mut here = loop {
            if at != node.key
                && let Some(cached) = self.connected(superblock, at)
            {
                break cached;
            }
            let found = match superblock.fs.find_name(at) {
                Err(Errno::ESTALE) if at == node.key => return Ok(cached.map_or(Way::NoName, Way::Found)),
                Err(Errno::ESTALE) => return Ok(Way::Changed),
                found => found?,
            };
            let FoundName { dir, name } = found;
            names.push((at, name, HandedOut::new(&self.caches, superblock.id, dir.key)));
            if names.len() > LEVELS {
                return Ok(Way::NoName);
            }
            at = dir.key;
        };
        while let Some((key, name, _handed_out)) = names.pop() {
            match self.child(here.id(), &name, trust) {
                Ok(child) if self.is_node(child.id(), superblock, key) => here = child,
                Ok(_) | Err(Errno::ESTALE | Errno::ENOENT | Errno::ELOOP) => return Ok(Way::Changed),
                Err(errno) => return Err(errno),
            }
        }
        Ok(Way::Found(here))
    }

    /// Returns the dentry of a node that has a way to the root in the cache.
    fn connected(&self, superblock: &Superblock, key: NodeKey) -> Option<Pinned<'_>> {
        let root = superblock.root();
        if self.is_node(root, superblock, key) {
            return Some(Pinned::again(&self.caches, root));
        }
        self.cached_alias(superblock, key).filter(|alias| self.has_way(alias.id()))
    }

    /// Returns whether no dentry from this one up to the root was dropped from the table. If one is
    /// moved meanwhile, the result is true of some way that it had.
    fn has_way(&self, id: DentryId) -> bool {
        let mut at = id;
        while !self.caches.is_root(at) {
            if self.caches.dentries.word(at) & (flags::UNHASHED | flags::IN_LOOKUP) != 0 {
                return false;
            }
            at = self.caches.dentries.parent(at);
        }
        true
    }

    /// Returns the one dentry of a node that is cached and no link.
    fn cached_alias(&self, superblock: &Superblock, key: NodeKey) -> Option<Pinned<'_>> {
        let hash = self.caches.key_hash(superblock.id, key);
        let is_here = |view: InodeView| self.caches.superblock_of(view.id()) == superblock.id;
        let inode: PinnedInode<'_> = self.caches.pinned(self.caches.inodes.find_first(hash, key, is_here))?;
        let kind = inode::kind_of(self.caches.inodes.record(inode.id())[WORD].load(Ordering::Relaxed));
        if kind == FileType::Symlink { None } else { self.pin_alias(&inode) }
    }

    fn is_node(&self, id: DentryId, superblock: &Superblock, key: NodeKey) -> bool {
        let inode = self.caches.dentries.inode(id);
        inode != InodeId::NONE
            && self.caches.superblock_of(inode) == superblock.id
            && inode::key_of(self.caches.inodes.record(inode)) == key
    }

    /// Returns the dentry of a node that has no name: the one that a holder has, or, unless it is a
    /// directory, a new one.
    fn without_name<'a>(&'a self, superblock: &Superblock, node: Node, handed_out: HandedOut<'_>) -> Result<Pinned<'a>, Errno> {
        let is_removed = |alias: &Pinned<'_>| self.caches.dentries.word(alias.id()) & flags::REMOVED != 0;
        if let Some(alias) = self.cached_alias(superblock, node.key).filter(is_removed) {
            return Ok(alias);
        }
        if node.attributes.kind == FileType::Directory {
            return Err(Errno::ESTALE);
        }
        let reserved = self.caches.reserve_inode()?;
        let entry = Pinned::new(&self.caches, self.caches.new_dentry(superblock.root(), b"", flags::IN_LOOKUP)?);
        // As of a file that was unlinked: whether it may get a name depends on its link count.
        self.mark_removed(entry.id());
        let asked = self.caches.versions.ask();
        handed_out.pass_on();
        match self.iget(superblock, entry.id(), &node, reserved, Origin::Found(asked)) {
            Ok(()) => Ok(entry),
            Err(why) => {
                self.caches.discard(entry.into_id());
                Err(why.or(Errno::ESTALE))
            }
        }
    }
}

/// Returns the error of a file system that decodes no handles: it gave none, so each is stale.
fn stale_if_unsupported(errno: Errno) -> Errno {
    if errno == Errno::EOPNOTSUPP { Errno::ESTALE } else { errno }
}
