//! The requirements that some mount may have, whichever mount it is: one word that tells a walk
//! which checks it can skip.
//!
//! The low bits are those of [`Access`]: some mount may refuse that access although a dentry grants
//! it to all users. The bits below are above them.
//!
//! What always holds: bits are never cleared. A thread that makes a mount, or sets its switches,
//! sets the bits first. So they are `Relaxed`. `COVERS` is a guess.

use super::id_maps::IdMapNumber;
use super::records::MountRecords;
use super::switches::Switches;
use crate::abi::{AccessRule, MountFlags};
use crate::attr::FileType;
use crate::permission::Access;
use crate::sync::Ordering;

/// Some mount follows no links, or has each access to one stored; or the root of some mount is a
/// link, which is followed from elsewhere.
const ASKS_AT_LINKS: u32 = 1 << 8;
/// Some mount covers or covered a place.
const COVERS: u32 = 1 << 9;
/// Some mount has an id map.
const MAPS: u32 = 1 << 10;
/// Some mount has or had a root that is not its file system's.
const PARTS: u32 = 1 << 11;

impl MountRecords {
    /// Returns whether some mount may have to be checked for this access, whatever a dentry grants
    /// to all users.
    #[inline(always)]
    pub(crate) fn some_ask(&self, want: Access) -> bool {
        self.some.load(Ordering::Relaxed) & u32::from(want.bits()) != 0
    }

    /// Returns whether some mount may show a part of its file system.
    #[inline(always)]
    pub(crate) fn some_show_parts(&self) -> bool {
        self.some.load(Ordering::Relaxed) & PARTS != 0
    }

    /// Returns whether a link may need a closer look: some mount may follow none, have each access
    /// to one stored, or have a link as its root.
    #[inline(always)]
    pub(crate) fn some_ask_at_links(&self) -> bool {
        self.some.load(Ordering::Relaxed) & ASKS_AT_LINKS != 0
    }

    /// Returns whether some mount may have an id map.
    #[inline(always)]
    pub(super) fn some_have_maps(&self) -> bool {
        self.some.load(Ordering::Relaxed) & MAPS != 0
    }

    /// Returns whether a walk probably crosses to a mount. The result is a guess.
    #[inline(always)]
    pub(crate) fn some_cover(&self) -> bool {
        self.some.load(Ordering::Relaxed) & COVERS != 0
    }

    /// Records what mounts may require from now on.
    pub(super) fn note(&self, switches: Switches) {
        let mut some = 0;
        if switches.is_read_only() {
            some |= u32::from(Access::WRITE.bits());
        }
        if switches.contains(MountFlags::NOEXEC) {
            some |= u32::from(Access::EXECUTE.bits());
        }
        if switches.contains(MountFlags::NOSYMFOLLOW) || switches.access_rule(FileType::Symlink) == AccessRule::Always {
            some |= ASKS_AT_LINKS;
        }
        self.remember(some);
    }

    /// Records that a mount is about to have an id map, if `map` is one. Nodes of an unmapped owner
    /// are not written to, whatever their mode says.
    pub(super) fn note_map(&self, map: Option<IdMapNumber>) {
        if map.is_some() {
            self.remember(MAPS | u32::from(Access::WRITE.bits()));
        }
    }

    /// Records that a mount is about to have a root that is a link, or not its file system's.
    pub(super) fn note_root(&self, is_link: bool, is_part: bool) {
        let some = if is_link { ASKS_AT_LINKS } else { 0 } | if is_part { PARTS } else { 0 };
        self.remember(some);
    }

    /// Records that a mount is about to cover a place.
    pub(super) fn note_cover(&self) {
        self.remember(COVERS);
    }

    /// Sets bits. Bits that are set already are not written again, since all walks read the word.
    fn remember(&self, bits: u32) {
        if self.some.load(Ordering::Relaxed) & bits != bits {
            self.some.fetch_or(bits, Ordering::Relaxed);
        }
    }
}
