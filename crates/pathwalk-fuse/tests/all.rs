//! The tests that need no program of their own: built and linked once.

mod attributes;
mod beside_tmpfs;
mod binds;
mod common;
mod detached;
mod later;
mod living;
mod mounted;
mod overtaken;
mod pins;
mod removed;
mod told;
mod untold;
