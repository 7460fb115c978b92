//! Random changes by one process, beside questions of threads of another one.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::child::Child;
use crate::compare::{LEVELS, NAMES, assert_lists, assert_same, paths};
use crate::{Watched, number, watched};
use pathwalk::OpenFlags;
use pathwalk_hostfs::{HostFs, WatchBy};
use std::collections::HashSet;

/// Carries out random changes in the current directory. `links` says which hard links are made:
/// `all`; or `known`, only where inotify can see them: in directories that were there before, and
/// the names of their files stay for this round.
pub(crate) fn changes(seed: u64, count: usize, links: &str) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let ino = |path: &str| fs::symlink_metadata(path).map(|of| of.ino()).unwrap_or(0);
    let known: HashSet<u64> = paths().iter().map(|path| ino(path)).chain([ino(".")]).collect();
    let mut linked = HashSet::new();
    for _ in 0..count {
        let (path, other) = (random_path(&mut rng), random_path(&mut rng));
        let above = |path: &str| ino(path.rsplit_once('/').map_or(".", |(above, _)| above));
        let is_settled = |path: &str| links == "all" || !linked.contains(&ino(path));
        // Each may fail: the name space is small, and much is in the way.
        _ = match rng.u32(0..16) {
            0 | 1 => fs::create_dir(&path),
            2 | 3 => fs::write(&path, vec![b'x'; rng.usize(0..100)]),
            4 => fs::OpenOptions::new().append(true).open(&path).and_then(|mut file| file.write_all(b"more")),
            5 => fs::set_permissions(&path, fs::Permissions::from_mode(if rng.bool() { 0o755 } else { 0o700 })),
            6 if is_settled(&path) => fs::remove_file(&path),
            7 => fs::remove_dir(&path),
            8 if rng.u32(0..4) == 0 && linked.is_empty() => fs::remove_dir_all(&path),
            9 => symlink(random_path(&mut rng), &path),
            10 if links == "all" || known.contains(&above(&other)) => {
                if links != "all" {
                    linked.insert(ino(&path));
                }
                fs::hard_link(&path, &other)
            }
            11 if is_settled(&path) && is_settled(&other) => {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &path, rustix::fs::CWD, &other, flags).map_err(Into::into)
            }
            12..16 if is_settled(&path) && is_settled(&other) => fs::rename(&path, &other),
            _ => Ok(()),
        };
    }
}

fn random_path(rng: &mut fastrand::Rng) -> String {
    let levels = rng.usize(1..=LEVELS);
    (0..levels).map(|_| NAMES[rng.usize(0..NAMES.len())]).collect::<Vec<_>>().join("/")
}

/// Asks random questions until it is told to stop. An answer may be old, and an error may be that
/// of a moment.
fn ask(watched: &Watched, seed: u64, stop: &AtomicBool) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !stop.load(Ordering::Relaxed) {
        let path = format!("/{}", random_path(&mut rng));
        match rng.u32(0..8) {
            0 => drop(watched.context.read_dir(&path).map(|entries| entries.flatten().count())),
            1 => drop(watched.context.open(&path, OpenFlags::READ)),
            2 => drop(watched.context.readlink(&path, &mut [0; 100])),
            3 if rng.bool() => _ = pathwalk::internals::evict(watched.context.vfs(), rng.usize(1..20)),
            3 => drop(watched.context.lookup(&path).map(|handle| handle.path().map(|_| ()))),
            _ => drop(watched.context.lstat(&path)),
        }
    }
}

/// Runs one program: rounds of changes, and after each the comparison.
fn program(by: WatchBy, seed: u64, rounds: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut child = Child::start(dir.path());
    let fs = if rng.bool() { HostFs::open(dir.path()) } else { HostFs::open_writable(dir.path()) }.unwrap();
    // Where entries leave the caches, inotify sees no links in their directories.
    let is_small = by == WatchBy::Any && rng.bool();
    let watched = watched(fs, by, if is_small { 200 << 10 } else { 16 << 20 });
    if by == WatchBy::Any && watched.fs.watch_stats().whole_mounts == 0 {
        return pathwalk_tests::skipped("the fuzzer", "fanotify watches no file system for this process");
    }
    let (paths, stop) = (paths(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // The threads end also if an assertion fails.
        let _stops = Stops(&stop);
        for i in 0..2 {
            let (watched, stop) = (&watched, &stop);
            scope.spawn(move || ask(watched, seed ^ i << 32, stop));
        }
        for round in 0..rounds {
            let (seed, count) = (rng.u64(..), rng.usize(1..60));
            watched.log.lock().unwrap().clear();
            child.run(&format!("changes {seed} {count} {}", if by == WatchBy::Any { "all" } else { "known" }));
            watched.fs.catch_up();
            let case = format!("{by:?}, round {round}");
            if by == WatchBy::Inotify {
                // A link in a directory that is not cached is seen once it is looked up.
                paths.iter().for_each(|path| _ = watched.context.lstat(format!("/{path}")));
            }
            assert_same(dir.path(), &watched, &paths, &case);
            if rng.u32(0..4) == 0 {
                assert_lists(dir.path(), &watched.context, &paths, &case);
                assert_same(dir.path(), &watched, &paths, &case);
            }
        }
    });
}

struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The number of rounds on one tree.
const ON_ONE_TREE: u64 = 10;

fn programs(by: WatchBy) {
    let (rounds, first) = (number("PATHWALK_WATCH_ROUNDS", 30), number("PATHWALK_WATCH_SEED", 1));
    for seed in first..first + rounds.div_ceil(ON_ONE_TREE) {
        println!("{by:?}, seed {seed}");
        program(by, seed, ON_ONE_TREE);
    }
}

#[test]
fn random_changes_are_seen_by_fanotify() {
    programs(WatchBy::Any);
}

#[test]
fn random_changes_are_seen_by_inotify() {
    programs(WatchBy::Inotify);
}
