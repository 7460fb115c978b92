//! Distinct lookups, and a bounded sample of their order.
//!
//! What was asked before costs one probe and no allocation.
//!
//! Some lookups start in a directory that is right only if the recording shows all that happens to descriptors, which is known when all
//! is read: they are kept apart from those that are right anyway, and join them or are left out at the end.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rapidhash::fast::RandomState;

use crate::directories::{Directories, Place};
use crate::recording::{Answers, Call, LeftOut, Lookup, Question, Recorded, Recording, Start, Tally};

/// Most entries in the sample of the order.
const SAMPLE: usize = 1 << 16;

/// Marks the directory of a lookup that is kept apart.
const APART: u32 = 1 << 31;

/// Does the recording show all that happens to descriptors?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Descriptors {
    Followed,
    NotFollowed,
}

/// What a program was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Fine,
    Absent,
    Failed,
    Unknown,
}

/// One asking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) call: Call,
    pub(crate) question: Question,
    /// Where it starts; `None` at the root.
    pub(crate) start: Option<Place>,
    pub(crate) path: &'a [u8],
    pub(crate) answer: Answer,
    pub(crate) line: u64,
}

#[derive(Default)]
pub(crate) struct Distinct {
    lookups: Vec<Recorded>,
    places: HashTable<u32>,
    hasher: RandomState,
    sequence: Vec<u32>,
    stride: u64,
    asked: u64,
}

impl Distinct {
    /// Counts it, and tells its place.
    pub(crate) fn add(&mut self, asking: Asking<'_>) -> u32 {
        let start = match asking.start {
            None => Start::Root,
            Some(Place::Certain(directory)) => Start::Directory(directory),
            Some(Place::IfFollowed(directory)) => Start::Directory(directory | APART),
        };
        let hash = hash_of(&self.hasher, asking.call, start, asking.path);
        let same = |lookup: &Lookup| {
            *lookup.path == *asking.path
                && lookup.start == start
                && lookup.call == asking.call
                && lookup.question == asking.question
        };
        let at = match self.places.find(hash, |at| same(&self.lookups[*at as usize].lookup)) {
            Some(at) => *at,
            None => {
                let lookup = Lookup { call: asking.call, question: asking.question, start, path: asking.path.into() };
                self.insert(hash, Recorded { lookup, line: asking.line, answers: Answers::default() })
            }
        };
        self.again(at, asking.answer, asking.line);
        at
    }

    /// Counts the one at a place.
    pub(crate) fn again(&mut self, at: u32, answer: Answer, line: u64) {
        let recorded = &mut self.lookups[at as usize];
        recorded.line = recorded.line.min(line);
        let answers = &mut recorded.answers;
        *match answer {
            Answer::Fine => &mut answers.fine,
            Answer::Absent => &mut answers.absent,
            Answer::Failed => &mut answers.failed,
            Answer::Unknown => &mut answers.unknown,
        } += 1;
        self.sample(at);
    }

    fn insert(&mut self, hash: u64, recorded: Recorded) -> u32 {
        let at = u32::try_from(self.lookups.len()).expect("four thousand million distinct lookups do not fit into memory");
        self.lookups.push(recorded);
        self.index(hash, at);
        at
    }

    fn index(&mut self, hash: u64, at: u32) {
        let (lookups, hasher) = (&self.lookups, &self.hasher);
        self.places.insert_unique(hash, at, |at| {
            let lookup = &lookups[*at as usize].lookup;
            hash_of(hasher, lookup.call, lookup.start, &lookup.path)
        });
    }

    /// A systematic sample: when it is full, every second goes.
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

    /// What was read. Only those of the `directories` are kept in which a lookup starts.
    pub(crate) fn finish(mut self, descriptors: Descriptors, directories: &Directories, mut tally: Tally) -> Recording {
        let stands_for = self.settle(descriptors, &mut tally);
        let mut order: Vec<u32> = (0..).zip(&stands_for).filter(|(at, other)| Some(*at) == **other).map(|(at, _)| at).collect();
        order.sort_by_key(|at| self.lookups[*at as usize].line);

        let mut recording = Recording { stride: self.stride.max(1), tally, ..Recording::default() };
        let mut numbers = vec![None; directories.len()];
        let mut new_place = vec![0; self.lookups.len()];
        for at in order {
            let mut recorded = self.take(at);
            if let Start::Directory(directory) = &mut recorded.lookup.start {
                let number = numbers[*directory as usize].get_or_insert_with(|| {
                    recording.starts.push(directories.path(*directory).into());
                    recording.starts.len() as u32 - 1
                });
                *directory = *number;
            }
            new_place[at as usize] = recording.lookups.len() as u32;
            recording.lookups.push(recorded);
        }
        let kept = self.sequence.iter().filter_map(|at| stands_for[*at as usize]);
        recording.sequence = kept.map(|at| new_place[at as usize]).collect();
        recording
    }

