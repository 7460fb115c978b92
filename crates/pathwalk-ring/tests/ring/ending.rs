//! Cancellation, time, drops, and notifications.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use pathwalk::Errno;
use pathwalk_ring::{Entry, EntryFlags, Op, Ring};

use crate::LINK;
use crate::common::*;

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
    // One entry runs when its time limit expires; one waits; one waits with more behind it; one is
    // answered at once.
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
    // One entry ends in time. The others are time limits of nothing, or of a limit.
    submit(&mut ring, [slow(0, "/slow5"), limit(1, 100_000), limit(2, 1), slow(3, "/"), limit(4, 1).with(LINK), limit(5, 1)]);
    assert_eq!(results(&mut ring), [(0, 0), canceled(1), (2, EINVAL), (3, 0), canceled(4), (5, EINVAL)]);
}

/// Checks that a worker looks at the time itself before it begins an entry.
#[test]
fn a_time_limit_expires_while_the_owner_looks_at_nothing() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::stat("/slow0"))]);
    fs.wait_for(1);
    let limit = Op::LinkTimeout { after: Duration::from_millis(5) };
    submit(&mut ring, [Entry::new(1, Op::stat("/slow1")).with(LINK), Entry::new(2, limit)]);
    std::thread::sleep(Duration::from_millis(10));
    fs.open_gate();
    eventually("both entries have ended", || ring.pool().stats().idle == ring.pool().stats().workers);
    assert_eq!(results(&mut ring), [(0, 0), (1, ECANCELED), (2, ETIME)]);
    assert_eq!(fs.arrived.load(SeqCst), 1);
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

/// Checks that the drop looks for work that the pool still has, however many completions and
/// timeouts the ring keeps: here two and three of six entries.
#[test]
fn a_dropped_ring_withdraws_work_beside_completions_and_timeouts() {
    let (fs, context) = world();
    let shared = pool(1);
    let [mut holder, mut ring] = [(); 2].map(|()| Ring::builder(context.clone()).pool(shared.clone()).build());
    submit(&mut holder, [Entry::new(0, Op::stat("/slow0"))]);
    fs.wait_for(1);
    submit(&mut ring, [Entry::new(0, Op::Nop), Entry::new(1, Op::Nop)]);
    submit(&mut ring, (2..5).map(|id| Entry::new(id, Op::Timeout { after: Duration::from_secs(600) })));
    submit(&mut ring, [Entry::new(5, Op::Mkdirat { place: "/queued".into(), mode: 0o700 })]);
    assert_eq!((ring.outstanding(), shared.stats().queued), (6, 1));
    drop(ring);
    assert_eq!(shared.stats().queued, 0);
    fs.open_gate();
    assert_eq!(results(&mut holder), [(0, 0)]);
    assert_eq!(context.stat("/queued"), Err(Errno::ENOENT));
}

/// Checks that an owner need not wait in the ring: `reap` alone fetches what the workers have done.
#[test]
fn completions_of_workers_are_reaped_without_a_wait() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    assert!(ring.reap().is_none());
    submit(&mut ring, [Entry::new(0, Op::stat("/slow0"))]);
    fs.wait_for(1);
    assert!(ring.reap().is_none());
    fs.open_gate();
    eventually("the call has ended", || ring.pool().stats().idle == ring.pool().stats().workers);
    assert_eq!(ring.reap().map(|done| (done.user_data, done.res())), Some((0, 0)));
    assert!(ring.reap().is_none());
}

/// Checks that an owner that waits elsewhere is notified, and by which thread, and when to check
/// again.
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
    let teller = bell.recv_timeout(Duration::from_secs(60)).expect("the bell rings");
    assert_ne!(teller, std::thread::current().id());
    assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, ECANCELED), (3, ETIME)]);
    assert_eq!(ring.next_timeout(), None);
}
