//! Reclaim: the choice of what to evict when no slot is left.
//!
//! - [`hands`]: which dentry goes;
//! - [`uses`]: what is recorded of each dentry for that;
//! - [`left`]: what was removed while it was pinned.
//!
//! Cached children pin their directory, so children go before parents. A pinned dentry is never
//! evicted. Inodes and side lines go with their dentries.
//!
//! A dentry is killed under its parent's children lock, and its count is odd before its table entry
//! is cleared. So no reader uses it any more when another dentry of that name is put into the
//! table. What the dentry held is given back after that, its parent last.

mod hands;
pub(crate) mod left;
pub(crate) mod uses;

use super::dcache::dentry::{WORD, chain_of, flags, inode_of, set_inode_chain, set_parent_length};
use super::dcache::watch::Known;
use super::icache::inode;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::Caches;
use crate::memory::lines::Line;
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{pin, seqcount};
use crate::sync::{Ordering, yield_now};

/// The kind of slots that are short.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    /// Dentries, or inodes, one of which any dentry may have.
    Dentries,
    /// Side lines, which few dentries have.
    SideLines,
}

/// The number of failed searches in a row, with no eviction or parking by any thread in between,
/// after which everything counts as pinned.
const QUIET: u32 = 2;
/// The number of failed searches after which everything counts as pinned, whatever other threads
/// do.
const LOOKS: u32 = 32;

impl Caches {
    /// Returns what `take` takes, and evicts until it takes something. Fails with `ENFILE` if
    /// everything is pinned.
    ///
    /// Other threads may take what one thread evicts, and pin dentries that it has not come to yet.
    /// So one failed search says little. This function fails after [`QUIET`] failed searches in a
    /// row between which no thread evicted or parked a dentry. It also fails after [`LOOKS`] failed
    /// searches, since what other threads evict may never be of the kind that is short.
    pub(crate) fn take<T>(&self, short: Short, take: impl Fn() -> Option<T>) -> Result<T, Errno> {
        // Dentries with side lines may be pinned by children without side lines. At most `capacity`
        // of those can exist at once; beyond that number, evicted ones are being replaced by new
        // ones.
        let mut others = if short == Short::SideLines { self.dentries.free().capacity() } else { 0 };
        let (mut looks, mut quiet, mut before, mut batch) = (0, 0, None, 1u32);
        loop {
            if let Some(taken) = take() {
                return Ok(taken);
            }
            if self.evict_some(short) {
                continue;
            }
            if others > 0 && self.evict_some(Short::Dentries) {
                // The batch doubles each time, since each batch follows a failed search of all
                // slots.
                let more = (1..batch).take_while(|_| self.evict_some(Short::Dentries)).count() as u32;
                (others, batch) = (others.saturating_sub(1 + more), batch.saturating_mul(2));
                continue;
            }
            let now = (self.counters.evictions(), self.dentries.parked().settled());
            let is_quiet = before.replace(now) == Some(now) && now.1.is_some();
            quiet = if is_quiet { quiet + 1 } else { 0 };
            looks += 1;
            if quiet == QUIET || looks == LOOKS {
                return take().ok_or(Errno::ENFILE);
            }
            yield_now();
        }
    }

    /// Returns the result of `ask`, which calls the file system. On `ENOSPC`, evicts removed nodes
    /// that were held and are no longer held, so that the file system is told to forget them. If
    /// there were any, asks once more.
    pub(crate) fn with_room<T>(&self, ask: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        match ask() {
            Err(Errno::ENOSPC) if self.collect_removed() => ask(),
            answer => answer,
        }
    }

    /// Evicts dentries that are out of the table and idle, and the directories that only they
    /// pinned. Returns false if there were none.
    pub(crate) fn collect_removed(&self) -> bool {
        (0..self.dentries.free().touched()).filter(|slot| self.collect_from(DentryId(*slot))).count() > 0
    }

