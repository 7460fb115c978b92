//! The start of each scenario: a small tree over a file system with hooks, and an operation of each
//! kind.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pathwalk::{
    Access, At, Context, Credentials, EntryHandles, FallocateFlags, File, LinkFlags, OpenFlags, OpenHow, RenameFlags, RwFlags,
    SyncWhat, UnlinkFlags, Vfs,
};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{Completion, Entry, EntryFlags, Offset, Op, Place, Pool, Ring};

use crate::common::eventually;
use crate::wild::{END, Hooks, Wild, throw};

pub(crate) struct World {
    pub(crate) hooks: Hooks,
    pub(crate) context: Context,
    pub(crate) pool: Pool,
}

impl World {
    /// Creates a world with so many workers.
    pub(crate) fn new(workers: usize) -> World {
        let fs = MemFs::new();
        fs.mkdir("/d", 0o755).unwrap();
        ["/a", "/b", "/d/a", "/d/b"].into_iter().for_each(|path| fs.file(path, 0o644).unwrap());
        fs.symlink("d", "/l").unwrap();
        let (fs, hooks) = Wild::new(fs);
        let vfs = Vfs::builder().budget(Vfs::budget_for(64)).build(fs).unwrap();
        let pool = Pool::builder().workers(workers).idle(Duration::from_millis(1)).build();
        World { hooks, context: vfs.context(Credentials::root()), pool }
    }

    pub(crate) fn ring(&self) -> Ring {
        Ring::builder(self.context.clone()).entries(8).completions(64).pool(self.pool.clone()).build()
    }

    /// Opens a file for reading and writing, with eight bytes in it. Only the caller holds it.
    pub(crate) fn file(&self) -> Arc<File> {
        let how = OpenHow { flags: OpenFlags::READ | OpenFlags::WRITE, ..OpenHow::default() };
        let file = self.context.open("/b", how).unwrap();
        file.write_at(b"01234567", 0).unwrap();
        Arc::new(file)
    }

    pub(crate) fn dir(&self) -> Arc<File> {
        Arc::new(self.context.open("/d", OpenFlags::READ).unwrap())
    }

    /// Waits until no work runs and none waits.
    pub(crate) fn is_quiet(&self) {
        eventually("nothing waits", || {
            let stats = self.pool.stats();
            (stats.queued, stats.parked, stats.idle) == (0, 0, stats.workers)
        });
    }

    /// Checks that every worker ends, and that nothing is left in the pool.
    pub(crate) fn end(self) {
        self.hooks.clear();
        eventually("no worker is left", || self.pool.stats().workers == 0);
        let stats = self.pool.stats();
        assert_eq!((stats.queued, stats.parked, stats.idle), (0, 0, 0));
        // No worker was lost: the pool can start as many as before.
        let mut ring = self.ring();
        push(&mut ring, [Entry::new(0, Op::Nop).with(EntryFlags::ASYNC)]);
        assert_eq!(all(&mut ring, 1)[0].res(), 0);
    }
}

/// A function that makes an operation.
pub(crate) type MakeOp = fn(&World) -> Op<'static>;

