//! The assignment of inodes to nodes that a file system handed out: the inode of the node's key, or
//! a new one.
//!
//! The first probe takes no lock. A miss takes the lock of the key's bucket, probes again, exactly,
//! and inserts. An inode is filled before it is in the table, so no thread waits for one.

use super::Trees;
use super::superblock::Superblock;
use crate::cache::dcache::doubt::OfNodes;
use crate::cache::icache::access::Owed;
use crate::cache::icache::hold::{HandedOut, NotGiven, Reserved};
use crate::cache::icache::inode::{self, Record, flags, of_type};
use crate::cache::icache::probe::InodeView;
use crate::cache::icache::store::unless_stable;
use crate::cache::icache::versions::Asked;
use crate::cache::join::filled;
use crate::memory::slot::DentryId;
use crate::node::Node;

/// The way in which a node came from its file system.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    /// The file system was asked for it. The versions were read before.
    Found(Asked),
    /// It was made, or is a root: no other thread of this `Vfs` can know of it yet. The count of
    /// reports was read before.
    Made(OfNodes),
}

impl Trees {
    /// Gives a dentry without an inode the inode of a node that the file system handed out: the
    /// cached one, or a new one in the reserved slot. The pin on the inode is the dentry's.
    /// Accounts for the node's `forget`.
    ///
    /// If attributes were set since the file system was asked for the node, those in the node may
    /// be old, and are read again before other threads see the inode. Fails with the errors of that
    /// read, and with `ESTALE` if the key belongs to a node of another type.
    pub(crate) fn iget(
        &self,
        superblock: &Superblock,
        id: DentryId,
        node: &Node,
        reserved: Reserved<'_>,
        origin: Origin,
    ) -> Result<(), NotGiven<'_>> {
        let hash = self.caches.key_hash(superblock.id, node.key);
        let is_here = |view: InodeView| self.caches.superblock_of(view.id()) == superblock.id;
        self.caches.inodes.fetch_place(hash);
        if matches!(origin, Origin::Found(_))
            && let Some(found) = self.caches.pinned(self.caches.inodes.find_first(hash, node.key, is_here))
        {
            return self.caches.give_found(id, found, node);
        }
        self.iget_new(superblock, id, node, reserved, origin)
    }

    /// Does the same for a node that is unlikely to have an inode.
    pub(crate) fn iget_new(
        &self,
        superblock: &Superblock,
        id: DentryId,
        node: &Node,
        reserved: Reserved<'_>,
        origin: Origin,
    ) -> Result<(), NotGiven<'_>> {
        let hash = self.caches.key_hash(superblock.id, node.key);
        let is_here = |view: InodeView| self.caches.superblock_of(view.id()) == superblock.id;
        let body = self.caches.store_body(node);
        let (mut attributes, mut origin, mut is_second) = (inode::normalised(node.attributes), origin, false);
        let mut owed = self.owed(superblock, &attributes);
        let handed_out = HandedOut::new(&self.caches, superblock.id, node.key);
        let mut asked_for = unless_stable(superblock.fs.attributes_freshness(node.key));
        handed_out.pass_on();
        loop {
            let held = self.caches.inodes.lock_bucket(hash);
            if let Some(found) = self.caches.pinned(self.caches.inodes.find_held(hash, node.key, is_here, &held)) {
                drop(held);
                return self.caches.give_found(id, found, node);
            }
            let versions = &self.caches.versions;
            let is_news = match origin {
                Origin::Found(asked) => versions.no_sets_since(asked),
                Origin::Made(_) => true,
            };
            // A file system that reports something whenever it is asked is not asked without end.
            if is_news || is_second {
                let stale = match origin {
                    Origin::Found(_) if !is_news => flags::STALE | flags::MARKED | flags::UNKNOWN,
                    Origin::Found(asked) if versions.no_changes_since(asked) => 0,
                    Origin::Found(_) => flags::STALE | flags::MARKED,
                    // A node that was just made has no capability. (Of a root, which is a
                    // directory, none is ever removed.)
                    Origin::Made(asked) if self.caches.doubts.of_nodes() == asked => flags::NO_CAPABILITY,
                    Origin::Made(_) => flags::STALE | flags::MARKED | flags::UNKNOWN,
                };
                let stale = if asked_for != 0 { stale & !flags::NO_CAPABILITY | asked_for } else { stale };
                let changed = stale & flags::STALE != 0;
                let owed = if changed && owed != Owed::NotKept { Owed::Update } else { owed };
                let inode = reserved.into_id();
                let fill = |record: &Record| {
                    self.caches.set_superblock(inode, superblock.id);
                    filled(record, node, &attributes, (body, owed), id) | stale
                };
                superblock.came();
                self.caches.inodes.insert(inode, node.key, hash, &held, fill);
                self.caches.give_new(id, inode, node.freshness, held.stripe());
                return Ok(());
            }
            drop(held);
            (origin, is_second) = (Origin::Found(self.caches.versions.ask()), true);
            let handed_out = HandedOut::new(&self.caches, superblock.id, node.key);
            asked_for = unless_stable(superblock.fs.attributes_freshness(node.key));
            attributes = of_type(node.attributes.kind, superblock.fs.attributes(node.key)?)?;
            handed_out.pass_on();
            owed = self.owed(superblock, &attributes);
        }
    }
}
