//! What to evict when no slot is left.
//!
//! - [`hands`]: which dentry goes;
//! - [`uses`]: what is remembered of each for that.
//!
//! A directory with cached children is pinned by them, so children go before parents; what is pinned never goes. Inodes and side lines go with their
//! dentries.
//!
//! A dentry is killed under its parent's children lock, and with its count odd before its entry is cleared: no reader believes it
//! any more when another dentry of that name is put. What it held is given back after all that, its parent last.

mod hands;
pub(crate) mod uses;

use super::dcache::dentry::{WORD, chain_of, flags, inode_of, set_inode_chain, set_parent_length};
use super::dcache::watch::Known;
use super::icache::inode;
use crate::Errno;
use crate::cache::Caches;
use crate::memory::lines::Line;
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{pin, seqcount};
use crate::sync::{Ordering, yield_now};

/// What there is too little of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    /// Dentries, or inodes, of which any dentry may have one.
    Dentries,
    /// Side lines, which few dentries have.
    SideLines,
}

/// Looks in vain, between which nobody evicted, after which all is said to be pinned.
const QUIET: u32 = 2;
/// Looks in vain after which it is said whatever the others do.
const LOOKS: u32 = 32;

impl Caches {
    /// What `take` takes, evicting until there is some. `ENFILE` if everything is pinned.
    ///
    /// Others take what one evicts, and pin what one has not come to yet: one look in vain says
    /// little. So it takes [`QUIET`] of them in a row between which no thread evicted or parked; or
    /// [`LOOKS`], since what others evict may never be what there is too little of.
    pub(crate) fn take<T>(&self, short: Short, take: impl Fn() -> Option<T>) -> Result<T, Errno> {
        // Dentries with side lines may be pinned by children without, which cannot be more than all: beyond that, they come anew.
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
                // Twice as many each time: each comes with a search in vain of all.
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

    /// What `ask` says of the file system; asked again if that has no room, but may have once it is told of the nodes that were removed while
    /// somebody held them and that nobody holds any more.
    pub(crate) fn with_room<T>(&self, ask: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        match ask() {
            Err(Errno::ENOSPC) if self.collect_removed() => ask(),
            answer => answer,
        }
    }

    /// Evicts what is out of the table and idle, and the directories that nothing else pinned. Returns false if there was nothing.
    pub(crate) fn collect_removed(&self) -> bool {
        let mut found = false;
        for slot in 0..self.dentries.free().touched() {
            let mut id = DentryId(slot);
            loop {
                // Read first, since the slot is given away. A guess is enough for what is tried.
                let parent = self.dentries.parent(id);
                let is_out = pin::is_idle(self.dentries.life(id)) && self.dentries.word(id) & flags::UNHASHED != 0;
                if !is_out || !self.try_evict(id) {
                    break;
                }
                found = true;
                id = parent;
            }
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
        let hash = (writing.flags() & flags::UNHASHED == 0).then(|| self.hash_of(parent, id));
        if let Some(hash) = hash {
            if writing.flags() & flags::NEGATIVE == 0 {
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
