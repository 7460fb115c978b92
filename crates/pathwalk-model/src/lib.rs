//! The simple VFS that pathwalk's operations are compared with where there is no kernel, and where
//! threads race.
//!
//! [`Model`] implements Linux's operations on names over a tmpfs, as plainly as possible: one lock
//! around everything, a map from names to nodes in each directory, and each call's checks in the
//! kernel's order, so that its errno is the kernel's. It shares no code with the engine.
//!
//! ```
//! use pathwalk_model::{AT_FDCWD, Credentials, Errno, Model, OpenFlags, Options};
//!
//! let model = Model::new(Options::default());
//! let mut root = model.process(Credentials::root());
//! model.mkdir(&mut root, AT_FDCWD, b"/d", 0o755)?;
//! let file = model.open(&mut root, AT_FDCWD, b"/d/f", OpenFlags::CREAT | OpenFlags::WRONLY, 0o644)?;
//! model.write(&mut root, file, b"text")?;
//! assert_eq!(model.rmdir(&mut root, AT_FDCWD, b"/d"), Err(Errno::ENOTEMPTY));
//! # Ok::<(), Errno>(())
//! ```
//!
//! A model can be copied cheaply, compared and hashed, and so can a [`Process`]. A search for an
//! order of calls that explains the observations of threads takes both as its state.
//!
//! # Layout
//!
//! `node` is the state, `process` the caller, `walk` the resolution of paths, `permission` the
//! checks of rights. Each group of calls has a file: `create`, `remove`, `rename`, `link`, `open`,
//! `data`, `pipe`, `locks`, `leases`, `handles`, `sockets`, `attributes`, `acl`, `acl_value`,
//! `xattr`, `question`, `place`. `limits` counts limited resources. `dump` lists the tree.
//!
//! # What it does not do
//!
//! - No mounts, id maps or security hooks; of `openat2`'s resolve
//!   flags only `CACHED`, for which everything is cached.
//! - Opening a device or socket is `ENXIO`. A named pipe never waits: its opens, reads and writes
//!   are as with `O_NONBLOCK`, whatever the flags.
//! - No running clock: a [`Stamp`] has the time that `utimensat` set, or that of
//!   [`Model::set_clock`]. Reads change no time, as if mounted with `noatime`.
//! - No holes: a file is its bytes, up to [`Options::largest_file`]; no `SEEK_DATA`, no
//!   `SEEK_HOLE`. Pages that were never written count as no blocks.
//! - A request for a lock, and an open of a leased file, do not wait; a lease is not taken away.
//! - No limits on the number of descriptors, or of links to a node.

#![forbid(unsafe_code)]

mod access;
mod acl;
mod acl_value;
mod attributes;
mod create;
mod data;
mod dump;
mod errno;
mod flags;
mod handles;
mod leases;
mod limits;
mod link;
mod locks;
mod node;
mod open;
mod permission;
mod pipe;
mod place;
mod process;
mod question;
mod remove;
mod rename;
mod sockets;
mod space;
mod walk;
mod xattr;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use parking_lot::{Mutex, MutexGuard};

pub use access::Accesses;
pub use acl::{AclEntry, AclKind, AclTag};
pub use attributes::NewTime;
pub use data::Whence;
pub use dump::DumpEntry;
pub use errno::{Errno, Result};
pub use flags::{
    Access, AtFlags, Capabilities, FallocateFlags, HandleFlags, NodeFlags, OpenFlags, RenameFlags, Resolve, RwFlags, XattrFlags,
};
pub use locks::{Family, LockKind};
pub use node::{Id, Stamp};
pub use open::OpenHow;
pub use process::{Credentials, Process};
pub use question::{DirectoryEntry, StatFs, Status};
pub use sockets::SocketKind;
pub use space::Sparse;

use node::{ROOT, State};

/// The value that stands for the working directory in place of a descriptor.
pub const AT_FDCWD: i32 = libc::AT_FDCWD;

