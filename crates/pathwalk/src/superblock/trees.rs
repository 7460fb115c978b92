//! The caches and the file systems behind them.

use std::sync::Arc;

use super::iget::Origin;
use super::superblocks::{SuperblockRef, Superblocks};
use super::{AskedFor, Dropped};
use crate::Errno;
use crate::attr::FileType;
use crate::cache::Caches;
use crate::cache::icache::hold::HandedOut;
use crate::cache::icache::inode::key_of;
use crate::events::Hub;
use crate::fs_api::{FileSystem, Notifier, Relay};
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::node::{Freshness, Node};

/// The caches and the file systems that are asked on a miss. No part is replaced after
/// construction.
pub(crate) struct Trees {
    /// The caches, dropped first, because that tells the file systems to forget each node.
    pub(crate) caches: Caches,
    pub(crate) superblocks: Arc<Superblocks>,
    /// The link from the file systems' notifiers to this.
    pub(crate) relay: Arc<Relay>,
    /// The subscriptions to changes.
    pub(crate) events: Hub,
    /// The entries that were dropped with something mounted on them. The caller of a lookup
    /// unmounts that.
    pub(crate) dropped: Dropped,
    /// The counts of names looked up one by one; `None` if the engine never asks for siblings.
    pub(crate) asked_for: Option<AskedFor>,
}

/// The reason why a file system has no root.
pub(crate) enum NoRoot {
    Failed(Errno),
    NotADirectory,
}

impl From<Errno> for NoRoot {
    fn from(errno: Errno) -> Self {
        NoRoot::Failed(errno)
    }
}

impl Trees {
    /// Returns the superblock of an inode on which the caller has a pin.
    pub(crate) fn superblock(&self, inode: InodeId) -> SuperblockRef {
        self.superblocks.get(self.caches.superblock_of(inode))
    }

    /// Returns the superblock of a dentry on which the caller has a pin, and that is not negative.
    pub(crate) fn superblock_at(&self, dentry: DentryId) -> SuperblockRef {
        self.superblock(self.caches.dentries.inode(dentry))
    }

    /// Returns how long absences in a directory are valid that its file system gives now. Asked
    /// after the counts were read that show a later report, since an answer may end with a report.
    pub(crate) fn absence_in(&self, dir: DentryId) -> Freshness {
        let key = key_of(self.caches.inodes.record(self.caches.dentries.inode(dir)));
        self.superblock_at(dir).fs.absence_in(key)
    }

    /// Returns whether absences in a directory hold until its file system, or a change, ends them.
    pub(crate) fn absence_lasts(&self, dir: DentryId) -> bool {
        self.absence_in(dir) != Freshness::AskEachTime
    }

    /// Takes a file system in and makes its root's dentry: pinned, its own parent, in no list and
    /// no table. The caller mounts it, or shuts it down. `ENFILE` if the budget is used up,
    /// `ENOSPC` if there are too many file systems.
    pub(crate) fn enter(&self, fs: Arc<dyn FileSystem>) -> Result<SuperblockRef, NoRoot> {
        let reserved = self.caches.reserve_inode()?;
        let superblock = self.superblocks.enter(fs)?;
        let entered = Entered { superblocks: &self.superblocks, id: superblock.id };
        superblock.fs.attached(Notifier::new(self.relay.clone(), superblock.reporter()));
        let asked = self.caches.doubts.of_nodes();
        let node = superblock.fs.root()?;
        let handed_out = HandedOut::new(&self.caches, superblock.id, node.key);
        if node.attributes.kind != FileType::Directory {
            return Err(NoRoot::NotADirectory);
        }
        let root = self.caches.new_root()?;
        handed_out.pass_on();
        let stable = Node { freshness: Freshness::Stable, ..node };
        let given = self.iget(&superblock, root, &stable, reserved, Origin::Made(asked));
        debug_assert!(given.is_ok(), "no other inode of the superblock is cached");
        superblock.set_root(root);
        entered.stay();
        Ok(superblock)
    }
}

/// The number of a superblock that leaves the table again unless it gets a root.
struct Entered<'a> {
    superblocks: &'a Superblocks,
    id: SuperblockId,
}

impl Entered<'_> {
    fn stay(self) {
        std::mem::forget(self);
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.superblocks.leave(self.id);
    }
}
