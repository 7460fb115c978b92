//! [`HostFs`]: crate::HostFs
//! [`credentials`]: crate::credentials()
//! [`Vfs`]: pathwalk::Vfs
#![doc = include_str!("../README.md")]
//!
//! # What holds
//!
//! - **Lookups stay beneath the root.** The root is one descriptor. Every question starts there,
//!   with `openat2(2)` under `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS`.
//!   Except for those of open files, and of nodes without a name, no other descriptor outlives the
//!   call that opened it. So a directory that was moved out of the root is not followed there: what
//!   was in it is absent from then on. When a directory is read as a whole, it has to be at its
//!   place before and after. Only a directory that is moved out and back in between may show what
//!   its names led to meanwhile.
//! - **Mounts below the root are crossed**, as in a walk by the kernel. A key has the mount and the
//!   device, so two bind mounts of one directory are two directories. Looking at an automount point
//!   does not trigger it; looking up a name below it does.
//! - **A node is not taken for another one that had its inode number before.** A key has the type
//!   and the inode number, and 32 bits of what distinguishes the nodes of one number: of the birth
//!   time, or where changes are carried out, of the file handle with its generation
//!   (`name_to_handle_at(2)`), and of the birth time if the host gives no handle. A node that got
//!   the number of a removed one has the same key with a probability of 2⁻³²; by birth times, also
//!   if both were made within one tick of the host's clock. A file system without either is
//!   identified by its numbers alone.
//! - **The number of descriptors is bounded**: by default 1,024 for all open files
//!   ([`HostFs::with_most_descriptors`]). All open files of a node share one. Beyond that number,
//!   the one that was not used for longest is closed, and opened again when it is needed.
//! - **File handles are the host's**, and lead to nodes beneath the root alone, wherever these are
//!   by then: any other is `ESTALE`. To open one, this process needs `CAP_DAC_READ_SEARCH`, and
//!   `/proc`. On ext4, a file that is not in the host's cache has a path only by a handle that was
//!   asked for with [`CONNECTABLE`](pathwalk::HandleFlags::CONNECTABLE) (Linux 6.13). By any other
//!   handle it is `ESTALE`, unless the root is that of a whole file system: then it is opened
//!   without a path, and keeps a descriptor as long as it is held. Nodes on other mounts than the
//!   root's have identities alone ([`FID`](pathwalk::HandleFlags::FID)).
//! - **ACLs** are read when a directory is loaded, and when any other node is first checked. Where
//!   there is an ACL, checks use its entries.
//! - **The flags of its own mount apply to each node**, whether that is the root's mount or one
//!   below: read-only (`EROFS`, after `EACCES`) and noexec (`EACCES`, before all else). A writable
//!   mount below a read-only root is writable. On a file system that is read-only as a whole,
//!   `EROFS` comes before `EACCES`. Only nosymfollow has to be passed to the builder: see
//!   [`HostFs::mount_flags`].
//! - **A read-only file system is reported as one.** This holds if the root's file system is
//!   read-only, its mount is not noexec, and nothing is mounted below the root when it is opened.
//!   The superblock then has the flag: the engine applies it, and files need no permission rule of
//!   their own for it.
//!
//! # Changes
//!
//! [`HostFs::open_writable`] carries changes out.
//!
//! - **Changes stay beneath the root, too.** A directory is reached as for a lookup and verified;
//!   then one name below its descriptor is changed, and is not followed as a link. A node is
//!   reached and verified, and changed by its descriptor. So what another process moves into the
//!   way is not changed. Two moments are left, since the kernel has no calls without them. A
//!   directory that is moved out of the root after it was verified is changed where it is then. A
//!   node that gets a name after that was verified, and before the name is removed or moved, loses
//!   it.
//! - **Special files of the host are not opened.** A file is reached as a place, verified, and
//!   opened through `/proc`. Pipes can be the engine's: [`HostFs::with_special_files`].
//! - **Each node is made as its owner.** The engine has checked the rights of the caller. The
//!   thread then asks the host as the user and group that the node is to have (`setfsuid(2)`), with
//!   the capabilities of this process but for `CAP_SYS_RESOURCE`: so the owner is right from the
//!   beginning, and the owner's quota and the reserved blocks count. This takes `CAP_SETUID` and
//!   `CAP_SETGID`, as root has them. A process without them makes nodes of its own user, in its
//!   groups; others are `EPERM`, and nothing is left. The ids are those of the one thread, and are
//!   restored before the call returns.
//! - **Everything else is done as this process.** What the host refuses to this process fails with
//!   the host's error, also if the engine permits it to the caller.
//! - **Default lists and the umask are applied once.** The host applies the default list of a
//!   directory itself. The umask of this process takes bits at most for a moment: a node never has
//!   more rights than it is to have.
//! - **A file without a name lives as long as it is held.** Until then it keeps a descriptor beyond
//!   the bound. So does a node whose known names were all removed, even if it has others.
//! - **A failure of the host is reported as it is**: `ENOSPC`, `EDQUOT`, `EROFS`, `EMFILE`. Before
//!   `EMFILE`, half of the descriptors of open files are closed. A change of several attributes at
//!   once may be done in part then; the attributes that are shown are those of the host.
//!
//! # Changes by others
//!
//! [`HostFs::with_coherence`] chooses what the caches promise about changes that do not go through
//! the `Vfs`; [`Coherence`] says it for each mode. The default is [`Coherence::Watch`]: a thread
//! reads the kernel's events. A tree that does not change, or through one `Vfs` alone, is cheapest
//! as [`Coherence::Frozen`] or [`Coherence::Exclusive`]. In all modes, a descriptor of the root is
//! kept, so a root that is moved or replaced stays the directory that was opened.
//!
//! Where the tree is watched, a name is looked up below a descriptor of its directory, which is
//! verified. That takes 3 calls more for a name that is not cached: otherwise, while directories
//! are moved, an absence would be remembered of the wrong directory. The nodes of a watched tree
//! are identified by file handles, and are not kept in batches. By fanotify, nothing is stored for
//! a node: events have file handles, and the table of nodes finds keys by a hash of these. By
//! inotify, a directory takes 5 calls more, and 120 bytes; a file with one name takes nothing.
//!
//! # Cost
//!
//! Opening a file or directory to read it takes 2 system calls: `openat2`, and `statx` to verify
//! that it is the right node. With [`Descriptors::AtFirstUse`], it takes none until the first read.
//! A directory whose name is not cached is opened with its lookup, which takes 3 calls less than
//! both. So is a regular file in a tree that is watched, if all users may read it, and no changes
//! are carried out.
//!
//! When the ring or the async face only tries to open a file, the kernel uses only what it has
//! cached, which does not block. The same holds for a read that is only tried (`preadv2` with
//! `RWF_NOWAIT`).
//!
//! These are the figures of [`Coherence::Frozen`]; what the other modes add is said above and by
//! [`Coherence`].
//!
//! The system calls for a name that is not cached are: absent 1, a file or device 3, a link or a
//! directory 4. The first node of a mount takes 1 more. The first check of a file takes 4 more (its
//! ACL). Reloading attributes takes 3, for a directory 4. Memory: 58 to 60 bytes for each node that
//! the `Vfs` holds, and the name in addition where it is longer than 22 bytes.
//! [`memory`](pathwalk::FileSystem::memory) reports it.
//!
//! When the engine reads a directory as a whole
//! ([`lookup_siblings`](pathwalk::FileSystem::lookup_siblings)), that takes 10 calls and 1 for each
//! file in it. Lookups of these files then make no system call. Links and directories are still
//! looked up one by one. A directory is read as a whole only where that changes no access time: if
//! this process is the directory's owner or has `CAP_FOWNER`. Files that were found this way, have
//! one name, and have numbers near each other take some 9 bytes and their name, in batches of at
//! most 64 files. A batch stays until the last of its files is forgotten.
//!
//! Where changes are carried out, each check of a node takes one call more, for its handle, and
//! there are no batches.
//!
//! For the first node of a read-only mount, `/proc/thread-self/mountinfo` is read.
//!
//! On a read-only or noexec mount, except below a root that is reported read-only as above, files
//! have a permission rule of their own. On a read-only mount, directories and links have one too.
//! Every check of such a file at the end of a path is handed over to the locked walk, which calls
//! this file system, even for reading: the engine has one rule for all kinds of access to a node.
//! The first check costs the 4 system calls of the ACL and stores about 110 bytes. Later checks
//! make no system call. Directories that all users may search are passed without a call, as on any
//! other mount. This is slower than the lock-free walk, and right.
//!
//! # What it does not do
//!
//! - Treat a directory as complete on XFS, or where names are folded (`chattr +F`): a lookup may
//!   find a name in another case that is not listed.
//! - Notice changes by others in [`Coherence::Frozen`] and [`Coherence::Exclusive`]. A node that
//!   moved is found again only by a lookup under its new name; until then it is `ESTALE`. A single
//!   name is looked up by its path: while other processes exchange directories, a lookup in one
//!   directory may return the node that has the name in the other.
//! - Limit what a caller writes by that caller's quota on the host, since the engine passes no ids
//!   with data: a process with `CAP_SYS_RESOURCE` is not limited.
//! - Read and write past the caches of the host: `O_DIRECT` is accepted where the host accepts it,
//!   and no alignment is required then.
//! - Refuse, as ext4 does, to allocate space in a file that may only grow and whose suid or sgid
//!   bits would go with that: the space is allocated, and the bits go with the next write.
//! - Refuse to seek to a position beyond the greatest size of a file of the host.
//! - Jump through magic links: `/proc/self/fd/1`, and `/dev/stdout` which leads there, are followed
//!   by their text (`pipe:[7]`), so they are absent where the kernel finds an open file.
//! - Distinguish an absent name from a name whose directory was removed on the host meanwhile: both
//!   are absent, and are remembered as absent.
//! - Repeat the private permission checks of NFS, FUSE or `/proc`: only mode bits and ACL count.
//! - Apply `nosymfollow` of a mount below the root. Without `/proc`, a read-only file system is
//!   treated as a read-only mount of it, and refuses with `EACCES` before `EROFS`.
//! - Check a noexec mount before an immutable file: asking for write and execute access to such a
//!   file at once is `EPERM` here and `EACCES` in the kernel.
//! - Model ids that a user namespace or an id-mapped mount does not map. The host shows them as the
//!   overflow id, 65534, and they are treated as that very user and group. The kernel refuses to
//!   write to a file whose owner or group has no mapping (`EACCES`). In the kernel,
//!   `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH` of a user namespace do not reach inodes that are
//!   not mapped into it; here they reach all.
//!
//! # What it needs
//!
//! Linux 5.8 (`openat2(2)`, mount ids from `statx(2)`). Changes need `/proc`: without it, modes are
//! set since Linux 6.6 alone, attributes of files that can be opened alone, and the number of
//! descriptors is not bounded. Before Linux 6.13, reading ACLs and
//! extended attributes needs `/proc`. Without `/proc`, they are read by opening the node. Then a
//! directory that this process may search but not read is refused, and so is every node that is
//! neither file nor directory.

#![deny(unsafe_code)]

mod acl;
mod attributes;
mod batches;
mod beneath;
mod calls;
mod change;
mod changed;
mod coherence;
mod credentials;
mod descriptors;
mod error;
mod finding;
mod guard;
mod handles;
mod host_fs;
mod ids;
mod key;
mod listing;
mod look;
mod magic;
pub mod mountinfo;
mod mounts;
mod nodes;
mod open_file;
mod opening;
mod set;
mod siblings;
mod slab;
mod small_name;
mod tree;
mod ttl;
mod watch;
mod writers;
mod xattr;

pub use changed::SyncAtEnd;
pub use coherence::Coherence;
pub use credentials::credentials;
pub use error::OpenError;
pub use host_fs::HostFs;
pub use look::MountAt;
pub use open_file::Descriptors;
pub use ttl::TtlStats;
pub use watch::event::{Change, Drops, Uncovered, WatchBy, WatchEvent, WatchStats};
pub use writers::has_no_writer;
