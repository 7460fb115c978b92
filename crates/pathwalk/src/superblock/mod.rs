//! The calls of file systems, and the effects of their answers on the caches.
//!
//! - [`mod@superblock`]: a file system and its counters; [`superblocks`]: all of them, by number;
//! - [`trees`]: the caches and the file systems behind them;
//! - [`miss`]: the lookup of a name that is not cached, or has to be revalidated; [`siblings`]: the
//!   lookup of its siblings, [`many`] of which are entered at once; [`listing`]: listings with
//!   nodes;
//! - [`early`]: the open file that a lookup may bring along;
//! - [`iget`]: the assignment of an inode to a node that was handed out;
//! - [`attributes`], [`may`], [`acl`], [`link_body`]: a node's attributes, the rights to it, its
//!   access control lists, and the body of a link; [`xattr`]: its extended attributes;
//!   [`inode_flags`]: the flags that users set;
//! - [`access`]: the times of accesses;
//! - [`entry`], [`change`]: names are made, moved and removed; [`mod@write`]: the effects of
//!   writing on attributes;
//! - [`handles`]: the nodes of file handles, and their ways to the root;
//! - [`reports`]: what a file system reports to have changed without the engine;
//! - [`told`]: what subscribers are told of changes;
//! - [`dropped`]: entries that are no longer valid, with something mounted on them;
//! - [`held`]: the nodes that keep a file system from becoming read-only;
//! - [`shut_down`]: the shutdown of a file system.
//!
//! What always holds: the file system is asked under the lock of the directory concerned, and under
//! no lock of an inode or of children. Its answer is kept only if nothing changed meanwhile that
//! the answer may not reflect.

mod access;
mod acl;
mod asked_for;
pub(crate) mod attributes;
pub(crate) mod change;
mod dropped;
pub(crate) mod early;
mod entry;
mod handles;
mod held;
pub(crate) mod iget;
mod inode_flags;
mod link_body;
pub(crate) mod listing;
mod many;
mod may;
pub(crate) mod miss;
mod reports;
mod shut_down;
pub(crate) mod siblings;
#[expect(clippy::module_inception, reason = "the room bears the name of what it is about")]
pub(crate) mod superblock;
pub(crate) mod superblocks;
mod told;
pub(crate) mod trees;
pub(crate) mod write;
mod xattr;

pub(crate) use asked_for::AskedFor;
pub(crate) use dropped::Dropped;
pub(crate) use trees::Trees;
