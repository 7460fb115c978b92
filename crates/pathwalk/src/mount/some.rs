//! What some mount may ask, whichever it is: one word that tells a walk what it need not look for.
//!
//! Bits of [`Access`]: some mount may refuse that although a dentry grants it to everyone. Above
//! them, the bits below.
//!
//! What always holds: bits are never taken back, and a thread that makes a mount, or sets switches
//! of one, sets them first. So they are `Relaxed`. `COVERS` is a guess.

use super::id_maps::IdMapNumber;
use super::records::MountRecords;
use super::switches::Switches;
use crate::abi::MountFlags;
use crate::permission::Access;
use crate::sync::Ordering;

/// A mount follows no links; or its root is one, which is followed from elsewhere.
const NO_LINKS: u32 = 1 << 8;
/// A mount covers a place, or did.
const COVERS: u32 = 1 << 9;
/// A mount has an id map.
const MAPS: u32 = 1 << 10;
/// A mount has a root that is not its file system's, or had.
const PARTS: u32 = 1 << 11;

impl MountRecords {
    /// Returns whether some mount may have to be asked for this, whatever a dentry grants to
    /// everyone.
    #[inline(always)]
    pub(crate) fn some_ask(&self, want: Access) -> bool {
        self.some.load(Ordering::Relaxed) & u32::from(want.bits()) != 0
    }

    /// Returns whether some mount may show a part of its file system.
    #[inline(always)]
    pub(crate) fn some_show_parts(&self) -> bool {
        self.some.load(Ordering::Relaxed) & PARTS != 0
    }

    /// Returns whether a link may have to be looked at closer: some mount may follow none, or be
    /// one.
    #[inline(always)]
    pub(crate) fn some_follow_none(&self) -> bool {
        self.some.load(Ordering::Relaxed) & NO_LINKS != 0
    }

    /// Returns whether some mount may have an id map.
    #[inline(always)]
    pub(super) fn some_have_maps(&self) -> bool {
        self.some.load(Ordering::Relaxed) & MAPS != 0
    }

    /// Returns whether a walk probably crosses to a mount. A guess.
    #[inline(always)]
    pub(crate) fn some_cover(&self) -> bool {
        self.some.load(Ordering::Relaxed) & COVERS != 0
    }

    /// Remembers what mounts may ask from now on.
    pub(super) fn note(&self, switches: Switches) {
        let mut some = 0;
        if switches.is_read_only() {
            some |= u32::from(Access::WRITE.bits());
        }
        if switches.contains(MountFlags::NOEXEC) {
            some |= u32::from(Access::EXECUTE.bits());
        }
        if switches.contains(MountFlags::NOSYMFOLLOW) {
            some |= NO_LINKS;
        }
        self.remember(some);
    }

    /// Remembers that a mount is about to have an id map, if this is one. What an unmapped id owns
    /// is not written to, whatever its mode says.
    pub(super) fn note_map(&self, map: Option<IdMapNumber>) {
        if map.is_some() {
            self.remember(MAPS | u32::from(Access::WRITE.bits()));
        }
    }

    /// Remembers that a mount is about to have a root that is a link, or not its file system's.
    pub(super) fn note_root(&self, is_link: bool, is_part: bool) {
        let some = if is_link { NO_LINKS } else { 0 } | if is_part { PARTS } else { 0 };
        self.remember(some);
    }

    /// Remembers that a mount is about to cover a place.
    pub(super) fn note_cover(&self) {
        self.remember(COVERS);
    }

    /// Adds bits. Those that are there are not written again: all walks read it.
    fn remember(&self, bits: u32) {
        if self.some.load(Ordering::Relaxed) & bits != bits {
            self.some.fetch_or(bits, Ordering::Relaxed);
        }
    }
}
