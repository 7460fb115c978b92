//! One question to the file system for a missing name, however many ask.
//!
//! Whoever misses a name puts a dentry marked `IN_LOOKUP` where the answer will be, and asks. Others find that dentry and sleep until
//! it is unmarked. All of them hold the directory's lock shared, so no change of the directory runs meanwhile. If the one who
//! asks fails or panics, the dentry leaves the table, still marked, so that a walk that found it believes nothing of it; and those
//! who sleep start again.
//!
//! A name that was listed has its dentry already: whoever misses it takes on to ask by unmarking it, and marks it again if that fails.

use super::children::NameIs;
use super::dentry::{ChildrenHeld, flags};
use super::watch::Known;
use crate::Errno;
use crate::cache::Caches;
use crate::memory::slot::DentryId;
use crate::node::Freshness;
use crate::sync::{Ordering, fence};

/// What somebody who missed a name is to do.
pub(crate) enum Missing<'a> {
    /// It is there by now, pinned; its lookup may not be over.
    Found(DentryId),
    /// It is known to be absent: the negative entry, pinned.
    Absent(DentryId),
    /// Ask the file system.
    Ask(Asking<'a>),
}

/// The duty to answer for a name. Dropped without an answer, it frees those who wait.
pub(crate) struct Asking<'a> {
    caches: &'a Caches,
    id: DentryId,
    before: Before,
}

/// What a dentry was before somebody began to ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Not there.
    New,
    /// Listed: the name is there, whatever becomes of the question.
    Listed,
}

impl Caches {
    /// Enters a name that was missed. The caller holds the directory's lock shared, and a pin on it. (Whoever holds it exclusively has
    /// nobody to wait for him, and needs none of this.)
    ///
    /// `absence` is what the file system says of absences: it was asked before.
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

    /// Takes it on to ask about a name that was listed. False if it is another kind of dentry, or somebody did. The parent's children lock is held.
    fn begin_to_ask(&self, id: DentryId) -> bool {
        let is_listed = self.dentries.word(id) & flags::LISTED != 0;
        if is_listed {
            self.change_flags(id, |flags| flags & !flags::LISTED);
        }
        is_listed
    }

    /// The same by somebody who has no pin yet; of any dentry in the list whose lock is held.
    pub(crate) fn ask_about_listed(&self, id: DentryId, _held: &ChildrenHeld<'_>) -> Option<Asking<'_>> {
        self.begin_to_ask(id).then(|| Asking { caches: self, id: self.pin_listed(id), before: Before::Listed })
    }

    /// Sleeps while somebody else looks this name up. The caller has a pin.
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
    /// A new dentry that was shown, marked `IN_LOOKUP`; its pin is taken over.
    pub(crate) fn about_new(caches: &'a Caches, id: DentryId) -> Asking<'a> {
        Asking { caches, id, before: Before::New }
    }

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

    /// All of these names were answered for: the same, and their pins are given back.
    pub(crate) fn all_answered(caches: &Caches, answered: impl IntoIterator<Item = Asking<'a>>) {
        // One for all, between taking the marks away and looking for sleepers.
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
