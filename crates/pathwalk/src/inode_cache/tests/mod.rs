//! Tests of each row of the table in [`family`](super::family), of what is evicted and when, and of
//! which threads sleep.

mod creating;
mod eviction;
mod rows;
mod wide;

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use super::cache::{InodeCache, InodeOwner};
use super::family::Iget;
use super::held::{InodeRef, NewInode};
use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::cache::icache::first::FirstProbe;
use crate::node::NodeKey;

const K: NodeKey = NodeKey(7);
const OTHER: NodeKey = NodeKey(8);

/// The arguments of a call of the owner: key, slot, size.
type Told = (NodeKey, u32, Option<u64>);

/// An owner that records its calls.
#[derive(Default)]
struct Owner(Mutex<Vec<Told>>);

impl InodeOwner for Owner {
    fn evicted(&self, key: NodeKey, slot: u32, attributes: Option<&Attributes>) {
        self.0.lock().unwrap().push((key, slot, attributes.map(|of| of.size)));
    }
}

impl Owner {
    fn told(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn cache(capacity: u32) -> InodeCache {
    InodeCache::new(capacity, ()).unwrap()
}

fn noted(capacity: u32) -> (Arc<Owner>, InodeCache) {
    let owner = Arc::new(Owner::default());
    (owner.clone(), InodeCache::new(capacity, owner).unwrap())
}

fn sized(size: u64) -> Attributes {
    Attributes { size, ..Attributes::new(FileType::Regular, 0o600) }
}

fn new<P: FirstProbe>(got: Result<Iget<'_, P>, Errno>) -> NewInode<'_, P> {
    match got {
        Ok(Iget::New(new)) => new,
        other => panic!("not new: {other:?}"),
    }
}

fn cached<P: FirstProbe>(got: Result<Iget<'_, P>, Errno>) -> InodeRef<'_, P> {
    match got {
        Ok(Iget::Cached(inode)) => inode,
        other => panic!("not cached: {other:?}"),
    }
}

/// Creates a filled inode.
fn filled<P: FirstProbe>(cache: &InodeCache<P>, key: NodeKey, size: u64) -> InodeRef<'_, P> {
    new(cache.iget_locked(key)).unlock(&sized(size))
}

/// A thread that is expected to sleep.
struct Sleeper<'a, T> {
    thread: ScopedJoinHandle<'a, ()>,
    answer: Receiver<T>,
}

/// Runs `call` in another thread and checks that it has not answered 20 ms after it began. A slow
/// machine may thus pass a call that does not sleep.
fn asleep<'a, 'b, T: Send + 'a>(scope: &'a Scope<'a, 'b>, call: impl FnOnce() -> T + Send + 'a) -> Sleeper<'a, T> {
    let (tell, answer) = channel();
    let (begin, begun) = channel();
    let thread = scope.spawn(move || {
        begin.send(()).unwrap();
        tell.send(call()).unwrap();
    });
    begun.recv().unwrap();
    assert!(answer.recv_timeout(Duration::from_millis(20)).is_err(), "it did not wait");
    Sleeper { thread, answer }
}

impl<T> Sleeper<'_, T> {
    fn answer(self) -> T {
        let answer = self.answer.recv().unwrap();
        self.thread.join().unwrap();
        answer
    }
}
