//! The reference file system of pathwalk: everything in memory, nothing clever.
//!
//! [`MemFs`] is two things. To a `Vfs` it is a [`FileSystem`](pathwalk::FileSystem). To whoever builds a tree it is a
//! handle with methods that take paths: [`mkdir`](MemFs::mkdir), [`file`](MemFs::file), [`symlink`](MemFs::symlink), …. It is
//! cheap to clone, and all clones are one file system, so that a test keeps one and the `Vfs` another.
//!
//! ```
//! use pathwalk::{Access, Credentials, Vfs};
//! use pathwalk_memfs::MemFs;
//!
//! let fs = MemFs::new();
//! fs.mkdir_all("/usr/bin", 0o755)?;
//! fs.file("/usr/bin/dash", 0o755)?;
//! fs.symlink("/bin", "usr/bin")?;
//!
//! let vfs = Vfs::builder().build(fs.clone())?;
//! let context = vfs.context(Credentials::root());
//! context.access("/bin/dash", Access::EXECUTE)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Changes behind a `Vfs`'s back
//!
//! A `Vfs` remembers what it was told. What is changed here through paths, while it runs, it does not see until it asks again:
//! build the tree first, change it through the `Vfs`, tell the `Vfs` what it should forget, or construct with
//! [`Freshness::AskEachTime`](pathwalk::Freshness).
//!
//! # Layout
//!
//! - [`options`](Options): how nodes present themselves to the engine;
//! - `store/`: the nodes and what can be done with them, by key; `table` numbers them, `inode` is one node, made of `life` (who needs it), `record` (what
//!   `stat` tells) and what its lock guards, in `locked`: `names` are one directory's, `pages` one file's. `space` are the limits, and
//!   `rename` is the one operation that deserves a file;
//! - `file_system.rs` with `open_file.rs`, and `paths.rs`: the two faces, thin.
//!
//! # What it does not do
//!
//! Access times are never moved by reading, as if mounted with `noatime`; the other times are those
//! of the system's last clock tick, as the kernel's file systems have it, or of a clock that
//! [`Options::clock`] gives. Of the attribute bits it keeps three, and enforces none: the engine does.
//! Access control lists are not inherited. Nothing outlives the process: `sync` has nothing to do. What is removed goes back to the allocator, which may keep it
//! from the system, but for the slot of the node itself (128 bytes), which waits for the next;
//! [`memory`](pathwalk::FileSystem::memory) counts what is in use, slots included.

#![forbid(unsafe_code)]

mod calls;
mod clock;
mod error;
mod file_system;
mod open_file;
mod options;
mod paths;
mod store;

use std::sync::Arc;

pub use calls::Calls;
pub use error::Error;
pub use options::{LinkBodies, LinkSizes, Options};
pub use store::Usage;

use pathwalk::permission::AclEntry;
use pathwalk::{Errno, NodeKey, StatxFlags};
use store::Store;

/// A file system in memory. Clones are handles on the same one.
#[derive(Clone)]
pub struct MemFs(Arc<Store>);

impl MemFs {
    /// An empty root directory, mode 0755, owned by root; all [`Options`] as they are by default.
    pub fn new() -> MemFs {
        MemFs::with(Options::default())
    }

    /// The same with options.
    pub fn with(options: Options) -> MemFs {
        MemFs(Arc::new(Store::new(options)))
    }

    /// How often the engine called which method so far.
    pub fn calls(&self) -> Calls {
        self.0.calls.snapshot()
    }

    /// As [`set_acl`](Self::set_acl), of a node that the caller has a [`Handle`](pathwalk::Handle)
    /// on, by its key.
    pub fn set_acl_of(&self, node: NodeKey, entries: &[AclEntry]) -> Result<(), Errno> {
        self.0.set_acl(node, entries)
    }

    /// As [`set_flags`](Self::set_flags), of a node that the caller has a
    /// [`Handle`](pathwalk::Handle) on, by its key.
    pub fn set_flags_of(&self, node: NodeKey, flags: StatxFlags) -> Result<(), Errno> {
        self.0.set_flags(node, flags)
    }

    /// How many nodes there are, who holds them and what they weigh. Cost: looks at every node.
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
