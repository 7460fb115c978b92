//! The way of one walk, from which an entry is made.
//!
//! What always holds: each dentry is recorded with the word that the walk read, and the walk
//! rechecks that word before it goes on. [`Recording::draft`] rechecks the last one.
//!
//! A dentry may be taken out of its directory just after a walk read its slot from the hash table.
//! Its word then has `UNHASHED` set, perhaps for ever: so a way through it by name is not learned.
//! Dentries that a walk reaches otherwise may be unhashed: the start, the root, the directory
//! above, the root of a mount.
//!
//! The dentries of a way that is learned are [remembered](crate::cache::dcache::remembered). That
//! writes to each of them once, so a thread that walks through it just then begins anew.
//!
//! What it does not do: it does not record where rules forbid a way. A walk that ends in an error
//! other than `ENOENT` is not learned.

use std::cell::RefCell;

use arrayvec::ArrayVec;

use super::entry::{MOST_SLOTS, Slots};
use super::question::{LastLink, Question};
use super::what::{Draft, Parts};
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::remembered::remember;
use crate::memory::lines::Line;
use crate::memory::seqcount::{ODD, unchanged};

/// The flags of a dentry through which no way is learned by name.
const NOT_LEARNED: u64 = flags::UNHASHED | flags::REVALIDATE | flags::IN_LOOKUP;

/// The way of one walk. Used by one thread.
#[derive(Default)]
pub(crate) struct Recording(RefCell<Way>);

/// A slot, and its word.
type Seen = (u32, u64);

#[derive(Default)]
struct Way {
    /// The dentries in the order of the walk, each once.
    dentries: ArrayVec<Seen, MOST_SLOTS>,
    links: ArrayVec<u32, MOST_SLOTS>,
    /// The mounts that the walk crosses from and to.
    mounts: ArrayVec<Seen, MOST_SLOTS>,
    /// The last dentry.
    last: Seen,
    has_dot_dot: bool,
    crosses: bool,
    /// Set where the way depends on the mounts of start and root.
    asks_mounts: bool,
    /// Set where the walk went through a directory that not all users may search.
    is_restricted: bool,
    /// Set where a link in the last component was followed.
    follows_last: bool,
    /// Set where the way cannot be learned.
    is_refused: bool,
}

/// Adds a slot. Returns whether it had another word before, or there is no room.
fn note(all: &mut ArrayVec<Seen, MOST_SLOTS>, seen: Seen) -> bool {
    match all.iter().find(|(slot, _)| *slot == seen.0) {
        Some(before) => *before != seen,
        None => all.try_push(seen).is_err(),
    }
}

impl Way {
    fn come_to(&mut self, seen: Seen) {
        self.is_refused |= note(&mut self.dentries, seen);
        self.last = seen;
    }

    /// Returns the mounts on which the way depends, that of the end first; none where they cannot
    /// be recorded.
    fn all_mounts(&self, begins: &[Seen], end: u32) -> Option<ArrayVec<Seen, MOST_SLOTS>> {
        let mut all = self.mounts.clone();
        // Mounts map ids, and have a place of their own.
        let asks = self.asks_mounts || self.is_restricted;
        let begins_and_ends = begins.first().is_some_and(|start| start.0 == end);
        if all.is_empty() && !asks && begins_and_ends {
            return Some(all);
        }
        // A link may lead to the root, which may be in another mount than the start.
        for begin in begins.iter().filter(|begin| asks || begin.0 == end) {
            if note(&mut all, *begin) {
                return None;
            }
        }
        let of_end = all.iter().position(|(mount, _)| *mount == end)?;
        all.swap(0, of_end);
        Some(all)
    }

    /// Returns the treatments of a last link for which the walk goes the same way.
    fn last_links(&self, asked: LastLink, end: Seen) -> &'static [LastLink] {
        const ALL: [LastLink; 3] = [LastLink::Found, LastLink::Followed, LastLink::FollowedOnTheWay];
        let is_link = end.1 & flags::LINK != 0;
        match asked {
            // A link with a slash behind it is always followed.
            _ if !self.follows_last && !is_link => &ALL,
            LastLink::Found if self.follows_last => &ALL,
            LastLink::Found => &ALL[..1],
            LastLink::Followed | LastLink::FollowedOnTheWay => &ALL[1..],
        }
    }
}

/// Returns whether all words are unchanged, and none is being written.
fn are_still(lines: &[Line], all: &[Seen]) -> bool {
    let is_still =
        |(slot, word): &Seen| word & ODD == 0 && lines.get(*slot as usize).is_some_and(|line| unchanged(&line[0], *word));
    all.iter().all(is_still)
}

