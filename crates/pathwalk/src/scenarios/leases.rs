//! Leases: grants beside opens, and breaks beside all that ends them. A wake-up that is lost is a
//! deadlock here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::fs::ROOT;
use super::world::{FILE, Hash, World};
use super::{explore, interrupt};
use crate::{Cancellation, Credentials, Errno, File, Lease, LockKind, OpenFlags};

const READ: OpenFlags = OpenFlags::READ;
const WRITE: OpenFlags = OpenFlags::WRITE;
const NONBLOCK: OpenFlags = OpenFlags::NONBLOCK;

/// Creates a world with a file, in which holders are given any time.
fn with_file(hash: Hash) -> World {
    World::built((14, 0), hash, |builder| builder.leases(Duration::ZERO), |fs| _ = fs.plain(ROOT, "f", FILE))
}

fn open(world: &World, flags: OpenFlags) -> Result<File, Errno> {
    world.vfs.context(Credentials::root()).open("/f", flags)
}

fn end(world: World) {
    assert_eq!(world.vfs.locks(), Default::default());
    // Nothing is counted as open any more.
    let file = open(&world, READ).unwrap();
    drop(file.lease(LockKind::Exclusive).unwrap());
    drop(file);
    world.end();
}

/// An open and a grant that exclude each other: at most one of them is done.
#[test]
fn a_grant_beside_an_open() {
    interrupt(|hash| {
        for (kind, flags) in [(LockKind::Exclusive, READ), (LockKind::Shared, WRITE)] {
            let world = with_file(hash);
            let opener = world.spawn(move |world| open(world, flags | NONBLOCK));
            let file = open(&world, READ).unwrap();
            let lease = file.lease(kind);
            let opened = opener.join().unwrap();
            let is_whole = lease.as_ref().is_ok_and(|lease| lease.broken().is_none());
            assert!(!is_whole || opened.is_err(), "a lease beside an open of which its holder was not told");
            drop((file, opened));
            end(world);
        }
    });
}

/// A break beside the release, the close of the file, and the drop of the lease.
#[test]
fn a_break_beside_the_end() {
    interrupt(|hash| break_beside(hash, |_, lease| lease.as_ref().unwrap().release()));
    interrupt(|hash| break_beside(hash, |file, _| *file = None));
    interrupt(|hash| break_beside(hash, |_, lease| *lease = None));
}

fn break_beside(hash: Hash, ends: fn(&mut Option<File>, &mut Option<Lease>)) {
    let world = with_file(hash);
    let mut file = Some(open(&world, READ).unwrap());
    let mut lease = Some(file.as_ref().unwrap().lease(LockKind::Exclusive).unwrap());
    let opener = world.spawn(|world| open(world, WRITE).map(drop));
    ends(&mut file, &mut lease);
    assert_eq!(opener.join().unwrap(), Ok(()));
    drop((file, lease));
    end(world);
}

/// A reader and a writer that wait for one holder: the reader goes on first or last, and both do.
#[test]
fn two_openers_wait() {
    explore(|hash| {
        let world = with_file(hash);
        let file = open(&world, READ).unwrap();
        let lease = file.lease(LockKind::Exclusive).unwrap();
        let openers = [READ, WRITE].map(|flags| world.spawn(move |world| open(world, flags).map(drop)));
        loop {
            match lease.wait().unwrap() {
                // A writer that is in the way as well is told of next.
                // Until then its open keeps the lease from becoming shared.
                LockKind::Shared if lease.set(LockKind::Shared).is_err() => crate::sync::yield_now(),
                LockKind::Shared => {}
                _ => break lease.release(),
            }
        }
        openers.into_iter().for_each(|opener| opener.join().unwrap().unwrap());
        drop((lease, file));
        end(world);
    });
}

/// An open is cancelled beside the release, and is no open afterwards.
#[test]
fn a_wait_is_cancelled() {
    interrupt(|hash| {
        let world = with_file(hash);
        let file = open(&world, READ).unwrap();
        let lease = file.lease(LockKind::Shared).unwrap();
        let cancellation = Cancellation::new();
        let under = cancellation.clone();
        let opener = world.spawn(move |world| under.during(|| open(world, WRITE).map(drop)));
        let holder = world.spawn(move |_| {
            lease.release();
            drop((lease, file));
        });
        cancellation.cancel();
        assert!(matches!(opener.join().unwrap(), Ok(()) | Err(Errno::ECANCELED)));
        holder.join().unwrap();
        end(world);
    });
}

/// A cancellation alone, of an opener and of a holder: nothing else wakes them.
#[test]
fn a_cancellation_wakes() {
    interrupt(|hash| {
        let world = with_file(hash);
        let file = open(&world, READ).unwrap();
        let lease = file.lease(LockKind::Exclusive).unwrap();
        let cancellation = Cancellation::new();
        let (holds, opens, of_holder) = (cancellation.clone(), cancellation.clone(), lease.clone());
        let holder = world.spawn(move |_| holds.during(|| of_holder.wait()));
        let opener = world.spawn(move |world| opens.during(|| open(world, READ).map(drop)));
        cancellation.cancel();
        assert_eq!(opener.join().unwrap(), Err(Errno::ECANCELED));
        assert!(matches!(holder.join().unwrap(), Ok(LockKind::Shared) | Err(Errno::ECANCELED)));
        drop((lease, file));
        end(world);
    });
}

/// A holder asks to be told beside the break: it is told once.
#[test]
fn a_holder_is_told_once() {
    interrupt(|hash| {
        let world = with_file(hash);
        let file = open(&world, READ).unwrap();
        let lease = file.lease(LockKind::Exclusive).unwrap();
        let opener = world.spawn(|world| open(world, READ | NONBLOCK).map(drop));
        let told = Arc::new(AtomicU32::new(0));
        let count = told.clone();
        lease.on_break(move |to| {
            assert_eq!(to, LockKind::Shared);
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(opener.join().unwrap(), Err(Errno::EAGAIN));
        assert_eq!(told.load(Ordering::Relaxed), 1);
        drop((lease, file));
        end(world);
    });
}

/// The last value of a lease is dropped beside a new lease of the same file, which stays.
#[test]
fn a_lease_is_dropped_beside_the_next_one() {
    interrupt(|hash| {
        let world = with_file(hash);
        let file = open(&world, READ).unwrap();
        let before = file.lease(LockKind::Shared).unwrap();
        let dropper = world.spawn(move |_| drop(before));
        let lease = file.lease(LockKind::Exclusive).unwrap();
        dropper.join().unwrap();
        assert_eq!((lease.kind(), file.getlease()), (LockKind::Exclusive, Ok(LockKind::Exclusive)));
        drop((lease, file));
        end(world);
    });
}
