//! An inode cache for callers that have keys and no names: Linux's iget family.
//!
//! - [`cache`]: the cache, and an inode's life in it;
//! - [`family`]: Linux's calls;
//! - [`held`]: the types that they return;
//! - [`evict`]: eviction of inodes.
//!
//! It is built on the pool, the table and the probes of `cache/icache`, and uses no dentry.

pub(crate) mod cache;
mod evict;
pub(crate) mod family;
pub(crate) mod held;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
