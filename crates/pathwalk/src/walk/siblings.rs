//! When many names of a directory were asked for one by one, the rest is asked for at once.
//!
//! Who asked for a quarter of a directory's names is likely to ask for most of them: a backup, `git status`, a search. One question for all costs a
//! file system less than one each (one opened directory and not a hundred paths; one range of keys and not a hundred). So the engine counts how many
//! names of a directory had to be asked for and were there, and offers to take the others when those were [`FIRST`], twice as many and so on, if the
//! directory has at most [`FOR_EACH`] times as many. What that costs is in proportion to what was paid before, also where nobody wants the rest.
//!
//! Where it paid, it is likely to pay next door: a directory of which nothing is cached yet is asked for as a whole at once if the one that was
//! entered before it, beside it, is complete, and at least half of a sample of its names was hit. That looks at the marks that hits leave anyhow.
//!
//! Invariants: it runs under the directory's lock, shared, as a lookup does, so that what was told is true when it is entered; it never takes the place
//! of what is cached, and never says that a name is absent. It cannot fail the lookup that it goes with.
//!
//! What it does not do: parts of a directory that has more than [`MOST`] names, or more than a share of the cache has room for.

use arrayvec::ArrayVec;

use super::miss::Trust;
use crate::Errno;
use crate::dcache::complete::{self, Known};
use crate::dcache::dentry::{DentryId, VISITED, flags};
use crate::fs_api::{Directory, Name, Node, Room, Siblings};
use crate::sync::{AtomicU32, Ordering, stripes};
use crate::vfs::{Core, Pinned};

/// Names that were asked for one by one before the rest is first thought of. In tests of this crate, less: scenarios are to be short.
const FIRST: u32 = if cfg!(test) { 4 } else { 16 };
/// How many names a directory may have for each that was asked for.
const FOR_EACH: usize = 4;
/// The most names that are asked for at once: a lookup waits for them.
const MOST: usize = 4096;

/// How many children of a directory are looked at to find out whether it paid to ask for them.
const SAMPLE: usize = 16;
/// How many times as many names as the directory before it a directory may have.
const THAN_ELDER: usize = 2;
/// Children that are looked through one by one are fewer than these.
pub(crate) const FEW: usize = 32;
/// How many directories are counted at once.
const COUNTED: usize = stripes(256);
const COUNT_BITS: u32 = 16;
const COUNT: u32 = (1 << COUNT_BITS) - 1;
/// The greatest count at which the rest is thought of.
const LAST: u32 = (MOST / FOR_EACH) as u32;

const _: () = assert!(LAST.is_power_of_two() && LAST <= COUNT && FIRST <= LAST);

/// How many names of each directory were asked for and were there: a count below a part of the directory's number, which tells apart those that
/// share a place. Where two do, or two threads count at once, some are lost, and the rest is asked for later.
///
/// Each word alone, so `Relaxed`.
pub(crate) struct AskedFor(Box<[AtomicU32]>);

impl AskedFor {
    pub(crate) fn new() -> AskedFor {
        AskedFor((0..COUNTED).map(|_| AtomicU32::new(0)).collect())
    }

    /// Counts one more; the new count. It begins anew behind the last that matters: what was told may have left the cache since.
    fn count(&self, dir: DentryId) -> u32 {
        let (place, whose) = self.place(dir);
        let word = place.load(Ordering::Relaxed);
        let before = if word & !COUNT == whose { word & COUNT } else { 0 };
        let count = before % LAST + 1;
        place.store(whose | count, Ordering::Relaxed);
        count
    }

    /// Nothing of the directory is cached: what was asked for earlier says nothing of it.
    fn forget(&self, dir: DentryId) {
        let (place, whose) = self.place(dir);
        if place.load(Ordering::Relaxed) & !COUNT == whose {
            place.store(0, Ordering::Relaxed);
        }
    }

    /// Where it is counted, and what the word has above the count then.
    fn place(&self, dir: DentryId) -> (&AtomicU32, u32) {
        (&self.0[dir.0 as usize % COUNTED], (dir.0 / COUNTED as u32) << COUNT_BITS)
    }
}

/// How many names a directory may have if the rest is to be asked for when so many were.
fn most(count: u32) -> Option<usize> {
    (count >= FIRST && count.is_power_of_two()).then_some(count as usize * FOR_EACH)
}

