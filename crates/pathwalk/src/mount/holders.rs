//! What holds a mount: pins, changes under way, and files that are open to be written to.

use super::records::{MountRecords, Standing, WORD, flags};
use super::switches::Switches;
use crate::memory::slot::MountId;
use crate::memory::{pin, seqcount};
use crate::sync::Ordering;

/// In the count of writers: it takes none.
const REFUSES: u64 = 1 << 63;

/// What is left of a mount when a pin was given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    Others,
    /// The pin of the tree, which keeps a mount that is in no namespace for those that are mounted
    /// in it.
    Tree,
    /// None: the mount is in no tree.
    Nothing,
}

impl MountRecords {
    /// Begins the life of a mount, whose slot is filled, with one pin.
    pub(super) fn begin_life(&self, mount: MountId, switches: Switches) {
        let writers = if switches.is_read_only() { REFUSES } else { 0 };
        self.writers(mount).store(writers, Ordering::Relaxed);
        pin::revive(self.life(mount));
    }

    /// Takes another pin of a mount of which the caller knows that it is pinned.
    pub(crate) fn pin_again(&self, mount: MountId) {
        pin::pin_again(self.life(mount));
    }

    /// Pins the mount that a reader stands in. False: it is none, or another by now. One that is
    /// unmounted just then is held as one that is unmounted lazily.
    pub(crate) fn pin_sampled(&self, standing: Standing) -> bool {
        if standing.word == 0 {
            self.pin_again(standing.mount);
            return true;
        }
        let life = self.life(standing.mount);
        let Some(of) = pin::read(life) else { return false };
        // Unchanged after `of` was read: it is this mount's life.
        self.is_still(standing) && pin::pin(life, of)
    }

    /// Gives a pin back; returns what is left.
    pub(crate) fn unpin(&self, mount: MountId) -> Left {
        let lingers = self.line(mount)[WORD].load(Ordering::Relaxed) & flags::LINGERS != 0;
        match pin::unpin(self.life(mount)) {
            unpinned if unpinned.was_last() => Left::Nothing,
            // Where it begins to linger just now, the thread that lets it looks itself.
            _ if lingers && !self.is_busy(mount) => Left::Tree,
            _ => Left::Others,
        }
    }

    /// Notes that a mount is used, which is pinned or was just seen: it does not expire. Linux:
    /// `mnt_expiry_mark`.
    pub(crate) fn used(&self, mount: MountId) {
        let word = &self.line(mount)[WORD];
        // Where the tree is at it, it is used no later than that.
        if word.load(Ordering::Relaxed) & (flags::EXPIRES | flags::CHANGING) == flags::EXPIRES {
            let writing = seqcount::write(word);
            let flags = writing.flags() & !flags::EXPIRES;
            writing.end(flags);
        }
    }

    /// Returns whether another than the tree holds it. A guess.
    pub(crate) fn is_busy(&self, mount: MountId) -> bool {
        pin::counts(self.life(mount)) > 1
    }

    /// Ends a mount that only the caller has a pin on; false if another does.
    pub(crate) fn end_held(&self, mount: MountId) -> bool {
        pin::kill_held(self.life(mount))
    }

    /// Ends a mount that has no pin; false if it has, or another thread ended it.
    pub(crate) fn end_idle(&self, mount: MountId) -> bool {
        pin::kill(self.life(mount))
    }

    /// Counts a change, or a file that is open to be written to. False: the mount takes none.
    pub(crate) fn begin_writing(&self, mount: MountId) -> bool {
        let one_more = |count: u64| (count & REFUSES == 0).then_some(count + 1);
        self.writers(mount).fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more).is_ok()
    }

    /// Counts it no longer.
    pub(crate) fn end_writing(&self, mount: MountId) {
        self.writers(mount).fetch_sub(1, Ordering::Release);
    }

    /// Refuses writers from now on, or takes them again. False if there are some.
    pub(crate) fn refuse_writers(&self, mount: MountId, refuse: bool) -> bool {
        let to = if refuse { REFUSES } else { 0 };
        let alone = |count: u64| (count & !REFUSES == 0 || !refuse).then_some(to | count & !REFUSES);
        self.writers(mount).fetch_update(Ordering::AcqRel, Ordering::Relaxed, alone).is_ok()
    }
}
