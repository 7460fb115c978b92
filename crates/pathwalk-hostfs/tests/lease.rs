//! Tests that opening a file under a lease waits for the lease's holder, as `open(2)` does, unless
//! only the caches are asked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use pathwalk::{Context, Credentials, Errno, OpenFlags, OpenHow, Resolve, Vfs};
use pathwalk_hostfs::{Coherence, Descriptors, HostFs};
use pathwalk_tests::{Lease, skipped};

const READ: OpenHow = OpenHow { flags: OpenFlags::READ, mode: 0, resolve: Resolve::empty() };

/// Creates a file with a lease on it, and a context. Returns `None`, and reports a skipped test,
/// where there are no leases.
fn leased(dir: &Path, descriptors: Descriptors) -> Option<(Lease, Context)> {
    let (lease, vfs) = leased_in(dir, Coherence::Frozen, descriptors)?;
    let context = vfs.context(Credentials::root());
    context.stat("/f").unwrap();
    Some((lease, context))
}

fn leased_in(dir: &Path, coherence: Coherence, descriptors: Descriptors) -> Option<(Lease, Vfs)> {
    let path = dir.join("f");
    fs::write(&path, "before").unwrap();
    let lease = Lease::take(&path).inspect_err(|error| skipped("opening under a lease", &format!("no lease here ({error})")));
    let host = HostFs::open(dir).unwrap().with_coherence(coherence).with_descriptors(descriptors);
    Some((lease.ok()?, Vfs::builder().build(host).unwrap()))
}

#[test]
fn an_open_waits_for_the_holder() {
    for descriptors in [Descriptors::AtOpen, Descriptors::AtFirstUse] {
        let dir = tempfile::tempdir().unwrap();
        let Some((lease, context)) = leased(dir.path(), descriptors) else { return };
        let holder = thread::spawn(move || lease.hand_over(b"after!"));
        let mut text = [0; 6];
        let read = context.open("/f", READ).and_then(|file| file.read(&mut text));
        assert_eq!((read, &text), (Ok(6), b"after!"), "{descriptors:?}");
        holder.join().unwrap().unwrap();
    }
}

#[test]
fn the_caches_alone_do_not_wait() {
    let dir = tempfile::tempdir().unwrap();
    let Some((lease, context)) = leased(dir.path(), Descriptors::AtOpen) else { return };
    let cached = OpenHow { resolve: Resolve::CACHED, ..READ };
    assert_eq!(context.open("/f", cached).map(drop), Err(Errno::EAGAIN));
    drop(lease);
    assert!(context.open("/f", READ).is_ok());
}

/// Tests that a file that not all may read is not opened with its lookup: a caller that may not
/// read it would break the lease.
#[test]
fn a_caller_without_the_right_to_read_breaks_no_lease() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let Some((lease, vfs)) = leased_in(dir.path(), Coherence::Strict, Descriptors::AtOpen) else { return };
    fs::set_permissions(dir.path().join("f"), fs::Permissions::from_mode(0o600)).unwrap();
    let user = vfs.context(Credentials::user(1000, 1000, &[]));
    assert_eq!(user.open("/f", READ).map(drop), Err(Errno::EACCES));
    assert!(lease.is_unbroken().unwrap());
    // Where all may read, the open waits.
    fs::set_permissions(dir.path().join("f"), fs::Permissions::from_mode(0o644)).unwrap();
    vfs.invalidate_path(user.root(), "f").unwrap();
    let holder = thread::spawn(move || lease.hand_over(b"after!"));
    let mut text = [0; 6];
    let read = user.open("/f", READ).and_then(|file| file.read(&mut text));
    assert_eq!((read, &text), (Ok(6), b"after!"));
    holder.join().unwrap().unwrap();
}

/// Tests that another node with the file's name is not waited for, even if it is a pipe without a
/// writer: the name is asked about again, and a pipe of the host is refused.
#[test]
fn a_pipe_in_its_place_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let Some((lease, context)) = leased(dir.path(), Descriptors::AtOpen) else { return };
    fs::rename(dir.path().join("f"), dir.path().join("other")).unwrap();
    let node = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("f"), node, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(context.open("/f", READ).map(drop), Err(Errno::ENXIO));
    drop(lease);
}
