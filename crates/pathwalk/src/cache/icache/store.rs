//! Attributes that are kept, or marked as out of date, and with them the permission bits of an
//! inode's only dentry.
//!
//! While the file system changes a file's data or size, another thread may see new data by asking
//! the file system for it. So during that time no stored attributes count as up to date: each
//! request for attributes goes to the file system, too.

use std::cell::Cell;

use super::access::{Owed, with_body};
use super::inode::{self, LINKS_AUX, MANY, MIXED, OWNER, Record, WORD, flags, set_fields};
use super::pool::InodeHeld;
use super::probe::{InodeMatch, InodeView};
use super::snapshot::words;
use crate::attr::{AclState, Attributes, FileType};
use crate::cache::{Caches, Pinned};
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::memory::{pin, seqcount};
use crate::node::{Freshness, NodeKey, PermissionRule};
use crate::sync::{Ordering, fence, fence_after_swap};

/// Returns the flags of an inode whose attributes the file system is asked for at each use. They
/// are not `MARKED`: nothing is known to have changed.
pub(crate) fn unless_stable(freshness: Freshness) -> u64 {
    if freshness == Freshness::AskEachTime { flags::STALE | flags::UNKNOWN } else { 0 }
}

/// A change of a file's data or size that the file system is executing. Attributes are out of date
/// from its beginning until they are asked for after its end, also if the change fails half-way or
/// panics.
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

/// Everything that the right to search or access a node depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Rights {
    /// The type and mode, and the flags that rights and the use of a link's body depend on.
    of_word: u64,
    /// The user and group ids.
    owner: u64,
    is_immutable: bool,
}

impl Rights {
    /// Returns the rights of a node whose lock is held.
    fn of(record: &Record) -> Rights {
        let load = |at: usize| record[at].load(Ordering::Relaxed);
        let of_word = load(WORD) & (inode::MODE | flags::ACL | flags::UNKNOWN | flags::HAS_BODY);
        Rights { of_word, owner: load(OWNER), is_immutable: inode::is_immutable(load(MIXED)) }
    }
}

/// The part of what is known of a node that is doubtful.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfNode {
    /// Nothing of the node itself: the names in a directory.
    Names,
    Attributes,
    /// The attributes, and the body of a link.
    All,
}

/// The treatment of attributes that may be out of date.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMoved {
    /// They are not stored.
    Refuse,
    /// They are stored and marked as out of date.
    MarkStale,
}

/// The state of the ACL that is stored with attributes in which it is
/// [`Unknown`](AclState::Unknown).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfUnknown {
    /// `Unknown`: the ACL may be another one than before.
    Store,
    /// The state that is cached: only other attributes were out of date, or were set.
    Keep,
    /// This state: the ACL was just set.
    Set(AclState),
}

