//! Finding the inode of a key, or making it; giving it back.
//!
//! The first probe takes no lock: it reads the key under the record's count, then pins. A miss takes the lock of the key's stripe,
//! probes again, exactly, and inserts. An inode that nobody pins any more is freed at once; the file system is told outside all
//! locks. (It may have handed out the node again meanwhile: it counts, see `FileSystem::forget`.)

use super::inode::{self, LINKS_AUX, WORD, flags, set_fields, set_key};
use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::dcache::dentry::InodeId;
use crate::fs_api::{Node, NodeKey};
use crate::limits::LINK_MAX;
use crate::memory::reclaim::Short;
use crate::memory::side::{Chain, TEXT_BYTES};
use crate::memory::{pin, seqcount};
use crate::sync::{MutexGuard, Ordering};
use crate::vfs::Core;
use crate::walk::component::fold;

/// An inode's slot, taken before the file system is called so that its answer can always be kept.
pub(crate) struct Reserved<'a> {
    core: &'a Core,
    id: InodeId,
}

impl Reserved<'_> {
    fn into_id(self) -> InodeId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

/// A pin on an inode, given back when dropped.
pub(crate) struct PinnedInode<'a> {
    core: &'a Core,
    id: InodeId,
}

impl<'a> PinnedInode<'a> {
    /// Another pin of an inode that somebody holds one of.
    pub(crate) fn again(core: &'a Core, id: InodeId) -> Self {
        pin::pin_again(core.inodes.life(id));
        PinnedInode { core, id }
    }

    pub(crate) fn id(&self) -> InodeId {
        self.id
    }

    /// Hands the pin over.
    pub(crate) fn into_id(self) -> InodeId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Drop for PinnedInode<'_> {
    fn drop(&mut self) {
        self.core.iput(self.id);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.core.inodes.give(self.id);
    }
}

