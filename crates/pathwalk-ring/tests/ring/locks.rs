//! Requests for locks: tried at once, done by a worker if they conflict, and cancelled while they
//! wait.

use std::sync::Arc;
use std::thread::yield_now;
use std::time::Duration;

use pathwalk::{Context, Credentials, Errno, File, LockKind, LockRange, LockWait, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Entry, EntryFlags, Lock, Op, Ring};

use crate::LINK;
use crate::common::{EALREADY, eventually, pool, results, submit};

const ECANCELED: i32 = -125;
const EAGAIN: i32 = -11;

/// Returns a context, with a file that has the exclusive lock and one that has none.
fn world() -> (Context, File, Arc<File>) {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let open = || context.open("/f", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    let (holder, other) = (open(), open());
    holder.lock().unwrap();
    (context, holder, Arc::new(other))
}

/// Waits until a request waits for a lock.
fn until_one_waits(context: &Context) {
    while context.vfs().locks().waiting == 0 {
        yield_now();
    }
}

fn exclusive(file: &Arc<File>) -> Op<'static> {
    Op::Lock { file: file.clone(), lock: Lock::Flock, kind: LockKind::Exclusive, wait: LockWait::Yes }
}

#[test]
fn what_need_not_wait_takes_no_worker() {
    let (context, holder, other) = world();
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    let at_once = |lock, kind| Op::Lock { file: other.clone(), lock, kind, wait: LockWait::No };
    submit(&mut ring, [Entry::new(0, at_once(Lock::Flock, LockKind::Shared))]);
    submit(&mut ring, [Entry::new(1, at_once(Lock::OfdRange(LockRange::WHOLE), LockKind::Exclusive))]);
    submit(&mut ring, [Entry::new(2, at_once(Lock::OfdRange(LockRange::new(0, 1)), LockKind::Shared))]);
    submit(&mut ring, [Entry::new(3, at_once(Lock::OfdRange(LockRange::WHOLE), LockKind::Unlock))]);
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, EAGAIN), (1, 0), (2, 0), (3, 0)], 0));
    drop(holder);
}

#[test]
fn the_release_needs_no_worker() {
    let (context, holder, other) = world();
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    submit(&mut ring, [Entry::new(0, exclusive(&other))]);
    until_one_waits(&context);
    let unlock = Op::Lock { file: Arc::new(holder), lock: Lock::Flock, kind: LockKind::Unlock, wait: LockWait::No };
    submit(&mut ring, [Entry::new(1, unlock)]);
    ring.wait(2);
    let mut both = results(&mut ring);
    both.sort_unstable();
    assert_eq!(both, [(0, 0), (1, 0)]);
}

#[test]
fn a_request_that_waits_is_cancelled() {
    let (context, holder, other) = world();
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    submit(&mut ring, [Entry::new(7, exclusive(&other))]);
    until_one_waits(&context);
    assert_eq!(ring.cancel(7), Err(Errno::EALREADY));
    ring.wait(1);
    assert_eq!(results(&mut ring), [(7, ECANCELED)]);
    assert_eq!(context.vfs().locks().waiting, 0);
    drop(holder);
    submit(&mut ring, [Entry::new(8, exclusive(&other))]);
    assert_eq!(results(&mut ring), [(8, 0)]);
}

/// Checks that the end of one entry takes no other running entry out of the pool's list.
#[test]
fn a_request_that_waits_is_found_after_others_have_ended() {
    let (context, _holder, other) = world();
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    submit(&mut ring, [Entry::new(7, exclusive(&other))]);
    until_one_waits(&context);
    submit(&mut ring, [Entry::new(8, Op::Nop).with(EntryFlags::ASYNC)]);
    ring.wait(1);
    assert_eq!(ring.reap().map(|done| (done.user_data, done.res())), Some((8, 0)));
    eventually("the worker of the other entry is idle", || ring.pool().stats().idle == ring.pool().stats().workers);
    assert_eq!(ring.cancel(7), Err(Errno::EALREADY));
    assert_eq!(results(&mut ring), [(7, ECANCELED)]);
}

/// Checks that the owner of a ring, which sleeps, sees the end of a time limit that a worker
/// begins.
#[test]
fn a_time_limit_begins_while_the_owner_sleeps() {
    let (context, holder, second) = world();
    let third = Arc::new(context.open("/f", OpenFlags::READ | OpenFlags::WRITE).unwrap());
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    // The second request waits for the first one's lock, beyond its time limit.
    let (first, next) = (Entry::new(0, exclusive(&second)), Entry::new(1, exclusive(&third)));
    let limit = Entry::new(2, Op::LinkTimeout { after: Duration::from_millis(10) });
    submit(&mut ring, [first.with(EntryFlags::LINK), next.with(EntryFlags::LINK), limit]);
    until_one_waits(&context);
    // By then the owner most likely sleeps. If it does not, the test shows less.
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(holder);
    });
    ring.wait(2);
    let mut early: Vec<_> = std::iter::from_fn(|| ring.reap()).map(|done| (done.user_data, done.res())).collect();
    early.sort_unstable();
    assert_eq!(early, [(0, 0), (2, EALREADY)]);
    second.unlock().unwrap();
    assert_eq!(results(&mut ring), [(1, 0)]);
    release.join().unwrap();
}

/// Checks that a request does not outlive the ring or the future for which it waits.
#[test]
fn a_ring_or_a_future_that_is_dropped_waits_no_more() {
    let (context, _holder, other) = world();
    let (workers, of_future) = (pool(1), pool(1));
    for behind in [0, 1] {
        let mut ring = Ring::builder(context.clone()).pool(workers.clone()).build();
        let flags = if behind == 0 { EntryFlags::empty() } else { LINK };
        let chain = (0..behind).map(|_| Entry::new(8, Op::Nop));
        submit(&mut ring, [Entry::new(7, exclusive(&other)).with(flags)].into_iter().chain(chain));
        until_one_waits(&context);
        drop(ring);
        eventually("the request has ended", || context.vfs().locks().waiting == 0);
    }
    let of_context = AsyncContext::new(context.clone(), of_future);
    let mut future = Box::pin(of_context.perform(exclusive(&other)));
    let waker = std::task::Waker::noop();
    assert!(future.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    // The ring's request may still be there.
    while context.vfs().locks().waiting != 1 || workers.stats().idle == 0 {
        yield_now();
    }
    drop(future);
    while context.vfs().locks().waiting > 0 {
        yield_now();
    }
}
