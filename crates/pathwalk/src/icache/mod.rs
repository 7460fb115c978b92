//! Key → inode.
//!
//! - [`inode`]: the record of a node and its fields;
//! - [`iget`]: finding the inode of a key, or making it; giving it back;
//! - [`refresh`]: changing its attributes, and with them the permission bits of its dentry.
//!
//! Invariants: at most one hashed inode has a given key; an inode lives as long as a dentry has it or somebody pins it; its words change
//! only under its lock, the stripe of its key, which also protects the table's entries of that stripe.

pub(crate) mod iget;
pub(crate) mod inode;
pub(crate) mod refresh;
