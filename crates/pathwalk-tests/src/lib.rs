//! The helpers of tests over several faces of pathwalk. The tests themselves are in `tests/`.

pub mod failing;
mod lease;
pub mod mounts;
pub mod place;
mod skip;
pub mod tree;

pub use lease::Lease;
pub use skip::{SKIPPED, TOLD, skipped, told};

#[cfg(doctest)]
mod pages;
