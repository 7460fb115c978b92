//! One node.
//!
//! Nodes lie in slots that are reused and never move: see [`table`](super::table). An [`Inode`] is
//! a slot together with its number, valid as long as the node lives.
//!
//! A node has one lock, around its content and lists ([`Guarded`]). Changes of its attributes need
//! the lock held exclusively. The [`Record`] is read without the lock, and the counts of [`Life`]
//! are atomic.
//!
//! A slot is two cache lines, and the creation of a node without content touches no other.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use pathwalk::permission::AclKind;
use pathwalk::{Errno, FileType, NewKind, Timestamp, WriteAt};

use super::acl::Lists;
use super::ledger::Ledger;
use super::life::{FirstName, Left, Life};
use super::locked::{Content, Guarded, Locked, LockedNames};
use super::names::Names;
use super::pages::Pages;
use super::record::Record;
use super::table::{Ino, Key};

/// A node and its slot.
#[derive(Clone, Copy)]
pub(crate) struct Inode<'a> {
    pub(crate) ino: Ino,
    pub(crate) slot: &'a Slot,
}

/// The memory of one node.
///
/// The fields are in the order of their use: those that a lookup needs and those that change with a
/// name are in the first cache line.
#[derive(Default)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// The number of times that the slot was filled and emptied: odd while it has a node.
    pub(super) generation: AtomicU64,
    /// The directory in which the node got a name last, which may be gone; 0 as long as it has had
    /// no name. For a directory: its parent, which changes only under the store's `tree` lock; the
    /// root is its own parent. Without a node: the next free slot.
    pub(super) parent: AtomicU64,
    pub(crate) life: Life,
    pub(crate) record: Record,
    pub(super) guarded: RwLock<Guarded>,
}

const _: () = assert!(size_of::<Slot>() == 128);

impl<'a> Inode<'a> {
    #[inline]
    pub(crate) fn key(&self) -> Key {
        Key { ino: self.ino, generation: self.slot.generation.load(Relaxed) }
    }

    pub(crate) fn kind(&self) -> FileType {
        self.slot.record.kind()
    }

    #[inline]
    pub(crate) fn is_directory(&self) -> bool {
        self.slot.record.is(FileType::Directory)
    }

    /// Returns a directory's names: `ENOTDIR` for any other node.
    pub(crate) fn names(&self) -> Result<MappedRwLockReadGuard<'a, Names>, Errno> {
        if !self.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        Ok(RwLockReadGuard::map(self.slot.guarded.read(), |guarded| guarded.content.names()))
    }

    /// Returns a directory's names, locked for changes: `ENOTDIR` for any other node.
    #[inline]
    pub(crate) fn lock_names(&self) -> Result<LockedNames<'a>, Errno> {
        if !self.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        Ok(LockedNames { dir: *self, guarded: self.slot.guarded.write() })
    }

    /// Returns the data of a regular file: `EISDIR` for a directory, `EINVAL` for other nodes.
    pub(crate) fn pages(&self) -> Result<MappedRwLockReadGuard<'a, Pages>, Errno> {
        self.check_data()?;
        Ok(RwLockReadGuard::map(self.slot.guarded.read(), |guarded| guarded.content.pages()))
    }

    pub(crate) fn lock(&self) -> Locked<'a> {
        Locked { inode: *self, guarded: self.slot.guarded.write() }
    }

    /// Locks the node exclusively, unless another thread has the lock.
    pub(crate) fn try_lock(&self) -> Option<Locked<'a>> {
        Some(Locked { inode: *self, guarded: self.slot.guarded.try_write()? })
    }

    pub(crate) fn lock_shared(&self) -> RwLockReadGuard<'a, Guarded> {
        self.slot.guarded.read()
    }

    /// Checks that the node is a regular file: `EISDIR` for a directory, `EINVAL` for other nodes.
    pub(crate) fn check_data(&self) -> Result<(), Errno> {
        match self.kind() {
            FileType::Regular => Ok(()),
            FileType::Directory => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Returns the offset at which a write begins. The caller has the lock.
    pub(crate) fn offset_of(&self, at: WriteAt) -> u64 {
        match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => self.slot.record.size(),
        }
    }

    /// Returns a link's body; `EINVAL` for other nodes.
    pub(crate) fn link_body(&self) -> Result<Box<[u8]>, Errno> {
        match &self.slot.guarded.read().content {
            Content::Link(body) => Ok((**body).clone()),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Returns the parent of a directory.
    pub(crate) fn parent(&self) -> Ino {
        Ino(self.slot.parent.load(Relaxed))
    }

    pub(crate) fn set_parent(&self, parent: Ino) {
        self.slot.parent.store(parent.0, Relaxed);
    }

    pub(crate) fn first_name(&self) -> FirstName {
        if self.parent().0 == 0 { FirstName::ToCome } else { FirstName::Given }
    }

    /// Returns `st_nlink`.
    pub(crate) fn links(&self) -> u32 {
        match self.slot.life.names() {
            names if names == 0 || !self.is_directory() => names,
            _ => 2 + self.slot.record.extent() as u32,
        }
    }

    /// Removes a name, whose directory's lock the caller has. Afterwards the node may be gone, if
    /// nothing is left or another thread gives back what is left.
    #[inline]
    pub(crate) fn lose_name(&self, now: Timestamp) -> Left {
        self.slot.record.touch_name(now);
        self.slot.life.unlink()
    }
}

impl Slot {
    /// Stores the content of a node that is being created, if it has any.
    pub(super) fn fill(&self, kind: &NewKind<'_>, ledger: &Ledger) {
        if let NewKind::Symlink(body) = kind {
            let content = Content::Link(Box::new((*body).into()));
            ledger.charge(content.bytes());
            self.guarded.write().content = content;
            self.record.filled.store(true, Relaxed);
        }
    }

    /// Drops the content and the lists of a node that is being freed.
    pub(super) fn empty(&self, ledger: &Ledger) {
        if self.record.filled.load(Relaxed) || self.record.has_lists() {
            self.record.filled.store(false, Relaxed);
            self.record.mark_list(AclKind::Access, false);
            self.record.mark_list(AclKind::Default, false);
            let gone = std::mem::take(&mut *self.guarded.write());
            ledger.credit(gone.content.bytes() + Lists::bytes(&gone.lists));
        }
    }
}