/// One operation of each kind. Those of a file are the last to hold it.
pub(crate) const OPS: [(&str, MakeOp); 42] = [
    ("nop", |_| Op::Nop),
    ("open", |_| Op::open("/d/a", OpenFlags::READ)),
    ("open a cached one", |world| {
        world.context.stat("/d/b").unwrap();
        Op::open("/d/b", OpenFlags::READ)
    }),
    ("create", |_| Op::Openat2 { place: "/d/new".into(), how: create() }),
    ("truncate", |_| Op::open("/a", OpenFlags::WRITE | OpenFlags::TRUNCATE)),
    ("statx", |_| Op::stat("/d/a")),
    ("statx of none", |_| Op::stat("/none")),
    ("access", |_| Op::access("/l/b", Access::READ)),
    ("readlink", |_| Op::readlink("/l")),
    ("lookup", |_| Op::lookup("/l/a")),
    ("mkdir", |_| Op::Mkdirat { place: "/d/dir".into(), mode: 0o700 }),
    ("unlink", |_| Op::Unlinkat { place: "/d/a".into(), flags: UnlinkFlags::empty() }),
    ("rmdir", |_| Op::Unlinkat { place: "/d".into(), flags: UnlinkFlags::REMOVEDIR }),
    ("rename", |_| Op::Renameat { from: "/d/a".into(), to: "/b".into(), flags: RenameFlags::empty() }),
    ("exchange", |_| Op::Renameat { from: "/d/a".into(), to: "/b".into(), flags: RenameFlags::EXCHANGE }),
    ("link", |_| Op::Linkat { from: "/a".into(), to: "/d/link".into(), flags: LinkFlags::empty() }),
    ("symlink", |_| Op::Symlinkat { body: "d".into(), place: "/d/l".into() }),
    ("getxattr", |_| Op::Getxattrat { place: "/d/a".into(), name: b"user.a".into(), flags: Default::default() }),
    ("setxattr", |_| Op::Setxattrat {
        place: "/d/a".into(),
        name: b"user.a".into(),
        value: b"1".into(),
        how: Default::default(),
        flags: Default::default(),
    }),
    ("listxattr", |_| Op::Listxattrat { place: "/d/a".into(), flags: Default::default() }),
    ("removexattr", |_| Op::Removexattrat { place: "/d/a".into(), name: b"user.a".into(), flags: Default::default() }),
    ("lsattr", |_| Op::InodeFlagsAt { place: "/d/a".into(), flags: Default::default() }),
    ("chattr", |_| Op::SetInodeFlagsAt { place: "/d/a".into(), to: pathwalk::InodeFlags::NODUMP, flags: Default::default() }),
    ("details", |_| Op::Details { place: "/d/a".into(), flags: Default::default(), mask: pathwalk::StatxMask::CHANGE_COOKIE }),
    ("generation", |_| Op::GenerationAt { place: "/d/a".into(), flags: Default::default() }),
    ("handle", |_| Op::NameToHandleAt { place: "/d/a".into(), flags: Default::default() }),
    ("lookup by handle", |world| {
        let handle = world.context.name_to_handle("/d/a", Default::default()).unwrap().0;
        Op::LookupByHandle { mount: world.context.root().clone(), handle }
    }),
    ("open by handle", |world| {
        let handle = world.context.name_to_handle("/d/a", Default::default()).unwrap().0;
        Op::OpenByHandleAt { mount: world.context.root().clone(), handle, how: OpenFlags::READ.into() }
    }),
    ("read with", |world| Op::ReadWith {
        file: world.file(),
        buffer: vec![0; 8],
        offset: Offset::Current,
        flags: RwFlags::HIPRI,
    }),
    ("read now", |world| Op::ReadWith { file: world.file(), buffer: vec![0; 8], offset: Offset::At(0), flags: RwFlags::NOWAIT }),
    ("write with", |world| Op::WriteWith {
        file: world.file(),
        data: b"x".into(),
        offset: Offset::At(0),
        flags: RwFlags::APPEND,
    }),
    ("list", |world| Op::Getdents { file: world.dir(), at_most: 10 }),
    ("list nodes", |world| Op::Readdirplus { file: world.dir(), at_most: 10, handles: EntryHandles::With }),
    ("read", |world| Op::Read { file: world.file(), buffer: vec![0; 8], offset: Offset::Current }),
    ("read at", |world| Op::Read { file: world.file(), buffer: vec![0; 8], offset: Offset::At(0) }),
    ("write", |world| Op::Write { file: world.file(), data: b"x".into(), offset: Offset::Current }),
    ("write at", |world| Op::Write { file: world.file(), data: b"x".into(), offset: Offset::At(3) }),
    ("fallocate", |world| Op::Fallocate { file: world.file(), mode: FallocateFlags::KEEP_SIZE, offset: 0, length: 8 }),
    ("sync", |world| Op::Fsync { file: world.file(), what: SyncWhat::All }),
    ("close", |world| Op::Close { file: world.file() }),
    ("close without a name", |world| {
        let how = OpenHow { flags: OpenFlags::WRITE | OpenFlags::TMPFILE, mode: 0o600, ..OpenHow::default() };
        Op::Close { file: Arc::new(world.context.open("/d", how).unwrap()) }
    }),
    ("lookup in another", |_| {
        let other = World::new(1);
        other.hooks.set(|call, _| if call == END { throw() } else { Ok(()) });
        Op::Lookup {
            place: Place::new(At::Handle(other.context.root()), "a").into_owned(),
            flags: Default::default(),
            resolve: Default::default(),
        }
    }),
];

fn create() -> OpenHow {
    OpenHow { flags: OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() }
}

/// Submits all of them at once.
pub(crate) fn push(ring: &mut Ring, entries: impl IntoIterator<Item = Entry<'static>>) {
    let mut queue = ring.queue();
    entries.into_iter().for_each(|entry| queue.push(entry).unwrap());
    let entries = queue.len();
    assert_eq!(ring.submit(&mut queue), Ok(entries));
}

/// Waits for all outstanding entries. Checks that they are so many, numbered from 0, and returns
/// them in order.
pub(crate) fn all(ring: &mut Ring, entries: u64) -> Vec<Completion> {
    ring.wait(usize::MAX);
    let mut done: Vec<_> = std::iter::from_fn(|| ring.reap()).collect();
    done.sort_unstable_by_key(|done| done.user_data);
    let numbers: Vec<_> = done.iter().map(|done| done.user_data).collect();
    assert_eq!(numbers, (0..entries).collect::<Vec<_>>(), "each completes once");
    assert_eq!(ring.outstanding(), 0);
    done
}

pub(crate) fn numbers(done: &[Completion]) -> Vec<i32> {
    done.iter().map(Completion::res).collect()
}

/// Runs it, and panics if it hangs.
pub(crate) fn within_a_minute(what: &str, run: impl FnOnce() + Send + 'static) {
    let (done, end) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let _done = done;
        run();
    });
    if end.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("hangs: {what}");
    }
    if thread.join().is_err() {
        panic!("failed: {what}");
    }
}
