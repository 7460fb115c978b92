//! The records of mounts as the loop of a walk holds them, in two registers.

use super::place::Place;
use super::records::{AT, ROOT, Standing, WORD, flags};
use crate::memory::lines::Line;
use crate::memory::seqcount::{self, ODD};
use crate::memory::slot::{DentryId, MountId};
use crate::sync::Ordering;

/// The records of all mounts, as a slice.
#[derive(Clone, Copy)]
pub(crate) struct MountsView<'a>(&'a [Line]);

impl<'a> MountsView<'a> {
    /// A view without mounts.
    pub(crate) const NONE: MountsView<'static> = MountsView(&[]);

    #[inline(always)]
    pub(super) fn new(lines: &'a [Line]) -> Self {
        MountsView(lines)
    }

    /// Returns the mount in this slot and its root, if the mount covers the place and does not
    /// expire. The caller has to recheck the mount after it sampled the root.
    #[inline(always)]
    pub(crate) fn covers(self, slot: u64, place: Place) -> Option<(Seen<'a>, DentryId)> {
        let line = self.0.get(slot as usize)?;
        let word = seqcount::sample(&line[WORD]);
        // A mount that covers nothing has no place, so it never matches.
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

/// A mount that a reader is about to enter.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    line: &'a Line,
    pub(crate) standing: Standing,
}

impl Seen<'_> {
    /// Returns whether the mount is unchanged.
    #[inline(always)]
    pub(crate) fn is_still(self) -> bool {
        seqcount::unchanged(&self.line[WORD], self.standing.word)
    }
}
