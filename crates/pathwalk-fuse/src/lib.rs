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
//! | names and attributes | the kernel keeps them as long as [`CacheTimes`] says |
//! | data | in the kernel's page cache; writes go through at once |
//! | changes by others | the kernel is told of what other contexts of the same `Vfs` change, and of what file systems report |
//! | locks of files | the kernel's, among all programs on the mount |
//! | owners | what a program makes belongs to its user and group |
//!
//! The rights of the context's own user do not count.
//!
//! # Who may mount
//!
//! A caller with `CAP_SYS_ADMIN` in its user namespace, and a `/dev/fuse` that it may open. Any
//! other caller mounts on directories that it may write to where libfuse's `fusermount3` is
//! installed; [`allow_other`](Options::allow_other) then needs `user_allow_other` in
//! `/etc/fuse.conf`, and [`dev`](Options::dev) and [`suid`](Options::suid) are refused.
//!
//! Source: `fuse(4)`, `Documentation/filesystems/fuse.rst` of Linux.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pathwalk::{Context, Errno};
use rustix::mount::MountFlags;

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
mod device;
mod flights;
mod helper;
mod nodes;
mod notice;
mod notifier;
mod opened;
mod reply;
mod request;
mod serve;
mod session;
mod unmount;

pub use counts::Operations;
pub use unmount::{WhileInUse, unmount};

/// How long the kernel answers by itself what it was told, without asking again.
///
/// Changes that are made through the mount are seen at once, whatever the times are. Those that
/// other contexts of the same `Vfs` make, and those that file systems report, are seen when the
/// kernel has been told of them, some microseconds later. Access times that others move are not
/// told.
///
/// | the tree changes | times |
/// |---|---|
/// | by this `Vfs` alone: `pathwalk-memfs`, or `Coherence::Exclusive` of `pathwalk-hostfs` | [`FOREVER`](Self::FOREVER) |
/// | by others, and the file system reports it: `Coherence::Watch`, where it watches all | [`FOREVER`](Self::FOREVER) |
/// | by others, and nothing reports it | those that may pass until it is seen |
///
/// Before Linux 6.16, names and absences are kept for a second at most.
///
/// ```
/// use std::time::Duration;
/// use pathwalk_fuse::CacheTimes;
/// let times = CacheTimes { absence: Duration::ZERO, ..CacheTimes::FOREVER };
/// assert!(CacheTimes::FOREVER.entry > Duration::from_secs(1 << 40) && times.entry > times.absence);
/// assert_eq!(CacheTimes::default(), CacheTimes::NONE);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheTimes {
    /// How long a name leads to the same node.
    pub entry: Duration,
    /// How long a name stays absent.
    pub absence: Duration,
    /// How long attributes stay the same.
    pub attributes: Duration,
}

impl CacheTimes {
    /// The times for a tree of which all changes are made by its `Vfs`, or reported to it.
    pub const FOREVER: CacheTimes = CacheTimes { entry: Duration::MAX, absence: Duration::MAX, attributes: Duration::MAX };

    /// No time: each lookup, and each question about attributes, is answered by the engine.
    pub const NONE: CacheTimes = CacheTimes { entry: Duration::ZERO, absence: Duration::ZERO, attributes: Duration::ZERO };

    /// Returns whether nothing is asked again because of its age.
    fn is_forever(&self) -> bool {
        self.entry == Duration::MAX && self.attributes == Duration::MAX
    }
}

/// The options of a mount.
///
/// [`mount`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The name that `mount(8)` and `/proc/self/mounts` show as the source: `pathwalk`.
    pub source: String,
    /// How long the kernel keeps what it was told: [`CacheTimes::NONE`].
    pub times: CacheTimes,
    /// Whether users other than the one that mounts may use the mount: `true`.
    pub allow_other: bool,
    /// Whether nothing can be changed through the mount: `false`.
    pub read_only: bool,
    /// Whether device nodes can be opened: `false`.
    pub dev: bool,
    /// Whether suid and sgid bits of programs count: `false`.
    pub suid: bool,
    /// Whether programs can be run: `true`.
    pub exec: bool,
    /// Whether each write returns when its data is on the disk: `false`.
    pub sync: bool,
    /// The most nodes that the kernel is to know, of which each takes some 300 bytes beside its
    /// place in the engine's budget: `None` for half of those for which that budget has room.
    ///
    /// Beyond it, the kernel is asked to forget those of which it was told least recently. It keeps
    /// what is open or in use, and directories with names in its cache: see [`Pinned`]. Before
    /// Linux 6.18 it cannot be asked, and forgets when it needs the memory.
    pub pinned: Option<u64>,
    /// The events of changes by others for which there is room, of some 100 bytes each: 65,536. If
    /// they come faster than the kernel can be told, it is told that anything may have changed.
    pub events: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            source: "pathwalk".into(),
            times: CacheTimes::NONE,
            allow_other: true,
            read_only: false,
            dev: false,
            suid: false,
            exec: true,
            sync: false,
            pinned: None,
            events: 1 << 16,
        }
    }
}

