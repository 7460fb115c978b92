//! An open that has to wait for the holder of a lease. It goes to a worker, and `submit` does not
//! wait.

use std::thread;
use std::time::Duration;

use pathwalk::{Credentials, OpenFlags, OpenHow, Resolve, Vfs};
use pathwalk_hostfs::HostFs;
use pathwalk_ring::{Entry, Op, Ring, Value};
use pathwalk_tests::{Lease, skipped};

use crate::common::{all, pool, results, submit};

const EAGAIN: i32 = -11;

#[test]
fn an_open_under_a_lease_is_a_worker_s() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, "before").unwrap();
    let lease = match Lease::take(&path) {
        Ok(lease) => lease,
        Err(error) => return skipped("opening under a lease through a ring", &format!("no lease here ({error})")),
    };
    let vfs = Vfs::builder().build(HostFs::open(dir.path()).unwrap()).unwrap();
    let context = vfs.context(Credentials::root());
    context.stat("/f").unwrap();
    let mut ring = Ring::builder(context).pool(pool(1)).build();
    let open = |resolve| Op::Openat2 { place: "/f".into(), how: OpenHow { resolve, ..OpenFlags::READ.into() } };

    submit(&mut ring, [Entry::new(0, open(Resolve::CACHED))]);
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, EAGAIN)], 0));
    // The holder gives the lease back after `submit`, which proves that `submit` did not wait.
    submit(&mut ring, [Entry::new(0, open(Resolve::empty()))]);
    let holder = thread::spawn(move || {
        // The worker has probably reached the lease by then.
        thread::sleep(Duration::from_millis(50));
        lease.hand_over(b"after!")
    });
    let Ok(Value::File(file)) = all(&mut ring).remove(0).result else { panic!("it was not opened") };
    let mut text = [0; 6];
    assert_eq!((file.read(&mut text), &text), (Ok(6), b"after!"));
    holder.join().unwrap().unwrap();
}
