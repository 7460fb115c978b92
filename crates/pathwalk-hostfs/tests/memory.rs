//! Tests that the file system releases what it holds for a node when the engine evicts the node.

mod common;

use std::fs;
use std::sync::Arc;

use pathwalk::{Credentials, FileSystem, Vfs, internals};
use pathwalk_hostfs::HostFs;

const FILES: usize = 3000;
const NAME: usize = 200;

#[test]
fn nodes_that_the_engine_evicts_are_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..FILES).map(|i| format!("/{i:0NAME$}")).collect();
    names.iter().for_each(|name| fs::write(dir.path().join(&name[1..]), "").unwrap());
    let host = Arc::new(HostFs::open(dir.path()).unwrap());
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