    /// Joins what was kept apart, or leaves it out. For each lookup, the one that it is part of now, if any.
    fn settle(&mut self, descriptors: Descriptors, tally: &mut Tally) -> Vec<Option<u32>> {
        let all = self.lookups.len() as u32;
        let mut stands_for: Vec<Option<u32>> = (0..all).map(Some).collect();
        for at in 0..all {
            let recorded = &mut self.lookups[at as usize];
            let Start::Directory(marked) = recorded.lookup.start else { continue };
            if marked & APART == 0 {
                continue;
            }
            if descriptors == Descriptors::NotFollowed {
                *tally.left_out.entry(LeftOut::UnknownDirectory).or_default() += recorded.answers.total();
                stands_for[at as usize] = None;
                continue;
            }
            recorded.lookup.start = Start::Directory(marked & !APART);
            let recorded = &self.lookups[at as usize];
            let hash = hash_of(&self.hasher, recorded.lookup.call, recorded.lookup.start, &recorded.lookup.path);
            match self.places.find(hash, |other| self.lookups[*other as usize].lookup == recorded.lookup).copied() {
                Some(twin) => {
                    let (answers, line) = (recorded.answers, recorded.line);
                    let twin_recorded = &mut self.lookups[twin as usize];
                    twin_recorded.answers.add(answers);
                    twin_recorded.line = twin_recorded.line.min(line);
                    stands_for[at as usize] = Some(twin);
                }
                None => self.index(hash, at),
            }
        }
        stands_for
    }

    /// Moves one out.
    fn take(&mut self, at: u32) -> Recorded {
        let place = &mut self.lookups[at as usize];
        let lookup = Lookup { path: std::mem::take(&mut place.lookup.path), ..place.lookup };
        Recorded { lookup, ..*place }
    }
}

/// What the call asks is left to the comparison: mostly there is but one question of each call.
fn hash_of(hasher: &RandomState, call: Call, start: Start, path: &[u8]) -> u64 {
    let start = match start {
        Start::Root => u32::MAX,
        Start::Directory(directory) => directory,
    };
    hasher.hash_one((u64::from(start) << 8 | call as u64, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(path: &[u8], start: Option<Place>, line: u64) -> Asking<'_> {
        Asking { call: Call::Readlink, question: Question::Readlink, start, path, answer: Answer::Fine, line }
    }

    #[test]
    fn the_sample_is_systematic_and_bounded() {
        let mut distinct = Distinct::default();
        let paths: Vec<Vec<u8>> = (0..SAMPLE as u32 * 5).map(|number| number.to_le_bytes().to_vec()).collect();
        for (path, line) in paths.iter().zip(1..) {
            distinct.add(asking(path, None, line));
        }
        let recording = distinct.finish(Descriptors::Followed, &Directories::default(), Tally::default());
        assert_eq!(recording.stride, 8);
        assert_eq!(recording.sequence.len(), (SAMPLE * 5).div_ceil(8));
        assert!(recording.sequence.iter().zip(0..).all(|(at, place)| *at == place * 8));
    }

    #[test]
    fn what_was_kept_apart_joins_or_is_left_out() {
        for descriptors in [Descriptors::Followed, Descriptors::NotFollowed] {
            let mut directories = Directories::default();
            let (_, used) = (directories.number_of(b"/unused"), directories.number_of(b"/used"));
            let mut distinct = Distinct::default();
            distinct.add(asking(b"only", Some(Place::IfFollowed(used)), 1));
            distinct.add(asking(b"both", Some(Place::IfFollowed(used)), 2));
            distinct.add(asking(b"/abs", None, 4));
            distinct.add(asking(b"both", Some(Place::Certain(used)), 3));
            let recording = distinct.finish(descriptors, &directories, Tally::default());
            let lookups: Vec<_> =
                recording.lookups.iter().map(|r| (&*r.lookup.path, r.lookup.start, r.line, r.answers.fine)).collect();
            let (in_used, root) = (Start::Directory(0), Start::Root);
            assert_eq!(recording.starts, [Box::from(*b"/used")]);
            if descriptors == Descriptors::Followed {
                assert_eq!(lookups, [(&b"only"[..], in_used, 1, 1), (b"both", in_used, 2, 2), (b"/abs", root, 4, 1)]);
                assert_eq!(recording.sequence, [0, 1, 2, 1]);
            } else {
                assert_eq!(lookups, [(&b"both"[..], in_used, 3, 1), (b"/abs", root, 4, 1)]);
                assert_eq!(recording.sequence, [1, 0]);
                assert_eq!(recording.tally.left_out[&LeftOut::UnknownDirectory], 2);
            }
        }
    }
}
