//! The distribution of work among workers.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use pathwalk_ring::{Entry, EntryFlags, Op};

use crate::LINK;
use crate::common::*;

#[test]
fn who_misses_one_name_takes_one_worker() {
    let (fs, context) = world();
    let mut ring = ring(&context, 8);
    submit(&mut ring, (0..50).map(|id| Entry::new(id, Op::stat(if id % 2 == 0 { "/slow0" } else { "/./slow0" }))));
    fs.wait_for(1);
    let stats = ring.pool().stats();
    assert_eq!((stats.workers, stats.queued, stats.parked), (1, 0, 49));
    // Also entries that come while the file system is being called, by a ring or by another caller.
    submit(&mut ring, [Entry::new(50, Op::stat("/slow0"))]);
    assert_eq!(ring.pool().stats().parked, 50);
    assert_eq!(ring.cancel(7), Ok(()));
    fs.open_gate();
    let results = results(&mut ring);
    assert!(results.iter().all(|(id, res)| *res == if *id == 7 { ECANCELED } else { 0 }), "{results:?}");
    assert_eq!((results.len(), fs.lookups.load(SeqCst)), (51, 1));
}

#[test]
fn a_pool_shows_its_numbers() {
    let pool = pool(3);
    assert_eq!(format!("{pool:?}"), format!("Pool({:?})", pool.stats()));
}

/// Checks that an entry that waits for a name does not wait for the entries that are linked behind
/// the one that looks the name up.
#[test]
fn a_name_is_released_when_it_is_answered() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    submit(
        &mut ring,
        [
            Entry::new(0, Op::stat("/late")).with(EntryFlags::HARDLINK),
            Entry::new(1, Op::stat("/slow0")),
            Entry::new(2, Op::stat("/late")),
        ],
    );
    fs.wait_for(1);
    assert_eq!(ring.wait_for(2, Duration::from_secs(10)), Ok(2));
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, ENOENT), (1, 0), (2, ENOENT)]);
}

/// Cancels the entry that was to look the name up for the others: another one does.
#[test]
fn an_heir_asks() {
    let (fs, context) = world();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::stat("/slow0"))]);
    fs.wait_for(1);
    submit(&mut ring, (1..4).map(|id| Entry::new(id, Op::stat("/slow1"))));
    assert_eq!(ring.pool().stats().parked, 2);
    assert_eq!(ring.cancel(1), Ok(()));
    assert_eq!((ring.pool().stats().queued, ring.pool().stats().parked), (1, 1));
    assert_eq!((ring.cancel(2), ring.cancel(3)), (Ok(()), Ok(())));
    assert_eq!((ring.pool().stats().queued, ring.pool().stats().parked), (0, 0));
    fs.open_gate();
    assert_eq!(results(&mut ring), [(0, 0), (1, ECANCELED), (2, ECANCELED), (3, ECANCELED)]);
}

#[test]
fn workers_come_and_go() {
    let (fs, context) = world();
    let mut ring = ring(&context, 3);
    let paths = ["/slow0", "/slow1", "/slow2", "/slow3", "/slow4"];
    submit(&mut ring, paths.iter().zip(0..).map(|(path, id)| Entry::new(id, Op::stat(*path))));
    fs.wait_for(3);
    let stats = ring.pool().stats();
    assert_eq!((stats.workers, stats.idle, stats.queued), (3, 0, 2));
    fs.open_gate();
    assert_eq!(results(&mut ring).len(), 5);
    eventually("no worker is left", || ring.pool().stats().workers == 0);
    submit(&mut ring, [Entry::new(0, Op::stat("/slow7"))]);
    assert_eq!(results(&mut ring), [(0, 0)]);
}

#[test]
fn a_file_system_that_panics_takes_no_worker_away() {
    let (fs, context) = world();
    fs.open_gate();
    let mut ring = ring(&context, 1);
    submit(&mut ring, [Entry::new(0, Op::stat("/panic")).with(LINK), Entry::new(1, Op::Nop), Entry::new(2, Op::stat("/slow0"))]);
    assert_eq!(results(&mut ring), [(0, EIO), (1, ECANCELED), (2, 0)]);
}
