//! Attributes are kept, or marked as out of date; and with them the permission bits of the one
//! dentry.
//!
//! While the file system is at a change of a file's data or size, others may see what is new by
//! asking it for data. So for that time nothing that is stored counts as up to date: each question
//! for attributes goes to the file system, too.

use super::inode::{self, LINKS_AUX, MANY, MIXED, OWNER, Record, WORD, flags, set_fields};
use super::pool::InodeHeld;
use crate::attr::{AclState, Attributes, FileType};
use crate::cache::Caches;
use crate::cache::join::permission_flags;
use crate::memory::seqcount;
use crate::memory::slot::{DentryId, InodeId};
use crate::node::PermissionRule;
use crate::sync::{Ordering, fence, fence_after_swap};

/// A change of a file's data or size that the file system is at. Attributes are out of date
/// from its beginning until someone asks after its end, also where it fails half-way or panics.
pub(crate) struct UnderWay<'a> {
    caches: &'a Caches,
    id: InodeId,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.caches.mark_stale(self.id);
        self.caches.versions.under_way(self.id).fetch_sub(1, Ordering::SeqCst);
    }
}

/// All that the right to search or access a node depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rights {
    /// Type and mode, and the flags that rights depend on.
    of_word: u64,
    /// User and group.
    owner: u64,
    is_immutable: bool,
}

impl Rights {
    /// Returns those of a node whose lock is held.
    fn of(record: &Record) -> Rights {
        let load = |at: usize| record[at].load(Ordering::Relaxed);
        let of_word = load(WORD) & (inode::MODE | flags::ACL | flags::UNKNOWN);
        Rights { of_word, owner: load(OWNER), is_immutable: inode::is_immutable(load(MIXED)) }
    }
}

/// What becomes of attributes that may be out of date.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMoved {
    /// They are not stored.
    Refuse,
    /// They are, and marked as out of date.
    MarkStale,
}

impl Caches {
    /// Begins a change of the data or size of a file that the caller has a pin on.
    pub(crate) fn under_way(&self, id: InodeId) -> UnderWay<'_> {
        self.versions.under_way(id).fetch_add(1, Ordering::SeqCst);
        let under_way = UnderWay { caches: self, id };
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

    /// Marks that are there already need no lock: a store that could take them away has made the
    /// count odd before it looks at the version, and finds it moved unless that is seen here. (Both
    /// in the one order of `SeqCst`: one of the two sees what the other wrote.)
    fn mark(&self, id: InodeId, mark: u64) {
        self.versions.moved(id);
        fence_after_swap();
        let record = self.inodes.record(id);
        if record[WORD].load(Ordering::SeqCst) & (mark | seqcount::ODD) == mark {
            return;
        }
        let held = self.lock_inode(id);
        let before = Rights::of(record);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags();
        writing.end(flags | mark);
        self.update_alias(record, before, &held);
    }

    /// Notes what the file system said of an ACL, unless something changed since `version` was
    /// read.
    pub(crate) fn set_acl_state(&self, id: InodeId, acl: AclState, version: u64) {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        if self.versions.of(id) != version {
            return;
        }
        self.versions.moved(id);
        let before = Rights::of(record);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags() & !flags::ACL | (acl as u64) << flags::ACL_SHIFT;
        writing.end(flags);
        self.update_alias(record, before, &held);
    }

    /// Stores attributes that were asked for when the version was this one. Whether it did.
    pub(crate) fn store(&self, id: InodeId, attributes: &Attributes, version: u64, if_moved: IfMoved) -> bool {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        let before = Rights::of(record);
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
        let body_length = inode::body_length(record[MIXED].load(Ordering::Relaxed));
        set_fields(record, attributes, body_length);
        let changes = self.versions.under_way(id).load(Ordering::SeqCst) > 0;
        let stale = if moved || changes { flags::STALE } else { 0 };
        writing.end(kept | inode::word_of(attributes, PermissionRule::Generic) | stale);
        self.update_alias(record, before, &held);
        true
    }

    /// Makes the permission bits of the one dentry those of the inode, whose lock is held. The dentry's
    /// word moves on any change of rights, be its bits the same; and on no other, so that what is
    /// remembered of ways through it stays.
    fn update_alias(&self, record: &Record, before: Rights, held: &InodeHeld<'_>) {
        if Rights::of(record) == before {
            return;
        }
        let alias = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        let is_link = inode::kind_of(record[WORD].load(Ordering::Relaxed)) == FileType::Symlink;
        if !is_link && alias != 0 && alias != MANY {
            self.set_permission_flags(DentryId(alias), permission_flags(record), held);
        }
    }
}
