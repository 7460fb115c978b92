//! Tests that a directory which is no longer at its place when it is read as a whole gives nothing.
//!
//! There is no promise, and no test, about a directory that is moved out of the root and back
//! between the two checks of its place: it may give what it had meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pathwalk::{Credentials, Errno, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::{host, root_and_outside, walk};
use crate::{SOME, ask_for_some, given, lookups, make_some, walk_after};

type Happening = fn(&Path, &Path);

/// The changes that may happen to `root/up/d` unobserved. `outside` is beside the root.
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
        // A new directory of the same name is looked up by name, as usual.
        match what {
            "exchanged" => assert_eq!(found.unwrap().ino, host(&root.join("up/d/five")).stx_ino),
            "replaced by a file" => assert_eq!(found, Err(Errno::ENOTDIR)),
            _ => assert!(matches!(found, Err(Errno::ENOENT | Errno::ESTALE)), "{what}: {found:?}"),
        }
        assert_eq!(context.vfs().stats().known_absent, 0, "{what}");
    }
}

/// The number of names besides those that are looked up first.
const OTHERS: usize = 120;
/// The size of files that were changed outside of the root.
const MARKED: u64 = 77_777;

/// Moves a directory out of the root, for good, while it is read as a whole, and changes its files
/// there at once. Returns the number of files that were handed out unasked.
fn race(root: &Path, outside: &Path, wait: Duration) -> u64 {
    let (inside, out) = (root.join("d"), outside.join("d"));
    fs::create_dir(&inside).unwrap();
    make_some(&inside);
    let names: Vec<String> = (0..OTHERS).map(|i| format!("f{i}")).collect();
    // The files are open, so that one call sets a size. The last file is the likeliest to be looked
    // at after its change.
    let files: Vec<_> = names.iter().map(|name| fs::File::create(inside.join(name)).unwrap()).collect();
    let context = Vfs::builder()
        .budget(1 << 20)
        .build(HostFs::open(root).unwrap().with_coherence(Coherence::Frozen))
        .unwrap()
        .context(Credentials::root());
    for name in &SOME[..SOME.len() - 1] {
        context.stat(format!("/d/{name}")).unwrap();
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
        _ = context.stat(format!("/d/{}", SOME[SOME.len() - 1]));
    });
    for name in &names {
        let size = context.stat(format!("/d/{name}")).map(|attributes| attributes.size);
        assert!(matches!(size, Ok(0) | Err(Errno::ENOENT | Errno::ESTALE)), "{name}: {size:?} after {wait:?}");
    }
    fs::remove_dir_all(out).unwrap();
    given(&context)
}

#[test]
fn nothing_is_told_of_files_as_they_became_outside() {
    let (_dir, root, outside) = root_and_outside();
    fs::remove_dir_all(root.join("d")).unwrap();
    // The waits span the time that the reading takes here and somewhat more, so that the directory
    // leaves at every moment of it.
    let longest = Duration::from_micros(1500);
    let rounds = 120;
    let given: Vec<u64> = (0..rounds).map(|i| race(&root, &outside, longest * i / rounds)).collect();
    assert!(given.iter().all(|given| matches!(given, 0 | 120)), "all or nothing: {given:?}");
}

/// Reads a directory as a whole while another directory may have its place. Asserts that each file
/// handed out is of the right directory, and returns their number.
fn look_into(root: &Path, number: u64, size: u64) -> u64 {
    let context = walk(root);
    // Whichever directory was found first is `/d` from now on.
    let size = if context.stat("/d").unwrap().ino == number { size } else { 0 };
    ask_for_some(&context, "/d");
    for i in 0..20 {
        let (told, asked) = lookups(&context, || context.stat(format!("/d/f{i}")));
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
