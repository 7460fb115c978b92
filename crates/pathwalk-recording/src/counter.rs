//! Lookups on their way to be counted: a thread of its own does that, while the next lines are read.
//!
//! Counting waits for memory, and reading does not; so the two go well beside each other. What was asked is handed over some at a time, and in
//! order. A short recording needs no thread.
//!
//! The thread ends when all is counted, or when the counter is dropped.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::directories::Directories;
use crate::distinct::{AT_ONCE, Asking, Descriptors, Distinct};
use crate::recording::{Recording, Tally};

/// Lookups that are handed over at once.
const BATCH: usize = 1 << 11;

/// Bytes of paths that are handed over at once, however few lookups they belong to.
const MOST_BYTES: usize = 1 << 18;

/// Batches that are filled and counted in turn, besides the one at hand.
const IN_TURN: usize = 4;

#[derive(Default)]
pub(crate) struct Counter {
    batch: Batch,
    /// From the first full batch on.
    thread: Option<Thread>,
}

struct Thread {
    full: SyncSender<Batch>,
    /// Those to fill: so many that there is always room for them.
    empty: Receiver<Batch>,
    counting: JoinHandle<Distinct>,
}

/// Lookups in the order in which they were asked.
#[derive(Default)]
struct Batch {
    /// Without their paths; and how long those are.
    askings: Vec<(Asking<'static>, usize)>,
    /// One after the other.
    paths: Vec<u8>,
}

impl Counter {
    /// Counts it, sooner or later. Waits if counting does not keep up.
    pub(crate) fn add(&mut self, asking: Asking<'_>) {
        self.batch.paths.extend_from_slice(asking.path);
        self.batch.askings.push((Asking { path: b"", ..asking }, asking.path.len()));
        if self.batch.askings.len() == BATCH || self.batch.paths.len() >= MOST_BYTES {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let thread = self.thread.get_or_insert_with(Thread::start);
        // Neither fails unless the thread panicked, which is told at the end.
        let next = thread.empty.recv().unwrap_or_default();
        let _ = thread.full.send(std::mem::replace(&mut self.batch, next));
    }

    /// See [`Distinct::finish`].
    pub(crate) fn finish(self, descriptors: Descriptors, directories: &Directories, tally: Tally) -> Recording {
        let mut distinct = self.thread.map_or_else(Distinct::default, Thread::finish);
        self.batch.count(&mut distinct);
        distinct.finish(descriptors, directories, tally)
    }
}

impl Thread {
    fn start() -> Thread {
        let (full, batches) = sync_channel::<Batch>(IN_TURN);
        let (counted, empty) = sync_channel(IN_TURN);
        for _ in 0..IN_TURN {
            counted.send(Batch::default()).expect("its other end is here");
        }
        let counting = std::thread::spawn(move || {
            let mut distinct = Distinct::default();
            for mut batch in batches {
                batch.count(&mut distinct);
                batch.askings.clear();
                batch.paths.clear();
                // At the end nobody wants it any more.
                let _ = counted.send(batch);
            }
            distinct
        });
        Thread { full, empty, counting }
    }

    fn finish(self) -> Distinct {
        drop(self.full);
        self.counting.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Batch {
    fn count(&self, distinct: &mut Distinct) {
        let mut paths = &self.paths[..];
        for some in self.askings.chunks(AT_ONCE) {
            let mut askings = [some[0].0; AT_ONCE];
            for ((asking, length), place) in some.iter().zip(&mut askings) {
                let (path, rest) = paths.split_at(*length);
                *place = Asking { path, ..*asking };
                paths = rest;
            }
            distinct.add(&askings[..some.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distinct::Answer;
    use crate::recording::{Call, Question};

    #[test]
    fn all_are_counted_and_in_order() {
        for (count, repeats) in [(0, 0), (3, 2), (BATCH, 1), (BATCH * (IN_TURN + 3) + 5, 2)] {
            let mut counter = Counter::default();
            for (number, line) in (0..count * repeats).map(|asked| asked % count).zip(1..) {
                let path = number.to_string();
                let (call, question, answer) = (Call::Readlink, Question::Readlink, Answer::Absent);
                counter.add(Asking { call, question, start: None, path: path.as_bytes(), answer, line });
            }
            let recording = counter.finish(Descriptors::Followed, &Directories::default(), Tally::default());
            assert_eq!(recording.lookups.len(), count);
            for (recorded, number) in recording.lookups.iter().zip(0..) {
                assert_eq!(*recorded.lookup.path, *number.to_string().as_bytes());
                assert_eq!((recorded.line, recorded.answers.absent), (number + 1, repeats as u64));
            }
        }
    }
}
