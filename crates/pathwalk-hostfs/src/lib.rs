//! A directory of the host as a file system of [`pathwalk`]: read lazily, and never left.
//!
//! [`HostFs::open`] takes a directory; a [`Vfs`](pathwalk::Vfs) built on it asks for one name at a time and remembers the
//! answers. It is meant for trees that nobody changes meanwhile ("frozen"): a change on the host is seen only where nothing is
//! cached. It never writes: what changes a tree is `EROFS`.
//!
//! ```
//! use pathwalk::{Access, Credentials, Vfs};
//! use pathwalk_hostfs::HostFs;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let vfs = Vfs::builder().build(HostFs::open("/".as_ref())?)?;
//! let context = vfs.context(Credentials::user(65534, 65534, &[]));
//! assert!(context.access("/usr", Access::READ | Access::EXECUTE).is_ok());
//! # Ok(())
//! # }
//! ```
//!
//! # What holds
//!
//! - **It stays beneath the root.** The root is one descriptor. Every question starts there, with `openat2(2)` under
//!   `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS`. No other descriptor, but those of open files, outlives the call that opened
//!   it, so a directory that was moved out of the root is not followed there: what lay in it is absent from then on. Where a directory is asked for as a whole,
//!   it has to be at its place before and after: only one that is moved out and back between may tell of what its names led to meanwhile.
//! - **Mounts below the root are crossed**, as in a walk by the kernel. A key is (mount id, device, inode number), so two bind
//!   mounts of one directory are two directories. An automount point is not triggered by looking at it, only by looking
//!   for a name below it.
//! - **ACLs** are asked for when a directory is loaded, and when anything else is first checked. Where there is one, checks go
//!   by its entries.
//! - **Each node goes by the flags of its own mount**, the root's or one below: read-only (`EROFS`, after `EACCES`), noexec
//!   (`EACCES`, before all else). A writable mount below a read-only root is writable. On a file system that is read-only as a
//!   whole, `EROFS` comes before `EACCES`. Only nosymfollow is for the builder: see [`HostFs::mount_flags`].
//! - **A read-only file system is one here.** If the root's is, on a mount that is not noexec, and nothing is mounted below
//!   the root when it is opened, that is said of the superblock: the engine judges by it, and files have no rule of their own for it.
//!
//! # Cost
//!
//! Opening a file or directory to read it: 2 (`openat2`, and `statx` to make sure that it is the node that was meant), or none until it is read: see
//! [`Descriptors`]. An open file holds a descriptor of the host from then on. Of a file that the ring or the async face only tries to open, the kernel is
//! asked for what it has cached, which does not block; so is what is only tried to be read (`preadv2` with `RWF_NOWAIT`).
//!
//! System calls of a name that is not cached: absent 1, a file or device 3, a link or a directory 4; the first node of a
//! mount 1 more. First check of a file: 4 more (its ACL). Attributes asked anew: 3, of a directory 4. Memory: 60 to 64 bytes
//! for each node that the `Vfs` holds, and its name again where that is longer than 22 bytes;
//! [`memory`](pathwalk::FileSystem::memory) reports it.
//!
//! Of a directory that the engine asks for as a whole
//! ([`lookup_siblings`](pathwalk::FileSystem::lookup_siblings)): 10 and 1 for each file in it, which then waits for no call any more; links and
//! directories are asked for when they are looked up. Done only where it changes no time of access: for the directory's owner, or with `CAP_FOWNER`.
//! Files that were told of so, have one name, and have numbers near each other take some 5 bytes and their name, in batches of up to 64; a batch stays until
//! the last of its files is forgotten.
//!
//! Of the first node of a read-only mount, `/proc/thread-self/mountinfo` is read.
//!
//! On a read-only or noexec mount, but for a root as above, files have a permission rule of their own, on a read-only one directories and links too.
//! Every check of such a file at the end of a path is handed over to the locked walk, which asks here, even for reading: the
//! engine has one rule for all that may be wanted of a node. The first check costs the 4 system calls of the ACL and keeps
//! about 110 bytes; those that follow make no system call. Directories that everyone may search are passed without asking,
//! as anywhere. That is slower than the lock-free walk, and right.
//!
//! # What it does not do
//!
//! - Take a directory for complete on XFS, or where names are folded (`chattr +F`): a name in another case may be there unlisted.
//! - Notice changes. A node that moved is found again only by a lookup under its new name; until then it is `ESTALE`. A new
//!   node that got the inode number of one that was removed, and is of the same type, is taken for the old one. A single name is asked for by its
//!   path: while others exchange directories, what has it in the one may be told of the other.
//! - Jump through magic links: `/proc/self/fd/1`, and `/dev/stdout` which leads there, are followed by their text
//!   (`pipe:[7]`), so they are absent where the kernel finds an open file.
//! - Tell a name that is absent from one whose directory was taken away on the host meanwhile: both are absent, and
//!   remembered so.
//! - Repeat the private permission checks of NFS, FUSE or `/proc`: mode bits and ACL are taken at their word.
//! - Obey `nosymfollow` on a mount below the root. Without `/proc`, a read-only file system is taken for a read-only mount of
//!   it, and refuses with `EACCES` before `EROFS`.
//! - Put a noexec mount before an immutable file: to write and execute that at once is `EPERM` here, `EACCES` in the kernel.
//! - Model ids that are not mapped, by a user namespace or an id-mapped mount. The host shows them as the overflow id,
//!   65534, and they are taken for that very user and group. The kernel refuses to write to a file whose owner or group has
//!   no mapping (`EACCES`), and `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH` of a user namespace do not reach inodes that
//!   are not mapped into it; here they reach all.
//!
//! # What it needs
//!
//! Linux 5.8 (`openat2(2)`, mount ids from `statx(2)`). Before Linux 6.13, reading ACLs needs `/proc`; without it they are
//! read by opening the node, so a directory that this process may search but not read is refused, and so is what is neither
//! file nor directory.

#![deny(unsafe_code)]

mod acl;
mod attributes;
mod batches;
mod beneath;
mod error;
mod getxattrat;
mod guard;
mod host_fs;
mod key;
mod look;
pub mod mountinfo;
mod mounts;
mod nodes;
mod open_file;
mod siblings;
mod slab;
mod small_name;

pub use error::OpenError;
pub use host_fs::HostFs;
pub use look::MountAt;
pub use open_file::Descriptors;
