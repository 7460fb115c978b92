//! The result of a `statx`: attributes, which of them are valid, and the mount.

use bitflags::bitflags;

use super::{Attributes, StatxFlags};

bitflags! {
    /// A set of attributes that are requested or present. A bit without a name here may be
    /// requested and is never present, as `STATX_WRITE_ATOMIC`: the engine refuses such writes. The
    /// highest bit is `EINVAL` (`STATX__RESERVED`). Source: `stx_mask` in `statx(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, StatxMask, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let statx = context.statx("/", StatxMask::TYPE | StatxMask::MODE)?;
    /// assert!(statx.mask.contains(StatxMask::TYPE | StatxMask::MODE));
    /// assert_eq!(statx.attributes.mode, 0o755);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct StatxMask: u32 {
        /// The type.
        const TYPE = 1;
        /// The permission bits.
        const MODE = 2;
        /// The number of links.
        const NLINK = 4;
        /// The owner.
        const UID = 8;
        /// The group.
        const GID = 0x10;
        /// The time of the last access.
        const ATIME = 0x20;
        /// The time of the last change of the contents.
        const MTIME = 0x40;
        /// The time of the last change of the attributes.
        const CTIME = 0x80;
        /// The inode number.
        const INO = 0x100;
        /// The size.
        const SIZE = 0x200;
        /// The number of blocks.
        const BLOCKS = 0x400;
        /// All attributes that `stat` returns.
        const BASIC_STATS = 0x7ff;
        /// The time of creation.
        const BTIME = 0x800;
        /// The mount's number.
        const MNT_ID = 0x1000;
        /// The mount's number, which no other mount ever has. Here that is the same number; the
        /// result has this bit if it was requested, and else `MNT_ID`, as on Linux.
        const MNT_ID_UNIQUE = 0x4000;
        /// The number of the subvolume: see [`Context::details`](crate::Context::details).
        const SUBVOL = 0x8000;
        /// The change cookie: see [`Context::details`](crate::Context::details). Inside of Linux
        /// only; user space may set the bit, and gets nothing for it.
        const CHANGE_COOKIE = 0x4000_0000;
        const _ = !0;
    }
}

impl StatxMask {
    /// The attributes that the cache always has.
    pub(crate) const KEPT: StatxMask = StatxMask::TYPE
        .union(StatxMask::MODE)
        .union(StatxMask::UID)
        .union(StatxMask::GID)
        .union(StatxMask::MNT_ID)
        .union(StatxMask::MNT_ID_UNIQUE);

    /// What the caches never have.
    pub(crate) const DETAILS: StatxMask = StatxMask::SUBVOL.union(StatxMask::CHANGE_COOKIE);

    /// The attributes of [`Attributes`].
    const ATTRIBUTES: StatxMask = StatxMask::BASIC_STATS.union(StatxMask::BTIME);

    /// `STATX__RESERVED`: no request has it.
    pub(crate) const RESERVED: StatxMask = StatxMask::from_bits_retain(1 << 31);
}

/// Attributes, and which of them are valid. Source: `struct statx` in `statx(2)`.
///
/// [`StatxMask`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Statx {
    /// The attributes that are up to date: at least the requested ones, except the time of creation
    /// where the file system keeps none.
    pub mask: StatxMask,
    /// The attributes. The flags include [`MOUNT_ROOT`](StatxFlags::MOUNT_ROOT) for the root of a
    /// mount.
    pub attributes: Attributes,
    /// The number of the mount through which the node was seen, as in
    /// [`mountinfo`](crate::Context::mountinfo). No other mount ever has it.
    pub mount_id: u64,
}

impl Statx {
    pub(crate) fn new(attributes: Attributes, wanted: StatxMask, seen: Seen) -> Statx {
        let known = if StatxMask::KEPT.contains(wanted) { StatxMask::KEPT } else { StatxMask::ATTRIBUTES };
        Statx::of_known(attributes, known, wanted, seen)
    }

    /// Returns a result in which these attributes are up to date.
    pub(crate) fn of_known(mut attributes: Attributes, known: StatxMask, wanted: StatxMask, seen: Seen) -> Statx {
        attributes.flags.set(StatxFlags::MOUNT_ROOT, seen.is_root);
        attributes.flags_mask |= StatxFlags::MOUNT_ROOT;
        let unborn = if attributes.btime.is_some() { StatxMask::empty() } else { StatxMask::BTIME };
        let mount = if wanted.contains(StatxMask::MNT_ID_UNIQUE) { StatxMask::MNT_ID_UNIQUE } else { StatxMask::MNT_ID };
        Statx { mask: (known & (StatxMask::ATTRIBUTES - unborn)) | mount, attributes, mount_id: seen.mount }
    }
}

/// The attributes of the node alone, as [`Context::stat`](crate::Context::stat) has them: without
/// [`MOUNT_ROOT`](StatxFlags::MOUNT_ROOT), which is the mount's.
///
/// ```
/// use pathwalk::{Attributes, Credentials, StatxFlags, StatxMask, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let found = context.statx("/", StatxMask::BASIC_STATS)?;
/// assert!(found.attributes.flags.contains(StatxFlags::MOUNT_ROOT));
/// assert_eq!(Attributes::from(found), context.stat("/")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl From<Statx> for Attributes {
    fn from(Statx { mut attributes, .. }: Statx) -> Attributes {
        attributes.flags.remove(StatxFlags::MOUNT_ROOT);
        attributes.flags_mask.remove(StatxFlags::MOUNT_ROOT);
        attributes
    }
}

/// The mount through which a node was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The number of the mount.
    pub(crate) mount: u64,
    /// Whether the node is the mount's root.
    pub(crate) is_root: bool,
}
