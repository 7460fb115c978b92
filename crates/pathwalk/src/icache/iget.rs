//! Finding the inode of a key, or making it; giving it back.
//!
//! The first probe takes no lock, unless a measurement chose otherwise (see [`probe`](super::probe)). A miss takes the lock of the key's
//! bucket, probes again, exactly, and inserts. An inode is filled before it is in the table, so nobody waits for one. An inode that nobody
//! pins any more is freed at once; the file system is told outside the inode's lock, perhaps inside a directory's. (It may have handed out
//! the node again meanwhile: it counts, see `FileSystem::forget`.)

use super::inode::{self, LINKS_AUX, Record, WORD, flags, set_fields};
use super::pool::{Bucket, hash_of};
use super::probe::Found;
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

/// An inode's slot, taken before the file system is called so that its answer can always be kept.
pub(crate) struct Reserved<'a> {
    core: &'a Core,
    id: InodeId,
}

impl Reserved<'_> {
    /// Writes to where it lies, so that it is near when it is filled.
    pub(crate) fn write_ahead(&self) {
        self.core.inodes.write_ahead(self.id);
    }

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
pub(crate) struct HandedOut<'a> {
    core: &'a Core,
    key: NodeKey,
}

impl<'a> HandedOut<'a> {
    pub(crate) fn new(core: &'a Core, key: NodeKey) -> Self {
        HandedOut { core, key }
    }

    /// Somebody else answers for it.
    pub(crate) fn pass_on(self) {
        std::mem::forget(self);
    }
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
        hash_of(self.inode_seed, key)
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
        self.inodes.fetch_place(hash);
        if let Some(found) = asked.and_then(|_| self.pinned(self.inodes.find_first(hash, node.key, |_| true))) {
            return self.give_found(id, found, node);
        }
        self.iget_new(id, node, reserved, asked)
    }

    /// The same of a node that is not likely to have an inode.
    pub(crate) fn iget_new(
        &self,
        id: DentryId,
        node: &Node,
        reserved: Reserved<'_>,
        asked: Option<Asked>,
    ) -> Result<(), NotGiven<'_>> {
        let hash = self.key_hash(node.key);
        let body = self.store_body(node);
        let (mut attributes, mut asked) = (inode::normalised(node.attributes), asked);
        loop {
            let held = self.inodes.lock_bucket(hash);
            if let Some(found) = self.pinned(self.inodes.find_held(hash, node.key, |_| true, &held)) {
                drop(held);
                return self.give_found(id, found, node);
            }
            if asked.is_none_or(|asked| self.versions.no_sets_since(asked)) {
                let changed = asked.is_some_and(|asked| !self.versions.no_changes_since(asked));
                let stale = if changed { flags::STALE | flags::MARKED } else { 0 };
                let inode = reserved.into_id();
                self.inodes.insert(inode, node.key, hash, &held, |record| filled(record, node, &attributes, body, id) | stale);
                self.give_new(id, inode, node.freshness, held.stripe());
                return Ok(());
            }
            drop(held);
            asked = Some(self.versions.ask());
            let handed_out = HandedOut::new(self, node.key);
            attributes = of_type(node.attributes.kind, self.fs.attributes(node.key)?)?;
            handed_out.pass_on();
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

    /// What a search found. An inode that goes is as good as absent: who has the bucket's lock does not meet it.
    fn pinned(&self, found: Found) -> Option<PinnedInode<'_>> {
        match found {
            Found::Pinned(id, _) => Some(PinnedInode { core: self, id }),
            Found::Absent | Found::Going | Found::Creating => None,
        }
    }

    /// Gives a count back; frees the inode if it was the last.
    pub(crate) fn iput(&self, id: InodeId) {
        if !pin::unpin(self.inodes.life(id)).was_last() {
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
        let held = self.inodes.lock_bucket(hash);
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
        let held = self.inodes.lock_bucket(hash);
        then();
        if pin::kill_held(self.inodes.life(id)) {
            self.free_killed(id, hash, held);
            return None;
        }
        self.leave_alias(record, dentry, held.stripe());
        Some(PinnedInode { core: self, id })
    }

    /// Frees an inode that was killed under its lock, which is `held`.
    fn free_killed(&self, id: InodeId, hash: u64, held: Bucket<'_>) {
        let record = self.inodes.record(id);
        let (word, key) = (record[WORD].load(Ordering::Relaxed), inode::key_of(record));
        if word & flags::MARKED != 0 {
            self.versions.changed_one_goes();
        }
        let body = if word & flags::BODY != 0 { inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed)) } else { 0 };
        self.inodes.unhash(id, hash, &held);
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

/// Stores what a node's inode holds besides its key; returns the flags. The alias of what is new is `dentry`, which is about to get it.
fn filled(record: &Record, node: &Node, attributes: &Attributes, body: Option<StoredBody<'_>>, dentry: DentryId) -> u64 {
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
    inode::word_of(attributes, node.rule) | body_flag
}
