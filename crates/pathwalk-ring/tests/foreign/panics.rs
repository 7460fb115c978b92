//! Calls and drops that panic, one at a time and all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use pathwalk_ring::{Entry, EntryFlags, Op};

use crate::common::{ECANCELED, EIO};
use crate::wild::{CLOSE, When, throw};
use crate::world::{MakeOp, OPS, World, all, numbers, push, within_a_minute};
use crate::{HARDLINK, LINK};

/// Returns the entries of a shape: the entry alone in a worker; in `submit`, if possible; with
/// links of both kinds; and between failures.
fn programs(op: Op<'static>, shape: usize) -> Vec<Entry<'static>> {
    let fails = || Op::Mkdirat { place: "/d".into(), mode: 0o700 };
    let entry = |id, op, flags| Entry::new(id, op).with(flags);
    match shape {
        0 => vec![entry(0, op, EntryFlags::ASYNC)],
        1 => vec![entry(0, op, EntryFlags::empty())],
        2 => vec![entry(0, op, LINK), entry(1, Op::Nop, LINK), entry(2, Op::Nop, EntryFlags::empty())],
        3 => vec![entry(0, op, HARDLINK), entry(1, Op::Nop, LINK), entry(2, Op::Nop, EntryFlags::empty())],
        4 => vec![entry(0, fails(), LINK), entry(1, op, LINK), entry(2, Op::Nop, EntryFlags::empty())],
        _ => vec![entry(0, fails(), HARDLINK), entry(1, op, HARDLINK), entry(2, Op::Nop, EntryFlags::empty())],
    }
}

const SHAPES: usize = 6;

/// Runs the entries, and returns the number of calls. If `nth` is one of them, it panics.
fn run(op: MakeOp, shape: usize, nth: Option<(u64, When)>) -> u64 {
    let world = World::new(1);
    let mut ring = world.ring();
    let entries = programs(op(&world), shape);
    let number = entries.len() as u64;
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    world.hooks.set(move |_, when| {
        let at = if when == When::Before { count.fetch_add(1, SeqCst) } else { count.load(SeqCst) - 1 };
        if nth == Some((at, when)) { throw() } else { Ok(()) }
    });
    push(&mut ring, entries);
    let done = all(&mut ring, number);
    drop(ring);
    world.is_quiet();
    // The owner closes files in completions, without faults.
    world.hooks.clear();
    drop(done);
    world.end();
    calls.load(SeqCst)
}

#[test]
fn at_each_call() {
    within_a_minute("a panic at each call", || {
        for (_, op) in OPS {
            for shape in 0..SHAPES {
                let calls = run(op, shape, None);
                for at in 0..calls {
                    run(op, shape, Some((at, When::Before)));
                    run(op, shape, Some((at, When::After)));
                }
            }
        }
    });
}

/// Panics at all calls except `forget`, where a second panic may meet the first, as documented in
/// the trait.
#[test]
fn at_all_calls() {
    for (name, op) in OPS {
        within_a_minute(name, move || {
            for shape in 0..SHAPES {
                let world = World::new(1);
                let mut ring = world.ring();
                let entries = programs(op(&world), shape);
                let number = entries.len() as u64;
                world.hooks.set(|call, _| if call == "forget" { Ok(()) } else { throw() });
                push(&mut ring, entries);
                let done = numbers(&all(&mut ring, number));
                // Entries behind one that fails, or answered from the caches.
                assert!(done.iter().all(|res| matches!(*res, 0..|EIO| ECANCELED | -9 | -17)), "{name} {shape}: {done:?}");
                drop(ring);
                world.end();
            }
        });
    }
}

/// Checks that a file whose closing panics is an error of the entry that closed it, whatever that
/// did.
#[test]
fn closing_is_part_of_the_entry() {
    for (name, op) in OPS {
        let world = World::new(1);
        let mut ring = world.ring();
        let op = op(&world);
        let is_of_file = matches!(
            op,
            Op::Getdents { .. }
                | Op::Readdirplus { .. }
                | Op::Read { .. }
                | Op::Write { .. }
                | Op::ReadWith { .. }
                | Op::WriteWith { .. }
                | Op::Fsync { .. }
                | Op::Fallocate { .. }
                | Op::Close { .. }
        );
        let holds = is_of_file || name == "lookup in another";
        world.hooks.set(|call, _| if call == CLOSE { throw() } else { Ok(()) });
        push(&mut ring, [Entry::new(0, op).with(EntryFlags::ASYNC)]);
        let done = all(&mut ring, 1);
        assert_eq!(done[0].res() == EIO, holds, "{name}: {done:?}");
        // The owner closes files in completions, without faults.
        world.hooks.clear();
        drop(done);
        drop(ring);
        world.end();
    }
}
