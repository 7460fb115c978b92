//! The effects of writing on a file's attributes: its size, and the suid and sgid bits that are
//! cleared.
//!
//! The check of a node and its change belong together, so each operation does both under the lock
//! for changes of the node's attributes.

use super::Trees;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::icache::pool::ChangingHeld;
use crate::memory::slot::DentryId;
use crate::node::SetAttributes;
use crate::permission::{Capabilities, Subject, without_privileges};

/// The condition under which a file that gets a size also gets new times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// A change of the size, as for `truncate`.
    OfChange,
    /// No condition, as for `ftruncate` and `O_TRUNC`.
    Always,
}

impl Trees {
    /// Takes the lock for changes of a node's attributes, held while they are read and set. It is
    /// taken before the lock of the inode, inside no lock but those of directories.
    pub(crate) fn changing(&self, node: DentryId) -> ChangingHeld<'_> {
        self.caches.inodes.changing(self.caches.dentries.inode(node))
    }

    /// Returns `EPERM` for a file that may only grow, also if it was opened before that. For
    /// truncation. The caller has a pin on it.
    pub(crate) fn not_append_only(&self, node: DentryId) -> Result<(), Errno> {
        let of = self.known_snapshot(self.caches.dentries.inode(node))?;
        if of.is_append_only() { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// Sets the size of a file on which the caller has a pin, and clears suid and sgid where `who`
    /// may not keep them. `EOVERFLOW` if owner or group are unmapped.
    pub(crate) fn resize(&self, node: DentryId, who: &Subject<'_>, size: u64, times: Times) -> Result<(), Errno> {
        let id = self.caches.dentries.inode(node);
        let _changing = self.changing(node);
        if !self.known_snapshot(id)?.is_seen_by(who) {
            return Err(Errno::EOVERFLOW);
        }
        let mode = self.mode_after_write(node, who)?;
        let changes = times == Times::Always || self.stat(id)?.size != size;
        let set = SetAttributes { mode, size: changes.then_some(size), ..SetAttributes::default() };
        if set == SetAttributes::default() {
            return Ok(());
        }
        self.caches.with_room(|| self.set_attributes(id, &set)).map(drop)
    }

    /// Clears suid and sgid of a file that `who` is about to write to, where they may not be kept.
    /// `check` is called first. It returns the error with which the write would fail without any
    /// effect.
    ///
    /// The bits are cleared before the data is written, so that new data never runs with the
    /// owner's rights. They are not restored if the write fails after all, because some of it may
    /// have been written.
    pub(crate) fn drop_privileges(
        &self,
        node: DentryId,
        who: &Subject<'_>,
        check: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if self.mode_after_write(node, who)?.is_none() {
            return Ok(());
        }
        check()?;
        let _changing = self.changing(node);
        match self.mode_after_write(node, who)? {
            None => Ok(()),
            mode => {
                let set = SetAttributes { mode, ..SetAttributes::default() };
                self.set_attributes(self.caches.dentries.inode(node), &set).map(drop)
            }
        }
    }

    /// Returns the mode that a file has after a write, if that differs from its mode now.
    /// `EOVERFLOW` if it differs, and owner or group are unmapped.
    fn mode_after_write(&self, node: DentryId, who: &Subject<'_>) -> Result<Option<u16>, Errno> {
        let of = self.known_snapshot(self.caches.dentries.inode(node))?;
        if of.kind() != FileType::Regular || who.has(Capabilities::FSETID) {
            return Ok(None);
        }
        let mode = without_privileges(who, of.mode(), of.owners());
        if mode != of.mode() && !of.is_seen_by(who) {
            return Err(Errno::EOVERFLOW);
        }
        Ok((mode != of.mode()).then_some(mode))
    }
}
