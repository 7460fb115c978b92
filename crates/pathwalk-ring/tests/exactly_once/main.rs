//! A test that each entry completes once. It runs random operations of every kind, with links of
//! both kinds, time limits, timeouts and cancellation, through rings that are tiny and are dropped
//! in the middle, and through futures that are dropped, too. The file system fails, is late, panics
//! before and after an effect and when a file is closed, and uses the pool. The caches are too
//! small.
//!
//! | variable | what | default |
//! |---|---|---|
//! | `PATHWALK_RING_OPERATIONS` | entries and futures of all threads | 50,000 |
//! | `PATHWALK_RING_SEED` | seed of the random choices | by the clock; printed |
//!
//! A lost entry would be waited for without end. If nothing completes for two minutes, the test
//! aborts and prints what it waits for.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod ledger;
mod operations;
mod owner;
#[path = "../common/wild.rs"]
mod wild;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use pathwalk::{Credentials, Errno, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Pool};

use common::eventually;
use ledger::Counts;
use owner::Owner;

/// The number of threads that own rings.
const OWNERS: u64 = 2;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a number")))
}

/// Waits for these threads. `progress`, which they increment, has to move.
fn watch(threads: Vec<std::thread::JoinHandle<Counts>>, progress: &AtomicU64, pool: &Pool) -> Counts {
    let (mut seen, mut since) = (0, Instant::now());
    while !threads.iter().all(std::thread::JoinHandle::is_finished) {
        std::thread::sleep(Duration::from_millis(10));
        let now = progress.load(Relaxed);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() > Duration::from_secs(120) {
            // The threads cannot be joined.
            eprintln!("something was lost: nothing completes for two minutes, after {now}; {pool:?}");
            std::process::abort();
        }
    }
    let mut counts = HashMap::new();
    for thread in threads {
        thread.join().unwrap().into_iter().for_each(|(what, n)| *counts.entry(what).or_default() += n);
    }
    counts
}

#[test]
fn each_entry_completes_once() {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let (operations, seed) = (number("PATHWALK_RING_OPERATIONS", 50_000), number("PATHWALK_RING_SEED", clock));
    println!("PATHWALK_RING_OPERATIONS={operations} PATHWALK_RING_SEED={seed}");
    let begin = Instant::now();
    let fs = MemFs::new();
    fs.mkdir("/d", 0o700).unwrap();
    fs.symlink("d", "/l").unwrap();
    let (fs, hooks) = wild::Wild::new(fs);
    let vfs = Vfs::builder().budget(Vfs::budget_for(64)).build(fs).unwrap();
    let pool = Pool::builder().workers(3).idle(Duration::from_millis(1)).build();
    let met = faults::start(&hooks, seed, &pool);
    let progress = Arc::new(AtomicU64::new(0));
    let threads = (0..OWNERS).map(|thread| {
        let face = AsyncContext::new(vfs.context(Credentials::root()), pool.clone());
        let progress = progress.clone();
        std::thread::spawn(move || Owner::new(&face, seed ^ thread, progress).run(operations / OWNERS))
    });
    let counts = watch(threads.collect(), &progress, &pool);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    let errno = |res: i32| if res == 0 { "Ok".to_owned() } else { format!("{:?}", Errno::from_raw(-res)) };
    counts.iter().for_each(|((what, res), n)| println!("{what:9} {:12} {n}", errno(*res)));
    // Nothing is left of what was cancelled, dropped, or ended by a panic.
    let quiet = || {
        let stats = pool.stats();
        (stats.queued, stats.parked, stats.idle) == (0, 0, stats.workers)
    };
    eventually("nothing waits", quiet);
    println!("the file system: {met:?}");
    hooks.clear();
    eventually("no worker is left", || pool.stats().workers == 0);
    pathwalk::internals::evict(&vfs, usize::MAX);
    let stats = vfs.stats();
    assert_eq!((stats.dentries.used, stats.inodes.used), (1, 1), "only the root is left");
    let completed: u64 = counts.iter().map(|(_, n)| n).sum();
    println!(
        "{operations} operations, {completed} completed and the rest dropped with their ring or future, in {:?}",
        begin.elapsed()
    );
    let some = |what, res: Errno| counts.iter().any(|((of, with), _)| *of == what && *with == -res.raw());
    if operations >= 50_000 {
        assert!(some("operation", Errno::ECANCELED) && some("cancel", Errno::ENOENT) && some("operation", Errno::EIO));
        assert!(some("timeout", Errno::ETIME) && some("limit", Errno::ECANCELED) && some("limit", Errno::ETIME));
        assert!(some("future", Errno::EIO) && some("future", Errno::ENOENT));
        assert!(met.all_kinds(), "{met:?}");
    }
}
