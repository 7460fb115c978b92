//! Doubts: the file system reported that something changed without the engine, and what is cached
//! of it may be wrong.
//!
//! A report takes no directory's lock, because the reporting thread may be inside a call of the
//! file system that the engine made with that lock held. So a report changes no structure: it marks
//! entries as doubtful, attributes as unknown, and directories as not complete. The next walk that
//! comes to a doubtful entry asks the file system again, with the directory's lock held, and clears
//! the mark or drops the entry (`superblock/miss.rs`).
//!
//! An answer that is under way when the report comes may be older than the change. If its entry is
//! in the table already, the report marks the entry, and the answer does not clear the mark. If its
//! entry enters the table later, the thread that enters it compares the count of reports about the
//! directory, under the same children lock under which the report searches, with the count before
//! it asked, and enters it as doubtful. So once a report has returned, no walk that begins uses an
//! answer that was asked for before.
//!
//! A report about a name marks the attributes of the node by the entry of that name, and the entry
//! may have left the table while the node is cached by another one. So each answer to a lookup that
//! leads to a cached node is compared with what is cached of it (`Caches::compare`).
//!
//! A pass over many entries (a *sweep*) cannot see a file that is renamed from a directory that it
//! has not come to into one that it has left. So sweeps are counted, and a rename that runs beside
//! one marks what it moves, before it moves it. Directories are not moved meanwhile.
//!
//! A sweep by kind marks names that lead somewhere, absences or attributes alone. It is for a file
//! system that asks again after a time, and so reports often what has hardly ever changed. The
//! question is then [`FileSystem::confirm`](crate::FileSystem::confirm), if the file system has it.
//!
//! What it does not do: it evicts nothing and calls no file system. Doubtful entries leave the
//! cache when they are looked up, or when their slots are needed.

use super::dentry::flags;
use super::watch::Known;
use crate::cache::Caches;
use crate::cache::Pinned;
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::memory::{dir_lock, pin};
use crate::node::{Freshness, Sweep};
use crate::sync::{AtomicU64, Ordering, stripes, yield_now};

const STRIPES: usize = stripes(64);

/// The counts of reports. All are `SeqCst`: a thread that enters an answer and a thread that
/// reports each write before they read what the other one writes.
pub(crate) struct Doubts {
    /// The numbers of reports about names of a directory, by the directory's slot.
    of_names: Box<[AtomicU64]>,
    /// The number of reports about nodes by their keys. A node that is being made has no inode yet
    /// that could be marked.
    of_nodes: AtomicU64,
    /// The number of sweeps that began.
    begun: AtomicU64,
    /// The number of sweeps that ended.
    ended: AtomicU64,
}

/// The count of reports about a directory's names at the time when a thread asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfNames(u64);

/// The count of reports about nodes at the time when a thread asked for a new node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfNodes(u64);

/// The sweeps that had begun at some time.
#[derive(Clone, Copy)]
pub(crate) struct Sweeps {
    begun: u64,
    some_run: bool,
}

/// A sweep under way.
struct Sweeping<'a>(&'a Doubts);

