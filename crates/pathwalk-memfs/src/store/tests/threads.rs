//! Tests with several threads: no node is lost or left over, and no lookup misses a name that is
//! only moved.

use std::sync::Barrier;
use std::thread;

use pathwalk::{Errno, NewKind, RenameFlags};

use super::{key, name, new};
use crate::MemFs;

#[test]
fn one_of_many_makes_a_name() {
    let fs = MemFs::new();
    let (root, barrier) = (key(&fs, "/"), Barrier::new(4));
    let made = |i: u32| fs.0.create(root, name(&i.to_string()), &new(NewKind::Directory)).is_ok() as u32;
    let sum: u32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    (0..200).map(made).sum::<u32>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((sum, fs.stat("/").unwrap().nlink, fs.usage().nodes, fs.usage().held), (200, 202, 201, 0));
}

#[test]
fn a_replaced_name_is_never_absent() {
    let fs = MemFs::new();
    fs.mkdir("a", 0o755).unwrap();
    fs.mkdir("b", 0o755).unwrap();
    fs.file("b/f", 0o644).unwrap();
    let target = key(&fs, "b");
    thread::scope(|scope| {
        let renaming = scope.spawn(|| {
            for _ in 0..2000 {
                fs.file("a/f", 0o644).unwrap();
                fs.rename("a/f", "b/f").unwrap();
            }
        });
        let mut looked = 0;
        while !renaming.is_finished() || looked == 0 {
            assert!(fs.0.lookup(target, name("f")).unwrap().is_some());
            looked += 1;
        }
    });
    assert_eq!((fs.usage().nodes, fs.usage().unlinked), (4, 0));
}

/// Runs all operations concurrently in a small tree. Each step may fail; the tree has to be
/// consistent afterwards.
#[test]
fn a_storm_leaves_a_tree() {
    let fs = MemFs::new();
    let empty_again = |fs: &MemFs| {
        for name in fs.list("/").unwrap() {
            fs.remove(&name).unwrap();
        }
        fs.usage()
    };
    let paths = ["a", "b", "a/x", "b/x", "a/x/y", "b/x/y", "a/b", "b/a"];
    thread::scope(|scope| {
        for seed in 1..=3u64 {
            let fs = &fs;
            scope.spawn(move || {
                let mut state = seed;
                let mut next = |bound: usize| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as usize % bound
                };
                for _ in 0..4000 {
                    let (one, two) = (paths[next(paths.len())], paths[next(paths.len())]);
                    let done = match next(7) {
                        0 => fs.mkdir(one, 0o755),
                        1 => fs.file(one, 0o644),
                        2 => fs.unlink(one),
                        3 => fs.rename(one, two),
                        4 => fs.rename_with(one, two, RenameFlags::EXCHANGE),
                        5 => fs.link(one, two),
                        _ => fs.stat(one).map(drop),
                    };
                    if let Err(error) = done {
                        assert!(!matches!(error.errno(), Errno::EIO | Errno::EMLINK), "{error}");
                    }
                }
            });
        }
    });
    check_links(&fs, b"");
    let usage = empty_again(&fs);
    assert_eq!((usage.nodes, usage.held, usage.unlinked, fs.stat("/").unwrap().nlink), (1, 0, 0, 2));
}

/// Checks that every directory has two links and one for each directory in it, and every file at
/// least one.
fn check_links(fs: &MemFs, dir: &[u8]) {
    let mut directories = 0;
    for name in fs.list(dir).unwrap() {
        let path = [dir, b"/", &name].concat();
        if fs.list(&path).is_ok() {
            directories += 1;
            check_links(fs, &path);
        } else {
            assert!(fs.stat(&path).unwrap().nlink >= 1);
        }
    }
    assert_eq!(fs.stat(dir).unwrap().nlink, 2 + directories, "links of {}", dir.escape_ascii());
}

/// Checks that a lock order does not deadlock: one thread locks a directory and then the one below
/// that it replaces, the other the one below and then the directory.
#[test]
fn replacing_a_directory_and_leaving_it_come_to_an_end() {
    let fs = MemFs::new();
    for path in ["a/x", "a/b"] {
        fs.mkdir_all(path, 0o755).unwrap();
    }
    fs.file("a/f", 0o644).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20_000 {
                // Fails while the file is in the directory.
                if fs.rename("a/x", "a/b").is_ok() {
                    fs.mkdir("a/x", 0o755).unwrap();
                }
            }
        });
        for _ in 0..20_000 {
            // Fails if the directory it found was replaced meanwhile.
            if fs.rename("a/f", "a/b/f").is_ok() {
                fs.rename("a/b/f", "a/f").unwrap();
            }
        }
    });
    assert_eq!((fs.list("a").unwrap().len(), fs.usage().nodes, fs.usage().held), (3, 5, 0));
}
