#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

mod attr;
mod builder;
mod config;
mod context;
mod dcache;
mod errno;
mod file;
mod fs_api;
mod handle;
mod icache;
pub mod limits;
mod memory;
mod mount;
mod ops;
pub mod permission;
#[cfg(all(test, not(loom)))]
mod scenarios;
mod stats;
mod sync;
mod vfs;
mod walk;

pub use attr::{AclState, Attributes, Device, FileType, Statx, StatxFlags, StatxMask, Timestamp};
pub use builder::{BuildError, VfsBuilder};
pub use context::{AsPath, At, AtFlags, Cached, Context, LinkFlags, MissingName, OpenFlags, OpenHow, Resolve, SetTime};
pub use errno::Errno;
pub use file::{DirEntry, File, FileBy};
pub use fs_api::{
    Directory, Entry, FIRST_COOKIE, FileSystem, Freshness, Name, NewKind, NewNode, Node, NodeKey, OpenFile, OpenFor,
    PermissionRule, RenameFlags, SetAttributes, Siblings, StatFs, SyncWhat, Validity, WriteAt, Written,
};
pub use handle::Handle;
pub use icache::cache::{InodeCache, InodeOwner};
pub use icache::family::{Iget, InodeLookup, NotInserted};
pub use icache::held::{InodeRef, NewInode, PendingInode, UnhashedInode};
pub use icache::probe::{InodeMatch, InodeState, InodeView};
pub use mount::MountFlags;
pub use permission::{Access, Capabilities, Credentials};
pub use stats::{HandOver, Pool, Stats};
pub use vfs::Vfs;
pub use walk::steps::{Step, Steps, What, Why};

#[doc(hidden)]
pub mod internals;
