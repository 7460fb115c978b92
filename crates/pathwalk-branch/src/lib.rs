//! [`Branch`]: crate::Branch
//! [`Branches`]: crate::Branches
//! [`DiskStore`]: crate::DiskStore
//! [`Context`]: pathwalk::Context
//! [`FileSystem`]: pathwalk::FileSystem
//! [`Resolution`]: crate::Resolution
#![doc = include_str!("../README.md")]
//!
//! # A base that changes
//!
//! What a branch has not touched shows the base as it is now. As far as the `Vfs` of the base is
//! told of a change, the caches of each branch are told soon after
//! ([`catch_up`](Branches::catch_up) waits for that); else [`BaseChanges::AskEachTime`] has them ask.
//! What a branch has touched is as it was then:
//!
//! - A name that was made, removed or replaced stays so, whatever the base does with that name.
//! - The attributes, lists and extended attributes of a node are copied as a whole with its first
//!   change. Those of a directory whose names were changed are copied, too: names that the base
//!   gets later are seen, and not counted in its size and links.
//! - A file that was not touched has the links that the base counts, also if the branch has another
//!   node under a name that the base gave to it later.
//! - Of a file that was changed in part, the rest is the base's. If the base changes that file in
//!   any way afterwards, also in its attributes, a read of the rest is `ESTALE`, since it might
//!   show a mix of two versions; what was written in the branch stays readable.
//!   [`commit`](Branches::commit) reports such a file as
//!   [`BaseChanged`](ConflictKind::BaseChanged).
//!
//! # What it does not do
//!
//! Times of accesses are not kept, as on a mount with `noatime`. The rights to a file are those of
//! its mode and its access control list, also where the file system of the base has rules of its
//! own. Locks and leases are those of each `Vfs`, so two of them on one branch do not share any.
//! `statfs` has the size and the free space of the base, though data goes to the store.
//!
//! # Layout
//!
//! - `branches`: the list of branches, with fork and drop; `diff` and `commit` compare trees, the
//!   latter also for a rebase;
//! - `branch/`: one branch, and the operations on its nodes; `file_system` and `open_file` are thin
//!   layers in front of it;
//! - `tree/` is the map in which a branch keeps its rows, `rows` says what they are, `extents/` are
//!   those of one file;
//! - `base` asks the base, `origin` is a node of it that a branch has copied, `restored` are those
//!   that a commit which was not made has touched, `events` passes its reports on;
//! - `blobs` stores data, `store/` is a store that outlives the process, `stored/` keeps branches
//!   in one.

#![forbid(unsafe_code)]

mod base;
mod births;
mod blobs;
mod branch;
mod branches;
mod commit;
mod diff;
mod error;
mod events;
mod extents;
mod file_system;
mod numbers;
mod open_file;
mod options;
mod origin;
mod restored;
mod rows;
mod spares;
mod stamp;
mod store;
mod stored;
mod tree;

pub use blobs::{BlobId, BlobStore, MemoryBlobs};
pub use branches::{Branch, BranchInfo, Branches, Fork};
pub use commit::resolution::{Answer, Resolution};
pub use commit::{Conflict, ConflictKind};
pub use diff::{Aspects, Change};
pub use error::Error;
pub use options::{BaseChanges, EqualChunks, Options};
pub use spares::Spares;
pub use store::{Applied, Batch, DiskStore, EachRow, Lease, Snapshot, Store};
pub use stored::{Collected, Damage};
