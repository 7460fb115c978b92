//! Tests of the limits of bytes and nodes: an operation without room changes nothing but a file's
//! times, and a removal gives its room back.

use std::collections::BTreeMap;

use pathwalk::{Attributes, Errno, FileSystem, NewKind, SetAttributes, StatFs, Timestamp, WriteAt, Written};
use proptest::prelude::*;

use super::{errno, key, name, new, open};
use crate::{MemFs, Options};

const PAGE: u64 = 4096;
const PAGES: u64 = 6;
const NODES: u64 = 5;
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn small() -> MemFs {
    MemFs::with(Options::default().max_bytes(PAGES * PAGE - 100).max_nodes(NODES))
}

/// Returns attributes with the times of a change of other ones.
fn with_times_of(other: &Attributes, mut attributes: Attributes) -> Attributes {
    (attributes.mtime, attributes.ctime) = (other.mtime, other.ctime);
    attributes
}

#[test]
fn statfs_says_what_is_free() {
    let fs = small();
    fs.file("f", 0o644).unwrap();
    fs.write("f", 3 * PAGE, b"x").unwrap();
    let mut expected = StatFs::default();
    expected.kind = 0x0102_1994;
    expected.block_size = PAGE;
    expected.name_max = 255;
    assert_eq!(MemFs::new().statfs(), Ok(expected), "no limits");
    expected.blocks = PAGES;
    expected.blocks_free = PAGES - 1;
    expected.blocks_available = PAGES - 1;
    expected.files = NODES;
    expected.files_free = NODES - 2;
    assert_eq!((fs.statfs(), fs.calls().statfs), (Ok(expected), 1));
}

#[test]
fn a_write_ends_where_room_ends() {
    let fs = small();
    fs.file("f", 0o644).unwrap();
    fs.file("g", 0o644).unwrap();
    let (f, g) = (open(&fs, "f"), open(&fs, "g"));
    g.write_at(&[1; 2 * PAGE as usize], WriteAt::End).unwrap();
    let (begin, length) = (PAGE - 10, 4 * PAGE);
    assert_eq!(
        f.write_at(&vec![2; length as usize], WriteAt::Offset(begin)),
        Ok(Written { bytes: 3 * PAGE as usize + 10, end: 4 * PAGE })
    );
    let full = fs.stat("f").unwrap();
    assert_eq!((full.size, full.blocks), (4 * PAGE, 32));
    assert_eq!(f.write_at(b"x", WriteAt::End), Err(Errno::ENOSPC));
    let after = with_times_of(&full, fs.stat("f").unwrap());
    assert_eq!((after, fs.usage().pages), (full, PAGES));
    assert_eq!(f.write_at(&[3; 20], WriteAt::Offset(0)), Ok(Written { bytes: 20, end: 20 }), "where a page is there is room");
    assert_eq!(errno(fs.write("f", 4 * PAGE - 1, b"xy")), Errno::ENOSPC);
    fs.unlink("g").unwrap();
    assert_eq!(f.write_at(b"x", WriteAt::End), Err(Errno::ENOSPC), "it is open");
    drop(g);
    assert_eq!(f.write_at(b"x", WriteAt::End), Ok(Written { bytes: 1, end: 4 * PAGE + 1 }));
}

#[derive(Clone, Debug)]
enum Op {
    Create(usize, usize),
    Write(usize, u64, u64),
    Truncate(usize, u64),
    Unlink(usize),
    Rename(usize, usize),
    Link(usize, usize),
}

fn op() -> impl Strategy<Value = Op> {
    let name = || 0..NAMES.len();
    prop_oneof![
        3 => (name(), 0..5usize).prop_map(|(name, kind)| Op::Create(name, kind)),
        3 => (name(), 0..8 * PAGE, 0..4 * PAGE).prop_map(|(name, at, length)| Op::Write(name, at, length)),
        1 => (name(), 0..8 * PAGE).prop_map(|(name, size)| Op::Truncate(name, size)),
        2 => name().prop_map(Op::Unlink),
        1 => (name(), name()).prop_map(|(from, to)| Op::Rename(from, to)),
        1 => (name(), name()).prop_map(|(from, to)| Op::Link(from, to)),
    ]
}

fn run(fs: &MemFs, op: &Op) -> Result<(), Errno> {
    let kinds =
        [NewKind::Regular, NewKind::Directory, NewKind::Symlink(&[b'x'; 127]), NewKind::Symlink(&[b'x'; 128]), NewKind::Fifo];
    let done = match *op {
        Op::Create(name, kind) => fs.mknod(NAMES[name], kinds[kind], 0o644),
        Op::Write(name, at, length) => fs.write(NAMES[name], at, &vec![1; length as usize]),
        Op::Truncate(name, size) => fs.truncate(NAMES[name], size),
        Op::Unlink(name) => fs.unlink(NAMES[name]),
        Op::Rename(from, to) => fs.rename(NAMES[from], NAMES[to]),
        Op::Link(from, to) => fs.link(NAMES[from], NAMES[to]),
    };
    done.map_err(|error| error.errno())
}

/// Returns all nodes, by name.
fn tree(fs: &MemFs) -> BTreeMap<Vec<u8>, Attributes> {
    let names = fs.list("/").unwrap().into_iter().chain([b"".to_vec()]);
    names.map(|name| (name.clone(), fs.stat(&name).unwrap())).collect()
}

