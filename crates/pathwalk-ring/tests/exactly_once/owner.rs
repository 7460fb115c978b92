//! One thread that owns a ring, and futures over the same pool.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use fastrand::Rng;
use pathwalk::Errno;
use pathwalk_ring::{AsyncContext, EntryFlags, Op, Ring, SubmissionQueue, Value};

use crate::ledger::{Counts, Ledger};
use crate::operations::{self, Files};
use crate::wild::throw;

type Answers<'a> = Pin<Box<dyn Future<Output = Result<Value, Errno>> + 'a>>;

/// A waker that unparks a thread, and panics now and then.
struct Unpark(Thread, AtomicU64);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
        if self.1.fetch_add(1, Relaxed) % 64 == 63 && !std::thread::panicking() {
            throw();
        }
    }
}

pub(crate) struct Owner<'a> {
    face: &'a AsyncContext,
    random: Rng,
    ring: Ring,
    ledger: Ledger,
    files: Files,
    futures: Vec<Answers<'a>>,
    begun: u64,
    waker: Waker,
    progress: Arc<AtomicU64>,
}

fn ring(face: &AsyncContext, random: &mut Rng) -> Ring {
    let builder = Ring::builder(face.context().clone()).entries(6).completions(9).pool(face.pool().clone());
    if random.bool() {
        return builder.build();
    }
    let calls = AtomicU64::new(0);
    builder
        .notify(move || {
            if calls.fetch_add(1, Relaxed) % 64 == 63 {
                throw()
            }
        })
        .build()
}

/// Drops a value that may hold a file. A panic of that is the owner's own.
fn let_go<T>(what: T) {
    _ = catch_unwind(AssertUnwindSafe(|| drop(what)));
}

impl<'a> Owner<'a> {
    pub(crate) fn new(face: &'a AsyncContext, seed: u64, progress: Arc<AtomicU64>) -> Owner<'a> {
        let mut random = Rng::with_seed(seed);
        let waker = Waker::from(Arc::new(Unpark(std::thread::current(), AtomicU64::new(0))));
        let ring = ring(face, &mut random);
        let (ledger, files, futures) = Default::default();
        Owner { face, random, ring, ledger, files, futures, begun: 0, waker, progress }
    }

    /// Begins so many operations, and waits for those that it does not drop.
    pub(crate) fn run(mut self, operations: u64) -> Counts {
        let mut queue = self.ring.queue();
        while self.ledger.next() + self.begun < operations {
            for _ in 0..self.random.u32(1..6) {
                self.prepare(&mut queue);
            }
            self.submit(&mut queue);
            self.cancel();
            if self.random.u32(..4) == 0 {
                self.ask();
            }
            self.look_at_futures();
            while self.files.len() > 8 {
                let at = self.random.usize(..self.files.len());
                let_go(self.files.swap_remove(at));
            }
            if self.random.u32(..64) == 0 {
                // A ring that is dropped with all that it has.
                self.ring = ring(self.face, &mut self.random);
                self.ledger.forget_all();
            }
            if self.random.u32(..32) == 0 {
                pathwalk::internals::evict(self.face.context().vfs(), 4);
            }
        }
        self.end()
    }

    /// Prepares an entry, perhaps linked to the next, perhaps with a time limit.
    fn prepare(&mut self, queue: &mut SubmissionQueue<'static>) {
        let flags = match self.random.u32(..40) {
            0..8 => EntryFlags::LINK,
            8..11 => EntryFlags::HARDLINK,
            11..13 => EntryFlags::ASYNC,
            13 => EntryFlags::ASYNC | EntryFlags::HARDLINK,
            14 => EntryFlags::ASYNC | EntryFlags::LINK,
            15 if self.random.u32(..8) == 0 => EntryFlags::from_bits_retain(1),
            _ => EntryFlags::empty(),
        };
        let has_limit = flags.intersects(EntryFlags::LINK | EntryFlags::HARDLINK) && self.random.bool();
        if queue.len() + usize::from(has_limit) >= 6 {
            return;
        }
        let op = operations::entry(&mut self.random, &mut self.files, self.ledger.next());
        queue.push(self.ledger.entry(op, flags)).unwrap();
        if has_limit {
            let flags = [EntryFlags::empty(), EntryFlags::LINK, EntryFlags::HARDLINK][self.random.usize(..3)];
            let after = Duration::from_micros(self.random.u64(..100));
            queue.push(self.ledger.entry(Op::LinkTimeout { after }, flags)).unwrap();
        }
    }

    fn submit(&mut self, queue: &mut SubmissionQueue<'static>) {
        while !queue.is_empty() {
            match self.ring.submit(queue) {
                Ok(_) => {}
                Err(Errno::EBUSY) if self.random.u32(..4) == 0 => {
                    _ = self.ring.wait_for(self.random.usize(1..3), Duration::from_micros(self.random.u64(..100)));
                }
                Err(Errno::EBUSY) => _ = self.ring.wait(self.random.usize(1..3)),
                Err(errno) => panic!("{errno}"),
            }
            self.reap();
        }
    }

    fn reap(&mut self) {
        while let Some(done) = self.ring.reap() {
            self.progress.fetch_add(1, Relaxed);
            self.ledger.settle(&done);
            self.keep(done.result);
        }
    }

    fn keep(&mut self, answer: Result<Value, Errno>) {
        match answer {
            Ok(Value::File(file)) => self.files.push(file),
            other => let_go(other),
        }
    }

    /// Cancels one entry, or all that wait, or none.
    fn cancel(&mut self) {
        let which: Vec<_> = match self.random.u32(..64) {
            0 => self.ledger.waiting().collect(),
            1..8 => vec![self.ledger.next().saturating_sub(self.random.u64(..12))],
            _ => return,
        };
        for user_data in which {
            let answer = self.ring.cancel(user_data);
            self.ledger.cancelled(user_data, answer);
        }
    }

    fn ask(&mut self) {
        let op = operations::operation(&mut self.random, &mut self.files);
        self.begun += 1;
        self.futures.push(Box::pin(self.face.perform(op)));
    }

    /// Polls some futures and drops some.
    fn look_at_futures(&mut self) {
        let Some(at) = self.futures.len().checked_sub(1).map(|last| self.random.usize(..=last)) else { return };
        match self.random.u32(..8) {
            // A future that was not polled still has its file.
            0 => let_go(self.futures.swap_remove(at)),
            _ => self.poll(at),
        }
        while self.futures.len() > 4 {
            self.finish(0);
        }
    }

    fn poll(&mut self, at: usize) {
        if let Poll::Ready(answer) = self.futures[at].as_mut().poll(&mut TaskContext::from_waker(&self.waker)) {
            drop(self.futures.swap_remove(at));
            self.progress.fetch_add(1, Relaxed);
            self.ledger.count("future", answer.as_ref().err().map_or(0, |errno| -errno.raw()));
            self.keep(answer);
        }
    }

    /// Waits for one future.
    fn finish(&mut self, at: usize) {
        let before = self.futures.len();
        loop {
            self.poll(at);
            if self.futures.len() < before {
                return;
            }
            std::thread::park();
        }
    }

    fn end(mut self) -> Counts {
        while !self.futures.is_empty() {
            self.finish(0);
        }
        self.ring.wait(usize::MAX);
        self.reap();
        self.ledger.assert_settled();
        assert_eq!(self.ring.outstanding(), 0);
        self.files.drain(..).for_each(let_go);
        self.ledger.counts
    }
}
