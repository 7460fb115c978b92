//! How many requests of each kind were served, and how long that took.
//!
//! What always holds: no lock is taken, and a thread adds to a share that it has with few others.
//!
//! What it does not do: count the time that a request waited in the kernel before it was read.

use std::array::from_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use pathwalk::Errno;

use crate::Mounted;
use crate::abi::Opcode;

/// The number of shares.
const SHARES: usize = 16;

/// The number of kinds: the greatest number of a kind, and one. Kinds beyond are counted as 0.
const KINDS: usize = 64;

/// The number of ranges of times.
const RANGES: usize = 32;

/// The requests of one kind that a mount has answered. Returned by [`Mounted::operations`].
///
/// ```no_run
/// # let context = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(pathwalk::Credentials::root());
/// let mounted = pathwalk_fuse::mount(&context, "/mnt", &pathwalk_fuse::Options::default())?;
/// std::fs::write("/mnt/file", "text")?;
/// for of in mounted.operations() {
///     println!("{}: {}, {} ns in all", of.name, of.count(), of.nanoseconds);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Operations {
    /// The kind, such as `GetAttr`: the name of its number in `fuse.h`. `Other` for those that are
    /// not served.
    pub name: &'static str,
    /// Those that were answered with an error. The absence of a name is one, if the kernel does not
    /// keep it.
    pub errors: u64,
    /// The time that serving them took in all, in nanoseconds.
    pub nanoseconds: u64,
    /// How many took at least 2ⁿ nanoseconds, and less than 2ⁿ⁺¹, for each n from 0. The first
    /// number has those that took no time as well, the last one all that took longer.
    pub latencies: [u64; RANGES],
}

impl Operations {
    /// Returns the number of requests.
    ///
    /// [`Operations`] has an example.
    pub fn count(&self) -> u64 {
        self.latencies.iter().sum()
    }
}

/// The counts of one kind in a share. Threads add, and order nothing by it.
struct OfKind {
    errors: AtomicU64,
    nanoseconds: AtomicU64,
    latencies: [AtomicU64; RANGES],
}

/// The counts of a few threads.
#[repr(align(128))]
pub(crate) struct Share([OfKind; KINDS]);

/// The counts of a mount.
pub(crate) struct Counts {
    shares: Box<[Share]>,
    /// The share of the next thread. Each thread takes the next number, and orders nothing by it.
    next: AtomicUsize,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts { shares: (0..SHARES).map(|_| Share::new()).collect(), next: AtomicUsize::new(0) }
    }

    /// Returns the share of one more thread.
    pub(crate) fn share(&self) -> &Share {
        &self.shares[self.next.fetch_add(1, Ordering::Relaxed) % SHARES]
    }

    /// Returns the counts of the kinds that there were.
    fn operations(&self) -> Vec<Operations> {
        (0..KINDS).map(|kind| self.of(kind)).filter(|operations| operations.count() > 0).collect()
    }

    fn of(&self, kind: usize) -> Operations {
        let sum = |count: &dyn Fn(&OfKind) -> &AtomicU64| -> u64 {
            self.shares.iter().map(|share| count(&share.0[kind]).load(Ordering::Relaxed)).sum()
        };
        Operations {
            name: Opcode::from_number(kind as u32).map_or("Other", Opcode::name),
            errors: sum(&|of| &of.errors),
            nanoseconds: sum(&|of| &of.nanoseconds),
            latencies: from_fn(|range| sum(&|of| &of.latencies[range])),
        }
    }
}

impl Share {
    fn new() -> Share {
        Share(from_fn(|_| OfKind {
            errors: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
            latencies: from_fn(|_| AtomicU64::new(0)),
        }))
    }

    /// Counts a request with this number of its kind.
    pub(crate) fn add(&self, opcode: u32, result: Result<(), Errno>, took: Duration) {
        let known = Opcode::from_number(opcode).map_or(0, |_| opcode as usize);
        let of = &self.0[if known < KINDS { known } else { 0 }];
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let range = (nanoseconds.max(1).ilog2() as usize).min(RANGES - 1);
        of.latencies[range].fetch_add(1, Ordering::Relaxed);
        of.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        if result.is_err() {
            of.errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Mounted {
    /// Returns what was served, by kind; kinds that there were none of are left out. The numbers
    /// are read one after the other, while others may be added. Cost: some thousand loads.
    ///
    /// [`Operations`] has an example.
    pub fn operations(&self) -> Vec<Operations> {
        self.session.counts.operations()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_summed_by_kind_and_range() {
        let counts = Counts::new();
        let times = [0, 1, 2, 3, 1 << 20, (1 << 21) - 1, 1 << 31, 1 << 40];
        for (number, nanoseconds) in times.into_iter().enumerate() {
            let result = if number % 2 == 0 { Ok(()) } else { Err(Errno::ENOENT) };
            counts.share().add(Opcode::Lookup as u32, result, Duration::from_nanos(nanoseconds));
        }
        for opcode in [0, 63, 64, 4096, u32::MAX] {
            counts.share().add(opcode, Ok(()), Duration::from_nanos(5));
        }
        let [other, lookup] = &counts.operations()[..] else { panic!("two kinds") };
        assert_eq!((other.name, other.count(), other.latencies[2], other.nanoseconds), ("Other", 5, 5, 25));
        assert_eq!((lookup.name, lookup.count(), lookup.errors), ("Lookup", 8, 4));
        let ranges: Vec<(usize, u64)> =
            (0..RANGES).map(|at| (at, lookup.latencies[at])).filter(|(_, count)| *count > 0).collect();
        assert_eq!(ranges, [(0, 2), (1, 2), (20, 2), (31, 2)]);
    }
}
