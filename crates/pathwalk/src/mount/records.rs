//! Mounts as walks read them: slots that keep their type, found by the place that they cover.
//!
//! A record is a line of eight words:
//!
//! | word | bits | what |
//! |---|---|---|
//! | 0 | 32, 32 | sequence count; flags |
//! | 1 | 32, 32 | the place where it is mounted: the mount above, and the dentry that it covers |
//! | 2 | 32, 32 | its root's dentry; its superblock |
//! | 3 | 64 | the number that users see, which no other mount ever gets |
//! | 4 | 64 | the number of its id map, or 0 (see `mount/mapped.rs`) |
//!
//! Elsewhere: life (see `memory/pin.rs`); the number of files that are open for writing through the
//! mount, and whether it refuses writers (Linux: `mnt_writers` and `MNT_WRITE_HOLD`).
//!
//! What always holds: all words but the life and the writers are written with the tree of mounts
//! locked and the record's count odd. A dentry on which something is mounted, in whatever mount,
//! has the flag `MOUNTED` until the end of the change that unmounts it. A dentry that is or was the
//! root of a mount has `ROOTED`. While the tree changes, the count of changes is odd. So a reader
//! that found nothing can check whether that is valid, and no reader sees a half-changed tree.
//!
//! Pairs: those of the table and of the sequence counts (see there). `changes`: a reader's Acquire
//! load before its search with the Release store at the end of a change; the reader's Acquire fence
//! before it looks again with the Release fence at the beginning of a change.
//!
//! What it does not do: it has no tree, no namespaces and no propagation.

use super::id_maps::IdMaps;
use super::place::Place;
use super::switches::Switches;
use super::view::MountsView;
use crate::memory::alone::Alone;
use crate::memory::free_list::FreeList;
use crate::memory::lines::{Line, Records};
use crate::memory::seqcount;
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::memory::table::Table;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence, zeroed};
use crate::text::hash::fold;

/// Flags in word 0 of a mount; bit 0 is the count's. The [switches](super::switches) begin at bit
/// 1.
pub(super) mod flags {
    /// The mount covers a place.
    pub(in crate::mount) const SHOWN: u64 = 1 << 20;
    /// The mount expires at the next request, unless it is used before.
    pub(in crate::mount) const EXPIRES: u64 = 1 << 21;
    /// The mount is in no namespace, and the tree keeps it for the mounts that are mounted in it.
    pub(in crate::mount) const LINGERS: u64 = 1 << 22;
    /// A change of the tree is writing the record. Set only while the count is odd.
    pub(in crate::mount) const CHANGING: u64 = 1 << 23;
}

pub(super) const WORD: usize = 0;
pub(super) const AT: usize = 1;
pub(super) const ROOT: usize = 2;
pub(super) const NUMBER: usize = 3;
pub(super) const MAP: usize = 4;

const LIFE: usize = 0;
const WRITERS: usize = 1;

/// The records of all mounts, and the table that finds them.
pub(crate) struct MountRecords {
    hot: Records<8>,
    cold: Box<[[AtomicU64; 2]]>,
    /// The table from a covered place to the mount on it. Linux: `mount_hashtable`.
    table: Table,
    /// The key of the table's hash.
    key: u64,
    /// The sequence count of the changes of the tree. Linux: `mount_lock`.
    changes: Alone<AtomicU64>,
    free: Alone<FreeList>,
    pub(super) id_maps: IdMaps,
    /// The requirements that some mount may have: see `mount/some.rs`.
    pub(super) some: AtomicU32,
}

/// A mount that a reader stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) mount: MountId,
    /// The record's word when the reader came to the mount. It is 0 if the reader, or its asker,
    /// has a pin on the mount.
    pub(crate) word: u64,
}

impl Standing {
    /// Returns whether the mount was about to expire.
    pub(crate) fn expires(self) -> bool {
        self.word & flags::EXPIRES != 0
    }

    /// Returns the standing of a reader that has a pin on a mount.
    pub(crate) const fn pinned(mount: MountId) -> Standing {
        Standing { mount, word: 0 }
    }
}

/// A place that is covered. The dentry is pinned for as long as the covering mount is
/// [unchanged](MountRecords::is_still).
pub(crate) struct Covered {
    pub(crate) by: Standing,
    pub(crate) mount: Standing,
    pub(crate) dentry: DentryId,
}

/// The mount on a place, if any.
pub(crate) enum Cover {
    /// This mount, whose root is this dentry. The reader has to recheck it.
    Mount(Standing, DentryId),
    Nothing,
    /// Mounts come or go just now; a reader that may wait for the tree's lock can find out.
    NotNow,
}

impl MountRecords {
    /// The largest number of mounts that there may be at once, in all namespaces: more than twice
    /// what Linux allows in one.
    pub(crate) const MOST: u32 = 1 << 18;

