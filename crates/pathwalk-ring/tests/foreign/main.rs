//! A file system that does what it must not: each of its methods and drops panics, blocks until it
//! is released, or calls back into the pool.
//!
//! Always: each entry completes once, no call of a ring's owner waits for the file system, and no
//! worker is lost.

mod blocks;
mod calls_back;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod panics;
mod reduced;
#[path = "../common/wild.rs"]
mod wild;
mod world;

const LINK: pathwalk_ring::EntryFlags = pathwalk_ring::EntryFlags::LINK;
const HARDLINK: pathwalk_ring::EntryFlags = pathwalk_ring::EntryFlags::HARDLINK;
