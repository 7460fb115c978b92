//! An inode cache for those that have keys and no names: Linux's iget family.
//!
//! - [`cache`]: the cache, and an inode's life in it;
//! - [`family`]: Linux's calls;
//! - [`held`]: what they give out;
//! - [`evict`]: how an inode goes.
//!
//! It stands on the pool, the table and the probes of `cache/icache`, and knows no dentry.

pub(crate) mod cache;
mod evict;
pub(crate) mod family;
pub(crate) mod held;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