impl Drop for Sweeping<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Doubts {
    pub(crate) fn new() -> Doubts {
        Doubts {
            of_names: (0..STRIPES).map(|_| AtomicU64::new(0)).collect(),
            of_nodes: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    fn stripe(&self, dir: DentryId) -> &AtomicU64 {
        &self.of_names[dir.0 as usize % STRIPES]
    }

    /// Returns the count of reports about a directory's names, before the file system is asked
    /// about one.
    pub(crate) fn of_names(&self, dir: DentryId) -> OfNames {
        OfNames(self.stripe(dir).load(Ordering::SeqCst))
    }

    /// Returns the count of reports about nodes, before a node is made.
    pub(crate) fn of_nodes(&self) -> OfNodes {
        OfNodes(self.of_nodes.load(Ordering::SeqCst))
    }

    /// Returns which sweeps there were, before something leaves a place where a sweep finds it.
    pub(crate) fn sweeps(&self) -> Sweeps {
        // In this order: a sweep that ends in between counts as running.
        let ended = self.ended.load(Ordering::SeqCst);
        let begun = self.begun.load(Ordering::SeqCst);
        Sweeps { begun, some_run: begun != ended }
    }

    /// Returns whether a sweep may have run at some time since.
    pub(crate) fn swept_since(&self, then: Sweeps) -> bool {
        then.some_run || self.begun.load(Ordering::SeqCst) != then.begun
    }

    fn sweep(&self) -> Sweeping<'_> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Sweeping(self)
    }

    fn report_names(&self, dir: DentryId) {
        self.stripe(dir).fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a report about a node, before the node is searched for.
    pub(crate) fn report_node(&self) {
        self.of_nodes.fetch_add(1, Ordering::SeqCst);
    }
}

impl Caches {
    /// Marks an entry as doubtful. The caller has a pin on it, or holds its parent's children lock.
    pub(crate) fn doubt(&self, id: DentryId) {
        self.change_flags(id, |flags| flags & !flags::SWEPT | flags::DOUBTFUL | flags::REVALIDATE);
    }

    /// Marks the entry that a dentry is, unless it is in no table. The caller has a pin on it.
    pub(crate) fn doubt_entry(&self, id: DentryId) {
        let dir = Pinned::new(self, self.pin_parent(id));
        let _held = self.dentries.children_lock(dir.id());
        if self.dentries.parent(id) == dir.id() && self.dentries.word(id) & flags::UNHASHED == 0 {
            self.doubt(id);
        }
    }

    /// Takes the answer that a name leads where it led, and clears the mark, unless there was a
    /// report about the directory since `asked` was read. The caller holds the directory's lock and
    /// a pin on the entry.
    pub(crate) fn confirm(&self, dir: DentryId, id: DentryId, freshness: Freshness, asked: OfNames) {
        // Once the report is counted, it marks the entry under this lock.
        let _held = self.dentries.children_lock(dir);
        if self.doubts.of_names(dir) == asked {
            self.set_freshness(id, freshness);
        }
    }

    /// Takes the children locks under which entries leave their places. Returns whether a sweep ran
    /// since `then`. If so, nothing is known of their nodes: the sweep may not find them any more.
    /// A sweep that begins when the locks are held finds the entries where they are then.
    pub(crate) fn lock_beside_sweeps<L>(&self, then: Sweeps, leave: &[DentryId], lock: impl Fn() -> L) -> (L, bool) {
        loop {
            let begun = self.doubts.begun.load(Ordering::SeqCst);
            let swept = self.doubts.swept_since(then);
            if swept {
                leave.iter().for_each(|id| self.mark_node_of(*id));
            }
            let held = lock();
            if self.doubts.begun.load(Ordering::SeqCst) == begun {
                return (held, swept);
            }
        }
    }

    /// Clears the mark of an entry that the caller is about to ask about, or has taken out of the
    /// table.
    pub(crate) fn clear_doubt(&self, id: DentryId) {
        self.change_flags(id, |flags| flags & !(flags::DOUBTFUL | flags::REVALIDATE | flags::SWEPT));
    }

    fn is_directory(&self, id: DentryId) -> bool {
        self.dentries.word(id) & flags::DIRECTORY != 0
    }

    /// Marks what is cached of a name, and the attributes of its node. Returns the entry, if there
    /// is one. The caller has a pin on the directory.
    pub(crate) fn doubt_name(&self, dir: DentryId, name: &[u8]) -> Option<Pinned<'_>> {
        if !self.is_directory(dir) {
            return None;
        }
        self.doubts.report_names(dir);
        let entry = loop {
            let held = self.dentries.children_lock(dir);
            self.set_known(dir, Known::Nothing, &held);
            let Some(id) = self.probe_exact(dir, name, &held) else { break None };
            self.doubt(id);
            if let Some(id) = self.try_pin_listed(id) {
                break Some(Pinned::new(self, id));
            }
            drop(held);
            // It is turning negative, which takes a few stores.
            yield_now();
        };
        // Lookups under way may have the attributes of a node that has no inode yet.
        self.versions.set_one();
        self.mark_stale(self.dentries.inode(dir));
        if let Some(entry) = &entry {
            self.mark_node_of(entry.id());
        }
        entry
    }

    /// Marks what is cached of all names of a directory, and the attributes of their nodes, but
    /// nothing below them. Returns the entries.
    pub(crate) fn doubt_names(&self, dir: DentryId) -> Vec<Pinned<'_>> {
        let sweep = self.doubts.sweep();
        let entries = self.doubt_children(dir);
        drop(sweep);
        self.versions.set_one();
        self.mark_stale(self.dentries.inode(dir));
        entries.iter().for_each(|entry| self.mark_node_of(entry.id()));
        entries
    }

