//! Checks that the budget is hard: the memory of the caches never exceeds it, whatever is looked
//! up, and no answer is wrong because of it.
//!
//! - [`computed`]: a file system without memory of its own, with all kinds of nodes that take
//!   memory of the engine;
//! - [`mounts`]: the memory of mounts, which is outside the budget and has a bound of its own;
//! - [`process`]: a process for each measurement, and its resident memory.

mod computed;
mod mounts;
mod process;

use pathwalk::{Access, Context, Credentials, Errno, Handle, Stats, Vfs, internals};

use computed::{Computed, Entry, Kind};
use process::{alone, resident, small_pages};

const MIB: u64 = 1 << 20;

/// The number of times that the caches are filled.
const TIMES_OVER: u32 = 3;

/// The environment variable with which the largest budget is filled as well.
const LARGEST: &str = "PATHWALK_BUDGET_LARGEST";

fn context(budget: u64) -> Context {
    let vfs = Vfs::builder().budget(budget).seed(1).build(Computed).expect("the budget is neither too small nor too large");
    vfs.context(Credentials::user(1000, 1000, &[]))
}

fn capacity(context: &Context) -> u32 {
    context.vfs().stats().dentries.capacity.try_into().expect("a slot's number has 32 bits")
}

/// Looks up this many entries, some of them once more a little later, and checks every answer.
fn fill(context: &Context, entries: u32, mut after_each: impl FnMut(u32)) {
    for n in 0..entries {
        Entry::nth(n).check(context);
        Entry::nth(n - n % 5).check(context);
        Entry::nth(n / 2).check(context);
        after_each(n);
    }
}

/// Returns entries that take a dentry and an inode and nothing else.
fn files() -> impl Iterator<Item = u32> {
    (0..).filter(|n| Entry::nth(*n).kind() == Kind::File)
}

/// Loads the code that will run, on a small `Vfs` that stays, so that the growth measured later is
/// not that of the program.
fn warm_up() {
    let context = context(MIB / 4);
    fill(&context, TIMES_OVER * capacity(&context), |_| {});
    resident();
    std::mem::forget(context);
}

#[test]
fn a_gibibyte_costs_nothing_until_it_is_used() {
    alone("a_gibibyte_costs_nothing_until_it_is_used", &[1024 * MIB], |budget| {
        small_pages();
        let before = resident();
        let context = context(budget);
        let cost = resident() - before;
        println!("a budget of {budget} bytes, not used yet: {cost} bytes");
        assert!(cost < 8 * MIB);
        fill(&context, 1000, |_| {});
        let cost = resident() - before;
        println!("with 1,000 entries asked for: {cost} bytes");
        assert!(cost < 16 * MIB);
    });
}

/// The largest values at any time.
#[derive(Default)]
struct Peak {
    growth: u64,
    dentries: u64,
    inodes: u64,
    side: u64,
}

impl Peak {
    fn see(&mut self, stats: &Stats, growth: u64) {
        self.growth = self.growth.max(growth);
        self.dentries = self.dentries.max(stats.dentries.used);
        self.inodes = self.inodes.max(stats.inodes.used);
        self.side = self.side.max(stats.side.used);
    }
}

#[test]
fn growth_stays_within_the_budget() {
    let budgets = [MIB, 3 * MIB, 8 * MIB, 16 * MIB];
    let most = if std::env::var_os(LARGEST).is_some() { budgets.len() } else { budgets.len() - 1 };
    alone("growth_stays_within_the_budget", &budgets[..most], |budget| {
        small_pages();
        warm_up();
        let before = resident();
        let context = context(budget);
        let capacity = capacity(&context);
        let mut peak = Peak::default();
        let mut look = |n: u32| {
            if n.is_multiple_of(capacity / 16) {
                let stats = context.vfs().stats();
                let growth = resident().saturating_sub(before + stats.file_system);
                assert!(growth <= budget, "after {n} entries the caches take {growth} bytes of {budget}: {stats:?}");
                peak.see(&stats, growth);
            }
        };
        fill(&context, TIMES_OVER * capacity, &mut look);
        // Each of these has an inode, which an absence does not have: this fills both pools. Each
        // is looked up twice, so that it is hit and takes the place of entries that were hit
        // before, absences included. An entry that is looked up only once does not.
        for n in files().take(TIMES_OVER as usize * capacity as usize) {
            (0..2).for_each(|_| Entry::nth(n).check(&context));
            look(n);
        }
        look(0);

        let stats = context.vfs().stats();
        println!(
            "budget {budget}: at most {} bytes; at most {} of {capacity} dentries, {} of {} inodes, {} of {} side lines; {} evictions",
            peak.growth, peak.dentries, peak.inodes, stats.inodes.capacity, peak.side, stats.side.capacity, stats.evictions
        );
        // Several dentries are evicted at once, and the counts are not read after each entry.
        assert!(peak.dentries > stats.dentries.capacity - stats.dentries.capacity / 64);
        assert!(peak.inodes > stats.inodes.capacity / 10 * 9);
        // A long body takes many side lines at once, so that some are usually left.
        assert!(peak.side > stats.side.capacity / 4 * 3);
        assert!(stats.evictions > u64::from(capacity));
        assert!(peak.growth > budget / 10 * 9, "it is used, too");
    });
}

