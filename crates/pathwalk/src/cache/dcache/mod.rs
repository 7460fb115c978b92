//! (parent, name) → dentry.
//!
//! - [`dentry`]: the record of a name, hot and cold;
//! - [`lookup`]: finding one, with and without a pin;
//! - [`in_lookup`]: one question to the file system for a missing name, however many ask; [`waiters`] sleep meanwhile;
//! - [`children`]: the list of a directory's cached children;
//! - [`complete`]: directories all of whose names are cached, as a [`watch`] tells;
//! - [`rename`]: a dentry gets another parent or name; [`moves`] are counted;
//! - [`path`]: the way up;
//! - [`invalidate`]: entries and subtrees leave the cache.
//!
//! Invariants: at most one hashed dentry has a given parent and name; a dentry holds a pin on its parent for as long as it lives, hashed
//! or not, and on its inode for as long as it has one; a directory's inode has at most one dentry.

pub(crate) mod children;
pub(crate) mod complete;
pub(crate) mod dentry;
pub(crate) mod in_lookup;
pub(crate) mod invalidate;
pub(crate) mod lookup;
pub(crate) mod moves;
pub(crate) mod path;
pub(crate) mod rename;
pub(crate) mod waiters;
pub(crate) mod watch;
