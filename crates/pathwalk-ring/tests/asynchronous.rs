//! The async face, under three executors.

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use common::*;
use pathwalk::{Access, AtFlags, Errno, FallocateFlags, LinkFlags, OpenFlags, OpenHow, RenameFlags, SyncFileRange, SyncWhat};
use pathwalk_ring::{AsyncContext, Offset, Op, Pool};

/// A waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn face(workers: usize) -> (Arc<Gated>, AsyncContext) {
    let (fs, context) = world();
    (fs, AsyncContext::new(context, pool(workers)))
}

/// Runs every operation, cold and warm.
async fn everything(vfs: AsyncContext) -> Result<(), Errno> {
    assert_eq!(vfs.stat("/none").await, Err(Errno::ENOENT));
    for _ in 0..2 {
        assert_eq!(vfs.read_link("/link").await?, b"d/a");
        assert_eq!(vfs.stat("/slow1").await?.size, 0);
        assert_eq!(vfs.stat("/").await, vfs.context().stat("/"), "without what is the mount's");
        vfs.access("/link", Access::READ, AtFlags::empty()).await?;
        assert_eq!(vfs.access("/none", Access::READ, AtFlags::empty()).await, Err(Errno::ENOENT));
        assert_eq!(vfs.lookup("/link", AtFlags::empty()).await?.path()?, b"/d/a");
        assert_eq!(vfs.open("/none", OpenFlags::READ).await.err(), Some(Errno::ENOENT));
    }
    vfs.mkdir("/new", 0o700).await?;
    vfs.symlink("new", "/way").await?;
    let make = OpenHow { flags: OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    let file = vfs.open("/way/f", make).await?;
    assert_eq!(vfs.write(&file, b"hello".to_vec(), Offset::Current).await?, 5);
    vfs.sync(&file, SyncWhat::All).await?;
    let no_file = vfs.open("/way/f", OpenFlags::PATH).await?;
    assert_eq!(vfs.sync(&no_file, SyncWhat::All).await, Err(Errno::EBADF));
    assert_eq!(vfs.read(&file, vec![0; 9], Offset::At(1)).await?, b"ello");
    vfs.fallocate(&file, FallocateFlags::empty(), 4, 6).await?;
    assert_eq!(vfs.stat("/new/f").await?.size, 10);
    vfs.sync_file_range(&file, 4, 6, SyncFileRange::WRITE).await?;
    assert_eq!(vfs.sync_file_range(&no_file, 4, 6, SyncFileRange::WRITE).await, Err(Errno::EBADF));
    vfs.close(file).await?;
    vfs.link("/new/f", "/g", LinkFlags::empty()).await?;
    vfs.rename("/g", "/new/g", RenameFlags::empty()).await?;
    let dir = vfs.open("/new", OpenFlags::READ).await?;
    assert_eq!(vfs.read_dir(&dir, 10).await?.len(), 4);
    assert_eq!(vfs.rmdir("/new").await, Err(Errno::ENOTEMPTY));
    vfs.unlink("/way").await?;
    assert_eq!(vfs.perform(Op::Cancel { user_data: 0 }).await.err(), Some(Errno::EINVAL));
    assert_eq!(vfs.stat("/panic").await, Err(Errno::EIO));
    Ok(())
}

#[test]
fn without_a_runtime() {
    let (fs, vfs) = face(2);
    fs.open_gate();
    assert_eq!(block_on(everything(vfs)), Ok(()));
}

#[test]
fn under_smol() {
    let (fs, vfs) = face(2);
    fs.open_gate();
    assert_eq!(smol::block_on(smol::spawn(everything(vfs))), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_tokio() {
    let (fs, vfs) = face(2);
    fs.open_gate();
    assert_eq!(tokio::spawn(everything(vfs)).await.unwrap(), Ok(()));
}

/// Runs a thousand tasks that look the same name up, with one worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_share_one_question() {
    let (fs, vfs) = face(1);
    let tasks: Vec<_> = (0..1000)
        .map(|_| {
            let vfs = vfs.clone();
            tokio::spawn(async move { vfs.stat("/slow0").await.map(drop) })
        })
        .collect();
    let all_wait = {
        let vfs = vfs.clone();
        move || eventually("all wait", || vfs.pool().stats().parked == 999)
    };
    tokio::task::spawn_blocking(all_wait).await.unwrap();
    fs.open_gate();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!((fs.lookups.load(SeqCst), vfs.pool().stats().parked), (1, 0));
}

#[tokio::test]
async fn a_dropped_future_takes_back_what_was_not_begun() {
    let (fs, vfs) = face(1);
    let soon = Duration::from_millis(20);
    let mut runs = Box::pin(vfs.stat("/slow0"));
    assert!(runs.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
    fs.wait_for(1);
    assert!(tokio::time::timeout(soon, vfs.mkdir("/never", 0o700)).await.is_err());
    assert!(tokio::time::timeout(soon, vfs.stat("/slow0")).await.is_err());
    drop(runs);
    drop(vfs.mkdir("/nor", 0o700));
    assert_eq!((vfs.pool().stats().queued, vfs.pool().stats().parked), (0, 0));
    fs.open_gate();
    assert!(vfs.stat("/slow1").await.is_ok());
    assert_eq!(vfs.stat("/never").await, Err(Errno::ENOENT));
    assert_eq!(vfs.stat("/nor").await, Err(Errno::ENOENT));
}

/// Polls a future by one task, then by another: the last one is woken.
#[test]
fn a_future_that_moves_wakes_where_it_is() {
    let (fs, vfs) = face(1);
    let mut future = Box::pin(async move { vfs.stat("/slow0").await });
    assert!(future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
    let other = std::thread::spawn(move || block_on(future));
    fs.wait_for(1);
    fs.open_gate();
    assert!(other.join().unwrap().is_ok());
}

#[test]
fn futures_can_be_sent() {
    const fn sent<T: Send>(_: &T) {}
    let vfs = AsyncContext::new(world().1, Pool::default());
    sent(&vfs.stat("/"));
    sent(&vfs.open("/", OpenFlags::READ));
    sent(&vfs.rename("/a", "/b", RenameFlags::empty()));
}
