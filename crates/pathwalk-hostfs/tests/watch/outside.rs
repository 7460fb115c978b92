//! Watches are on what is in the root, and on nothing else.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

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