impl Core {
    /// A name of the directory was asked for, and is there. The caller holds the directory's lock shared.
    pub(crate) fn asked_for_one(&self, dir: DentryId, trust: Trust) {
        let Some(asked_for) = &self.asked_for else { return };
        let most = most(asked_for.count(dir)).filter(|_| trust == Trust::Cache);
        if let Some(most) = most {
            self.ask_for_siblings(dir, most);
        }
    }

    /// A name of the directory is about to be asked for. Whether all of them were instead: because nothing is known of any yet, and that paid in the
    /// directory before this one. The caller holds the directory's lock shared.
    pub(crate) fn asked_for_all(&self, dir: DentryId) -> bool {
        let Some(asked_for) = &self.asked_for else { return false };
        if self.dentries.first_child(dir).load(Ordering::Relaxed) != 0 {
            return false;
        }
        asked_for.forget(dir);
        let Some(elder) = self.names_of_elder(dir) else { return false };
        self.ask_for_siblings(dir, MOST.min(elder * THAN_ELDER));
        self.dentries.first_child(dir).load(Ordering::Relaxed) != 0
    }

    /// How many names the directory has that was entered before this one, beside it, if all of them are cached and many were hit.
    fn names_of_elder(&self, dir: DentryId) -> Option<usize> {
        let elder = self.elder(dir)?;
        let held = self.dentries.children_lock(elder.id());
        if self.known(elder.id(), &held) != Known::All {
            return None;
        }
        let children = || self.children(elder.id(), &held);
        let hits = children().take(SAMPLE).filter(|id| self.dentries.line(*id)[VISITED].load(Ordering::Relaxed) != 0).count();
        (hits * 2 >= SAMPLE).then(|| children().take(MOST).count())
    }

    fn elder(&self, dir: DentryId) -> Option<Pinned<'_>> {
        let parent = self.dentries.parent(dir);
        let _held = self.dentries.children_lock(parent);
        // Moved meanwhile, or dropped: nothing keeps its link true.
        if self.dentries.parent(dir) != parent || self.dentries.word(dir) & flags::UNHASHED != 0 {
            return None;
        }
        let next = DentryId((self.dentries.siblings(dir).load(Ordering::Relaxed) >> 32) as u32);
        let is_directory = next != DentryId::NONE && self.dentries.word(next) & flags::DIRECTORY != 0;
        is_directory.then(|| self.try_pin_listed(next)).flatten().map(|id| Pinned::new(self, id))
    }

    #[cold]
    fn ask_for_siblings(&self, dir: DentryId, most: usize) {
        let most = most.min(complete::share(self.dentries.free().capacity()) as usize);
        let listing = self.begin_listing(dir);
        let few = {
            let held = self.dentries.children_lock(dir);
            let few: ArrayVec<DentryId, FEW> = self.children(dir, &held).take(FEW).collect();
            (!few.is_full()).then_some(few)
        };
        let asked = self.versions.ask();
        let mut siblings = Siblings { core: self, dir, most, asked, listing, room: Room::ForMore, few };
        // Whoever asks for one of them will be told what is wrong.
        _ = self.fs.lookup_siblings(&Directory::new(self, dir), &mut siblings);
    }

    /// Whether a name is not cached, or only listed. May say so of one that is.
    pub(crate) fn wants_sibling(&self, siblings: &Siblings<'_>, name: Name<'_>) -> bool {
        let word = match &siblings.few {
            Some(few) => few.iter().find_map(|id| self.word_if_named(*id, siblings.dir, name.bytes())),
            None => self.probe(siblings.dir, name.bytes()).map(|(_, word)| word),
        };
        word.is_none_or(|word| word & flags::LISTED != 0)
    }

    /// Enters what was told of names.
    pub(crate) fn enter_siblings(&self, siblings: &mut Siblings<'_>, found: &[(Name<'_>, Node)]) {
        if let Err(errno) = self.enter_many(siblings.dir, siblings.asked, found) {
            siblings.listing = None;
            if errno == Errno::ENFILE {
                siblings.room = Room::Used;
            }
        }
    }

    /// Notes that a name is there.
    pub(crate) fn note_sibling(&self, siblings: &mut Siblings<'_>, name: Name<'_>) {
        let dir = siblings.dir;
        siblings.listing.take_if(|listing| !self.note_name(dir, listing, name));
    }
}
