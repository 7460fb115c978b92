//! The tests that need no program of their own: built and linked once.

mod acl;
mod broken_disk;
mod common;
mod credentials;
mod details;
mod getfacl;
mod handles;
mod lease;
mod mounts;
mod open;
mod overlayfs;
mod stale;
mod stat;
mod strict;
mod ttl;
mod xattr;
