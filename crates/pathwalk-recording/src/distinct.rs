//! Distinct lookups, and a bounded sample of their order.
//!
//! A lookup that was asked before costs one probe and no allocation.
//!
//! Some lookups start in a directory that is right only if the recording shows all operations on
//! descriptors. That is known only at the end. These lookups are kept apart from those that are
//! right in any case. At the end they join them or are left out.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use rapidhash::fast::RandomState;

use crate::directories::{Directories, Place};
use crate::recording::{Answers, Call, LeftOut, Lookup, Question, Recorded, Recording, Start, Tally};

/// The largest number of entries in the sample of the order.
const SAMPLE: usize = 1 << 16;

/// The largest number of lookups that are counted at once.
pub(crate) const AT_ONCE: usize = 16;

/// The mark in the directory of a lookup that is kept apart.
const APART: u32 = 1 << 31;

/// The state of descriptors: whether the recording shows all operations on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Descriptors {
    Followed,
    NotFollowed,
}

/// The answer that a program got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Fine,
    Absent,
    Failed,
    Unknown,
}

/// One request of a lookup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) call: Call,
    pub(crate) question: Question,
    /// The directory in which the path starts, `None` for the root.
    pub(crate) start: Option<Place>,
    pub(crate) path: &'a [u8],
    pub(crate) answer: Answer,
    pub(crate) line: u64,
}

impl Asking<'_> {
    /// Returns the start of the path. The start is marked if the lookup is to be kept apart.
    fn start(&self) -> Start {
        match self.start {
            None => Start::Root,
            Some(Place::Certain(directory)) => Start::Directory(directory),
            Some(Place::IfFollowed(directory)) => Start::Directory(directory | APART),
        }
    }
}

#[derive(Default)]
pub(crate) struct Distinct {
    lookups: Vec<Recorded>,
    entries: HashTable<Entry>,
    hasher: RandomState,
    /// The number of lookups that are kept apart.
    apart: u64,
    sequence: Vec<u32>,
    stride: u64,
    asked: u64,
}

/// The place of a lookup. The hash is stored beside it, so hardly any other lookup is read, neither
/// to find one nor when the table grows.
#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    at: u32,
}

