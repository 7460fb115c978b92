//! The ring, one rule a test.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use common::*;
use pathwalk::{Access, At, Errno, FileType, OpenFlags, OpenHow, RenameFlags, Resolve, SyncWhat};
use pathwalk_ring::{Entry, EntryFlags, Offset, Op, Place, Removal, Ring, Value};

const LINK: EntryFlags = EntryFlags::LINK;

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

/// A file system that cannot open at once is asked by a worker; the file is the same, and nobody sees that it was tried.
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
            linked(5, Op::Unlinkat { place: "/new/way".into(), what: Removal::Name }),
            Entry::new(6, Op::Unlinkat { place: "/new".into(), what: Removal::Directory }),
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

    let dir = std::sync::Arc::new(context.open(At::Cwd, "/new", &OpenFlags::READ.into()).unwrap());
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
    (0..4).for_each(|id| long.push(Entry::new(id, Op::Nop).with(LINK)).unwrap());
    assert_eq!(ring.submit(&mut long), Err(Errno::EINVAL), "linked entries are taken together or not at all");
}

#[test]
fn links_go_on_after_success_only() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 2);
    let mkdir = |place: &'static str| Op::Mkdirat { place: place.into(), mode: 0o700 };
    let chain = |flags| {
        [
            Entry::new(0, Op::Nop).with(LINK),
            Entry::new(1, Op::stat("/none")).with(flags),
            Entry::new(2, mkdir("/never")).with(LINK),
            Entry::new(3, Op::Nop),
            Entry::new(4, Op::stat("/slow1")),
        ]
    };
    submit(&mut ring, chain(LINK));
    assert_eq!(results(&mut ring), [(0, 0), (1, ENOENT), (2, ECANCELED), (3, ECANCELED), (4, 0)]);
    assert_eq!(context.stat("/never"), Err(Errno::ENOENT));
    submit(&mut ring, chain(LINK));
    assert_eq!(results(&mut ring), [(0, 0), (1, ENOENT), (2, ECANCELED), (3, ECANCELED), (4, 0)], "from the caches");
    submit(&mut ring, chain(EntryFlags::HARDLINK));
    assert_eq!(results(&mut ring), [(0, 0), (1, ENOENT), (2, 0), (3, 0), (4, 0)]);
}

#[test]
fn a_short_read_breaks_a_chain() {
    let (_, context) = world();
    let mut ring = ring(&context, 1);
    let make = OpenHow { flags: OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    let file = std::sync::Arc::new(context.open(At::Cwd, "/f", &make).unwrap());
    file.write(b"four").unwrap();
    let read = |id, length| Entry::new(id, Op::Read { file: file.clone(), buffer: vec![0; length], offset: Offset::At(0) });
    submit(&mut ring, [read(0, 4).with(LINK), read(1, 5).with(LINK), read(2, 4)]);
    assert_eq!(results(&mut ring), [(0, 4), (1, 4), (2, ECANCELED)]);
}

#[test]
fn what_waits_can_be_cancelled() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::stat("/slow0")).with(LINK), Entry::new(1, Op::Nop)]);
    fs.wait_for(1);
    submit(
        &mut ring,
        [
            Entry::new(2, Op::stat("/slow1")),
            Entry::new(3, Op::stat("/slow2")).with(LINK),
            Entry::new(4, Op::Nop).with(LINK),
            Entry::new(5, Op::Nop),
            Entry::new(6, Op::stat("/slow3")).with(LINK),
            Entry::new(7, Op::Nop),
            Entry::new(8, Op::stat("/slow4")).with(EntryFlags::HARDLINK),
            Entry::new(9, Op::Nop),
            Entry::new(10, Op::Cancel { user_data: 2 }),
        ],
    );
    assert_eq!(ring.cancel(0), Err(Errno::EALREADY));
    assert_eq!(ring.cancel(1), Err(Errno::EALREADY), "behind one that runs");
    assert_eq!(ring.cancel(2), Err(Errno::ENOENT), "twice");
    assert_eq!(ring.cancel(4), Ok(()), "in the middle");
    assert_eq!(ring.cancel(6), Ok(()));
    assert_eq!(ring.cancel(8), Ok(()));
    assert_eq!(ring.cancel(99), Err(Errno::ENOENT));
    fs.open_gate();
    let canceled = |id| (id, ECANCELED);
    let expected =
        [(0, 0), (1, 0), canceled(2), (3, 0), canceled(4), canceled(5), canceled(6), canceled(7), canceled(8), (9, 0), (10, 0)];
    assert_eq!(results(&mut ring), expected);
    assert_eq!(fs.arrived.load(SeqCst), 2);
}

