//! Reads and writes with flags, leases of the engine, handles and what the caches never have.

use std::sync::Arc;

use pathwalk::{
    AtFlags, Attributes, Context, Credentials, Directory, Errno, File, FileSystem, FileType, HandleFlags, LEASE_BREAK_TIME,
    LockKind, Name, Node, NodeKey, OpenFile, OpenFlags, OpenFor, Resolve, RwFlags, StatxMask, Vfs,
};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Entry, EntryFlags, Offset, Op, Ring, Value};

use crate::common::{EALREADY, all, eventually, pool, results, submit};

const ECANCELED: i32 = -125;
const EAGAIN: i32 = -11;
const ENOENT: i32 = -2;
const ESTALE: i32 = -116;
const EOPNOTSUPP: i32 = -95;
const NONBLOCK: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE).union(OpenFlags::NONBLOCK);

fn world() -> (Context, Arc<File>) {
    let context = Vfs::builder().leases(LEASE_BREAK_TIME).build(MemFs::new()).unwrap().context(Credentials::root());
    context.write("/f", "0123456789").unwrap();
    let file = context.open("/f", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    (context, Arc::new(file))
}

fn ring(context: &Context) -> Ring {
    Ring::builder(context.clone()).pool(pool(1)).build()
}

fn read(file: &Arc<File>, length: usize, offset: Offset, flags: RwFlags) -> Op<'static> {
    Op::ReadWith { file: file.clone(), buffer: vec![0; length], offset, flags }
}

fn value(ring: &mut Ring, op: Op<'static>) -> Result<Value, Errno> {
    submit(ring, [Entry::new(0, op)]);
    all(ring).remove(0).result
}

#[test]
fn a_read_that_must_not_wait_takes_no_worker() {
    let (context, file) = world();
    let mut ring = ring(&context);
    let Ok(Value::Read(bytes)) = value(&mut ring, read(&file, 4, Offset::At(3), RwFlags::NOWAIT)) else { panic!() };
    assert_eq!((&bytes[..], ring.pool().stats().workers), (&b"3456"[..], 0));
    submit(&mut ring, [Entry::new(0, read(&file, 4, Offset::At(0), RwFlags::NOWAIT | RwFlags::ATOMIC))]);
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, EOPNOTSUPP)], 0));
    // The position belongs to a worker, since another read may have it.
    let Ok(Value::Read(bytes)) = value(&mut ring, read(&file, 4, Offset::Current, RwFlags::NOWAIT)) else { panic!() };
    assert_eq!((&bytes[..], ring.pool().stats().workers), (&b"0123"[..], 1));
    let Ok(Value::Read(bytes)) = value(&mut ring, read(&file, 40, Offset::Current, RwFlags::HIPRI)) else { panic!() };
    assert_eq!(bytes, b"456789");
}

/// A file system with one file, which has nothing at hand.
struct Far;

impl FileSystem for Far {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(Some(Node::new(NodeKey(1), self.attributes(NodeKey(1))?)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let kind = if node == NodeKey(0) { FileType::Directory } else { FileType::Regular };
        Ok(Attributes::new(kind, 0o755).with_size(4))
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Far))
    }
}

impl OpenFile for Far {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let length = buffer.len().min(4usize.saturating_sub(offset as usize));
        buffer[..length].fill(b'x');
        Ok(length)
    }
}

/// Checks that `EAGAIN` is the answer of a read that must not wait, and that a worker does any
/// other.
#[test]
fn a_read_that_would_wait_is_again() {
    let context = Vfs::builder().build(Far).unwrap().context(Credentials::root());
    let file = Arc::new(context.open("/f", OpenFlags::READ).unwrap());
    let mut ring = ring(&context);
    submit(&mut ring, [Entry::new(0, read(&file, 4, Offset::At(0), RwFlags::NOWAIT))]);
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, EAGAIN)], 0));
    submit(&mut ring, [Entry::new(0, read(&file, 4, Offset::At(0), RwFlags::empty()))]);
    assert_eq!(results(&mut ring), [(0, 4)]);
}