/// Returns the numbers of pages, nodes and names, counted one by one.
fn count(tree: &BTreeMap<Vec<u8>, Attributes>) -> (u64, u64, u64) {
    let nodes: BTreeMap<_, _> = tree.values().map(|found| (found.ino, found.blocks / 8)).collect();
    (nodes.values().sum(), nodes.len() as u64, tree.len() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_refused_has_changed_nothing(ops in proptest::collection::vec(op(), 1..80)) {
        let fs = small();
        let mut before = tree(&fs);
        for op in &ops {
            let memory = fs.memory();
            let done = run(&fs, op);
            let after = tree(&fs);
            let (pages, nodes, names) = count(&after);
            assert!(pages <= PAGES && names <= NODES);
            assert_eq!((fs.usage().pages, fs.usage().nodes), (pages, nodes), "{op:?}: {done:?}");
            let free = fs.statfs().unwrap();
            assert_eq!((free.blocks_free, free.files_free), (PAGES - pages, NODES - names), "{op:?}: {done:?}");
            match (op, done) {
                // A part may have been written.
                (Op::Write(..), Err(Errno::ENOSPC)) => assert_eq!(pages, PAGES),
                (Op::Create(_, kind), Err(Errno::ENOSPC)) => {
                    assert!(names == NODES || (*kind == 3 && pages == PAGES));
                    assert_eq!((&after, fs.memory()), (&before, memory));
                }
                (Op::Link(..), Err(Errno::ENOSPC)) => {
                    assert_eq!(names, NODES);
                    assert_eq!((&after, fs.memory()), (&before, memory));
                }
                (op, Err(errno)) => {
                    assert_ne!(errno, Errno::ENOSPC, "{op:?}");
                    assert_eq!((&after, fs.memory()), (&before, memory), "{op:?}: {errno:?}");
                }
                (_, Ok(())) => {}
            }
            before = after;
        }
        for name in fs.list("/").unwrap() {
            fs.unlink(&name).unwrap();
        }
        assert_eq!((fs.usage().pages, fs.usage().nodes, fs.usage().held), (0, 1, 0));
    }
}

#[test]
fn held_nodes_count() {
    let fs = MemFs::with(Options::default().max_nodes(2));
    let made = fs.0.create(key(&fs, "/"), name("f"), &new(NewKind::Regular)).unwrap().into_node();
    fs.unlink("f").unwrap();
    assert_eq!(errno(fs.file("g", 0o644)), Errno::ENOSPC);
    assert_eq!(fs.0.create_unnamed(key(&fs, "/"), &new(NewKind::Regular)).err(), Some(Errno::ENOSPC));
    fs.forget(made.key);
    fs.file("g", 0o644).unwrap();
}

#[test]
fn each_name_but_the_first_counts() {
    let fs = MemFs::with(Options::default().max_nodes(3));
    fs.file("f", 0o644).unwrap();
    fs.link("f", "g").unwrap();
    assert_eq!(errno(fs.link("f", "h")), Errno::ENOSPC);
    assert_eq!(errno(fs.file("h", 0o644)), Errno::ENOSPC);
    fs.unlink("f").unwrap();
    let unnamed = fs.0.create_unnamed(key(&fs, "/"), &new(NewKind::Regular)).unwrap();
    let named =
        fs.0.link(unnamed.key(), key(&fs, "/"), name("h")).expect("the first name of what was made without one takes no room");
    assert_eq!(errno(fs.link("h", "f")), Errno::ENOSPC);
    fs.rename("g", "h").unwrap();
    drop((unnamed, named));
    assert_eq!(fs.statfs().unwrap().files_free, 1);
}

/// Returns a file system without room, with a file of one page behind a hole.
fn full() -> MemFs {
    let fs = small();
    fs.file("f", 0o644).unwrap();
    fs.write("f", PAGE, b"x").unwrap();
    fs.file("filler", 0o644).unwrap();
    fs.write("filler", 0, &vec![1; ((PAGES - 1) * PAGE) as usize]).unwrap();
    fs
}

#[test]
fn what_a_write_fails_with_before_it_changes_anything_is_told() {
    const MAX: u64 = i64::MAX as u64;
    let offsets = [0, PAGE, 2 * PAGE, MAX - 1, MAX, u64::MAX].map(WriteAt::Offset);
    for at in offsets.into_iter().chain([WriteAt::End]) {
        for data in [&b""[..], b"yz"] {
            let fs = full();
            let then = SetAttributes::default().with_mtime(Timestamp::default());
            fs.set_attributes(fs.key("f").unwrap(), &then).unwrap();
            let (before, file) = (fs.stat("f").unwrap(), open(&fs, "f"));
            let told = file.check_write(data.len(), at);
            assert_eq!((fs.stat("f").unwrap(), fs.usage().pages), (before, PAGES), "{at:?}");
            let wrote = file.write_at(data, at).map(drop);
            let same = with_times_of(&before, fs.stat("f").unwrap()) == before;
            match (told, wrote) {
                (Err(_), wrote) => assert_eq!((wrote, fs.stat("f").unwrap()), (told, before), "{at:?}"),
                // The times change.
                (Ok(()), Err(errno)) => {
                    assert_eq!((errno, same, fs.stat("f").unwrap().mtime == before.mtime), (Errno::ENOSPC, true, false))
                }
                (Ok(()), Ok(())) => {}
            }
        }
    }
}
