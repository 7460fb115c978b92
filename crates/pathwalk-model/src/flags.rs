//! The flags of the calls, with the kernel's bits, so that they can be passed to a system call
//! unchanged.
//!
//! Unknown bits are kept (`from_bits_retain`), because the way they are refused is part of the
//! model.

use bitflags::bitflags;

bitflags! {
    /// The flags of `open` and `openat2`. Reading alone has no flag: see [`OpenFlags::access`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct OpenFlags: u64 {
        /// The access mode for writing only.
        const WRONLY = libc::O_WRONLY as u64;
        /// The access mode for reading and writing. Together with `WRONLY`: both rights are
        /// checked, and neither is granted.
        const RDWR = libc::O_RDWR as u64;
        /// The creation of a file that does not exist.
        const CREAT = libc::O_CREAT as u64;
        /// The condition that the file must not exist; with `TMPFILE`: it cannot get a name later.
        const EXCL = libc::O_EXCL as u64;
        /// The truncation of a regular file to nothing.
        const TRUNC = libc::O_TRUNC as u64;
        /// The mode in which every write goes to the end.
        const APPEND = libc::O_APPEND as u64;
        /// No effect here: nothing waits.
        const NONBLOCK = libc::O_NONBLOCK as u64;
        /// The condition that the file is a directory.
        const DIRECTORY = libc::O_DIRECTORY as u64;
        /// Access that bypasses caches: only regular files allow it.
        const DIRECT = libc::O_DIRECT as u64;
        /// The rule that a link at the end is not followed.
        const NOFOLLOW = libc::O_NOFOLLOW as u64;
        /// The flag `O_NOATIME`: accesses are not stored; only the owner may set it.
        const NOATIME = libc::O_NOATIME as u64;
        /// No effect here.
        const CLOEXEC = libc::O_CLOEXEC as u64;
        /// A place in the tree, not an open file.
        const PATH = libc::O_PATH as u64;
        /// A file without a name. The kernel requires `DIRECTORY` with it: use
        /// [`OpenFlags::TMPFILE`], which is both.
        const TMPFILE_BIT = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;
    }
}

impl OpenFlags {
    /// `O_TMPFILE`: the bit and `DIRECTORY`.
    pub const TMPFILE: OpenFlags = OpenFlags::TMPFILE_BIT.union(OpenFlags::DIRECTORY);
    /// The bits that are allowed beside `PATH`.
    pub(crate) const BESIDE_PATH: OpenFlags =
        OpenFlags::PATH.union(OpenFlags::DIRECTORY).union(OpenFlags::NOFOLLOW).union(OpenFlags::CLOEXEC);
    /// The bits that the kernel has and this crate gives no name: `O_NOCTTY`, `O_SYNC`, `O_DSYNC`,
    /// `FASYNC`, `O_LARGEFILE`.
    const NAMELESS: u64 = (libc::O_NOCTTY | libc::O_SYNC | libc::O_DSYNC | libc::O_ASYNC) as u64 | 0o100_000;

    /// Returns whether `openat2` accepts all bits.
    pub(crate) fn known(self) -> bool {
        self.bits() & !(OpenFlags::all().bits() | OpenFlags::NAMELESS) == 0
    }

    /// Returns the flags without the bits that `open(2)`, unlike `openat2(2)`, ignores.
    pub(crate) fn without_unknown(self) -> OpenFlags {
        OpenFlags::from_bits_retain(self.bits() & (OpenFlags::all().bits() | OpenFlags::NAMELESS))
    }

    /// Returns the rights to the file that the access mode alone requires.
    pub fn access(self) -> Access {
        match self & (OpenFlags::WRONLY | OpenFlags::RDWR) {
            mode if mode.is_empty() => Access::READ,
            OpenFlags::WRONLY => Access::WRITE,
            _ => Access::READ | Access::WRITE,
        }
    }

    /// Returns whether data can be read through such a descriptor.
    pub fn readable(self) -> bool {
        !self.intersects(OpenFlags::PATH | OpenFlags::WRONLY)
    }

    /// Returns whether data can be written through such a descriptor.
    pub fn writable(self) -> bool {
        !self.contains(OpenFlags::PATH) && self.contains(OpenFlags::WRONLY) != self.contains(OpenFlags::RDWR)
    }
}

