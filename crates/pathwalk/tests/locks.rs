//! Locks on open files: owners, closes, the standard library's names, and a file system that keeps
//! the locks itself.

use std::sync::{Arc, Barrier, Mutex};

use pathwalk::{
    Access, Attributes, Cancellation, Context, Credentials, Directory, Errno, File, FileSystem, FileType, LockKind, LockOwner,
    LockRange, LockWait, Locks, Name, Node, NodeKey, OpenFile, OpenFlags, OpenFor, RecordLock, Vfs,
};
use pathwalk_memfs::MemFs;

const WHOLE: LockRange = LockRange::WHOLE;
const BOTH: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE).union(OpenFlags::CREATE);

fn world() -> Context {
    Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root())
}

fn exclusive(file: &File) -> Result<(), Errno> {
    file.setlk(LockKind::Exclusive, WHOLE, LockWait::No)
}

#[test]
fn a_file_without_data_has_no_locks() {
    let context = world();
    context.write("/f", "").unwrap();
    let place = context.open("/f", OpenFlags::PATH).unwrap();
    assert_eq!(place.flock(LockKind::Shared, LockWait::No), Err(Errno::EBADF));
    assert_eq!(place.setlk(LockKind::Unlock, WHOLE, LockWait::No), Err(Errno::EBADF));
    assert_eq!(place.getlk(LockKind::Shared, WHOLE), Err(Errno::EBADF));
    let error = place.lock().unwrap_err();
    assert_eq!(error.to_string(), "lock \"/f\": EBADF (Bad file descriptor)");
    assert!(matches!(place.try_lock(), Err(pathwalk::TryLockError::Error(error)) if error.errno() == Errno::EBADF));
}

#[test]
fn the_close_of_a_mere_place_releases_nothing() {
    let context = world();
    let file = context.open("/f", BOTH).unwrap();
    exclusive(&file).unwrap();
    drop(context.open("/f", OpenFlags::PATH).unwrap());
    assert_eq!(context.vfs().locks().held, 1);
    drop(context.open("/f", OpenFlags::READ).unwrap());
    assert_eq!(context.vfs().locks().held, 0);
}

#[test]
fn a_clone_and_a_confined_context_are_other_processes() {
    let context = world();
    let file = context.open("/f", BOTH).unwrap();
    exclusive(&file).unwrap();
    let confined = context.confined(context.root()).unwrap();
    for other in [context.clone(), confined] {
        assert_eq!(exclusive(&other.open("/f", BOTH).unwrap()), Err(Errno::EAGAIN));
    }
    assert_eq!(context.vfs().locks().held, 1, "what they closed was not their own");
    let thread = context.clone().with_lock_owner(context.lock_owner());
    assert_eq!(exclusive(&thread.open("/f", BOTH).unwrap()), Ok(()));
    assert_eq!(context.vfs().locks().held, 0, "a thread closed the file");
}

/// Checks locks on names of one node, on a directory, and on a file that has no name any more.
#[test]
fn locks_are_on_nodes() {
    let context = world();
    let file = context.open("/f", BOTH).unwrap();
    context.link("/f", "/g").unwrap();
    file.lock().unwrap();
    let other = context.open("/g", OpenFlags::READ).unwrap();
    assert_eq!(other.flock(LockKind::Shared, LockWait::No), Err(Errno::EAGAIN));
    context.unlink("/f").unwrap();
    context.unlink("/g").unwrap();
    assert_eq!(other.flock(LockKind::Shared, LockWait::No), Err(Errno::EAGAIN));
    drop(file);
    assert_eq!(other.flock(LockKind::Exclusive, LockWait::No), Ok(()));
    let (one, two) = (context.open("/", OpenFlags::READ).unwrap(), context.open("/", OpenFlags::READ).unwrap());
    one.lock().unwrap();
    assert_eq!(two.flock(LockKind::Shared, LockWait::No), Err(Errno::EAGAIN));
    drop((one, two, other));
    assert_eq!(context.vfs().locks().held, 0);
}

#[test]
fn the_owners_of_a_server_lose_their_locks_with_the_file() {
    let context = world();
    let (file, other) = (context.open("/f", BOTH).unwrap(), context.open("/f", BOTH).unwrap());
    let owner = LockOwner::new(7);
    file.locks_of(owner).setlk(LockKind::Exclusive, LockRange::new(0, 5), LockWait::No).unwrap();
    other.locks_of(owner).setlk(LockKind::Exclusive, LockRange::new(5, 5), LockWait::No).unwrap();
    assert_eq!(context.vfs().locks().held, 1, "the ranges of one owner are one");
    drop(file);
    assert_eq!(context.vfs().locks().held, 0);
}

