//! Leases on open files: which are granted, what breaks them, and how holders learn of it. The rows
//! are those that the kernel gave on a tmpfs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{scope, yield_now};
use std::time::Duration;

use pathwalk::{
    At, AtFlags, Cancellation, Capabilities, Context, Credentials, Errno, File, Lease, LockKind, LockWait, NewKind, OpenFlags,
    OpenHow, RenameFlags, Resolve, Vfs,
};
use pathwalk_memfs::MemFs;

const READ: OpenFlags = OpenFlags::READ;
const WRITE: OpenFlags = OpenFlags::WRITE;
const BOTH: OpenFlags = READ.union(WRITE);
const NONBLOCK: OpenFlags = OpenFlags::NONBLOCK;
const SHARED: LockKind = LockKind::Shared;
const EXCLUSIVE: LockKind = LockKind::Exclusive;
const UNLOCK: LockKind = LockKind::Unlock;

/// Creates a context in which holders are given any time, with a file.
fn world() -> Context {
    given(Duration::ZERO)
}

fn given(break_time: Duration) -> Context {
    let context = Vfs::builder().leases(break_time).build(MemFs::new()).unwrap().context(Credentials::root());
    context.write("/f", "0123456789").unwrap();
    context
}

fn leased(context: &Context, flags: OpenFlags, kind: LockKind) -> (File, Lease) {
    let file = context.open("/f", flags).unwrap();
    let lease = file.lease(kind).unwrap();
    (file, lease)
}

/// Waits until as many opens wait.
fn until_waiting(context: &Context, opens: u64) {
    while context.vfs().locks().waiting != opens {
        yield_now();
    }
}

#[test]
fn a_lease_is_granted_beside_what_it_allows() {
    let context = world();
    let open = |flags| context.open("/f", flags).unwrap();
    // The kind, how the file is open, how another file is open.
    let rows = [
        (SHARED, READ, None, Ok(())),
        (SHARED, BOTH, None, Err(Errno::EAGAIN)),
        (SHARED, WRITE, None, Err(Errno::EAGAIN)),
        (SHARED, READ, Some(READ), Ok(())),
        (SHARED, READ, Some(WRITE), Err(Errno::EAGAIN)),
        (SHARED, READ, Some(OpenFlags::PATH), Ok(())),
        (EXCLUSIVE, READ, None, Ok(())),
        (EXCLUSIVE, WRITE, None, Ok(())),
        (EXCLUSIVE, BOTH, None, Ok(())),
        (EXCLUSIVE, BOTH, Some(READ), Err(Errno::EAGAIN)),
        (EXCLUSIVE, READ, Some(READ), Err(Errno::EAGAIN)),
        (EXCLUSIVE, READ, Some(BOTH), Err(Errno::EAGAIN)),
        (EXCLUSIVE, BOTH, Some(OpenFlags::PATH), Ok(())),
    ];
    for (kind, own, other, expected) in rows {
        let (file, other) = (open(own), other.map(open));
        assert_eq!(file.lease(kind).map(drop), expected, "{kind:?} {own:?} {other:?}");
    }
    assert_eq!(context.vfs().locks(), Default::default());
}

#[test]
fn what_is_refused() {
    let context = world();
    context.mkdir("/d", 0o777).unwrap();
    context.mknod("/pipe", NewKind::Fifo, 0o666).unwrap();
    let lease = |file: &File| file.lease(SHARED).map(drop);
    assert_eq!(lease(&context.open("/f", OpenFlags::PATH).unwrap()), Err(Errno::EBADF));
    assert_eq!(context.open("/f", OpenFlags::PATH).unwrap().getlease(), Err(Errno::EBADF));
    assert_eq!(lease(&context.open("/d", READ).unwrap()), Err(Errno::EINVAL));
    assert_eq!(lease(&context.open("/pipe", BOTH).unwrap()), Err(Errno::EINVAL));
    assert_eq!(context.open("/f", READ).unwrap().lease(UNLOCK).map(drop), Err(Errno::EINVAL));

    let user = Credentials::user(1000, 1000, &[]);
    let of_user = context.vfs().context(user.clone());
    // The right comes before the type.
    assert_eq!(lease(&of_user.open("/d", READ).unwrap()), Err(Errno::EACCES));
    assert_eq!(lease(&of_user.open("/f", READ).unwrap()), Err(Errno::EACCES));
    let holder = user.clone().with_capabilities(Capabilities::LEASE);
    assert_eq!(of_user.open("/f", READ).unwrap().by(&holder).lease(SHARED).map(drop), Ok(()));
    assert_eq!(context.open("/f", READ).unwrap().by(&user).lease(SHARED).map(drop), Err(Errno::EACCES));
    context.chown("/f", Some(1000), None).unwrap();
    assert_eq!(lease(&of_user.open("/f", READ).unwrap()), Ok(()));

    let without = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let file = without.open("/f", READ | OpenFlags::CREATE).unwrap();
    assert_eq!((lease(&file), file.getlease()), (Err(Errno::EINVAL), Ok(UNLOCK)));
}

