//! Leases on open files.
//!
//! What always holds: a file that is counted as open is counted no more once it is dropped, and has
//! no lease then.

use std::sync::Arc;

use super::{File, FileBy};
use crate::Errno;
use crate::attr::FileType;
use crate::fs_api::Leases;
use crate::locks::lease::Lease;
use crate::locks::leases::LeaseTable;
use crate::locks::request::{FileNumber, LockKind};
use crate::ops::leases::opener;
use crate::permission::{Capabilities, Subject};
use crate::sync::Ordering;

/// # Leases
///
/// A `Vfs` grants them if it is built so ([`VfsBuilder::leases`](crate::VfsBuilder::leases)).
impl File {
    /// Leases the file, or changes the kind of the lease that it has: a
    /// [`Shared`](LockKind::Shared) lease ends when another opens it for writing, an
    /// [`Exclusive`](LockKind::Exclusive) one when another opens it. Source: `F_SETLEASE` of
    /// `fcntl(2)`.
    ///
    /// | errno | when |
    /// |---|---|
    /// | `EBADF` | it is a place only |
    /// | `EACCES` | its opener neither owns the node nor has `CAP_LEASE` |
    /// | `EINVAL` | it is no regular file |
    /// | `EINVAL` | leases are not granted, by the `Vfs` or for the file system |
    /// | `EINVAL` | [`LockKind::Unlock`]: see [`Lease::release`] |
    /// | `EAGAIN` | `Shared`: a file is open on the node for writing, as this one may be |
    /// | `EAGAIN` | `Exclusive`: another file is open on the node |
    /// | `EAGAIN` | the lease of another file is in the way, or is broken |
    ///
    /// Does not wait. Cost: a lock of the `Vfs`, and a search among the node's leases.
    ///
    /// [`Lease`] has an example.
    pub fn lease(&self, kind: LockKind) -> Result<Lease, Errno> {
        self.lease_as(kind, &self.credentials.effective())
    }

    fn lease_as(&self, kind: LockKind, who: &Subject<'_>) -> Result<Lease, Errno> {
        self.opened()?;
        if kind == LockKind::Unlock {
            return Err(Errno::EINVAL);
        }
        let (trees, inode) = (&self.handle.world().trees, self.handle.inode());
        let of = trees.known_snapshot(inode)?;
        if !self.coming(who).owns(of.uid()) && !who.has(Capabilities::LEASE) {
            return Err(Errno::EACCES);
        }
        if of.kind() != FileType::Regular || trees.superblock(inode).fs.leases() == Leases::Refused {
            return Err(Errno::EINVAL);
        }
        let file = (self.lock_number(), opener(self.flags) == LockKind::Exclusive);
        self.leases().ok_or(Errno::EINVAL)?.lease(inode, file, kind)
    }

    /// Returns the kind of its lease, or what that has to become if it is broken;
    /// [`LockKind::Unlock`] if it has none. `EBADF` for a place only. Source: `F_GETLEASE` of
    /// `fcntl(2)`.
    ///
    /// [`Lease`] has an example.
    pub fn getlease(&self) -> Result<LockKind, Errno> {
        self.opened()?;
        let number = FileNumber(self.lock_number.load(Ordering::Relaxed));
        Ok(self.leases().map_or(LockKind::Unlock, |leases| leases.kind_to_be(self.handle.inode(), number)))
    }

    /// Ends its lease, and counts it as open no more.
    #[cold]
    pub(super) fn end_lease(&self) {
        if let Some(leases) = self.leases() {
            let number = FileNumber(self.lock_number.load(Ordering::Relaxed));
            leases.closed(self.handle.inode(), number, opener(self.flags));
        }
    }

    fn leases(&self) -> Option<&Arc<LeaseTable>> {
        self.handle.world().locks.leases.as_ref()
    }
}

impl FileBy<'_> {
    /// Leases the file as [`File::lease`] does, by the rights of this user.
    pub fn lease(&self, kind: LockKind) -> Result<Lease, Errno> {
        self.file.lease_as(kind, &self.who.effective())
    }
}
