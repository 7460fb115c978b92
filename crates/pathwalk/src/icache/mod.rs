//! Key → inode.
//!
//! - [`inode`]: the record of a node and its fields;
//! - [`pool`]: slots, table and locks;
//! - [`probe`]: finding a key in the table, without a lock or under one;
//! - [`iget`]: finding the inode of a key for a dentry, or making it; giving it back;
//! - [`refresh`]: changing its attributes, and with them the permission bits of its dentry;
//! - [`cache`]: the same pool without names, for those who have none, and its parts: [`family`], Linux's calls; [`held`], what they give out;
//!   [`evict`], how an inode goes.
//!
//! Invariants: at most one inode that lives has a given key; the engine's lives as long as a dentry has it or somebody pins it; its words
//! change only under its lock, the stripe of its key, which also protects the table's entries of that stripe.

pub(crate) mod cache;
mod evict;
pub(crate) mod family;
pub(crate) mod held;
pub(crate) mod iget;
pub(crate) mod inode;
mod pool;
pub(crate) mod probe;
pub(crate) mod refresh;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
