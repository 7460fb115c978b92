//! The messages of `/dev/fuse`: their numbers, flags and structures.
//!
//! Each structure has the layout of its namesake in Linux's `include/uapi/linux/fuse.h`, whose
//! comment has the history of the protocol. All numbers are in the machine's byte order.
//!
//! What it does not do: structures of operations that are not served (`poll`, locks, DAX, `bmap`).

use bitflags::bitflags;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The version of the protocol: `FUSE_KERNEL_VERSION`.
pub(crate) const MAJOR: u32 = 7;

/// The minor version that this crate knows: that of Linux 6.18.
pub(crate) const MINOR: u32 = 45;

/// The least minor version that has all that is needed: that of Linux 5.14.
pub(crate) const LEAST_MINOR: u32 = 34;

/// The minor version since which the kernel takes [`NoticeCode::IncEpoch`]: that of Linux 6.16.
pub(crate) const EPOCH_MINOR: u32 = 44;

/// The minor version since which the kernel takes [`NoticeCode::Prune`]: that of Linux 6.18.
pub(crate) const PRUNE_MINOR: u32 = 45;

/// The number of the root's node.
pub(crate) const ROOT: u64 = 1;

macro_rules! opcodes {
    ($($name:ident = $value:literal),* $(,)?) => {
        /// The kind of a request.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Opcode { $($name = $value),* }

        impl Opcode {
            /// Returns the kind with a number, if it is known.
            pub(crate) fn from_number(number: u32) -> Option<Opcode> {
                match number { $($value => Some(Opcode::$name),)* _ => None }
            }

            /// Returns the name of the kind.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Opcode::$name => stringify!($name),)* }
            }
        }
    };
}

opcodes! {
    Lookup = 1, Forget = 2, GetAttr = 3, SetAttr = 4, ReadLink = 5, Symlink = 6, Mknod = 8, Mkdir = 9,
    Unlink = 10, Rmdir = 11, Rename = 12, Link = 13, Open = 14, Read = 15, Write = 16, StatFs = 17,
    Release = 18, Fsync = 20, SetXattr = 21, GetXattr = 22, ListXattr = 23, RemoveXattr = 24, Flush = 25,
    Init = 26, OpenDir = 27, ReadDir = 28, ReleaseDir = 29, FsyncDir = 30, Access = 34, Create = 35,
    Interrupt = 36, Destroy = 38, Ioctl = 39, BatchForget = 42, Fallocate = 43, ReadDirPlus = 44,
    Rename2 = 45, Lseek = 46, CopyFileRange = 47, SyncFs = 50, TmpFile = 51, Statx = 52,
    CopyFileRange64 = 53,
}

bitflags! {
    /// What both sides can: the flags of `FUSE_INIT`. The upper half is in a word of its own.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct InitFlags: u64 {
        /// Several reads of one file may be under way.
        const ASYNC_READ = 1 << 0;
        /// A node is found again by its number, which serves NFS.
        const EXPORT_SUPPORT = 1 << 4;
        /// A write may be longer than a page.
        const BIG_WRITES = 1 << 5;
        /// The umask is told, and not applied.
        const DONT_MASK = 1 << 6;
        /// Cached data is dropped when a file's time or size is another than before.
        const AUTO_INVAL_DATA = 1 << 12;
        /// Listings may come with attributes.
        const DO_READDIRPLUS = 1 << 13;
        /// The kernel decides which listings do.
        const READDIRPLUS_AUTO = 1 << 14;
        /// Direct reads and writes may be under way together.
        const ASYNC_DIO = 1 << 15;
        /// The kernel writes data later, and knows size and times of regular files itself.
        const WRITEBACK_CACHE = 1 << 16;
        /// Files are opened without a message where `FUSE_OPEN` is not known.
        const NO_OPEN_SUPPORT = 1 << 17;
        /// Lookups and listings of one directory may be under way together.
        const PARALLEL_DIROPS = 1 << 18;
        /// The kernel checks access control lists.
        const POSIX_ACL = 1 << 20;
        /// `max_pages` is set.
        const MAX_PAGES = 1 << 22;
        /// Bodies of links are cached.
        const CACHE_SYMLINKS = 1 << 23;
        /// Directories are opened without a message where `FUSE_OPENDIR` is not known.
        const NO_OPENDIR_SUPPORT = 1 << 24;
        /// The file system takes suid and sgid bits, where it is told to.
        const HANDLE_KILLPRIV_V2 = 1 << 28;
        /// `FUSE_SETXATTR` has the longer structure.
        const SETXATTR_EXT = 1 << 29;
        /// There is a second word of flags.
        const INIT_EXT = 1 << 30;
        /// A name may be told to be asked for again, and stays meanwhile.
        const HAS_EXPIRE_ONLY = 1 << 35;
    }
}

