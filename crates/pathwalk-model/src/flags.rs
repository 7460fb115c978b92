//! Flags of the calls, with the kernel's bits: what is given here can be given to a system call unchanged.
//!
//! Unknown bits are kept (`from_bits_retain`), because how they are refused is part of what is modelled.

use bitflags::bitflags;

bitflags! {
    /// Of `open` and `openat2`. Reading alone is no flag: see [`OpenFlags::access`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct OpenFlags: u64 {
        /// Write only.
        const WRONLY = libc::O_WRONLY as u64;
        /// Read and write. Together with `WRONLY`: the right to both is asked for, neither is given.
        const RDWR = libc::O_RDWR as u64;
        /// Make the file if there is none.
        const CREAT = libc::O_CREAT as u64;
        /// The file must not exist; with `TMPFILE`: it can't get a name later.
        const EXCL = libc::O_EXCL as u64;
        /// Cut a regular file to nothing.
        const TRUNC = libc::O_TRUNC as u64;
        /// Every write goes to the end.
        const APPEND = libc::O_APPEND as u64;
        /// No effect here.
        const NONBLOCK = libc::O_NONBLOCK as u64;
        /// Only a directory will do.
        const DIRECTORY = libc::O_DIRECTORY as u64;
        /// Don't follow a link at the end.
        const NOFOLLOW = libc::O_NOFOLLOW as u64;
        /// Only the owner may ask for it; no other effect here.
        const NOATIME = libc::O_NOATIME as u64;
        /// No effect here.
        const CLOEXEC = libc::O_CLOEXEC as u64;
        /// A place in the tree, not an open file.
        const PATH = libc::O_PATH as u64;
        /// A file without a name. The kernel wants `DIRECTORY` with it: use [`OpenFlags::TMPFILE`], which is both.
        const TMPFILE_BIT = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;
    }
}

impl OpenFlags {
    /// `O_TMPFILE`: the bit and `DIRECTORY`.
    pub const TMPFILE: OpenFlags = OpenFlags::TMPFILE_BIT.union(OpenFlags::DIRECTORY);
    /// The bits that may stand beside `PATH`.
    pub(crate) const BESIDE_PATH: OpenFlags =
        OpenFlags::PATH.union(OpenFlags::DIRECTORY).union(OpenFlags::NOFOLLOW).union(OpenFlags::CLOEXEC);
    /// What the kernel knows and this crate gives no name: `O_NOCTTY`, `O_SYNC`, `O_DSYNC`, `FASYNC`, `O_DIRECT`, `O_LARGEFILE`.
    const NAMELESS: u64 = (libc::O_NOCTTY | libc::O_SYNC | libc::O_DSYNC | libc::O_ASYNC | libc::O_DIRECT) as u64 | 0o100_000;

    /// Whether all bits are known to `openat2`.
    pub(crate) fn known(self) -> bool {
        self.bits() & !(OpenFlags::all().bits() | OpenFlags::NAMELESS) == 0
    }

    /// Without the bits that `open(2)`, unlike `openat2(2)`, passes over in silence.
    pub(crate) fn without_unknown(self) -> OpenFlags {
        OpenFlags::from_bits_retain(self.bits() & (OpenFlags::all().bits() | OpenFlags::NAMELESS))
    }

    /// What the access mode alone asks of the file.
    pub fn access(self) -> Access {
        match self & (OpenFlags::WRONLY | OpenFlags::RDWR) {
            mode if mode.is_empty() => Access::READ,
            OpenFlags::WRONLY => Access::WRITE,
            _ => Access::READ | Access::WRITE,
        }
    }

    /// Whether data can be read through such a descriptor.
    pub fn readable(self) -> bool {
        !self.intersects(OpenFlags::PATH | OpenFlags::WRONLY)
    }

    /// Whether data can be written through such a descriptor.
    pub fn writable(self) -> bool {
        !self.contains(OpenFlags::PATH) && self.contains(OpenFlags::WRONLY) != self.contains(OpenFlags::RDWR)
    }
}

bitflags! {
    /// `RESOLVE_*` of `openat2`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Resolve: u64 {
        /// Only from the cache. Everything is cached here, so it only refuses what changes something.
        const CACHED = libc::RESOLVE_CACHED;
    }

    /// `AT_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct AtFlags: i32 {
        /// Don't follow a link at the end.
        const SYMLINK_NOFOLLOW = libc::AT_SYMLINK_NOFOLLOW;
        /// Follow a link at the end (`link`).
        const SYMLINK_FOLLOW = libc::AT_SYMLINK_FOLLOW;
        /// An empty path means what the descriptor stands for.
        const EMPTY_PATH = libc::AT_EMPTY_PATH;
        /// With the effective identity, not the real one (`access`).
        const EACCESS = libc::AT_EACCESS;
    }

    /// `RENAME_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct RenameFlags: u32 {
        /// The new name must be free.
        const NOREPLACE = libc::RENAME_NOREPLACE;
        /// Both names stay; what they name changes places.
        const EXCHANGE = libc::RENAME_EXCHANGE;
    }

    /// What is to be done with a node. Empty: only whether it is there (`F_OK`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Access: u32 {
        /// Run a file, search a directory.
        const EXECUTE = 1;
        /// Write.
        const WRITE = 2;
        /// Read.
        const READ = 4;
    }

    /// What keeps a node from being changed, at the bits of `FS_IOC_SETFLAGS`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct NodeFlags: u32 {
        /// Nothing of it changes.
        const IMMUTABLE = 0x10;
        /// It only grows.
        const APPEND = 0x20;
        /// No effect here.
        const NODUMP = 0x40;
    }

    /// Capabilities, each at the bit of its kernel number.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Capabilities: u64 {
        /// Change owner and group at will.
        const CHOWN = 1 << 0;
        /// Pass over mode bits.
        const DAC_OVERRIDE = 1 << 1;
        /// Pass over mode bits for reading and searching.
        const DAC_READ_SEARCH = 1 << 2;
        /// What else only owners may.
        const FOWNER = 1 << 3;
        /// Keep suid and sgid bits.
        const FSETID = 1 << 4;
        /// Change the root.
        const SYS_CHROOT = 1 << 18;
        /// Make device nodes.
        const MKNOD = 1 << 27;
    }
}
