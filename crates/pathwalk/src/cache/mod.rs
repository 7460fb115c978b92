//! What is remembered of names and nodes, under one budget.
//!
//! - [`caches`]: all of it, in one place, and a pin on a dentry; [`owner`] is told when a node goes;
//! - [`dcache`]: (parent, name) → dentry;
//! - [`icache`]: key → inode;
//! - [`join`]: where a dentry gets its inode: the one file that knows both records;
//! - [`budget`]: how many slots of each kind there are; [`reclaim`]: which of them go;
//! - [`counters`]: what is counted.
//!
//! What always holds: no file system is called here. What an answer says is handed in, and that a
//! node is let go of is told to the [`owner`] under no lock but those that its contract names.

pub(crate) mod budget;
pub(crate) mod caches;
pub(crate) mod counters;
pub(crate) mod dcache;
pub(crate) mod icache;
pub(crate) mod join;
pub(crate) mod owner;
pub(crate) mod reclaim;

pub(crate) use caches::{Caches, Pinned};
