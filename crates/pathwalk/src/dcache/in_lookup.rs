//! One question to the file system for a missing name, however many ask.
//!
//! Whoever misses a name puts a dentry marked `IN_LOOKUP` where the answer will be, and asks. Others find that dentry and sleep until
//! it is unmarked. All of them hold the directory's lock shared, so no change of the directory runs meanwhile. If the one who
//! asks fails or panics, the dentry leaves the table, still marked, so that a walk that found it believes nothing of it; and those
//! who sleep start again.

use super::dentry::{DentryId, flags};
use crate::Errno;
use crate::sync::{Condvar, Mutex, stripes, wait};
use crate::vfs::Core;

const STRIPES: usize = stripes(64);

/// Where threads sleep for somebody else's answer.
pub(crate) struct Waiters(Box<[(Mutex<()>, Condvar)]>);

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters((0..STRIPES).map(|_| (Mutex::new(()), Condvar::new())).collect())
    }

    fn of(&self, id: DentryId) -> &(Mutex<()>, Condvar) {
        &self.0[id.0 as usize % STRIPES]
    }
}

/// What somebody who missed a name is to do.
pub(crate) enum Missing<'a> {
    /// It is there by now, pinned; its lookup may not be over.
    Found(DentryId),
    /// Ask the file system.
    Ask(Asking<'a>),
}

/// The duty to answer for a name. Dropped without an answer, it frees those who wait.
pub(crate) struct Asking<'a> {
    core: &'a Core,
    id: DentryId,
}

impl Core {
    /// Enters a name that was missed. The caller holds the directory's lock shared, and a pin on it. (Whoever holds it exclusively has
    /// nobody to wait for him, and needs none of this.)
    pub(crate) fn begin_lookup(&self, parent: DentryId, name: &[u8]) -> Result<Missing<'_>, Errno> {
        let id = self.new_dentry(parent, name, flags::IN_LOOKUP)?;
        let held = self.dentries.children_lock(parent);
        let found = self.probe_exact(parent, name, &held).map(|id| self.pin_listed(id));
        if let Some(found) = found {
            drop(held);
            self.discard(id);
            return Ok(Missing::Found(found));
        }
        self.hash_in(parent, id, &held);
        Ok(Missing::Ask(Asking { core: self, id }))
    }

    /// Sleeps while somebody else looks this name up. The caller has a pin.
    pub(crate) fn wait_for_answer(&self, id: DentryId) {
        if !self.is_asked_for(id) {
            return;
        }
        self.counters.wait();
        let (lock, condvar) = self.waiters.of(id);
        let mut held = lock.lock();
        while self.is_asked_for(id) {
            held = wait(condvar, held);
        }
    }

    fn is_asked_for(&self, id: DentryId) -> bool {
        self.dentries.word(id) & (flags::IN_LOOKUP | flags::UNHASHED) == flags::IN_LOOKUP
    }
}

impl Asking<'_> {
    /// The dentry that waits for its answer.
    pub(crate) fn dentry(&self) -> DentryId {
        self.id
    }

    /// The name was answered for (it is not marked any more): wakes who waits, and hands over the pin.
    pub(crate) fn answered(self) -> DentryId {
        self.wake();
        let id = self.id;
        std::mem::forget(self);
        id
    }

    fn wake(&self) {
        let (lock, condvar) = self.core.waiters.of(self.id);
        // Under the lock: who saw the mark is asleep by now.
        let _held = lock.lock();
        condvar.notify_all();
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let parent = self.core.dentries.parent(self.id);
        self.core.unhash(parent, self.id, &self.core.dentries.children_lock(parent));
        self.wake();
        self.core.discard(self.id);
    }
}