#[test]
fn an_open_begins_the_break_it_needs() {
    let context = world();
    let try_open = |flags| context.open("/f", flags | NONBLOCK).map(drop);
    let rows = [
        (SHARED, READ, Ok(()), None),
        (SHARED, READ | OpenFlags::TRUNCATE, Ok(()), None),
        (SHARED, READ | OpenFlags::CREATE, Ok(()), None),
        (SHARED, OpenFlags::PATH, Err(Errno::EINVAL), None),
        (SHARED, WRITE, Err(Errno::EAGAIN), Some(UNLOCK)),
        (SHARED, BOTH | OpenFlags::TRUNCATE, Err(Errno::EAGAIN), Some(UNLOCK)),
        (EXCLUSIVE, READ, Err(Errno::EAGAIN), Some(SHARED)),
        (EXCLUSIVE, READ | OpenFlags::TRUNCATE, Err(Errno::EAGAIN), Some(SHARED)),
        (EXCLUSIVE, WRITE | OpenFlags::CREATE, Err(Errno::EAGAIN), Some(UNLOCK)),
    ];
    for (kind, flags, expected, broken) in rows {
        let (file, lease) = leased(&context, READ, kind);
        assert_eq!((try_open(flags), lease.broken()), (expected, broken), "{kind:?} {flags:?}");
        assert_eq!((lease.kind(), file.getlease()), (kind, Ok(broken.unwrap_or(kind))));
        lease.release();
        assert_eq!((lease.kind(), lease.broken(), file.getlease()), (UNLOCK, None, Ok(UNLOCK)));
        assert_eq!(lease.set(SHARED), Err(Errno::EAGAIN), "it has ended");
    }
}

#[test]
fn names_and_attributes_break_nothing() {
    let context = world();
    let (file, lease) = leased(&context, BOTH, EXCLUSIVE);
    context.chmod("/f", 0o600).unwrap();
    context.chown("/f", Some(1), Some(1)).unwrap();
    context.link("/f", "/other").unwrap();
    context.renameat(At::Cwd, "/other", At::Cwd, "/third", RenameFlags::empty()).unwrap();
    context.unlink("/f").unwrap();
    file.set_len(3).unwrap();
    file.write(b"data").unwrap();
    assert_eq!((lease.kind(), lease.broken()), (EXCLUSIVE, None));
    // All names lead to one node.
    assert_eq!(context.open("/third", READ | NONBLOCK).map(drop), Err(Errno::EAGAIN));
}

/// What the holder of a lease is to make of it before an operation goes on.
#[test]
fn an_operation_waits_for_the_holder() {
    type Operation = fn(&Context) -> Result<(), Errno>;
    let rows: [(LockKind, Operation, LockKind); 6] = [
        (EXCLUSIVE, |context| context.open("/f", READ).map(drop), SHARED),
        (EXCLUSIVE, |context| context.open("/f", WRITE).map(drop), UNLOCK),
        (SHARED, |context| context.open("/f", WRITE).map(drop), UNLOCK),
        (SHARED, |context| context.truncate("/f", 0), UNLOCK),
        (EXCLUSIVE, |context| context.may_execute_at(At::Cwd, "/f", AtFlags::empty()), SHARED),
        (EXCLUSIVE, |context| context.reopen(&context.lookup("/f").unwrap(), READ).map(drop), SHARED),
    ];
    let context = world();
    context.chmod("/f", 0o777).unwrap();
    for (number, (kind, operation, to)) in rows.into_iter().enumerate() {
        let (_file, lease) = leased(&context, READ, kind);
        let breaks = Arc::new(Mutex::new(Vec::new()));
        let told = breaks.clone();
        lease.on_break(move |to| told.lock().unwrap().push(to));
        scope(|scope| {
            let opener = scope.spawn(|| operation(&context));
            assert_eq!((lease.wait(), lease.wait()), (Ok(to), Ok(to)), "{number}");
            until_waiting(&context, 1);
            assert_eq!(*breaks.lock().unwrap(), [to], "{number}");
            if to == UNLOCK {
                assert_eq!(lease.set(SHARED), Err(Errno::EAGAIN), "{number}: a writer waits");
                lease.release();
            } else {
                lease.set(SHARED).unwrap();
                assert_eq!((lease.kind(), lease.broken()), (SHARED, None));
            }
            assert_eq!(opener.join().unwrap(), Ok(()), "{number}");
        });
    }
    assert_eq!(context.vfs().locks(), Default::default());
}

