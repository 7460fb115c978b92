//! Futures: answered, woken, dropped.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use pathwalk::Errno;

use super::explore;
use super::world::{World, thread};
use crate::AsyncContext;
use crate::sync::{Condvar, Mutex, wait};

#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rung.lock() = true;
        self.ringing.notify_one();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            return answer;
        }
        let mut rung = bell.rung.lock();
        while !std::mem::take(&mut *rung) {
            (rung, _) = wait(&bell.ringing, rung, None);
        }
    }
}

fn face(world: &World) -> AsyncContext {
    AsyncContext::new(world.context.clone(), world.pool.clone())
}

#[test]
fn nobody_sleeps_for_ever() {
    explore(|| {
        let world = World::new(2);
        let others = ["/a", "/b"].map(|path| {
            let vfs = face(&world);
            thread::spawn(move || block_on(async { vfs.stat(path).await.map(drop) }))
        });
        let vfs = face(&world);
        assert_eq!(block_on(async { (vfs.stat("/a").await.map(drop), vfs.stat("/none").await) }), (Ok(()), Err(Errno::ENOENT)));
        others.into_iter().for_each(|other| assert_eq!(other.join().expect("a task"), Ok(())));
        assert_eq!((world.asked("a"), world.asked("b"), world.asked("none")), (1, 1, 1));
        drop(vfs);
        world.end();
    });
}

#[test]
fn a_future_is_dropped_while_it_is_answered() {
    explore(|| {
        let world = World::new(1);
        let vfs = face(&world);
        let poll_once = |path| {
            let mut future = Box::pin(vfs.stat(path));
            _ = future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
            future
        };
        let futures = ["/a", "/a", "/b"].map(poll_once);
        drop(futures);
        assert_eq!(block_on(vfs.stat("/a")).map(drop), Ok(()));
        assert_eq!(block_on(vfs.unlink("/none")), Err(Errno::ENOENT));
        drop(vfs);
        world.end();
    });
}

/// A worker had the context of a future that had ended, and so its working directory.
#[test]
fn a_future_that_has_ended_keeps_no_mount_busy() {
    explore(|| {
        let world = World::new(2);
        let vfs = AsyncContext::new(world.in_a_mount(), world.pool.clone());
        let beside = AsyncContext::new(vfs.context().clone(), world.pool.clone());
        // The answer to one of them is the other one's.
        let other = thread::spawn(move || block_on(beside.stat("a")).map(drop));
        assert_eq!(block_on(vfs.stat("a")).map(drop), Ok(()));
        assert_eq!(other.join().expect("a task"), Ok(()));
        drop(vfs);
        world.unmount();
        world.end();
    });
}
