//! Closing beside cancelling, completing and dropping: files that are late, use the pool and (on
//! real threads) panic when they are closed.
//!
//! Each scenario ends with every file closed once, none of them by an owner.

use std::future::Future;
use std::task::{Context as TaskContext, Poll, Waker};

use pathwalk::{OpenFlags, SyncWhat};

use super::explore;
use super::rings::{ECANCELED, results, submit};
use super::world::{World, thread};
use crate::{AsyncContext, Entry, EntryFlags, Op, Ring};

const LINK: EntryFlags = EntryFlags::LINK;
/// The result of an entry whose file panics when it is closed.
const PANICKED: i32 = if cfg!(shuttle) { 0 } else { -5 };

fn sync(world: &World) -> Op<'static> {
    Op::Fsync { file: world.file(), what: SyncWhat::All }
}

fn nop(id: u64) -> Entry<'static> {
    Entry::new(id, Op::Nop).with(EntryFlags::ASYNC)
}

/// Starts another owner, which uses the pool meanwhile.
fn beside(world: &World) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || {
        let mut ring = world.ring();
        submit(&mut ring, [nop(0)]);
        assert_eq!(results(&mut ring), [(0, 0)]);
    })
}

/// Returns a number below `most`; under shuttle, by its scheduler's seed.
fn some(most: usize) -> usize {
    #[cfg(shuttle)]
    return shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..most);
    #[cfg(not(shuttle))]
    fastrand::usize(..most)
}

fn end(world: World, ring: Option<Ring>, other: thread::JoinHandle<()>) {
    drop(ring);
    other.join().expect("the other ring");
    world.end();
}

#[test]
fn closing_beside_cancelling() {
    explore(|| {
        let world = World::new(1);
        let mut ring = world.ring();
        let entries = [
            nop(0).with(LINK),
            Entry::new(1, sync(&world)).with(LINK),
            Entry::new(2, sync(&world)),
            Entry::new(3, sync(&world)).with(EntryFlags::HARDLINK),
            nop(4),
        ];
        world.closing_is_wild();
        let other = beside(&world);
        submit(&mut ring, entries);
        let cancelled = [1, 3].map(|id| ring.cancel(id).is_ok());
        let results = results(&mut ring);
        let [head, first, second, hard, behind] = [0, 1, 2, 3, 4].map(|id| results[id].1);
        let cut = match (cancelled[0], PANICKED) {
            (true, _) => [ECANCELED; 2],
            (false, 0) => [0; 2],
            (false, errno) => [errno, ECANCELED],
        };
        let of_hard = if cancelled[1] { ECANCELED } else { PANICKED };
        assert_eq!((head, [first, second], hard, behind), (0, cut, of_hard, 0), "cancelled {cancelled:?}");
        end(world, Some(ring), other);
    });
}

/// Drops entries that wait, entries that run, and files that were opened and are no longer wanted.
#[test]
fn closing_beside_dropping() {
    explore(|| {
        let world = World::new(2);
        let mut ring = world.ring();
        let open = |id| Entry::new(id, Op::open("/a", OpenFlags::READ)).with(EntryFlags::ASYNC);
        let entries = [Entry::new(0, sync(&world)).with(LINK), Entry::new(1, sync(&world)), open(2), open(3)];
        world.closing_is_wild();
        let other = beside(&world);
        submit(&mut ring, entries);
        // Until the workers are somewhere in them.
        (0..some(120)).for_each(|_| thread::yield_now());
        drop(ring);
        end(world, None, other);
    });
}

#[test]
fn a_future_that_opens_is_dropped_while_it_is_answered() {
    explore(|| {
        let world = World::new(1);
        world.context.stat("/a").expect("it is there");
        let face = AsyncContext::new(world.context.clone(), world.pool.clone());
        let file = world.file();
        world.closing_is_wild();
        let other = beside(&world);
        let mut task = TaskContext::from_waker(Waker::noop());
        let mut opens = Box::pin(face.open("/a", OpenFlags::READ));
        // A future that is answered at once is given back as well.
        let files = match opens.as_mut().poll(&mut task) {
            Poll::Ready(opened) => vec![file, opened.expect("it is there")],
            Poll::Pending => vec![file],
        };
        for file in files {
            let mut closes = Box::pin(face.close(file));
            _ = closes.as_mut().poll(&mut task);
        }
        drop(opens);
        drop(face);
        end(world, None, other);
    });
}