#[test]
fn a_lease_is_changed_at_once() {
    let (context, file) = world();
    let lease = file.lease(LockKind::Exclusive).unwrap();
    let mut ring = ring(&context);
    let set = |id, kind| Entry::new(id, Op::SetLease { lease: lease.clone(), kind });
    submit(&mut ring, [set(0, LockKind::Unlock)]);
    submit(&mut ring, [set(1, LockKind::Exclusive)]);
    assert_eq!(results(&mut ring), [(0, 0), (1, EAGAIN)]);
    assert_eq!(lease.kind(), LockKind::Unlock);
}

/// Checks that an entry behind a short read or write is cancelled, as with other reads and writes.
#[test]
fn a_short_read_cuts_its_chain() {
    let (context, file) = world();
    let mut ring = ring(&context);
    let write = |flags| Op::WriteWith { file: file.clone(), data: b"ab".into(), offset: Offset::At(0), flags };
    let chain = [
        Entry::new(0, write(RwFlags::APPEND)).with(EntryFlags::LINK),
        Entry::new(1, read(&file, 12, Offset::At(0), RwFlags::NOWAIT)).with(EntryFlags::LINK),
        Entry::new(2, read(&file, 13, Offset::At(0), RwFlags::empty())).with(EntryFlags::LINK),
        Entry::new(3, Op::Nop),
    ];
    submit(&mut ring, chain);
    assert_eq!(results(&mut ring), [(0, 2), (1, 12), (2, 12), (3, ECANCELED)]);
    assert_eq!(context.read("/f").unwrap(), b"0123456789ab");
    submit(&mut ring, [Entry::new(0, write(RwFlags::ATOMIC))]);
    assert_eq!(results(&mut ring), [(0, EOPNOTSUPP)]);
}

#[test]
fn a_lease_is_taken_broken_and_given_back() {
    let (context, file) = world();
    let mut ring = ring(&context);
    let take = || Op::Lease { file: file.clone(), kind: LockKind::Exclusive };
    let Ok(Value::Lease(lease)) = value(&mut ring, take()) else { panic!("it was not granted") };
    // A break that is awaited takes a thread that is not one of the workers.
    submit(&mut ring, [Entry::new(1, Op::LeaseBreak { lease: lease.clone() })]);
    submit(&mut ring, [Entry::new(2, Op::Openat2 { place: "/f".into(), how: NONBLOCK.into() })]);
    ring.wait(2);
    let mut both = results(&mut ring);
    both.sort_unstable();
    assert_eq!(both, [(1, 0), (2, EAGAIN)]);
    let workers = ring.pool().stats().workers;
    // One that is there already is answered at once, and so is the release.
    let Ok(Value::Break(to)) = value(&mut ring, Op::LeaseBreak { lease: lease.clone() }) else { panic!("it is broken") };
    assert_eq!(to, LockKind::Unlock);
    submit(&mut ring, [Entry::new(3, Op::SetLease { lease: lease.clone(), kind: LockKind::Unlock })]);
    submit(&mut ring, [Entry::new(4, Op::SetLease { lease: lease.clone(), kind: LockKind::Shared })]);
    assert_eq!(results(&mut ring), [(3, 0), (4, EAGAIN)]);
    let Ok(Value::Break(to)) = value(&mut ring, Op::LeaseBreak { lease }) else { panic!("it has ended") };
    assert_eq!((to, ring.pool().stats().workers <= workers), (LockKind::Unlock, true));
    context.open("/f", NONBLOCK).unwrap();
}

#[test]
fn a_wait_for_a_break_is_cancelled_and_leaves_the_lease() {
    let (context, file) = world();
    let lease = file.lease(LockKind::Exclusive).unwrap();
    let mut ring = ring(&context);
    submit(&mut ring, [Entry::new(7, Op::LeaseBreak { lease: lease.clone() })]);
    eventually("a thread has taken it", || ring.pool().stats().queued == 0);
    // It may not have begun to wait, and ends then as soon as it does.
    let cancelled = ring.cancel(7);
    assert!(cancelled == Ok(()) || cancelled.map_err(|errno| -errno.raw()) == Err(EALREADY));
    assert_eq!(results(&mut ring), [(7, ECANCELED)]);
    assert_eq!((lease.kind(), lease.broken()), (LockKind::Exclusive, None));
    // The end of a ring ends the wait, and drops its share of the lease.
    submit(&mut ring, [Entry::new(8, Op::LeaseBreak { lease })]);
    drop(ring);
    eventually("the lease has ended", || file.getlease() == Ok(LockKind::Unlock));
}

