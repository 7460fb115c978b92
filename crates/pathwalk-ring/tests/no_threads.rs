//! A process in which no thread can be started: the work that waits completes with the errno of
//! that, unless there is a thread already. The test is alone in its process, whose limit it lowers.

mod common;

use std::sync::atomic::Ordering::SeqCst;

use common::*;
use pathwalk_ring::{Entry, Op};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Runs `what` with an address space that is too small for the stack of another thread.
fn without_threads<T>(what: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::As);
    let size = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = size.split(' ').next().unwrap().parse().unwrap();
    let enough = pages * rustix::param::page_size() as u64 + (1 << 20);
    setrlimit(Resource::As, Rlimit { current: Some(enough), ..before }).unwrap();
    let answer = what();
    setrlimit(Resource::As, before).unwrap();
    answer
}

fn stats(ids: std::ops::Range<u64>) -> impl Iterator<Item = Entry<'static>> {
    const PATHS: [&str; 3] = ["/slow0", "/slow1", "/slow2"];
    ids.map(|id| Entry::new(id, Op::stat(PATHS[id as usize / 2])))
}

/// Checks all cases in one test, because the limit is the whole process's.
#[test]
fn what_waits_is_answered_or_waits_for_another_worker() {
    let (fs, context) = world();
    let mut ring = ring(&context, 2);
    let alone = without_threads(|| {
        submit(&mut ring, stats(0..3));
        results(&mut ring)
    });
    assert_eq!(alone, [(0, EAGAIN), (1, EAGAIN), (2, EAGAIN)]);
    let now = ring.pool().stats();
    assert_eq!((now.workers, now.idle, now.queued, now.parked, fs.lookups.load(SeqCst)), (0, 0, 0, 0, 0));
    submit(&mut ring, stats(0..1));
    fs.wait_for(1);
    without_threads(|| submit(&mut ring, stats(2..5)));
    let now = ring.pool().stats();
    assert_eq!((now.workers, now.idle, now.queued, now.parked), (1, 0, 2, 1));
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, 0), (2, 0), (3, 0), (4, 0)]);
}
