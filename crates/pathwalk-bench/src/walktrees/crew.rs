//! The threads that walk. They live as long as the run, so that their stacks are allocated before
//! memory is measured.
//!
//! The owner of the crew hands out a pass and watches it: after each [`LOOK`] it receives the
//! number of files that are done. The threads write only to their own counts, once a directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use pathwalk::Errno;
use pathwalk_synthfs::Shape;

use super::paths::Paths;
use crate::machine::{Doing, SetUpError};

/// The interval at which the owner looks while a pass runs.
const LOOK: Duration = Duration::from_millis(10);

/// A file that could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("\"{}\": {errno}", path.escape_ascii())]
pub(crate) struct Failure {
    pub(crate) path: Vec<u8>,
    pub(crate) errno: Errno,
}

/// The number of files that one thread has done, on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Done(AtomicU64);

/// The work of a pass in each of the threads.
pub(crate) trait Work: Send + Sync {
    /// Looks up each file of a thread. Returns all inode numbers folded in order.
    fn walk(&self, thread: u32, done: &Done) -> Result<u64, Failure>;
}

/// A pass that looks up the inode number behind each path.
pub(crate) struct Walk<A> {
    pub(crate) shape: Shape,
    pub(crate) ask: A,
}

impl<A: Fn(&Paths) -> Result<u64, Errno> + Send + Sync> Work for Walk<A> {
    #[inline(never)]
    fn walk(&self, thread: u32, done: &Done) -> Result<u64, Failure> {
        let mut paths = Paths::new(thread);
        fold_files(self.shape, done, |directory, file| {
            if file == 0 {
                paths.enter(directory)
            } else {
                paths.advance()
            }
            (self.ask)(&paths).map_err(|errno| Failure { path: paths.absolute().into(), errno })
        })
    }
}

/// Looks up each file of a thread, by the numbers of its directory and of the file, and records how
/// many are done. Returns all inode numbers folded in order.
#[inline(always)]
pub(crate) fn fold_files(
    shape: Shape,
    done: &Done,
    mut ask: impl FnMut(u32, u32) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let (directories, files) = (shape.directories_each(), shape.files_each());
    let mut sum = 0;
    for directory in 0..directories {
        for file in 0..files {
            sum = folded(sum, ask(directory, file)?);
        }
        // This thread is the only writer.
        done.0.store(u64::from(directory + 1) * u64::from(files), Relaxed);
    }
    Ok(sum)
}

/// Adds one more inode number to a checksum that depends on their order.
#[inline]
pub(crate) fn folded(sum: u64, ino: u64) -> u64 {
    sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(ino)
}

/// A pass that was walked.
pub(crate) struct Walked {
    /// The seconds from the start to the end of the last thread.
    pub(crate) seconds: f64,
    /// The checksum: all inode numbers folded, thread by thread.
    pub(crate) checksum: u64,
}

struct Back {
    thread: u32,
    ended: Instant,
    sum: Result<u64, Failure>,
}

/// The threads that wait for work. They end when the crew is dropped.
pub(crate) struct Crew {
    hands: Vec<Sender<Arc<dyn Work>>>,
    back: Receiver<Back>,
    done: Arc<[Done]>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    pub(crate) fn new(threads: u32) -> Result<Crew, SetUpError> {
        let (to_owner, back) = mpsc::channel();
        let done: Arc<[Done]> = (0..threads).map(|_| Done::default()).collect();
        let mut crew = Crew { hands: Vec::new(), back, done, threads: Vec::new() };
        for thread in 0..threads {
            let (hand, work) = mpsc::channel();
            let (to_owner, done) = (to_owner.clone(), crew.done.clone());
            let member = move || member(thread, &work, &done[thread as usize], &to_owner);
            let handle = Builder::new().name(format!("walker {thread}")).spawn(member);
            crew.threads.push(handle.doing(|| format!("starting thread {} of {threads}", thread + 1))?);
            crew.hands.push(hand);
        }
        Ok(crew)
    }

    /// Has all threads do `work` once. `look` is called while they do and once at the end, with the
    /// number of files that are done.
    pub(crate) fn pass(&self, work: &Arc<dyn Work>, look: &mut dyn FnMut(u64)) -> Result<Walked, Failure> {
        self.done.iter().for_each(|done| done.0.store(0, Relaxed));
        let start = Instant::now();
        for hand in &self.hands {
            hand.send(work.clone()).expect("a thread ends only when its hand is dropped");
        }
        let (mut sums, mut last, mut failure) = (vec![0; self.hands.len()], start, None);
        let mut missing = self.hands.len();
        while missing > 0 {
            match self.back.recv_timeout(LOOK) {
                Ok(Back { thread, ended, sum }) => {
                    missing -= 1;
                    last = last.max(ended);
                    match sum {
                        Ok(sum) => sums[thread as usize] = sum,
                        Err(error) => failure = failure.or(Some(error)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    assert!(!self.threads.iter().any(JoinHandle::is_finished), "a walking thread panicked");
                    look(self.files_done());
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("the threads are there as long as this"),
            }
        }
        look(self.files_done());
        let walked = Walked { seconds: (last - start).as_secs_f64(), checksum: sums.into_iter().fold(0, folded) };
        failure.map_or(Ok(walked), Err)
    }

    fn files_done(&self) -> u64 {
        self.done.iter().map(|done| done.0.load(Relaxed)).sum()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.hands.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

fn member(thread: u32, work: &Receiver<Arc<dyn Work>>, done: &Done, to_owner: &Sender<Back>) {
    while let Ok(work) = work.recv() {
        let sum = work.walk(thread, done);
        let ended = Instant::now();
        // The work is dropped first, so that nothing holds the caches when the owner drops them.
        drop(work);
        if to_owner.send(Back { thread, ended, sum }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_asked_for_once_and_failures_come_back() {
        let asked = Arc::new(AtomicU64::new(0));
        let count = asked.clone();
        let shape = Shape::new(3, 4, 5).unwrap();
        let work: Arc<dyn Work> = Arc::new(Walk { shape, ask: move |_: &Paths| Ok(count.fetch_add(1, Relaxed)) });
        let crew = Crew::new(3).unwrap();
        let mut seen = 0;
        crew.pass(&work, &mut |done| seen = done).unwrap_or_else(|error| panic!("{error}"));
        crew.pass(&work, &mut |done| seen = done).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((asked.load(Relaxed), seen), (120, 60));

        let refuse = |paths: &Paths| if paths.absolute() == b"/t1/d2/f3" { Err(Errno::EIO) } else { Ok(1) };
        let work: Arc<dyn Work> = Arc::new(Walk { shape, ask: refuse });
        let error = crew.pass(&work, &mut |_| ()).err().expect("one failed").to_string();
        assert!(error.starts_with("\"/t1/d2/f3\": "), "{error}");
    }

    #[test]
    fn checksums_depend_on_every_answer_and_its_place() {
        let crew = Crew::new(2).unwrap();
        let shape = Shape::new(2, 2, 3).unwrap();
        let of = |ask: fn(&Paths) -> Result<u64, Errno>| {
            let work: Arc<dyn Work> = Arc::new(Walk { shape, ask });
            crew.pass(&work, &mut |_| ()).unwrap_or_else(|error| panic!("{error}")).checksum
        };
        let length: fn(&Paths) -> Result<u64, Errno> = |paths| Ok(paths.absolute().len() as u64);
        assert_eq!(of(length), of(length));
        assert_ne!(of(|paths| Ok(paths.absolute()[2].into())), of(|paths| Ok(u64::from(paths.absolute()[2] ^ 1))));
    }
}
