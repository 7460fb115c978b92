//! Branches.
#![forbid(unsafe_code)]
mod base;
mod blobs;
mod branch;
mod branches;
mod commit;
mod diff;
mod error;
mod events;
mod extents;
mod file_system;
mod open_file;
mod options;
mod rows;
mod tree;
pub use blobs::{BlobId, BlobStore, MemoryBlobs};
pub use branches::{Branch, BranchInfo, Branches};
pub use commit::{Conflict, ConflictKind};
pub use diff::{Aspects, Change};
pub use error::Error;
pub use options::{BaseChanges, Options};
