//! Names and bytes: the components of paths, their hash, and searches for bytes.
//!
//! - [`swar`]: searches of eight bytes at a time;
//! - [`hash`]: the hash of names;
//! - [`Name`]: one validated component.

pub(crate) mod hash;
mod name;
pub(crate) mod swar;

pub use name::Name;
