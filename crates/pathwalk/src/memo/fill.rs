//! How the memo learns a path, and which entry the path gets.
//!
//! A path gets its own entry if it has one; else an empty one; else one that is stale; else, one
//! time in [`LIVE`], one of the two. So paths that come and go do not displace those that stay. The
//! entry is chosen before the walk is recorded.

use super::entry::{Entry, Slots};
use super::question::Question;
use super::recording::{End, Recording};
use super::store::{Memo, tag};
use super::text;
use super::what::Draft;

/// The paths, of those that find both entries live, of which one displaces an entry. The program in
/// `study/` compares others (`study whole-paths`).
const LIVE: u64 = 64;

/// The entry that a path gets.
pub(crate) struct Room<'m> {
    entry: Entry<'m>,
    hash: u64,
}

impl Memo {
    /// Returns the entry that a path gets, if it gets one.
    pub(crate) fn room<'s>(&self, question: &Question<'_>, slots: impl Slots<'s>, class: u32) -> Option<Room<'_>> {
        if question.path.len() > text::MOST {
            return None;
        }
        self.keep_lap();
        let hash = self.hash(question);
        let set = self.set(hash)?;
        let own = |entry: &&Entry<'_>| entry.is_of(question).is_some_and(|what| what.is_for(|| class));
        let is_stale = |entry: &&Entry<'_>| entry.end(entry.what(), slots).is_none();
        let unused = || set.iter().find(|entry| entry.is_empty()).or_else(|| set.iter().find(is_stale));
        let live = || {
            let turn = self.turn();
            turn.is_multiple_of(LIVE).then(|| &set[(turn / LIVE % 2) as usize])
        };
        let entry = set.iter().find(own).or_else(unused).or_else(live)?;
        Some(Room { entry: *entry, hash })
    }

    /// Stores where a recorded walk led, for callers of a class.
    pub(crate) fn fill<'s>(
        &self,
        room: &Room<'_>,
        (question, class): (&Question<'_>, u32),
        (recording, begins, end): (&Recording, &[(u32, u64)], End),
        slots: impl Slots<'s>,
    ) {
        let draft: Option<Draft> = recording.draft(question, (begins, end), slots, class);
        match draft {
            Some(draft) if room.entry.store(tag(room.hash).into(), question, &draft) => self.count_fill(),
            Some(_) => {}
            None => self.refuse(),
        }
    }
}
