//! The tests that need no program of their own: built and linked once.

mod branch;
mod columns;
mod common;
mod exits;
mod explain;
mod mount;
mod mount_helper;
mod pages;
mod program;
mod progress;
mod recordings;
mod replay;
mod stats;
mod trial;
mod trial_limits;
mod trial_mcp;
mod trial_overlay;
mod trial_server;
mod trial_terminal;
mod umount;
mod watch;
