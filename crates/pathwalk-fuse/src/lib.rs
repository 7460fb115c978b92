//! Mounts a tree of pathwalk on a directory, so that every program is a client of it.
//!
//! [`mount`] takes a [`Context`] and serves its root through `/dev/fuse`: the kernel sends what its
//! own caches cannot answer, and the engine answers from its caches or by its file systems. What is
//! mounted within the tree is there as well.
//!
//! # What is whose
//!
//! | | |
//! |---|---|
//! | permissions | the kernel checks them, by modes and access control lists (`default_permissions`) |
//! | names and attributes | the kernel keeps them as long as [`CacheTimes`] and [`Reported`] say |
//! | data | in the kernel's page cache; writes go through at once |
//! | changes by others | the kernel is told of what other contexts of the same `Vfs` change, and of what file systems report |
//! | locks of files | the kernel's, among all programs on the mount |
//! | owners | what a program makes belongs to its user and group |
//!
//! The rights of the context's own user do not count.
//!
//! A process in other namespaces mounts by [`mount_detached`], and one outside serves that mount by
//! [`serve`].
//!
//! # Who may mount
//!
//! A caller with `CAP_SYS_ADMIN` in its user namespace, and a `/dev/fuse` that it may open. Any
//! other caller mounts on directories that it may write to where libfuse's `fusermount3` is
//! installed; [`allow_other`](Options::allow_other) then needs `user_allow_other` in
//! `/etc/fuse.conf`, and [`dev`](Options::dev) and [`suid`](Options::suid) are refused.
//!
//! Source: `fuse(4)`, `Documentation/filesystems/fuse.rst` of Linux.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pathwalk::{Context, Errno};

use crate::device::{Device, Mounting};
use crate::helper::Refusal;
use crate::notice::Abilities;
use crate::notifier::Notifier;
use crate::serve::Server;
use crate::session::Session;

mod abi;
mod askers;
mod begin;
mod counts;
mod covered;
mod detached;
mod device;
mod flights;
mod helper;
mod late;
mod mounted;
mod nodes;
mod notice;
mod notifier;
mod opened;
mod options;
mod reads;
mod reply;
mod request;
mod serve;
mod session;
mod times;
mod unmount;
mod untold;

pub use counts::Operations;
pub use detached::{Detached, Served, mount_detached, serve};
pub use mounted::{Mounted, Pinned};
pub use options::{CacheTimes, ExtendedAttributes, Ids, Opens, Options, Reported, Writes};
pub use unmount::{WhileInUse, unmount};

/// The reason that nothing was mounted.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_fuse::{MountError, Options, mount};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let error = mount(&context, "/no/such/directory", &Options::default()).unwrap_err();
/// assert!(matches!(error, MountError::MountPoint { .. } | MountError::Device(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// `/dev/fuse` cannot be opened.
    #[error("/dev/fuse cannot be opened: {0}. Is the kernel's module `fuse` loaded, and is the device there?")]
    Device(std::io::Error),
    /// The mount point is no directory that can be used.
    #[error("{} cannot be mounted on: {error}", path.display())]
    MountPoint {
        /// The mount point.
        path: PathBuf,
        /// What was wrong with it.
        error: std::io::Error,
    },
    /// The caller may not mount.
    #[error(
        "mounting on {} is not allowed. It needs CAP_SYS_ADMIN, or libfuse's fusermount3, which cannot be run: install it \
         (package fuse3), or run this as root, or in a user namespace by `unshare --user --map-root-user --mount`",
        .0.display()
    )]
    NotAllowed(PathBuf),
    /// The program `fusermount3`, which mounts for callers without privilege, refused.
    #[error("{} cannot be mounted on without CAP_SYS_ADMIN: {said}", path.display())]
    Refused {
        /// The mount point.
        path: PathBuf,
        /// What the program said.
        said: String,
    },
    /// The kernel refused a mount that is attached nowhere.
    #[error("the kernel refuses to mount: {0}. It needs CAP_SYS_ADMIN in the user namespace")]
    Detached(std::io::Error),
    /// The kernel speaks another version of the protocol.
    #[error("the kernel's FUSE is too old: Linux 5.14 or later is needed")]
    Protocol,
    /// The root of the tree cannot be read.
    #[error("the root of the tree cannot be read: {0}")]
    Root(Errno),
    /// No thread could be started.
    #[error("no thread could be started: {0}")]
    Thread(std::io::Error),
}

