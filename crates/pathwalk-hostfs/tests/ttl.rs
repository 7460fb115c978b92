//! The mode `Ttl`: no answer is older than promised, and one look at a directory confirms all its
//! names. `PATHWALK_TTL_SECONDS=60` for a longer measurement.
//!
//! Ages are compared with what the passes themselves took, so a slow machine fails no test.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::on_tmpfs;
use pathwalk::{Context, Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};

fn world(at: &Path, [entry, absence, attributes]: [Duration; 3]) -> (Arc<HostFs>, Context) {
    let fs = HostFs::open_writable(at).unwrap().with_coherence(Coherence::Ttl { entry, absence, attributes });
    let fs = Arc::new(fs);
    let context = Vfs::builder().build(Arc::clone(&fs)).unwrap().context(Credentials::root());
    (fs, context)
}

/// Waits for so many passes that begin from now on.
fn passes(fs: &HostFs, more: u64) {
    let end = fs.ttl_stats().passes + 1 + more;
    while fs.ttl_stats().passes < end {
        std::thread::sleep(Duration::from_millis(1));
    }
}

const TIME: Duration = Duration::from_millis(100);

/// Measures how long answers are used that are wrong. A thread changes the host: a file that comes
/// and goes, and its mode. Others ask without pause. A stale answer is as old as the change that
/// made it wrong, at least; the host was asked before that.
#[test]
fn no_answer_is_older_than_it_may_be() {
    let seconds = std::env::var("PATHWALK_TTL_SECONDS").map_or(2, |text| text.parse().unwrap());
    on_tmpfs("no_answer_is_older_than_it_may_be", "mode=755", move |at| {
        let (fs, context) = world(at, [TIME; 3]);
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64;
        fs::create_dir(at.join("d")).unwrap();
        fs::write(at.join("d/same"), "x").unwrap();
        // The time of the last change, and what it made true: even numbers are with the file.
        let (changed, rounds) = (AtomicU64::new(now()), AtomicU64::new(1));
        let is_over = AtomicBool::new(false);
        let (worst, asked) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while start.elapsed().as_secs() < seconds {
                    for is_there in [true, false] {
                        let path = at.join("d/file");
                        if is_there {
                            fs::write(path, "x").unwrap()
                        } else {
                            fs::remove_file(path).unwrap()
                        }
                        changed.store(now(), Ordering::SeqCst);
                        rounds.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(TIME * 2 + TIME / 3);
                    }
                }
                is_over.store(true, Ordering::SeqCst);
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        let round = rounds.load(Ordering::SeqCst);
                        let (begun, since) = (now(), changed.load(Ordering::SeqCst));
                        let found = context.stat("/d/file").is_ok();
                        context.stat("/d/same").unwrap();
                        asked.fetch_add(1, Ordering::Relaxed);
                        // The change was done before the question, and no other one came meanwhile.
                        let is_sure = round > 1 && rounds.load(Ordering::SeqCst) == round && begun >= since;
                        if is_sure && found != round.is_multiple_of(2) {
                            worst.fetch_max(begun - since, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        let stats = fs.ttl_stats();
        let (worst, oldest) = (Duration::from_nanos(worst.into_inner()), stats.oldest[0].max(stats.oldest[1]));
        println!(
            "{} questions; the oldest wrong answer {worst:?}, of {oldest:?} that passes took: {stats:?}",
            asked.into_inner()
        );
        assert!(worst <= oldest, "{worst:?} is more than {oldest:?}");
        assert!(stats.late > 0 || oldest <= TIME);
    });
}

#[test]
fn attributes_and_rights_are_asked_for_again() {
    on_tmpfs("attributes_and_rights_are_asked_for_again", "mode=755", |at| {
        let (fs, context) = world(at, [Duration::MAX, Duration::MAX, TIME]);
        fs::write(at.join("f"), "x").unwrap();
        assert_eq!(context.stat("/f").unwrap().size, 1);
        for size in 2..5 {
            fs::write(at.join("f"), "x".repeat(size)).unwrap();
            passes(&fs, 1);
            assert_eq!(context.stat("/f").unwrap().size, size as u64);
        }
        // Names and absences are used for good.
        assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
        fs::write(at.join("new"), "x").unwrap();
        passes(&fs, 2);
        assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
    });
}

/// Checks that names, absences and listed names are those of the host after two passes.
#[test]
fn names_and_absences_are_asked_for_again() {
    on_tmpfs("names_and_absences_are_asked_for_again", "mode=755", |at| {
        let (fs, context) = world(at, [TIME, TIME, Duration::MAX]);
        fs::create_dir(at.join("d")).unwrap();
        let there = |path: &str| context.stat(path).is_ok();
        for round in 0..6 {
            let (a, b) = (format!("/d/a{round}"), format!("/d/b{round}"));
            fs::write(at.join(&a[1..]), "x").unwrap();
            assert_eq!((there(&a), there(&b)), (true, false));
            context.open("/d", OpenFlags::READ).unwrap().getdents(usize::MAX).unwrap();
            fs::rename(at.join(&a[1..]), at.join(&b[1..])).unwrap();
            passes(&fs, 1);
            assert_eq!((there(&a), there(&b)), (false, true), "round {round}");
        }
    });
}

#[test]
fn one_look_confirms_all_names_of_a_directory() {
    on_tmpfs("one_look_confirms_all_names_of_a_directory", "mode=755", |at| {
        let (fs, context) = world(at, [TIME, TIME, Duration::MAX]);
        fs::create_dir(at.join("d")).unwrap();
        let files: Vec<_> = (0..50).map(|name| format!("/d/{name}")).collect();
        files.iter().for_each(|path| fs::write(at.join(&path[1..]), "x").unwrap());
        // Longer than a tick.
        std::thread::sleep(Duration::from_millis(50));
        let ask = || {
            files.iter().for_each(|path| _ = context.stat(path).unwrap());
            (0..50).for_each(|name| assert_eq!(context.stat(format!("/d/absent{name}")), Err(Errno::ENOENT)));
        };
        ask();
        let mut best = (u64::MAX, 0);
        // Whether a pass comes between is up to the machine, so the best of some rounds counts.
        for _ in 0..10 {
            passes(&fs, 0);
            let (before, lookups) = (fs.ttl_stats(), context.vfs().stats().fs_lookups);
            ask();
            let after = fs.ttl_stats();
            best = best.min((context.vfs().stats().fs_lookups - lookups, after.looks - before.looks));
        }
        assert!(best.0 <= 1 && best.1 <= 4, "{best:?} lookups and looks, {:?}", fs.ttl_stats());
        // A directory that changes is not confirmed.
        fs::remove_file(at.join("d/7")).unwrap();
        fs::write(at.join("d/absent7"), "x").unwrap();
        passes(&fs, 1);
        assert_eq!(context.stat("/d/7"), Err(Errno::ENOENT));
        assert!(context.stat("/d/absent7").is_ok());
    });
}

#[test]
fn a_time_of_zero_asks_each_time_and_the_thread_ends_with_the_file_system() {
    on_tmpfs("a_time_of_zero_asks_each_time_and_the_thread_ends_with_the_file_system", "mode=755", |at| {
        let threads = || {
            let all = fs::read_dir("/proc/self/task").unwrap().flatten();
            let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            all.map(name).filter(|name| name.trim() == "pathwalk-ttl").count()
        };
        let (fs, context) = world(at, [Duration::ZERO; 3]);
        for round in 0..3 {
            assert_eq!(context.stat("/f"), Err(Errno::ENOENT), "{round}");
            fs::write(at.join("f"), "x").unwrap();
            assert_eq!(context.stat("/f").unwrap().size, 1);
            fs::write(at.join("f"), "xy").unwrap();
            assert_eq!(context.stat("/f").unwrap().size, 2);
            fs::remove_file(at.join("f")).unwrap();
        }
        let others = threads();
        drop((fs, context));
        let since = Instant::now();
        while threads() >= others.max(1) && since.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(threads() < others.max(1), "the thread has ended");
    });
}