/// Counts in a file that threads read and write, each with a file of its own that it locks.
#[test]
fn counting_under_a_lock_misses_nothing() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = if cfg!(miri) { 5 } else { 500 };
    let context = world();
    context.write("/count", 0_u64.to_le_bytes()).unwrap();
    let barrier = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (context, barrier) = (context.clone(), &barrier);
            scope.spawn(move || {
                barrier.wait();
                for round in 0..ROUNDS {
                    let file = context.open("/count", OpenFlags::READ | OpenFlags::WRITE).unwrap();
                    let (kind, wait) = (LockKind::Exclusive, LockWait::Yes);
                    // The two families do not exclude each other, so each thread takes both.
                    file.flock(kind, wait).unwrap();
                    match (number + round) % 3 {
                        0 => file.setlk(kind, LockRange::new(0, 8), wait).unwrap(),
                        1 => file.ofd_setlk(kind, LockRange::new(round % 8, 1), wait).unwrap(),
                        _ => file.locks_of(LockOwner::new(number)).setlk(kind, WHOLE, wait).unwrap(),
                    }
                    let mut count = [0; 8];
                    file.read_at(&mut count, 0).unwrap();
                    file.write_at(&(u64::from_le_bytes(count) + 1).to_le_bytes(), 0).unwrap();
                }
            });
        }
    });
    let count = context.read("/count").unwrap();
    assert_eq!(u64::from_le_bytes(count.try_into().unwrap()), THREADS * ROUNDS);
    assert_eq!((context.vfs().locks().held, context.vfs().locks().waiting), (0, 0));
}

/// A file system with one file, whose locks it keeps itself: each owner has one lock at most, and
/// it records its calls.
#[derive(Clone, Default)]
struct Distributed(Arc<Mutex<Vec<String>>>);

impl Distributed {
    fn called(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

struct Data;

impl OpenFile for Data {}

impl FileSystem for Distributed {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(Some(Node::new(NodeKey(1), self.attributes(NodeKey(1))?)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(Attributes::new(if node.0 == 0 { FileType::Directory } else { FileType::Regular }, 0o777))
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Data))
    }

    fn locks(&self) -> Option<&dyn Locks> {
        Some(self)
    }
}

impl Locks for Distributed {
    fn flock(&self, node: NodeKey, _: LockOwner, kind: LockKind, _: LockWait) -> Result<(), Errno> {
        self.called(format!("flock {} {kind:?}", node.0));
        Ok(())
    }

    fn set(&self, node: NodeKey, lock: &RecordLock, wait: LockWait) -> Result<(), Errno> {
        self.called(format!("set {} {:?} {}+{}", node.0, lock.kind, lock.range.start, lock.range.len));
        let is_cancelled = Cancellation::current().is_some_and(|current| current.is_cancelled());
        if wait == LockWait::Yes && is_cancelled { Err(Errno::ECANCELED) } else { Ok(()) }
    }

    fn get(&self, _: NodeKey, lock: &RecordLock) -> Result<Option<RecordLock>, Errno> {
        Ok(Some(RecordLock::new(lock.kind, WHOLE, LockOwner::new(1))))
    }

    fn release(&self, node: NodeKey, owner: LockOwner) {
        self.called(format!("release {} {}", node.0, if owner.is_file() { "file" } else { "process" }));
    }
}

#[test]
fn a_file_system_keeps_the_locks_itself() {
    let fs = Distributed::default();
    let vfs = Vfs::builder().build(fs.clone()).unwrap();
    let context = vfs.context(Credentials::root());
    assert_eq!(context.access("/f", Access::READ), Ok(()));
    let calls = || std::mem::take(&mut *fs.0.lock().unwrap());
    let (one, other) = (context.open("/f", BOTH).unwrap(), context.open("/f", BOTH).unwrap());
    assert_eq!(one.setlk(LockKind::Shared, LockRange::new(u64::MAX, 0), LockWait::No), Err(Errno::EINVAL));
    assert_eq!(calls(), [""; 0], "what is no range is refused before");
    exclusive(&one).unwrap();
    one.lock().unwrap();
    assert_eq!(calls(), ["set 1 Exclusive 0+0", "flock 1 Exclusive"]);
    assert_eq!(one.getlk(LockKind::Shared, WHOLE).unwrap().unwrap().owner, LockOwner::new(1));
    let cancel = Cancellation::new();
    cancel.cancel();
    assert_eq!(cancel.during(|| one.setlk(LockKind::Shared, WHOLE, LockWait::Yes)), Err(Errno::ECANCELED));
    calls();
    drop(other);
    assert_eq!(calls(), ["release 1 process"], "any file of the owner releases its locks");
    drop(one);
    assert_eq!(calls(), ["release 1 file"]);
    drop(context.open("/f", BOTH).unwrap());
    assert_eq!((calls(), vfs.locks().held), (vec![], 0));
}
