//! Searches for a dentry by parent and name, and creation of dentries.

use super::dentry::{
    ChildrenHeld, INLINE_NAME, NAME, WORD, chain_of, flags, forget_hit, has_parent_and_length, length_of, set_head,
    set_inode_chain, set_parent_length,
};
use crate::Errno;
use crate::cache::Caches;
use crate::cache::reclaim::Short;
use crate::limits::NAME_MAX;
use crate::memory::lines::Line;
use crate::memory::side::ChainReader;
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{pin, seqcount};
use crate::sync::{Ordering, yield_now};
use crate::text::swar::word_at;

impl Caches {
    /// Returns the name in a line. The result is valid only once the count is rechecked, or if the
    /// name cannot change meanwhile.
    pub(crate) fn name_of(&self, line: &Line) -> Vec<u8> {
        let mut name: Vec<u8> = self.name_words(line).flat_map(u64::to_le_bytes).collect();
        name.truncate(length_of(line));
        name
    }

    /// Returns the table's hash of a dentry whose name cannot change meanwhile.
    pub(crate) fn hash_of(&self, parent: DentryId, id: DentryId) -> u64 {
        self.hash.in_directory(self.hash.of_words(self.name_words(self.dentries.line(id))), parent.0)
    }

    fn name_words<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = u64> + 'a {
        // The length is bounded because the read may be torn.
        let length = length_of(line).min(NAME_MAX);
        let chain = ChainReader::new(self.side.lines(), chain_of(line));
        (0..length).step_by(8).map(move |at| match at.checked_sub(INLINE_NAME) {
            None => line[NAME + at / 8].load(Ordering::Relaxed),
            Some(past) => chain.word(past / 8),
        })
    }

    /// Returns the dentry of a name, and its word, which the caller has to recheck. Takes no lock;
    /// may miss a cached name.
    pub(crate) fn probe(&self, parent: DentryId, name: &[u8]) -> Option<(DentryId, u64)> {
        let hash = self.hash.in_directory(self.hash.name(name), parent.0);
        self.dentries.table().find(hash, |slot| {
            let line = self.dentries.hot().get(slot as usize)?;
            let word = seqcount::sample(&line[WORD]);
            self.is_named(line, parent, name).then_some((DentryId(slot), word))
        })
    }

    /// Returns the word of a dentry if the dentry seems to have this name. The caller has to
    /// recheck the word.
    pub(crate) fn word_if_named(&self, id: DentryId, parent: DentryId, name: &[u8]) -> Option<u64> {
        let line = self.dentries.line(id);
        let word = seqcount::sample(&line[WORD]);
        self.is_named(line, parent, name).then_some(word)
    }

    fn is_named(&self, line: &Line, parent: DentryId, name: &[u8]) -> bool {
        if !has_parent_and_length(line, parent, name.len()) {
            return false;
        }
        let (head, tail) = name.split_at(name.len().min(INLINE_NAME));
        let chain = ChainReader::new(self.side.lines(), chain_of(line));
        (0..head.len().div_ceil(8)).all(|at| line[NAME + at].load(Ordering::Relaxed) == word_at(head, at * 8))
            && (0..tail.len().div_ceil(8)).all(|at| chain.word(at) == word_at(tail, at * 8))
    }

    /// Returns the dentry of a name, pinned, if it is cached. Takes no lock; may miss a cached
    /// name.
    pub(crate) fn find_pinned(&self, parent: DentryId, name: &[u8]) -> Option<DentryId> {
        loop {
            let (id, word) = self.probe(parent, name)?;
            if self.dentries.pin_sampled(id, word) {
                return Some(id);
            }
            // A writer holds the dentry's count odd, or has just changed the dentry. Writers take
            // only a few stores.
            yield_now();
        }
    }

    /// Returns the dentry of a name if it is cached. The search is exact, since the parent's
    /// children lock is held.
    ///
    /// A candidate with the same tag may be a dentry of another directory. Then this lock does not
    /// keep it from changing, and it may become a new dentry of this name that is not shown yet. So
    /// each candidate is read as of one instant, and must be hashed.
    pub(crate) fn probe_exact(&self, parent: DentryId, name: &[u8], held: &ChildrenHeld<'_>) -> Option<DentryId> {
        debug_assert!(held.covers(parent));
        let hash = self.hash.in_directory(self.hash.name(name), parent.0);
        self.dentries.table().find(hash, |slot| {
            let line = self.dentries.hot().get(slot as usize)?;
            loop {
                let word = seqcount::sample_even(&line[WORD]);
                let named = self.is_named(line, parent, name);
                if seqcount::unchanged(&line[WORD], word) {
                    return (named && word & flags::UNHASHED == 0).then_some(DentryId(slot));
                }
            }
        })
    }

    /// Returns the dentry of a name, pinned, found exactly.
    pub(crate) fn find_exact(&self, parent: DentryId, name: &[u8]) -> Option<DentryId> {
        let held = self.dentries.children_lock(parent);
        self.probe_exact(parent, name, &held).map(|id| self.pin_listed(id))
    }

    /// Creates a dentry that no other thread sees: pinned once, unhashed, with no inode. The caller
    /// has a pin on the parent. Fails with `ENFILE` if pinned entries use up the budget.
    pub(crate) fn new_dentry(&self, parent: DentryId, name: &[u8], flags: u64) -> Result<DentryId, Errno> {
        let id = self.take(Short::Dentries, || self.dentries.take())?;
        self.fill_new(id, parent, name, flags)
    }

    /// Does the same in a slot that the caller took. Gives the slot back on an error.
    pub(crate) fn fill_new(&self, id: DentryId, parent: DentryId, name: &[u8], flags: u64) -> Result<DentryId, Errno> {
        let tail = name.get(INLINE_NAME..).unwrap_or(&[]);
        let chain = self.take(Short::SideLines, || self.side.store(tail)).inspect_err(|_| self.dentries.give(id))?;
        self.dentries.pin_again(parent);

        let line = self.dentries.line(id);
        // The first access to the line is a write: a page that is read before it is written costs
        // two page faults.
        forget_hit(line);
        let writing = seqcount::write_alone(&line[WORD]);
        set_parent_length(line, parent, name.len());
        set_inode_chain(line, InodeId::NONE, chain);
        set_head(line, name);
        self.dentries.siblings(id).store(0, Ordering::Relaxed);
        self.dentries.first_child(id).store(0, Ordering::Relaxed);
        writing.end(flags | flags::UNHASHED);
        let hash = self.hash.in_directory(self.hash.name(name), parent.0);
        self.uses.begin(id, hash, flags & flags::NEGATIVE != 0);
        pin::revive(self.dentries.life(id));
        Ok(id)
    }

    /// Creates the dentry of a root: nameless, its own parent, pinned once. Fails with `ENFILE` if
    /// pinned entries use up the budget.
    pub(crate) fn new_root(&self) -> Result<DentryId, Errno> {
        let root = self.take(Short::Dentries, || self.dentries.take())?;
        let line = self.dentries.line(root);
        let writing = seqcount::write_alone(&line[WORD]);
        set_parent_length(line, root, 0);
        writing.end(flags::UNHASHED);
        pin::revive(self.dentries.life(root));
        Ok(root)
    }

    /// Gives back a pin on a dentry that is probably garbage, and evicts the dentry if it is.
    pub(crate) fn discard(&self, id: DentryId) {
        self.dentries.unpin(id);
        self.try_evict(id);
    }
}
