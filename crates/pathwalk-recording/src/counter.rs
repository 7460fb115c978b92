//! A queue of lookups to a thread that counts them while the next lines are read.
//!
//! Counting waits for memory, and reading does not, so the two run well in parallel. Lookups are
//! handed over in batches, in their order. A short recording needs no thread.
//!
//! The thread ends when everything is counted, or when the counter is dropped.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::directories::Directories;
use crate::distinct::{AT_ONCE, Asking, Descriptors, Distinct};
use crate::recording::{Recording, Tally};

/// The number of lookups that are handed over at once.
const BATCH: usize = 1 << 11;

/// The number of bytes of paths after which lookups are handed over, however few they are.
const MOST_BYTES: usize = 1 << 18;

/// The number of batches that are filled and counted in turn, besides the current one.
const IN_TURN: usize = 4;

#[derive(Default)]
pub(crate) struct Counter {
    batch: Batch,
    /// The counting thread. It is started with the first full batch.
    thread: Option<Thread>,
}

struct Thread {
    full: SyncSender<Batch>,
    /// The batches to fill. The channel has room for all of them, so sending never waits.
    empty: Receiver<Batch>,
    counting: JoinHandle<Distinct>,
}

/// Lookups in the order in which they were asked.
#[derive(Default)]
struct Batch {
    /// The lookups without their paths, each with the length of its path.
    askings: Vec<(Asking<'static>, usize)>,
    /// The paths, one after the other.
    paths: Vec<u8>,
}

impl Counter {
    /// Adds a lookup, to be counted sooner or later. Waits if counting does not keep up.
    pub(crate) fn add(&mut self, asking: Asking<'_>) {
        self.batch.paths.extend_from_slice(asking.path);
        self.batch.askings.push((Asking { path: b"", ..asking }, asking.path.len()));
        if self.batch.askings.len() == BATCH || self.batch.paths.len() >= MOST_BYTES {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let thread = self.thread.get_or_insert_with(Thread::start);
        // Neither operation fails unless the thread panicked. `finish` passes that panic on.
        let next = thread.empty.recv().unwrap_or_default();
        let _ = thread.full.send(std::mem::replace(&mut self.batch, next));
    }

    /// Counts the rest and returns the recording. See [`Distinct::finish`].
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
                // At the end the receiver is gone, and the batch is dropped.
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
