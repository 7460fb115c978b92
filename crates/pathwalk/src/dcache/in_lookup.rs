//! One question to the file system for a missing name, however many ask.
//!
//! Whoever misses a name puts a dentry marked `IN_LOOKUP` where the answer will be, and asks. Others find that dentry and sleep until
//! it is unmarked. All of them hold the directory's lock shared, so no change of the directory runs meanwhile. If the one who
//! asks fails or panics, the dentry leaves the table, still marked, so that a walk that found it believes nothing of it; and those
//! who sleep start again.
//!
//! A name that was listed has its dentry already: whoever misses it takes on to ask by unmarking it, and marks it again if that fails.

use super::children::NameIs;
use super::complete::Known;
use super::dentry::{DentryId, flags};
use crate::Errno;
use crate::memory::alone::{Alone, apart};
use crate::sync::{AtomicU32, Condvar, Mutex, MutexGuard, Ordering, fence, stripes, wait};
use crate::vfs::Core;

const STRIPES: usize = stripes(64);

/// Where threads sleep for somebody else's answer.
pub(crate) struct Waiters(Box<[Alone<Bed>]>);

/// For those names whose dentries map to it.
#[derive(Default)]
pub(crate) struct Bed {
    /// Who are asleep, or about to be. Written under the lock.
    ///
    /// Pairs: who waits counts himself and then looks at the mark; who answers takes the mark away and then looks at the count; a SeqCst fence between
    /// both. So one of them sees the other.
    sleepers: AtomicU32,
    lock: Mutex<()>,
    condvar: Condvar,
}

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters(apart(STRIPES, Bed::default))
    }

    fn of(&self, id: DentryId) -> &Bed {
        &self.0[id.0 as usize % STRIPES]
    }
}

impl Bed {
    /// Sleeps while `is_marked`.
    pub(crate) fn sleep_while(&self, is_marked: impl Fn() -> bool) {
        let mut held = self.lock.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while is_marked() {
            held = wait(&self.condvar, held);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// A mark was taken away: wakes whoever sleeps for it, or for another.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        self.wake_if_asleep();
    }

    /// The same by somebody whose fence came after the mark was taken away.
    fn wake_if_asleep(&self) {
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Under the lock: who saw the mark is asleep by now.
        let _held = self.lock.lock();
        self.condvar.notify_all();
    }
}

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
    core: &'a Core,
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

impl Core {
    /// Enters a name that was missed. The caller holds the directory's lock shared, and a pin on it. (Whoever holds it exclusively has
    /// nobody to wait for him, and needs none of this.)
    pub(crate) fn begin_lookup(&self, parent: DentryId, name: &[u8]) -> Result<Missing<'_>, Errno> {
        let absence = self.fs.absence();
        let id = self.new_dentry(parent, name, flags::IN_LOOKUP)?;
        let held = self.dentries.children_lock(parent);
        let Some(found) = self.probe_exact(parent, name, &held).map(|id| self.pin_listed(id)) else {
            let is_absent = self.known(parent, &held) == Known::All;
            if is_absent {
                self.make_negative(id, absence);
                self.counters.known_absent();
            }
            self.hash_in(parent, id, &held);
            let asking = || Asking { core: self, id, before: Before::New };
            return Ok(if is_absent { Missing::Absent(id) } else { Missing::Ask(asking()) });
        };
        let asks = self.begin_to_ask(found);
        drop(held);
        self.discard(id);
        Ok(if asks { Missing::Ask(Asking { core: self, id: found, before: Before::Listed }) } else { Missing::Found(found) })
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
    pub(super) fn ask_about_listed(&self, id: DentryId, _held: &MutexGuard<'_, ()>) -> Option<Asking<'_>> {
        self.begin_to_ask(id).then(|| Asking { core: self, id: self.pin_listed(id), before: Before::Listed })
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
    pub(super) fn about_new(core: &'a Core, id: DentryId) -> Asking<'a> {
        Asking { core, id, before: Before::New }
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
    pub(super) fn all_answered(core: &Core, answered: impl IntoIterator<Item = Asking<'a>>) {
        // One for all, between taking the marks away and looking for sleepers.
        fence(Ordering::SeqCst);
        for asking in answered {
            core.waiters.of(asking.id).wake_if_asleep();
            core.dentries.unpin(asking.id);
            std::mem::forget(asking);
        }
    }

    fn wake(&self) {
        self.core.waiters.of(self.id).wake();
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let parent = self.core.dentries.parent(self.id);
        {
            let held = self.core.dentries.children_lock(parent);
            match self.before {
                Before::New => self.core.unhash(parent, self.id, NameIs::Unknown, &held),
                Before::Listed => self.core.change_flags(self.id, |flags| flags | flags::LISTED),
            }
        }
        self.wake();
        match self.before {
            Before::New => self.core.discard(self.id),
            Before::Listed => self.core.dentries.unpin(self.id),
        }
    }
}
