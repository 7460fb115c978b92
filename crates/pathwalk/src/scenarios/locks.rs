//! Locks: requests that wait beside releases, cancellations and closes. A wake-up that is lost is a
//! deadlock here.

use super::thread::spawn;
use super::{explore, interrupt};
use crate::Errno;
use crate::cancellation::Cancellation;
use crate::locks::request::{Family, FileNumber, LockKind, LockOwner, LockWait, Span, Want};
use crate::locks::table::{LockTable, MARKS};
use crate::memory::slot::InodeId;
use crate::sync::Arc;

/// The owner of this number as it acts through a file of the same number.
#[derive(Clone)]
struct Owner {
    table: Arc<LockTable>,
    number: u64,
    family: Family,
}

impl Owner {
    /// Creates owners 1 and up of one table.
    fn all<const N: usize>(family: Family) -> [Owner; N] {
        let table = Arc::new(LockTable::new(u64::MAX));
        std::array::from_fn(|at| Owner { table: table.clone(), number: at as u64 + 1, family })
    }

    fn set(&self, node: u32, kind: LockKind, wait: LockWait) -> Result<(), Errno> {
        let (node, owner, file) = (InodeId(node), LockOwner::new(self.number), FileNumber(self.number));
        self.table.set(&Want { node, family: self.family, owner, kind, span: Span::WHOLE, file }, wait)
    }

    fn lock(&self, node: u32) -> Result<(), Errno> {
        self.set(node, LockKind::Exclusive, LockWait::Yes)
    }

    fn unlock(&self, node: u32) {
        self.set(node, LockKind::Unlock, LockWait::No).expect("a lock can be released");
    }

    fn close(&self, node: u32) {
        assert!(self.table.close(InodeId(node), LockOwner::new(self.number), FileNumber(self.number)).is_empty());
    }

    /// Checks that nothing is left.
    fn end(&self) {
        let counts = self.table.counts();
        assert_eq!((counts.held, counts.waiting), (0, 0));
        assert!((1..3).all(|node| !self.table.may_have(InodeId(node))));
    }
}

#[test]
fn a_request_waits_beside_the_release() {
    interrupt(|_| waits_beside_the_release(Family::Flock));
    interrupt(|_| waits_beside_the_release(Family::Record));
}

fn waits_beside_the_release(family: Family) {
    let [one, other] = Owner::all(family);
    one.lock(1).unwrap();
    let waiting = spawn({
        let other = other.clone();
        move || other.lock(1).unwrap()
    });
    one.unlock(1);
    waiting.join().unwrap();
    assert_eq!(one.set(1, LockKind::Shared, LockWait::No), Err(Errno::EAGAIN));
    other.close(1);
    one.end();
}

/// Checks that of several requests, each gets the lock, whichever way they wait for each other.
#[test]
fn each_of_several_requests_gets_the_lock() {
    explore(|_| {
        let owners: [Owner; 3] = Owner::all(Family::Record);
        let threads = owners.clone().map(|owner| {
            spawn(move || {
                owner.lock(1).unwrap();
                owner.unlock(1);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        owners[0].end();
    });
}

/// Checks a request that is cancelled while the lock is released: it has the lock, or has not, and
/// the next request does not wait for it.
#[test]
fn a_request_is_cancelled_beside_the_release() {
    interrupt(|_| {
        let [one, other, third] = Owner::all(Family::Record);
        let cancel = Cancellation::new();
        one.lock(1).unwrap();
        let waiting = spawn({
            let (other, cancel) = (other.clone(), cancel.clone());
            move || cancel.during(|| other.set(1, LockKind::Exclusive, LockWait::Yes))
        });
        let behind = spawn({
            let third = third.clone();
            move || third.lock(1).map(|()| third.unlock(1)).unwrap()
        });
        cancel.cancel();
        one.unlock(1);
        let result = waiting.join().unwrap();
        assert!([Ok(()), Err(Errno::ECANCELED)].contains(&result));
        other.close(1);
        behind.join().unwrap();
        one.end();
    });
}

/// Checks a cancellation alone: nothing else wakes the request.
#[test]
fn a_cancellation_wakes() {
    interrupt(|_| {
        let [one, other] = Owner::all(Family::Flock);
        let cancel = Cancellation::new();
        one.lock(1).unwrap();
        let waiting = spawn({
            let cancel = cancel.clone();
            move || cancel.during(|| other.set(1, LockKind::Shared, LockWait::Yes))
        });
        cancel.cancel();
        assert_eq!(waiting.join().unwrap(), Err(Errno::ECANCELED));
        one.close(1);
        one.end();
    });
}

/// Checks a cancellation that comes while a request that was woken is tried again: another owner
/// has the lock by then, and keeps it.
#[test]
fn a_request_that_was_woken_is_cancelled() {
    interrupt(|_| {
        let [one, other, third] = Owner::all(Family::Record);
        let cancel = Cancellation::new();
        one.lock(1).unwrap();
        let waiting = spawn({
            let (other, cancel) = (other.clone(), cancel.clone());
            move || cancel.during(|| other.lock(1))
        });
        one.unlock(1);
        let taken = third.set(1, LockKind::Exclusive, LockWait::No);
        cancel.cancel();
        let result = waiting.join().unwrap();
        let expected = if taken.is_ok() { Err(Errno::ECANCELED) } else { Ok(()) };
        assert_eq!(result, expected, "the third: {taken:?}");
        other.close(1);
        third.close(1);
        one.end();
    });
}

/// Checks two owners that each wait for the other's lock: one of them is refused, and then the
/// other goes on.
#[test]
fn one_of_two_that_wait_for_each_other_is_refused() {
    explore(|_| {
        let [one, other] = Owner::all(Family::Record);
        one.lock(1).unwrap();
        other.lock(2).unwrap();
        let crossing = spawn({
            let other = other.clone();
            move || {
                let result = other.lock(1);
                other.close(1);
                other.close(2);
                result
            }
        });
        let result = one.lock(2);
        one.close(2);
        one.close(1);
        let results = [result, crossing.join().unwrap()];
        assert!(results.contains(&Ok(())), "{results:?}");
        assert!(results.iter().all(|result| [Ok(()), Err(Errno::EDEADLK)].contains(result)), "{results:?}");
        assert!(results.contains(&Err(Errno::EDEADLK)), "each held what the other wanted: {results:?}");
        one.end();
    });
}

/// Checks the counts of nodes with locks, by which a close finds whether it has to do something.
/// One of the nodes shares its count with the other.
#[test]
fn a_close_finds_the_locks_of_its_own_thread() {
    explore(|_| {
        let owners: [Owner; 3] = Owner::all(Family::Flock);
        let threads = owners.clone().map(|owner| {
            spawn(move || {
                let node = if owner.number == 1 { 1 } else { 1 + MARKS as u32 };
                owner.set(node, LockKind::Shared, LockWait::No).unwrap();
                assert!(owner.table.may_have(InodeId(node)));
                owner.close(node);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        owners[0].end();
    });
}
