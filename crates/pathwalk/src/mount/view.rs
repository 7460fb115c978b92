//! The records of mounts as the loop of a walk holds them: two registers.

use super::place::Place;
use super::records::{AT, ROOT, Standing, WORD, flags};
use crate::memory::lines::Line;
use crate::memory::seqcount::{self, ODD};
use crate::memory::slot::{DentryId, MountId};
use crate::sync::Ordering;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct MountsView<'a>(&'a [Line]);

impl<'a> MountsView<'a> {
    /// Has no mounts.
    pub(crate) const NONE: MountsView<'static> = MountsView(&[]);

    #[inline(always)]
    pub(super) fn new(lines: &'a [Line]) -> Self {
        MountsView(lines)
    }

    /// Returns the mount in this slot, if it covers the place and does not expire; and its root. To
    /// be rechecked, after the root was sampled.
    #[inline(always)]
    pub(crate) fn covers(self, slot: u64, place: Place) -> Option<(Seen<'a>, DentryId)> {
        let line = self.0.get(slot as usize)?;
        let word = seqcount::sample(&line[WORD]);
        // One that covers nothing is at no place.
        let is_it = word & (ODD | flags::EXPIRES) == 0 && line[AT].load(Ordering::Relaxed) == place.bits();
        let root = DentryId((line[ROOT].load(Ordering::Relaxed) >> 32) as u32);
        is_it.then_some((Seen { line, standing: Standing { mount: MountId(slot as u32), word } }, root))
    }

    /// Returns whether the reader still stands in the mount that it came to.
    #[inline(always)]
    pub(crate) fn is_still(self, standing: Standing) -> bool {
        let same = |line: &Line| seqcount::unchanged(&line[WORD], standing.word);
        standing.word == 0 || self.0.get(standing.mount.0 as usize).is_some_and(same)
    }
}

/// A mount that a reader is about to go to.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    line: &'a Line,
    pub(crate) standing: Standing,
}

impl Seen<'_> {
    /// Returns whether it is still what it was.
    #[inline(always)]
    pub(crate) fn is_still(self) -> bool {
        seqcount::unchanged(&self.line[WORD], self.standing.word)
    }
}
