//! The times of accesses: whether one is due, and that it is stored.
//!
//! A time is stored by the file system first and in the cache after that, if nothing changed
//! meanwhile; so no lock is held while the file system is called. Two accesses at once may both
//! store their time.

use super::Trees;
use super::superblock::Superblock;
use crate::abi::{AccessRule, is_out_of_date};
use crate::attr::{Attributes, FileType, Timestamp};
use crate::cache::icache::access::Owed;
use crate::cache::icache::inode::key_of;
use crate::fs_api::Accessed;
use crate::memory::slot::InodeId;
use crate::sync::Ordering;

/// The number of seconds after which cached links are looked through again.
const HOUR: u64 = 60 * 60;

impl Trees {
    /// Stores the time of an access to a node on which the caller has a pin, if `rule` requires it
    /// and `may` returns a value, which is kept meanwhile. Errors are dropped, as on Linux.
    pub(crate) fn accessed<W>(&self, id: InodeId, rule: AccessRule, may: impl FnOnce(&Attributes) -> Option<W>) {
        let superblock = self.superblock(id);
        let Ok(of) = self.stat(id) else { return };
        let version = self.caches.versions.of(id);
        let now = superblock.fs.now();
        self.age(&superblock, now);
        if !rule.is_due(&of, now) {
            if of.kind == FileType::Symlink && !is_out_of_date(&of, now) {
                self.caches.settle_access(id, version);
            }
            return;
        }
        let Some(_may) = may(&of) else { return };
        match superblock.fs.accessed(key_of(self.caches.inodes.record(id)), now) {
            Ok(Accessed::Stored) => {
                let owed = owed_at(&Attributes { atime: now, ..of }, now);
                self.caches.store_access(id, now, owed, version);
            }
            Ok(Accessed::NotKept) if of.kind == FileType::Symlink => self.caches.settle_access(id, version),
            Ok(Accessed::NotKept) | Err(_) => {}
        }
    }

    /// Returns what a link with these attributes owes to its time of access.
    pub(super) fn owed(&self, superblock: &Superblock, of: &Attributes) -> Owed {
        match of.kind {
            FileType::Symlink if superblock.keeps_access_times => owed_at(of, superblock.fs.now()),
            _ => Owed::NotKept,
        }
    }

    /// Looks through the cached links of a superblock for those that have not been read for a day,
    /// if that was not done in the last hour.
    fn age(&self, superblock: &Superblock, now: Timestamp) {
        let now_at = u64::try_from(now.seconds).unwrap_or(0);
        let at = superblock.ages_at.load(Ordering::Relaxed);
        let is_first = at == 0;
        if !is_first && now_at < at {
            return;
        }
        let moved = superblock.ages_at.compare_exchange(at, now_at + HOUR, Ordering::Relaxed, Ordering::Relaxed);
        if moved.is_ok() && !is_first {
            self.caches.age_links(superblock.id, now);
        }
    }
}

fn owed_at(of: &Attributes, now: Timestamp) -> Owed {
    if is_out_of_date(of, now) { Owed::Update } else { Owed::Nothing }
}
