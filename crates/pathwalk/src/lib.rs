#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

// The rooms, from the lowest up. Each imports only from those above it in this list. `cargo xtask
// rooms` checks that.
mod attr;
mod config;
mod errno;
mod error;
pub mod limits;
mod stats;
mod sync;

mod abi;
mod node;
pub mod permission;
mod text;

mod memo;
mod memory;

mod cache;

mod inode_cache;

mod fs_api;

mod superblock;

mod mount;

mod walk;

mod ops;

mod builder;
mod context;
mod file;
mod fs;
mod handle;
mod invalidate;
mod mounts;
mod vfs;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod scenarios;

pub use abi::{
    AtFlags, LinkFlags, MountAttributes, MountFlags, MoveFlags, OpenFlags, OpenHow, Propagation, Recursion, Resolve, SetTime,
    SuperblockFlags, UmountFlags, UnlinkFlags,
};
pub use attr::{AclState, Attributes, Device, FileType, Statx, StatxFlags, StatxMask, Timestamp};
pub use builder::{BuildError, VfsBuilder};
pub use cache::icache::probe::{InodeMatch, InodeState, InodeView};
pub use context::{AsPath, At, Cached, Context, MissingName, Step, Steps, What};
pub use errno::Errno;
pub use error::Error;
pub use file::{File, FileBy, Listed};
pub use fs::{AsMode, DirEntry, OpenOptions, ReadDir, Walk};
pub use fs_api::{Directory, Entry, FIRST_COOKIE, FileSystem, OpenFile, OpenFor, Siblings, StatFs, SyncWhat, WriteAt, Written};
pub use handle::Handle;
pub use inode_cache::cache::{InodeCache, InodeOwner};
pub use inode_cache::family::{Iget, InodeLookup, NotInserted};
pub use inode_cache::held::{InodeRef, NewInode, PendingInode, UnhashedInode};
pub use mounts::{DetachedTree, MountInfo, Namespace};
pub use node::{Freshness, NewKind, NewNode, Node, NodeKey, PermissionRule, RenameFlags, SetAttributes, Validity};
pub use permission::{Access, Capabilities, Credentials, IdExtent, IdMap, IdMapError};
pub use stats::{FileSystemStats, HandOver, Pool, Stats, WholePaths};
pub use text::Name;
pub use vfs::Vfs;
pub use walk::steps::Why;

#[doc(hidden)]
pub mod internals;
