//! A directory that is not at its place any more when it is asked for as a whole gives nothing.
//!
//! What is not promised, and not tested: that a directory which is moved out of the root and back between the two looks at its place gives
//! nothing of what it had meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathwalk::{Credentials, Errno, Vfs};
use pathwalk_hostfs::HostFs;
use pathwalk_tests::skipped;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::{host, root_and_outside, walk};
use crate::{SOME, ask_for_some, given, lookups, make_some, walk_after};

type Happening = fn(&Path, &Path);

/// What may become of `root/up/d` while nobody looks, `outside` being beside the root.
const HAPPENINGS: [(&str, Happening); 9] = [
    ("moved out", |root, outside| rename(&root.join("up/d"), &outside.join("d"))),
    ("moved out with what it is in", |root, outside| rename(&root.join("up"), &outside.join("up"))),
    ("moved to another name", |root, _| rename(&root.join("up/d"), &root.join("up/e"))),
    ("moved to another directory", |root, _| rename(&root.join("up/d"), &root.join("d/e"))),
    ("exchanged", |root, outside| {
        rename(&root.join("up/d"), &outside.join("d"));
        rename(&outside.join("other"), &root.join("up/d"));
    }),
    ("removed", |root, _| fs::remove_dir_all(root.join("up/d")).unwrap()),
    ("replaced by a link out", |root, outside| {
        rename(&root.join("up/d"), &outside.join("d"));
        symlink("../../outside/d", root.join("up/d")).unwrap();
    }),
    ("below a link out", |root, outside| {
        rename(&root.join("up"), &outside.join("up"));
        symlink("../outside/up", root.join("up")).unwrap();
    }),
    ("replaced by a file", |root, outside| {
        rename(&root.join("up/d"), &outside.join("d"));
        fs::write(root.join("up/d"), "").unwrap();
    }),
];

fn rename(from: &Path, to: &Path) {
    fs::rename(from, to).unwrap();
}

#[test]
fn what_is_not_at_its_place_gives_nothing() {
    for (what, happens) in HAPPENINGS {
        let (_dir, root, outside) = root_and_outside();
        for dir in [&root.join("up/d"), &outside.join("other")] {
            fs::create_dir_all(dir).unwrap();
            make_some(dir);
            fs::write(dir.join("five"), dir.to_str().unwrap()).unwrap();
        }
        let context = {
            let root = root.clone();
            walk_after(&root.clone(), move || happens(&root, &outside))
        };
        ask_for_some(&context, "/up/d");
        assert_eq!(given(&context), 0, "{what}");
        let (found, asked) = lookups(&context, || context.stat("/up/d/five"));
        assert!(asked >= 1, "{what}: nothing is known of another name");
        // A directory of the same name is looked into by name, as ever.
        match what {
            "exchanged" => assert_eq!(found.unwrap().ino, host(&root.join("up/d/five")).stx_ino),
            "replaced by a file" => assert_eq!(found, Err(Errno::ENOTDIR)),
            _ => assert!(matches!(found, Err(Errno::ENOENT | Errno::ESTALE)), "{what}: {found:?}"),
        }
        assert_eq!(context.vfs().stats().known_absent, 0, "{what}");
    }
}

/// Names besides those that are asked for.
const OTHERS: usize = 120;
/// The size of files that were changed outside of the root.
const MARKED: u64 = 77_777;

/// Once: a directory is moved out, for good, just while it is asked for, and its files are changed there at once. How many were given before.
fn race(root: &Path, outside: &Path, wait: Duration) -> u64 {
    let (inside, out) = (root.join("d"), outside.join("d"));
    fs::create_dir(&inside).unwrap();
    make_some(&inside);
    let names: Vec<String> = (0..OTHERS).map(|i| format!("f{i}")).collect();
    // Open, so that a size is set by one call. The last is the likeliest to be looked at after it was changed.
    let files: Vec<_> = names.iter().map(|name| fs::File::create(inside.join(name)).unwrap()).collect();
    let context = Vfs::builder().budget(1 << 20).build(HostFs::open(root).unwrap()).unwrap().context(Credentials::root());
    for name in &SOME[..SOME.len() - 1] {
        context.stat(&format!("/d/{name}")).unwrap();
    }
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            let since = Instant::now();
            while since.elapsed() < wait {}
            fs::rename(&inside, &out).unwrap();
            files.iter().rev().for_each(|file| file.set_len(MARKED).unwrap());
        });
        start.wait();
        _ = context.stat(&format!("/d/{}", SOME[SOME.len() - 1]));
    });
    for name in &names {
        let size = context.stat(&format!("/d/{name}")).map(|attributes| attributes.size);
        assert!(matches!(size, Ok(0) | Err(Errno::ENOENT | Errno::ESTALE)), "{name}: {size:?} after {wait:?}");
    }
    fs::remove_dir_all(out).unwrap();
    given(&context)
}

#[test]
fn nothing_is_told_of_files_as_they_became_outside() {
    let (_dir, root, outside) = root_and_outside();
    fs::remove_dir_all(root.join("d")).unwrap();
    // As long as it takes here, and somewhat longer: so the directory goes at every moment of it.
    let longest = Duration::from_micros(1500);
    let rounds = 120;
    let given: Vec<u64> = (0..rounds).map(|i| race(&root, &outside, longest * i / rounds)).collect();
    assert!(given.iter().all(|given| matches!(given, 0 | 120)), "all or nothing: {given:?}");
}

/// Asks for a directory as a whole while it may be another: how many were given, each of them of the one that was meant.
fn look_into(root: &Path, number: u64, size: u64) -> u64 {
    let context = walk(root);
    // Whichever it is, it is that directory from now on.
    let size = if context.stat("/d").unwrap().ino == number { size } else { 0 };
    ask_for_some(&context, "/d");
    for i in 0..20 {
        let (told, asked) = lookups(&context, || context.stat(&format!("/d/f{i}")));
        assert!(
            asked > 0 || told.as_ref().unwrap().size == size,
            "f{i}: {told:?}, not of the directory with files of {size} bytes"
        );
    }
    given(&context)
}

#[test]
fn nothing_of_another_directory_is_given_while_two_change_places() {
    let (_dir, root, _) = root_and_outside();
    let (here, there) = (root.join("d"), root.join("e"));
    fs::create_dir(&there).unwrap();
    let number = host(&here).stx_ino;
    for (dir, size) in [(&here, 1000), (&there, 0)] {
        make_some(dir);
        (0..20).for_each(|i| fs::write(dir.join(format!("f{i}")), vec![1; size]).unwrap());
    }
    let exchange = || renameat_with(CWD, &here, CWD, &there, RenameFlags::EXCHANGE);
    if let Err(errno) = exchange() {
        let why = format!("the file system of {} cannot exchange two names ({errno})", root.display());
        return skipped("nothing_of_another_directory_is_given_while_two_change_places", &why);
    }
    let done = AtomicBool::new(false);
    let given: Vec<u64> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                exchange().unwrap();
            }
        });
        let looked = catch_unwind(|| (0..200).map(|_| look_into(&root, number, 1000)).collect());
        done.store(true, Ordering::Relaxed);
        looked.unwrap()
    });
    assert!(given.iter().any(|given| *given > 0), "{given:?}");
}