    /// Evicts a dentry if it is out of the table and idle, and then the directories above that only
    /// it pinned, if they are out of it, too. Returns false if there was none. The slot may hold
    /// another dentry by now: `id` may be a guess.
    pub(crate) fn collect_from(&self, mut id: DentryId) -> bool {
        let mut found = false;
        loop {
            // The parent is read first, since the slot is given away. It may be a guess:
            // `try_evict` checks again.
            let parent = self.dentries.parent(id);
            if !(self.is_out(id) && pin::is_idle(self.dentries.life(id)) && self.try_evict(id)) {
                return found;
            }
            found = true;
            id = parent;
        }
    }

    /// Gives back the pin on a dentry that was removed or invalidated, and evicts it if there is no
    /// other; else notes it. Looks at a few that were noted before, too.
    pub(crate) fn discard_out(&self, id: DentryId) {
        self.collect_left();
        self.dentries.unpin(id);
        self.collect_or_note(id);
    }

    /// Evicts a few of the dentries that were noted, if they are not pinned by now.
    pub(crate) fn collect_left(&self) {
        let some = self.left.take_some();
        some.into_iter().for_each(|id| self.collect_or_note(id));
    }

    fn collect_or_note(&self, id: DentryId) {
        if !self.collect_from(id) && self.is_out(id) {
            self.left.add(id);
        }
    }

    /// Returns whether a dentry is out of the table. A guess, unless the caller has a pin.
    fn is_out(&self, id: DentryId) -> bool {
        self.dentries.word(id) & flags::UNHASHED != 0
    }

    /// Returns whether a dentry or its inode has side lines. The result is a guess, since the
    /// dentry may change meanwhile.
    fn has_side_lines(&self, line: &Line) -> bool {
        let has_body = |id: InodeId| {
            let record = self.inodes.record(id);
            let is_link = inode::kind_of(record[inode::WORD].load(Ordering::Relaxed)) == FileType::Symlink;
            is_link && inode::aux_of(record[inode::LINKS_AUX].load(Ordering::Relaxed)) != 0
        };
        chain_of(line) != 0 || has_body(inode_of(line))
    }

    /// Evicts a dentry if it is not pinned. The slot may hold another dentry by now: `id` may be a
    /// guess.
    pub(crate) fn try_evict(&self, id: DentryId) -> bool {
        let life = self.dentries.life(id);
        let line = self.dentries.line(id);
        let word = seqcount::sample(&line[WORD]);
        let parent = self.dentries.parent(id);
        if word & seqcount::ODD != 0 || !pin::is_idle(life) {
            return false;
        }
        let held = self.dentries.children_lock(parent);
        // The word is unchanged, so it is still a child of the directory whose lock is held.
        if !seqcount::unchanged(&line[WORD], word) || !pin::kill(life) {
            return false;
        }
        let writing = self.dentries.write(id);
        let hash = (writing.flags() & flags::UNHASHED == 0).then(|| self.hash_of(parent, id));
        if let Some(hash) = hash {
            // An absence in doubt may stand for a name, which a listing has found in the table.
            if writing.flags() & flags::NEGATIVE == 0 || writing.flags() & flags::DOUBTFUL != 0 {
                self.set_known(parent, Known::Nothing, &held);
            }
            self.dentries.table().remove(hash, id.0);
            self.list_remove(parent, id);
        }
        self.uses.end(id, hash);
        let (inode, chain) = (inode_of(line), chain_of(line));
        set_parent_length(line, DentryId::NONE, 0);
        set_inode_chain(line, InodeId::NONE, 0);
        writing.end(flags::UNHASHED);
        drop(held);
        self.give_back(id, parent, inode, chain);
        true
    }

    fn give_back(&self, id: DentryId, parent: DentryId, inode: InodeId, chain: u32) {
        let give = || {
            self.side.release(chain);
            self.dentries.give(id);
            // A root is its own parent, and has no pin on itself.
            if parent != id {
                self.dentries.unpin(parent);
            }
        };
        if inode == InodeId::NONE { give() } else { drop(self.part(id, inode, give)) }
    }
}
