//! Tests that each node that was handed out unasked is forgotten once, so that the file system
//! releases what it holds for it.

use std::fs;
use std::sync::Arc;

use pathwalk::{Context, Credentials, FileSystem, Vfs, internals};
use pathwalk_hostfs::{Coherence, HostFs};

use crate::{SOME, ask_for_some, given, make_some};

/// The number of files of a directory besides those that are looked up first. Each has two names.
const FILES: usize = 20;
/// The length of a name in bytes. Such names are held on the heap.
const NAME: usize = 60;

fn name(dir: usize, file: usize) -> String {
    format!("/d{dir}/{file:0NAME$}")
}

/// Makes the given number of directories, and a file system on them below an engine with this
/// budget.
fn build(dirs: usize, budget: u64) -> (tempfile::TempDir, Arc<HostFs>, Context) {
    let root = tempfile::tempdir().unwrap();
    let at = |path: String| root.path().join(&path[1..]);
    for dir in 0..dirs {
        fs::create_dir(at(format!("/d{dir}"))).unwrap();
        make_some(&at(format!("/d{dir}")));
        for file in 0..FILES {
            fs::write(at(name(dir, file)), "").unwrap();
            fs::hard_link(at(name(dir, file)), at(name(dir, FILES + file))).unwrap();
        }
    }
    let host = Arc::new(HostFs::open(root.path()).unwrap().with_coherence(Coherence::Frozen));
    let context = Vfs::builder().budget(budget).build(Arc::clone(&host)).unwrap().context(Credentials::root());
    (root, host, context)
}

fn evict_all(context: &Context) {
    while internals::evict(context.vfs(), 1000) > 0 {}
}

/// Looks up every name of a directory.
fn ask_for_all(context: &Context, dir: usize) {
    ask_for_some(context, &format!("/d{dir}"));
    for file in 0..2 * FILES {
        context.stat(name(dir, file)).unwrap();
    }
}

#[test]
fn what_was_given_and_is_evicted_is_given_back() {
    let (_root, host, context) = build(1, 4 << 20);
    let empty = host.memory();
    let mut left = Vec::new();
    for round in 0..4 {
        let before = (given(&context), host.memory());
        ask_for_all(&context, 0);
        let given = given(&context) - before.0;
        assert!(given >= FILES as u64 && (round > 0 || given == 2 * FILES as u64), "{given} in round {round}");
        if round == 0 {
            assert!(host.memory() >= before.1 + (FILES * NAME) as u64, "one name of each file is held");
        }
        let handle = context.lookup(name(0, 7)).unwrap();
        context.vfs().invalidate_subtree(context.root()).unwrap();
        evict_all(&context);
        // A node with an open handle remains held.
        assert!(context.vfs().refresh(&handle).is_ok());
        drop(handle);
        evict_all(&context);
        assert_eq!(context.vfs().stats().inodes.used, 1, "the root");
        left.push(host.memory());
    }
    // Slots and index are kept for later use. They take less memory than the names took, and do not
    // grow.
    assert!(left[0] < empty + (FILES * NAME) as u64, "{empty}, {left:?}");
    assert!(left.windows(2).all(|two| two[0] == two[1]), "{left:?}");
}

#[test]
fn in_a_small_cache_all_that_goes_is_given_back() {
    const DIRS: usize = 60;
    let (_root, host, context) = build(DIRS, 1 << 20);
    let empty = host.memory();
    let mut left = Vec::new();
    for _ in 0..3 {
        (0..DIRS).for_each(|dir| ask_for_all(&context, dir));
        let stats = context.vfs().stats();
        assert!(stats.evictions > 0 && stats.siblings > 0, "{stats:?}");
        let all = DIRS * (1 + SOME.len() + FILES);
        assert!(stats.inodes.used < all as u64, "the budget is too small for all of them: {stats:?}");
        // An entry with its name and its share of the index takes less than twice its name.
        let held = host.memory() - empty;
        assert!(held <= stats.inodes.used * (2 * NAME) as u64, "{held} bytes: {stats:?}");
        evict_all(&context);
        assert_eq!(context.vfs().stats().inodes.used, 1, "the root");
        left.push(host.memory());
    }
    // One round may take a few slots more than another, for which the index may double once. The
    // names of one round take more than that.
    assert!(left[2] < 2 * left[0] + (16 * NAME) as u64, "{left:?}");
    assert!(left[2] < (2 * DIRS * FILES * NAME) as u64, "{left:?}");
}

#[test]
fn what_several_threads_are_given_at_once_is_given_back() {
    const DIRS: usize = 8;
    let (_root, host, context) = build(DIRS, 16 << 20);
    let empty = host.memory();
    let mut left = Vec::new();
    for _ in 0..4 {
        std::thread::scope(|scope| {
            for first in 0..4 {
                let context = &context;
                // Two threads each work in the same directory, and meet.
                scope.spawn(move || (0..DIRS).for_each(|dir| ask_for_all(context, (dir + first / 2) % DIRS)));
            }
        });
        assert!(given(&context) > 0);
        evict_all(&context);
        assert_eq!(context.vfs().stats().inodes.used, 1, "the root");
        left.push(host.memory());
    }
    // Slots and index are kept for later use. They take less memory than the names took, and hardly
    // grow.
    assert!(left[0] < empty + (DIRS * FILES * NAME) as u64 / 2, "{empty}, {left:?}");
    assert!(left[3] < left[0] + (32 * NAME) as u64, "{left:?}");
}
