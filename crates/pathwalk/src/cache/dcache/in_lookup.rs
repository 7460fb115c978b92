//! Lookups of missing names: the file system is asked once, however many threads ask.
//!
//! A thread that misses a name puts a dentry marked `IN_LOOKUP` where the answer will be, and asks
//! the file system. Other threads find that dentry and sleep until the mark is cleared. All of them
//! hold the directory's lock shared, so no change of the directory runs meanwhile. If the asking
//! thread fails or panics, the dentry leaves the table with its mark still set. So a walk that
//! found it does not use it, and the sleeping threads start again.
//!
//! A name that was listed has a dentry already. A thread that misses it takes the question on by
//! clearing `LISTED`, and sets that mark again if it fails.

use super::children::NameIs;
use super::dentry::{ChildrenHeld, flags};
use super::watch::Known;
use crate::Errno;
use crate::cache::Caches;
use crate::memory::slot::DentryId;
use crate::node::Freshness;
use crate::sync::{Ordering, fence};

/// The next step for a thread that missed a name.
pub(crate) enum Missing<'a> {
    /// The name has a dentry by now, pinned. Its lookup may still run.
    Found(DentryId),
    /// The name is known to be absent: its negative dentry, pinned.
    Absent(DentryId),
    /// The caller has to ask the file system.
    Ask(Asking<'a>),
}

/// The duty to answer for a name. If it is dropped without an answer, it wakes the waiting threads.
pub(crate) struct Asking<'a> {
    caches: &'a Caches,
    id: DentryId,
    before: Before,
}

/// The state of a dentry before a thread began to ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The name had no dentry.
    New,
    /// The name was listed: it exists, whatever becomes of the question.
    Listed,
}

impl Caches {
    /// Enters a name that was missed. The caller holds the directory's lock shared, and has a pin
    /// on the directory. (A holder of the exclusive lock waits for no other thread, and does not
    /// need this.)
    ///
    /// `absence` is the freshness that the file system gives to absences; the caller asked for it
    /// before.
    pub(crate) fn begin_lookup(&self, parent: DentryId, name: &[u8], absence: Freshness) -> Result<Missing<'_>, Errno> {
        let id = self.new_dentry(parent, name, flags::IN_LOOKUP)?;
        let held = self.dentries.children_lock(parent);
        let Some(found) = self.probe_exact(parent, name, &held).map(|id| self.pin_listed(id)) else {
            let is_absent = self.known(parent, &held) == Known::All;
            if is_absent {
                self.make_negative(id, absence);
                self.counters.known_absent();
            }
            self.hash_in(parent, id, &held);
            let asking = || Asking { caches: self, id, before: Before::New };
            return Ok(if is_absent { Missing::Absent(id) } else { Missing::Ask(asking()) });
        };
        let asks = self.begin_to_ask(found);
        drop(held);
        self.discard(id);
        Ok(if asks { Missing::Ask(Asking { caches: self, id: found, before: Before::Listed }) } else { Missing::Found(found) })
    }

    /// Takes on the question about a name that was listed. Returns false if the dentry is not
    /// `LISTED`, or if another thread took the question on. The parent's children lock is held.
    fn begin_to_ask(&self, id: DentryId) -> bool {
        let is_listed = self.dentries.word(id) & flags::LISTED != 0;
        if is_listed {
            self.change_flags(id, |flags| flags & !(flags::LISTED | flags::DOUBTFUL | flags::REVALIDATE | flags::SWEPT));
        }
        is_listed
    }

    /// Does the same for a caller that has no pin yet, with any dentry in the list whose lock is
    /// held.
    pub(crate) fn ask_about_listed(&self, id: DentryId, _held: &ChildrenHeld<'_>) -> Option<Asking<'_>> {
        self.begin_to_ask(id).then(|| Asking { caches: self, id: self.pin_listed(id), before: Before::Listed })
    }

    /// Sleeps while another thread looks this name up. The caller has a pin on the dentry.
    pub(crate) fn wait_for_answer(&self, id: DentryId) {
        if !self.is_asked_for(id) {
            return;
        }
        self.counters.wait();
        self.waiters.of(id).sleep_while(|| self.is_asked_for(id));
    }

    fn is_asked_for(&self, id: DentryId) -> bool {
        self.dentries.word(id) & (flags::IN_LOOKUP | flags::UNHASHED | flags::LISTED) == flags::IN_LOOKUP
    }
}

impl<'a> Asking<'a> {
    /// Wraps a new dentry that is shown and marked `IN_LOOKUP`. Takes over its pin.
    pub(crate) fn about_new(caches: &'a Caches, id: DentryId) -> Asking<'a> {
        Asking { caches, id, before: Before::New }
    }

    /// Returns the dentry that waits for its answer.
    pub(crate) fn dentry(&self) -> DentryId {
        self.id
    }

    /// Wakes the waiting threads and hands the pin over. The name was answered for, so the dentry
    /// is no longer marked.
    pub(crate) fn answered(self) -> DentryId {
        self.wake();
        let id = self.id;
        std::mem::forget(self);
        id
    }

    /// Wakes the waiting threads of all these names, which were answered for, and gives their pins
    /// back.
    pub(crate) fn all_answered(caches: &Caches, answered: impl IntoIterator<Item = Asking<'a>>) {
        // One fence for all of them, between clearing the marks and reading the counts of sleepers.
        fence(Ordering::SeqCst);
        for asking in answered {
            caches.waiters.of(asking.id).wake_if_asleep();
            caches.dentries.unpin(asking.id);
            std::mem::forget(asking);
        }
    }

    fn wake(&self) {
        self.caches.waiters.of(self.id).wake();
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let parent = self.caches.dentries.parent(self.id);
        {
            let held = self.caches.dentries.children_lock(parent);
            match self.before {
                Before::New => self.caches.unhash(parent, self.id, NameIs::Unknown, &held),
                Before::Listed => self.caches.change_flags(self.id, |flags| flags | flags::LISTED),
            }
        }
        self.wake();
        match self.before {
            Before::New => self.caches.discard(self.id),
            Before::Listed => self.caches.dentries.unpin(self.id),
        }
    }
}
