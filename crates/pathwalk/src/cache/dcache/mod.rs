//! The dentry cache: (parent, name) → dentry.
//!
//! - [`dentry`]: the record of a name, hot and cold;
//! - [`lookup`]: searches, with and without a pin;
//! - [`in_lookup`]: one question to the file system for a missing name, however many threads ask;
//!   [`waiters`] sleep meanwhile;
//! - [`children`]: the list of a directory's cached children;
//! - [`complete`]: directories all of whose names are cached, as a [`watch`] tells;
//! - [`rename`]: changes of a dentry's parent or name; [`moves`] counts them;
//! - [`remembered`]: writes of dentries through which remembered paths lead are counted;
//! - [`path`]: the names from a dentry upwards;
//! - [`invalidate`]: removal of entries and subtrees from the cache; [`doubt`]: marks on what the
//!   file system reported to have changed.
//!
//! Invariants: at most one hashed dentry has a given parent and name. A dentry, hashed or not,
//! holds a pin on its parent for as long as it lives, and on its inode for as long as it has one. A
//! directory's inode has at most one dentry.

pub(crate) mod children;
pub(crate) mod complete;
pub(crate) mod dentry;
pub(crate) mod doubt;
pub(crate) mod in_lookup;
pub(crate) mod invalidate;
pub(crate) mod lookup;
pub(crate) mod moves;
pub(crate) mod path;
pub(crate) mod remembered;
pub(crate) mod rename;
pub(crate) mod waiters;
pub(crate) mod watch;
