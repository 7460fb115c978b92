//! All that asks a file system, and what its answers do to the caches.
//!
//! - [`mod@superblock`]: a file system, and what is counted of it; [`superblocks`]: all of them, by number;
//! - [`trees`]: the caches and the file systems behind them;
//! - [`miss`]: the question for a name that is not cached, or not to be trusted; [`siblings`]: for those beside it, [`many`] of them entered
//!   at once;
//! - [`iget`]: a node that was handed out gets its inode;
//! - [`attributes`], [`may`], [`link_body`]: what a node is, who may do what with it, where a link leads;
//! - [`entry`], [`change`]: names are made, moved and taken away; [`mod@write`]: what writing does to attributes.
//! - [`dropped`]: entries that the file system says are not so any more, with something mounted on them;
//! - [`held`]: what keeps a file system from becoming read-only;
//! - [`shut_down`]: a file system is let go of.
//!
//! What always holds: a question is asked under the lock of the directory that it is about, and
//! under none of an inode or of children; its answer is kept only if nothing changed meanwhile that
//! it may not know of.

mod asked_for;
pub(crate) mod attributes;
pub(crate) mod change;
mod dropped;
mod entry;
mod held;
pub(crate) mod iget;
mod link_body;
mod many;
mod may;
pub(crate) mod miss;
mod shut_down;
pub(crate) mod siblings;
#[expect(clippy::module_inception, reason = "the room bears the name of what it is about")]
pub(crate) mod superblock;
pub(crate) mod superblocks;
pub(crate) mod trees;
pub(crate) mod write;

pub(crate) use asked_for::AskedFor;
pub(crate) use dropped::Dropped;
pub(crate) use trees::Trees;
