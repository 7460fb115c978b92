//! Names and bytes: what a component is, how it is hashed, and how bytes are looked for.
//!
//! - [`swar`]: bytes eight at a time;
//! - [`hash`]: the hash of names;
//! - [`Name`]: one validated component.

pub(crate) mod hash;
mod name;
pub(crate) mod swar;

pub use name::Name;