    /// Marks everything that is cached below a directory on which the caller has a pin. Returns the
    /// entries, parents before children. Moves of directories wait meanwhile.
    pub(crate) fn doubt_below(&self, top: DentryId) -> Vec<Pinned<'_>> {
        let mut below = Vec::new();
        {
            let _still = self.moves.stop();
            let _sweep = self.doubts.sweep();
            let (mut dir, mut at) = (top, 0);
            loop {
                below.append(&mut self.doubt_children(dir));
                let is_directory = |entry: &Pinned<'_>| self.is_directory(entry.id());
                let Some(next) = below[at..].iter().position(is_directory) else { break };
                dir = below[at + next].id();
                at += next + 1;
            }
        }
        self.versions.set_one();
        self.mark_stale(self.dentries.inode(top));
        below.iter().for_each(|entry| self.mark_node_of(entry.id()));
        below
    }

    /// Marks everything that is cached of a file system, also what is held and has no name any
    /// more. Cost: a pass over all slots.
    pub(crate) fn doubt_all(&self, superblock: SuperblockId) {
        self.doubts.report_node();
        self.versions.set_one();
        let _sweep = self.doubts.sweep();
        for slot in 1..self.dentries.free().touched() {
            let id = DentryId(slot);
            let Some(life) = pin::read(self.dentries.life(id)) else { continue };
            if !pin::pin(self.dentries.life(id), life) {
                continue;
            }
            let dir = Pinned::new(self, id);
            let inode = self.dentries.inode(id);
            let is_of_it = inode != InodeId::NONE && self.superblock_of(inode) == superblock;
            if is_of_it {
                drop(self.doubt_children(id));
                self.mark_unknown(inode);
                self.leave_body_out(inode);
            }
            drop(dir);
        }
    }

    /// Marks what is cached of these kinds, of a file system. Cost: a pass over all slots; only
    /// directories are pinned, unless attributes are among the kinds.
    pub(crate) fn doubt_kinds(&self, superblock: SuperblockId, of: Sweep) {
        self.doubts.report_node();
        if of.contains(Sweep::ATTRIBUTES) {
            self.versions.set_one();
        }
        let _sweep = self.doubts.sweep();
        for slot in 1..self.dentries.free().touched() {
            let id = DentryId(slot);
            // A slot that becomes a directory later has no older names.
            let has_names = self.is_directory(id) && of.intersects(Sweep::NAMES | Sweep::ABSENCES);
            if !has_names && !of.contains(Sweep::ATTRIBUTES) {
                continue;
            }
            let Some(life) = pin::read(self.dentries.life(id)) else { continue };
            if !pin::pin(self.dentries.life(id), life) {
                continue;
            }
            let entry = Pinned::new(self, id);
            let inode = self.dentries.inode(id);
            if inode != InodeId::NONE && self.superblock_of(inode) == superblock {
                if has_names {
                    self.doubt_kinds_in(id, of);
                }
                if of.contains(Sweep::ATTRIBUTES) {
                    self.mark_unknown(inode);
                }
            }
            drop(entry);
        }
    }

    /// Marks the names of these kinds in a directory.
    ///
    /// A change that is under way makes an absence of a name, or the other way round, and may have
    /// asked the file system before this report. It holds the directory's lock, and keeps the mark
    /// of its entry. So both kinds are marked then. A change that takes the lock later asks later.
    fn doubt_kinds_in(&self, dir: DentryId, of: Sweep) {
        self.doubts.report_names(dir);
        let changes = dir_lock::is_held_exclusively(self.dentries.lock(dir));
        let held = self.dentries.children_lock(dir);
        if of.contains(Sweep::ABSENCES) {
            self.set_known(dir, Known::Nothing, &held);
        }
        for id in self.children(dir, &held) {
            match self.dentries.word(id) {
                word if changes || word & flags::IN_LOOKUP != 0 => self.doubt(id),
                word if word & flags::NEGATIVE != 0 && !of.contains(Sweep::ABSENCES) => {}
                word if word & flags::NEGATIVE == 0 && !of.contains(Sweep::NAMES) => {}
                _ => self.sweep_over(id),
            }
        }
    }

    /// Marks an entry as doubtful. If it was so before, it was not asked about since.
    fn sweep_over(&self, id: DentryId) {
        self.change_flags(id, |flags| match flags & flags::DOUBTFUL {
            0 => flags | flags::DOUBTFUL | flags::REVALIDATE | flags::SWEPT,
            _ => flags & !flags::SWEPT,
        });
    }

    /// Marks all children of a directory, and returns them.
    fn doubt_children(&self, dir: DentryId) -> Vec<Pinned<'_>> {
        if !self.is_directory(dir) {
            return Vec::new();
        }
        self.doubts.report_names(dir);
        loop {
            let held = self.dentries.children_lock(dir);
            self.set_known(dir, Known::Nothing, &held);
            self.children(dir, &held).for_each(|id| self.doubt(id));
            let pinned = |id| self.try_pin_listed(id).map(|id| Pinned::new(self, id));
            let all: Option<Vec<_>> = self.children(dir, &held).map(pinned).collect();
            drop(held);
            match all {
                Some(all) => return all,
                // One is turning negative, which takes a few stores.
                None => yield_now(),
            }
        }
    }

    fn mark_node_of(&self, entry: DentryId) {
        let inode = self.dentries.inode(entry);
        if inode != InodeId::NONE {
            self.mark_unknown(inode);
        }
    }
}
