//! Tests with several threads that use one file's data and the shared room.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use pathwalk::{Errno, WriteAt};

use super::open;
use crate::{MemFs, Options};

#[test]
fn appenders_never_overwrite_each_other() {
    const RECORD: usize = 300;
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    thread::scope(|scope| {
        for byte in 1..=4u8 {
            let file = open(&fs, "f");
            scope.spawn(move || (0..500).for_each(|_| assert!(file.write_at(&[byte; RECORD], WriteAt::End).is_ok())));
        }
    });
    let mut counts = [0; 5];
    for record in fs.read("f").unwrap().chunks(RECORD) {
        assert!(record.len() == RECORD && record.iter().all(|byte| *byte == record[0]));
        counts[record[0] as usize] += 1;
    }
    assert_eq!(counts, [0, 500, 500, 500, 500]);
}

#[test]
fn nobody_sees_half_of_a_write() {
    const LENGTH: usize = 3 * 4096;
    const OFFSET: u64 = 1000;
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    fs.truncate("f", OFFSET + LENGTH as u64).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (file, done) = (open(&fs, "f"), &done);
            scope.spawn(move || {
                let mut buffer = [0; LENGTH];
                while !done.load(Relaxed) {
                    let read = file.read_at(&mut buffer, OFFSET).unwrap();
                    assert!(read == 0 || read == LENGTH, "{read}");
                    assert!(buffer[..read].iter().all(|byte| *byte == buffer[0]));
                }
            });
        }
        let file = open(&fs, "f");
        for i in 0..2000u32 {
            file.write_at(&[i as u8; LENGTH], WriteAt::Offset(OFFSET)).unwrap();
            if i % 7 == 0 {
                fs.truncate("f", OFFSET).unwrap();
            }
        }
        done.store(true, Relaxed);
    });
}

#[test]
fn room_is_given_out_once() {
    const PAGES: u64 = 64;
    let fs = MemFs::with(Options::default().max_bytes(PAGES * 4096).max_nodes(40));
    for round in 0..20 {
        thread::scope(|scope| {
            for thread in 0..3 {
                let fs = &fs;
                scope.spawn(move || {
                    for i in 0.. {
                        let path = format!("{thread}.{i}");
                        if let Err(error) = fs.file(&path, 0o644) {
                            return assert_eq!(error.errno(), Errno::ENOSPC);
                        }
                        if let Err(error) = fs.write(&path, i * 5000, &[1; 9000]) {
                            assert_eq!(error.errno(), Errno::ENOSPC);
                        }
                    }
                });
            }
        });
        assert_eq!((fs.usage().nodes, fs.usage().pages), (40, PAGES), "round {round}");
        for name in fs.list("/").unwrap() {
            fs.unlink(&name).unwrap();
        }
        assert_eq!((fs.usage().nodes, fs.usage().pages), (1, 0), "round {round}");
    }
}
