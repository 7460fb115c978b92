//! A name that is not there is known not to be, where the file system lists all that can be looked up; and only there.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};

use pathwalk::{Errno, FileType};
use pathwalk_tests::skipped;
use rustix::fs::statfs;
use rustix::thread::gettid;

use crate::common::walk;
use crate::{ask_for_some, lookups, make_some};

/// ext2 to ext4, tmpfs, XFS, Btrfs, overlayfs: where temporary files may be, and names are listed.
const LISTED: [i64; 5] = [0xef53, 0x0102_1994, 0x5846_5342, 0x9123_683e, 0x794c_7630];

#[test]
fn where_all_names_are_known_another_is_absent() {
    let dir = tempfile::tempdir().unwrap();
    #[allow(clippy::unnecessary_cast)] // Its type is another on other machines.
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
    // A directory that was only noted is there, and nothing is known of what is in it.
    assert_eq!(lookups(&context, || context.stat("/sub/nope")), (Err(Errno::ENOENT), 2));
}

/// Threads that wait, and their numbers, for as long as `then` runs.
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
            context.stat(&format!("/{number}")).unwrap();
        }
        with_threads(4, |later| {
            let all_found = later.iter().all(|number| context.stat(&format!("/{number}")).is_ok());
            assert!(all_found, "a name is absent because it was not listed");
        });
    });
    assert_eq!(context.vfs().stats().known_absent, 0);
}

/// The directory of a thread is there and is not listed.
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
    // So many that most machines' processes are fewer than what may be listed then.
    let known = files.filter(|name| context.stat(&format!("/{name}")).is_ok()).count();
    if context.vfs().stats().siblings == 0 {
        let why = format!("nothing was given after {known} files: too many processes run, or /proc is another user's");
        skipped("files of /proc", &why);
    }
    with_threads(1, |numbers| {
        let thread = context.stat(&format!("/{}", numbers[0]));
        assert_eq!(thread.map(|attributes| attributes.kind), Ok(FileType::Directory));
    });
    assert_eq!(context.vfs().stats().known_absent, 0);
}
