//! Mounts below the root that come, go, move and get other flags.

use std::fs;
use std::path::Path;

use pathwalk::{Access, Errno};
use pathwalk_hostfs::{HostFs, WatchBy};
use pathwalk_tests::skipped;
use rustix::thread::UnshareFlags;

use crate::common::{apart, attempt};
use crate::compare::assert_same;
use crate::watched;

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
