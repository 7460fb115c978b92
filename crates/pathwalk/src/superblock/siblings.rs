//! The lookup of all other names of a directory at once, after many of them were looked up one by
//! one.
//!
//! A process that has looked up a quarter of a directory's names is likely to look up most of them:
//! a backup, `git status`, a search. One call for all costs a file system less than one call each
//! (one opened directory and not a hundred paths; one range of keys and not a hundred). So the
//! engine counts the names of a directory that it had to look up and that existed. It offers to
//! take the others when the count reaches `FIRST`, twice that and so on, if the directory has at
//! most `FOR_EACH` times as many. The cost is in proportion to what was paid before, even if the
//! rest is never used.
//!
//! Where it paid, it is likely to pay in the next directory. So a directory of which nothing is
//! cached yet is requested as a whole at once, if the directory that was entered before it in the
//! same parent is complete, and at least half of a sample of its names was hit. The sample uses the
//! marks that hits leave in any case.
//!
//! Invariants: it runs under the directory's lock, shared, as a lookup does, so what was given is
//! true when it is entered. It never replaces what is cached, and never records that a name is
//! absent. It cannot fail the lookup that it goes with.
//!
//! What it does not do: it does not take parts of a directory that has more than [`MOST`] names, or
//! more than fit into a share of the cache.

use arrayvec::ArrayVec;

use super::Trees;
use super::asked_for::{MOST, most};
use super::many::AskedForMany;
use super::miss::Trust;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::complete::{self, Listing};
use crate::cache::dcache::dentry::{flags, was_hit};
use crate::cache::dcache::watch::Known;
use crate::fs_api::{Directory, Siblings, TakesSiblings};
use crate::memory::slot::DentryId;
use crate::node::Node;
use crate::sync::Ordering;
use crate::text::Name;

/// The number of children of a directory that are sampled to find out whether it paid to ask for
/// them.
const SAMPLE: usize = 16;
/// The factor by which a directory may have more names than the directory before it.
const THAN_ELDER: usize = 2;
/// The limit below which a directory's children are compared one by one.
const FEW: usize = 32;

/// The receiver of the names that a file system gives of a directory as a whole. The caller has a
/// pin on the directory.
struct Taking<'a> {
    trees: &'a Trees,
    dir: DentryId,
    most: usize,
    /// The counts before the file system was asked for any of them.
    asked: AskedForMany,
    /// The listing that may make the directory complete; `None` where that is of no use, or
    /// something was left out.
    listing: Option<Listing>,
    room: Room,
    /// The children that were cached at the beginning, if they were few.
    few: Option<ArrayVec<DentryId, FEW>>,
}

/// The state of the cache: whether it takes more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    ForMore,
    Used,
}

impl TakesSiblings for Taking<'_> {
    fn most(&self) -> usize {
        self.most
    }

    /// Returns whether a name is not cached, or only listed. May return true for a cached one.
    fn wants(&self, name: Name<'_>) -> bool {
        if self.room == Room::Used {
            return false;
        }
        let caches = &self.trees.caches;
        let word = match &self.few {
            Some(few) => few.iter().find_map(|id| caches.word_if_named(*id, self.dir, name.bytes())),
            None => caches.probe(self.dir, name.bytes()).map(|(_, word)| word),
        };
        word.is_none_or(|word| word & flags::LISTED != 0)
    }

    fn give(&mut self, found: &[(Name<'_>, Node)]) {
        if let Err(errno) = self.trees.enter_many(self.dir, self.asked, found) {
            self.listing = None;
            if errno == Errno::ENFILE {
                self.room = Room::Used;
            }
        }
    }

    fn note(&mut self, name: Name<'_>) {
        let (caches, dir) = (&self.trees.caches, self.dir);
        self.listing.take_if(|listing| !caches.note_name(dir, listing, name));
    }

    fn are_all(&mut self) {
        if let Some(listing) = self.listing.take() {
            self.trees.caches.end_listing(self.dir, &listing);
        }
    }
}

impl Trees {
    /// Counts a name of the directory that was looked up and exists, and asks for the others where
    /// that pays. The caller holds the directory's lock shared.
    pub(crate) fn asked_for_one(&self, dir: DentryId, trust: Trust) {
        let Some(asked_for) = &self.asked_for else { return };
        let most = most(asked_for.count(dir)).filter(|_| trust == Trust::Cache);
        if let Some(most) = most {
            self.ask_for_siblings(dir, most);
        }
    }

    /// Asks for all names of the directory in place of the one that is about to be looked up, if no
    /// name of it is cached and that paid in the directory before this one. Returns whether there
    /// are any. The caller holds the directory's lock shared.
    pub(crate) fn asked_for_all(&self, dir: DentryId) -> bool {
        let Some(asked_for) = &self.asked_for else { return false };
        if self.caches.dentries.first_child(dir).load(Ordering::Relaxed) != 0 {
            return false;
        }
        asked_for.forget(dir);
        let Some(elder) = self.names_of_elder(dir) else { return false };
        self.ask_for_siblings(dir, MOST.min(elder * THAN_ELDER));
        self.caches.dentries.first_child(dir).load(Ordering::Relaxed) != 0
    }

    /// Returns the number of names in the directory that was entered before this one in the same
    /// parent, if all of them are cached and many were hit.
    fn names_of_elder(&self, dir: DentryId) -> Option<usize> {
        let elder = self.elder(dir)?;
        let held = self.caches.dentries.children_lock(elder.id());
        if self.caches.known(elder.id(), &held) != Known::All {
            return None;
        }
        let children = || self.caches.children(elder.id(), &held);
        let hits = children().take(SAMPLE).filter(|id| was_hit(self.caches.dentries.line(*id))).count();
        (hits * 2 >= SAMPLE).then(|| children().take(MOST).count())
    }

    fn elder(&self, dir: DentryId) -> Option<Pinned<'_>> {
        let parent = self.caches.dentries.parent(dir);
        let _held = self.caches.dentries.children_lock(parent);
        // The directory was moved meanwhile, or dropped: its link to the next sibling is not valid.
        if self.caches.dentries.parent(dir) != parent || self.caches.dentries.word(dir) & flags::UNHASHED != 0 {
            return None;
        }
        let next = DentryId((self.caches.dentries.siblings(dir).load(Ordering::Relaxed) >> 32) as u32);
        let is_directory = next != DentryId::NONE && self.caches.dentries.word(next) & flags::DIRECTORY != 0;
        is_directory.then(|| self.caches.try_pin_listed(next)).flatten().map(|id| Pinned::new(&self.caches, id))
    }

    #[cold]
    fn ask_for_siblings(&self, dir: DentryId, most: usize) {
        let most = most.min(complete::share(self.caches.dentries.free().capacity()) as usize);
        // Asked behind the beginning: a report that comes later ends the listing.
        let listing = self.caches.begin_listing(dir).filter(|_| self.absence_lasts(dir));
        let few = {
            let held = self.caches.dentries.children_lock(dir);
            let few: ArrayVec<DentryId, FEW> = self.caches.children(dir, &held).take(FEW).collect();
            (!few.is_full()).then_some(few)
        };
        let asked = AskedForMany { versions: self.caches.versions.ask(), doubts: self.caches.doubts.of_names(dir) };
        let mut taking = Taking { trees: self, dir, most, asked, listing, room: Room::ForMore, few };
        // A lookup of one of these names reports the error.
        _ = self.superblock_at(dir).fs.lookup_siblings(&Directory::new(&self.caches, dir), &mut Siblings::new(&mut taking));
    }
}
