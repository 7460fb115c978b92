//! What is lost or cannot be watched: full queues, no watches left, file systems that tell nothing.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use pathwalk::{Credentials, Errno, Vfs};
use pathwalk_hostfs::{Coherence, HostFs, Uncovered, WatchBy, WatchEvent};
use pathwalk_tests::skipped;

use crate::child::Child;
use crate::compare::{assert_lists, assert_same, paths};
use crate::watched;

/// A limit of the kernel that is made small, and restored at the end. One test at a time.
struct Small<'a> {
    file: &'static str,
    before: String,
    _alone: MutexGuard<'a, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Small<'_> {
    fn set(file: &'static str, value: &str) -> Result<Small<'static>, String> {
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        fs::write(file, value).map_err(|error| format!("{file} cannot be set ({error}): run it as root"))?;
        Ok(Small { file, before, _alone: alone })
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        _ = fs::write(self.file, &self.before);
    }
}

/// Changes a tree while the queue is short and the reader is kept from it, and compares.
fn overflows(by: WatchBy, file: &'static str) -> Result<(), String> {
    let small = Small::set(file, "16")?;
    let dir = tempfile::tempdir().unwrap();
    let mut child = Child::start(dir.path());
    let watched = watched(HostFs::open(dir.path()).unwrap(), by, 16 << 20);
    drop(small);
    if by == WatchBy::Any && watched.fs.watch_stats().whole_mounts == 0 {
        return Err("fanotify watches no file system for this process".into());
    }
    let paths = paths();
    for round in 0..30 {
        assert_same(dir.path(), &watched, &paths, "before");
        {
            // The reader waits here at the first event, so the queue fills.
            let _stops = watched.gate.lock().unwrap();
            child.run(&format!("changes {round} 300 {}", if by == WatchBy::Any { "all" } else { "known" }));
        }
        watched.fs.catch_up();
        assert_same(dir.path(), &watched, &paths, &format!("{by:?}, round {round}"));
        assert_lists(dir.path(), &watched.context, &paths, &format!("{by:?}, round {round}"));
    }
    let stats = watched.fs.watch_stats();
    assert!(stats.overflows > 0, "{stats:?}");
    Ok(())
}

#[test]
fn after_an_overflow_of_inotify_all_is_asked_again() {
    if let Err(why) = overflows(WatchBy::Inotify, "/proc/sys/fs/inotify/max_queued_events") {
        skipped("after_an_overflow_of_inotify_all_is_asked_again", &why);
    }
}

#[test]
fn after_an_overflow_of_fanotify_all_is_asked_again() {
    if let Err(why) = overflows(WatchBy::Any, "/proc/sys/fs/fanotify/max_queued_events") {
        skipped("after_an_overflow_of_fanotify_all_is_asked_again", &why);
    }
}

/// Directories beyond the bound are checked at each use; once there is room, they are watched.
#[test]
fn without_a_watch_all_is_checked_and_it_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Child::start(dir.path());
    (0..6).for_each(|i| child.run(&format!("mkdir d{i}/sub")));
    let fs = HostFs::open(dir.path()).unwrap().with_most_watches(4);
    let watched = watched(fs, WatchBy::Inotify, 16 << 20);
    let paths: Vec<String> =
        (0..6).flat_map(|i| [format!("d{i}"), format!("d{i}/sub"), format!("d{i}/file"), format!("d{i}/sub/file")]).collect();
    assert_same(dir.path(), &watched, &paths, "at first");
    let stats = watched.fs.watch_stats();
    assert_eq!((stats.watches, stats.uncovered, stats.why_uncovered), (4, 9, Some(Uncovered::BoundReached)), "{stats:?}");
    // No call: what is not watched is asked for.
    let ends = ["file", "sub/file"];
    for (i, end) in (3..6).flat_map(|i| ends.map(|end| (i, end))) {
        let path = format!("/d{i}/{end}");
        assert_eq!(watched.context.lstat(&path), Err(Errno::ENOENT));
        child.run(&format!("write d{i}/{end} 1"));
        assert_eq!(watched.context.lstat(&path).map(|of| of.size), Ok(1), "{path}");
        child.run(&format!("append d{i}/{end} 2"));
        assert_eq!(watched.context.lstat(&path).map(|of| of.size), Ok(2), "{path}");
        child.run(&format!("chmod d{i}/{end} 600"));
        assert_eq!(watched.context.lstat(&path).map(|of| of.mode), Ok(0o600), "{path}");
        assert!(watched.context.read_dir(format!("/d{i}")).unwrap().count() > 0);
        child.run(&format!("unlink d{i}/{end}"));
        assert_eq!(watched.context.lstat(&path), Err(Errno::ENOENT), "{path}");
    }
    // Removed directories give their watches back.
    ["d0", "d1", "d2"].iter().for_each(|dir| child.run(&format!("rmall {dir}")));
    watched.fs.catch_up();
    while watched.fs.watch_stats().watches < 4 {
        assert_same(dir.path(), &watched, &paths, "while watches come back");
        std::thread::yield_now();
    }
}

