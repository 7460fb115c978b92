//! The numbers of slots, a type for each pool.
//!
//! A number says where, not what: the slot may be reused. A sequence count or a pin tells.

/// A dentry's slot; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct DentryId(pub(crate) u32);

impl DentryId {
    pub(crate) const NONE: DentryId = DentryId(0);
}

/// An inode's slot; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct InodeId(pub(crate) u32);

impl InodeId {
    pub(crate) const NONE: InodeId = InodeId(0);
}

/// A mount's slot; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct MountId(pub(crate) u32);

impl MountId {
    pub(crate) const NONE: MountId = MountId(0);
}

/// A superblock's number; each number is one at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SuperblockId(pub(crate) u16);
