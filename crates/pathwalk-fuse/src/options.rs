//! The options of a mount.

use std::path::PathBuf;
use std::time::Duration;

use rustix::mount::MountFlags;

use crate::device::Mounting;

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
/// | by others, and the file system reports it where it promises that: `Coherence::Watch` | [`NONE`](Self::NONE), with [`Reported::Forever`] |
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
    pub(crate) fn is_forever(&self) -> bool {
        self.entry == Duration::MAX && self.attributes == Duration::MAX
    }
}

/// How long the kernel keeps answers of which the file system promises to report each change
/// ([`Freshness::Stable`](pathwalk::Freshness::Stable)). Names, absences and attributes of each
/// node are asked for that promise, as they are answered.
///
/// ```
/// use pathwalk_fuse::{CacheTimes, Options, Reported};
/// let mut options = Options::default();
/// assert_eq!(options.reported, Reported::AsOthers);
/// // A host directory that is watched: what is not watched in it is asked for each time.
/// (options.times, options.reported) = (CacheTimes::NONE, Reported::Forever);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reported {
    /// As long as all others: by [`Options::times`].
    #[default]
    AsOthers,
    /// For good. A change is seen when the file system has reported it, and the kernel was told
    /// some microseconds later.
    Forever,
}

/// Whether the program is told of each open.
///
/// ```
/// use pathwalk_fuse::{CacheTimes, Opens, Options};
/// let mut options = Options::default();
/// assert_eq!(options.opens, Opens::Told);
/// (options.times, options.opens) = (CacheTimes::FOREVER, Opens::Untold); // a tree in memory
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Opens {
    /// It is: two requests for each file and each listing, one for its open and one for its close.
    #[default]
    Told,
    /// It is not: the kernel opens by what it has cached, and only data and listings that it has
    /// not cached are requested. Where the kernel cannot do this, it is as [`Told`](Self::Told).
    ///
    /// It is for trees with [`CacheTimes::FOREVER`] or [`Reported::Forever`], and for file systems
    /// that open what the kernel permits: `pathwalk-memfs`, `pathwalk-hostfs` in a process with
    /// `CAP_DAC_OVERRIDE`, and any for callers with the rights of this process. The
    /// kernel knows neither immutable files, nor append-only ones, nor parts of the tree that are
    /// read-only: an open for writing succeeds there, and the writes fail. Up to 256 files stay
    /// open for the next request, for some two seconds at most.
    Untold,
}

/// When data that a program writes to a file reaches the file system.
///
/// ```
/// use pathwalk_fuse::{CacheTimes, Options, Writes};
/// let mut options = Options::default();
/// assert_eq!(options.writes, Writes::Through);
/// (options.times, options.writes) = (CacheTimes::FOREVER, Writes::Back); // a tree in memory
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Writes {
    /// Before the write returns: a request for each.
    #[default]
    Through,
    /// Later: when a program calls `fsync(2)` or closes the file, when the data is some 30 seconds
    /// old (`vm.dirty_expire_centisecs`), when the kernel needs the memory, and when the mount
    /// ends. Many small writes are then one request of up to a MiB.
    ///
    /// It is for trees that are changed through this mount alone, with [`CacheTimes::FOREVER`].
    /// The kernel takes its own size, time of modification and time of change of a regular file for
    /// right, whatever the file system says. A late write leaves the time of modification, which
    /// the kernel tells by itself. Other contexts of the `Vfs` see data when it was written.
    ///
    /// An error of a late write (`ENOSPC`) is that of `fsync(2)` or `close(2)`. What was not
    /// written when the program is killed is lost, as in a loss of power. `SEEK_DATA` and
    /// `SEEK_HOLE` find no holes. The time of change may move on by some seconds once the kernel
    /// has forgotten the file.
    Back,
}

/// Whether nodes have extended attributes and access control lists.
///
/// ```
/// use pathwalk_fuse::{ExtendedAttributes, Options};
/// assert_eq!(Options::default().extended_attributes, ExtendedAttributes::Present);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ExtendedAttributes {
    /// They have those of their file systems.
    #[default]
    Present,
    /// They have none (`EOPNOTSUPP`), and the kernel does not ask. It otherwise asks for the
    /// capabilities of a file before the first write to it and before each change of its owner.
    Absent,
}

/// The users and groups that the user namespace of a mount has.
///
/// ```
/// use pathwalk_fuse::{Ids, Options};
/// let mut options = Options::default();
/// assert_eq!(options.ids, Ids::All);
/// options.ids = Ids::Only { user: 1000, group: 1000 }; // as unshare(1) maps them with --map-user
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ids {
    /// All, with their own numbers.
    #[default]
    All,
    /// These, with their own numbers. The mount shows no entry of an access control list that names
    /// another one, and does not replace such a list (`EINVAL`).
    Only {
        /// The user.
        user: u32,
        /// The group.
        group: u32,
    },
}

/// The options of a mount.
///
/// [`mount`](crate::mount) has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The name that `mount(8)` and `/proc/self/mounts` show as the source: `pathwalk`.
    pub source: String,
    /// How long the kernel keeps what it was told: [`CacheTimes::NONE`].
    pub times: CacheTimes,
    /// How long it keeps that of which changes are reported: [`Reported::AsOthers`].
    pub reported: Reported,
    /// Whether the program is told of each open: [`Opens::Told`].
    pub opens: Opens,
    /// When data is written: [`Writes::Through`].
    pub writes: Writes,
    /// Whether nodes have extended attributes: [`ExtendedAttributes::Present`].
    pub extended_attributes: ExtendedAttributes,
    /// The users and groups that the mount's user namespace has: [`Ids::All`].
    pub ids: Ids,
    /// Paths from the root on which something else will be mounted. It stays there whatever others
    /// put in the place of a name on the way: the kernel is told of none of these names twice, and
    /// keeps no other name for more than a second.
    pub covered: Vec<PathBuf>,
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
    /// what is open or in use, and directories with names in its cache: see [`Pinned`](crate::Pinned). Before
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
            reported: Reported::AsOthers,
            opens: Opens::Told,
            writes: Writes::Through,
            extended_attributes: ExtendedAttributes::Present,
            ids: Ids::All,
            covered: Vec::new(),
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
    pub(crate) fn mounting(&self) -> Mounting<'_> {
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
