//! Watches are on what is in the root, and on nothing else.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use pathwalk::Errno;
use pathwalk_hostfs::{HostFs, WatchBy};

use crate::watched;

/// Returns the inode numbers of all inotify watches of this process.
fn watches() -> HashSet<u64> {
    let infos = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let texts = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
    let of_line = |line: &str| {
        u64::from_str_radix(line.strip_prefix("inotify ")?.split(' ').find_map(|word| word.strip_prefix("ino:"))?, 16).ok()
    };
    texts.flat_map(|text| text.lines().filter_map(of_line).collect::<Vec<_>>()).collect()
}

fn ino(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn nothing_outside_the_root_is_watched() {
    let dir = tempfile::tempdir().unwrap();
    let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
    fs::create_dir_all(root.join("d/e")).unwrap();
    fs::create_dir_all(outside.join("f")).unwrap();
    fs::write(outside.join("secret"), "").unwrap();
    fs::hard_link(outside.join("secret"), outside.join("second")).unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    symlink("../../outside", root.join("d/relative")).unwrap();
    let watched = watched(HostFs::open(&root).unwrap(), WatchBy::Inotify, 16 << 20);
    let ask = || {
        let paths =
            ["/d/e", "/d", "/absolute/f", "/d/relative/f", "/absolute/second", "/d/../../outside/f", "/moved/f", "/moved/second"];
        paths.iter().for_each(|path| _ = watched.context.stat(path));
    };
    ask();
    assert_eq!(watched.context.stat("/absolute/f"), Err(Errno::ENOENT));
    let all_outside = || [&outside, &outside.join("f"), &outside.join("second"), &dir.path().to_owned()].map(|path| ino(path));
    assert!(watches().contains(&ino(&root.join("d/e"))), "each directory is");
    assert!(all_outside().iter().all(|outside| !watches().contains(outside)));
    // What is moved in is watched, and what is moved out is not once that was seen.
    fs::rename(&outside, root.join("moved")).unwrap();
    watched.fs.catch_up();
    ask();
    assert!(watches().contains(&ino(&root.join("moved/f"))) && watches().contains(&ino(&root.join("moved/second"))));
    fs::rename(root.join("moved"), &outside).unwrap();
    watched.fs.catch_up();
    ask();
    assert_eq!(watched.context.stat("/moved"), Err(Errno::ENOENT));
    while pathwalk::internals::evict(watched.context.vfs(), 100) > 0 {}
    assert!(all_outside().iter().all(|outside| !watches().contains(outside)));
}

/// Another part of the file system that changes without pause takes nothing from what a subscriber
/// knows of the tree. Events about nodes that are not in the table are dropped; that such an event
/// may have been about a node which was just looked up must not become a change of anything.
#[test]
fn a_busy_neighbour_is_no_change_of_the_tree() {
    const NAMES: usize = 1_000;
    let (dir, neighbour) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = |i: usize| format!("name-{i}");
    (0..NAMES).for_each(|i| fs::create_dir(dir.path().join(name(i))).unwrap());
    let watched = watched(HostFs::open(dir.path()).unwrap(), WatchBy::Any, 16 << 20);
    if watched.fs.watch_stats().whole_mounts == 0 {
        return pathwalk_tests::skipped("a busy neighbour", "fanotify watches no file system for this process");
    }
    let events = watched.context.vfs().subscribe(watched.context.root(), 100_000).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let busy = neighbour.path().join("busy");
            while !stop.load(Ordering::Relaxed) {
                fs::write(&busy, "x").unwrap();
                fs::remove_file(&busy).unwrap();
            }
        });
        (0..NAMES).for_each(|i| _ = watched.context.stat(name(i)).unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    let changes: Vec<_> = std::iter::from_fn(|| events.try_next()).collect();
    assert!(changes.is_empty(), "{changes:?}");
}