/// Remembers the dentries, and notes their words then. Returns none if one has changed.
fn remember_all(dentries: &mut [Seen], lines: &[Line]) -> Option<()> {
    for (slot, word) in dentries {
        *word = remember(&lines.get(*slot as usize)?[0], *word)?;
    }
    Some(())
}

/// The end of a recorded walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// A dentry, its word, and the mount through which it is seen.
    At(u32, u64, u32),
    /// `ENOENT`.
    Absent,
}

impl Recording {
    /// Records where the walk begins, or goes on without looking up a name.
    pub(crate) fn begins(&self, dentry: u32, word: u64) {
        self.0.borrow_mut().come_to((dentry, word));
    }

    /// Records a dentry that the walk came to by name.
    pub(crate) fn came_to(&self, dentry: u32, word: u64) {
        let mut way = self.0.borrow_mut();
        way.is_refused |= word & NOT_LEARNED != 0;
        way.come_to((dentry, word));
    }

    /// Records a dentry that the walk came to by `..`.
    pub(crate) fn went_up(&self, dentry: u32, word: u64) {
        let mut way = self.0.borrow_mut();
        way.has_dot_dot = true;
        way.come_to((dentry, word));
    }

    /// Records a mount that the walk crosses from or to.
    pub(crate) fn crosses(&self, mount: u32, word: u64) {
        let mut way = self.0.borrow_mut();
        way.crosses = true;
        way.is_refused |= note(&mut way.mounts, (mount, word));
    }

    /// Records that the way depends on the mounts of start and root.
    pub(crate) fn asks_mounts(&self) {
        self.0.borrow_mut().asks_mounts = true;
    }

    /// Records a directory that not all users may search.
    pub(crate) fn is_restricted(&self) {
        self.0.borrow_mut().is_restricted = true;
    }

    /// Returns whether the way is for one class of credentials only.
    pub(crate) fn needs_class(&self) -> bool {
        self.0.borrow().is_restricted
    }

    /// Records that the walk follows a link, in the last component or before.
    pub(crate) fn follows(&self, dentry: u32, is_last: bool) {
        let mut way = self.0.borrow_mut();
        way.follows_last |= is_last;
        // A link that is followed twice is one dentry.
        if !way.links.contains(&dentry) {
            way.is_refused |= way.links.try_push(dentry).is_err();
        }
    }

    /// Records that the way cannot be learned.
    pub(crate) fn refuse(&self) {
        self.0.borrow_mut().is_refused = true;
    }

    /// Returns whether the walk went up by `..`.
    pub(crate) fn has_dot_dot(&self) -> bool {
        self.0.borrow().has_dot_dot
    }

    /// Returns whether the walk followed links.
    pub(crate) fn has_links(&self) -> bool {
        !self.0.borrow().links.is_empty()
    }

    /// Returns the entry of the walk; none where the walk cannot be learned, or something changed
    /// since. `begins` are the mounts of start and root, sampled before the walk.
    pub(super) fn draft<'s>(
        &self,
        question: &Question<'_>,
        (begins, end): (&[Seen], End),
        slots: impl Slots<'s>,
        class: u32,
    ) -> Option<Draft> {
        let way = self.0.borrow();
        let (last, of_last, is_absent) = match end {
            End::At(dentry, word, mount) => ((dentry, word), mount, false),
            End::Absent => (way.last, begins.first()?.0, true),
        };
        // `ENOENT` for another reason than a negative dentry may cease to hold while no word
        // changes.
        let is_told = way.dentries.contains(&last) && is_absent == (last.1 & flags::NEGATIVE != 0);
        if way.is_refused || !is_told || way.is_restricted && class == 0 {
            return None;
        }
        let is_link = |seen: &&Seen| way.links.contains(&seen.0);
        let others = || way.dentries.iter().filter(|seen| **seen != last);
        let (links, rest) = (others().filter(is_link), others().filter(|seen| !is_link(seen)));
        let mut dentries: ArrayVec<Seen, MOST_SLOTS> = [&last].into_iter().chain(links.clone()).chain(rest).copied().collect();
        let mounts = way.all_mounts(begins, of_last)?;
        remember_all(&mut dentries, slots.dentries())?;
        // Read before the words are compared.
        let stamp = slots.stamp(!mounts.is_empty())?;
        if !are_still(slots.dentries(), &dentries) || !are_still(slots.mounts(), &mounts) {
            return None;
        }
        Draft::new(&Parts {
            dentries: &dentries,
            mounts: &mounts,
            links: links.count(),
            last_links: way.last_links(question.last_link, last),
            is_absent,
            has_dot_dot: way.has_dot_dot,
            crosses: way.crosses,
            class: if way.is_restricted { class } else { 0 },
            stamp,
        })
    }
}
