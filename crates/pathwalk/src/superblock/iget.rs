//! The assignment of inodes to nodes that a file system handed out: the inode of the node's key, or
//! a new one.
//!
//! The first probe takes no lock. A miss takes the lock of the key's bucket, probes again, exactly,
//! and inserts. An inode is filled before it is in the table, so no thread waits for one.

use super::Trees;
use super::superblock::Superblock;
use crate::cache::icache::access::Owed;
use crate::cache::icache::hold::{HandedOut, NotGiven, Reserved};
use crate::cache::icache::inode::{self, Record, flags, of_type};
use crate::cache::icache::probe::InodeView;
use crate::cache::icache::versions::Asked;
use crate::cache::join::filled;
use crate::memory::slot::DentryId;
use crate::node::Node;

impl Trees {
    /// Gives a dentry without an inode the inode of a node that the file system handed out: the
    /// cached one, or a new one in the reserved slot. The pin on the inode is the dentry's.
    /// Accounts for the node's `forget`.
    ///
    /// `asked` was read before the file system was asked for the node. If attributes were set
    /// since, those in the node may be old, and are read again before other threads see the inode.
    /// `None` means that no other thread can know of the node yet. Fails with the errors of that
    /// read, and with `ESTALE` if the key belongs to a node of another type.
    pub(crate) fn iget(
        &self,
        superblock: &Superblock,
        id: DentryId,
        node: &Node,
        reserved: Reserved<'_>,
        asked: Option<Asked>,
    ) -> Result<(), NotGiven<'_>> {
        let hash = self.caches.key_hash(superblock.id, node.key);
        let is_here = |view: InodeView| self.caches.superblock_of(view.id()) == superblock.id;
        self.caches.inodes.fetch_place(hash);
        if let Some(found) = asked.and_then(|_| self.caches.pinned(self.caches.inodes.find_first(hash, node.key, is_here))) {
            return self.caches.give_found(id, found, node);
        }
        self.iget_new(superblock, id, node, reserved, asked)
    }

    /// Does the same for a node that is unlikely to have an inode.
    pub(crate) fn iget_new(
        &self,
        superblock: &Superblock,
        id: DentryId,
        node: &Node,
        reserved: Reserved<'_>,
        asked: Option<Asked>,
    ) -> Result<(), NotGiven<'_>> {
        let hash = self.caches.key_hash(superblock.id, node.key);
        let is_here = |view: InodeView| self.caches.superblock_of(view.id()) == superblock.id;
        let body = self.caches.store_body(node);
        let (mut attributes, mut asked) = (inode::normalised(node.attributes), asked);
        let mut owed = self.owed(superblock, &attributes);
        loop {
            let held = self.caches.inodes.lock_bucket(hash);
            if let Some(found) = self.caches.pinned(self.caches.inodes.find_held(hash, node.key, is_here, &held)) {
                drop(held);
                return self.caches.give_found(id, found, node);
            }
            if asked.is_none_or(|asked| self.caches.versions.no_sets_since(asked)) {
                let changed = asked.is_some_and(|asked| !self.caches.versions.no_changes_since(asked));
                let stale = if changed { flags::STALE | flags::MARKED } else { 0 };
                // A node that was just made has no capability. (Of a root, which is a directory,
                // none is ever removed.)
                let noted = if asked.is_none() { flags::NO_CAPABILITY } else { 0 };
                let owed = if changed && owed != Owed::NotKept { Owed::Update } else { owed };
                let inode = reserved.into_id();
                let fill = |record: &Record| {
                    self.caches.set_superblock(inode, superblock.id);
                    filled(record, node, &attributes, (body, owed), id) | stale | noted
                };
                superblock.came();
                self.caches.inodes.insert(inode, node.key, hash, &held, fill);
                self.caches.give_new(id, inode, node.freshness, held.stripe());
                return Ok(());
            }
            drop(held);
            asked = Some(self.caches.versions.ask());
            let handed_out = HandedOut::new(&self.caches, superblock.id, node.key);
            attributes = of_type(node.attributes.kind, superblock.fs.attributes(node.key)?)?;
            handed_out.pass_on();
            owed = self.owed(superblock, &attributes);
        }
    }
}
