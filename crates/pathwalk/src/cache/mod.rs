//! The caches of names and nodes, under one budget.
//!
//! - [`caches`]: all caches in one place, and a pin on a dentry; [`owner`]: the trait that is told
//!   when a node goes;
//! - [`dcache`]: (parent, name) → dentry;
//! - [`icache`]: key → inode;
//! - [`join`]: the one file that uses both records, where a dentry gets its inode;
//! - [`budget`]: the number of slots of each kind; [`reclaim`]: which of them are evicted;
//! - [`search`]: the promises of a security hook that cares about search; [`promises`]: their
//!   version;
//! - [`counters`]: the counters of slow paths.
//!
//! What always holds: no file system is called here. The content of a file system's answer is
//! passed in. The [`owner`] is told when the caches let go of a node, under no lock but those that
//! its contract names.

pub(crate) mod budget;
pub(crate) mod caches;
pub(crate) mod counters;
pub(crate) mod dcache;
pub(crate) mod icache;
pub(crate) mod join;
pub(crate) mod owner;
pub(crate) mod promises;
pub(crate) mod reclaim;
pub(crate) mod search;

pub(crate) use caches::{Caches, Pinned};
