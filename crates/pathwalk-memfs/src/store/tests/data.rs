//! Tests of a file's data: comparison with a vector of bytes, holes, limits of offsets, times.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use pathwalk::{
    Attributes, Errno, FallocateFlags, FileSystem, OpenFile, OpenFor, SetAttributes, SyncWhat, Timestamp, WriteAt, Written,
};
use proptest::prelude::*;

use super::{errno, key, open};
use crate::MemFs;

const PAGE: usize = 4096;
const MAX: u64 = i64::MAX as u64;

#[derive(Clone, Debug)]
enum Op {
    Write(usize, usize, u8),
    Append(usize, u8),
    Truncate(usize),
    Read(usize, usize),
}

/// Returns offsets and lengths around page boundaries, and in between.
fn place(pages: usize) -> impl Strategy<Value = usize> {
    prop_oneof![0..pages * PAGE, (0..pages, 0..3usize).prop_map(|(page, off)| (page * PAGE + off).saturating_sub(1)),]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (place(8), place(3), 1..=u8::MAX).prop_map(|(at, length, byte)| Op::Write(at, length, byte)),
        2 => (place(2), 1..=u8::MAX).prop_map(|(length, byte)| Op::Append(length, byte)),
        2 => place(10).prop_map(Op::Truncate),
        2 => (place(12), place(4)).prop_map(|(at, length)| Op::Read(at, length)),
    ]
}

/// A model of a file.
#[derive(Default)]
struct Model {
    data: Vec<u8>,
    pages: BTreeSet<usize>,
}

impl Model {
    fn write(&mut self, at: usize, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let end = at + data.len();
        self.data.resize(self.data.len().max(end), 0);
        self.data[at..end].copy_from_slice(data);
        self.pages.extend(at / PAGE..=(end - 1) / PAGE);
    }

    fn truncate(&mut self, size: usize) {
        self.data.resize(size, 0);
        self.pages.retain(|page| page * PAGE < size);
    }

    fn read(&self, at: usize, length: usize) -> &[u8] {
        let end = self.data.len().min(at + length);
        &self.data[at.min(end)..end]
    }

    fn check(&self, found: &Attributes) {
        assert_eq!((found.size, found.blocks), (self.data.len() as u64, self.pages.len() as u64 * 8));
    }
}

fn run(fs: &MemFs, model: &mut Model, file: &dyn OpenFile, op: &Op) {
    match *op {
        Op::Write(at, length, byte) => {
            let done = file.write_at(&vec![byte; length], WriteAt::Offset(at as u64));
            assert_eq!(done, Ok(Written { bytes: length, end: (at + length) as u64 }));
            model.write(at, &vec![byte; length]);
        }
        Op::Append(length, byte) => {
            let end = (model.data.len() + length) as u64;
            assert_eq!(file.write_at(&vec![byte; length], WriteAt::End), Ok(Written { bytes: length, end }));
            model.write(model.data.len(), &vec![byte; length]);
        }
        Op::Truncate(size) => {
            fs.truncate("f", size as u64).unwrap();
            model.truncate(size);
        }
        Op::Read(at, length) => {
            let mut buffer = vec![0xee; length];
            let read = file.read_at(&mut buffer, at as u64).unwrap();
            assert!(buffer[..read] == *model.read(at, length), "read {read} at {at}");
            assert!(buffer[read..].iter().all(|byte| *byte == 0xee), "nothing behind the end is touched");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_file_is_a_vector_of_bytes(ops in proptest::collection::vec(op(), 1..60)) {
        let (fs, mut model) = (MemFs::new(), Model::default());
        fs.file("f", 0o644).unwrap();
        let empty = (fs.memory(), fs.usage());
        let file = open(&fs, "f");
        for op in &ops {
            run(&fs, &mut model, &*file, op);
            model.check(&fs.stat("f").unwrap());
        }
        assert!(fs.read("f").unwrap() == model.data);
        assert_eq!(fs.usage().pages, model.pages.len() as u64);
        drop(file);
        fs.truncate("f", 0).unwrap();
        assert_eq!((fs.memory(), fs.usage()), empty);
    }
}

#[test]
fn holes_cost_nothing() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    let before = fs.memory();
    fs.truncate("f", MAX).unwrap();
    fs.write("f", MAX - 1, b"x").unwrap();
    fs.write("f", 1 << 40, b"y").unwrap();
    let found = fs.stat("f").unwrap();
    assert_eq!((found.size, found.blocks, fs.usage().pages), (MAX, 16, 2));
    assert!(fs.memory() - before < 3 * PAGE as u64);
    let (file, mut buffer) = (open(&fs, "f"), [7; 3]);
    assert_eq!((file.read_at(&mut buffer, (1 << 40) - 1), buffer), (Ok(3), [0, b'y', 0]));
    assert_eq!((file.read_at(&mut buffer, MAX - 2), buffer[..2] == [0, b'x']), (Ok(2), true));
    assert_eq!((file.read_at(&mut buffer, MAX), file.read_at(&mut buffer, u64::MAX)), (Ok(0), Ok(0)));
    assert_eq!(errno(fs.read("f").map(drop)), Errno::ENOMEM);
}

#[test]
fn no_offset_is_too_great_to_be_refused() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    let file = open(&fs, "f");
    for at in [MAX, MAX + 1, u64::MAX] {
        assert_eq!(file.write_at(b"x", WriteAt::Offset(at)), Err(Errno::EFBIG));
        assert_eq!(file.write_at(b"", WriteAt::Offset(at)), Ok(Written { bytes: 0, end: at }));
    }
    assert_eq!((fs.stat("f").unwrap().size, fs.usage().pages), (0, 0));
    assert_eq!(file.write_at(b"abc", WriteAt::Offset(MAX - 2)), Ok(Written { bytes: 2, end: MAX }), "as much as fits");
    assert_eq!(file.write_at(b"x", WriteAt::End), Err(Errno::EFBIG));
    assert_eq!(errno(fs.truncate("f", MAX + 1)), Errno::EFBIG);
}