bitflags! {
    /// The `RESOLVE_*` flags of `openat2`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Resolve: u64 {
        /// The rule that only the cache may answer. Everything is cached here, so this only refuses
        /// flags that change something.
        const CACHED = libc::RESOLVE_CACHED;
    }

    /// The `AT_*` flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct AtFlags: i32 {
        /// The rule that a link at the end is not followed.
        const SYMLINK_NOFOLLOW = libc::AT_SYMLINK_NOFOLLOW;
        /// The rule that a link at the end is followed (`link`).
        const SYMLINK_FOLLOW = libc::AT_SYMLINK_FOLLOW;
        /// The permission of an empty path, which means the file of the descriptor.
        const EMPTY_PATH = libc::AT_EMPTY_PATH;
        /// The rule that nothing is mounted because of the call (`stat`).
        const NO_AUTOMOUNT = libc::AT_NO_AUTOMOUNT;
        /// The request for attributes that are up to date, which all are here (`stat`).
        const FORCE_SYNC = libc::AT_STATX_FORCE_SYNC;
        /// The request for attributes of any age (`stat`).
        const DONT_SYNC = libc::AT_STATX_DONT_SYNC;
        /// The check of the effective identity instead of the real one (`access`).
        const EACCESS = libc::AT_EACCESS;
    }

    /// The flags of `name_to_handle_at`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct HandleFlags: u32 {
        /// The rule that a link at the end is followed.
        const SYMLINK_FOLLOW = libc::AT_SYMLINK_FOLLOW as u32;
        /// The permission of an empty path, which means the file of the descriptor.
        const EMPTY_PATH = libc::AT_EMPTY_PATH as u32;
        /// A handle with the directory of the node in it: `AT_HANDLE_CONNECTABLE`.
        const CONNECTABLE = 0x2;
        /// A handle that identifies the node alone: `AT_HANDLE_FID`.
        const FID = 0x200;
    }

    /// The `RENAME_*` flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct RenameFlags: u32 {
        /// The condition that the new name does not exist.
        const NOREPLACE = libc::RENAME_NOREPLACE;
        /// The exchange of the nodes of both names.
        const EXCHANGE = libc::RENAME_EXCHANGE;
    }

    /// The `XATTR_*` flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct XattrFlags: i32 {
        /// The condition that the attribute does not exist.
        const CREATE = libc::XATTR_CREATE;
        /// The condition that the attribute exists.
        const REPLACE = libc::XATTR_REPLACE;
    }

    /// The modes of `fallocate`. Empty: allocation.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct FallocateFlags: u32 {
        /// The rule that the size stays.
        const KEEP_SIZE = 0x01;
        /// The range becomes a hole.
        const PUNCH_HOLE = 0x02;
        /// The range is taken out.
        const COLLAPSE_RANGE = 0x08;
        /// The range is zeroed.
        const ZERO_RANGE = 0x10;
        /// A hole is put in.
        const INSERT_RANGE = 0x20;
        /// The range is shared with no other file.
        const UNSHARE_RANGE = 0x40;
        /// Zeroes are written.
        const WRITE_ZEROES = 0x80;
    }

    /// The `RWF_*` flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct RwFlags: u32 {
        /// No effect here.
        const HIPRI = 0x01;
        /// No effect here.
        const DSYNC = 0x02;
        /// No effect here.
        const SYNC = 0x04;
        /// The refusal to wait, which a tmpfs does not support.
        const NOWAIT = 0x08;
        /// The write goes to the end.
        const APPEND = 0x10;
        /// The write does not go to the end.
        const NOAPPEND = 0x20;
        /// A write as a whole, which a tmpfs does not support.
        const ATOMIC = 0x40;
        /// Data that is not kept in caches, which a tmpfs does not support.
        const DONTCACHE = 0x80;
        /// No effect here.
        const NOSIGNAL = 0x100;
    }

    /// The wanted access to a node. Empty: existence only (`F_OK`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Access: u32 {
        /// The right to run a file or search a directory.
        const EXECUTE = 1;
        /// The right to write.
        const WRITE = 2;
        /// The right to read.
        const READ = 4;
    }

    /// The attribute bits of a node, with the values of `FS_IOC_SETFLAGS`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct NodeFlags: u32 {
        /// The node cannot be changed.
        const IMMUTABLE = 0x10;
        /// The node can only grow.
        const APPEND = 0x20;
        /// No effect here, except that nodes made in such a directory inherit it.
        const NODUMP = 0x40;
        /// No effect here, except that nodes made in such a directory inherit it.
        const NOATIME = 0x80;
    }

    /// The capabilities, each at the bit of its kernel number.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Capabilities: u64 {
        /// The right to change owner and group at will.
        const CHOWN = 1 << 0;
        /// The right to bypass mode bits.
        const DAC_OVERRIDE = 1 << 1;
        /// The right to bypass mode bits for reading and searching.
        const DAC_READ_SEARCH = 1 << 2;
        /// The rights that are otherwise reserved to owners.
        const FOWNER = 1 << 3;
        /// The right to keep suid and sgid bits.
        const FSETID = 1 << 4;
        /// The right to change the flags that protect a node.
        const LINUX_IMMUTABLE = 1 << 9;
        /// The right to change the root.
        const SYS_CHROOT = 1 << 18;
        /// The right to attributes named `trusted.` and `security.`.
        const SYS_ADMIN = 1 << 21;
        /// The right to make device nodes.
        const MKNOD = 1 << 27;
        /// The right to lease files of other owners.
        const LEASE = 1 << 28;
        /// The right to set file capabilities.
        const SETFCAP = 1 << 31;
    }
}
