//! The flags of operations, each set a type of its own.

mod access;
mod data;
mod handles;
mod mounts;
mod xattr;

use bitflags::bitflags;

use crate::attr::{Octal, Timestamp};

pub(crate) use access::{AccessRule, is_out_of_date};
pub use data::{FallocateFlags, RwFlags, SyncFileRange};
pub use handles::HandleFlags;
pub use mounts::{MountAttributes, MountFlags, MoveFlags, Propagation, Recursion, SuperblockFlags, UmountFlags};
pub use xattr::XattrFlags;

bitflags! {
    /// The treatment of an operation's path. Source: the `AT_*` flags of `fstatat(2)`,
    /// `faccessat(2)`.
    ///
    /// ```
    /// use pathwalk::{At, AtFlags, Credentials, Errno, FileType, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.symlink("/nowhere", "/link")?;
    /// assert_eq!(context.fstatat(At::Cwd, "/link", AtFlags::SYMLINK_NOFOLLOW)?.kind, FileType::Symlink);
    /// assert_eq!(context.fstatat(At::Cwd, "/link", AtFlags::empty()), Err(Errno::ENOENT));
    /// let link = context.lookup_at(At::Cwd, "/link", AtFlags::SYMLINK_NOFOLLOW)?;
    /// assert_eq!(context.fstatat(&link, "", AtFlags::EMPTY_PATH)?.kind, FileType::Symlink);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct AtFlags: u32 {
        /// `AT_SYMLINK_NOFOLLOW`: do not follow a link in the last component (unless a slash trails
        /// it).
        const SYMLINK_NOFOLLOW = 0x100;
        /// `AT_EACCESS`: check by effective instead of real ids (`faccessat` only).
        const EACCESS = 0x200;
        /// `AT_NO_AUTOMOUNT`: nothing is mounted at the last component because of the call, which
        /// the engine never does (`stat` and `statx` only).
        const NO_AUTOMOUNT = 0x800;
        /// `AT_EMPTY_PATH`: an empty path means the starting point itself.
        const EMPTY_PATH = 0x1000;
        /// `AT_STATX_FORCE_SYNC`: the file system is asked for the attributes, whatever the caches
        /// have (`stat` and `statx` only).
        const FORCE_SYNC = 0x2000;
        /// `AT_STATX_DONT_SYNC`: the attributes are those that the caches have, also if they are
        /// out of date; the mask of the result names those that are not. `EINVAL` with
        /// `FORCE_SYNC`; a `stat` with both forces (`stat` and `statx` only).
        const DONT_SYNC = 0x4000;
    }
}

impl AtFlags {
    /// The flags that tell which link and which starting point is meant.
    pub(crate) const OF_PATH: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::EMPTY_PATH);

    /// `AT_STATX_SYNC_TYPE`
    pub(crate) const SYNC_TYPE: AtFlags = AtFlags::FORCE_SYNC.union(AtFlags::DONT_SYNC);

    /// The flags of `fstatat(2)` and `statx(2)`.
    pub(crate) const OF_STAT: AtFlags = AtFlags::OF_PATH.union(AtFlags::NO_AUTOMOUNT).union(AtFlags::SYNC_TYPE);

    /// The flags of `faccessat2(2)`.
    pub(crate) const OF_ACCESS: AtFlags = AtFlags::OF_PATH.union(AtFlags::EACCESS);
}

bitflags! {
    /// The treatment of the source path of [`Context::linkat`](crate::Context::linkat). Source:
    /// `linkat(2)`.
    ///
    /// ```
    /// use pathwalk::{At, Credentials, FileType, LinkFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/file", "")?;
    /// context.symlink("/file", "/link")?;
    /// context.linkat(At::Cwd, "/link", At::Cwd, "/same-link", LinkFlags::empty())?;
    /// context.linkat(At::Cwd, "/link", At::Cwd, "/same-file", LinkFlags::SYMLINK_FOLLOW)?;
    /// assert_eq!(context.lstat("/same-link")?.kind, FileType::Symlink);
    /// assert_eq!(context.lstat("/same-file")?.kind, FileType::Regular);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct LinkFlags: u32 {
        /// `AT_SYMLINK_FOLLOW`: a link in the last component is followed; else the link itself gets
        /// a name.
        const SYMLINK_FOLLOW = 0x400;
        /// `AT_EMPTY_PATH`: an empty path means the starting point itself. Every path that starts
        /// at a handle then requires `CAP_DAC_READ_SEARCH`, else it is `ENOENT`. (Linux also allows
        /// it to the opener of the descriptor.)
        const EMPTY_PATH = 0x1000;
    }
}

