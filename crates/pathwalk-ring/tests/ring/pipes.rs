//! Named pipes: waits that take no worker from other work, and that end when they are cancelled.

use std::future::Future;
use std::sync::Arc;

use pathwalk::{Context, Errno, File, NewKind, OpenFlags};
use pathwalk_ring::{AsyncContext, Entry, Offset, Op, Ring, Value};

use crate::LINK;
use crate::common::*;

fn with_pipe() -> Context {
    let (fs, context) = world();
    fs.open_gate();
    context.mknod("/pipe", NewKind::Fifo, 0o600).unwrap();
    context
}

fn waiting(ring: &Ring, count: usize) {
    eventually("threads wait in the pipe", || ring.pool().stats().waiting == count);
}

fn open(ring: &mut Ring, flags: OpenFlags) -> Arc<File> {
    submit(ring, [Entry::new(0, Op::open("/pipe", flags))]);
    match all(ring).remove(0).result {
        Ok(Value::File(file)) => file,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_open_waits_for_its_partner_and_takes_no_worker() {
    let context = with_pipe();
    let mut ring = ring(&context, 1);
    submit(&mut ring, (0..3).map(|id| Entry::new(id, Op::open("/pipe", OpenFlags::READ))));
    waiting(&ring, 3);
    submit(&mut ring, [Entry::new(3, Op::stat("/slow0")), Entry::new(4, Op::open("/pipe", OpenFlags::WRITE))]);
    assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]);
    eventually("the threads have ended", || ring.pool().stats() == Default::default());
}

#[test]
fn a_wait_is_cancelled() {
    let context = with_pipe();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(7, Op::open("/pipe", OpenFlags::WRITE))]);
    waiting(&ring, 1);
    assert_eq!(ring.cancel(7), Err(Errno::EALREADY));
    assert_eq!(results(&mut ring), [(7, ECANCELED)]);

    let file = open(&mut ring, OpenFlags::READ | OpenFlags::WRITE);
    let offset = Offset::Current;
    submit(&mut ring, [Entry::new(8, Op::Read { file: file.clone(), buffer: vec![0; 9], offset })]);
    waiting(&ring, 1);
    assert_eq!(ring.cancel(8), Err(Errno::EALREADY));
    assert_eq!(results(&mut ring), [(8, ECANCELED)]);

    submit(&mut ring, [Entry::new(9, Op::Write { file, data: vec![0; 70_000], offset })]);
    waiting(&ring, 1);
    assert_eq!(ring.cancel(9), Err(Errno::EALREADY));
    assert_eq!(results(&mut ring), [(9, 65_536)], "what was written");
}

#[test]
fn data_goes_through() {
    let context = with_pipe();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(1, Op::open("/pipe", OpenFlags::READ)), Entry::new(2, Op::open("/pipe", OpenFlags::WRITE))]);
    let mut files = all(&mut ring);
    files.sort_by_key(|done| done.user_data);
    let files = files.into_iter().map(|done| done.result);
    let [Ok(Value::File(reader)), Ok(Value::File(writer))] = &files.collect::<Vec<_>>()[..] else { panic!("both are open") };
    let read = |offset| Op::Read { file: reader.clone(), buffer: vec![0; 9], offset };
    submit(&mut ring, [Entry::new(3, read(Offset::Current)), Entry::new(4, read(Offset::At(0)))]);
    submit(&mut ring, [Entry::new(5, Op::Write { file: writer.clone(), data: b"hello".to_vec(), offset: Offset::Current })]);
    assert_eq!(results(&mut ring), [(3, 5), (4, -29), (5, 5)]);
    let nonblocking = OpenFlags::READ | OpenFlags::NONBLOCK;
    let reader = open(&mut ring, nonblocking);
    submit(&mut ring, [Entry::new(6, Op::Read { file: reader, buffer: vec![0; 9], offset: Offset::Current })]);
    assert_eq!(results(&mut ring), [(6, EAGAIN)]);
}

/// Drops a ring and a future whose work waits; also linked work.
#[test]
fn what_is_dropped_waits_no_longer() {
    let context = with_pipe();
    let mut ring = ring(&context, 1);
    let pool = ring.pool().clone();
    submit(&mut ring, [Entry::new(0, Op::open("/pipe", OpenFlags::READ)).with(LINK), Entry::new(1, Op::Nop)]);
    waiting(&ring, 1);
    assert_eq!(ring.cancel(1), Err(Errno::EALREADY), "the chain runs");
    assert_eq!(pool.stats().waiting, 1, "and what it does now goes on");
    drop(ring);
    eventually("the thread has ended", || pool.stats().waiting == 0);

    let vfs = AsyncContext::new(context.clone(), pool.clone());
    let mut future = Box::pin(vfs.open("/pipe", OpenFlags::WRITE));
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut task).is_pending());
    eventually("the future's open waits", || pool.stats().waiting == 1);
    drop(future);
    eventually("the thread has ended", || pool.stats().waiting == 0);
    let writer = context.open("/pipe", OpenFlags::WRITE | OpenFlags::NONBLOCK);
    assert_eq!(writer.unwrap_err(), Errno::ENXIO, "the openers have left");
}
