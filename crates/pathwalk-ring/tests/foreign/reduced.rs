//! Short programs that once lost entries, hung, or blocked their owner.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use pathwalk::SyncWhat;
use pathwalk_ring::{Entry, EntryFlags, Offset, Op};

use crate::common::{EAGAIN, ECANCELED, EEXIST, EIO, eventually};
use crate::wild::{CLOSE, throw};
use crate::world::{World, all, numbers, push, within_a_minute};
use crate::{HARDLINK, LINK};

fn mkdir_again() -> Op<'static> {
    Op::Mkdirat { place: "/d".into(), mode: 0o700 }
}

fn sync(world: &World) -> Op<'static> {
    Op::Fsync { file: world.file(), what: SyncWhat::All }
}

/// Makes files panic when they are closed, from now on.
fn closing_panics(world: &World) {
    world.hooks.set(|call, _| if call == CLOSE { throw() } else { Ok(()) });
}

#[test]
fn what_is_cancelled_behind_a_failure_panics_when_it_is_closed() {
    within_a_minute("a chain that is cut", || {
        let world = World::new(1);
        let mut ring = world.ring();
        let file = sync(&world);
        closing_panics(&world);
        let entries = [mkdir_again(), file, Op::Nop].into_iter().zip(0..).map(|(op, id)| Entry::new(id, op).with(LINK));
        push(&mut ring, entries.chain([Entry::new(3, Op::Nop)]));
        assert_eq!(numbers(&all(&mut ring, 4)), [EEXIST, ECANCELED, ECANCELED, ECANCELED]);
        drop(ring);
        world.end();
    });
}

/// Cancels a chain whose head is answered in `submit`.
#[test]
fn what_is_answered_in_submit_panics_when_it_is_closed() {
    within_a_minute("a chain in submit", || {
        let world = World::new(1);
        let mut ring = world.ring();
        let read = || Op::Read { file: world.file(), buffer: vec![0; 9], offset: Offset::At(0) };
        let entries = [
            Entry::new(0, read()).with(HARDLINK),
            Entry::new(1, read()).with(LINK),
            Entry::new(2, sync(&world)).with(LINK),
            Entry::new(3, read()),
            Entry::new(4, read()),
        ];
        closing_panics(&world);
        push(&mut ring, entries);
        assert_eq!(numbers(&all(&mut ring, 5)), [8, 8, ECANCELED, ECANCELED, 8]);
        drop(ring);
        world.end();
    });
}

/// Runs heads that fail, or whose files panic, and have hard links.
#[test]
fn what_is_behind_a_hard_link_goes_on() {
    within_a_minute("hard links", || {
        let world = World::new(1);
        let mut ring = world.ring();
        let ops = [mkdir_again(), sync(&world), mkdir_again(), sync(&world), sync(&world)];
        closing_panics(&world);
        push(&mut ring, ops.into_iter().zip(0..).map(|(op, id)| Entry::new(id, op).with(HARDLINK)));
        assert_eq!(numbers(&all(&mut ring, 5)), [EEXIST, EIO, EEXIST, EIO, EIO]);
        drop(ring);
        world.end();
    });
}

/// Submits while calls of the file system, a close among them, are held back.
#[test]
fn closing_keeps_nobody_from_submitting() {
    within_a_minute("submitting beside a close", || {
        let world = World::new(2);
        let (gate, held) = channel::<()>();
        let (mut ring, mut other) = (world.ring(), world.ring());
        let entries = [Entry::new(0, Op::stat("/d")).with(LINK), Entry::new(1, sync(&world)).with(LINK), Entry::new(2, Op::Nop)];
        let closed = Arc::new(Mutex::new(held));
        world.hooks.set(move |call, _| {
            if matches!(call, CLOSE | "lookup") {
                _ = closed.lock().unwrap().recv();
            }
            Ok(())
        });
        push(&mut other, [Entry::new(0, Op::stat("/a"))]);
        push(&mut ring, entries);
        let cancelled = ring.cancel(1);
        push(&mut other, [Entry::new(1, Op::stat("/")), Entry::new(2, Op::stat("/b"))]);
        drop(gate);
        assert_eq!(numbers(&all(&mut other, 3)), [0, 0, 0]);
        let cut = if cancelled.is_ok() { ECANCELED } else { 0 };
        assert_eq!(numbers(&all(&mut ring, 3)), [0, cut, cut]);
        drop((ring, other));
        world.end();
    });
}

#[test]
fn a_file_may_ask_the_pool_when_it_is_cancelled() {
    within_a_minute("cancelling what asks the pool", || {
        let world = World::new(1);
        let mut ring = world.ring();
        let (gate, held) = channel::<()>();
        let (pool, held) = (world.pool.clone(), Mutex::new(held));
        let entries = [Entry::new(0, sync(&world)).with(LINK), Entry::new(1, sync(&world))];
        world.hooks.set(move |call, _| {
            if call == "lookup" {
                _ = held.lock().unwrap().recv();
            }
            if call == CLOSE {
                pool.stats();
            }
            Ok(())
        });
        push(&mut ring, [Entry::new(2, Op::stat("/a"))]);
        eventually("it runs", || world.pool.stats().queued == 0);
        push(&mut ring, entries);
        assert_eq!(ring.cancel(1), Ok(()));
        assert_eq!(ring.cancel(0), Ok(()));
        drop(gate);
        assert_eq!(numbers(&all(&mut ring, 3)), [ECANCELED, ECANCELED, 0]);
        drop(ring);
        // The hook holds a clone of the pool, which the file system holds.
        world.end();
    });
}

/// Submits an entry for which there is no room: it is gone, and so is its file.
#[test]
fn what_finds_no_room_is_closed_by_a_worker() {
    within_a_minute("a full ring", || {
        let world = World::new(1);
        let mut ring =
            pathwalk_ring::Ring::builder(world.context.clone()).entries(1).completions(1).pool(world.pool.clone()).build();
        ring.submit_one(Entry::new(0, Op::Nop)).unwrap();
        let file = sync(&world);
        closing_panics(&world);
        assert_eq!(ring.submit_one(Entry::new(1, file)), Err(pathwalk::Errno::EBUSY));
        assert_eq!(numbers(&all(&mut ring, 1)), [0]);
        drop(ring);
        world.end();
    });
}

/// Opens a file for a ring that is gone. The file is closed where that makes no thread wait.
#[test]
fn what_is_opened_for_nobody_panics_when_it_is_closed() {
    within_a_minute("a dropped ring", || {
        let world = World::new(1);
        let mut ring = world.ring();
        let open = |id| Entry::new(id, Op::open("/a", pathwalk::OpenFlags::READ)).with(EntryFlags::ASYNC);
        closing_panics(&world);
        push(&mut ring, (0..8).map(open));
        ring.wait(3);
        drop(ring);
        world.end();
    });
}

#[test]
fn what_the_caches_refuse_is_an_answer() {
    let world = World::new(1);
    let mut ring = world.ring();
    let resolve = pathwalk::Resolve::CACHED;
    push(&mut ring, [Entry::new(0, Op::Readlink { place: "/l".into(), resolve }).with(EntryFlags::ASYNC)]);
    assert_eq!(numbers(&all(&mut ring, 1)), [EAGAIN]);
}