#[test]
fn a_lease_ends_with_its_file() {
    let context = world();
    for last in 0..3 {
        let (file, lease) = leased(&context, READ, EXCLUSIVE);
        scope(|scope| {
            let writer = scope.spawn(|| context.open("/f", WRITE).map(drop));
            until_waiting(&context, 1);
            match last {
                0 => {
                    drop(file);
                    assert_eq!((lease.kind(), lease.wait()), (UNLOCK, Ok(UNLOCK)));
                }
                1 => {
                    let clone = lease.clone();
                    drop(lease);
                    assert_eq!(clone.kind(), EXCLUSIVE);
                    drop(clone);
                    assert_eq!(file.getlease(), Ok(UNLOCK));
                }
                _ => lease.release(),
            }
            writer.join().unwrap().unwrap();
        });
    }
}

#[test]
fn a_file_has_one_lease() {
    let context = world();
    let (file, lease) = leased(&context, READ, SHARED);
    let again = file.lease(EXCLUSIVE).unwrap();
    assert_eq!((lease.kind(), again.kind()), (EXCLUSIVE, EXCLUSIVE));
    drop(again);
    assert_eq!((lease.kind(), context.vfs().locks().leases), (EXCLUSIVE, 1));
    lease.release();
    let new = file.lease(SHARED).unwrap();
    assert_eq!((lease.kind(), new.kind()), (UNLOCK, SHARED), "the one that has ended stays so");
    drop(lease);
    assert_eq!(new.kind(), SHARED);
}

#[test]
fn a_lease_is_taken_away_in_time() {
    let context = given(Duration::from_millis(50));
    let rows = [(EXCLUSIVE, READ, SHARED), (EXCLUSIVE, WRITE, UNLOCK), (SHARED, WRITE, UNLOCK)];
    for (kind, flags, then) in rows {
        let (_file, lease) = leased(&context, READ, kind);
        context.open("/f", flags).unwrap();
        assert_eq!((lease.kind(), lease.broken()), (then, None));
    }
    // The time runs also where no open waits.
    let (file, lease) = leased(&context, READ, EXCLUSIVE);
    assert_eq!(context.open("/f", WRITE | NONBLOCK).map(drop), Err(Errno::EAGAIN));
    while lease.kind() != UNLOCK {
        yield_now();
    }
    assert_eq!(file.getlease(), Ok(UNLOCK));
    context.open("/f", WRITE | NONBLOCK).unwrap();
}

/// In Linux, the time goes on after the holder gave way, and takes what it was granted later.
#[test]
fn a_holder_that_gave_way_keeps_what_it_gets_later() {
    let context = given(Duration::from_millis(20));
    let (_file, lease) = leased(&context, READ, EXCLUSIVE);
    assert_eq!(context.open("/f", READ | NONBLOCK).map(drop), Err(Errno::EAGAIN));
    lease.set(SHARED).unwrap();
    lease.set(EXCLUSIVE).unwrap();
    std::thread::sleep(Duration::from_millis(40));
    assert_eq!((lease.kind(), lease.broken()), (EXCLUSIVE, None));
}

#[test]
fn a_lease_that_is_broken_is_in_the_way_of_others() {
    let context = world();
    let (one, lease) = leased(&context, READ, SHARED);
    let other = context.open("/f", READ).unwrap();
    assert_eq!(context.open("/f", WRITE | NONBLOCK).map(drop), Err(Errno::EAGAIN));
    assert_eq!(other.lease(SHARED).map(drop), Err(Errno::EAGAIN));
    assert_eq!((lease.set(SHARED), one.getlease()), (Ok(()), Ok(UNLOCK)));
    assert_eq!(lease.set(EXCLUSIVE), Err(Errno::EAGAIN));
    drop(other);
    assert_eq!((lease.set(EXCLUSIVE), one.getlease(), lease.kind()), (Ok(()), Ok(UNLOCK), EXCLUSIVE));
}

#[test]
fn the_caches_alone_tell_no_holder() {
    let context = world();
    let (_file, lease) = leased(&context, READ, EXCLUSIVE);
    let cached = OpenHow { flags: READ, mode: 0, resolve: Resolve::CACHED };
    assert_eq!(context.open("/f", cached).map(drop), Err(Errno::EAGAIN));
    assert_eq!(context.cached().open("/f", READ).map(drop), Err(Errno::EAGAIN));
    assert_eq!(lease.broken(), None);
    lease.set(SHARED).unwrap();
    context.cached().open("/f", READ).unwrap();
}

