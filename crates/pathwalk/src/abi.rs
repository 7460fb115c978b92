//! Flags of operations, each set a type of its own.

mod mounts;

use bitflags::bitflags;

use crate::attr::Timestamp;

pub use mounts::{MountAttributes, MountFlags, MoveFlags, Propagation, Recursion, SuperblockFlags, UmountFlags};

bitflags! {
    /// How the path of an operation is taken. Source: the `AT_*` flags of `fstatat(2)`, `faccessat(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct AtFlags: u32 {
        /// `AT_SYMLINK_NOFOLLOW`: do not follow a link in the last component (unless a slash trails it).
        const SYMLINK_NOFOLLOW = 0x100;
        /// `AT_EACCESS`: check by effective instead of real ids (`faccessat` only).
        const EACCESS = 0x200;
        /// `AT_EMPTY_PATH`: an empty path means the starting point itself.
        const EMPTY_PATH = 0x1000;
    }
}

bitflags! {
    /// How [`Context::link`](crate::Context::link) takes what is linked. Source: `linkat(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct LinkFlags: u32 {
        /// `AT_SYMLINK_FOLLOW`: a link in the last component is followed; else it is itself linked.
        const SYMLINK_FOLLOW = 0x400;
        /// `AT_EMPTY_PATH`: an empty path means the starting point itself. Whatever starts at a handle then takes
        /// `CAP_DAC_READ_SEARCH`, else it is `ENOENT`. (Linux also lets those do it who opened the descriptor.)
        const EMPTY_PATH = 0x1000;
    }
}

bitflags! {
    /// What a file is opened for, and how. Source: `open(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct OpenFlags: u32 {
        /// To be read. One of `READ`, `WRITE` and `PATH` has to be there.
        const READ = 1;
        /// To be written.
        const WRITE = 2;
        /// `O_CREAT`: made as a regular file if the name is not there.
        const CREATE = 4;
        /// `O_EXCL`: with `CREATE`, the name must not be there, not even as a link. With `TMPFILE`: it shall never get a name.
        const EXCLUSIVE = 8;
        /// `O_TRUNC`: a regular file loses its contents; takes the right to write.
        const TRUNCATE = 16;
        /// `O_APPEND`: every write goes to the end.
        const APPEND = 32;
        /// `O_DIRECTORY`: anything but a directory is `ENOTDIR`.
        const DIRECTORY = 64;
        /// `O_NOFOLLOW`: a link in the last component is `ELOOP`, or with `PATH` is itself opened.
        const NOFOLLOW = 128;
        /// `O_PATH`: a place only: takes no right to the node, and gives none. Only with `DIRECTORY` and `NOFOLLOW`.
        const PATH = 256;
        /// `O_TMPFILE`: the path is a directory, in whose file system a file without a name is made. Only with `WRITE`.
        const TMPFILE = 512;
    }
}

bitflags! {
    /// How paths are resolved. For one open, [`OpenHow::resolve`]; for every operation of a context,
    /// [`Context::with_resolve`](crate::Context::with_resolve). Source: `openat2(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Resolve: u32 {
        /// `RESOLVE_CACHED`: `EAGAIN` for everything that the lock-free walk cannot finish alone; for what the file system cannot open without
        /// blocking; and for `CREATE`, `TRUNCATE` and `TMPFILE`. As [`Context::cached`](crate::Context::cached).
        ///
        /// Any other errno is the answer: the same question without `CACHED` has it too. Linux says
        /// `EAGAIN` to most questions that it refuses (`EACCES` and `ENOTDIR` on the way, `EXDEV`
        /// at a `..` or a mount, `ENOENT` for some file systems), since it leaves its lock-free
        /// walk to refuse them; here such a refusal comes at once, if the caches know it. The other
        /// way round, an absolute link by `NO_XDEV` is `EAGAIN` here and has an answer on Linux. A
        /// caller that asks again without `CACHED` where it is told `EAGAIN` gets the same from
        /// both.
        const CACHED = 0x20;
        /// `RESOLVE_NO_XDEV`: `EXDEV` for what leads to another mount.
        const NO_XDEV = 0x01;
        /// `RESOLVE_NO_MAGICLINKS`: `ELOOP` for links that lead elsewhere than their body says. No file system here has such links.
        const NO_MAGICLINKS = 0x02;
        /// `RESOLVE_NO_SYMLINKS`: `ELOOP` for every link on the way; and at the end, unless that is not followed.
        const NO_SYMLINKS = 0x04;
        /// `RESOLVE_BENEATH`: `EXDEV` for what leads out of the directory where the path starts: an absolute path or link, or `..` there.
        /// `EAGAIN` where a directory was moved meanwhile, so that `..` led out: try again.
        const BENEATH = 0x08;
        /// `RESOLVE_IN_ROOT`: the directory where the path starts is its root: absolute paths and links begin there, and `..`
        /// stays there. `EAGAIN` and `EXDEV` as with `BENEATH`.
        const IN_ROOT = 0x10;
    }
}

impl Resolve {
    /// Those that keep a path below a directory.
    pub(crate) const SCOPED: Resolve = Resolve::BENEATH.union(Resolve::IN_ROOT);

    /// Returns whether they make sense: all are known, and there is one directory to stay below.
    pub(crate) fn is_valid(self) -> bool {
        Resolve::all().contains(self) && !self.contains(Resolve::SCOPED)
    }
}

/// How a file is to be opened. Source: `struct open_how` in `openat2(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenHow {
    /// What for, and how.
    pub flags: OpenFlags,
    /// Permission bits of a file that is made, before the umask: 0..=0o7777; 0 if none may be made.
    pub mode: u16,
    /// How the path is resolved.
    pub resolve: Resolve,
}

impl From<OpenFlags> for OpenHow {
    /// With mode 0: for what makes nothing.
    fn from(flags: OpenFlags) -> OpenHow {
        OpenHow { flags, ..OpenHow::default() }
    }
}

/// What becomes of one of a node's times. Source: `utimensat(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetTime {
    /// `UTIME_NOW`: it becomes now. If both do, the right to write suffices.
    Now,
    /// `UTIME_OMIT`: it stays.
    Keep,
    /// It becomes this.
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
