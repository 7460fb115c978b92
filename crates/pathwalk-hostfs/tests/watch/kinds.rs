//! Each kind of change alone.

use crate::compare::assert_same;
use crate::{by_both, watched};
use pathwalk::{AtFlags, Errno, OpenFlags};
use pathwalk_hostfs::{HostFs, WatchBy};

/// Asks for all paths, has the other process change something, and compares.
#[test]
fn each_kind_of_change_is_seen() {
    by_both("each_kind_of_change_is_seen", |root, watched, child| {
        ["mkdir d/e/f", "mkdir x", "write d/file 1", "write d/e/f/deep 1", "symlink file d/link"]
            .into_iter()
            .for_each(|command| child.run(command));
        let paths = [
            "d",
            "d/e",
            "d/e/f",
            "d/e/f/deep",
            "d/file",
            "d/link",
            "d/new",
            "d/dir",
            "d/other",
            "x",
            "x/file",
            "x/e",
            "x/e/f/deep",
            "x/e/f/new",
            "d/two",
            "x/two",
        ]
        .map(str::to_owned);
        let commands = [
            "write d/new 123",
            "append d/file more",
            "truncate d/file 1",
            "chmod d/file 600",
            "chmod d 700",
            "chown d/file 5",
            "utime d/file 77",
            "xattr d/file v",
            "rename d/new d/other",
            "rename d/other d/file",
            "mkdir d/dir",
            "rmdir d/dir",
            "unlink d/link",
            "symlink e/f d/link",
            "write d/link/new 1",
            "unlink d/link/new",
            "link d/file d/two",
            "append d/two text",
            "chmod d/two 640",
            "rename d/two x/two",
            "append x/two text",
            "unlink x/two",
            "chmod d/file 644",
            "rename d/e x/e",
            "write x/e/f/new 1",
            "append x/e/f/deep 22",
            "rename x/e d/e",
            "exchange d/e x",
            "exchange d/e x",
            "rename d/e/f x/file",
            "unlink x/file/deep",
            "rmall x/file",
            "rename d/e x/e",
            "rmall x",
            "mkdir x",
        ];
        for command in commands {
            assert_same(root, watched, &paths, "before");
            child.run(command);
            watched.fs.catch_up();
            assert_same(root, watched, &paths, command);
        }
        let stats = watched.fs.watch_stats();
        assert!(stats.events > 0 && stats.overflows == 0 && stats.uncovered == 0, "{stats:?}");
    });
}

/// What is cached costs no question: the watch does not make the caches ask.
#[test]
fn nothing_is_asked_again_while_nothing_changes() {
    by_both("nothing_is_asked_again_while_nothing_changes", |_, watched, child| {
        ["mkdir d/e", "write d/e/file 1"].into_iter().for_each(|command| child.run(command));
        watched.context.stat("/d/e/file").unwrap();
        assert_eq!(watched.context.stat("/d/e/none"), Err(Errno::ENOENT));
        watched.fs.catch_up();
        watched.context.stat("/d/e/file").unwrap();
        assert_eq!(watched.context.stat("/d/e/none"), Err(Errno::ENOENT));
        let before = watched.context.vfs().stats().fs_lookups;
        for _ in 0..10 {
            watched.fs.catch_up();
            assert!(watched.context.cached().stat("/d/e/file").is_ok());
            assert_eq!(watched.context.cached().stat("/d/e/none"), Err(Errno::ENOENT));
        }
        assert_eq!(watched.context.vfs().stats().fs_lookups, before);
    });
}

/// Without a call, too: the thread handles events as they come.
#[test]
fn changes_are_seen_without_a_call() {
    by_both("changes_are_seen_without_a_call", |_, watched, child| {
        child.run("mkdir d");
        for i in 0..20 {
            let (path, command) = (format!("/d/{i}"), format!("write d/{i} x"));
            assert_eq!(watched.context.stat(&path), Err(Errno::ENOENT));
            child.run(&command);
            while watched.context.stat(&path) == Err(Errno::ENOENT) {
                std::thread::yield_now();
            }
        }
    });
}

/// A file that is open, and whose directory another process moves, is found again.
#[test]
fn what_was_moved_by_others_is_found_by_its_handle() {
    for by in [WatchBy::Any, WatchBy::Inotify] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = crate::child::Child::start(dir.path());
        ["mkdir a/b", "mkdir c", "write a/b/file 1", "write a/b/other 1"].into_iter().for_each(|command| child.run(command));
        let watched = watched(HostFs::open_writable(dir.path()).unwrap(), by, 16 << 20);
        watched.context.stat("/c").unwrap();
        let file = watched.context.open("/a/b/file", OpenFlags::WRITE).unwrap();
        let node = watched.context.lookup("/a/b/other").unwrap();
        let refreshed = || watched.context.vfs().refresh(&node).map(|of| of.size);
        child.run("rename a/b c/b");
        watched.fs.catch_up();
        assert_eq!(refreshed(), Ok(1));
        file.write_at(b"later", 0).unwrap();
        assert_eq!(file.metadata().unwrap().size, 5);
        child.run("rename c/b/file c/file");
        watched.fs.catch_up();
        child.run("rename c/b/other c/other");
        watched.fs.catch_up();
        assert_eq!(refreshed(), Ok(1));
        assert_eq!(file.metadata().unwrap().size, 5);
        watched.context.rename("/c/file", "/a/again").unwrap();
        watched.fs.catch_up();
        assert_eq!(file.metadata().unwrap().size, 5);
        assert_eq!(std::fs::read(dir.path().join("a/again")).unwrap(), b"later");
    }
}

/// While its events are not handled, a directory that another process has moved is not taken for
/// one in which nothing is: an absence would be remembered for good.
#[test]
fn a_directory_that_was_moved_is_not_empty() {
    by_both("a_directory_that_was_moved_is_not_empty", |_, watched, child| {
        ["mkdir a/x", "mkdir b", "write a/x/file 1"].into_iter().for_each(|command| child.run(command));
        let x = watched.context.lookup("/a/x").unwrap();
        watched.context.stat("/b").unwrap();
        {
            // The reader waits here at the first event.
            let _stops = watched.gate.lock().unwrap();
            ["write other 1", "rename a/x b/x"].into_iter().for_each(|command| child.run(command));
            assert!(watched.context.lookup_at(&x, "file", AtFlags::empty()).is_err(), "its place is not known");
        }
        watched.fs.catch_up();
        assert_eq!(watched.context.stat("/b/x/file").map(|of| of.size), Ok(1));
    });
}
