//! Tests that the file system releases what it holds for a node when the engine evicts the node.

mod common;

use std::fs;
use std::sync::Arc;

use pathwalk::{Credentials, FileSystem, Vfs, internals};
use pathwalk_hostfs::{Coherence, HostFs, WatchBy};

/// The number of files whose bytes are counted: one more than a power of two, where the index has
/// just grown.
const COUNTED: usize = (1 << 14) + 1;

/// The most bytes that a cached file may take in all, and those of the engine, which it asserts
/// when it is compiled.
const MOST: u64 = 320;
const OF_ENGINE: u64 = 256;

const FILES: usize = 3000;
const NAME: usize = 200;

#[test]
fn nodes_that_the_engine_evicts_are_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..FILES).map(|i| format!("/{i:0NAME$}")).collect();
    names.iter().for_each(|name| fs::write(dir.path().join(&name[1..]), "").unwrap());
    let host = Arc::new(HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Frozen));
    let vfs = Vfs::builder().budget(1 << 20).build(Arc::clone(&host)).unwrap();
    let context = vfs.context(Credentials::root());
    let before = host.memory();
    // The same names come twice, so that nodes are evicted and loaded again.
    for name in names.iter().chain(&names) {
        context.stat(name).unwrap();
    }
    assert_eq!(vfs.stats().file_system, host.memory());
    let held = vfs.stats().inodes.used;
    assert!(held < FILES as u64, "the budget is too small for all of them");
    let grown = host.memory() - before;
    assert!(grown >= held.saturating_sub(2) * NAME as u64, "{held} nodes, {grown} bytes");
    while internals::evict(&vfs, FILES) > 0 {}
    let left = host.memory() - before;
    // Slots and index are kept for later use. The names have been freed.
    assert!(left <= grown - held.saturating_sub(2) * NAME as u64, "{held} nodes, {grown} bytes, then {left}");
}

/// Counts the bytes for each file that was looked up alone, where changes are carried out and where
/// they are not.
#[test]
fn a_cached_file_takes_little() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..COUNTED).map(|i| format!("/d{}/file-{i}.rs", i % 16)).collect();
    (0..16).for_each(|i| fs::create_dir(dir.path().join(format!("d{i}"))).unwrap());
    names.iter().for_each(|name| drop(fs::File::create(dir.path().join(&name[1..])).unwrap()));
    let modes = [
        ("writable", HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive)),
        ("frozen", HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Frozen)),
        ("watched", HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Watch)),
        (
            "watched by inotify",
            HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Watch).with_watch_by(WatchBy::Inotify),
        ),
        ("watched and writable", HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Watch)),
        ("strict", HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Strict)),
    ];
    for (mode, fs) in modes {
        let host = Arc::new(fs);
        let vfs = Vfs::builder().budget(16 << 20).one_by_one().build(Arc::clone(&host)).unwrap();
        let context = vfs.context(Credentials::root());
        let before = host.memory();
        names.iter().for_each(|name| _ = context.stat(name).unwrap());
        assert!(vfs.stats().inodes.used > COUNTED as u64, "all are cached");
        let each = (host.memory() - before).div_ceil(COUNTED as u64);
        println!("{mode}: {each} bytes a file, and at most {} with the engine's", each + OF_ENGINE);
        assert!(each + OF_ENGINE <= MOST);
    }
}
