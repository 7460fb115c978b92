//! Tests of ranges beside a map of single bytes, and of the table's counts and deadlocks.

use super::record;
use super::request::{Family, FileNumber, Held, Id, LockKind, LockOwner, LockRange, LockWait, Span, Want};
use super::table::LockTable;
use crate::Errno;
use crate::cancellation::Cancellation;
use crate::memory::slot::InodeId;

fn want(owner: u64, kind: LockKind, start: u64, len: u64) -> Want {
    let span = LockRange::new(start, len).span().expect("a range");
    let (node, owner, file) = (InodeId(1), LockOwner::new(owner), FileNumber(owner));
    Want { node, family: Family::Record, owner, kind, span, file }
}

#[test]
fn ranges_are_checked_as_on_linux() {
    let most = i64::MAX as u64;
    let span = |start, len| LockRange::new(start, len).span().map(|Span { start, end }| (start, end));
    assert_eq!(span(3, 0), Ok((3, i64::MAX)));
    assert_eq!(span(most, 1), Ok((i64::MAX, i64::MAX)));
    assert_eq!(span(most, 2), Err(Errno::EOVERFLOW));
    assert_eq!(span(most + 1, 1), Err(Errno::EINVAL));
    assert_eq!(span(0, most + 1), Err(Errno::EINVAL));
    assert_eq!(span(0, most), Ok((0, i64::MAX - 1)));
}

/// Carries out random requests of owners that do not conflict, and compares each byte.
#[test]
fn each_byte_has_the_kind_that_was_set_last() {
    const BYTES: u64 = 12;
    let mut random = fastrand::Rng::with_seed(1);
    let (mut locks, mut ids) = (Vec::new(), Id::default());
    let mut bytes = [[LockKind::Unlock; BYTES as usize]; 3];
    for _ in 0..if cfg!(miri) { 300 } else { 50_000 } {
        let (owner, start) = (random.u64(0..3), random.u64(0..BYTES));
        let len = random.u64(0..=BYTES - start);
        let kind = [LockKind::Shared, LockKind::Exclusive, LockKind::Unlock][random.usize(0..3)];
        let want = want(owner, kind, start, len);
        let (before, growth) = (locks.len() as u64, record::growth(&locks, &want));
        record::set(&mut locks, &want, &mut ids);
        let end = if len == 0 { BYTES } else { start + len };
        bytes[owner as usize][start as usize..end as usize].fill(kind);
        assert!(locks.len() as u64 <= before + growth);
        check(&locks, &bytes, BYTES);
    }
}

fn check(locks: &[Held], bytes: &[[LockKind; 12]; 3], count: u64) {
    for (owner, of_owner) in bytes.iter().enumerate() {
        let owner = LockOwner::new(owner as u64);
        let own: Vec<&Held> = locks.iter().filter(|held| held.owner == owner).collect();
        for pair in own.windows(2) {
            assert!(pair[0].span.end < pair[1].span.start, "in order, without overlap");
            assert!(pair[0].kind != pair[1].kind || !pair[0].span.touches(pair[1].span), "as few as possible");
        }
        let first = locks.iter().position(|held| held.owner == owner).unwrap_or(0);
        assert!(locks[first..].iter().take(own.len()).all(|held| held.owner == owner), "one behind the other");
        for at in 0..count {
            let has = own.iter().find(|held| (held.span.start..=held.span.end).contains(&(at as i64)));
            assert_eq!(has.map_or(LockKind::Unlock, |held| held.kind), of_owner[at as usize]);
        }
    }
}

#[test]
fn nothing_is_left_when_all_is_released() {
    let table = LockTable::new(u64::MAX);
    let (node, cancel) = (InodeId(1), Cancellation::new());
    table.set(&want(1, LockKind::Exclusive, 0, 10), LockWait::No).unwrap();
    table.set(&want(1, LockKind::Unlock, 5, 1), LockWait::No).unwrap();
    assert_eq!((table.counts().held, table.may_have(node)), (2, true));
    cancel.cancel();
    assert_eq!(cancel.during(|| table.set(&want(2, LockKind::Shared, 0, 1), LockWait::Yes)), Err(Errno::ECANCELED));
    assert_eq!(table.set(&want(2, LockKind::Shared, 0, 1), LockWait::No), Err(Errno::EAGAIN));
    assert!(table.close(node, LockOwner::new(1), FileNumber(7)).is_empty());
    assert_eq!((table.counts().held, table.may_have(node)), (0, false));
}

#[test]
fn a_limit_counts_pieces() {
    let table = LockTable::new(2);
    table.set(&want(1, LockKind::Shared, 0, 10), LockWait::No).unwrap();
    assert_eq!(table.set(&want(1, LockKind::Exclusive, 5, 1), LockWait::No), Err(Errno::ENOLCK));
    table.set(&want(1, LockKind::Unlock, 5, 1), LockWait::No).unwrap();
    assert_eq!(table.set(&want(1, LockKind::Unlock, 2, 1), LockWait::No), Err(Errno::ENOLCK));
    table.set(&want(1, LockKind::Unlock, 0, 0), LockWait::No).unwrap();
    assert_eq!(table.counts().held, 0);
}

/// Checks circles of owners, each of which waits for the next: the kernel finds those of up to
/// twelve, and lets the thirteenth wait.
#[test]
#[cfg_attr(any(shuttle, loom), ignore = "it is no scenario")]
fn circles_of_up_to_twelve_owners_are_found() {
    for owners in [2, 3, 11, 12, 13] {
        let table = LockTable::new(u64::MAX);
        let cancel = Cancellation::new();
        for owner in 0..owners {
            table.set(&want(owner, LockKind::Exclusive, owner, 1), LockWait::No).unwrap();
        }
        let wait_for_next = |owner| {
            let next = want(owner, LockKind::Shared, (owner + 1) % owners, 1);
            cancel.during(|| table.set(&next, LockWait::Yes))
        };
        let until_there_wait = |count| {
            while table.counts().waiting < count {
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            for owner in 1..owners {
                let wait_for_next = &wait_for_next;
                scope.spawn(move || wait_for_next(owner));
            }
            until_there_wait(owners - 1);
            let last = scope.spawn(|| wait_for_next(0));
            if owners <= 12 {
                assert_eq!(last.join().unwrap(), Err(Errno::EDEADLK), "{owners}");
            } else {
                until_there_wait(owners);
            }
            cancel.cancel();
        });
        assert_eq!(table.counts().waiting, 0);
    }
}
