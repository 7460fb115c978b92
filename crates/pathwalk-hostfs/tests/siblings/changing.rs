//! Tests that files which do not change are reported correctly while their directory changes on the
//! host.
//!
//! A file that changes may be reported as it was at any moment of the change, or as absent: a tree
//! is meant to be frozen.

use std::fs;
use std::os::unix::fs::{DirEntryExt, symlink};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use pathwalk::{Errno, FileType};

use crate::common::{assert_same, host, root_and_outside, walk};
use crate::{SOME, ask_for_some, given, lookups, make_some, walk_after};

#[test]
fn what_is_there_when_it_is_listed_is_told() {
    let (_dir, root, _) = root_and_outside();
    let dir = root.join("d");
    make_some(&dir);
    ["gone", "to directory", "to link", "stays"].iter().for_each(|name| fs::write(dir.join(name), "").unwrap());
    let context = {
        let dir = dir.clone();
        walk_after(&root, move || {
            ["one", "gone", "to directory", "to link"].iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
            fs::create_dir(dir.join("to directory")).unwrap();
            symlink("stays", dir.join("to link")).unwrap();
            fs::write(dir.join("new"), "new").unwrap();
        })
    };
    ask_for_some(&context, "/d");
    assert_eq!(given(&context), 2, "stays, new");
    for name in ["stays", "new", "to directory", "to link"] {
        assert_same(&dir.join(name), &context.lstat(format!("/d/{name}")).unwrap());
    }
    assert_eq!(context.stat("/d/gone"), Err(Errno::ENOENT));
    // What was cached before stays cached, because changes are not reported.
    assert_eq!(lookups(&context, || context.stat("/d/one").is_ok()), (true, 0));
}

/// Repeats all changes that a name may undergo: `file`, and the directory `spare`, get the name and
/// lose it again. Existing nodes are used, because making new ones would take longer.
fn change(dir: &Path, file: &Path, spare: &Path, done: &AtomicBool) {
    let names: Vec<_> = (0..8).map(|i| dir.join(format!("t{i}"))).collect();
    while !done.load(Ordering::Relaxed) {
        for path in &names {
            fs::hard_link(file, path).unwrap();
            fs::remove_file(path).unwrap();
            fs::rename(spare, path).unwrap();
            fs::rename(path, spare).unwrap();
            fs::hard_link(file, path).unwrap();
            fs::rename(path, dir.join("moved")).unwrap();
            fs::remove_file(dir.join("moved")).unwrap();
            symlink("one", path).unwrap();
            fs::remove_file(path).unwrap();
        }
    }
}

/// Makes a file that is looked at after all files in a directory, so that it may change before it
/// is looked at.
fn last_of_all(root: &Path, dir: &Path) -> PathBuf {
    let last = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().ino()).max().unwrap();
    let make = |i| {
        let path = root.join(format!("candidate{i}"));
        fs::write(&path, "").unwrap();
        path
    };
    let mut candidates = (0..1000).map(make);
    let first = candidates.next().unwrap();
    // Some file systems give no such inode number. The file then mostly changes too early.
    candidates.find(|path| host(path).stx_ino > last).unwrap_or(first)
}

#[test]
fn what_does_not_change_is_told_while_the_rest_does() {
    let (_dir, root, _) = root_and_outside();
    let dir = root.join("d");
    make_some(&dir);
    let stable: Vec<String> = (0..36).map(|i| format!("stable{i}")).collect();
    stable.iter().for_each(|name| fs::write(dir.join(name), name).unwrap());
    let (file, spare) = (last_of_all(&root, &dir), root.join("spare"));
    fs::create_dir(&spare).unwrap();
    let done = AtomicBool::new(false);
    let given: Vec<u64> = std::thread::scope(|scope| {
        scope.spawn(|| change(&dir, &file, &spare, &done));
        let told = catch_unwind(|| (0..200).map(|_| look(&root, &dir, &stable)).collect());
        done.store(true, Ordering::Relaxed);
        told.unwrap()
    });
    assert!(given.iter().all(|given| *given >= stable.len() as u64), "{given:?}");
}

/// Looks at all files once. Returns the number of files that were handed out unasked.
fn look(root: &Path, dir: &Path, stable: &[String]) -> u64 {
    let context = walk(root);
    ask_for_some(&context, "/d");
    let (_, asked) = lookups(&context, || {
        for name in stable.iter().map(String::as_str).chain(SOME) {
            assert_same(&dir.join(name), &context.stat(format!("/d/{name}")).unwrap());
        }
    });
    assert_eq!(asked, 0);
    for i in 0..8 {
        let kind = context.lstat(format!("/d/t{i}")).map(|attributes| attributes.kind);
        let may_be = matches!(kind, Ok(FileType::Regular | FileType::Directory | FileType::Symlink) | Err(Errno::ENOENT));
        assert!(may_be, "t{i}: {kind:?}");
    }
    given(&context)
}
