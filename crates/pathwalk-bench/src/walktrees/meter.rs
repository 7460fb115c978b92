//! The cost of a pass for this process: processor time, memory, and the number of times that its
//! threads went to sleep.

use std::fs::File;
use std::os::unix::fs::FileExt;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use pathwalk::Vfs;

use crate::machine::{Doing, SetUpError};

/// The resident memory of this process, whatever it is used for. Source: `/proc/self/statm`,
/// `proc(5)`.
///
/// The kernel's count may be behind by some 100 KiB, since each processor batches its updates.
pub(crate) struct Resident {
    statm: File,
    page: u64,
}

impl Resident {
    pub(crate) fn new() -> Result<Resident, SetUpError> {
        let statm = File::open("/proc/self/statm").doing(|| "opening \"/proc/self/statm\"".into())?;
        let resident = Resident { statm, page: rustix::param::page_size() as u64 };
        let read = resident.read().ok_or("it does not say in its second field how many pages are resident");
        read.doing(|| "reading \"/proc/self/statm\"".into())?;
        Ok(resident)
    }

    /// Returns the bytes, or 0 where the file cannot be read any more.
    pub(crate) fn bytes(&self) -> u64 {
        self.read().unwrap_or(0)
    }

    fn read(&self) -> Option<u64> {
        let mut buffer = [0; 128];
        let length = self.statm.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages * self.page)
    }
}

/// The resources that all threads of this process have used so far. Source: `getrusage(2)`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Used {
    /// The seconds of processor time in user space.
    pub user: f64,
    /// The seconds of processor time in the kernel.
    pub system: f64,
    /// The number of times that a thread went to sleep by itself: for a lock, a disk, lack of work,
    /// or, some hundred times a second, between two looks.
    pub sleeps: u64,
}

impl Used {
    /// Returns the resources used so far. All are zero where the kernel does not report them.
    pub(crate) fn so_far() -> Used {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Used::default() };
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        let sleeps = u64::try_from(usage.voluntary_context_switches()).unwrap_or(0);
        Used { user: seconds(usage.user_time()), system: seconds(usage.system_time()), sleeps }
    }

    pub(crate) fn since(self, before: Used) -> Used {
        Used {
            user: self.user - before.user,
            system: self.system - before.system,
            sleeps: self.sleeps.saturating_sub(before.sleeps),
        }
    }
}

/// The growth of this process's resident memory since before the `Vfs` was built, including that of
/// its file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    before: u64,
    /// The growth at the end, in bytes.
    pub now: u64,
    /// The largest growth that was seen, in bytes.
    pub peak: u64,
}

impl Growth {
    /// Creates a growth of zero, from this number of resident bytes on.
    pub(crate) fn from(before: u64) -> Growth {
        Growth { before, now: 0, peak: 0 }
    }

    fn look(&mut self, resident: u64) {
        self.now = resident.saturating_sub(self.before);
        self.peak = self.peak.max(self.now);
    }
}

/// The contents and the memory of a `Vfs`, sampled repeatedly while it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The budget, in bytes.
    pub budget: u64,
    /// The number of names and negative entries for which there is room.
    pub capacity: u64,
    /// The number of names that are cached at the end.
    pub names: u64,
    /// The number of files and directories that are cached at the end.
    pub inodes: u64,
    /// The largest number of names that were seen to be cached.
    pub peak_names: u64,
    /// The growth of resident memory, where that can be measured.
    pub growth: Option<Growth>,
    /// The bytes that the file system reports: not part of the budget.
    pub file_system: u64,
    /// The number of looks.
    pub looks: u64,
    /// The number of looks that found more slots in use than there are.
    pub over_slots: u64,
    /// The number of looks that found more resident memory than budget and file system together.
    pub over_bytes: u64,
}

impl Memory {
    /// Returns whether no look found more than the budget allows. Where the growth was not
    /// measured, only slots count.
    pub fn budget_held(&self) -> bool {
        self.over_slots == 0 && self.over_bytes == 0
    }

    /// Returns the resident bytes for each cached file or directory, including everything.
    pub fn bytes_per_cached_file(&self) -> Option<f64> {
        // The root is always cached.
        self.growth.map(|growth| growth.now as f64 / self.inodes.max(1) as f64)
    }

    /// Looks once more, with the given number of resident bytes.
    pub(crate) fn look(&mut self, vfs: &Vfs, resident: u64) {
        let stats = vfs.stats();
        let pools = [stats.dentries, stats.inodes, stats.side];
        (self.budget, self.capacity, self.file_system) = (stats.budget, stats.dentries.capacity, stats.file_system);
        (self.names, self.inodes) = (stats.dentries.used, stats.inodes.used);
        self.peak_names = self.peak_names.max(self.names);
        self.looks += 1;
        self.over_slots += u64::from(pools.iter().any(|pool| pool.used > pool.capacity));
        if let Some(growth) = &mut self.growth {
            growth.look(resident);
            self.over_bytes += u64::from(growth.now.saturating_sub(stats.file_system) > stats.budget);
        }
    }
}

#[cfg(test)]
mod tests {
    use pathwalk_synthfs::{Shape, SynthFs};

    use super::*;

    #[test]
    fn memory_that_is_used_is_seen() {
        let resident = Resident::new().unwrap();
        let before = resident.bytes();
        let block = vec![1_u8; 64 << 20];
        assert!(resident.bytes() > before + (60 << 20));
        drop(std::hint::black_box(block));
    }

    #[test]
    fn what_is_over_the_budget_is_seen() {
        let vfs = Vfs::builder().budget(1 << 20).build(SynthFs::new(Shape::new(1, 1, 1).unwrap())).unwrap();
        let mut memory = Memory { growth: Some(Growth::from(500)), ..Memory::default() };
        memory.look(&vfs, 100);
        memory.look(&vfs, (1 << 20) + 500);
        assert!(memory.budget_held() && memory.looks == 2 && memory.names == 1);
        assert_eq!(memory.growth, Some(Growth { before: 500, now: 1 << 20, peak: 1 << 20 }));
        memory.look(&vfs, (2 << 20) + 500);
        assert!(!memory.budget_held() && memory.over_bytes == 1 && memory.over_slots == 0);
        assert_eq!((memory.budget, memory.bytes_per_cached_file()), (1 << 20, Some((2 << 20) as f64)));
    }

    #[test]
    fn work_is_seen() {
        let before = Used::so_far();
        while Used::so_far().since(before).user + Used::so_far().since(before).system < 0.01 {
            std::hint::black_box((0..1000_u64).sum::<u64>());
        }
    }
}
