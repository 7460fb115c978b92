//! A batch through a ring: so many in flight, taken back by halves.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pathwalk::{Errno, OpenFlags};
use pathwalk_ring::{Entry, EntryFlags, Op, Ring};

use super::place::Target;

/// How an operation is begun.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    /// By a worker, whatever is cached: what one does without a cache that can be asked without waiting.
    AlwaysPunt,
    /// From the cache, and by a worker where that is not enough.
    CachedFirst,
}

impl Way {
    /// Both.
    pub const BOTH: [Way; 2] = [Way::AlwaysPunt, Way::CachedFirst];

    fn flags(self) -> EntryFlags {
        match self {
            Way::AlwaysPunt => EntryFlags::ASYNC,
            Way::CachedFirst => EntryFlags::empty(),
        }
    }
}

/// What went wrong in a batch.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An open that has to succeed.
    #[error("opening \"{}\"", .0.as_os_str().as_encoded_bytes().escape_ascii())]
    Open(PathBuf, #[source] Errno),
    /// A file that was to be cold.
    #[error("\"{}\" was cached before anybody asked for it", .0.as_os_str().as_encoded_bytes().escape_ascii())]
    Known(PathBuf),
    /// The ring refused.
    #[error("submitting to the ring")]
    Submit(#[source] Errno),
    /// The kernel's ring did.
    #[error("{0} of io_uring")]
    Kernel(&'static str, #[source] std::io::Error),
    /// A peer's open.
    #[error("{0} of tokio")]
    Peer(&'static str, #[source] std::io::Error),
}

/// When each was submitted, and how long each took, in nanoseconds.
pub(super) struct Clock<'h> {
    begun: Vec<Instant>,
    took: &'h mut Histogram<u64>,
}

impl<'h> Clock<'h> {
    pub(super) fn new(took: &'h mut Histogram<u64>) -> Clock<'h> {
        Clock { begun: Vec::new(), took }
    }
}

/// Opens them all with `depth` in flight, and gives up each file when it is there. The time of the whole batch.
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

/// The same with nothing to do: only the way to the worker and back.
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
        // Together, as `io_uring` is used. One by one, each may wake the worker, which on one processor may run before the next is submitted: then a hop costs
        // twice as much, and more often if there is nothing to do in it.
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
        // Waiting for all would leave the worker idle, waiting for one would wake us for each.
        let ready = ring.wait((depth / 2).max(1));
        for completion in (0..ready).map_while(|_| ring.reap()) {
            if let Some(clock) = &mut clock {
                let took = clock.begun[completion.user_data as usize].elapsed();
                // It grows as it has to; what it cannot count, some 500 years, does not come.
                _ = clock.took.record(took.as_nanos() as u64);
            }
            completion.result.map_err(|errno| Broken::Answer(completion.user_data, errno))?;
            done += 1;
        }
    }
    Ok(start.elapsed())
}
