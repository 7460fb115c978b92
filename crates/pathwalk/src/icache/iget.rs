//! Finding the inode of a key, or making it; giving it back.
//!
//! The first probe takes no lock: it reads the key under the record's count, then pins. A miss takes the lock of the key's stripe,
//! probes again, exactly, and inserts. An inode that nobody pins any more is freed at once; the file system is told outside the
//! inode's lock, perhaps inside a directory's. (It may have handed out the node again meanwhile: it counts, see `FileSystem::forget`.)

use super::inode::{self, LINKS_AUX, WORD, flags, set_fields, set_key};
use super::refresh::Asked;
use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::dcache::dentry::{DentryId, InodeId};
use crate::fs_api::{Node, NodeKey};
use crate::limits::LINK_MAX;
use crate::memory::reclaim::Short;
use crate::memory::side::Chain;
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

/// Why a dentry did not get its inode.
pub(crate) enum NotGiven<'a> {
    /// What was asked for failed.
    Failed(Errno),
    /// It is a directory's, which has another dentry already; the pin that was to be passed.
    AliasElsewhere(PinnedInode<'a>),
}

impl NotGiven<'_> {
    /// The error, where a directory that has another dentry is one too.
    pub(crate) fn or(self, elsewhere: Errno) -> Errno {
        match self {
            NotGiven::Failed(errno) => errno,
            NotGiven::AliasElsewhere(_) => elsewhere,
        }
    }
}

impl From<Errno> for NotGiven<'_> {
    fn from(errno: Errno) -> Self {
        NotGiven::Failed(errno)
    }
}

/// A node that the file system handed out and that no inode stands for yet: forgotten if none comes to, be it for an error or a panic.
struct HandedOut<'a> {
    core: &'a Core,
    key: NodeKey,
}

impl Drop for HandedOut<'_> {
    fn drop(&mut self) {
        self.core.fs.forget(self.key);
    }
}

/// A link's body that was stored for an inode to come; given back if none comes.
struct StoredBody<'a> {
    core: &'a Core,
    chain: Chain,
}

impl StoredBody<'_> {
    fn into_chain(self) -> Chain {
        let chain = self.chain;
        std::mem::forget(self);
        chain
    }
}