/// The settings of a system administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The switch `fs.protected_symlinks`.
    pub protected_symlinks: bool,
    /// The switch `fs.protected_hardlinks`.
    pub protected_hardlinks: bool,
    /// The largest size of a file in bytes, as `RLIMIT_FSIZE`: growing a file further is `EFBIG`,
    /// and a write is cut there. Holes take memory too: keep it small.
    pub largest_file: u64,
    /// The mode of the root directory: 0..=0o7777.
    pub root_mode: u32,
    /// The most nodes, counting the root and each further name of a node as well: one more is
    /// `ENOSPC`. Source: `nr_inodes` in `tmpfs(5)`.
    pub most_nodes: Option<u64>,
    /// The most pages of 4,096 bytes that files and long links may take: one more is `ENOSPC`.
    /// Source: `size` in `tmpfs(5)`.
    pub most_pages: Option<u64>,
    /// The accesses to nodes other than directories of which the time is stored.
    pub accesses: Accesses,
    /// The accesses to directories of which the time is stored.
    pub directory_accesses: Accesses,
}

impl Default for Options {
    /// Returns options with both protections on, files up to 1 MiB, a root directory of mode 0755,
    /// no other limit, and no access stored.
    fn default() -> Options {
        Options {
            protected_symlinks: true,
            protected_hardlinks: true,
            largest_file: 1 << 20,
            root_mode: 0o755,
            most_nodes: None,
            most_pages: None,
            accesses: Accesses::Never,
            directory_accesses: Accesses::Never,
        }
    }
}

/// A tree of files, and the files that are open in it.
///
/// A clone is an independent copy. A process belongs to the model that created it, or to copies of
/// both from one moment. With any other model its places and descriptors are meaningless, and calls
/// may panic.
pub struct Model {
    options: Options,
    state: Mutex<State>,
}

/// One call: the whole state, locked, and the calling process.
struct Call<'a> {
    options: &'a Options,
    state: MutexGuard<'a, State>,
    process: &'a mut Process,
    /// The nodes that this call has accessed, of which the time is due.
    accessed: RefCell<BTreeSet<Id>>,
}

impl Model {
    /// Creates an empty tree with a root directory that root owns.
    pub fn new(options: Options) -> Model {
        Model { options, state: Mutex::new(State::new(options.root_mode)) }
    }

    /// Returns the options of the model.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Creates a process at the root of the tree, with umask 022 and no descriptors.
    pub fn process(&self, credentials: Credentials) -> Process {
        let mut state = self.state.lock();
        state.processes += 1;
        state.pin(ROOT);
        state.pin(ROOT);
        Process::new(state.processes, credentials, ROOT)
    }

    /// Creates a process in the same places, with the same umask, credentials and open files. The
    /// two share the offsets of the files.
    pub fn fork(&self, process: &Process) -> Process {
        let mut state = self.state.lock();
        state.processes += 1;
        state.pin(process.root);
        state.pin(process.cwd);
        for &file in process.descriptors.values() {
            if let Ok(file) = state.open_file_mut(file) {
                file.descriptors += 1;
            }
        }
        process.renumbered(state.processes)
    }

    /// Ends a process: closes its files and leaves its places. A process that is merely dropped
    /// keeps its nodes alive.
    pub fn exit(&self, process: Process) {
        let mut state = self.state.lock();
        for &file in process.descriptors.values() {
            // The file is open: a process has descriptors only of open files.
            if let Ok(open) = state.open_file(file) {
                let node = open.node;
                state.release_locks(node, process.number());
            }
            let _ = state.close(file);
        }
        state.unpin(process.cwd);
        state.unpin(process.root);
    }

    /// Sets the clock, which gives the times of later changes; 0 at first. While the clock stays
    /// the same, all its times are equal, and calls that commute give equal states.
    pub fn set_clock(&self, tick: u32) {
        self.state.lock().clock = tick;
    }

    fn call<'a>(&'a self, process: &'a mut Process) -> Call<'a> {
        Call { options: &self.options, state: self.state.lock(), process, accessed: RefCell::default() }
    }
}

impl Clone for Model {
    fn clone(&self) -> Model {
        Model { options: self.options, state: Mutex::new(self.state.lock().clone()) }
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Model) -> bool {
        // Two locks are never held at once: both models may be the same.
        let state = self.state.lock().clone();
        self.options == other.options && state == *other.state.lock()
    }
}

impl Eq for Model {}

impl Hash for Model {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.options.hash(hasher);
        self.state.lock().hash(hasher);
    }
}
