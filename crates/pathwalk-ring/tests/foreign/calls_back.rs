//! Calls and drops that use the pool: each reads its state, submits to a ring over it and cancels
//! there, and drops a future of it.

use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use pathwalk_ring::{AsyncContext, Entry, EntryFlags, Op, Ring};

use crate::world::{MakeOp, OPS, World, all, push, within_a_minute};
use crate::{HARDLINK, LINK};

/// Makes each call use the pool from now on, by a ring over another `Vfs`. One at a time, because a
/// ring has one owner.
fn call_back(world: &World, other: &World) {
    let ring = Ring::builder(other.context.clone()).completions(256).pool(world.pool.clone()).build();
    let face = AsyncContext::new(other.context.clone(), world.pool.clone());
    let (pool, ring) = (world.pool.clone(), Mutex::new(ring));
    world.hooks.set(move |_, _| {
        pool.stats();
        let mut task = std::task::Context::from_waker(std::task::Waker::noop());
        _ = pin!(face.mkdir("/other", 0o700)).poll(&mut task);
        if let Ok(mut ring) = ring.try_lock() {
            _ = ring.submit_one(Entry::new(0, Op::Nop).with(EntryFlags::ASYNC));
            _ = ring.submit_one(Entry::new(1, Op::Nop).with(EntryFlags::ASYNC));
            _ = ring.cancel(1);
            while ring.reap().is_some() {}
        }
        Ok(())
    });
}

/// Runs an operation with links of both kinds, expired time limits, cancellation, and a ring and a
/// future that are dropped in the middle.
fn everything(world: &World, op: MakeOp, other: &World) {
    let ops = [(); 8].map(|()| op(world));
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    let [a, b, c, d, e, f, g, h] = ops;
    call_back(world, other);
    let limit = |id| Entry::new(id, Op::LinkTimeout { after: Duration::ZERO });
    let mut ring = world.ring();
    push(
        &mut ring,
        [
            Entry::new(0, a).with(LINK),
            limit(1).with(HARDLINK),
            Entry::new(2, b).with(HARDLINK),
            Entry::new(3, c).with(LINK),
            Entry::new(4, d).with(LINK | EntryFlags::ASYNC),
            Entry::new(5, Op::Nop),
        ],
    );
    _ = (ring.cancel(4), ring.cancel(3), ring.cancel(0));
    push(&mut ring, [Entry::new(6, e).with(LINK | EntryFlags::ASYNC), limit(7)]);
    _ = ring.cancel(6);
    drop(all(&mut ring, 8));
    push(&mut ring, [Entry::new(0, f).with(LINK | EntryFlags::ASYNC), Entry::new(1, g)]);
    drop(ring);
    let face = AsyncContext::new(world.context.clone(), world.pool.clone());
    let mut future = Box::pin(face.perform(h));
    _ = future.as_mut().poll(&mut task);
}

#[test]
fn the_pool_answers() {
    for (name, op) in OPS {
        within_a_minute(name, move || {
            for workers in [1, 2] {
                let (world, other) = (World::new(workers), World::new(1));
                everything(&world, op, &other);
                world.is_quiet();
                world.end();
                other.end();
            }
        });
    }
}