#[test]
fn timeouts() {
    let (_, context) = world();
    let mut ring = ring(&context, 1);
    let timeout = |id, milliseconds| Entry::new(id, Op::Timeout { after: Duration::from_millis(milliseconds) });
    submit(&mut ring, [timeout(0, 20), timeout(1, 0), timeout(2, 100_000)]);
    assert!(ring.wait(1) >= 1);
    assert_eq!(ring.reap().map(|done| (done.user_data, done.res())), Some((1, ETIME)));
    assert_eq!(ring.wait_for(2, Duration::from_millis(60)), Err(Errno::ETIME));
    assert_eq!(ring.reap().map(|done| (done.user_data, done.res())), Some((0, ETIME)));
    assert_eq!(ring.wait_for(1, Duration::ZERO), Err(Errno::ETIME));
    assert_eq!(ring.cancel(2), Ok(()));
    submit(&mut ring, [timeout(3, 1).with(LINK), Entry::new(4, Op::Nop)]);
    assert_eq!(results(&mut ring), [(2, ECANCELED), (3, EINVAL), (4, ECANCELED)]);
    assert_eq!(ring.wait(1), 0, "nothing is outstanding");
}

#[test]
fn time_limits_of_entries() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    let limit = |id, milliseconds| Entry::new(id, Op::LinkTimeout { after: Duration::from_millis(milliseconds) });
    let slow = |id, path: &'static str| Entry::new(id, Op::stat(path)).with(LINK);
    // Runs when its time is over; waits; waits with more behind it; is answered at once.
    submit(&mut ring, [slow(0, "/slow0"), limit(1, 1000)]);
    fs.wait_for(1);
    submit(
        &mut ring,
        [
            slow(2, "/slow1"),
            limit(3, 10),
            slow(4, "/slow2"),
            limit(5, 10).with(LINK),
            Entry::new(6, Op::Nop),
            slow(7, "/"),
            limit(8, 0),
        ],
    );
    assert_eq!(ring.wait(8), 8);
    let mut early: Vec<_> = std::iter::from_fn(|| ring.reap()).map(|done| (done.user_data, done.res())).collect();
    early.sort_unstable();
    let canceled = |id| (id, ECANCELED);
    assert_eq!(early, [(1, EALREADY), canceled(2), (3, ETIME), canceled(4), (5, ETIME), canceled(6), (7, 0), canceled(8)]);
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, 0)]);
    // Ends in time; and limits of nothing, or of a limit.
    submit(&mut ring, [slow(0, "/slow5"), limit(1, 100_000), limit(2, 1), slow(3, "/"), limit(4, 1).with(LINK), limit(5, 1)]);
    assert_eq!(results(&mut ring), [(0, 0), canceled(1), (2, EINVAL), (3, 0), canceled(4), (5, EINVAL)]);
}

#[test]
fn who_misses_one_name_takes_one_worker() {
    let (fs, context) = world();
    let mut ring = ring(&context, 8);
    submit(&mut ring, (0..50).map(|id| Entry::new(id, Op::stat(if id % 2 == 0 { "/slow0" } else { "/./slow0" }))));
    fs.wait_for(1);
    let stats = ring.pool().stats();
    assert_eq!((stats.workers, stats.queued, stats.parked), (1, 0, 49));
    // Also who comes when the file system is being asked, by a ring or by anybody.
    submit(&mut ring, [Entry::new(50, Op::stat("/slow0"))]);
    assert_eq!(ring.pool().stats().parked, 50);
    assert_eq!(ring.cancel(7), Ok(()));
    fs.open_gate();
    let results = results(&mut ring);
    assert!(results.iter().all(|(id, res)| *res == if *id == 7 { ECANCELED } else { 0 }), "{results:?}");
    assert_eq!((results.len(), fs.lookups.load(SeqCst)), (51, 1));
}

/// Who waits for a name waits for that, and not for what is linked behind whoever asks for it.
#[test]
fn a_name_is_released_when_it_is_answered() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    submit(
        &mut ring,
        [
            Entry::new(0, Op::stat("/late")).with(EntryFlags::HARDLINK),
            Entry::new(1, Op::stat("/slow0")),
            Entry::new(2, Op::stat("/late")),
        ],
    );
    fs.wait_for(1);
    assert_eq!(ring.wait_for(2, Duration::from_secs(10)), Ok(2));
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, ENOENT), (1, 0), (2, ENOENT)]);
}