bitflags! {
    /// The kind of removal by [`Context::unlinkat`](crate::Context::unlinkat). Source:
    /// `unlinkat(2)`.
    ///
    /// ```
    /// use pathwalk::{At, Credentials, Errno, UnlinkFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.mkdir("/old", 0o755)?;
    /// assert_eq!(context.unlinkat(At::Cwd, "/old", UnlinkFlags::empty()), Err(Errno::EISDIR));
    /// context.unlinkat(At::Cwd, "/old", UnlinkFlags::REMOVEDIR)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct UnlinkFlags: u32 {
        /// `AT_REMOVEDIR`: removes an empty directory, and nothing else.
        const REMOVEDIR = 0x200;
    }
}

bitflags! {
    /// The purposes and options of an open. Source: `open(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let new = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    /// context.open("/lock", new)?;
    /// assert_eq!(context.open("/lock", new).unwrap_err(), Errno::EEXIST);
    /// assert_eq!(context.open("/lock", OpenFlags::READ | OpenFlags::DIRECTORY).unwrap_err(), Errno::ENOTDIR);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct OpenFlags: u32 {
        /// An open for reading. One of `READ`, `WRITE` and `PATH` is required.
        const READ = 1;
        /// An open for writing.
        const WRITE = 2;
        /// `O_CREAT`: make a regular file if the name does not exist.
        const CREATE = 4;
        /// `O_EXCL`: with `CREATE`, the name must not exist, not even as a link. With `TMPFILE`,
        /// the file never gets a name.
        const EXCLUSIVE = 8;
        /// `O_TRUNC`: a regular file loses its contents. Requires the right to write.
        const TRUNCATE = 16;
        /// `O_APPEND`: every write goes to the end.
        const APPEND = 32;
        /// `O_DIRECTORY`: a node that is no directory is `ENOTDIR`.
        const DIRECTORY = 64;
        /// `O_NOFOLLOW`: a link in the last component is `ELOOP`. With `PATH`, the link itself is
        /// opened.
        const NOFOLLOW = 128;
        /// `O_PATH`: a place only. Requires no right to the node, and gives none. Only with
        /// `DIRECTORY` and `NOFOLLOW`.
        const PATH = 256;
        /// `O_TMPFILE`: the path is a directory, in whose file system a file without a name is
        /// made. Only with `WRITE`.
        const TMPFILE = 512;
        /// `O_DIRECT`: data is to bypass caches. `EINVAL` if the file system does not open the node
        /// in this way ([`OpenFile::allows_direct`](crate::OpenFile::allows_direct)); the engine
        /// requires no alignment of its own.
        const DIRECT = 1024;
        /// `O_NONBLOCK`: the open of a named pipe, its reads and its writes do not wait. A reader
        /// needs no writer; a writer without a reader is `ENXIO`; a read without data and a write
        /// without room are `EAGAIN`. Nothing else changes, but what a
        /// [`Driver`](crate::Driver) makes of it.
        const NONBLOCK = 2048;
        /// `O_NOATIME`: reads and listings do not change the time of the last access. `EPERM`
        /// unless the caller owns the node, or has `CAP_FOWNER`.
        const NOATIME = 4096;
    }
}

impl OpenFlags {
    /// The flags that may make a file.
    pub(crate) const MAKE: OpenFlags = OpenFlags::CREATE.union(OpenFlags::TMPFILE);
}

