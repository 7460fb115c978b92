//! A place: a dentry as it is seen through a mount. Linux: `struct path`.

use crate::memory::slot::{DentryId, MountId};

/// A mount and a dentry below its root, in one word, so that a walk loads both at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place(u64);

impl Place {
    /// No place.
    pub(crate) const NONE: Place = Place(0);

    pub(crate) const fn new(mount: MountId, dentry: DentryId) -> Place {
        Place((mount.0 as u64) << 32 | dentry.0 as u64)
    }

    #[inline(always)]
    pub(crate) const fn mount(self) -> MountId {
        MountId((self.0 >> 32) as u32)
    }

    #[inline(always)]
    pub(crate) const fn dentry(self) -> DentryId {
        DentryId(self.0 as u32)
    }

    /// Returns the word that a record keeps of the place.
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(super) const fn from_bits(bits: u64) -> Place {
        Place(bits)
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place({}, {})", self.mount().0, self.dentry().0)
    }
}
