//! The dentries that are in the table. A dentry enters and leaves the table together with the list
//! of its parent's children.
//!
//! Invariant: a dentry is in the table exactly if it is in its parent's list, and exactly if it is
//! not marked `UNHASHED`. All three change under the parent's children lock. So a holder of that
//! lock finds every cached name of the directory and no dentry that is dying. But it may find a
//! dentry that is turning negative, unless it holds the directory's lock as well.

use super::dentry::{ChildrenHeld, flags};
use super::watch::Known;
use crate::cache::Caches;
use crate::memory::pin;
use crate::memory::slot::DentryId;
use crate::sync::Ordering;

/// The state of a name whose dentry leaves the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameIs {
    /// The directory no longer has the name.
    Gone,
    /// The name may still be there: only the file system can say.
    Unknown,
}

impl Caches {
    /// Puts a dentry into table and list. It must be in neither, and no other dentry of that name
    /// may be. The parent's children lock is held.
    pub(crate) fn hash_in(&self, parent: DentryId, id: DentryId, held: &ChildrenHeld<'_>) {
        debug_assert!(held.covers(parent));
        let dentries = &self.dentries;
        let writing = dentries.write(id);
        let flags = writing.flags() & !flags::UNHASHED;
        writing.end(flags);
        dentries.table().put(self.hash_of(parent, id), id.0);
        self.list_push(parent, id);
    }

    /// Takes a dentry out of table and list; does nothing to either if the dentry is out already.
    /// The parent's children lock is held.
    pub(crate) fn unhash(&self, parent: DentryId, id: DentryId, name: NameIs, held: &ChildrenHeld<'_>) {
        debug_assert!(held.covers(parent));
        let writing = self.dentries.write(id);
        let flags = writing.flags();
        if flags & flags::UNHASHED == 0 {
            if name == NameIs::Unknown {
                self.set_known(parent, Known::Nothing, held);
            }
            self.dentries.table().remove(self.hash_of(parent, id), id.0);
            self.list_remove(parent, id);
        }
        writing.end(flags | flags::UNHASHED);
        // A doubt is about a name. A walk that found the entry in the table before, and samples its
        // word after, meets the directory's word changed.
        if flags & flags::DOUBTFUL != 0 {
            self.change_flags(parent, |flags| flags);
            self.clear_doubt(id);
        }
    }

    /// Changes the flags of a dentry, and keeps those that another writer stores at the same time.
    pub(crate) fn change_flags(&self, id: DentryId, change: impl FnOnce(u64) -> u64) {
        let writing = self.dentries.write(id);
        let flags = change(writing.flags());
        writing.end(flags);
    }

    pub(crate) fn list_push(&self, parent: DentryId, id: DentryId) {
        let head = self.dentries.first_child(parent);
        let next = head.load(Ordering::Relaxed) as u32;
        self.dentries.siblings(id).store(u64::from(next) << 32, Ordering::Relaxed);
        if next != 0 {
            self.set_previous(DentryId(next), id.0);
        }
        self.set_first_child(parent, id.0);
    }

    /// Stores the first child and keeps the note of what is known of the children as a whole.
    fn set_first_child(&self, parent: DentryId, child: u32) {
        let head = self.dentries.first_child(parent);
        let note = head.load(Ordering::Relaxed) >> 32 << 32;
        head.store(note | u64::from(child), Ordering::Relaxed);
    }

    pub(crate) fn list_remove(&self, parent: DentryId, id: DentryId) {
        let links = self.dentries.siblings(id).load(Ordering::Relaxed);
        let (next, previous) = ((links >> 32) as u32, links as u32);
        if next != 0 {
            self.set_previous(DentryId(next), previous);
        }
        if previous == 0 {
            self.set_first_child(parent, next);
        } else {
            let word = self.dentries.siblings(DentryId(previous));
            let kept = word.load(Ordering::Relaxed) & u64::from(u32::MAX);
            word.store(u64::from(next) << 32 | kept, Ordering::Relaxed);
        }
    }

    fn set_previous(&self, id: DentryId, previous: u32) {
        let word = self.dentries.siblings(id);
        let kept = word.load(Ordering::Relaxed) >> 32 << 32;
        word.store(kept | u64::from(previous), Ordering::Relaxed);
    }

    /// Returns the cached children, the newest first. The caller holds the children lock.
    pub(crate) fn children<'a>(&'a self, parent: DentryId, _held: &'a ChildrenHeld<'_>) -> impl Iterator<Item = DentryId> + 'a {
        let some = |id: u32| (id != 0).then_some(DentryId(id));
        let first = self.dentries.first_child(parent).load(Ordering::Relaxed) as u32;
        std::iter::successors(some(first), move |id| some((self.dentries.siblings(*id).load(Ordering::Relaxed) >> 32) as u32))
    }

    /// Returns some cached child, pinned, or `None` if there is none.
    pub(crate) fn any_child(&self, parent: DentryId) -> Option<DentryId> {
        self.first_listed(parent, &self.dentries.children_lock(parent))
    }

    /// Does the same for a caller that holds the children lock.
    pub(crate) fn first_listed(&self, parent: DentryId, _held: &ChildrenHeld<'_>) -> Option<DentryId> {
        let child = DentryId(self.dentries.first_child(parent).load(Ordering::Relaxed) as u32);
        (child != DentryId::NONE).then(|| self.pin_listed(child))
    }

    /// Pins a dentry that is in the list. The caller holds the list's lock and the directory's
    /// lock, so the dentry is neither dying nor turning negative.
    pub(crate) fn pin_listed(&self, id: DentryId) -> DentryId {
        self.try_pin_listed(id).expect("a dentry is killed under its parent's children lock, or the directory's own")
    }

    /// Does the same for a caller that does not hold the directory's lock. Returns `None` if the
    /// dentry is just turning negative.
    pub(crate) fn try_pin_listed(&self, id: DentryId) -> Option<DentryId> {
        let life = self.dentries.life(id);
        pin::read(life).is_some_and(|of| pin::pin(life, of)).then_some(id)
    }
}