/// The one who was to ask for the others is cancelled: another asks.
#[test]
fn an_heir_asks() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::stat("/slow0"))]);
    fs.wait_for(1);
    submit(&mut ring, (1..4).map(|id| Entry::new(id, Op::stat("/slow1"))));
    assert_eq!(ring.pool().stats().parked, 2);
    assert_eq!(ring.cancel(1), Ok(()));
    assert_eq!((ring.pool().stats().queued, ring.pool().stats().parked), (1, 1));
    assert_eq!((ring.cancel(2), ring.cancel(3)), (Ok(()), Ok(())));
    assert_eq!((ring.pool().stats().queued, ring.pool().stats().parked), (0, 0));
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, 0), (1, ECANCELED), (2, ECANCELED), (3, ECANCELED)]);
}

#[test]
fn workers_come_and_go() {
    let (fs, context) = world();
    let mut ring = ring(&context, 3);
    let paths = ["/slow0", "/slow1", "/slow2", "/slow3", "/slow4"];
    submit(&mut ring, paths.iter().zip(0..).map(|(path, id)| Entry::new(id, Op::stat(*path))));
    fs.wait_for(3);
    let stats = ring.pool().stats();
    assert_eq!((stats.workers, stats.idle, stats.queued), (3, 0, 2));
    fs.open_gate();
    assert_eq!(results(&mut ring).len(), 5);
    eventually("no worker is left", || ring.pool().stats().workers == 0);
    submit(&mut ring, [Entry::new(0, Op::stat("/slow7"))]);
    assert_eq!(results(&mut ring), [(0, 0)]);
}

#[test]
fn a_file_system_that_panics_takes_no_worker_away() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::stat("/panic")).with(LINK), Entry::new(1, Op::Nop), Entry::new(2, Op::stat("/slow0"))]);
    assert_eq!(results(&mut ring), [(0, EIO), (1, ECANCELED), (2, 0)]);
}

#[test]
fn a_ring_that_is_dropped_begins_nothing_more() {
    let (fs, context) = world();
    let shared = pool(1);
    let mut ring = Ring::builder(context.clone()).pool(shared.clone()).build();
    let mkdir = |id, place: &'static str| Entry::new(id, Op::Mkdirat { place: place.into(), mode: 0o700 });
    submit(&mut ring, [Entry::new(0, Op::stat("/slow0")).with(LINK), mkdir(1, "/behind"), mkdir(2, "/queued")]);
    fs.wait_for(1);
    submit(&mut ring, [Entry::new(3, Op::stat("/slow0"))]);
    drop(ring);
    assert_eq!((shared.stats().queued, shared.stats().parked), (0, 0));
    fs.open_gate();
    eventually("the call that ran has ended", || shared.stats().idle == shared.stats().workers);
    assert_eq!(context.stat("/slow0").map(drop), Ok(()));
    assert_eq!((context.stat("/behind"), context.stat("/queued")), (Err(Errno::ENOENT), Err(Errno::ENOENT)));
}

/// An owner who waits elsewhere is told, by whom it was done and when to look again.
#[test]
fn who_waits_elsewhere_is_notified() {
    let (fs, context) = world();
    let (told, bell) = std::sync::mpsc::channel();
    let notify = move || {
        told.send(std::thread::current().id()).unwrap();
        std::panic::resume_unwind(Box::new("a bell that breaks takes no worker away"));
    };
    let mut ring = Ring::builder(context).pool(pool(1)).notify(notify).build();
    assert_eq!(ring.next_timeout(), None);
    let limit = Entry::new(2, Op::LinkTimeout { after: Duration::from_secs(60) });
    submit(&mut ring, [Entry::new(0, Op::Nop), Entry::new(1, Op::stat("/slow0")).with(LINK), limit]);
    assert!(bell.try_recv().is_err(), "what is answered in submit needs no bell");
    assert!(ring.next_timeout().is_some());
    submit(&mut ring, [Entry::new(3, Op::Timeout { after: Duration::ZERO })]);
    assert!(ring.next_timeout().unwrap() <= std::time::Instant::now());
    fs.open_gate();
    assert_ne!(bell.recv_timeout(Duration::from_secs(60)), Ok(std::thread::current().id()));
    assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, ECANCELED), (3, ETIME)]);
    assert_eq!(ring.next_timeout(), None);
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
