//! The inode cache: key → inode.
//!
//! - [`inode`]: the record of a node and its fields;
//! - [`pool`]: slots, table and locks;
//! - [`probe`]: searches of the table for a key, without a lock or under one; [`first`]: which of
//!   the two comes first;
//! - [`hold`]: pins on inodes, and the release of an inode without pins;
//! - [`snapshot`]: an inode's words as of one instant, and what they say about permission;
//! - [`versions`]: whether an answer is older than a change; [`store`]: answers that are kept, or
//!   marked as old; [`file_capability`]: that a write has none to remove;
//! - [`body`]: the bodies of links; [`access`]: when a walk may use them without more ado.
//!
//! Invariants: at most one live inode has a given key. The engine's inodes live as long as a dentry
//! has them or another holder pins them. An inode's words change only under its lock, the stripe of
//! its key, which also protects the table's entries of that stripe.

pub(crate) mod access;
pub(crate) mod body;
mod file_capability;
pub(crate) mod first;
pub(crate) mod hold;
pub(crate) mod inode;
pub(crate) mod pool;
pub(crate) mod probe;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod versions;
