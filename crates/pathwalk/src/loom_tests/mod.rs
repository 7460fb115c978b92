//! Models of the primitives: loom tries interleavings, and every value that a weakly ordered load
//! may return.
//!
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=2 cargo test -p pathwalk --release --lib loom_`.
//! The models with two threads also terminate without the bound.
//!
//! loom compares an access only with the last one of its object: a thread's own load before its
//! compare-and-swap hides an earlier load of another thread. So each model is run once for each
//! thread that may come first.
//!
//! What they do not do: they do not model whole dentries and inodes; see `scenarios` for those.

mod bed;
mod dir_lock;
mod free_list;
mod icache;
mod lease;
mod mark;
mod memo;
mod parked;
mod pin;
mod seqcount;
mod side;
mod slot;
mod table;

use crate::sync::{Arc, AtomicU64};

/// Runs `threads` beside each other on the result of `setup`, then `check` on their results.
fn race<S, R, const N: usize>(setup: fn() -> S, threads: [fn(&S) -> R; N], check: fn(&S, [R; N]))
where
    S: Send + Sync + 'static,
    R: Send + 'static,
{
    for first in 0..N {
        loom::model(move || {
            let shared = Arc::new(setup());
            let mut returned = [(); N].map(|()| None);
            let order = (0..N).map(|at| (at + first) % N);
            let running: Vec<_> = order
                .map(|which| {
                    let shared = shared.clone();
                    (which, loom::thread::spawn(move || threads[which](&shared)))
                })
                .collect();
            for (which, thread) in running {
                returned[which] = Some(thread.join().unwrap());
            }
            check(&shared, returned.map(|one| one.unwrap()));
        });
    }
}

/// Returns zeroed words.
fn words<const N: usize>() -> [AtomicU64; N] {
    std::array::from_fn(|_| AtomicU64::new(0))
}