#[test]
fn names_without_side_lines_fill_all_dentries() {
    let context = context(MIB);
    let capacity = capacity(&context);
    for n in files().take(TIMES_OVER as usize * capacity as usize) {
        Entry::nth(n).check(&context);
    }
    let stats = context.vfs().stats();
    // Several dentries are evicted at once.
    assert!(stats.dentries.used > u64::from(capacity - capacity / 64), "{stats:?}");
    assert!(stats.evictions > 0);
}

/// Holds entries of this kind until there is no room for another, and returns them.
fn held(context: &Context, kind: Kind) -> Vec<(Entry, Handle)> {
    let mut held = Vec::new();
    for entry in (0..).map(Entry::nth).filter(|entry| entry.kind() == kind) {
        match context.lookup(entry.path().bytes()) {
            Ok(handle) => held.push((entry, handle)),
            Err(errno) => {
                assert_eq!(errno, Errno::ENFILE);
                break;
            }
        }
    }
    held
}

/// Fills the budget with pinned entries. Then no new entry is cached and no old one is lost; once
/// the pins are released, all works again.
fn pinned_until_full(kind: Kind) -> (usize, Stats) {
    let context = context(MIB);
    let held = held(&context, kind);
    let full = context.vfs().stats();
    for (entry, handle) in &held {
        entry.check_file(handle.attributes());
        entry.check(&context);
    }
    if full.dentries.used == full.dentries.capacity {
        for missing in (0..8).map(|n| Entry::nth(8 * capacity(&context) + n)) {
            let answer = context.access(missing.path().bytes(), Access::empty());
            assert_eq!(answer, Err(Errno::ENFILE), "{missing:?}");
        }
    }
    let count = held.len();
    let (entry, handle) = held.into_iter().next().expect("there is room for one");
    fill(&context, 4 * capacity(&context), |_| {});
    entry.check_file(handle.attributes());
    assert_eq!(handle.path().as_deref(), Ok(entry.path().bytes()), "what stays pinned is not evicted");
    (count, full)
}

#[test]
fn everything_pinned_is_enfile_and_nothing_is_lost() {
    let (held, stats) = pinned_until_full(Kind::File);
    // All but the root and the directories.
    assert_eq!((stats.dentries.used, stats.dentries.capacity - held as u64), (stats.dentries.capacity, 24), "{stats:?}");
}

#[test]
fn all_side_lines_pinned_is_enfile_and_nothing_is_lost() {
    let (_, stats) = pinned_until_full(Kind::LongFile);
    let most_a_name = 4;
    assert!(stats.side.used + most_a_name > stats.side.capacity && stats.dentries.used < stats.dentries.capacity, "{stats:?}");
}

#[test]
fn a_cached_file_takes_at_most_256_bytes_of_which_64_are_hot() {
    for budget in [MIB, 64 * MIB, 1024 * MIB] {
        let context = context(budget);
        let stats = context.vfs().stats();
        let of = |bytes: u64, slots: u64| bytes as f64 / slots as f64;
        let tables =
            of(stats.dentries.table_bytes, stats.dentries.capacity) + of(stats.inodes.table_bytes, stats.inodes.capacity);
        let a_file = stats.dentries.slot_bytes as f64 + stats.inodes.slot_bytes as f64 + tables;
        println!("budget {budget}: {a_file:.1} bytes a file");
        assert!(a_file <= 256.0, "{stats:?}");

        let lengths: Vec<u64> = internals::memory_ranges(context.vfs()).iter().map(|(start, end)| (end - start) as u64).collect();
        assert!(
            lengths.contains(&(64 * (stats.dentries.capacity + 1))),
            "the hot lines of all dentries, and of slot 0: {lengths:?}"
        );
        assert!(lengths.iter().sum::<u64>() <= budget, "all arrays together: {lengths:?}");
    }
}
