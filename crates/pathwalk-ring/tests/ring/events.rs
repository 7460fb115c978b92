//! Events of a subscription: at once where there is one, by a worker that waits where there is
//! none, and none is lost with what is cancelled.

use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};
use std::thread::yield_now;

use pathwalk::{Context, Credentials, Event, Subscription, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Entry, Op, Ring};

use crate::common::{pool, results, submit};

const ECANCELED: i32 = -125;

fn world() -> (Context, Arc<Subscription>) {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let events = Arc::new(context.vfs().subscribe(context.root(), 10).unwrap());
    (context, events)
}

fn poll(events: &Arc<Subscription>) -> Op<'static> {
    Op::PollEvents { subscription: events.clone() }
}

#[test]
fn an_event_that_is_there_takes_no_worker() {
    let (context, events) = world();
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    context.mkdir("/new", 0o755).unwrap();
    submit(&mut ring, [Entry::new(0, poll(&events))]);
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, 0)], 0));
    assert!(events.is_ready() && events.try_next().is_some());
}

#[test]
fn one_that_waits_takes_no_worker_from_others_and_ends() {
    let (context, events) = world();
    let mut ring = Ring::builder(context.clone()).pool(pool(1)).build();
    submit(&mut ring, [Entry::new(0, poll(&events))]);
    // The one worker is free for a change, which makes the event.
    submit(&mut ring, [Entry::new(1, Op::Mkdirat { place: "/new".into(), mode: 0o755 })]);
    ring.wait(2);
    let mut both = results(&mut ring);
    both.sort_unstable();
    assert_eq!(both, [(0, 0), (1, 0)]);
    assert!(events.try_next().is_some());
    // Cancelled while it waits.
    submit(&mut ring, [Entry::new(2, poll(&events))]);
    while ring.cancel(2).is_ok_and(|()| false) {
        yield_now();
    }
    ring.wait(1);
    assert_eq!(results(&mut ring), [(2, ECANCELED)]);
}

#[test]
fn a_future_that_is_dropped_takes_no_event_along() {
    let (context, events) = world();
    let vfs = AsyncContext::new(context.clone(), pool(2));
    let mut task = Task::from_waker(Waker::noop());
    for n in 0..100 {
        let mut next = Box::pin(vfs.next_event(&events));
        assert!(next.as_mut().poll(&mut task).is_pending());
        let make = std::thread::spawn({
            let context = context.clone();
            move || context.mkdir(format!("/{n}"), 0o755).unwrap()
        });
        drop(next);
        make.join().unwrap();
        let Poll::Ready(event) = Box::pin(vfs.next_event(&events)).as_mut().poll(&mut task) else { panic!("it is lost: {n}") };
        assert!(matches!(event, Ok(Event::Created { path, .. }) if *path == *n.to_string().as_bytes()));
    }
}
