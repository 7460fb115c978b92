//! Key → inode.
//!
//! - [`inode`]: the record of a node and its fields;
//! - [`pool`]: slots, table and locks;
//! - [`probe`]: finding a key in the table, without a lock or under one; [`first`]: which of the two
//!   comes first;
//! - [`hold`]: pins on inodes, and what becomes of one that is held by none;
//! - [`snapshot`]: an inode's words as of one instant, and what they say about permission;
//! - [`versions`]: whether an answer is older than a change; [`store`]: an answer is kept, or marked as old;
//! - [`body`]: the bodies of links.
//!
//! Invariants: at most one inode that lives has a given key; the engine's lives as long as a dentry has it or another holder pins it; its
//! words change only under its lock, the stripe of its key, which also protects the table's entries of that stripe.

pub(crate) mod body;
pub(crate) mod first;
pub(crate) mod hold;
pub(crate) mod inode;
pub(crate) mod pool;
pub(crate) mod probe;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod versions;
