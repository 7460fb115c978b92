//! The last reference to a `Vfs` or a pool is dropped while work runs or waits: the file system's
//! own drop panics, blocks or uses the pool.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use pathwalk_ring::{Entry, EntryFlags, Op, Pool};

use crate::LINK;
use crate::common::eventually;
use crate::wild::{CLOSE, END, throw};
use crate::world::{MakeOp, OPS, World, push, within_a_minute};

/// Drops rings, contexts and the pool while a worker is held in a call. The worker is the last to
/// hold all of them.
fn ends(op: MakeOp, at_end: impl Fn(&'static str) + Send + Sync + 'static) -> std::sync::mpsc::Receiver<()> {
    let world = World::new(1);
    let mut ring = world.ring();
    let ops = [(); 2].map(|()| op(&world));
    let (gate, held) = channel::<()>();
    let (told, ended) = channel::<()>();
    let (held, told) = (Mutex::new(held), Mutex::new(Some(told)));
    world.hooks.set(move |call, _| {
        if call == "lookup" {
            _ = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
        }
        if call == END {
            told.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        }
        at_end(call);
        Ok(())
    });
    push(&mut ring, [Entry::new(0, Op::stat("/never/seen")).with(EntryFlags::ASYNC)]);
    eventually("the worker has it", || world.pool.stats().queued == 0);
    push(&mut ring, ops.into_iter().zip(1..).map(|(op, id)| Entry::new(id, op).with(LINK | EntryFlags::ASYNC)));
    let World { context, pool, .. } = world;
    drop((ring, context, pool));
    drop(gate);
    ended
}

fn all_ends(at_end: impl Fn(&'static str) + Send + Sync + Clone + 'static) {
    for (name, op) in OPS {
        let at_end = at_end.clone();
        within_a_minute(name, move || {
            // Nothing is received: the other side is dropped with the file system.
            _ = ends(op, at_end).recv();
        });
    }
}

#[test]
fn with_a_panic() {
    all_ends(|call| {
        if matches!(call, CLOSE | END) {
            throw();
        }
    });
}

/// Calls back into a pool that the file system holds itself.
#[test]
fn with_a_call_back() {
    let pool = Pool::default();
    all_ends(move |_| _ = pool.stats());
}
