//! Tests that an absent name is known to be absent where the file system lists every name that can
//! be looked up, and only there.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};

use pathwalk::{Errno, FileType};
use pathwalk_tests::skipped;
use rustix::fs::statfs;
use rustix::thread::gettid;

use crate::common::walk;
use crate::{ask_for_some, lookups, make_some};

/// The types of file systems that list all names and may hold temporary files: ext2 to ext4, tmpfs,
/// XFS, Btrfs, overlayfs.
const LISTED: [i64; 5] = [0xef53, 0x0102_1994, 0x5846_5342, 0x9123_683e, 0x794c_7630];

#[test]
fn where_all_names_are_known_another_is_absent() {
    let dir = tempfile::tempdir().unwrap();
    #[allow(clippy::unnecessary_cast)] // The field has another type on other machines.
    let kind = statfs(dir.path()).unwrap().f_type as i64;
    if !LISTED.contains(&kind) {
        let why = format!("{} is on a file system of type {kind:#x}", dir.path().display());
        return skipped("where_all_names_are_known_another_is_absent", &why);
    }
    make_some(dir.path());
    fs::create_dir(dir.path().join("sub")).unwrap();
    let context = walk(dir.path());
    assert_eq!(context.stat("/early"), Err(Errno::ENOENT));
    ask_for_some(&context, "");
    let (answers, asked) = lookups(&context, || ["/early", "/fiv", "/fives", "/ two"].map(|path| context.stat(path)));
    assert!(answers.iter().all(|answer| *answer == Err(Errno::ENOENT)), "{answers:?}");
    assert_eq!((asked, context.vfs().stats().known_absent), (0, 3));
    // A directory that was only noted is present, and nothing is known about its contents.
    assert_eq!(lookups(&context, || context.stat("/sub/nope")), (Err(Errno::ENOENT), 2));
}

/// Runs `then` beside waiting threads, and passes it the threads' numbers.
fn with_threads<T>(count: usize, then: impl FnOnce(&[String]) -> T) -> T {
    let end = Arc::new(Barrier::new(count + 1));
    let (tell, told) = std::sync::mpsc::channel();
    let waits = |_| {
        let (tell, end) = (tell.clone(), Arc::clone(&end));
        std::thread::spawn(move || {
            tell.send(gettid().as_raw_nonzero().to_string()).unwrap();
            end.wait();
        })
    };
    let threads: Vec<_> = (0..count).map(waits).collect();
    let numbers: Vec<String> = told.iter().take(count).collect();
    let answer = then(&numbers);
    end.wait();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    answer
}

#[test]
fn threads_that_were_not_there_when_proc_was_listed_are_found() {
    let tasks = format!("/proc/{}/task", std::process::id());
    if !Path::new(&tasks).exists() {
        return skipped("threads_that_were_not_there_when_proc_was_listed_are_found", "/proc is not mounted");
    }
    let context = walk(Path::new(&tasks));
    with_threads(16, |first| {
        for number in first {
            context.stat(format!("/{number}")).unwrap();
        }
        with_threads(4, |later| {
            let all_found = later.iter().all(|number| context.stat(format!("/{number}")).is_ok());
            assert!(all_found, "a name is absent because it was not listed");
        });
    });
    assert_eq!(context.vfs().stats().known_absent, 0);
}

/// Looks up the directory of a thread, which exists in `/proc` and is not listed there.
#[test]
fn what_proc_does_not_list_is_found() {
    if !Path::new("/proc/self").exists() {
        return skipped("what_proc_does_not_list_is_found", "/proc is not mounted");
    }
    let context = walk(Path::new("/proc"));
    let files = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        entry.file_type().unwrap().is_file().then(|| entry.file_name().into_string().unwrap())
    });
    // Enough names are looked up that on most machines the processes are fewer than the names that
    // may then be listed.
    let known = files.filter(|name| context.stat(format!("/{name}")).is_ok()).count();
    if context.vfs().stats().siblings == 0 {
        let why = format!("nothing was given after {known} files: too many processes run, or /proc is another user's");
        skipped("files of /proc", &why);
    }
    with_threads(1, |numbers| {
        let thread = context.stat(format!("/{}", numbers[0]));
        assert_eq!(thread.map(|attributes| attributes.kind), Ok(FileType::Directory));
    });
    assert_eq!(context.vfs().stats().known_absent, 0);
}