/// Checks that a lease in a completion that nothing reads is given back.
#[test]
fn a_lease_that_nothing_reads_ends() {
    let (context, file) = world();
    let mut ring = ring(&context);
    submit(&mut ring, [Entry::new(0, Op::Lease { file: file.clone(), kind: LockKind::Exclusive })]);
    ring.wait(1);
    drop(ring);
    eventually("the lease has ended", || file.getlease() == Ok(LockKind::Unlock));
}

#[test]
fn handles_lead_to_their_nodes() {
    let (context, _) = world();
    let mut ring = ring(&context);
    let name = Op::NameToHandleAt { place: "/f".into(), flags: HandleFlags::empty() };
    let Ok(Value::FileHandle(handle, mount)) = value(&mut ring, name) else { panic!("it has none") };
    assert_eq!(mount, context.statx("/f", StatxMask::MNT_ID).unwrap().mount_id);
    context.rename("/f", "/g").unwrap();
    let root = || context.root().clone();
    let Ok(Value::Handle(found)) = value(&mut ring, Op::LookupByHandle { mount: root(), handle: handle.clone() }) else {
        panic!("it is not found")
    };
    assert_eq!(found.path().unwrap(), b"/g");
    let open = Op::OpenByHandleAt { mount: root(), handle: handle.clone(), how: OpenFlags::READ.into() };
    let Ok(Value::File(file)) = value(&mut ring, open) else { panic!("it is not opened") };
    assert_eq!(file.handle().key(), found.key());
    drop((file, found));
    context.unlink("/g").unwrap();
    submit(&mut ring, [Entry::new(1, Op::LookupByHandle { mount: root(), handle })]);
    assert_eq!(results(&mut ring), [(1, ESTALE)]);
}

#[test]
fn what_the_caches_never_have_is_a_workers() {
    let (context, file) = world();
    let mut ring = ring(&context);
    let none = AtFlags::empty();
    let details = |mask| Op::Details { place: "/f".into(), flags: none, mask };
    let Ok(Value::Details(first)) = value(&mut ring, details(StatxMask::CHANGE_COOKIE)) else { panic!() };
    file.write_at(b"x", 0).unwrap();
    let Ok(Value::Details(then)) = value(&mut ring, details(StatxMask::CHANGE_COOKIE)) else { panic!() };
    assert!(first.1.change.unwrap().number() < then.1.change.unwrap().number());
    let Ok(Value::Generation(number)) = value(&mut ring, Op::GenerationAt { place: "/f".into(), flags: none }) else { panic!() };
    assert_eq!(Ok(number), file.generation());
    submit(&mut ring, [Entry::new(0, Op::GenerationAt { place: "/none".into(), flags: none })]);
    assert_eq!(results(&mut ring), [(0, ENOENT)]);
    // Attributes that the file system is asked for are a worker's, too; of any age they are cached.
    let age = |flags, resolve| Op::Statx { place: "/f".into(), flags, mask: StatxMask::MODE, resolve };
    assert!(value(&mut ring, age(AtFlags::FORCE_SYNC, Resolve::empty())).is_ok());
    submit(&mut ring, [Entry::new(0, age(AtFlags::FORCE_SYNC, Resolve::CACHED))]);
    submit(&mut ring, [Entry::new(1, age(AtFlags::DONT_SYNC, Resolve::CACHED))]);
    assert_eq!(results(&mut ring), [(0, EAGAIN), (1, 0)]);
}

/// Checks that a wait for a break that is dropped as a future leaves the lease.
#[test]
fn a_future_that_is_dropped_ends_its_wait() {
    let (context, file) = world();
    let lease = file.lease(LockKind::Exclusive).unwrap();
    let vfs = AsyncContext::new(context, pool(1));
    let mut future = Box::pin(vfs.lease_break(&lease));
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut task).is_pending());
    drop(future);
    eventually("the wait has ended", || vfs.pool().stats().idle == vfs.pool().stats().workers);
    assert_eq!((lease.kind(), file.getlease()), (LockKind::Exclusive, Ok(LockKind::Exclusive)));
}
