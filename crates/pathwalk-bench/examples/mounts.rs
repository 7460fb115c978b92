//! The cost of many mounts: crossing one of them, making them, copying their namespace, unmounting
//! them, and their memory.
//!
//! `cargo run --release -p pathwalk-bench --example mounts`
//!
//! Prints a line for each number of mounts in one namespace. Crossing: the median of rounds in
//! turns, of a cached `access` of a path that crosses one mount, less that of the same path without
//! a mount. A mount's memory is the growth of the process.
//!
//! Then prints the cost for a reader of a thread that mounts and unmounts elsewhere: the median of
//! rounds in turns, beside a thread that does so in the reader's `Vfs` and in another one. The
//! second processor is equally busy in both cases, so the difference comes from what the threads
//! share.

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use pathwalk::{Access, Context, Credentials, Errno, Recursion, UmountFlags, Vfs};
use pathwalk_memfs::MemFs;

const NUMBERS: [usize; 5] = [10, 1_000, 10_000, 50_000, 99_000];
const ROUNDS: usize = 41;
const LOOKUPS: u32 = 20_000;

fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let done = act();
    (done, begin.elapsed())
}

/// Returns the resident memory in bytes.
fn resident() -> Result<usize, Box<dyn Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("no second field")?.parse()?;
    Ok(pages * 4096)
}

fn lookups(context: &Context, path: &str) -> Duration {
    timed(|| (0..LOOKUPS).for_each(|_| assert!(black_box(context.access(black_box(path), Access::READ)).is_ok()))).1
}

/// Returns the medians of a lookup with a crossing and of one without, in nanoseconds.
fn crossing(context: &Context) -> (f64, f64) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with.push(lookups(context, "/m/0/f"));
        without.push(lookups(context, "/s/d/f"));
    }
    (median(with), median(without))
}

/// Returns the median of a lookup, in nanoseconds.
fn median(mut of: Vec<Duration>) -> f64 {
    of.sort();
    of[of.len() / 2].as_nanos() as f64 / f64::from(LOOKUPS)
}

/// Creates a tree with a mount that readers cross, and a place elsewhere.
fn small() -> Result<Context, Box<dyn Error>> {
    let fs = MemFs::new();
    ["/s", "/s/d", "/m", "/apart", "/elsewhere"].iter().try_for_each(|dir| fs.mkdir(dir, 0o755).map(drop))?;
    fs.file("/s/d/f", 0o644)?;
    let others: Vec<String> = (0..100).map(|at| format!("/{at}")).collect();
    others.iter().try_for_each(|name| fs.file(name, 0o644).map(drop))?;
    let context = Vfs::builder().build(fs)?.context(Credentials::root());
    context.bind("/s/d", "/m", Recursion::Alone)?;
    context.access("/m/f", Access::READ)?;
    // These dentries separate those of the readers from those of `/apart` and `/elsewhere`.
    others.iter().try_for_each(|name| context.access(name, Access::READ))?;
    Ok(context)
}

fn mount_and_unmount(context: &Context) -> Result<(), Errno> {
    context.bind("/apart", "/elsewhere", Recursion::Alone)?;
    context.umount("/elsewhere", UmountFlags::empty())
}

/// Prints the cost of lookups beside a thread that mounts and unmounts.
fn beside_mounting() -> Result<(), Box<dyn Error>> {
    let (here, there) = (small()?, small()?);
    let (is_here, is_over, mounted) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    println!("{:>16} {:>16} {:>16} {:>9}", "a lookup of", "mounting here ns", "in another ns", "costs");
    std::thread::scope(|scope| {
        let mounter = scope.spawn(|| {
            while !is_over.load(Relaxed) {
                mount_and_unmount(if is_here.load(Relaxed) { &here } else { &there })?;
                mounted.fetch_add(1, Relaxed);
            }
            Ok::<(), Errno>(())
        });
        for (what, path) in [("no mount", "/s/d/f"), ("one mount", "/m/f")] {
            let [mut beside, mut apart] = [Vec::new(), Vec::new()];
            for round in 0..10 * ROUNDS {
                is_here.store(round % 2 == 0, Relaxed);
                // An operation in progress at the switch may still be in the other `Vfs`.
                let then = mounted.load(Relaxed);
                while mounted.load(Relaxed) < then + 2 {
                    std::hint::spin_loop();
                }
                if round % 2 == 0 { &mut beside } else { &mut apart }.push(lookups(&here, path));
            }
            let (beside, apart) = (median(beside), median(apart));
            println!("{what:>16} {beside:>16.1} {apart:>16.1} {:>7.1} %", 100.0 * (beside / apart - 1.0));
        }
        is_over.store(true, Relaxed);
        mounter.join().expect("the thread that mounts ends")
    })?;
    println!("{} mounts were made and unmounted meanwhile", mounted.into_inner());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:>7} {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}",
        "mounts", "crossing ns", "without", "mount us", "clone us", "unmount us", "bytes"
    );
    for number in NUMBERS {
        let fs = MemFs::new();
        fs.mkdir("/s", 0o755)?;
        fs.mkdir("/s/d", 0o755)?;
        fs.file("/s/d/f", 0o644)?;
        fs.mkdir("/m", 0o755)?;
        (0..number).try_for_each(|at| fs.mkdir(format!("/m/{at}"), 0o755).map(drop))?;
        let vfs = Vfs::builder().budget(Vfs::budget_for(2 * number as u64 + 1000)).build(fs)?;
        let mut context = vfs.context(Credentials::root());
        let paths: Vec<String> = (0..number).map(|at| format!("/m/{at}")).collect();
        paths.iter().try_for_each(|path| context.access(path, Access::READ))?;
        let before = resident()?;
        let (made, mounting) = timed(|| paths.iter().try_for_each(|path| context.bind("/s/d", path, Recursion::Alone)));
        made?;
        let bytes = (resident()? - before) / number;
        context.access("/s/d/f", Access::READ)?;
        let (with, without) = crossing(&context);
        let first = context.clone();
        let (copied, cloning) = timed(|| context.unshare());
        copied?;
        drop(context);
        let (gone, unmounting) = timed(|| paths.iter().try_for_each(|path| first.umount(path, UmountFlags::empty())));
        gone?;
        let each = |all: Duration| all.as_nanos() as f64 / 1000.0 / number as f64;
        println!(
            "{number:>7} {:>12.1} {without:>10.1} {:>10.2} {:>10.2} {:>10.2} {bytes:>9}",
            with - without,
            each(mounting),
            each(cloning),
            each(unmounting)
        );
    }
    println!();
    beside_mounting()
}
