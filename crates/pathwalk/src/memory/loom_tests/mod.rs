//! Models of the primitives: loom tries every interleaving, and every value that a weakly ordered load may return.
//!
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=2 cargo test -p pathwalk --release --lib loom_`. Without the bound, the models
//! with two threads still end within minutes.
//!
//! What they do not do: they know nothing of dentries and inodes as a whole; see `shuttle_tests` for those.

mod dir_lock;
mod free_list;
mod pin;
mod seqcount;
mod side;
mod slot;
mod table;

use crate::sync::{Arc, AtomicU64};

/// Zeroed words that threads of a model share.
fn words<const N: usize>() -> Arc<[AtomicU64; N]> {
    Arc::new(std::array::from_fn(|_| AtomicU64::new(0)))
}
