//! The effects of writing on a file's attributes: its size, the suid and sgid bits that are
//! cleared, and the file capability that is removed.
//!
//! The check of a node and its change belong together, so each operation does both under the lock
//! for changes of the node's attributes.

use super::Trees;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::icache::pool::ChangingHeld;
use crate::cache::icache::snapshot::Snapshot;
use crate::memory::slot::DentryId;
use crate::node::{SetAttributes, SetCause};
use crate::permission::{Capabilities, Subject, without_privileges};

/// The condition under which a file that gets a size also gets new times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// The file system's, as for `truncate`: a change, which an equal size need not be.
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

    /// Sets the size of a file on which the caller has a pin, removes its capability, and clears
    /// suid and sgid where `who` may not keep them. `EOVERFLOW` if owner or group are unmapped.
    pub(crate) fn resize(&self, node: DentryId, who: &Subject<'_>, size: u64, times: Times) -> Result<(), Errno> {
        let id = self.caches.dentries.inode(node);
        let changing = self.changing(node);
        let of = self.known_snapshot(id)?;
        if !of.is_seen_by(who) {
            return Err(Errno::EOVERFLOW);
        }
        if !of.has_no_capability() {
            // A size that is refused removes nothing.
            self.superblock(id).fs.check_size(self.key_of(id), size)?;
            self.drop_capability(id, who, &changing)?;
        }
        let mode = mode_after_write(&of, who)?;
        let mtime = (times == Times::Always).then(|| self.superblock(id).fs.now());
        // As on Linux, a truncation to the size that the file has is an event, too.
        let set = SetAttributes { mode, size: Some(size), mtime, ..SetAttributes::default() };
        self.caches.with_room(|| self.set_attributes(id, &set))?;
        self.tell_set(node, &set);
        Ok(())
    }

    /// Clears suid and sgid of a file that `who` is about to write to, where they may not be kept,
    /// and removes its capability, which nothing keeps. `check` is called first. It returns the
    /// error with which the write would fail without any effect.
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
        let id = self.caches.dentries.inode(node);
        let of = self.known_snapshot(id)?;
        let may_have_capability = of.kind() == FileType::Regular && !of.has_no_capability();
        if !may_have_capability && mode_after_write(&of, who)?.is_none() {
            return Ok(());
        }
        check()?;
        let changing = self.changing(node);
        self.drop_capability(id, who, &changing)?;
        match mode_after_write(&self.known_snapshot(id)?, who)? {
            None => Ok(()),
            mode => {
                let set = SetAttributes { mode, cause: SetCause::Write, ..SetAttributes::default() };
                self.set_attributes(id, &set)?;
                self.tell_set(node, &set);
                Ok(())
            }
        }
    }

    /// Sets the time of the last change of data, as after a write to a pipe. The caller has a pin
    /// on the node, and keeps its mount writable. Linux: `file_update_time`.
    pub(crate) fn touch(&self, node: DentryId) -> Result<(), Errno> {
        let id = self.caches.dentries.inode(node);
        let _changing = self.changing(node);
        let set = SetAttributes { mtime: Some(self.superblock(id).fs.now()), ..SetAttributes::default() };
        self.set_attributes(id, &set).map(drop)
    }
}

/// Returns the mode that a file has after a write, if that differs from its mode now. `EOVERFLOW`
/// if it differs, and owner or group are unmapped.
fn mode_after_write(of: &Snapshot, who: &Subject<'_>) -> Result<Option<u16>, Errno> {
    if of.kind() != FileType::Regular || who.has(Capabilities::FSETID) {
        return Ok(None);
    }
    let mode = without_privileges(who, of.mode(), of.owners());
    if mode != of.mode() && !of.is_seen_by(who) {
        return Err(Errno::EOVERFLOW);
    }
    Ok((mode != of.mode()).then_some(mode))
}