impl Core {
    /// Takes a slot for an inode. `ENFILE` if the budget is used up by what is pinned.
    pub(crate) fn reserve_inode(&self) -> Result<Reserved<'_>, Errno> {
        let id = self.take(Short::Dentries, || self.inodes.take())?;
        let reserved = Reserved { core: self, id };
        self.make_room_for_body();
        Ok(reserved)
    }

    /// Evicts until the longest body would fit, or nothing helps; a body that does not fit is left out.
    fn make_room_for_body(&self) {
        const LINES: u32 = LINK_MAX.div_ceil(TEXT_BYTES) as u32;
        let wanted = LINES.min(self.side.free().capacity() / 4);
        let mut tries = LINES;
        while self.side.free().left() < wanted && tries > 0 && self.evict_one(Short::SideLines) {
            tries -= 1;
        }
    }

    fn key_hash(&self, key: NodeKey) -> u64 {
        let (low, high) = (key.0 as u64, (key.0 >> 64) as u64);
        fold(fold(low ^ self.inode_seed, INODE_MULTIPLIER) ^ high, self.inode_seed | 1)
    }

    /// The lock of an inode that the caller has a pin on.
    pub(crate) fn lock_inode(&self, id: InodeId) -> MutexGuard<'_, ()> {
        self.inodes.lock(self.key_hash(inode::key_of(self.inodes.record(id))))
    }

    /// The inode of a node that the file system handed out: the cached one, or a new one in the slot that was reserved. Accounts for
    /// the node's `forget`.
    ///
    /// `sets` was read before the node was asked for: if attributes were set since, those in the node may be old, and are
    /// asked for again before anybody sees the inode. `None`: nobody else can know of the node yet. Errors of that asking.
    pub(crate) fn iget(&self, node: &Node, reserved: Reserved<'_>, sets: Option<u64>) -> Result<PinnedInode<'_>, Errno> {
        let hash = self.key_hash(node.key);
        if let Some(found) = self.find_inode(node.key, hash) {
            self.fs.forget(node.key);
            return Ok(PinnedInode { core: self, id: found });
        }
        let (mut attributes, mut sets) = (node.attributes, sets);
        loop {
            let held = self.inodes.lock(hash);
            if let Some(found) = self.probe_inode(node.key, hash) {
                let pinned = self.pin_held(found);
                drop(held);
                self.fs.forget(node.key);
                return Ok(pinned);
            }
            if sets.is_none_or(|sets| self.versions.sets() == sets) {
                let id = reserved.into_id();
                self.fill_inode(id, node, &attributes);
                self.inodes.table().put(hash, id.0);
                return Ok(PinnedInode { core: self, id });
            }
            drop(held);
            sets = Some(self.versions.sets());
            attributes = self.fs.attributes(node.key).inspect_err(|_| self.fs.forget(node.key))?;
        }
    }

    /// Pins an inode that is in the table and whose lock is held.
    fn pin_held(&self, id: InodeId) -> PinnedInode<'_> {
        let life = self.inodes.life(id);
        let pinned = pin::read(life).is_some_and(|of| pin::pin(life, of));
        assert!(pinned, "an inode is killed under its lock");
        PinnedInode { core: self, id }
    }

    fn fill_inode(&self, id: InodeId, node: &Node, attributes: &Attributes) {
        let body = self.store_body(node);
        let record = self.inodes.record(id);
        let writing = seqcount::write(&record[WORD]);
        set_key(record, node.key);
        let length = node.link_body.as_ref().map_or(0, |body| body.len());
        set_fields(record, attributes, if body.is_some() { length } else { 0 });
        inode::set_links(record, attributes.nlink, body.unwrap_or(0));
        let body_flag = match (&node.link_body, body) {
            (_, Some(_)) => flags::BODY,
            (Some(_), None) => flags::BODY_LEFT_OUT,
            (None, None) => 0,
        };
        writing.end(inode::word_of(attributes, node.rule) | body_flag);
        pin::revive(self.inodes.life(id));
    }

    /// A link's body in side lines; `None` where there is none to cache or no room: then the file system is asked each time. Evicts
    /// nothing, since the inode's lock is held: that was done when the slot was reserved.
    fn store_body(&self, node: &Node) -> Option<Chain> {
        let body = node.link_body.as_deref()?;
        let fit = node.attributes.kind == FileType::Symlink && (1..=LINK_MAX).contains(&body.len()) && !body.contains(&0);
        if !fit {
            return None;
        }
        self.side.store(body)
    }

    /// The inode of a key, pinned, if it is cached. Takes no lock; may miss one that is put or freed meanwhile.
    fn find_inode(&self, key: NodeKey, hash: u64) -> Option<InodeId> {
        let id = self.probe_inode(key, hash)?;
        let record = self.inodes.record(id);
        let word = seqcount::sample(&record[WORD]);
        let life = pin::read(self.inodes.life(id))?;
        // Key and life were read of one and the same inode; then the pin is of that one.
        let same = inode::key_of(record) == key && word & seqcount::ODD == 0 && seqcount::unchanged(&record[WORD], word);
        (same && pin::pin(self.inodes.life(id), life)).then_some(id)
    }

    /// The slot with this key; exact under the lock, else to be checked.
    fn probe_inode(&self, key: NodeKey, hash: u64) -> Option<InodeId> {
        self.inodes.table().find(hash, |slot| {
            let id = InodeId(slot);
            (slot != 0 && inode::key_of(self.inodes.record(id)) == key).then_some(id)
        })
    }

    /// Gives a count back; frees the inode if it was the last.
    pub(crate) fn iput(&self, id: InodeId) {
        if !pin::unpin(self.inodes.life(id)) {
            return;
        }
        // Whoever gives back the last count tries; if somebody takes one meanwhile, he will try in his turn.
        while pin::is_idle(self.inodes.life(id)) {
            if self.free_idle(id) {
                return;
            }
        }
    }

    fn free_idle(&self, id: InodeId) -> bool {
        let record = self.inodes.record(id);
        let word = seqcount::sample_even(&record[WORD]);
        let key = inode::key_of(record);
        let hash = self.key_hash(key);
        let held = self.inodes.lock(hash);
        if !seqcount::unchanged(&record[WORD], word) || !pin::kill(self.inodes.life(id)) {
            return false;
        }
        let writing = seqcount::write(&record[WORD]);
        self.inodes.table().remove(hash, id.0);
        let body = if word & flags::BODY != 0 { inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed)) } else { 0 };
        set_key(record, NodeKey(0));
        writing.end(0);
        drop(held);
        self.side.release(body);
        self.inodes.give(id);
        self.fs.forget(key);
        true
    }

    /// Tells the file system of every node that is still held: the `Vfs` is going.
    pub(crate) fn forget_all(&self) {
        for slot in 1..self.inodes.free().touched() {
            let id = InodeId(slot);
            if pin::read(self.inodes.life(id)).is_some() {
                self.fs.forget(inode::key_of(self.inodes.record(id)));
            }
        }
    }
}

const INODE_MULTIPLIER: u64 = 0xe703_7ed1_a0b4_28db;