/// The kernel's own limit, and that it was raised again.
#[test]
fn the_limit_of_the_kernel_is_reported_and_recovered_from() {
    const FILE: &str = "/proc/sys/fs/inotify/max_user_watches";
    let dir = tempfile::tempdir().unwrap();
    let mut child = Child::start(dir.path());
    child.run("mkdir d/e");
    let small = match Small::set(FILE, "0") {
        Ok(small) => small,
        Err(why) => return skipped("the_limit_of_the_kernel_is_reported_and_recovered_from", &why),
    };
    let watched = watched(HostFs::open(dir.path()).unwrap(), WatchBy::Inotify, 16 << 20);
    assert_eq!(watched.context.stat("/d/e/new"), Err(Errno::ENOENT));
    let stats = watched.fs.watch_stats();
    assert_eq!((stats.watches, stats.uncovered, stats.why_uncovered), (0, 3, Some(Uncovered::NoWatchLeft)));
    assert!(Uncovered::NoWatchLeft.to_string().contains("max_user_watches"));
    child.run("write d/e/new 1");
    assert_eq!(watched.context.stat("/d/e/new").map(|of| of.size), Ok(1), "it was asked for");
    drop(small);
    let log = || format!("{:?}", watched.log.lock().unwrap());
    assert!(log().contains("Uncovered(\"d/e\", NoWatchLeft)"), "{}", log());
    // A watch is counted before its event is given.
    while watched.fs.watch_stats().uncovered > 0 || !log().contains(" Covered(\"d/e\")") {
        std::thread::yield_now();
    }
    // From now on events come, and nothing is asked without one.
    while watched.context.cached().stat("/d/e/new").is_err() {
        watched.context.stat("/d/e/new").unwrap();
    }
    child.run("append d/e/new 2");
    watched.fs.catch_up();
    assert_eq!(watched.context.stat("/d/e/new").map(|of| of.size), Ok(2));
}

/// `/proc` changes without an event.
#[test]
fn a_file_system_that_tells_nothing_is_checked() {
    let fs = HostFs::open(Path::new("/proc")).unwrap().with_coherence(Coherence::Watch);
    let fs = std::sync::Arc::new(fs);
    let context = Vfs::builder().build(std::sync::Arc::clone(&fs)).unwrap().context(Credentials::root());
    let mut process = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let path = format!("/{}/stat", process.id());
    assert!(context.stat(&path).is_ok());
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(context.stat(&path), Err(Errno::ENOENT));
    let stats = fs.watch_stats();
    assert_eq!((stats.uncovered_mounts, stats.why_uncovered), (1, Some(Uncovered::FileSystem)));
}

/// A root that is removed, moved or replaced: answers are those of the directory that was opened.
#[test]
fn the_root_is_the_directory_that_was_opened() {
    for by in [WatchBy::Any, WatchBy::Inotify] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Child::start(dir.path());
        ["mkdir root/d", "write root/file 1"].into_iter().for_each(|command| child.run(command));
        let watched = watched(HostFs::open(&dir.path().join("root")).unwrap(), by, 16 << 20);
        let of = |path: &str| watched.context.stat(path).map(|of| of.size);
        assert_eq!((of("/file"), of("/other")), (Ok(1), Err(Errno::ENOENT)));
        ["rename root before", "mkdir root", "write root/file 22", "write before/other 333"]
            .into_iter()
            .for_each(|command| child.run(command));
        watched.fs.catch_up();
        assert_eq!((of("/file"), of("/other")), (Ok(1), Ok(3)), "by {by:?}");
        ["rmall before"].into_iter().for_each(|command| child.run(command));
        watched.fs.catch_up();
        assert_eq!((of("/file"), of("/other"), of("/d")), (Err(Errno::ENOENT), Err(Errno::ENOENT), Err(Errno::ENOENT)));
        assert_eq!(watched.context.stat("/").unwrap().nlink, 0);
        assert!(watched.log.lock().unwrap().contains(&WatchEvent::RootGone));
    }
}

/// The thread ends with the tree.
#[test]
fn the_thread_ends_with_the_tree() {
    let threads = || {
        let names = fs::read_dir("/proc/self/task").unwrap().flatten();
        names
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
            .filter(|name| name == "pathwalk-watch\n")
            .count()
    };
    // Other tests have such threads, too.
    let dir = tempfile::tempdir().unwrap();
    let many: Vec<_> = (0..50).map(|_| watched(HostFs::open(dir.path()).unwrap(), WatchBy::Inotify, 1 << 20)).collect();
    // A thread gets its name when it begins to run.
    while threads() < 50 {
        std::thread::yield_now();
    }
    drop(many);
    while threads() >= 50 {
        std::thread::yield_now();
    }
}

/// An observer that panics ends the thread; after that all is checked.
#[test]
fn without_its_thread_all_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Child::start(dir.path());
    let fs = HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Watch).on_watch_event(|_| panic!("an observer"));
    let fs = std::sync::Arc::new(fs);
    let context = Vfs::builder().build(std::sync::Arc::clone(&fs)).unwrap().context(Credentials::root());
    assert_eq!(context.stat("/a"), Err(Errno::ENOENT));
    child.run("write a 1");
    while context.stat("/a").is_err() {
        std::thread::yield_now();
    }
    while context.cached().stat("/a").is_ok() {
        std::thread::yield_now();
        _ = context.stat("/a");
    }
    for i in 2..9 {
        child.run("append a x");
        assert_eq!(context.stat("/a").map(|of| of.size), Ok(i));
    }
}