#[test]
fn a_holder_is_told_once_a_break() {
    let context = world();
    let (file, lease) = leased(&context, READ, EXCLUSIVE);
    let try_open = |flags| context.open("/f", flags | NONBLOCK).map(drop).unwrap_err();
    assert_eq!((try_open(READ), try_open(READ)), (Errno::EAGAIN, Errno::EAGAIN));
    // Told of what was before, and from a thread that uses the lease itself.
    let (send, breaks) = channel();
    let own = file.lease(SHARED).unwrap();
    assert_eq!(own.broken(), None);
    own.set(EXCLUSIVE).unwrap();
    assert_eq!(try_open(READ), Errno::EAGAIN);
    lease.on_break(move |to| _ = send.send((to, own.kind())));
    assert_eq!(try_open(READ), Errno::EAGAIN);
    assert_eq!(try_open(WRITE), Errno::EAGAIN);
    assert_eq!(breaks.try_iter().collect::<Vec<_>>(), [(SHARED, EXCLUSIVE), (UNLOCK, EXCLUSIVE)]);
    // The callback has a clone of the lease.
    lease.on_break(|_| ());
}

#[test]
fn waits_are_cancelled() {
    let context = world();
    let (file, lease) = leased(&context, READ, EXCLUSIVE);
    let cancellation = Cancellation::new();
    scope(|scope| {
        let openers = [READ, WRITE].map(|flags| {
            let (context, cancellation) = (&context, &cancellation);
            scope.spawn(move || cancellation.during(|| context.open("/f", flags).map(drop)))
        });
        until_waiting(&context, 2);
        cancellation.cancel();
        openers.into_iter().for_each(|opener| assert_eq!(opener.join().unwrap(), Err(Errno::ECANCELED)));
    });
    assert_eq!(lease.broken(), Some(UNLOCK), "the break goes on");
    lease.release();
    let lease = file.lease(EXCLUSIVE).expect("what was cancelled is not open");
    assert_eq!(cancellation.during(|| lease.wait()), Err(Errno::ECANCELED));
}

/// A file that could not be opened is not counted as open.
#[test]
fn what_fails_is_not_open() {
    let context = world();
    let user = context.vfs().context(Credentials::user(1, 1, &[]));
    assert_eq!(user.open("/f", WRITE).map(drop), Err(Errno::EACCES));
    assert_eq!(context.open("/f", READ | OpenFlags::DIRECTORY).map(drop), Err(Errno::ENOTDIR));
    context.open("/f", BOTH | OpenFlags::APPEND).unwrap();
    context.truncate("/f", 3).unwrap();
    leased(&context, READ, EXCLUSIVE);
}

#[test]
fn a_panic_of_the_callback_goes_to_the_opener() {
    let context = world();
    let (file, lease) = leased(&context, READ, EXCLUSIVE);
    lease.on_break(|_| panic!("on purpose"));
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| context.open("/f", READ).map(drop)));
    assert!(opened.is_err());
    assert_eq!(lease.broken(), Some(SHARED));
    lease.set(SHARED).unwrap();
    assert_eq!((lease.set(EXCLUSIVE), file.getlease()), (Ok(()), Ok(EXCLUSIVE)), "the opener is gone");
}

#[test]
fn many_holders_give_way_to_a_writer() {
    const HOLDERS: usize = 8;
    let context = world();
    let told = Arc::new(AtomicUsize::new(0));
    let held: Vec<(File, Lease)> = (0..HOLDERS).map(|_| leased(&context, READ, SHARED)).collect();
    assert_eq!(context.vfs().locks().leases, HOLDERS as u64);
    for (_, lease) in &held {
        let told = told.clone();
        lease.on_break(move |_| _ = told.fetch_add(1, Ordering::Relaxed));
    }
    scope(|scope| {
        let writer = scope.spawn(|| context.open("/f", WRITE).map(drop));
        for (_, lease) in &held {
            assert_eq!(lease.wait(), Ok(UNLOCK));
            assert!(!writer.is_finished());
            lease.release();
        }
        writer.join().unwrap().unwrap();
    });
    assert_eq!((told.load(Ordering::Relaxed), context.vfs().locks().leases), (HOLDERS, 0));
}

#[test]
fn opens_past_the_vfs_are_reported() {
    let context = world();
    let (file, lease) = leased(&context, READ, EXCLUSIVE);
    let breaks = |opener, wait| context.vfs().break_leases(file.handle(), opener, wait);
    assert_eq!(breaks(UNLOCK, LockWait::No), Err(Errno::EINVAL));
    assert_eq!((breaks(SHARED, LockWait::No), lease.broken()), (Err(Errno::EAGAIN), Some(SHARED)));
    scope(|scope| {
        let other = scope.spawn(|| breaks(SHARED, LockWait::Yes));
        until_waiting(&context, 1);
        lease.set(SHARED).unwrap();
        assert_eq!(other.join().unwrap(), Ok(()));
    });
    assert_eq!(world().vfs().break_leases(file.handle(), SHARED, LockWait::No), Err(Errno::EBADF));
}