impl Caches {
    /// Begins a change of the data or size of a file that the caller has a pin on.
    pub(crate) fn under_way(&self, id: InodeId) -> UnderWay<'_> {
        self.versions.under_way(id).fetch_add(1, Ordering::SeqCst);
        let under_way = UnderWay { caches: self, id };
        self.mark_stale(id);
        under_way
    }

    /// Marks all attributes but type, mode, owner and ACL as out of date: the next reader asks the
    /// file system.
    pub(crate) fn mark_stale(&self, id: InodeId) {
        self.mark(id, flags::STALE | flags::MARKED);
    }

    /// Marks all attributes but the type as unknown.
    pub(crate) fn mark_unknown(&self, id: InodeId) {
        self.mark(id, flags::STALE | flags::MARKED | flags::UNKNOWN);
    }

    /// Marks the attributes of a cached node as unknown if a lookup's answer has others: which of
    /// both are older is not known. The times of access and the ACL are not compared, since those
    /// in an answer need not be the file system's last word. The caller has a pin on the inode.
    pub(crate) fn compare(&self, id: InodeId, answer: &Attributes) {
        let answer = inode::normalised(*answer);
        let is_so = |cached: Attributes| cached == Attributes { atime: cached.atime, acl: cached.acl, ..answer };
        if !words(self, id).is_some_and(|words| is_so(inode::attributes_of(&words))) {
            self.mark_unknown(id);
        }
    }

    /// Sets marks on an inode. No lock is needed if the marks are set already. A store that could
    /// clear them makes the count odd before it reads the version. Either that store finds the
    /// version moved, or the odd count is seen here. (Both are in the single order of `SeqCst`, so
    /// at least one of the two sees what the other wrote.)
    fn mark(&self, id: InodeId, mark: u64) {
        self.versions.moved(id);
        fence_after_swap();
        let record = self.inodes.record(id);
        if record[WORD].load(Ordering::SeqCst) & (mark | seqcount::ODD) == mark {
            return;
        }
        self.mark_held(id, mark, &self.lock_inode(id));
    }

    /// Does the same for a caller that holds the inode's lock, and has moved the version.
    fn mark_held(&self, id: InodeId, mark: u64, held: &InodeHeld<'_>) {
        let record = self.inodes.record(id);
        let before = Rights::of(record);
        let writing = seqcount::write_alone(&record[WORD]);
        // A node of which nothing is known may have got a capability.
        let doubtful = if mark & flags::UNKNOWN != 0 { flags::NO_CAPABILITY } else { 0 };
        let flags = writing.flags() & !doubtful;
        writing.end(with_body(flags | mark, Owed::Nothing));
        self.update_alias(record, before, held);
    }

    /// Marks the attributes of a node as unknown, found by its key, and with [`OfNode::All`] the
    /// body of a link. With [`OfNode::Names`], mode and owner stay known. Returns its dentry, if it
    /// has exactly one and is no link. Takes no pin on the inode, since the last pin that is given
    /// back calls the file system.
    pub(crate) fn doubt_node(&self, superblock: SuperblockId, key: NodeKey, what: OfNode) -> Option<Pinned<'_>> {
        self.doubts.report_node();
        // Lookups under way may have the attributes of a node that has no inode yet.
        self.versions.set_one();
        let hash = self.key_hash(superblock, key);
        let held = self.inodes.lock_bucket(hash);
        let found = Cell::new(None);
        let here = |view: InodeView, _| {
            if self.superblock_of(view.id()) != superblock {
                return InodeMatch::Next;
            }
            found.set(Some(view.id()));
            InodeMatch::Stop
        };
        self.inodes.find_matching(hash, key, here, &held);
        let id = found.get()?;
        // A change of a name changes times of the directory.
        let mark =
            if what == OfNode::Names { flags::STALE | flags::MARKED } else { flags::STALE | flags::MARKED | flags::UNKNOWN };
        self.versions.moved(id);
        self.mark_held(id, mark, held.stripe());
        if what == OfNode::All {
            self.leave_body_out_held(id, held.stripe());
        }
        let record = self.inodes.record(id);
        let alias = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        let is_link = inode::kind_of(record[WORD].load(Ordering::Relaxed)) == FileType::Symlink;
        if is_link || alias == 0 || alias == MANY {
            return None;
        }
        let life = self.dentries.life(DentryId(alias));
        pin::read(life).filter(|of| pin::pin(life, *of)).map(|_| Pinned::new(self, DentryId(alias)))
    }

    /// Records that a link's cached body may be another one by now: the file system is asked for it
    /// from now on. Walks that have a pin may still be reading the old body, so its lines stay.
    pub(crate) fn leave_body_out(&self, id: InodeId) {
        self.leave_body_out_held(id, &self.lock_inode(id));
    }

    fn leave_body_out_held(&self, id: InodeId, held: &InodeHeld<'_>) {
        let record = self.inodes.record(id);
        if record[WORD].load(Ordering::Relaxed) & flags::HAS_BODY == 0 {
            return;
        }
        let alias = self.alias(record);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags() & !flags::HAS_BODY | flags::BODY_LEFT_OUT;
        writing.end(flags);
        // The memo looks at dentries alone.
        if alias != 0 && alias != MANY {
            self.set_permission_flags(DentryId(alias), self.permission_flags(record), held);
        }
    }

    /// Stores what the file system said of an ACL, unless something changed since `version` was
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

    /// Stores attributes that were asked for at this version, by which a link's time of access is
    /// `owed`. Those to be asked for each time are marked as unknown. Returns the state of the ACL
    /// that it stored with them, or `None` if it stored nothing.
    pub(crate) fn store(
        &self,
        id: InodeId,
        (attributes, freshness): (&Attributes, Freshness),
        version: u64,
        (if_moved, if_unknown): (IfMoved, IfUnknown),
        owed: Owed,
    ) -> Option<AclState> {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        let before = Rights::of(record);
        let writing = seqcount::write_alone(&record[WORD]);
        // Pairs with the fence in `mark`.
        fence(Ordering::SeqCst);
        let moved = self.versions.of(id) != version;
        if moved && if_moved == IfMoved::Refuse {
            let flags = writing.flags();
            writing.end(flags);
            return None;
        }
        self.versions.moved(id);
        let asked_for = unless_stable(freshness);
        // A node of which nothing is known may have got a capability.
        let kept = writing.flags() & flags::FOR_LIFE & if asked_for != 0 { !flags::NO_CAPABILITY } else { !0 };
        let body_length = inode::body_length(record[MIXED].load(Ordering::Relaxed));
        set_fields(record, attributes, body_length);
        let changes = self.versions.under_way(id).load(Ordering::SeqCst) > 0;
        let stale = if moved || changes { flags::STALE } else { 0 };
        let acl = match if_unknown {
            IfUnknown::Keep if attributes.acl == AclState::Unknown => inode::acl_of(writing.flags()),
            IfUnknown::Set(acl) if attributes.acl == AclState::Unknown => acl,
            _ => attributes.acl,
        };
        let of_attributes = inode::word_of(&Attributes { acl, ..*attributes }, PermissionRule::Generic);
        writing.end(with_body(kept | of_attributes | stale | asked_for, owed));
        self.update_alias(record, before, &held);
        Some(acl)
    }

    /// Returns what [`update_alias`](Self::update_alias) compares. The inode's lock is held.
    pub(super) fn rights(&self, record: &Record) -> Rights {
        Rights::of(record)
    }

    /// Copies the permission bits of the inode, whose lock is held, to its only dentry. The
    /// dentry's word moves on every change of rights, even if its bits stay the same, and where a
    /// link's time of access becomes due. It moves on no other change, so memo entries whose paths
    /// lead through the dentry stay valid.
    pub(super) fn update_alias(&self, record: &Record, before: Rights, held: &InodeHeld<'_>) {
        if Rights::of(record) == before {
            return;
        }
        let alias = self.alias(record);
        if alias != 0 && alias != MANY {
            self.set_permission_flags(DentryId(alias), self.permission_flags(record), held);
        }
    }
}
