//! Calls and drops that block until they are released, except those that must not block: the owner
//! goes on.

use std::future::Future;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use pathwalk::Errno;
use pathwalk_ring::{AsyncContext, Entry, Op};

use crate::common::{ECANCELED, EEXIST, ENOENT, eventually};
use crate::wild::{AT_ONCE, CLOSE};
use crate::world::{OPS, World, all, numbers, push, within_a_minute};
use crate::{HARDLINK, LINK};

/// A guard: calls wait until it is dropped.
struct Gate {
    _open: Sender<()>,
}

fn close_gate(world: &World) -> Gate {
    close_gate_for(world, |call| !AT_ONCE.contains(&call))
}

/// Closes a gate for these calls.
fn close_gate_for(world: &World, waits: impl Fn(&str) -> bool + Send + Sync + 'static) -> Gate {
    let (gate, held) = channel();
    let held: Mutex<Receiver<()>> = Mutex::new(held);
    world.hooks.set(move |call, _| {
        if waits(call) {
            _ = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
        }
        Ok(())
    });
    Gate { _open: gate }
}

/// Checks that operations that need no file system are done meanwhile, in `submit`.
fn others_go_on(world: &World) {
    let mut other = world.ring();
    push(&mut other, [Entry::new(0, Op::access("/", pathwalk::Access::READ)), Entry::new(1, Op::Nop)]);
    assert_eq!((other.reap().map(|done| done.res()), other.reap().map(|done| done.res())), (Some(0), Some(0)));
    world.pool.stats();
}

/// Holds the one worker up, so that everything else waits.
fn hold_worker(world: &World, ring: &mut pathwalk_ring::Ring) {
    push(ring, [Entry::new(0, Op::stat("/held"))]);
    eventually("the worker has it", || world.pool.stats().queued == 0);
}

#[test]
fn submitting_waits_for_nobody() {
    for (name, op) in OPS {
        within_a_minute(name, move || {
            let world = World::new(1);
            let mut ring = world.ring();
            let ops = [(); 3].map(|()| op(&world));
            let gate = close_gate(&world);
            let flags = [LINK, HARDLINK, LINK];
            push(&mut ring, ops.into_iter().zip(flags).zip(0..).map(|((op, flags), id)| Entry::new(id, op).with(flags)));
            others_go_on(&world);
            drop(gate);
            drop(all(&mut ring, 3));
            drop(ring);
            world.end();
        });
    }
}

/// Cancels an entry in the middle of a chain, as its head, and alone; by the owner and by an entry.
#[test]
fn cancelling_waits_for_nobody() {
    for (name, op) in OPS {
        within_a_minute(name, move || {
            let world = World::new(1);
            let mut ring = world.ring();
            let ops = [(); 6].map(|()| op(&world));
            let gate = close_gate(&world);
            hold_worker(&world, &mut ring);
            let flags = [HARDLINK, LINK, LINK, pathwalk_ring::EntryFlags::empty(), LINK, LINK];
            let entries = ops.into_iter().zip(flags).zip(2..).map(|((op, flags), id)| {
                // All of them go to a worker.
                Entry::new(id, op).with(flags | pathwalk_ring::EntryFlags::ASYNC)
            });
            push(&mut ring, entries.collect::<Vec<_>>());
            assert_eq!((ring.cancel(3), ring.cancel(3)), (Ok(()), Err(Errno::ENOENT)));
            assert_eq!(ring.cancel(2), Ok(()));
            push(&mut ring, [Entry::new(1, Op::Cancel { user_data: 6 })]);
            others_go_on(&world);
            drop(gate);
            assert_eq!(numbers(&all(&mut ring, 8)), [&[ENOENT, 0][..], &[ECANCELED; 6]].concat());
            drop(ring);
            world.end();
        });
    }
}

#[test]
fn dropping_a_ring_waits_for_nobody() {
    for (name, op) in OPS {
        within_a_minute(name, move || {
            let world = World::new(1);
            let mut ring = world.ring();
            let ops = [(); 4].map(|()| op(&world));
            let opened = op(&world);
            world.context.stat("/a").unwrap();
            // Some entries are completed and hold files.
            push(&mut ring, [Entry::new(9, opened), Entry::new(10, Op::open("/a", pathwalk::OpenFlags::READ))]);
            ring.wait(2);
            world.is_quiet();
            let gate = close_gate(&world);
            hold_worker(&world, &mut ring);
            let flags = [HARDLINK, LINK, LINK, LINK];
            push(&mut ring, ops.into_iter().zip(flags).zip(1..).map(|((op, flags), id)| Entry::new(id, op).with(flags)));
            drop(ring);
            others_go_on(&world);
            drop(gate);
            world.end();
        });
    }
}

#[test]
fn dropping_a_future_waits_for_nobody() {
    for (name, op) in OPS {
        within_a_minute(name, move || {
            let world = World::new(1);
            let face = AsyncContext::new(world.context.clone(), world.pool.clone());
            let mut ring = world.ring();
            let ops = [(); 2].map(|()| op(&world));
            let gate = close_gate(&world);
            hold_worker(&world, &mut ring);
            let mut task = std::task::Context::from_waker(std::task::Waker::noop());
            for op in ops {
                let mut future = Box::pin(face.perform(op));
                let answer = future.as_mut().poll(&mut task);
                // A result belongs to the task, and so does its file.
                std::mem::forget(answer);
                drop(future);
            }
            others_go_on(&world);
            drop(gate);
            drop(all(&mut ring, 1));
            drop((ring, face));
            world.end();
        });
    }
}

/// Checks that all entries behind a failed one complete before a file that one of them held is
/// closed.
#[test]
fn closing_keeps_no_entry_from_completing() {
    within_a_minute("entries behind a failed one", || {
        let world = World::new(1);
        let mut ring = world.ring();
        let closes = [world.file(), world.file()].map(|file| Op::Close { file });
        let gate = close_gate_for(&world, |call| call == CLOSE);
        let ops = std::iter::once(Op::Mkdirat { place: "/d".into(), mode: 0o755 }).chain(closes);
        push(&mut ring, ops.zip(0..).map(|(op, id)| Entry::new(id, op).with(LINK)));
        assert_eq!(numbers(&all(&mut ring, 3)), [EEXIST, ECANCELED, ECANCELED]);
        drop(gate);
        drop(ring);
        world.end();
    });
}

/// Checks that a worker closes a file, also where a task requests it.
#[test]
fn a_task_closes_nothing_itself() {
    within_a_minute("closing in a task", || {
        let world = World::new(1);
        let face = AsyncContext::new(world.context.clone(), world.pool.clone());
        let (file, gate) = (world.file(), close_gate(&world));
        let mut future = Box::pin(face.close(file));
        let mut task = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(future.as_mut().poll(&mut task).is_pending());
        drop(gate);
        drop(future);
        drop(face);
        world.end();
    });
}
