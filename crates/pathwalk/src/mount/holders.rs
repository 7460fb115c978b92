//! The holders of a mount: pins, changes under way, and files that are open for writing.

use super::records::{MountRecords, Standing, WORD, flags};
use super::switches::Switches;
use crate::memory::slot::MountId;
use crate::memory::{pin, seqcount};
use crate::sync::Ordering;

/// A bit in the count of writers: the mount refuses them.
const REFUSES: u64 = 1 << 63;

/// The pins that are left on a mount after one was given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    Others,
    /// Only the pin of the tree, which keeps a mount that is in no namespace for the mounts that
    /// are mounted in it.
    Tree,
    /// No pin: the mount is in no tree.
    Nothing,
}

impl MountRecords {
    /// Begins the life of a mount, whose slot is filled, with one pin.
    pub(super) fn begin_life(&self, mount: MountId, switches: Switches) {
        let writers = if switches.is_read_only() { REFUSES } else { 0 };
        self.writers(mount).store(writers, Ordering::Relaxed);
        pin::revive(self.life(mount));
    }

    /// Takes one more pin on a mount that the caller knows to be pinned.
    pub(crate) fn pin_again(&self, mount: MountId) {
        pin::pin_again(self.life(mount));
    }

    /// Pins the mount that a reader stands in. Returns false if the slot holds no mount, or another
    /// one by now. A mount that is unmounted at that moment is held like one that was unmounted
    /// lazily.
    pub(crate) fn pin_sampled(&self, standing: Standing) -> bool {
        if standing.word == 0 {
            self.pin_again(standing.mount);
            return true;
        }
        let life = self.life(standing.mount);
        let Some(of) = pin::read(life) else { return false };
        // The record is unchanged after `of` was read, so `of` is this mount's life.
        self.is_still(standing) && pin::pin(life, of)
    }

    /// Gives a pin back; returns what still holds the mount.
    pub(crate) fn unpin(&self, mount: MountId) -> Left {
        let lingers = self.line(mount)[WORD].load(Ordering::Relaxed) & flags::LINGERS != 0;
        match pin::unpin(self.life(mount)) {
            unpinned if unpinned.was_last() => Left::Nothing,
            // If the mount begins to linger just now, the thread that lets it linger checks for
            // holders itself.
            _ if lingers && !self.is_busy(mount) => Left::Tree,
            _ => Left::Others,
        }
    }

    /// Records the use of a mount that is pinned or was just seen, so that it does not expire.
    /// Linux: `mnt_expiry_mark`.
    pub(crate) fn used(&self, mount: MountId) {
        let word = &self.line(mount)[WORD];
        // If a change of the tree is writing the record, the use counts as earlier than that
        // change.
        if word.load(Ordering::Relaxed) & (flags::EXPIRES | flags::CHANGING) == flags::EXPIRES {
            let writing = seqcount::write(word);
            let flags = writing.flags() & !flags::EXPIRES;
            writing.end(flags);
        }
    }

    /// Returns whether the mount has a pin besides the tree's. The result is a guess.
    pub(crate) fn is_busy(&self, mount: MountId) -> bool {
        pin::counts(self.life(mount)) > 1
    }

    /// Ends a mount on which the caller has the only pin; returns false if there is another.
    pub(crate) fn end_held(&self, mount: MountId) -> bool {
        pin::kill_held(self.life(mount))
    }

    /// Ends a mount that has no pin; returns false if it has one, or if another thread ended it.
    pub(crate) fn end_idle(&self, mount: MountId) -> bool {
        pin::kill(self.life(mount))
    }

    /// Counts a change, or a file that is open for writing. Returns false if the mount refuses
    /// writers.
    pub(crate) fn begin_writing(&self, mount: MountId) -> bool {
        let one_more = |count: u64| (count & REFUSES == 0).then_some(count + 1);
        self.writers(mount).fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more).is_ok()
    }

    /// Uncounts a writer.
    pub(crate) fn end_writing(&self, mount: MountId) {
        self.writers(mount).fetch_sub(1, Ordering::Release);
    }

    /// Refuses writers from now on, or accepts them again. Returns false if writers are to be
    /// refused and there are some.
    pub(crate) fn refuse_writers(&self, mount: MountId, refuse: bool) -> bool {
        let to = if refuse { REFUSES } else { 0 };
        let alone = |count: u64| (count & !REFUSES == 0 || !refuse).then_some(to | count & !REFUSES);
        self.writers(mount).fetch_update(Ordering::AcqRel, Ordering::Relaxed, alone).is_ok()
    }
}
