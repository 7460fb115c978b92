//! The numbers of slots, with a type for each pool.
//!
//! A number identifies a slot, not its content: the slot may be reused. A sequence count or a pin
//! guards against that.

/// The number of a dentry's slot; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct DentryId(pub(crate) u32);

impl DentryId {
    pub(crate) const NONE: DentryId = DentryId(0);
}

/// The number of an inode's slot; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct InodeId(pub(crate) u32);

impl InodeId {
    pub(crate) const NONE: InodeId = InodeId(0);
}

/// The number of a mount's slot; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct MountId(pub(crate) u32);

impl MountId {
    pub(crate) const NONE: MountId = MountId(0);
}

/// The number of a superblock. Only one superblock has a given number at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SuperblockId(pub(crate) u16);