impl Drop for StoredBody<'_> {
    fn drop(&mut self) {
        self.core.side.release(self.chain);
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
        Ok(Reserved { core: self, id })
    }

    pub(crate) fn key_hash(&self, key: NodeKey) -> u64 {
        let (low, high) = (key.0 as u64, (key.0 >> 64) as u64);
        fold(fold(low ^ self.inode_seed, INODE_MULTIPLIER) ^ high, self.inode_seed | 1)
    }

    /// The lock of an inode that the caller has a pin on.
    pub(crate) fn lock_inode(&self, id: InodeId) -> MutexGuard<'_, ()> {
        self.inodes.lock(self.key_hash(inode::key_of(self.inodes.record(id))))
    }

    /// Gives a dentry that has none the inode of a node that the file system handed out: the cached one, or a new one in the slot that was
    /// reserved. The pin is the dentry's. Accounts for the node's `forget`.
    ///
    /// `asked` was read before the node was asked for: if attributes were set since, those in the node may be old, and are
    /// asked for again before anybody sees the inode. `None`: nobody else can know of the node yet. Errors of that asking; `ESTALE` if the
    /// key belongs to a node of another type.
    pub(crate) fn iget(
        &self,
        id: DentryId,
        node: &Node,
        reserved: Reserved<'_>,
        asked: Option<Asked>,
    ) -> Result<(), NotGiven<'_>> {
        let hash = self.key_hash(node.key);
        if let Some(found) = asked.and_then(|_| self.find_inode(node.key, hash)) {
            return self.give_found(id, found, node);
        }
        let body = self.store_body(node);
        let (mut attributes, mut asked) = (inode::normalised(node.attributes), asked);
        loop {
            let held = self.inodes.lock(hash);
            if let Some(found) = self.find_held(node.key, hash) {
                drop(held);
                return self.give_found(id, found, node);
            }
            if asked.is_none_or(|asked| self.versions.no_sets_since(asked)) {
                let changed = asked.is_some_and(|asked| !self.versions.no_changes_since(asked));
                let inode = reserved.into_id();
                self.fill_inode(inode, node, &attributes, body, id, if changed { flags::STALE | flags::MARKED } else { 0 });
                self.inodes.table().put(hash, inode.0);
                self.give_new(id, inode, node.freshness, &held);
                return Ok(());
            }
            drop(held);
            asked = Some(self.versions.ask());
            let handed_out = HandedOut { core: self, key: node.key };
            attributes = of_type(node.attributes.kind, self.fs.attributes(node.key)?)?;
            std::mem::forget(handed_out);
        }
    }

    /// A cached inode for a node that was handed out once more, which is forgotten.
    fn give_found<'a>(&'a self, id: DentryId, found: PinnedInode<'a>, node: &Node) -> Result<(), NotGiven<'a>> {
        self.fs.forget(node.key);
        let kind = inode::kind_of(self.inodes.record(found.id)[WORD].load(Ordering::Relaxed));
        if kind != node.attributes.kind {
            return Err(Errno::ESTALE.into());
        }
        self.instantiate(id, found, node.freshness)
    }

    /// The alias of what is new is `dentry`, which is about to get it.
    fn fill_inode(
        &self,
        id: InodeId,
        node: &Node,
        attributes: &Attributes,
        body: Option<StoredBody<'_>>,
        dentry: DentryId,
        stale: u64,
    ) {
        let record = self.inodes.record(id);
        let writing = seqcount::write_alone(&record[WORD]);
        set_key(record, node.key);
        let (body_flag, length) = match (&node.link_body, &body) {
            (Some(text), Some(_)) => (flags::BODY, text.len()),
            (Some(_), None) => (flags::BODY_LEFT_OUT, 0),
            (None, _) => (0, 0),
        };
        let aux = match attributes.kind {
            FileType::Symlink => body.map_or(0, StoredBody::into_chain),
            _ => dentry.0,
        };
        set_fields(record, attributes, length);
        inode::set_links(record, attributes.nlink, aux);
        writing.end(inode::word_of(attributes, node.rule) | body_flag | stale);
        pin::revive(self.inodes.life(id));
    }

    /// A link's body in side lines; `None` where there is none to cache or no room: then the file system is asked each time. A few
    /// dentries are evicted for it, not all.
    fn store_body(&self, node: &Node) -> Option<StoredBody<'_>> {
        const TRIES: usize = 8;
        let body = node.link_body.as_deref()?;
        let fit = node.attributes.kind == FileType::Symlink && (1..=LINK_MAX).contains(&body.len()) && !body.contains(&0);
        let stored = || self.side.store(body).map(|chain| StoredBody { core: self, chain });
        let evicted = || self.evict_one(Short::SideLines).then(stored).flatten();
        fit.then(stored).flatten().or_else(|| (0..TRIES).filter(|_| fit).find_map(|_| evicted()))
    }

    /// The inode of a key, pinned, if it is cached. Takes no lock; may miss one that is put, changed or freed meanwhile.
    fn find_inode(&self, key: NodeKey, hash: u64) -> Option<PinnedInode<'_>> {
        self.inodes.table().find(hash, |slot| {
            let id = InodeId(slot);
            let record = self.inodes.record(id);
            let word = seqcount::sample(&record[WORD]);
            let life = pin::read(self.inodes.life(id))?;
            // Key and life were read of one and the same inode; then the pin is of that one.
            let same = inode::key_of(record) == key && word & seqcount::ODD == 0 && seqcount::unchanged(&record[WORD], word);
            (same && pin::pin(self.inodes.life(id), life)).then(|| PinnedInode { core: self, id })
        })
    }

    /// The same under the key's lock: exact. A candidate that shares the tag may be a stranger of another stripe, which nothing holds still; so each is
    /// read as of one instant.
    fn find_held(&self, key: NodeKey, hash: u64) -> Option<PinnedInode<'_>> {
        self.inodes.table().find(hash, |slot| {
            let id = InodeId(slot);
            let record = self.inodes.record(id);
            loop {
                let word = seqcount::sample_even(&record[WORD]);
                let (same, life) = (inode::key_of(record) == key, pin::read(self.inodes.life(id)));
                if seqcount::unchanged(&record[WORD], word) {
                    let pinned = same && life.is_some_and(|life| pin::pin(self.inodes.life(id), life));
                    return pinned.then(|| PinnedInode { core: self, id });
                }
            }
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
        let hash = self.key_hash(inode::key_of(record));
        let held = self.inodes.lock(hash);
        if !seqcount::unchanged(&record[WORD], word) || !pin::kill(self.inodes.life(id)) {
            return false;
        }
        self.free_killed(id, hash, held);
        true
    }

    /// Ends a dentry's having an inode, which it has a pin on. `then` is called when nothing that happens to the inode is written to the dentry any
    /// more; afterwards the inode may be gone. If others have it too, it is returned, with the pin.
    pub(crate) fn part(&self, dentry: DentryId, id: InodeId, then: impl FnOnce()) -> Option<PinnedInode<'_>> {
        let record = self.inodes.record(id);
        let hash = self.key_hash(inode::key_of(record));
        let held = self.inodes.lock(hash);
        then();
        if pin::kill_held(self.inodes.life(id)) {
            self.free_killed(id, hash, held);
            return None;
        }
        self.leave_alias(record, dentry, &held);
        Some(PinnedInode { core: self, id })
    }

    /// Frees an inode that was killed under its lock, which is `held`.
    fn free_killed(&self, id: InodeId, hash: u64, held: MutexGuard<'_, ()>) {
        let record = self.inodes.record(id);
        let key = inode::key_of(record);
        let writing = seqcount::write_alone(&record[WORD]);
        if writing.flags() & flags::MARKED != 0 {
            self.versions.changed_one_goes();
        }
        self.inodes.table().remove(hash, id.0);
        let has_body = writing.flags() & flags::BODY != 0;
        let body = if has_body { inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed)) } else { 0 };
        set_key(record, NodeKey(0));
        writing.end(0);
        drop(held);
        self.side.release(body);
        self.inodes.give(id);
        self.fs.forget(key);
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

/// Attributes as the cache keeps them, if they are those of a node of this type; else `ESTALE`: the key belongs to another node by now.
pub(crate) fn of_type(kind: FileType, attributes: Attributes) -> Result<Attributes, Errno> {
    if attributes.kind == kind { Ok(inode::normalised(attributes)) } else { Err(Errno::ESTALE) }
}

const INODE_MULTIPLIER: u64 = 0xe703_7ed1_a0b4_28db;