bitflags! {
    /// The attributes that a `FUSE_SETATTR` sets.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct SetFlags: u32 {
        const MODE = 1 << 0;
        const UID = 1 << 1;
        const GID = 1 << 2;
        const SIZE = 1 << 3;
        const ATIME = 1 << 4;
        const MTIME = 1 << 5;
        const FH = 1 << 6;
        const ATIME_NOW = 1 << 7;
        const MTIME_NOW = 1 << 8;
        const CTIME = 1 << 10;
        const KILL_SUIDGID = 1 << 11;
        const _ = !0;
    }
}

/// The kind of a notice to the kernel, which has it in the place of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoticeCode {
    InvalInode = 2,
    InvalEntry = 3,
    Delete = 6,
    IncEpoch = 8,
    Prune = 9,
}

/// A flag of `FUSE_NOTIFY_INVAL_ENTRY`: the name is to be asked for again, and stays meanwhile.
pub(crate) const EXPIRE_ONLY: u32 = 1 << 0;
/// A flag of `FUSE_GETATTR`: the file is open.
pub(crate) const GETATTR_FH: u32 = 1;
/// A flag of `FUSE_WRITE`: the kernel had the data in its cache, and tells of no caller.
pub(crate) const WRITE_CACHE: u32 = 1 << 0;
/// A flag of `FUSE_WRITE`: the caller loses suid and sgid bits of the file.
pub(crate) const WRITE_KILL_SUIDGID: u32 = 1 << 2;
/// A flag of `FUSE_OPEN` and `FUSE_CREATE`: the same, for an open that takes the contents.
pub(crate) const OPEN_KILL_SUIDGID: u32 = 1 << 0;
/// A flag of `FUSE_FSYNC`: data alone.
pub(crate) const FSYNC_FDATASYNC: u32 = 1 << 0;
/// A flag of `FUSE_SETXATTR`: the caller loses a sgid bit.
pub(crate) const SETXATTR_ACL_KILL_SGID: u32 = 1 << 0;
/// A flag of an answer to an open: cached data stays good.
pub(crate) const FOPEN_KEEP_CACHE: u32 = 1 << 1;
/// A flag of an answer to an open of a directory: the listing may be cached.
pub(crate) const FOPEN_CACHE_DIR: u32 = 1 << 3;

/// Declares a structure of the protocol.
macro_rules! message {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }
    };
}

message!(/// The beginning of each request.
InHeader { len: u32, opcode: u32, unique: u64, nodeid: u64, uid: u32, gid: u32, pid: u32, total_extlen: u16, padding: u16 });
message!(/// The beginning of each answer and notification.
OutHeader { len: u32, error: i32, unique: u64 });

message!(InitIn { major: u32, minor: u32, max_readahead: u32, flags: u32, flags2: u32, unused: [u32; 11] });
message!(InitOut {
    major: u32,
    minor: u32,
    max_readahead: u32,
    flags: u32,
    max_background: u16,
    congestion_threshold: u16,
    max_write: u32,
    time_gran: u32,
    max_pages: u16,
    map_alignment: u16,
    flags2: u32,
    max_stack_depth: u32,
    request_timeout: u16,
    unused: [u16; 11],
});

message!(Attr {
    ino: u64,
    size: u64,
    blocks: u64,
    atime: u64,
    mtime: u64,
    ctime: u64,
    atimensec: u32,
    mtimensec: u32,
    ctimensec: u32,
    mode: u32,
    nlink: u32,
    uid: u32,
    gid: u32,
    rdev: u32,
    blksize: u32,
    flags: u32,
});
message!(EntryOut {
    nodeid: u64,
    generation: u64,
    entry_valid: u64,
    attr_valid: u64,
    entry_valid_nsec: u32,
    attr_valid_nsec: u32,
    attr: Attr,
});
message!(AttrOut { attr_valid: u64, attr_valid_nsec: u32, dummy: u32, attr: Attr });

