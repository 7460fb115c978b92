//! A batch through a ring: a number of operations in flight, of which half are reaped at a time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pathwalk::{Errno, OpenFlags};
use pathwalk_ring::{Entry, EntryFlags, Op, Ring};

use super::place::Target;

/// The way in which an operation is begun.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    /// By a worker, whatever is cached: as without a cache that can be asked without waiting.
    AlwaysPunt,
    /// From the cache, and by a worker where the cache does not suffice.
    CachedFirst,
}

impl Way {
    /// Both ways.
    pub const BOTH: [Way; 2] = [Way::AlwaysPunt, Way::CachedFirst];

    fn flags(self) -> EntryFlags {
        match self {
            Way::AlwaysPunt => EntryFlags::ASYNC,
            Way::CachedFirst => EntryFlags::empty(),
        }
    }
}

/// The failure of a batch.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A failed open that has to succeed.
    #[error("opening \"{}\"", .0.as_os_str().as_encoded_bytes().escape_ascii())]
    Open(PathBuf, #[source] Errno),
    /// A cached file that should have been cold.
    #[error("\"{}\" was cached before the first request for it", .0.as_os_str().as_encoded_bytes().escape_ascii())]
    Known(PathBuf),
    /// A refusal by the ring.
    #[error("submitting to the ring")]
    Submit(#[source] Errno),
    /// An error of the kernel's ring.
    #[error("{0} of io_uring")]
    Kernel(&'static str, #[source] std::io::Error),
    /// An error of a peer.
    #[error("{0} of tokio")]
    Peer(&'static str, #[source] std::io::Error),
}

/// The times at which operations were submitted, and their durations in nanoseconds.
pub(super) struct Clock<'h> {
    begun: Vec<Instant>,
    took: &'h mut Histogram<u64>,
}

impl<'h> Clock<'h> {
    pub(super) fn new(took: &'h mut Histogram<u64>) -> Clock<'h> {
        Clock { begun: Vec::new(), took }
    }
}

/// Opens all files with `depth` in flight, and closes each when it is open. Returns the time of the
/// whole batch.
pub(super) fn opens(
    ring: &mut Ring,
    targets: &[&Target],
    way: Way,
    depth: usize,
    clock: Option<Clock<'_>>,
) -> Result<Duration, Failure> {
    let entry = |number: usize| {
        let open = Op::Openat2 { place: (&targets[number].inside).into(), how: OpenFlags::READ.into() };
        Entry::new(number as u64, open).with(way.flags())
    };
    batch(ring, targets.len(), depth, clock, entry).map_err(|error| match error {
        Broken::Submit(errno) => Failure::Submit(errno),
        Broken::Answer(number, errno) => Failure::Open(targets[number as usize].outside.clone(), errno),
    })
}

/// Runs a batch of empty operations: only the way to the worker and back.
pub(super) fn hops(ring: &mut Ring, count: usize, depth: usize) -> Result<Duration, Failure> {
    let entry = |number: usize| Entry::new(number as u64, Op::Nop).with(EntryFlags::ASYNC);
    batch(ring, count, depth, None, entry).map_err(|error| match error {
        Broken::Submit(errno) | Broken::Answer(_, errno) => Failure::Submit(errno),
    })
}

enum Broken {
    Submit(Errno),
    Answer(u64, Errno),
}

fn batch<'p>(
    ring: &mut Ring,
    count: usize,
    depth: usize,
    mut clock: Option<Clock<'_>>,
    entry: impl Fn(usize) -> Entry<'p>,
) -> Result<Duration, Broken> {
    let start = Instant::now();
    let (mut begun, mut done, mut queue) = (0, 0, ring.queue());
    while done < count {
        // Entries are submitted together, as `io_uring` is used. If they are submitted one by one,
        // each may wake the worker. On one processor the worker may then run before the next entry
        // is submitted. A hop then costs twice as much, and this happens more often the less there
        // is to do in it.
        while begun < count && ring.outstanding() + queue.len() < depth {
            if let Some(clock) = &mut clock {
                clock.begun.push(Instant::now());
            }
            match depth {
                1 => ring.submit_one(entry(begun)).map_err(Broken::Submit)?,
                _ => queue.push(entry(begun)).map_err(|full| Broken::Submit(full.into()))?,
            }
            begun += 1;
        }
        if !queue.is_empty() {
            ring.submit(&mut queue).map_err(Broken::Submit)?;
        }
        // Waiting for all operations would leave the worker idle. Waiting for one would wake this
        // thread for each.
        let ready = ring.wait((depth / 2).max(1));
        for completion in (0..ready).map_while(|_| ring.reap()) {
            if let Some(clock) = &mut clock {
                let took = clock.begun[completion.user_data as usize].elapsed();
                // The histogram grows as needed. A time that it cannot record, some 500 years, does
                // not occur.
                _ = clock.took.record(took.as_nanos() as u64);
            }
            completion.result.map_err(|errno| Broken::Answer(completion.user_data, errno))?;
            done += 1;
        }
    }
    Ok(start.elapsed())
}
