//! Counts of allocations: a cached answer needs no allocation, waker or thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context as TaskContext, Poll, RawWaker, RawWakerVTable, Waker};

use pathwalk::{Access, AtFlags, Credentials, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Entry, Op, Pool, Ring};

/// An allocator that counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: All calls are passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may allocate when its count is gone.
        _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: The caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: The caller keeps the contract.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<T>(what: impl FnOnce() -> T) -> (T, u64) {
    let before = ALLOCATIONS.get();
    let answer = what();
    (answer, ALLOCATIONS.get() - before)
}

static CLONES: AtomicU64 = AtomicU64::new(0);

const TABLE: RawWakerVTable = RawWakerVTable::new(
    |_| {
        CLONES.fetch_add(1, SeqCst);
        RawWaker::new(std::ptr::null(), &TABLE)
    },
    |_| {},
    |_| {},
    |_| {},
);

/// Polls once.
fn poll<F: Future>(future: F) -> Option<F::Output> {
    // SAFETY: The table's functions use no data.
    let waker = unsafe { Waker::new(std::ptr::null(), &TABLE) };
    match pin!(future).poll(&mut TaskContext::from_waker(&waker)) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn world() -> AsyncContext {
    let fs = MemFs::new();
    fs.mkdir_all("/srv/www", 0o755).unwrap();
    fs.file("/srv/www/index.html", 0o644).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).build(fs).unwrap();
    AsyncContext::new(vfs.context(Credentials::user(33, 33, &[])), Pool::default())
}

#[test]
fn a_cached_stat_is_ready_at_the_first_poll_without_an_allocation() {
    let vfs = world();
    let path = "/srv/www/index.html";
    let (_, counted) = allocations(|| poll(vfs.stat(path)));
    assert!(counted > 0, "nothing is cached: a worker is asked");
    vfs.context().stat(path).unwrap();
    let (clones, workers) = (CLONES.load(SeqCst), vfs.pool().stats().workers);
    let (answer, counted) = allocations(|| poll(vfs.stat(path)));
    assert!(answer.unwrap().is_ok());
    assert_eq!(counted, 0);
    let (answer, counted) = allocations(|| poll(vfs.access(path, Access::READ, AtFlags::empty())));
    assert_eq!((answer, counted), (Some(Ok(())), 0));
    let (answer, counted) = allocations(|| poll(vfs.stat("/srv/www/../www/index.html/")));
    assert_eq!((answer, counted), (Some(Err(pathwalk::Errno::ENOTDIR)), 0));
    assert_eq!(CLONES.load(SeqCst), clones);
    assert!(vfs.pool().stats().workers <= workers);
}

/// Counts in a task, as in a server.
#[test]
fn nor_does_it_allocate_under_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let vfs = world();
    runtime.block_on(async {
        vfs.stat("/srv/www/index.html").await.unwrap();
        let before = ALLOCATIONS.get();
        for _ in 0..1000 {
            vfs.stat("/srv/www/index.html").await.unwrap();
        }
        assert_eq!(ALLOCATIONS.get() - before, 0);
    });
}

/// Checks that the ring allocates nothing either, once its queues have their sizes.
#[test]
fn a_cached_stat_through_a_ring_allocates_nothing() {
    let mut ring = Ring::new(world().context().clone());
    ring.context().stat("/srv/www").unwrap();
    let mut batch = || {
        for id in 0..100 {
            ring.submit_one(Entry::new(id, Op::stat("/srv/www"))).unwrap();
        }
        while ring.reap().is_some() {}
    };
    batch();
    assert_eq!(allocations(batch).1, 0);
}

/// Checks a batch that is read ahead of, and many paths without a ring.
#[test]
fn many_cached_lookups_at_once_allocate_nothing() {
    let paths: Vec<&str> = ["/srv/www/index.html", "/srv/none", "/srv/www/..", "/"].repeat(20);
    let mut ring = Ring::new(world().context().clone());
    paths.iter().for_each(|path| _ = ring.context().stat(path));
    let mut queue = ring.queue();
    let mut batch = || {
        for (id, path) in paths.iter().enumerate() {
            queue.push(Entry::new(id as u64, Op::stat(path))).unwrap();
        }
        assert_eq!(ring.submit(&mut queue), Ok(paths.len()));
        let found = std::iter::from_fn(|| ring.reap());
        found.zip(&paths).filter(|(done, path)| done.result.is_ok() != path.contains("none")).count()
    };
    assert_eq!(batch(), paths.len());
    assert_eq!(allocations(batch), (paths.len(), 0));

    let context = ring.context();
    let all = || {
        let stat = context.stat_many(&paths).filter(Result::is_ok).count();
        let access = context.access_many(&paths, Access::READ).filter(Result::is_ok).count();
        stat + access + context.lookup_many(&paths).filter(Result::is_ok).count()
    };
    assert_eq!(allocations(all), (3 * 60, 0));
}
