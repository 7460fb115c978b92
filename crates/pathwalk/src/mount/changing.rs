//! A change of the records of mounts, under the lock of the tree.
//!
//! What always holds: the records that a change touches stay odd until its end, and so does the
//! count of changes. So no walk sees half of a change: it sees the state before the change, or
//! waits.

use std::cell::RefCell;

use super::id_maps::IdMapNumber;
use super::place::Place;
use super::records::{AT, MAP, MountRecords, NUMBER, ROOT, WORD, flags};
use super::switches::Switches;
use super::tree::Attributes;
use crate::abi::SuperblockFlags;
use crate::memory::seqcount::{self, ODD, Writing};
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::sync::Ordering;

/// A change that is under way until this is dropped.
pub(super) struct Changing<'a> {
    records: &'a MountRecords,
    /// The mounts that the change touches, each once.
    opened: RefCell<Vec<MountId>>,
}

impl<'a> Changing<'a> {
    /// Begins a change. The tree's lock is held.
    pub(super) fn begin(records: &'a MountRecords) -> Changing<'a> {
        records.begin_change();
        Changing { records, opened: RefCell::default() }
    }

    fn open(&self, mount: MountId) -> Writing<'_> {
        const OURS: u64 = ODD | flags::CHANGING;
        let word = &self.records.line(mount)[WORD];
        if word.load(Ordering::Relaxed) & OURS == OURS {
            return seqcount::resume(word);
        }
        self.opened.borrow_mut().push(mount);
        seqcount::write(word)
    }

    fn alter(&self, mount: MountId, change: impl FnOnce(u64) -> u64) {
        let writing = self.open(mount);
        let flags = change(writing.flags()) | flags::CHANGING;
        writing.leave(flags);
    }

    /// Fills a slot that belongs to the caller: pinned once, at no place yet.
    pub(super) fn fill(
        &self,
        mount: MountId,
        root: DentryId,
        (superblock, of_superblock): (SuperblockId, SuperblockFlags),
        attributes: &Attributes,
    ) {
        let switches = Switches { own: attributes.flags, superblock: of_superblock };
        self.records.note(switches);
        self.records.note_map(attributes.id_map);
        self.alter(mount, |_| {
            let line = self.records.line(mount);
            line[AT].store(Place::NONE.bits(), Ordering::Relaxed);
            line[ROOT].store(u64::from(root.0) << 32 | u64::from(superblock.0), Ordering::Relaxed);
            line[MAP].store(IdMapNumber::word(attributes.id_map), Ordering::Release);
            switches.in_word(0)
        });
        self.records.begin_life(mount, switches);
    }

    /// Stores the number by which users know a mount.
    pub(super) fn set_number(&self, mount: MountId, number: u64) {
        self.alter(mount, |flags| {
            self.records.line(mount)[NUMBER].store(number, Ordering::Relaxed);
            flags
        });
    }

    /// Makes a mount cover a place on which nothing else is mounted.
    pub(super) fn show(&self, mount: MountId, at: Place) {
        self.alter(mount, |flags| {
            self.records.line(mount)[AT].store(at.bits(), Ordering::Relaxed);
            self.records.enter(mount, at);
            flags | flags::SHOWN
        });
    }

    /// Stops a mount from covering its place; returns that place.
    pub(super) fn hide(&self, mount: MountId) -> Place {
        let at = Place::from_bits(self.records.line(mount)[AT].load(Ordering::Relaxed));
        self.alter(mount, |flags| {
            self.records.leave(mount, at);
            self.records.line(mount)[AT].store(Place::NONE.bits(), Ordering::Relaxed);
            flags & !(flags::SHOWN | flags::EXPIRES)
        });
        at
    }

    /// Gives a mount other attributes. If they forbid writers, the caller has refused writers
    /// already.
    pub(super) fn set(&self, mount: MountId, to: &Attributes) {
        self.records.note_map(to.id_map);
        let switches = Switches { own: to.flags, ..self.records.switches(mount) };
        self.switch(mount, switches, || {
            self.records.line(mount)[MAP].store(IdMapNumber::word(to.id_map), Ordering::Release);
        });
    }

    /// Gives a mount's record these switches of its superblock. If they forbid writers, the caller
    /// has refused writers already.
    pub(super) fn set_superblock(&self, mount: MountId, to: SuperblockFlags) {
        let switches = Switches { superblock: to, ..self.records.switches(mount) };
        self.switch(mount, switches, || {});
    }

    fn switch(&self, mount: MountId, to: Switches, with: impl FnOnce()) {
        self.records.note(to);
        self.alter(mount, |flags| {
            with();
            to.in_word(flags)
        });
        if !to.is_read_only() {
            self.records.refuse_writers(mount, false);
        }
    }

    /// Marks a mount to expire at the next request, unless it is used before. Returns whether it
    /// was marked already, so that it expires with this request.
    pub(super) fn expire(&self, mount: MountId) -> bool {
        let mut before = 0;
        self.alter(mount, |flags| {
            before = flags;
            flags | flags::EXPIRES
        });
        before & flags::EXPIRES != 0
    }

    /// Records that the tree keeps a mount that is in no namespace.
    pub(super) fn linger(&self, mount: MountId) {
        self.alter(mount, |flags| flags | flags::LINGERS);
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        for mount in self.opened.take() {
            let writing = seqcount::resume(&self.records.line(mount)[WORD]);
            let flags = writing.flags() & !flags::CHANGING;
            writing.end(flags);
        }
        self.records.end_change();
    }
}
