//! [`SynthFs`]: crate::SynthFs
//! [`Delay`]: crate::Delay
#![doc = include_str!("../README.md")]
//!
//! # What holds
//!
//! - **No lock, no state, no allocation.** A lookup reads four numbers that are never written, and
//!   returns. Concurrent calls do not disturb each other. Only opening allocates, since
//!   [`FileSystem::open`](pathwalk::FileSystem::open) hands out a box.
//! - **Any slowness.** A [`Delay`] makes every answer take a given time, asleep (like a disk or a
//!   network) or awake (like a checksum).
//! - **Each node has one name and each name one spelling.** `t07`, `t+7`, `T7` and
//!   `t99999999999999999999` are absent.
//! - **Nothing changes.** The file system reports itself as read-only: operations that change a
//!   tree are `EROFS`, and so is asking for the right to write.
//!
//! # Cost
//!
//! Some tens of nanoseconds a lookup, most of them for filling in the [`Node`](pathwalk::Node).
//!
//! # Layout
//!
//! - `shape.rs`: the numbers of nodes, and the arithmetic of keys and inode numbers;
//! - `names.rs`: numbers to names and back;
//! - `file_system.rs`, `listing.rs`: the answers to the engine;
//! - `delay.rs`: the delay of an answer.
//!
//! # What it does not do
//!
//! It has no data: files are empty. It has no links, access control lists or times: all times are
//! the Epoch. It does not count `forget`: a counter would be the only memory that threads contend
//! for.

#![forbid(unsafe_code)]

mod delay;
mod file_system;
mod listing;
mod names;
mod shape;

pub use delay::Delay;
pub use file_system::SynthFs;
pub use shape::{Place, Shape, TooManyNodes};
