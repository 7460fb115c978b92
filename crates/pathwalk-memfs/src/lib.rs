//! [`MemFs`]: crate::MemFs
//! [`Options`]: crate::Options
//! [`FileSystem`]: pathwalk::FileSystem
#![doc = include_str!("../README.md")]
//!
//! # Changes behind a `Vfs`'s back
//!
//! A `Vfs` caches the answers of its file system. It does not see a change that is made by paths
//! here while it runs, until it calls the file system again. Therefore a `MemFs` cannot be cloned:
//! what is left to its holder is explicit, [`alias`](MemFs::alias). After a change through an
//! alias, invalidate the changed entries of the `Vfs`, or construct the file system with
//! [`Freshness::AskEachTime`](pathwalk::Freshness).
//!
//! # Layout
//!
//! - [`options`](Options): the ways in which nodes present themselves to the engine;
//! - `store/`: the nodes and the operations on them, by key. `table` numbers the nodes. `inode` is
//!   one node; it consists of `life` (its names and holds), `record` (its attributes for `stat`)
//!   and `locked` (the data that its lock protects): `names` are those of one directory, `pages`
//!   those of one file. `space` has the limits, `quota` those of each owner, and `rename` is the
//!   one operation that needs a file of its own;
//! - `file_system.rs` with `open_file.rs`, and `paths.rs`: thin layers for the two sides.
//!
//! # What it does not do
//!
//! It does not decide when a time of access is stored: with [`Options::access_times`] the engine
//! does, by the flags of the mount, as for a tmpfs, and otherwise none is stored. All times are
//! those of the system's last clock tick, as on the kernel's file systems, or of a clock that
//! [`Options::clock`] gives. On systems that are not Linux they are those of its clock. The file
//! system stores three of the attribute bits and enforces none: the engine does. No data outlives
//! the process, so `sync` does nothing. The memory of removed nodes goes back to the allocator,
//! which may keep it from the system. The slot of the node itself (128 bytes) is kept for the next
//! node.
//! [`memory`](pathwalk::FileSystem::memory) counts the memory in use, slots included.

#![forbid(unsafe_code)]

mod calls;
mod clock;
mod error;
mod file_system;
mod open_file;
mod options;
mod paths;
mod quota;
mod store;

use std::sync::Arc;

pub use calls::Calls;
pub use error::Error;
pub use options::{LinkBodies, LinkSizes, Options};
pub use quota::{Project, ProjectScope, QuotaKind, QuotaLimits, QuotaUsage};
pub use store::Usage;

use pathwalk::permission::{Acl, AclEntry, AclKind};
use pathwalk::{Errno, NodeKey, StatxFlags};
use store::Store;

/// A file system in memory. It is built by its methods that take paths, and then given to a `Vfs`.
///
/// ```
/// use pathwalk::permission::{AclEntry, AclTag};
/// use pathwalk::{Access, Credentials, Errno, StatxFlags, Vfs};
/// use pathwalk_memfs::{MemFs, Options};
/// let fs = MemFs::with(Options::default().max_bytes(1 << 20));
/// fs.file("/file", 0o644)?;
/// let (key, behind) = (fs.key("/file")?, fs.alias());
/// let vfs = Vfs::builder().build(fs)?;
/// let context = vfs.context(Credentials::root());
/// let file = context.lookup("/file")?;
/// assert_eq!(file.key(), key);
///
/// // By the key of a node that is held, whatever its name is now.
/// context.rename("/file", "/moved")?;
/// behind.set_flags_of(key, StatxFlags::IMMUTABLE)?;
/// let entry = |tag, grants| AclEntry { tag, grants };
/// let none = Access::empty();
/// behind.set_acl_of(key, &[entry(AclTag::Owner, Access::READ), entry(AclTag::Group, none), entry(AclTag::Other, none)])?;
/// vfs.refresh(&file)?;
/// assert_eq!(context.unlink("/moved"), Err(Errno::EPERM));
///
/// assert_eq!(behind.usage().nodes, 2);
/// assert_eq!(behind.calls().rename, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemFs(Arc<Store>);

impl MemFs {
    /// Creates a file system with an empty root directory, mode 0755, owned by root, and with the
    /// default [`Options`].
    ///
    /// The [crate's page](crate) and [`MemFs::alias`] have examples.
    pub fn new() -> MemFs {
        MemFs::with(Options::default())
    }

    /// Creates a file system with options.
    pub fn with(options: Options) -> MemFs {
        MemFs(Arc::new(Store::new(options)))
    }

    /// Returns a second handle on the same file system: to count its calls, to give it to a second
    /// `Vfs`, or to change it behind the back of the first. A `Vfs` gets no notice of a change that
    /// is made by paths here, and goes on with what it has cached.
    ///
    /// ```
    /// use pathwalk::{Access, Credentials, Errno, Vfs};
    /// use pathwalk_memfs::MemFs;
    ///
    /// let fs = MemFs::new();
    /// let behind = fs.alias();
    /// let vfs = Vfs::builder().build(fs)?;
    /// let context = vfs.context(Credentials::root());
    /// assert_eq!(context.access("/new", Access::READ), Err(Errno::ENOENT));
    /// behind.file("/new", 0o644)?;
    /// assert_eq!(context.access("/new", Access::READ), Err(Errno::ENOENT), "it is cached");
    /// vfs.invalidate_subtree(context.root())?;
    /// assert_eq!(context.access("/new", Access::READ), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn alias(&self) -> MemFs {
        MemFs(self.0.clone())
    }

    /// Returns the number of the engine's calls of each method so far.
    pub fn calls(&self) -> Calls {
        self.0.calls.snapshot()
    }

    /// Sets the access control list of a node by its key, as [`set_acl`](Self::set_acl) does. The
    /// caller holds a [`Handle`](pathwalk::Handle) on the node.
    pub fn set_acl_of(&self, node: NodeKey, entries: &[AclEntry]) -> Result<(), Errno> {
        let list = (!entries.is_empty()).then(|| Acl::new(entries.to_vec()));
        let mode = |before| list.as_ref().map_or(before, |list| before & !0o777 | list.mode());
        self.0.set_acl(node, AclKind::Access, list.as_ref(), mode).map(drop)
    }

    /// Sets the attribute bits of a node by its key, as [`set_flags`](Self::set_flags) does. The
    /// caller holds a [`Handle`](pathwalk::Handle) on the node.
    pub fn set_flags_of(&self, node: NodeKey, flags: StatxFlags) -> Result<(), Errno> {
        self.0.set_flags(node, flags)
    }

    /// Returns the number of nodes, the holds on them, and their memory. Cost: visits every node.
    pub fn usage(&self) -> Usage {
        self.0.usage()
    }
}

impl Default for MemFs {
    fn default() -> Self {
        MemFs::new()
    }
}

impl std::fmt::Debug for MemFs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemFs").field("usage", &self.usage()).field("calls", &self.calls()).finish()
    }
}
