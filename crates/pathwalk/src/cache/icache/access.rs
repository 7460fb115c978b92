//! Links whose time of access may have to be stored before they are followed, and the one dentry of
//! a link.
//!
//! The walk that takes no lock follows a link if the link has [`BODY`](flags::BODY). While a time
//! may be due, the link has [`BODY_DUE`](flags::BODY_DUE) in its place, so the test is the same as
//! for a body that is not cached. Which of the two a link has is decided under the inode's lock,
//! where its attributes are stored or marked as out of date.
//!
//! The memo of whole paths looks at dentries alone. So the dentry of a link is noted, in the tag of
//! the chain with its body, and moves where `BODY` comes or goes. A link with more than one dentry
//! is not learned by the memo.

use super::inode::{self, LINKS_AUX, MANY, Record, WORD, flags};
use super::snapshot::words;
use crate::abi::is_out_of_date;
use crate::attr::{FileType, Timestamp};
use crate::cache::Caches;
use crate::memory::pin;
use crate::memory::seqcount;
use crate::memory::slot::{InodeId, SuperblockId};
use crate::sync::{Ordering, fence};

/// The treatment of a link's time of access by the next walk through the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owed {
    /// The engine does not keep the time.
    NotKept,
    /// The time is kept, and not due.
    Nothing,
    /// The time may have to be stored.
    Update,
}

/// Returns the flags of an inode with the one of `BODY` and `BODY_DUE` that fits. A time that is
/// kept is due where attributes are out of date, since they may have changed.
pub(super) fn with_body(word: u64, owed: Owed) -> u64 {
    if word & flags::HAS_BODY == 0 {
        return word;
    }
    let is_due = word & flags::KEEPS_ACCESS != 0 && (owed == Owed::Update || word & flags::STALE != 0);
    word & !flags::HAS_BODY | if is_due { flags::BODY_DUE } else { flags::BODY }
}

/// Returns the flags of a new link.
pub(crate) fn of_link(word: u64, owed: Owed) -> u64 {
    let kept = if owed == Owed::NotKept { 0 } else { flags::KEEPS_ACCESS };
    with_body(word & !flags::KEEPS_ACCESS | kept, owed)
}

impl Caches {
    /// Returns the alias of an inode: see [`inode`]. A link without a cached body has none. The
    /// result is a guess unless the inode is locked, or its dentry is found unchanged afterwards.
    pub(crate) fn alias(&self, record: &Record) -> u32 {
        let aux = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        let word = record[WORD].load(Ordering::Relaxed);
        match inode::kind_of(word) {
            FileType::Symlink if word & flags::HAS_BODY == 0 => MANY,
            FileType::Symlink => self.side.tag(aux),
            _ => aux,
        }
    }

    /// Stores the time of an access to an inode that the caller has a pin on. `version` was read
    /// before the file system stored the time. If something changed since, all attributes are
    /// marked as out of date.
    pub(crate) fn store_access(&self, id: InodeId, at: Timestamp, owed: Owed, version: u64) {
        let is_stored = self.if_unmoved(id, version, |record, flags| {
            inode::set_access_time(record, at);
            with_body(flags, owed)
        });
        if !is_stored {
            self.mark_stale(id);
        }
    }

    /// Records that the time of a link on which the caller has a pin is not due, or is not kept by
    /// the link, unless something changed since `version` was read.
    pub(crate) fn settle_access(&self, id: InodeId, version: u64) {
        self.if_unmoved(id, version, |_, flags| with_body(flags, Owed::Nothing));
    }

    /// Changes the words of an inode, unless something changed since `version` was read.
    fn if_unmoved(&self, id: InodeId, version: u64, change: impl FnOnce(&Record, u64) -> u64) -> bool {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        let before = self.rights(record);
        let writing = seqcount::write_alone(&record[WORD]);
        // Pairs with the fence in `mark`.
        fence(Ordering::SeqCst);
        let is_unmoved = self.versions.of(id) == version;
        if is_unmoved {
            self.versions.moved(id);
        }
        let flags = writing.flags();
        writing.end(if is_unmoved { change(record, flags) } else { flags });
        self.update_alias(record, before, &held);
        is_unmoved
    }

    /// Makes the time of each cached link of a superblock due that is a day old at `now`. Cost: a
    /// look at each slot.
    pub(crate) fn age_links(&self, superblock: SuperblockId, now: Timestamp) {
        for id in (1..self.inodes.free().touched()).map(InodeId) {
            let word = self.inodes.record(id)[WORD].load(Ordering::Relaxed);
            let is_fresh = word & (flags::BODY | flags::KEEPS_ACCESS) == flags::BODY | flags::KEEPS_ACCESS;
            if !is_fresh || self.superblock_of(id) != superblock {
                continue;
            }
            let life = self.inodes.life(id);
            if !pin::read(life).is_some_and(|of| pin::pin(life, of)) {
                continue;
            }
            let is_old = words(self, id).is_some_and(|words| is_out_of_date(&inode::attributes_of(&words), now));
            if is_old && self.superblock_of(id) == superblock {
                self.owe_access(id);
            }
            self.iput(id);
        }
    }

    /// Makes the time of a link due on which the caller has a pin.
    fn owe_access(&self, id: InodeId) {
        let record = self.inodes.record(id);
        let held = self.lock_inode(id);
        let before = self.rights(record);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags();
        writing.end(with_body(flags, Owed::Update));
        self.update_alias(record, before, &held);
    }
}
