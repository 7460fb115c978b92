//! Tests of a mount on which the kernel writes data later ([`Writes::Back`]).

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

use crate::common::Case;
use pathwalk::{Credentials, Vfs};
use pathwalk_fuse::{Opens, Writes};
use pathwalk_memfs::MemFs;

/// Runs a test where opens are told, and where they are not.
fn each(test: impl Fn(&Case)) {
    for opens in [Opens::Told, Opens::Untold] {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        let Some(case) = Case::of(context, |options| (options.opens, options.writes) = (opens, Writes::Back)) else { return };
        test(&case);
    }
}

#[test]
fn many_small_writes_are_few_requests() {
    each(|case| {
        let mut log = OpenOptions::new().append(true).create_new(true).open(case.at("log")).unwrap();
        for line in 0..10_000 {
            writeln!(log, "{line:098}").unwrap();
        }
        assert_eq!(log.metadata().unwrap().len(), 990_000);
        log.sync_all().unwrap();
        let text = case.context.read("/log").unwrap();
        let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!((lines.len(), text.len()), (10_000, 990_000));
        assert!(lines.iter().enumerate().all(|(line, text)| *text == format!("{line:098}\n").as_bytes()));
        let requests = case.requests("Write");
        assert!((1..100).contains(&requests), "{requests} requests");
    });
}

#[test]
fn a_part_of_a_page_is_written_through_a_file_that_is_open_for_writing_alone() {
    each(|case| {
        case.context.write("/a", vec![b'a'; 10_000]).unwrap();
        let file = OpenOptions::new().write(true).open(case.at("a")).unwrap();
        file.write_all_at(b"bbb", 5_000).unwrap();
        drop(file);
        let mut expected = vec![b'a'; 10_000];
        expected[5_000..5_003].fill(b'b');
        assert_eq!(case.context.read("/a").unwrap(), expected);
        // Its owner may not read it.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o200).open(case.at("b")).unwrap();
        file.write_all_at(b"b", 1).unwrap();
        file.write_all_at(b"a", 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(case.context.read("/b").unwrap(), b"ab");
    });
}

#[test]
fn what_is_written_is_there_when_the_file_is_closed_and_when_the_mount_ends() {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context.clone(), |options| options.writes = Writes::Back) else { return };
    fs::write(case.at("a"), "closed").unwrap();
    assert_eq!(context.read("/a").unwrap(), b"closed");
    drop(case);
    assert_eq!(context.read("/a").unwrap(), b"closed");
}

#[test]
fn sizes_and_times_are_those_of_the_last_write() {
    each(|case| {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(case.at("a")).unwrap();
        file.write_all(b"0123456789").unwrap();
        file.set_len(4).unwrap();
        file.seek(SeekFrom::Start(6)).unwrap();
        file.write_all(b"67").unwrap();
        let shown = file.metadata().unwrap();
        assert_eq!(shown.len(), 8);
        drop(file);
        let kept = case.context.stat("/a").unwrap();
        assert_eq!((kept.size, kept.mtime.seconds), (8, shown.mtime()));
        assert_eq!(i64::from(kept.mtime.nanoseconds), shown.mtime_nsec());
        assert_eq!(case.context.read("/a").unwrap(), b"0123\x00\x0067");
        let mut text = Vec::new();
        File::open(case.at("a")).unwrap().read_to_end(&mut text).unwrap();
        assert_eq!(text, b"0123\x00\x0067");
        // A time that a program sets stays, also behind data that was written before.
        let file = OpenOptions::new().write(true).open(case.at("a")).unwrap();
        file.write_all_at(b"x", 0).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
        file.set_modified(time).unwrap();
        drop(file);
        assert_eq!(fs::metadata(case.at("a")).unwrap().modified().unwrap(), time);
        assert_eq!(case.context.stat("/a").unwrap().mtime.seconds, 1_000);
    });
}

/// The kernel does not tell of the time again, if a write finds the one that it told last.
#[test]
fn data_that_comes_later_leaves_the_time_that_the_kernel_told() {
    each(|case| {
        let is_shown = (0..1_000).any(|_| {
            let file = File::create(case.at("a")).unwrap();
            file.write_all_at(b"told", 0).unwrap();
            file.sync_all().unwrap();
            let told = file.metadata().unwrap().modified().unwrap();
            file.write_all_at(b"late", 0).unwrap();
            let shown = file.metadata().unwrap().modified().unwrap();
            // Behind the next tick of a clock of 100 Hz.
            std::thread::sleep(std::time::Duration::from_millis(11));
            drop(file);
            let kept = case.context.stat("/a").unwrap().mtime;
            let kept = std::time::Duration::new(kept.seconds as u64, kept.nanoseconds);
            assert_eq!(std::time::UNIX_EPOCH + kept, shown);
            assert_eq!(case.context.read("/a").unwrap(), b"late");
            told == shown
        });
        assert!(is_shown, "no two writes in one tick");
    });
}

/// A copy by ranges of data would leave out what was not written yet.
#[test]
fn data_that_was_not_written_yet_is_no_hole() {
    each(|case| {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(case.at("a")).unwrap();
        file.write_all_at(b"late", 100_000).unwrap();
        assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0)), Ok(0));
        assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)), Ok(100_004));
        let to = File::create(case.at("b")).unwrap();
        assert_eq!(rustix::fs::copy_file_range(&file, Some(&mut 100_000), &to, None, 4), Ok(4));
        assert_eq!(fs::read(case.at("b")).unwrap(), b"late");
    });
}
