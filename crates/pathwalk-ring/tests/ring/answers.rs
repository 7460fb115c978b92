//! The results of entries, and the threads that answer them.

use std::sync::atomic::Ordering::SeqCst;

use pathwalk::{Access, At, Errno, FileType, OpenFlags, OpenHow, RenameFlags, Resolve, SyncWhat, UnlinkFlags};
use pathwalk_ring::{Entry, EntryFlags, Offset, Op, Place, Ring, Value};

use crate::LINK;
use crate::common::*;

#[test]
fn what_is_cached_is_answered_in_submit() {
    let (fs, context) = world();
    context.stat("/link").unwrap();
    assert_eq!(context.stat("/none"), Err(Errno::ENOENT));
    let before = fs.lookups.load(SeqCst);
    let mut ring = ring(&context, 1);
    let ops = [
        Op::stat("/link"),
        Op::access("/d/a", Access::READ),
        Op::readlink("/link"),
        Op::lookup("/d"),
        Op::open("/d/a", OpenFlags::READ),
        Op::stat("/none"),
        Op::Nop,
    ];
    submit(&mut ring, ops.into_iter().zip(0..).map(|(op, id)| Entry::new(id, op)));
    let done: Vec<_> = std::iter::from_fn(|| ring.reap()).collect();
    let numbers: Vec<_> = done.iter().map(|done| (done.user_data, done.res())).collect();
    assert_eq!(numbers, [(0, 0), (1, 0), (2, 3), (3, 0), (4, 0), (5, ENOENT), (6, 0)]);
    assert!(matches!(&done[0].result, Ok(Value::Statx(statx)) if statx.attributes.kind == FileType::Regular));
    assert!(matches!(&done[2].result, Ok(Value::Link(body)) if body == b"d/a"));
    assert!(matches!(&done[3].result, Ok(Value::Handle(handle)) if handle.path() == Ok(b"/d".to_vec())));
    assert_eq!(fs.lookups.load(SeqCst), before);
    assert_eq!(ring.pool().stats().workers, 0, "no thread was needed");
}

#[test]
fn what_is_not_cached_is_answered_by_a_worker() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 4);
    submit(&mut ring, [Entry::new(1, Op::stat("/link")), Entry::new(2, Op::stat("/slow1")), Entry::new(3, Op::stat("/none"))]);
    assert_eq!(results(&mut ring), [(1, 0), (2, 0), (3, ENOENT)]);
    assert!(ring.pool().stats().workers > 0);
}

#[test]
fn the_caches_or_nothing() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    let how = OpenHow { flags: OpenFlags::READ, resolve: Resolve::CACHED, ..OpenHow::default() };
    let cached = |id| {
        [
            Entry::new(id, Op::Openat2 { place: "/d/a".into(), how }),
            Entry::new(id + 1, Op::Lookup { place: "/d/a".into(), flags: Default::default(), resolve: Resolve::CACHED }),
            Entry::new(id + 2, Op::Readlink { place: "/link".into(), resolve: Resolve::CACHED }),
            Entry::new(id + 3, Op::Readlink { place: "/link".into(), resolve: Resolve::CACHED }).with(EntryFlags::ASYNC),
        ]
    };
    submit(&mut ring, cached(0));
    assert_eq!(results(&mut ring), [(0, EAGAIN), (1, EAGAIN), (2, EAGAIN), (3, EAGAIN)]);
    assert_eq!(fs.lookups.load(SeqCst), 0);
    context.stat("/link").unwrap();
    submit(&mut ring, cached(0));
    assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, 3), (3, 3)]);
}

/// Checks that a worker calls a file system that cannot open at once. The file is the same, and the
/// first try has no visible effect.
#[test]
fn what_cannot_be_opened_at_once_is_opened_by_a_worker() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    context.stat("/d/a").unwrap();
    for late in [false, true] {
        fs.opens_late.store(late, SeqCst);
        submit(&mut ring, [Entry::new(0, Op::open("/d/a", OpenFlags::READ))]);
        let Ok(Value::File(file)) = all(&mut ring).remove(0).result else { panic!("a file") };
        assert_eq!((file.flags(), file.read_at(&mut [0; 4], 0)), (OpenFlags::READ, Ok(0)));
        assert_eq!(fs.opens.load(SeqCst), u64::from(late));
    }
    let how = OpenHow { flags: OpenFlags::READ, resolve: Resolve::CACHED, ..OpenHow::default() };
    submit(&mut ring, [Entry::new(0, Op::Openat2 { place: "/d/a".into(), how })]);
    assert_eq!(results(&mut ring), [(0, EAGAIN)]);
}