    /// Reserves room for this many mounts, which takes no memory until there are some. Returns
    /// `None` if there is no address space.
    pub(crate) fn new(capacity: u32, seed: u64) -> Option<MountRecords> {
        let slots = capacity as usize + 1;
        Some(MountRecords {
            hot: Records::new(slots)?,
            cold: zeroed(slots)?,
            table: Table::new(capacity)?,
            key: fold(seed ^ 0x1319_8a2e_0370_7344, 0x9e37_79b9_7f4a_7c15) | 1,
            changes: Alone(AtomicU64::new(0)),
            free: Alone(FreeList::new(capacity)),
            id_maps: IdMaps::default(),
            some: AtomicU32::new(0),
        })
    }

    pub(crate) fn ranges(&self) -> Vec<(usize, usize)> {
        let cold = self.cold.as_ptr_range();
        vec![self.hot.range(), self.table.range(), (cold.start.addr(), cold.end.addr())]
    }

    pub(super) fn line(&self, mount: MountId) -> &Line {
        self.hot.at(mount.0)
    }

    pub(super) fn life(&self, mount: MountId) -> &AtomicU64 {
        &self.cold[mount.0 as usize][LIFE]
    }

    pub(super) fn writers(&self, mount: MountId) -> &AtomicU64 {
        &self.cold[mount.0 as usize][WRITERS]
    }

    #[inline(always)]
    fn hash(&self, place: Place) -> u64 {
        fold(place.bits() ^ self.key, self.key)
    }

    // Queries of walks.

    /// Returns what is mounted on a place, in whose mount the reader stands. Takes no lock.
    pub(crate) fn cover(&self, place: Place) -> Cover {
        let before = self.changes.load(Ordering::Acquire);
        let found = self.table.view().find(self.hash(place), |slot| {
            let line = self.hot.all().get(slot as usize)?;
            let word = seqcount::sample(&line[WORD]);
            let is_it = word & (seqcount::ODD | flags::SHOWN) == flags::SHOWN && line[AT].load(Ordering::Relaxed) == place.bits();
            let root = DentryId((line[ROOT].load(Ordering::Relaxed) >> 32) as u32);
            is_it.then_some((Standing { mount: MountId(slot), word }, root))
        });
        match found {
            Some((mount, _)) if !self.is_still(mount) => Cover::NotNow,
            Some((mount, root)) => Cover::Mount(mount, root),
            None => {
                fence(Ordering::Acquire);
                let same = before & 1 == 0 && self.changes.load(Ordering::Relaxed) == before;
                if same { Cover::Nothing } else { Cover::NotNow }
            }
        }
    }

