//! Where a file system puts the names of a directory that nobody asked for yet.

use arrayvec::ArrayVec;

use super::{Name, Node};
use crate::dcache::complete::Listing;
use crate::dcache::dentry::DentryId;
use crate::icache::refresh::Asked;
use crate::vfs::Core;
use crate::walk::siblings::FEW;

/// Takes what a file system tells of a directory as a whole: see [`FileSystem::lookup_siblings`](crate::FileSystem::lookup_siblings).
///
/// The directory is pinned and its names do not change through the `Vfs` for the length of the call.
pub struct Siblings<'a> {
    pub(crate) core: &'a Core,
    pub(crate) dir: DentryId,
    pub(crate) most: usize,
    /// Read before the file system was asked for any of them.
    pub(crate) asked: Asked,
    /// What may make the directory complete; none where that is of no use, or something was left out.
    pub(crate) listing: Option<Listing>,
    pub(crate) room: Room,
    /// Children that were cached at the beginning, if they were few.
    pub(crate) few: Option<ArrayVec<DentryId, FEW>>,
}

/// Whether the cache takes more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    ForMore,
    Used,
}

impl Siblings<'_> {
    /// How many names the directory may have at most for this to be worth while; where it has more, nothing should be given.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether nothing is known of this name yet. A name that is not wanted need not be given; that it is there the engine knows.
    pub fn wants(&self, name: Name<'_>) -> bool {
        self.room == Room::ForMore && self.core.wants_sibling(self, name)
    }

    /// What is behind names: each node is handed out, as from [`lookup`](crate::FileSystem::lookup), with a `forget` to come whatever becomes of it.
    pub fn give(&mut self, found: &[(Name<'_>, Node)]) {
        self.core.enter_siblings(self, found);
    }

    /// A name that is there; what is behind it will be asked for by `lookup`, should somebody want to know.
    pub fn note(&mut self, name: Name<'_>) {
        self.core.note_sibling(self, name);
    }

    /// Those that were given, noted, or not wanted are all names that can be looked up in the directory: one that is not cached is absent, from
    /// now on and until one of them leaves the cache.
    pub fn are_all(&mut self) {
        if let Some(listing) = self.listing.take() {
            self.core.end_listing(self.dir, &listing);
        }
    }
}

impl std::fmt::Debug for Siblings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Siblings").field("dir", &self.dir).field("most", &self.most).finish_non_exhaustive()
    }
}
