//! Rings: each entry completes once, whatever else happens.

use std::time::Duration;

use super::explore;
use super::world::{World, thread};
use crate::{Entry, EntryFlags, Op, Ring};

pub(super) fn submit<const N: usize>(ring: &mut Ring, entries: [Entry<'static>; N]) {
    let mut queue = ring.queue();
    entries.into_iter().for_each(|entry| queue.push(entry).expect("there is room"));
    assert_eq!(ring.submit(&mut queue), Ok(N));
}

/// Returns the results of all outstanding entries, in order of `user_data`.
pub(super) fn results(ring: &mut Ring) -> Vec<(u64, i32)> {
    ring.wait(usize::MAX);
    let mut results: Vec<_> = std::iter::from_fn(|| ring.reap()).map(|done| (done.user_data, done.res())).collect();
    assert_eq!(ring.outstanding(), 0);
    results.sort_unstable();
    results
}

pub(super) const ECANCELED: i32 = -125;
const EALREADY: i32 = -114;
const ETIME: i32 = -62;

#[test]
fn misses_complete() {
    explore(|| {
        let world = World::new(2);
        let mut ring = world.ring();
        submit(&mut ring, [0, 1, 2].map(|id| Entry::new(id, Op::stat(["/a", "/b", "/none"][id as usize]))));
        assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, -2)]);
        submit(&mut ring, [Entry::new(3, Op::stat("/a"))]);
        assert_eq!(ring.reap().map(|done| done.res()), Some(0), "cached now");
        drop(ring);
        world.end();
    });
}

#[test]
fn one_name_is_asked_for_once() {
    explore(|| {
        let world = World::new(2);
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                let mut ring = world.ring();
                submit(&mut ring, [0, 1].map(|id| Entry::new(id, Op::stat("/a"))));
                assert_eq!(results(&mut ring), [(0, 0), (1, 0)]);
            })
        };
        let mut ring = world.ring();
        submit(&mut ring, [0, 1, 2].map(|id| Entry::new(id, Op::stat("/a"))));
        assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, 0)]);
        other.join().expect("the other ring");
        assert_eq!(world.asked("a"), 1);
        drop(ring);
        world.end();
    });
}

/// Checks that entries that wait for a name whose lookup fails each look it up themselves, one by
/// one.
#[test]
fn each_waiter_of_a_failed_lookup_asks_itself() {
    explore(|| {
        let world = World::new(2);
        let mut ring = world.ring();
        submit(&mut ring, [0, 1, 2].map(|id| Entry::new(id, Op::stat("/fails"))));
        assert_eq!(results(&mut ring), [(0, -5), (1, -5), (2, -5)]);
        drop(ring);
        world.end();
    });
}

#[test]
fn cancelling_beside_completing() {
    explore(|| {
        let world = World::new(1);
        let mut ring = world.ring();
        let linked = EntryFlags::LINK;
        submit(
            &mut ring,
            [
                Entry::new(0, Op::stat("/a")),
                Entry::new(1, Op::stat("/b")),
                Entry::new(2, Op::stat("/b")),
                Entry::new(3, Op::stat("/c")).with(linked),
                Entry::new(4, Op::Nop),
            ],
        );
        let cancelled = [0, 1, 2, 3, 4].map(|id| ring.cancel(id).is_ok());
        let results = results(&mut ring);
        for (id, res) in &results {
            let by_link = *id == 4 && cancelled[3];
            assert_eq!(*res == ECANCELED, cancelled[*id as usize] || by_link, "{id} of {results:?}, cancelled {cancelled:?}");
        }
        assert_eq!(results.len(), 5);
        drop(ring);
        world.end();
    });
}

