//! Which entry a path gets.
//!
//! The path's own, if it has one; else an empty one; else one that would answer nothing; else, one
//! time in [`LIVE`], one of the two. So paths that come and go do not drive out those that stay.
//! This is decided before the walk is recorded.

use super::entry::{Draft, Entry, Slots};
use super::question::Question;
use super::recording::{End, Recording};
use super::store::Memo;
use super::text;

/// Of so many paths for which both entries would answer another, one gets one of them.
const LIVE: u64 = 64;

/// The entry that a path gets.
pub(crate) struct Room<'m> {
    entry: Entry<'m>,
    hash: u64,
}

impl Memo {
    /// Returns the entry that a path gets; none where it gets none.
    pub(crate) fn room<'s>(&self, question: &Question<'_>, slots: impl Slots<'s>, class: u32) -> Option<Room<'_>> {
        if question.path.len() > text::MOST {
            return None;
        }
        let hash = self.hash(question);
        let set = self.set(hash)?;
        let own = |entry: &&Entry<'_>| entry.answers(question, || class).is_some();
        let is_dead = |entry: &&Entry<'_>| entry.end(entry.what(), slots).is_none();
        let gone = || set.iter().find(|entry| entry.is_empty()).or_else(|| set.iter().find(is_dead));
        let lucky = || {
            let turn = self.turn();
            turn.is_multiple_of(LIVE).then(|| &set[(turn / LIVE % 2) as usize])
        };
        let entry = set.iter().find(own).or_else(gone).or_else(lucky)?;
        Some(Room { entry: *entry, hash })
    }

    /// Learns what a recorded walk of the asker's class came to, where it ended.
    pub(crate) fn fill<'s>(
        &self,
        room: &Room<'_>,
        (question, class): (&Question<'_>, u32),
        (recording, begins, end): (&Recording, &[(u32, u64)], End),
        slots: impl Slots<'s>,
    ) {
        let draft: Option<Draft> = recording.draft(question, (begins, end), slots, class);
        match draft {
            Some(draft) if room.entry.store(Memo::tag_of(room.hash), question, &draft) => self.count_fill(),
            Some(_) => {}
            None => self.count_refusal(),
        }
    }

    /// Notes that a walk ended in what is not learned.
    pub(crate) fn refuse(&self) {
        self.count_refusal();
    }
}