#[test]
fn what_was_not_opened_for_it_is_refused() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    fs.symlink("f", "l").unwrap();
    let as_opened = |path: &str, what_for| fs.open(key(&fs, path), what_for);
    let (reading, writing) = (as_opened("f", OpenFor::READ).unwrap(), as_opened("f", OpenFor::WRITE).unwrap());
    assert_eq!(reading.write_at(b"x", WriteAt::End), Err(Errno::EBADF));
    assert_eq!(writing.read_at(&mut [0], 0), Err(Errno::EBADF));
    assert_eq!(reading.read_dir(0, &mut |_| panic!("a file has no entries")), Err(Errno::ENOTDIR));
    assert_eq!(as_opened("/", OpenFor::WRITE).err(), Some(Errno::EISDIR));
    assert_eq!(as_opened("l", OpenFor::READ).err(), Some(Errno::EINVAL));
    let dir = as_opened("/", OpenFor::READ).unwrap();
    assert_eq!(dir.read_at(&mut [0], 0), Err(Errno::EISDIR));
    assert_eq!([dir.sync(SyncWhat::All), writing.sync(SyncWhat::Data)], [Ok(()), Ok(())]);
    drop((reading, writing, dir));
    let calls = fs.calls();
    let counted = [calls.open, calls.read_at, calls.write_at, calls.read_dir, calls.sync];
    assert_eq!((counted, fs.usage().held), ([5, 2, 1, 1, 2], 0));
}

#[test]
fn an_open_file_outlives_its_names() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    let empty = fs.usage();
    fs.write("f", 0, b"still here").unwrap();
    let (file, node) = (open(&fs, "f"), key(&fs, "f"));
    fs.unlink("f").unwrap();
    let mut buffer = [0; 10];
    assert_eq!((file.read_at(&mut buffer, 0), &buffer), (Ok(10), b"still here"));
    file.write_at(&[1; PAGE], WriteAt::Offset(PAGE as u64)).unwrap();
    assert_eq!(fs.attributes(node).unwrap().nlink, 0);
    assert_eq!((fs.usage().pages, fs.usage().unlinked, fs.usage().held), (2, 1, 1));
    drop(file);
    assert_eq!(fs.attributes(node), Err(Errno::ESTALE));
    assert_eq!((fs.usage().pages, fs.usage().nodes), (0, empty.nodes - 1));
}

/// Waits until the clock of the times has advanced by a tick.
fn next_tick(fs: &MemFs, path: &str) {
    let ctime = || {
        fs.set_attributes(key(fs, path), &SetAttributes::default()).unwrap();
        fs.stat(path).unwrap().ctime
    };
    let now = ctime();
    while ctime() == now {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn times_move_as_on_tmpfs() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    fs.write("f", 0, b"abc").unwrap();
    let (file, old) = (open(&fs, "f"), Timestamp { seconds: 1, nanoseconds: 0 });
    // Returns whether atime, mtime and ctime change.
    let moves = |act: &dyn Fn()| {
        let set = SetAttributes::default().with_atime(old).with_mtime(old);
        let before = fs.set_attributes(key(&fs, "f"), &set).unwrap();
        next_tick(&fs, "f");
        let ticked = fs.stat("f").unwrap();
        assert!(ticked.ctime > before.ctime);
        next_tick(&fs, "/");
        act();
        let after = fs.stat("f").unwrap();
        [after.atime != old, after.mtime != old, after.ctime != ticked.ctime]
    };
    assert_eq!(moves(&|| assert!(file.write_at(b"x", WriteAt::Offset(0)).is_ok())), [false, true, true]);
    assert_eq!(moves(&|| assert!(file.write_at(b"", WriteAt::Offset(0)).is_ok())), [false; 3]);
    assert_eq!(moves(&|| assert!(file.write_at(b"x", WriteAt::Offset(MAX)).is_err())), [false; 3]);
    assert_eq!(moves(&|| assert!(file.read_at(&mut [0; 2], 0).is_ok())), [false; 3]);
    // The same size counts where the file has pages, and not where all of it is a hole.
    for (size, moved) in [(3, true), (2, true), (0, true), (9000, true), (9000, false)] {
        assert_eq!(moves(&|| fs.truncate("f", size).unwrap()), [false, moved, moved], "to {size}");
    }
    assert_eq!(moves(&|| assert!(file.fallocate(FallocateFlags::KEEP_SIZE, 0, 1).is_ok())), [false, true, true]);
    assert_eq!(moves(&|| assert!(file.fallocate(FallocateFlags::WRITE_ZEROES, 0, 1).is_err())), [false; 3]);
    assert_eq!(moves(&|| fs.chmod("f", 0o600).unwrap()), [false, false, true]);
    assert_eq!(moves(&|| fs.link("f", "g").unwrap()), [false, false, true]);
    assert_eq!(moves(&|| fs.unlink("g").unwrap()), [false, false, true]);
}