    /// Returns the records as a walk holds them.
    #[inline(always)]
    pub(crate) fn view(&self) -> MountsView<'_> {
        MountsView::new(self.hot.all())
    }

    /// Returns the records for code that keeps their words: the first word of a line is the
    /// mount's.
    #[inline(always)]
    pub(crate) fn lines(&self) -> &[Line] {
        self.hot.all()
    }

    /// Returns the sampled word of a mount that the caller has a pin on.
    pub(crate) fn word(&self, mount: MountId) -> u64 {
        seqcount::sample(&self.line(mount)[WORD])
    }

    /// Returns the mount that seems to cover a place, or [`MountId::NONE`].
    #[cold]
    #[inline(never)]
    pub(crate) fn probable_cover(&self, place: Place) -> MountId {
        let is_at = |slot: u32| (self.line(MountId(slot))[AT].load(Ordering::Relaxed) == place.bits()).then_some(MountId(slot));
        self.table.view().find(self.hash(place), is_at).unwrap_or(MountId::NONE)
    }

    /// Returns the mount on a place, exactly, while the tree is locked.
    pub(super) fn cover_in_still_tree(&self, place: Place) -> Option<(MountId, DentryId)> {
        self.table.view().find(self.hash(place), |slot| {
            let line = self.line(MountId(slot));
            // Another thread may be clearing `EXPIRES` of a mount that is used again: this waits
            // for it.
            let word = seqcount::sample_even(&line[WORD]);
            let is_it = word & flags::SHOWN != 0 && line[AT].load(Ordering::Relaxed) == place.bits();
            is_it.then(|| (MountId(slot), self.root(MountId(slot))))
        })
    }

    /// Returns whether the reader still stands in the mount that it came to.
    #[inline(always)]
    pub(crate) fn is_still(&self, standing: Standing) -> bool {
        standing.word == 0 || seqcount::unchanged(&self.line(standing.mount)[WORD], standing.word)
    }

    /// Returns what a mount covers, or `None` if it covers nothing. Fails if the mount is changing,
    /// or changed since the reader came to it.
    pub(crate) fn covered(&self, standing: Standing) -> Result<Option<Covered>, Changed> {
        let line = self.line(standing.mount);
        let word = seqcount::sample(&line[WORD]);
        if word & seqcount::ODD != 0 || standing.word != 0 && standing.word != word {
            return Err(Changed);
        }
        if word & flags::SHOWN == 0 {
            // A mount that is being moved is at no place until the end of the change.
            fence(Ordering::Acquire);
            let is_so = self.settled().is_some() && seqcount::unchanged(&line[WORD], word);
            return if is_so { Ok(None) } else { Err(Changed) };
        }
        let at = Place::from_bits(line[AT].load(Ordering::Relaxed));
        let mount = Standing { mount: at.mount(), word: seqcount::sample(&self.line(at.mount())[WORD]) };
        // A mount keeps the one that it is mounted in, so at this instant that is the sampled one.
        if mount.word & seqcount::ODD != 0 || !seqcount::unchanged(&line[WORD], word) {
            return Err(Changed);
        }
        let by = Standing { mount: standing.mount, word };
        Ok(Some(Covered { by, mount, dentry: at.dentry() }))
    }

    /// Returns the root of a mount. The result is valid if the reader still stands in the mount.
    pub(crate) fn root(&self, mount: MountId) -> DentryId {
        DentryId((self.line(mount)[ROOT].load(Ordering::Relaxed) >> 32) as u32)
    }

    /// Returns the switches of a mount, or `None` if it changed since the reader came to it.
    pub(crate) fn switches_at(&self, standing: Standing) -> Option<Switches> {
        let word = seqcount::sample(&self.line(standing.mount)[WORD]);
        self.is_still(standing).then(|| Switches::of_word(word))
    }

    /// Returns the switches of a mount that the caller has a pin on.
    pub(crate) fn switches(&self, mount: MountId) -> Switches {
        Switches::of_word(seqcount::sample(&self.line(mount)[WORD]))
    }

    /// Returns the superblock of a mount that the caller has a pin on.
    pub(crate) fn superblock(&self, mount: MountId) -> SuperblockId {
        SuperblockId(self.line(mount)[ROOT].load(Ordering::Relaxed) as u16)
    }

    /// Returns the number of a mount that users see.
    pub(crate) fn number(&self, mount: MountId) -> u64 {
        self.line(mount)[NUMBER].load(Ordering::Relaxed)
    }

    /// Returns the count of changes, or `None` while one is under way.
    pub(crate) fn settled(&self) -> Option<u64> {
        Some(self.changes.load(Ordering::Acquire)).filter(|count| count.is_multiple_of(2))
    }

    /// Returns whether mounts came, went or moved since the count had this value.
    pub(crate) fn changed_since(&self, then: u64) -> bool {
        fence(Ordering::Acquire);
        self.changes.load(Ordering::Relaxed) != then
    }

    // Changes, and slots.

    /// Begins a change of the tree, whose lock is held.
    pub(super) fn begin_change(&self) {
        let odd = self.changes.load(Ordering::Relaxed).wrapping_add(1);
        self.changes.store(odd, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Ends a change of the tree.
    pub(super) fn end_change(&self) {
        let even = self.changes.load(Ordering::Relaxed).wrapping_add(1);
        // The memo keeps 32 bits of the count.
        if even.is_multiple_of(1 << 30) {
            seqcount::count_lap();
        }
        self.changes.store(even, Ordering::Release);
    }

    /// Enters a mount into the table under the place that it covers.
    pub(super) fn enter(&self, mount: MountId, at: Place) {
        self.note_cover();
        self.table.view().put(self.hash(at), mount.0);
    }

    /// Removes a mount from the table.
    pub(super) fn leave(&self, mount: MountId, at: Place) {
        self.table.view().remove(self.hash(at), mount.0);
    }

    /// Takes an unused slot, if there is one.
    pub(super) fn take(&self) -> Option<MountId> {
        self.free.take(|slot| self.life_link(slot)).map(MountId)
    }

    /// Gives a slot back. Its mount has ended.
    pub(super) fn give(&self, mount: MountId) {
        let writing = seqcount::write(&self.line(mount)[WORD]);
        writing.end(0);
        self.free.give(mount.0, |slot| self.life_link(slot));
    }

    /// Returns the word that links free slots: the count of writers, which only mounts in use need.
    fn life_link(&self, slot: u32) -> &AtomicU64 {
        self.writers(MountId(slot))
    }

    /// Returns the number of mounts.
    pub(crate) fn count(&self) -> u32 {
        self.free.used(|slot| self.life_link(slot))
    }
}

/// The error that a mount changed, or is changing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Changed;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_lap_of_changes_is_counted() {
        let records = MountRecords::new(1, 1).expect("room for one");
        records.changes.store((1 << 30) - 2, Ordering::Relaxed);
        let before = seqcount::laps();
        records.begin_change();
        records.end_change();
        assert_ne!(seqcount::laps(), before);
    }
}
