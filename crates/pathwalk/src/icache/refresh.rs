//! An inode's attributes change, and with them the permission bits of its dentry.
//!
//! A lookup that carries old attributes must not undo a change: attributes that come with a node are used for new inodes only,
//! and a set of attributes that ran beside the lookup makes it ask again before the new inode is shown (see [`Core::iget`]). Two
//! refreshes may run at once: each notes a version before it asks the file system, and stores its answer only if nothing was
//! stored, set or marked since, else asks again. So what is stored last was asked for last.
//!
//! While the file system is at a change of a file's data or size, others may see what is new by
//! asking it for data. So for that time nothing that is stored counts as up to date: each question
//! for attributes goes to the file system, too.

use super::iget::of_type;
use super::inode::{self, LINKS_AUX, MANY, Record, WORD, flags, set_fields};
use crate::attr::{AclState, Attributes, FileType};
use crate::dcache::dentry::{DentryId, InodeId};
use crate::dcache::instantiate::permission_flags;
use crate::memory::seqcount;
use crate::sync::{AtomicU32, AtomicU64, MutexGuard, Ordering, fence, fence_after_swap, stripes};
use crate::vfs::Core;
use crate::{Errno, SetAttributes};

const STRIPES: usize = stripes(64);

/// Counts of changes.
pub(crate) struct Versions {
    /// Sets of attributes, of any node: for lookups, which do not know of whom they ask.
    sets: AtomicU64,
    /// Nodes that left the cache and had been marked in it, because of a name that changed: for lookups, too. (What is marked and still there is
    /// found there, and what a lookup says of it is not used.)
    changed_and_gone: AtomicU64,
    /// Sets, marks and stores, by inode: for refreshes.
    of_inode: Box<[AtomicU64]>,
    /// Changes of data or size that the file system is at, by inode: for refreshes. Partner: the
    /// versions of inodes, which move after one is counted, and before it is counted no more.
    under_way: Box<[AtomicU32]>,
}

/// A change of a file's data or size that the file system is at. Attributes are out of date
/// from its beginning until someone asks after its end, also where it fails half-way or panics.
pub(crate) struct UnderWay<'a> {
    core: &'a Core,
    id: InodeId,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.core.mark_stale(self.id);
        self.core.versions.under_way(self.id).fetch_sub(1, Ordering::SeqCst);
    }
}

/// What becomes of attributes that may be out of date.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfMoved {
    /// They are not stored.
    Refuse,
    /// They are, and marked as out of date.
    MarkStale,
}

/// What the counts were when somebody asked the file system.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    sets: u64,
    changed_and_gone: u64,
}

