//! Names and bytes: the components of paths, their hash, and searches for bytes.
//!
//! - [`swar`]: searches of eight bytes at a time;
//! - [`hash`]: the hash of names;
//! - [`Name`]: one validated component;
//! - [`os_str`]: bytes as the standard library's text of the system.

pub(crate) mod hash;
mod name;
pub(crate) mod os_str;
pub(crate) mod swar;

pub use name::Name;