message!(ForgetIn { nlookup: u64 });
message!(BatchForgetIn { count: u32, dummy: u32 });
message!(ForgetOne { nodeid: u64, nlookup: u64 });
message!(GetAttrIn { flags: u32, dummy: u32, fh: u64 });
message!(SetAttrIn {
    valid: u32,
    padding: u32,
    fh: u64,
    size: u64,
    lock_owner: u64,
    atime: u64,
    mtime: u64,
    ctime: u64,
    atimensec: u32,
    mtimensec: u32,
    ctimensec: u32,
    mode: u32,
    unused4: u32,
    uid: u32,
    gid: u32,
    unused5: u32,
});
message!(MknodIn { mode: u32, rdev: u32, umask: u32, padding: u32 });
message!(MkdirIn { mode: u32, umask: u32 });
message!(RenameIn { newdir: u64 });
message!(Rename2In { newdir: u64, flags: u32, padding: u32 });
message!(LinkIn { oldnodeid: u64 });
message!(OpenIn { flags: u32, open_flags: u32 });
message!(CreateIn { flags: u32, mode: u32, umask: u32, open_flags: u32 });
message!(OpenOut { fh: u64, open_flags: u32, backing_id: i32 });
message!(ReleaseIn { fh: u64, flags: u32, release_flags: u32, lock_owner: u64 });
message!(ReadIn { fh: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32, padding: u32 });
message!(WriteIn { fh: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: u32, padding: u32 });
message!(WriteOut { size: u32, padding: u32 });
message!(FsyncIn { fh: u64, flags: u32, padding: u32 });
message!(StatFsOut {
    blocks: u64,
    bfree: u64,
    bavail: u64,
    files: u64,
    ffree: u64,
    bsize: u32,
    namelen: u32,
    frsize: u32,
    padding: u32,
    spare: [u32; 6],
});
message!(SetXattrIn { size: u32, flags: u32, setxattr_flags: u32, padding: u32 });
message!(GetXattrIn { size: u32, padding: u32 });
message!(GetXattrOut { size: u32, padding: u32 });
message!(FallocateIn { fh: u64, offset: u64, length: u64, mode: u32, padding: u32 });
message!(LseekIn { fh: u64, offset: u64, whence: u32, padding: u32 });
message!(LseekOut { offset: u64 });
message!(CopyFileRangeIn { fh_in: u64, off_in: u64, nodeid_out: u64, fh_out: u64, off_out: u64, len: u64, flags: u64 });
message!(CopyFileRange64Out { bytes_copied: u64 });
message!(IoctlIn { fh: u64, flags: u32, cmd: u32, arg: u64, in_size: u32, out_size: u32 });
message!(/// `struct fsxattr`, what `FS_IOC_FSGETXATTR` tells.
FsXattr { xflags: u32, extsize: u32, nextents: u32, projid: u32, cowextsize: u32, pad: [u8; 8] });
message!(IoctlOut { result: i32, flags: u32, in_iovs: u32, out_iovs: u32 });
message!(InterruptIn { unique: u64 });
message!(NotifyInvalInode { ino: u64, off: i64, len: i64 });
message!(NotifyInvalEntry { parent: u64, namelen: u32, flags: u32 });
message!(NotifyDelete { parent: u64, child: u64, namelen: u32, padding: u32 });
message!(NotifyPrune { count: u32, padding: u32, spare: u64 });
message!(Dirent { ino: u64, off: u64, namelen: u32, kind: u32 });
message!(StatxIn { flags: u32, reserved: u32, fh: u64, sx_flags: u32, sx_mask: u32 });
message!(SxTime { seconds: i64, nanoseconds: u32, reserved: i32 });
message!(StatxOut {
    attr_valid: u64,
    attr_valid_nsec: u32,
    flags: u32,
    spare: [u64; 2],
    mask: u32,
    blksize: u32,
    attributes: u64,
    nlink: u32,
    uid: u32,
    gid: u32,
    mode: u16,
    spare0: u16,
    ino: u64,
    size: u64,
    blocks: u64,
    attributes_mask: u64,
    atime: SxTime,
    btime: SxTime,
    ctime: SxTime,
    mtime: SxTime,
    rdev_major: u32,
    rdev_minor: u32,
    dev_major: u32,
    dev_minor: u32,
    spare2: [u64; 14],
});

const _: () = {
    assert!(size_of::<InHeader>() == 40 && size_of::<OutHeader>() == 16);
    assert!(size_of::<InitIn>() == 64 && size_of::<InitOut>() == 64);
    assert!(size_of::<Attr>() == 88 && size_of::<EntryOut>() == 128 && size_of::<AttrOut>() == 104);
    assert!(size_of::<SetAttrIn>() == 88 && size_of::<ReadIn>() == 40 && size_of::<StatFsOut>() == 80);
    assert!(size_of::<StatxOut>() == 288 && size_of::<CopyFileRangeIn>() == 56);
};