impl Versions {
    pub(crate) fn new() -> Versions {
        Versions {
            sets: AtomicU64::new(0),
            changed_and_gone: AtomicU64::new(0),
            of_inode: (0..STRIPES).map(|_| AtomicU64::new(0)).collect(),
            under_way: (0..STRIPES).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// To be read before a lookup; see [`Core::iget`].
    pub(crate) fn ask(&self) -> Asked {
        Asked { sets: self.sets.load(Ordering::SeqCst), changed_and_gone: self.changed_and_gone.load(Ordering::SeqCst) }
    }

    pub(crate) fn no_sets_since(&self, asked: Asked) -> bool {
        self.sets.load(Ordering::SeqCst) == asked.sets
    }

    pub(crate) fn no_changes_since(&self, asked: Asked) -> bool {
        self.changed_and_gone.load(Ordering::SeqCst) == asked.changed_and_gone
    }

    /// A node that was marked leaves the cache. Its lock is held, and it is in the table yet.
    pub(crate) fn changed_one_goes(&self) {
        self.changed_and_gone.fetch_add(1, Ordering::SeqCst);
    }

    /// To be read before the file system is asked about an inode; see [`Core::refresh`].
    pub(crate) fn of(&self, id: InodeId) -> u64 {
        self.stripe(id).load(Ordering::SeqCst)
    }

    fn stripe(&self, id: InodeId) -> &AtomicU64 {
        &self.of_inode[id.0 as usize % STRIPES]
    }

    fn under_way(&self, id: InodeId) -> &AtomicU32 {
        &self.under_way[id.0 as usize % STRIPES]
    }

    fn moved(&self, id: InodeId) {
        self.stripe(id).fetch_add(1, Ordering::SeqCst);
    }
}

impl Core {
    /// Asks the file system for the attributes of an inode that the caller has a pin on, and stores them. `ESTALE` if they are those of
    /// a node of another type.
    pub(crate) fn refresh(&self, id: InodeId) -> Result<Attributes, Errno> {
        let record = self.inodes.record(id);
        let kind = inode::kind_of(record[WORD].load(Ordering::Relaxed));
        loop {
            let version = self.versions.of(id);
            let attributes = of_type(kind, self.fs.attributes(inode::key_of(record))?)?;
            if self.store(id, &attributes, version, IfMoved::Refuse) {
                return Ok(attributes);
            }
        }
    }

    /// Sets attributes through the file system.
    pub(crate) fn set_attributes(&self, id: InodeId, set: &SetAttributes) -> Result<Attributes, Errno> {
        let record = self.inodes.record(id);
        let kind = inode::kind_of(record[WORD].load(Ordering::Relaxed));
        // A new size is seen by readers of data; all else by those alone that ask here.
        let under_way = set.size.is_some().then(|| self.under_way(id));
        let before = self.versions.of(id);
        let attributes = of_type(kind, self.fs.set_attributes(inode::key_of(record), set)?)?;
        self.versions.sets.fetch_add(1, Ordering::SeqCst);
        match under_way {
            Some(under_way) => drop(under_way),
            None => self.versions.moved(id),
        }
        // The set is done: if asking again fails, what it returned is the best there is.
        Ok(self.refresh(id).unwrap_or_else(|_| {
            self.store(id, &attributes, before.wrapping_add(1), IfMoved::MarkStale);
            attributes
        }))
    }

    /// Begins a change of the data or size of a file that the caller has a pin on.
    pub(crate) fn under_way(&self, id: InodeId) -> UnderWay<'_> {
        self.versions.under_way(id).fetch_add(1, Ordering::SeqCst);
        let under_way = UnderWay { core: self, id };
        self.mark_stale(id);
        under_way
    }

    /// Type, mode, owner and ACL hold, but the rest is out of date: whoever wants it asks.
    pub(crate) fn mark_stale(&self, id: InodeId) {
        self.mark(id, flags::STALE | flags::MARKED);
    }

    /// Nothing but the type holds.
    pub(crate) fn mark_unknown(&self, id: InodeId) {
        self.mark(id, flags::STALE | flags::MARKED | flags::UNKNOWN);
    }

    /// Marks that are there already need no lock: a store that could take them away has made the count odd before it looks at the version, and finds
    /// it moved unless that is seen here. (Both in the one order of `SeqCst`: one of the two sees what the other wrote.)
    fn mark(&self, id: InodeId, mark: u64) {
        self.versions.moved(id);
        fence_after_swap();
        let record = self.inodes.record(id);
        if record[WORD].load(Ordering::SeqCst) & (mark | seqcount::ODD) == mark {
            return;
        }
        let held = self.lock_inode(id);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags();
        writing.end(flags | mark);
        if mark & flags::UNKNOWN != 0 {
            self.update_alias(record, &held);
        }
    }

    /// Notes what the file system said of an ACL, unless something changed since `version` was read.
    pub(crate) fn set_acl_state(&self, id: InodeId, acl: AclState, version: u64) {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        if self.versions.of(id) != version {
            return;
        }
        self.versions.moved(id);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags() & !flags::ACL | (acl as u64) << flags::ACL_SHIFT;
        writing.end(flags);
        self.update_alias(record, &held);
    }

    /// Stores attributes that were asked for when the version was this one. Whether it did.
    fn store(&self, id: InodeId, attributes: &Attributes, version: u64, if_moved: IfMoved) -> bool {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        let writing = seqcount::write_alone(&record[WORD]);
        // See `mark`.
        fence(Ordering::SeqCst);
        let moved = self.versions.of(id) != version;
        if moved && if_moved == IfMoved::Refuse {
            let flags = writing.flags();
            writing.end(flags);
            return false;
        }
        self.versions.moved(id);
        let kept = writing.flags() & flags::FOR_LIFE;
        let body_length = inode::body_length(record[inode::MIXED].load(Ordering::Relaxed));
        set_fields(record, attributes, body_length);
        let changes = self.versions.under_way(id).load(Ordering::SeqCst) > 0;
        let stale = if moved || changes { flags::STALE } else { 0 };
        writing.end(kept | inode::word_of(attributes, crate::PermissionRule::Generic) | stale);
        self.update_alias(record, &held);
        true
    }

    /// Makes the permission bits of the one dentry those of the inode, whose lock is held.
    fn update_alias(&self, record: &Record, held: &MutexGuard<'_, ()>) {
        let alias = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        let is_link = inode::kind_of(record[WORD].load(Ordering::Relaxed)) == FileType::Symlink;
        if !is_link && alias != 0 && alias != MANY {
            self.set_permission_flags(DentryId(alias), permission_flags(record), held);
        }
    }
}