bitflags! {
    /// The rules for the resolution of paths. For one open, [`OpenHow::resolve`]; for every
    /// operation of a context, [`Context::with_resolve`](crate::Context::with_resolve). Source:
    /// `openat2(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Resolve: u32 {
        /// `RESOLVE_CACHED`: `EAGAIN` for everything that the lock-free walk cannot finish alone;
        /// for files that the file system cannot open without blocking; and for `CREATE`,
        /// `TRUNCATE` and `TMPFILE`. The same as [`Context::cached`](crate::Context::cached).
        ///
        /// Any other errno is definite: the same operation without `CACHED` returns it too. Linux
        /// returns `EAGAIN` in most cases that it refuses (`EACCES` and `ENOTDIR` on the way,
        /// `EXDEV` at a `..` or a mount, `ENOENT` for some file systems), because it leaves its
        /// lock-free walk to refuse them. Here such a refusal comes at once, if the caches have it.
        /// Conversely, an absolute link with `NO_XDEV` is `EAGAIN` here and has a definite result
        /// on Linux. A caller that repeats the operation without `CACHED` after an `EAGAIN` gets
        /// the same result from both.
        const CACHED = 0x20;
        /// `RESOLVE_NO_XDEV`: `EXDEV` for a path that leads to another mount.
        const NO_XDEV = 0x01;
        /// `RESOLVE_NO_MAGICLINKS`: `ELOOP` for links that lead elsewhere than to their body. No
        /// file system here has such links.
        const NO_MAGICLINKS = 0x02;
        /// `RESOLVE_NO_SYMLINKS`: `ELOOP` for every link on the way, and for one at the end, unless
        /// that is not followed.
        const NO_SYMLINKS = 0x04;
        /// `RESOLVE_BENEATH`: `EXDEV` for a path that leads out of the directory where it starts:
        /// by an absolute path or link, or by `..` there. `EAGAIN` where a directory was moved
        /// meanwhile, so that `..` led out: try again.
        const BENEATH = 0x08;
        /// `RESOLVE_IN_ROOT`: the directory where the path starts is its root: absolute paths and
        /// links begin there, and `..` stays there. `EAGAIN` and `EXDEV` as with `BENEATH`.
        const IN_ROOT = 0x10;
    }
}

impl Resolve {
    /// The rules that keep a path below a directory.
    pub(crate) const SCOPED: Resolve = Resolve::BENEATH.union(Resolve::IN_ROOT);

    /// Returns whether the rules are consistent: all are known, and at most one of them sets the
    /// directory to stay below.
    pub(crate) fn is_valid(self) -> bool {
        Resolve::all().contains(self) && !self.contains(Resolve::SCOPED)
    }
}

/// The parameters of an open. Source: `struct open_how` in `openat2(2)`.
///
/// ```
/// use pathwalk::{Credentials, Errno, OpenFlags, OpenHow, Resolve, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let flags = OpenFlags::WRITE | OpenFlags::CREATE;
/// context.open("/private", OpenHow { flags, mode: 0o600, resolve: Resolve::NO_SYMLINKS })?;
/// assert_eq!(context.stat("/private")?.mode, 0o600);
///
/// // Flags alone suffice: a file that is made gets `NEW_FILE`, less the umask.
/// assert_eq!(OpenHow::from(flags).mode, OpenHow::NEW_FILE);
/// context.open("/public", flags)?;
/// assert_eq!(context.stat("/public")?.mode, 0o644);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenHow {
    /// The purposes and options.
    pub flags: OpenFlags,
    /// Permission bits of a file that is made, before the umask: 0..=0o7777; 0 if none may be made.
    pub mode: u16,
    /// The rules for the path.
    pub resolve: Resolve,
}

impl std::fmt::Debug for OpenHow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OpenHow { flags, mode, resolve } = self;
        f.debug_struct("OpenHow").field("flags", flags).field("mode", &Octal(*mode)).field("resolve", resolve).finish()
    }
}

impl OpenHow {
    /// The permission bits of a new file where none are given, before the umask: 0666, as in
    /// `std::fs` and `fopen(3)`.
    pub const NEW_FILE: u16 = 0o666;
}

impl From<OpenFlags> for OpenHow {
    /// Returns these flags, with mode [`NEW_FILE`](OpenHow::NEW_FILE) if they make a file.
    fn from(flags: OpenFlags) -> OpenHow {
        let mode = if flags.intersects(OpenFlags::MAKE) { OpenHow::NEW_FILE } else { 0 };
        OpenHow { flags, mode, resolve: Resolve::empty() }
    }
}

impl From<&OpenHow> for OpenHow {
    fn from(how: &OpenHow) -> OpenHow {
        *how
    }
}

/// The change of one of a node's times. Source: `utimensat(2)`.
///
/// ```
/// use pathwalk::{Credentials, SetTime, Timestamp, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "")?;
/// let then = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
/// context.utimes("/file", SetTime::Keep, SetTime::To(then))?;
/// assert_eq!(context.stat("/file")?.mtime, then);
/// context.utimes("/file", SetTime::Keep, SetTime::Now)?;
/// assert!(context.stat("/file")?.mtime > then);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetTime {
    /// `UTIME_NOW`: a change to the current time. If both times become that, the right to write
    /// suffices.
    Now,
    /// `UTIME_OMIT`: no change.
    Keep,
    /// A change to this time.
    To(Timestamp),
}

impl SetTime {
    pub(crate) fn resolve(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            SetTime::Now => Some(now),
            SetTime::Keep => None,
            SetTime::To(time) => Some(time.kept()),
        }
    }
}
