//! What to evict when no slot is left: second chance, by the hand of a clock over all dentries.
//!
//! A hit marks the dentry that it reached, once; the hand clears marks and evicts what it finds unmarked and unpinned. A directory with
//! cached children is pinned by them, so children go before parents. Inodes and side lines go with their dentries.
//!
//! A dentry is killed under its parent's children lock, and with its count odd before its entry is cleared: no reader believes it
//! any more when another dentry of that name is put. What it held is given back after all that, its parent last.
//!
//! What it does not do: it knows nothing of how often something was used.

use super::{pin, seqcount};
use crate::Errno;
use crate::dcache::complete::Known;
use crate::dcache::dentry::{DentryId, InodeId, VISITED, WORD, chain_of, flags, inode_of, set_inode_chain, set_parent_length};
use crate::icache::inode;
use crate::memory::lines::Line;
use crate::sync::{AtomicU32, Ordering};
use crate::vfs::Core;

/// What there is too little of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    /// Dentries, or inodes, of which any dentry may have one.
    Dentries,
    /// Side lines, which few dentries have.
    SideLines,
}

/// The hand of the clock.
pub(crate) struct Hand(AtomicU32);

impl Hand {
    pub(crate) fn new() -> Hand {
        Hand(AtomicU32::new(0))
    }

    fn next(&self, touched: u32) -> DentryId {
        DentryId(self.0.fetch_add(1, Ordering::Relaxed) % touched.max(1))
    }
}

impl Core {
    /// What `take` takes, evicting until there is some. `ENFILE` if everything is pinned.
    pub(crate) fn take<T>(&self, short: Short, take: impl Fn() -> Option<T>) -> Result<T, Errno> {
        loop {
            if let Some(taken) = take() {
                return Ok(taken);
            }
            // Dentries with side lines may be pinned by children without.
            let helped = self.evict_one(short) || short == Short::SideLines && self.evict_one(Short::Dentries);
            if !helped {
                return take().ok_or(Errno::ENFILE);
            }
        }
    }

    /// Evicts one dentry that helps. False if two rounds of the hand found none.
    pub(crate) fn evict_one(&self, short: Short) -> bool {
        let touched = self.dentries.free().touched();
        for _ in 0..2 * u64::from(touched) {
            let id = self.hand.next(touched);
            if !pin::is_idle(self.dentries.life(id)) {
                continue;
            }
            let line = self.dentries.line(id);
            if short == Short::SideLines && !self.has_side_lines(line) {
                continue;
            }
            if line[VISITED].load(Ordering::Relaxed) != 0 {
                line[VISITED].store(0, Ordering::Relaxed);
            } else if self.try_evict(id) {
                self.counters.eviction();
                return true;
            }
        }
        false
    }

    /// What `ask` says of the file system; asked again if that has no room, but may have once it is told of the nodes that were removed while
    /// somebody held them and that nobody holds any more.
    pub(crate) fn with_room<T>(&self, ask: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        match ask() {
            Err(Errno::ENOSPC) if self.collect_removed() => ask(),
            answer => answer,
        }
    }

    /// Evicts what is out of the table and idle. False if there was nothing.
    fn collect_removed(&self) -> bool {
        let mut found = false;
        for slot in 0..self.dentries.free().touched() {
            let id = DentryId(slot);
            let is_out = pin::is_idle(self.dentries.life(id)) && self.dentries.word(id) & flags::UNHASHED != 0;
            found |= is_out && self.try_evict(id);
        }
        found
    }

    /// A guess, since nothing holds the dentry still.
    fn has_side_lines(&self, line: &Line) -> bool {
        let body_of = |id: InodeId| self.inodes.record(id)[inode::WORD].load(Ordering::Relaxed) & inode::flags::BODY != 0;
        chain_of(line) != 0 || body_of(inode_of(line))
    }

    /// Evicts a dentry if nobody pins it. It may be anything by now: a guess of a slot is enough.
    pub(crate) fn try_evict(&self, id: DentryId) -> bool {
        let life = self.dentries.life(id);
        let line = self.dentries.line(id);
        let word = seqcount::sample(&line[WORD]);
        let parent = self.dentries.parent(id);
        if word & seqcount::ODD != 0 || !pin::is_idle(life) {
            return false;
        }
        let held = self.dentries.children_lock(parent);
        // Unchanged: it is still a child of the directory whose lock this is.
        if !seqcount::unchanged(&line[WORD], word) || !pin::kill(life) {
            return false;
        }
        let writing = seqcount::write(&line[WORD]);
        if writing.flags() & flags::UNHASHED == 0 {
            if writing.flags() & flags::NEGATIVE == 0 {
                self.set_known(parent, Known::Nothing, &held);
            }
            self.dentries.table().remove(self.hash_of(parent, id), id.0);
            self.list_remove(parent, id);
        }
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
            self.dentries.unpin(parent);
        };
        if inode == InodeId::NONE { give() } else { drop(self.part(id, inode, give)) }
    }
}