#[test]
fn dropping_beside_completing() {
    explore(|| {
        let world = World::new(2);
        let mkdir = |id, place: &'static str| Entry::new(id, Op::Mkdirat { place: place.into(), mode: 0o700 });
        let mut ring = world.ring();
        submit(
            &mut ring,
            [
                Entry::new(0, Op::stat("/a")),
                Entry::new(1, Op::stat("/a")),
                Entry::new(2, Op::stat("/b")).with(EntryFlags::LINK),
                mkdir(3, "/x"),
                mkdir(4, "/y"),
            ],
        );
        let seen: Vec<u64> = std::iter::from_fn(|| ring.reap()).map(|done| done.user_data).collect();
        drop(ring);
        assert!(!seen.contains(&3) || world.has("x"));
        assert!(!seen.contains(&4) || world.has("y"));
        // The pool goes on for other rings. An entry that waits for a name that the dropped ring
        // was looking up gets its result.
        let mut other = world.ring();
        submit(&mut other, [Entry::new(0, Op::stat("/a"))]);
        assert_eq!(results(&mut other), [(0, 0)]);
        drop(other);
        world.end();
    });
}

/// Checks that work that waits when a ring is dropped is not begun, also if a worker is about to
/// try it again.
#[test]
fn a_dropped_ring_asks_no_more() {
    explore(|| {
        let world = World::new(1);
        let fs = world.fs.clone();
        let mut ring = world.ring();
        submit(&mut ring, [0, 1, 2, 3].map(|id| Entry::new(id, Op::stat("/fails"))));
        if ring.wait(1) > 2 {
            drop(ring);
            return world.end();
        }
        drop(ring);
        let asked = fs.asked("fails");
        world.end();
        assert!(fs.asked("fails") <= asked + 1, "one may have been about to ask");
    });
}

/// Drops one ring while another waits for the same name.
#[test]
fn an_heir_answers_for_another_ring() {
    explore(|| {
        let world = World::new(1);
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                let mut ring = world.ring();
                submit(&mut ring, [Entry::new(0, Op::stat("/b")), Entry::new(1, Op::stat("/a"))]);
            })
        };
        let mut ring = world.ring();
        submit(&mut ring, [0, 1].map(|id| Entry::new(id, Op::stat("/a"))));
        assert_eq!(results(&mut ring), [(0, 0), (1, 0)]);
        other.join().expect("the other ring");
        drop(ring);
        world.end();
    });
}

/// Gives an entry a time limit that expires at once. The entry runs or is cancelled, and both
/// complete once.
#[test]
fn limits_beside_completing() {
    explore(|| {
        let world = World::new(1);
        let mut ring = world.ring();
        let limit = |id| Entry::new(id, Op::LinkTimeout { after: Duration::ZERO });
        submit(
            &mut ring,
            [
                Entry::new(0, Op::stat("/a")).with(EntryFlags::HARDLINK),
                limit(1).with(EntryFlags::LINK),
                Entry::new(2, Op::stat("/b")).with(EntryFlags::LINK),
                limit(3),
                Entry::new(4, Op::stat("/c")),
            ],
        );
        let early: Vec<_> = ring.reap().into_iter().map(|done| (done.user_data, done.res())).collect();
        let mut results = [early, results(&mut ring)].concat();
        results.sort_unstable();
        assert_eq!(results.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        for entry in [0, 2] {
            let pair = (results[entry].1, results[entry + 1].1);
            assert!(matches!(pair, (0, ECANCELED | EALREADY) | (ECANCELED, ETIME)), "{results:?}");
        }
        assert_eq!(results[4].1, 0);
        drop(ring);
        world.end();
    });
}

/// A worker had the context of a ring whose entries were completed, and so its working directory.
#[test]
fn a_ring_that_is_dropped_behind_its_completions_keeps_no_mount_busy() {
    explore(|| {
        let world = World::new(2);
        let mut ring = Ring::builder(world.in_a_mount()).pool(world.pool.clone()).build();
        submit(&mut ring, [0, 1, 2].map(|id| Entry::new(id, Op::stat(["a", "a", "none"][id as usize]))));
        assert_eq!(results(&mut ring), [(0, 0), (1, 0), (2, -2)]);
        drop(ring);
        world.unmount();
        world.end();
    });
}
