//! The layers that refuse each right.

use crate::attr::FileType;
use crate::security::Rights;

/// For each right, by the number of its bit: a bit for each layer that refuses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Denied([u16; Rights::all().bits().count_ones() as usize]);

impl Denied {
    pub(super) fn add(&mut self, layer: usize, rights: Rights) {
        self.each(rights, |layers| *layers |= 1 << layer);
    }

    pub(super) fn remove(&mut self, layer: usize, rights: Rights) {
        self.each(rights, |layers| *layers &= !(1 << layer));
    }

    /// Refuses no right but these.
    pub(super) fn keep(&mut self, rights: Rights) {
        self.each(!rights, |layers| *layers = 0);
    }

    /// Returns what is left if only these rights count.
    pub(super) fn only(mut self, rights: Rights) -> Denied {
        self.keep(rights);
        self
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Denied::default()
    }

    /// Returns the rights that some layer refuses.
    pub(super) fn rights(&self) -> Rights {
        Rights::all().iter().filter(|right| self.0[index(*right)] != 0).collect()
    }

    /// Returns the layers that refuse some right.
    pub(super) fn layers(&self) -> Vec<usize> {
        let any = self.0.iter().fold(0, |any, layers| any | layers);
        (0..u16::BITS as usize).filter(|layer| any & 1 << layer != 0).collect()
    }

    /// Returns whether a node of this type gains a right where it comes from a directory with these
    /// refusals into one with the refusals `reached`. `own` are the refusals of the node without
    /// its directory. Linux: `no_more_access`.
    pub(super) fn gains_in(&self, reached: &Denied, own: &Denied, kind: FileType) -> bool {
        let counts = if kind == FileType::Directory { Rights::all() } else { Rights::OF_FILES };
        counts.iter().map(index).any(|right| self.0[right] & own.0[right] & !reached.0[right] != 0)
    }

    fn each(&mut self, rights: Rights, change: impl Fn(&mut u16)) {
        rights.iter().for_each(|right| change(&mut self.0[index(right)]));
    }
}

fn index(right: Rights) -> usize {
    right.bits().trailing_zeros() as usize
}