/// Mounts the root of a context on a directory, and serves it by threads of its own.
///
/// A mount there whose server has died (`ENOTCONN`) is removed first.
///
/// | error | when |
/// |---|---|
/// | [`Device`](MountError::Device) | there is no `/dev/fuse`, or it may not be opened |
/// | [`MountPoint`](MountError::MountPoint) | `at` is not there, or no directory |
/// | [`NotAllowed`](MountError::NotAllowed) | the caller has no `CAP_SYS_ADMIN`, and there is no `fusermount3` |
/// | [`Refused`](MountError::Refused) | the caller has no `CAP_SYS_ADMIN`, and `fusermount3` refuses |
/// | [`Protocol`](MountError::Protocol) | the kernel is older than Linux 5.14 |
/// | [`Root`](MountError::Root) | the file system fails at its root |
/// | [`Thread`](MountError::Thread) | no thread can be started |
///
/// ```no_run
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_fuse::{CacheTimes, Options, mount};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let mut options = Options::default();
/// options.times = CacheTimes::FOREVER; // nothing else changes it
/// let mounted = mount(&context, "/mnt", &options)?;
/// std::fs::write("/mnt/file", "some text")?;
/// assert_eq!(context.read("/file")?, b"some text");
/// assert_eq!(mounted.pinned().nodes, 1);
/// mounted.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mount(context: &Context, at: impl AsRef<Path>, options: &Options) -> Result<Mounted, MountError> {
    let at = at.as_ref();
    device::remove_dead(at).map_err(|error| not_mounted(at, error))?;
    let at = at.canonicalize().map_err(|error| MountError::MountPoint { path: at.into(), error })?;
    let server = Server::new(context, options, generation()).map_err(MountError::Root)?;
    let device = mount_device(&at, &options.mounting())?;
    match begin_and_start(device, server, options) {
        Ok(session) => {
            if session.server.opens == Opens::Untold {
                let _ = untold::teach_at(&at);
            }
            Ok(Mounted { session, at })
        }
        Err(error) => {
            // Without a server it would answer `ENOTCONN`.
            let _ = device::detach(&at);
            Err(error)
        }
    }
}

/// Answers the first request, and starts the threads.
fn begin_and_start(device: Device, mut server: Server, options: &Options) -> Result<Arc<Session>, MountError> {
    let abilities = begin::begin(&device, options).map_err(|_| MountError::Protocol)?;
    if !abilities.opens_untold() {
        server.opens = Opens::Told;
    }
    start(device, server, abilities, options).map_err(MountError::Thread)
}

/// Mounts by the caller's own privilege, and without that by the program that has it.
fn mount_device(at: &Path, mounting: &Mounting<'_>) -> Result<Device, MountError> {
    use rustix::io::Errno;
    let by_caller = match Device::open() {
        Ok(device) => device.mount(at, mounting).map(|()| device),
        Err(Errno::ACCESS | Errno::PERM) => Err(Errno::PERM),
        Err(error) => return Err(MountError::Device(error.into())),
    };
    match by_caller {
        Err(Errno::PERM) => match helper::mount(at, mounting) {
            Ok(descriptor) => Ok(Device::of_mount(descriptor)),
            Err(Refusal::NotThere) => Err(MountError::NotAllowed(at.into())),
            Err(Refusal::Said(said)) => Err(MountError::Refused { path: at.into(), said }),
        },
        other => other.map_err(|error| not_mounted(at, error)),
    }
}

fn start(device: Device, mut server: Server, abilities: Abilities, options: &Options) -> std::io::Result<Arc<Session>> {
    let vfs = server.context.vfs().clone();
    // By an epoch, the kernel would take mounts away.
    if !abilities.has_epochs() || !server.covered.is_empty() {
        server.times.limit_names(Duration::from_secs(1));
    }
    let stats = vfs.stats();
    let bound = options.pinned.unwrap_or(stats.dentries.capacity.min(stats.inodes.capacity) / 2);
    let covered = Arc::clone(&server.covered);
    Session::start(device, server, Notifier::new(vfs.subscribe_nodes(options.events), abilities, bound, covered))
}

fn not_mounted(at: &Path, error: rustix::io::Errno) -> MountError {
    match error {
        rustix::io::Errno::PERM => MountError::NotAllowed(at.into()),
        // The kernel has no file system of this name.
        rustix::io::Errno::NODEV => MountError::Device(error.into()),
        error => MountError::MountPoint { path: at.into(), error: error.into() },
    }
}

/// Returns a number that no earlier mount had, unless the clock was set back: the kernel's handles
/// of a node, which NFS keeps, have it beside the node's number.
fn generation() -> u32 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as u32)
}
