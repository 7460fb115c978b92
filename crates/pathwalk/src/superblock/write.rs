//! What writing to a file does to its attributes: its size, and the suid and sgid bits that go.
//!
//! What is found out about a node and what is set of it belong together, so each runs under the lock for changes of its attributes.

use super::Trees;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::icache::pool::ChangingHeld;
use crate::memory::slot::DentryId;
use crate::node::SetAttributes;
use crate::permission::{Capabilities, Subject, without_privileges};

/// When a file that gets a size gets new times, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// If the size is another than before, as `truncate` has it.
    OfChange,
    /// In any case, as `ftruncate` and `O_TRUNC` have it.
    Always,
}

impl Trees {
    /// The lock for changes of a node's attributes, held while they are looked at and set. Taken before the lock of the inode, inside no lock
    /// but those of directories.
    pub(crate) fn changing(&self, node: DentryId) -> ChangingHeld<'_> {
        self.caches.inodes.changing(self.caches.dentries.inode(node))
    }

    /// Refuses with `EPERM` to cut a file that may only grow, also through what was open before.
    /// The caller has a pin on it.
    pub(crate) fn not_append_only(&self, node: DentryId) -> Result<(), Errno> {
        let of = self.known_snapshot(self.caches.dentries.inode(node))?;
        if of.is_append_only() { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// Sets the size of a file that the caller has a pin on, and takes suid and sgid away where `who` may not keep them. `EOVERFLOW`
    /// if owner or group are unmapped.
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

    /// Takes suid and sgid away from a file that `who` is about to write to, where they may not be
    /// kept. `check` is asked first what the write would fail with and change nothing.
    ///
    /// The bits go before the data come, so that new data never run with the owner's rights. They
    /// are not given back if the write fails after all: some of it may have been written.
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

    /// The mode that a file has once it was written to, if it is another. `EOVERFLOW` if it is, and
    /// owner or group are unmapped.
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
