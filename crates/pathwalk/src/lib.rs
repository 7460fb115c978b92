#![forbid(unsafe_code)]
//! [`FileSystem`]: crate::FileSystem
//! [`Vfs`]: crate::Vfs
//! [`Context`]: crate::Context
//! [`Credentials`]: crate::Credentials
//! [`Errno`]: crate::Errno
#![doc = include_str!("../README.md")]
//!
//! # The way of a lookup
//!
//! 1. The path is checked (length, NUL) and the starting point taken: root, working directory or
//!    [`Handle`].
//! 2. The **fast walk** goes from name to name through the cache.
//!    It takes no lock and no reference count, calls nothing and stores nothing.
//!    What it reads may change meanwhile: sequence counts show that, and then the walk starts
//!    again.
//! 3. A name that is not cached, or that the file system has to confirm, is **handed over** to the
//!    locked walk.
//!    That walk pins what it goes through and asks the [`FileSystem`], once per name however many
//!    threads want it.
//!    [`Stats`] counts hand-overs by reason ([`HandOver`]); these counts show why a workload is
//!    slow.
//! 4. Permissions follow `path_resolution(7)`: mode bits, access control lists, capabilities
//!    ([`permission`]).
//!    A directory that all users may search costs one compare.
//!
//! # What is true of an answer
//!
//! Each step of a walk, from a directory and a name to the node behind it, was true at some instant
//! during the walk.
//! A name that is replaced by a rename is never seen absent.
//! A walk of several components is no snapshot of the tree; on Linux it is none either.
//!
//! # Where to go on
//!
//! - [`Context`] has the operations, the errors they share, and what they cost.
//! - What `std::fs` has is there with its names: [`Context::read`], [`write`](Context::write),
//!   [`read_dir`](Context::read_dir), [`remove_dir_all`](Context::remove_dir_all),
//!   [`walk`](Context::walk) and others.
//!   Their [`Error`] names the operation and the path.
//! - A [`File`] implements `Read`, `Write` and `Seek`, also as `&File`; [`Attributes`] have the
//!   methods of `std::fs::Metadata`.
//! - The crate `pathwalk-hostfs` has the credentials of this process, and a directory of the host
//!   as a file system.
//! - [`FileSystem`] is the trait that a file system implements, with all that it has to do.
//! - [`Context::cached`] answers from the caches or not at all, for callers that must not wait; the
//!   crate `pathwalk-ring` is built on it.
//! - Named pipes work between the threads of a process; [`Cancellation`] ends their waits.
//!   A [`Driver`] opens devices, and [`Context::bind_socket`] puts a value behind a socket.
//! - [`Vfs::builder`] takes the budget and the switches of the mount; [`Stats`] reports the use of
//!   the budget.
//!
//! # What it does not do yet
//!
//! User namespaces, and access times.

// The rooms, from the lowest up. Each imports only from those above it in this list. `cargo xtask
// rooms` checks that.
mod attr;
#[allow(clippy::missing_const_for_thread_local, reason = "the macros of loom and shuttle have no such form")]
mod cancellation;
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

mod locks;

mod fs_api;

pub mod security;
mod special;

#[allow(clippy::missing_const_for_thread_local, reason = "the macros of loom and shuttle have no such form")]
mod events;

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
pub mod landlock;
mod mounts;
mod subscription;
mod vfs;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod scenarios;

pub use abi::{
    AtFlags, LinkFlags, MountAttributes, MountFlags, MoveFlags, OpenFlags, OpenHow, Propagation, Recursion, Resolve, SetTime,
    SuperblockFlags, UmountFlags, UnlinkFlags,
};
pub use abi::{FallocateFlags, RwFlags, SyncFileRange};
pub use abi::{HandleFlags, XattrFlags};
pub use attr::{AclState, Attributes, ChangeCookie, Details, Device, FileType, InodeFlags};
pub use attr::{Statx, StatxFlags, StatxMask, Timestamp};
pub use builder::{BuildError, VfsBuilder};
pub use cache::icache::probe::{InodeMatch, InodeState, InodeView};
pub use cancellation::{Cancellation, WaitObserver};
pub use context::{AsPath, At, Bound, Cached, Context, MissingName, Step, Steps, What};
pub use errno::Errno;
pub use error::Error;
pub use events::{Event, Invalidated, NodeEvent};
pub use file::{EntryHandles, File, FileBy, FileLocks, Listed, ListedNode};
pub use fs::{AsMode, DirEntry, OpenOptions, ReadDir, TryLockError, Walk};
pub use fs_api::{AccessTimes, Accessed, EntrySink};
pub use fs_api::{Directory, Entry, FIRST_COOKIE, FileSystem, OpenFile, OpenFor, Siblings, StatFs, SyncWhat, WriteAt, Written};
pub use fs_api::{FileHandle, FoundName, FoundToRead, HandleFor, Leases, Locks, Notifier};
pub use fs_api::{Seeking, SpecialFiles};
pub use fs_api::{XattrList, XattrName, XattrNamespace, copy_xattr};
pub use handle::Handle;
pub use inode_cache::cache::{InodeCache, InodeOwner};
pub use inode_cache::family::{Iget, InodeLookup, NotInserted};
pub use inode_cache::held::{InodeRef, NewInode, PendingInode, UnhashedInode};
pub use locks::lease::Lease;
pub use locks::leases::LEASE_BREAK_TIME;
pub use locks::request::{LockKind, LockOwner, LockRange, LockWait, RecordLock};
pub use locks::table::LockCounts;
pub use mounts::{DetachedTree, MountInfo, Namespace};
pub use node::Inherited;
pub use node::Validity;
pub use node::{Freshness, NewKind, NewNode, Node, NodeKey, PermissionRule, RenameFlags, SetAttributes, SetCause, Sweep};
pub use permission::{Access, Capabilities, Credentials, IdExtent, IdMap, IdMapError};
pub use special::driver::Driver;
pub use stats::{FileSystemStats, HandOver, Pool, Stats, WholePaths};
pub use subscription::{NodeSubscription, Subscription};
pub use text::Name;
pub use vfs::Vfs;
pub use walk::steps::Why;

#[doc(hidden)]
pub mod internals;