impl Options {
    fn mounting(&self) -> Mounting<'_> {
        let flags = [
            (self.read_only, MountFlags::RDONLY),
            (!self.dev, MountFlags::NODEV),
            (!self.suid, MountFlags::NOSUID),
            (!self.exec, MountFlags::NOEXEC),
            (self.sync, MountFlags::SYNCHRONOUS),
        ];
        let set = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag);
        Mounting { source: &self.source, flags: set.collect(), is_for_all: self.allow_other }
    }
}

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

/// A mounted tree. It is unmounted when this is dropped.
///
/// [`mount`] has an example.
pub struct Mounted {
    session: Arc<Session>,
    at: PathBuf,
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mounted").field("at", &self.at).field("pinned", &self.pinned()).finish_non_exhaustive()
    }
}

/// What the kernel holds of a mounted tree, and the engine with it.
///
/// [`mount`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Pinned {
    /// The nodes that the kernel knows, without the root.
    pub nodes: u64,
    /// The lookups that it was answered with them, and has not forgotten.
    pub lookups: u64,
    /// The files and directories that are open.
    pub open_files: u64,
    /// The most nodes that it is to know: [`Options::pinned`].
    pub bound: u64,
    /// The number of times that it was asked to forget a node.
    pub asked_to_forget: u64,
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
    let server = Server::new(context, options.times, generation()).map_err(MountError::Root)?;
    let device = mount_device(&at, &options.mounting())?;
    let started = match begin::begin(&device, !options.times.is_forever()) {
        Ok(abilities) => start(device, server, abilities, options).map_err(MountError::Thread),
        Err(_) => Err(MountError::Protocol),
    };
    match started {
        Ok(session) => Ok(Mounted { session, at }),
        Err(error) => {
            // Without a server it would answer `ENOTCONN`.
            let _ = device::detach(&at);
            Err(error)
        }
    }
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
    if !abilities.has_epochs() {
        server.limit_names(Duration::from_secs(1));
    }
    let stats = vfs.stats();
    let bound = options.pinned.unwrap_or(stats.dentries.capacity.min(stats.inodes.capacity) / 2);
    Session::start(device, server, Notifier::new(vfs.subscribe_nodes(options.events), abilities, bound))
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

impl Mounted {
    /// Returns the mount point, as an absolute path without links.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Returns what the kernel holds: nothing, once the mount has ended. The cost grows with the
    /// number of nodes.
    pub fn pinned(&self) -> Pinned {
        let Session { server, notifier, .. } = &*self.session;
        let (nodes, lookups) = server.nodes.counts();
        let (bound, asked_to_forget) = (notifier.bound(), notifier.asked());
        Pinned { nodes, lookups, open_files: server.files.count(), bound, asked_to_forget }
    }

    /// Returns whether the kernel can be asked to forget nodes: since Linux 6.18.
    pub fn can_forget(&self) -> bool {
        self.session.notifier.can_forget()
    }

    /// Returns the number of notices that the kernel was sent: what changed by others, and what to
    /// forget.
    pub fn notices(&self) -> u64 {
        self.session.notifier.sent()
    }

    /// Waits until it is unmounted, by [`unmount`](Self::unmount) in another thread or by
    /// `umount(8)`.
    pub fn wait(&self) {
        self.session.wait();
    }

    /// Waits as long at most, and returns whether it is unmounted: for a program that has something
    /// else to do now and then.
    pub fn wait_for(&self, most: Duration) -> bool {
        self.session.wait_for(most)
    }

    /// Unmounts, and waits until all requests were answered. While programs use the mount, it goes
    /// from its place at once, and stays with them until they have finished.
    ///
    /// The errors are those of `umount2(2)`. It is none if it was unmounted before.
    pub fn unmount(self) -> std::io::Result<()> {
        self.detach()?;
        self.wait();
        Ok(())
    }

    /// Unmounts as [`unmount`](Self::unmount) does, and does not wait.
    ///
    /// ```no_run
    /// # let context = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(pathwalk::Credentials::root());
    /// let mounted = pathwalk_fuse::mount(&context, "/mnt", &pathwalk_fuse::Options::default())?;
    /// mounted.detach()?;
    /// mounted.wait();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(&self) -> std::io::Result<()> {
        if self.session.has_ended() {
            return Ok(());
        }
        Ok(device::detach(&self.at)?)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What it fails with is told by `unmount`.
        let _ = self.detach();
    }
}
