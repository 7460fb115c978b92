#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

mod asynchronous;
mod cancel;
mod chain;
mod closing;
mod complete;
mod completion;
mod entry;
mod foreign;
mod future;
mod inline;
mod linked;
mod op;
mod pool;
mod punt;
mod queue;
mod reap;
mod ring;
mod run;
#[cfg(test)]
mod scenarios;
mod state;
mod submit;
mod sync;
mod timeout;
mod worker;

pub use asynchronous::AsyncContext;
pub use completion::{Completion, Value};
pub use entry::{Entry, EntryFlags, Place};
pub use op::{Offset, Op};
pub use pathwalk::Listed;
pub use pool::{Pool, PoolBuilder, PoolStats};
pub use queue::{Full, SubmissionQueue};
pub use ring::{Ring, RingBuilder};

#[cfg(not(shuttle))]
const _: () = {
    const fn sent<T: Send>() {}
    const fn shared<T: Send + Sync>() {}
    sent::<Ring>();
    sent::<SubmissionQueue<'_>>();
    sent::<Completion>();
    shared::<AsyncContext>();
    shared::<Pool>();
};