#[test]
fn every_operation_does_what_it_is_called() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 2);
    let linked = |id, op| Entry::new(id, op).with(LINK);
    let d = context.lookup("/d").unwrap();
    let make = OpenHow { flags: OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    submit(
        &mut ring,
        [
            linked(0, Op::Mkdirat { place: "/new".into(), mode: 0o700 }),
            linked(1, Op::Symlinkat { body: "../d".into(), place: "/new/way".into() }),
            linked(2, Op::Openat2 { place: "/new/way/f".into(), how: make }),
            linked(3, Op::Linkat { from: Place::new(At::Handle(&d), "f"), to: "/g".into(), flags: Default::default() }),
            linked(4, Op::Renameat { from: "/g".into(), to: "/new/g".into(), flags: RenameFlags::empty() }),
            linked(5, Op::Unlinkat { place: "/new/way".into(), flags: UnlinkFlags::empty() }),
            Entry::new(6, Op::Unlinkat { place: "/new".into(), flags: UnlinkFlags::REMOVEDIR }),
        ],
    );
    let done = all(&mut ring);
    let of = |id| done.iter().find(|done| done.user_data == id).unwrap();
    assert_eq!((0..6).map(|id| of(id).res()).collect::<Vec<_>>(), [0; 6]);
    assert_eq!(of(6).res(), -Errno::ENOTEMPTY.raw());
    let Ok(Value::File(file)) = &of(2).result else { panic!("{done:?}") };

    let file = || file.clone();
    submit(
        &mut ring,
        [
            linked(0, Op::Write { file: file(), data: b"hello world".into(), offset: Offset::Current }),
            linked(1, Op::Write { file: file(), data: b"H".into(), offset: Offset::At(0) }),
            linked(2, Op::Fsync { file: file(), what: SyncWhat::Data }),
            linked(3, Op::Read { file: file(), buffer: vec![0; 5], offset: Offset::At(0) }),
            Entry::new(4, Op::Close { file: file() }),
        ],
    );
    let done = all(&mut ring);
    assert_eq!(done.iter().map(|done| done.res()).collect::<Vec<_>>(), [11, 1, 0, 5, 0]);
    assert!(matches!(&done[3].result, Ok(Value::Read(data)) if data == b"Hello"));

    let dir = std::sync::Arc::new(context.open("/new", OpenFlags::READ).unwrap());
    let mut names = Vec::new();
    loop {
        submit(&mut ring, [Entry::new(0, Op::Getdents { file: dir.clone(), at_most: 2 })]);
        let Ok(Value::Listed(listed)) = all(&mut ring).remove(0).result else { panic!("a listing") };
        assert!(listed.len() <= 2);
        if listed.is_empty() {
            break;
        }
        names.extend(listed.into_iter().map(|listed| listed.name));
    }
    names.sort_unstable();
    assert_eq!(names, [&b"."[..], b"..", b"g"].map(Box::from));
}

#[test]
fn a_full_queue_pushes_back() {
    let (fs, context) = world();
    let mut ring = Ring::builder(context).entries(2).completions(3).pool(pool(1)).build();
    let mut queue = ring.queue();
    queue.push(Entry::new(0, Op::stat("/slow0"))).unwrap();
    queue.push(Entry::new(1, Op::Nop)).unwrap();
    assert_eq!(queue.push(Entry::new(2, Op::Nop)).map_err(Errno::from), Err(Errno::EBUSY));
    assert_eq!(ring.submit(&mut queue), Ok(2));
    queue.push(Entry::new(2, Op::Nop)).unwrap();
    queue.push(Entry::new(3, Op::Nop)).unwrap();
    assert_eq!((ring.submit(&mut queue), queue.len()), (Ok(1), 1), "as many as there is room for");
    assert_eq!(ring.submit(&mut queue), Err(Errno::EBUSY));
    assert_eq!(ring.submit_one(Entry::new(4, Op::Nop)), Err(Errno::EBUSY));
    assert_eq!(ring.reap().unwrap().user_data, 1);
    assert_eq!(ring.submit(&mut queue), Ok(1));
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, 0), (2, 0), (3, 0)]);
    let mut long = Ring::new(ring.context().clone()).queue();
    (0..2).for_each(|id| long.push(Entry::new(id, Op::Nop).with(LINK)).unwrap());
    long.push(Entry::new(2, Op::Nop)).unwrap();
    assert_eq!(ring.submit(&mut long), Ok(3), "as many linked entries as there is room for");
    assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, 0)]);
    (0..4).for_each(|id| long.push(Entry::new(id, Op::Nop).with(LINK)).unwrap());
    assert_eq!(ring.submit(&mut long), Err(Errno::EINVAL), "linked entries are taken together or not at all");
}

#[test]
fn unknown_flags_are_refused() {
    let (_, context) = world();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::Nop).with(EntryFlags::from_bits_retain(1))]);
    assert_eq!(results(&mut ring), [(0, EINVAL)]);
    submit(&mut ring, [Entry::new(0, Op::Mkdirat { place: "/d".into(), mode: 0o700 })]);
    assert_eq!(results(&mut ring), [(0, EEXIST)]);
}
