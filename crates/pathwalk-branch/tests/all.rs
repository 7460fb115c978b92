//! The tests that need no program of their own: built and linked once.

mod common;
mod copies;
mod living;
mod merged;
mod numbers;
mod parts;
mod posix;
mod random;
mod removed;
