//! What a walk tells of its way, so that an entry can be made of it.
//!
//! What always holds: each dentry is told with the word from which the walk concluded, and the walk
//! rechecks it before it goes on from there. The last one is rechecked by [`Recording::draft`].
//!
//! A walk may pass an entry that it read just before that was taken out of its directory. Its word
//! says that it is not hashed, and may say so for ever: such a way is not learned. What a walk comes
//! to otherwise may be unhashed: the start, the root, the directory above, what is mounted.
//!
//! What it does not do: it does not tell where rules forbid a way; a walk that ends in an error other
//! than `ENOENT` is not learned.

use std::cell::RefCell;

use arrayvec::ArrayVec;

use super::entry::{Draft, MOST_SLOTS, Parts, Slots};
use super::question::{LastLink, Question};
use crate::cache::dcache::dentry::flags;
use crate::memory::lines::Line;
use crate::memory::seqcount::{ODD, unchanged};

/// Flags of an entry of a directory through which no way is learned.
const NOT_LEARNED: u64 = flags::UNHASHED | flags::REVALIDATE | flags::IN_LOOKUP;

/// The way of one walk. For one thread.
#[derive(Default)]
pub(crate) struct Recording(RefCell<Way>);

/// A slot, and its word.
type Seen = (u32, u64);

#[derive(Default)]
struct Way {
    /// In the order of the walk, each once.
    dentries: ArrayVec<Seen, MOST_SLOTS>,
    links: ArrayVec<u32, MOST_SLOTS>,
    /// Those by which the walk crosses, and those into which.
    mounts: ArrayVec<Seen, MOST_SLOTS>,
    /// The last dentry.
    last: Seen,
    has_dot_dot: bool,
    crosses: bool,
    /// Something depends on where the walk begins: on what those mounts say.
    asks_mounts: bool,
    /// It went through a directory that not everyone may search.
    is_restricted: bool,
    /// A link in the last component was followed.
    follows_last: bool,
    /// It cannot be learned.
    is_refused: bool,
}

/// Notes what was seen; returns whether it was something else before, or there is no room.
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

    /// Returns the mounts on which it depends, that of the end first.
    fn all_mounts(&self, begins: &[Seen], end: u32) -> Option<ArrayVec<Seen, MOST_SLOTS>> {
        let mut all = self.mounts.clone();
        // By what a mount says about ids, and about where it is mounted.
        let asks = self.asks_mounts || self.is_restricted;
        let begins_and_ends = begins.first().is_some_and(|start| start.0 == end);
        if all.is_empty() && !asks && begins_and_ends {
            return Some(all);
        }
        // A link may have led to the root, which may be seen through another mount than the start.
        for begin in begins.iter().filter(|begin| asks || begin.0 == end) {
            if note(&mut all, *begin) {
                return None;
            }
        }
        let of_end = all.iter().position(|(mount, _)| *mount == end)?;
        all.swap(0, of_end);
        Some(all)
    }

    /// Returns what a link in the last component may do, where this one did what was asked.
    fn last_links(&self, asked: LastLink, end: Seen) -> &'static [LastLink] {
        const ALL: [LastLink; 3] = [LastLink::Found, LastLink::Followed, LastLink::FollowedOnTheWay];
        let is_link = end.1 & flags::LINK != 0;
        match asked {
            // With a slash behind it, it is followed, whatever was asked.
            _ if !self.follows_last && !is_link => &ALL,
            LastLink::Found if self.follows_last => &ALL,
            LastLink::Found => &ALL[..1],
            LastLink::Followed | LastLink::FollowedOnTheWay => &ALL[1..],
        }
    }
}

/// Returns whether the words of these are what they were, and none is being written.
fn are_still(lines: &[Line], all: &[Seen]) -> bool {
    let is_still =
        |(slot, word): &Seen| word & ODD == 0 && lines.get(*slot as usize).is_some_and(|line| unchanged(&line[0], *word));
    all.iter().all(is_still)
}

/// What a recorded walk ended in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// At this dentry, whose word was this, seen through this mount.
    At(u32, u64, u32),
    /// In `ENOENT`.
    Absent,
}

impl Recording {
    /// The walk begins here, or goes on from here: a place that is not looked up.
    pub(crate) fn begins(&self, dentry: u32, word: u64) {
        self.0.borrow_mut().come_to((dentry, word));
    }

    /// The walk came here by a name.
    pub(crate) fn came_to(&self, dentry: u32, word: u64) {
        let mut way = self.0.borrow_mut();
        way.is_refused |= word & NOT_LEARNED != 0;
        way.come_to((dentry, word));
    }

    /// The walk came here by `..`.
    pub(crate) fn went_up(&self, dentry: u32, word: u64) {
        let mut way = self.0.borrow_mut();
        way.has_dot_dot = true;
        way.come_to((dentry, word));
    }

    /// The walk crosses by what this mount says, or into it.
    pub(crate) fn crosses(&self, mount: u32, word: u64) {
        let mut way = self.0.borrow_mut();
        way.crosses = true;
        way.is_refused |= note(&mut way.mounts, (mount, word));
    }

    /// The walk asks about the mount where it begins.
    pub(crate) fn asks_mounts(&self) {
        self.0.borrow_mut().asks_mounts = true;
    }

    /// The walk goes through a directory that not everyone may search.
    pub(crate) fn is_restricted(&self) {
        self.0.borrow_mut().is_restricted = true;
    }

    /// Returns whether what it came to is for a class of credentials only.
    pub(crate) fn needs_class(&self) -> bool {
        self.0.borrow().is_restricted
    }

    /// The walk follows the link to which it came, in the last component or before.
    pub(crate) fn follows(&self, dentry: u32, is_last: bool) {
        let mut way = self.0.borrow_mut();
        way.follows_last |= is_last;
        // One that is met twice is one dentry.
        if !way.links.contains(&dentry) {
            way.is_refused |= way.links.try_push(dentry).is_err();
        }
    }

    /// The way cannot be learned.
    pub(crate) fn refuse(&self) {
        self.0.borrow_mut().is_refused = true;
    }

    /// Returns whether the walk went up by `..`.
    pub(crate) fn has_dot_dot(&self) -> bool {
        self.0.borrow().has_dot_dot
    }

    /// Returns whether it followed links.
    pub(crate) fn has_links(&self) -> bool {
        !self.0.borrow().links.is_empty()
    }

    /// Returns what is to be kept of the walk; none where it cannot be learned, or something changed
    /// since. `begins` are the mounts where it may begin, sampled before.
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
        // Where it ends in `ENOENT` for another reason than a name that is known to be absent, that may change unseen.
        let is_told = way.dentries.contains(&last) && is_absent == (last.1 & flags::NEGATIVE != 0);
        if way.is_refused || !is_told || way.is_restricted && class == 0 {
            return None;
        }
        let is_link = |seen: &&Seen| way.links.contains(&seen.0);
        let others = || way.dentries.iter().filter(|seen| **seen != last);
        let (links, rest) = (others().filter(is_link), others().filter(|seen| !is_link(seen)));
        let dentries: ArrayVec<Seen, MOST_SLOTS> = [&last].into_iter().chain(links.clone()).chain(rest).copied().collect();
        let mounts = way.all_mounts(begins, of_last)?;
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
        })
    }
}
