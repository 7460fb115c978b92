//! Mounts below the root that come, go, move and get other flags.

use std::fs;
use std::path::Path;
use std::time::Instant;

use pathwalk::{Access, Errno};
use pathwalk_hostfs::{HostFs, WatchBy};
use pathwalk_tests::skipped;
use rustix::thread::UnshareFlags;

use crate::common::{apart, attempt};
use crate::compare::assert_same;
use crate::{number, watched};

#[test]
fn mounts_come_and_go() {
    for by in [WatchBy::Any, WatchBy::Inotify] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let body = || {
            attempt("mount", &["--make-rprivate"], Path::new("/"))?;
            attempt("mount", &["-t", "tmpfs", "tmpfs"], root)?;
            ["a/b", "c", "d"].iter().for_each(|path| fs::create_dir_all(root.join(path)).unwrap());
            fs::write(root.join("a/file"), "below").unwrap();
            let watched = watched(HostFs::open(root).unwrap(), by, 16 << 20);
            let paths = ["a", "a/b", "a/file", "a/new", "c", "c/file", "c/new", "c/b", "d", "d/file", "d/new"].map(str::to_owned);
            let changed = |case: &str| {
                watched.fs.catch_up();
                assert_same(root, &watched, &paths, &format!("{case}, {by:?}"));
            };
            changed("at first");
            for round in 0..3 {
                attempt("mount", &["-t", "tmpfs", "tmpfs"], &root.join("a"))?;
                changed("mounted");
                fs::write(root.join("a/new"), "on the mount").unwrap();
                changed("written on the mount");
                fs::write(root.join("a/new"), "more on the mount").unwrap();
                changed("written again");
                attempt("mount", &["--move", root.join("a").to_str().unwrap()], &root.join("d"))?;
                changed("moved");
                fs::remove_file(root.join("d/new")).unwrap();
                changed("removed on the moved mount");
                attempt("umount", &[], &root.join("d"))?;
                changed("unmounted");
                attempt("mount", &["--bind", root.join("a").to_str().unwrap()], &root.join("c"))?;
                changed("bound");
                fs::write(root.join("a/new"), format!("by the other name {round}")).unwrap();
                changed("written through the other name");
                fs::remove_file(root.join("c/new")).unwrap();
                changed("removed through the other name");
                attempt("mount", &["-o", "remount,bind,ro"], &root.join("c"))?;
                watched.fs.catch_up();
                assert_eq!(watched.context.access("/c/file", Access::WRITE), Err(Errno::EROFS));
                attempt("mount", &["-o", "remount,bind,rw"], &root.join("c"))?;
                watched.fs.catch_up();
                assert_eq!(watched.context.access("/c/file", Access::WRITE), Ok(()));
                attempt("umount", &[], &root.join("c"))?;
                changed("no longer bound");
            }
            let stats = watched.fs.watch_stats();
            assert!(stats.mount_changes > 10, "{stats:?}");
            let before = stats.mount_changes;
            attempt("mount", &["-t", "tmpfs", "tmpfs"], Path::new("/mnt"))?;
            watched.fs.catch_up();
            assert_eq!(watched.fs.watch_stats().mount_changes, before, "a mount elsewhere");
            // Without a call, too.
            assert_eq!(watched.context.stat("/d/hidden"), Err(Errno::ENOENT));
            attempt("mount", &["-t", "tmpfs", "tmpfs"], &root.join("d"))?;
            fs::write(root.join("d/hidden"), "").unwrap();
            while watched.context.stat("/d/hidden").is_err() {
                std::thread::yield_now();
            }
            Ok(())
        };
        if let Err(why) = apart(UnshareFlags::NEWNS | UnshareFlags::FS, body) {
            skipped("mounts_come_and_go", &why);
        }
    }
}

/// Prints how long it takes until a mount, or its end, is seen, without a call. No test asserts a
/// time. `PATHWALK_WATCH_MOUNTS=1000` is for so many rounds of both.
#[test]
fn the_time_until_a_mount_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let body = || {
        attempt("mount", &["--make-rprivate"], Path::new("/"))?;
        fs::create_dir(root.join("at")).unwrap();
        fs::write(root.join("at/below"), "").unwrap();
        let watched = watched(HostFs::open(root).unwrap(), WatchBy::Any, 16 << 20);
        let mut times = Vec::new();
        for round in 0..number("PATHWALK_WATCH_MOUNTS", 50) * 2 {
            let is_mounted = round % 2 == 0;
            let is_seen = || watched.context.stat("/at/below").is_err() == is_mounted;
            assert!(!is_seen());
            match is_mounted {
                true => attempt("mount", &["-t", "tmpfs", "tmpfs"], &root.join("at"))?,
                false => attempt("umount", &[], &root.join("at"))?,
            }
            let begin = Instant::now();
            while !is_seen() {
                std::thread::yield_now();
            }
            times.push(begin.elapsed());
        }
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let [half, most] = [0.5, 0.99].map(at);
        println!("{} mounts and unmounts: half are seen within {half:?}, 99 % within {most:?}", times.len());
        Ok(())
    };
    if let Err(why) = apart(UnshareFlags::NEWNS | UnshareFlags::FS, body) {
        skipped("the_time_until_a_mount_is_seen", &why);
    }
}
