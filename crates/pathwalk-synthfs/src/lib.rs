//! A tree that is computed and not stored, as a file system of [`pathwalk`]: to measure a cache, and no disk.
//!
//! A [`SynthFs`] has a directory for each of T threads, in each of them D directories, and in each of those F empty files:
//!
//! ```text
//! /t0/d0/f0   /t0/d0/f1   …   /t0/d1/f0   …   /t19/d999/f999
//! ```
//!
//! Every answer is worked out from the question: names are numbers with a letter before them, keys and inode numbers are sums. Twenty
//! million files take as much memory as none: less than a hundred bytes.
//!
//! ```
//! use pathwalk::{Credentials, Errno, Vfs};
//! use pathwalk_synthfs::{Place, Shape, SynthFs};
//!
//! let shape = Shape::new(20, 1000, 1000)?;
//! assert_eq!(shape.files(), 20_000_000);
//!
//! let vfs = Vfs::builder().budget(1 << 20).build(SynthFs::new(shape))?;
//! let context = vfs.context(Credentials::root());
//! assert_eq!(context.stat("/t19/d0/f999")?.ino, shape.inode_number(Place::File(19, 0, 999)));
//! assert_eq!(context.stat("/t19/d0/f1000"), Err(Errno::ENOENT));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds
//!
//! - **No lock, no state, no allocation.** A lookup reads four numbers that nobody writes and returns; threads that call at once do not
//!   disturb each other. Only opening allocates, since [`FileSystem::open`](pathwalk::FileSystem::open) hands out a box.
//! - **It is as slow as you like.** A [`Delay`] makes every answer take so long, asleep (a disk, a network) or awake (a checksum).
//! - **Each node has one name and each name one spelling.** `t07`, `t+7`, `T7` and `t99999999999999999999` are absent.
//! - **Nothing changes.** It says of itself that it is read-only: what changes a tree is `EROFS`, and so is asking for the right
//!   to write.
//!
//! # Cost
//!
//! Some tens of nanoseconds a lookup, most of them for filling in the [`Node`](pathwalk::Node).
//!
//! # Layout
//!
//! - `shape.rs`: how many there are of what, and the arithmetic of keys and inode numbers;
//! - `names.rs`: numbers to names and back;
//! - `file_system.rs`, `listing.rs`: what the engine asks;
//! - `delay.rs`: how long an answer takes.
//!
//! # What it does not do
//!
//! Data: files are empty. Links, access control lists, times: there are none, all times are the Epoch. Counting of `forget`: a counter
//! would be the one thing that threads fight over.

#![forbid(unsafe_code)]

mod delay;
mod file_system;
mod listing;
mod names;
mod shape;

pub use delay::Delay;
pub use file_system::SynthFs;
pub use shape::{Place, Shape, TooManyNodes};