impl Entry {
    /// Returns a 64-bit hash with the bits at both ends, because the table takes bits from both
    /// ends.
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

impl Distinct {
    /// Counts lookups, in this order, at most [`AT_ONCE`].
    ///
    /// Each step is done for all lookups before the next step. Lookups lie anywhere in memory, and
    /// so the waits for memory overlap instead of adding up.
    pub(crate) fn add(&mut self, askings: &[Asking<'_>]) {
        let mut hashes = [0; AT_ONCE];
        for (asking, hash) in askings.iter().zip(&mut hashes) {
            *hash = hash_of(&self.hasher, asking.call, asking.start(), asking.path);
        }
        let mut places = [None; AT_ONCE];
        for ((asking, hash), place) in askings.iter().zip(hashes).zip(&mut places) {
            *place = self.place(hash, asking);
        }
        for ((asking, hash), place) in askings.iter().zip(hashes).zip(places) {
            // A lookup may be the same as an earlier one of this batch.
            let at = place.or_else(|| self.place(hash, asking)).unwrap_or_else(|| self.insert(hash, asking));
            let recorded = &mut self.lookups[at as usize];
            recorded.line = recorded.line.min(asking.line);
            let answers = &mut recorded.answers;
            *match asking.answer {
                Answer::Fine => &mut answers.fine,
                Answer::Absent => &mut answers.absent,
                Answer::Failed => &mut answers.failed,
                Answer::Unknown => &mut answers.unknown,
            } += 1;
            self.sample(at);
        }
    }

    fn place(&self, hash: u32, asking: &Asking<'_>) -> Option<u32> {
        self.find(hash, |lookup| {
            *lookup.path == *asking.path
                && lookup.start == asking.start()
                && lookup.call == asking.call
                && lookup.question == asking.question
        })
    }

    fn find(&self, hash: u32, same: impl Fn(&Lookup) -> bool) -> Option<u32> {
        let is_it = |entry: &Entry| entry.hash == hash && same(&self.lookups[entry.at as usize].lookup);
        self.entries.find(Entry::spread(hash), is_it).map(|entry| entry.at)
    }

    fn insert(&mut self, hash: u32, asking: &Asking<'_>) -> u32 {
        let at = u32::try_from(self.lookups.len()).expect("four thousand million distinct lookups do not fit into memory");
        self.apart += u64::from(matches!(asking.start, Some(Place::IfFollowed(_))));
        let lookup = Lookup { call: asking.call, question: asking.question, start: asking.start(), path: asking.path.into() };
        self.lookups.push(Recorded { lookup, line: asking.line, answers: Answers::default() });
        self.index(hash, at);
        at
    }

    fn index(&mut self, hash: u32, at: u32) {
        self.entries.insert_unique(Entry::spread(hash), Entry { hash, at }, |entry| Entry::spread(entry.hash));
    }

    /// Adds a lookup to a systematic sample. When the sample is full, every second entry is
    /// dropped.
    fn sample(&mut self, at: u32) {
        self.stride = self.stride.max(1);
        if self.asked.is_multiple_of(self.stride) {
            if self.sequence.len() == SAMPLE {
                let mut place = 0;
                self.sequence.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride *= 2;
            }
            if self.asked.is_multiple_of(self.stride) {
                self.sequence.push(at);
            }
        }
        self.asked += 1;
    }

    /// Returns the recording. Of the `directories`, only those are kept in which a lookup starts.
    pub(crate) fn finish(mut self, descriptors: Descriptors, directories: &Directories, mut tally: Tally) -> Recording {
        let gone = if self.apart == 0 { Vec::new() } else { self.settle(descriptors, &mut tally) };
        self.entries = HashTable::new();
        self.order_by_line(&gone);

        let mut recording = Recording { stride: self.stride.max(1), tally, ..Recording::default() };
        let mut numbers = vec![None; directories.len()];
        for recorded in &mut self.lookups {
            if let Start::Directory(directory) = &mut recorded.lookup.start {
                *directory = *numbers[*directory as usize].get_or_insert_with(|| {
                    recording.starts.push(directories.path(*directory).into());
                    recording.starts.len() as u32 - 1
                });
            }
        }
        Recording { lookups: self.lookups, sequence: self.sequence, ..recording }
    }

    /// Joins the lookups that were kept apart, or leaves them out. Returns the places of those that
    /// are removed.
    fn settle(&mut self, descriptors: Descriptors, tally: &mut Tally) -> Vec<u32> {
        let mut gone = Vec::new();
        let mut stands_for: Vec<Option<u32>> = (0..self.lookups.len() as u32).map(Some).collect();
        for at in 0..self.lookups.len() as u32 {
            let recorded = &mut self.lookups[at as usize];
            let Start::Directory(marked) = recorded.lookup.start else { continue };
            if marked & APART == 0 {
                continue;
            }
            if descriptors == Descriptors::NotFollowed {
                *tally.left_out.entry(LeftOut::UnknownDirectory).or_default() += recorded.answers.total();
                stands_for[at as usize] = None;
                gone.push(at);
                continue;
            }
            recorded.lookup.start = Start::Directory(marked & !APART);
            let recorded = &self.lookups[at as usize];
            let hash = hash_of(&self.hasher, recorded.lookup.call, recorded.lookup.start, &recorded.lookup.path);
            match self.find(hash, |other| *other == recorded.lookup) {
                Some(twin) => {
                    let (answers, line) = (recorded.answers, recorded.line);
                    let twin_recorded = &mut self.lookups[twin as usize];
                    twin_recorded.answers.add(answers);
                    twin_recorded.line = twin_recorded.line.min(line);
                    stands_for[at as usize] = Some(twin);
                    gone.push(at);
                }
                None => self.index(hash, at),
            }
        }
        self.sequence = self.sequence.iter().filter_map(|at| stands_for[*at as usize]).collect();
        gone
    }

    /// Orders the lookups by their lines, without those that are `gone`, and updates their places
    /// in the sample.
    fn order_by_line(&mut self, gone: &[u32]) {
        for at in gone {
            self.lookups[*at as usize].line = u64::MAX;
        }
        let mut order: Vec<u32> = (0..self.lookups.len() as u32).collect();
        sort(&mut order, |at| self.lookups[at as usize].line);
        let mut new_places = vec![0; order.len()];
        for (at, place) in order.iter().zip(0..) {
            new_places[*at as usize] = place;
        }
        for at in &mut self.sequence {
            *at = new_places[*at as usize];
        }
        // The cycles are permuted one after the other, so that there is never a second list of
        // lookups.
        for place in 0..new_places.len() {
            while new_places[place] as usize != place {
                let to = new_places[place] as usize;
                self.lookups.swap(place, to);
                new_places.swap(place, to);
            }
        }
        self.lookups.truncate(order.len() - gone.len());
    }
}

/// Sorts a list that is mostly in order: a call that ends late is only a few places away from where
/// it began.
fn sort(order: &mut [u32], line: impl Fn(u32) -> u64) {
    let mut moves = order.len() * 16;
    for end in 1..order.len() {
        let (this, mut at) = (order[end], end);
        while at > 0 && line(order[at - 1]) > line(this) {
            if moves == 0 {
                return order.sort_unstable_by_key(|at| line(*at));
            }
            order.swap(at - 1, at);
            (at, moves) = (at - 1, moves - 1);
        }
    }
}

/// Returns the hash of a lookup. The question is not included and is left to the comparison,
/// because mostly there is only one question of each call.
fn hash_of(hasher: &RandomState, call: Call, start: Start, path: &[u8]) -> u32 {
    let start = match start {
        Start::Root => u32::MAX,
        Start::Directory(directory) => directory,
    };
    let mut hasher = hasher.build_hasher();
    hasher.write(path);
    hasher.write_u64(u64::from(start) << 8 | call as u64);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests;
