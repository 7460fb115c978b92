#![forbid(unsafe_code)]
//! [`Ring`]: crate::Ring
//! [`AsyncContext`]: crate::AsyncContext
//! [`FileSystem`]: pathwalk::FileSystem
#![doc = include_str!("../README.md")]
//!
//! # The ring
//!
//! ```rust
//! use std::time::Duration;
//! use pathwalk::{At, Credentials, Errno, OpenFlags, Vfs};
//! use pathwalk_memfs::MemFs;
//! use pathwalk_ring::{Entry, EntryFlags, Op, Place, Pool, Ring, Value};
//!
//! let fs = MemFs::new();
//! fs.mkdir_all("/srv/www", 0o755)?;
//! fs.file("/srv/www/index.html", 0o644)?;
//! let context = Vfs::builder().budget(16 << 20).build(fs)?.context(Credentials::root());
//! let www = context.lookup("/srv/www")?;
//!
//! // At most eight threads for all operations that wait, also those of other rings and async contexts with a clone of the pool.
//! let pool = Pool::builder().workers(8).idle(Duration::from_secs(1)).build();
//! let mut ring = Ring::builder(context).entries(64).pool(pool).build();
//!
//! let mut queue = ring.queue();
//! queue.push(Entry::new(1, Op::stat(Place::new(At::Handle(&www), "index.html")))).map_err(Errno::from)?;
//! queue.push(Entry::new(2, Op::open("/srv/www/index.html", OpenFlags::READ))).map_err(Errno::from)?;
//! // Made one after the other, and the second only if the first was made.
//! queue.push(Entry::new(3, Op::Mkdirat { place: "/tmp".into(), mode: 0o755 }).with(EntryFlags::LINK)).map_err(Errno::from)?;
//! queue.push(Entry::new(4, Op::Mkdirat { place: "/tmp/1".into(), mode: 0o755 })).map_err(Errno::from)?;
//!
//! ring.submit(&mut queue)?;
//! ring.wait(4);
//! while let Some(done) = ring.reap() {
//!     match (done.user_data, done.result) {
//!         (1, Ok(Value::Statx(statx))) => assert_eq!(statx.attributes.size, 0),
//!         (2, Ok(Value::File(file))) => assert_eq!(file.handle().path()?, b"/srv/www/index.html"),
//!         (3 | 4, result) => assert!(result.is_ok()),
//!         other => panic!("{other:?}"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way of an entry
//!
//! 1. `submit` reserves a place in the completion queue for the entry.
//!    Without a free place it returns `EBUSY`, and the caller has to reap first.
//!    So no completion is lost for want of space.
//! 2. The caches are asked, by [`Context::cached`](pathwalk::Context::cached): no lock, no wait, no
//!    call of the file system (but [`try_open`](pathwalk::FileSystem::try_open), which must not block).
//!    An answer completes the entry before `submit` returns.
//! 3. Otherwise, or if it changes something, the entry goes to the [`Pool`].
//!    With [`Resolve::CACHED`](pathwalk::Resolve::CACHED) it completes with `EAGAIN` instead.
//! 4. An entry that misses a name which another entry is asking the file system for is parked
//!    behind that entry, and takes no worker.
//!    When the other entry is answered, the caches are tried again.
//! 5. A worker executes the entry, and completes it.
//!
//! # In io_uring's terms
//!
//! | there | here |
//! |---|---|
//! | `io_uring_setup`, `IORING_SETUP_CQSIZE`, `IORING_SETUP_ATTACH_WQ` | [`Ring::builder`]: `entries`, `completions`, `pool` |
//! | submission queue entry: opcode, flags, `user_data` | [`Entry`]: [`Op`], [`EntryFlags`], `user_data` |
//! | `io_uring_enter`, with `min_complete` and a time | [`Ring::submit`], [`Ring::wait`], [`Ring::wait_for`] |
//! | completion queue entry: `user_data`, `res` | [`Completion`]: `user_data`, a [`Value`] or an errno, and [`res`](Completion::res) |
//! | `IOSQE_IO_LINK`, `IOSQE_IO_HARDLINK`, `IOSQE_ASYNC` | [`EntryFlags`] |
//! | `IORING_OP_ASYNC_CANCEL`, `IORING_OP_TIMEOUT_REMOVE` | [`Op::Cancel`], [`Ring::cancel`] |
//! | `IORING_OP_TIMEOUT`, `IORING_OP_LINK_TIMEOUT` | [`Op::Timeout`], [`Op::LinkTimeout`] |
//! | `IORING_REGISTER_EVENTFD_ASYNC` | [`notify`](RingBuilder::notify), and [`Ring::next_timeout`] |
//! | `EBUSY` of a completion queue that overflows | `EBUSY`, before it does |
//!
//! Differences:
//!
//! - No memory is shared with a kernel, so the submission queue is the caller's own, and paths may
//!   be borrowed until they are submitted.
//! - Files are `Arc`s and not numbers.
//! - Buffers are passed by value and come back.
//! - `statx`, `access`, `readlink` and `lookup` are tried inline, which Linux does for `openat`
//!   alone.
//!
//! # What it costs
//!
//! ```sh
//! cargo run --release -p pathwalk-bench --example stat_beside_tokio
//! ```
//!
//! `/usr/bin/env` of the host, all cached, ns, medians of 21 rounds that take turns (2 cores of an
//! Intel Xeon, Linux 6.18, ext4; tokio with two workers):
//!
//! | | ns |
//! |---|---|
//! | `AsyncContext::stat` | 125 |
//! | `Context::stat` | 67 |
//! | a ring, batches of 32 | 172 |
//! | `tokio::fs::metadata` | 31,555 |
//! | `std::fs::metadata` | 367 |
//!
//! In each round `tokio::fs::metadata` took 244 times as long as the async face (median).
//! Nearly all of that is the way to another thread and back.
//!
//! A cached `stat` through the async face makes no allocation, clones no waker and starts no thread
//! (`tests/allocations.rs` counts them).
//! An entry that is punted takes two allocations and those of its path; its way to a worker and
//! back is two wake-ups of a thread.
//!
//! # What it does not do
//!
//! - Interrupt a call of the file system that was begun: cancelling it is `EALREADY`.
//!   A wait in a named pipe is ended by that, and by the drop of its ring or future.
//! - `IOSQE_IO_DRAIN`, registered files and buffers, polling.

mod asynchronous;
mod cancel;
mod chain;
mod closing;
mod complete;
mod completion;
mod entry;
mod flagged;
mod foreign;
mod future;
mod handles;
mod inline;
mod inode_flags;
mod linked;
mod lock;
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
mod waiting;
mod worker;
mod xattr;

pub use asynchronous::AsyncContext;
pub use completion::{Completion, Value};
pub use entry::{Entry, EntryFlags, Place};
pub use lock::Lock;
pub use op::{Offset, Op};
pub use pathwalk::{Listed, ListedNode};
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
