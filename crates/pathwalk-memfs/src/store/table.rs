//! The map from inode numbers and generations to inodes.
//!
//! Nodes lie in slots, and slots in chunks. Each chunk is as large as all before it together.
//! Chunks are allocated when they are needed and stay in place as long as the file system lives. So
//! a slot is found without a lock, and a new node allocates nothing but its content. (The
//! allocation of a chunk takes time in proportion to its size; a thread that needs a slot of it
//! waits.) The number of a node is that of its slot; the first is 1. A number that was freed is
//! reused with another generation, which distinguishes a stale key from a valid one.
//!
//! Freed slots are a stack with the last freed one on top, so that a reused slot is likely to be in
//! the processor's caches. The head is one word of a number and a tag that every change increments:
//! a pop fails if its slot was taken and given back meanwhile. Such a pop may read an arbitrary
//! value as the next slot; then the tag has changed. A thread that takes a slot (Acquire) sees all
//! that was done to the slot before it was given back (Release). Numbers are below 2³², because of
//! the head: half a terabyte of slots.
//!
//! A key is checked once, when the slot is found. After that, the node's holds and names keep the
//! slot from being reused (see the module of the store). So only a thread that saw a node without
//! names and holds frees it.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use pathwalk::{Errno, NewNode, NodeKey, Timestamp};

use super::inode::{Inode, Slot};
use super::ledger::{Ledger, allocation};
use super::life::FirstName;

/// The number of slots of the first chunk.
const FIRST_CHUNK: u64 = 64;
/// The number of chunks. Together they have 2³² − 64 slots.
const CHUNKS: usize = 26;
/// One past the last number.
const END: u32 = (FIRST_CHUNK as u32).wrapping_neg() + 1;

/// An inode number, as users see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ino(pub(crate) u64);

impl Ino {
    /// The number of no node.
    pub(crate) const NONE: Ino = Ino(0);

    /// Returns the chunk and the place in it; a chunk that never exists for a number that no node
    /// has.
    fn place(self) -> (usize, usize) {
        let number = self.0.wrapping_sub(1).saturating_add(FIRST_CHUNK);
        let chunk = number.ilog2() - FIRST_CHUNK.ilog2();
        (chunk as usize, (number - (FIRST_CHUNK << chunk)) as usize)
    }
}

/// The identity of a node: its number, and the number of times that its slot was filled and emptied
/// before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) ino: Ino,
    pub(crate) generation: u64,
}

impl From<NodeKey> for Key {
    fn from(key: NodeKey) -> Key {
        Key { ino: Ino((key.0 >> 64) as u64), generation: key.0 as u64 }
    }
}

impl From<Key> for NodeKey {
    fn from(key: Key) -> NodeKey {
        NodeKey(u128::from(key.ino.0) << 64 | u128::from(key.generation))
    }
}

/// All inodes of a file system.
pub(crate) struct Table {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    /// The slot that was freed last, as `tag << 32 | number`. Each free slot leads to the one freed
    /// before it. Number 0: none.
    free: AtomicU64,
    /// The first number that was never used.
    fresh: AtomicU32,
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { chunks: std::array::from_fn(|_| OnceLock::new()), free: AtomicU64::new(0), fresh: AtomicU32::new(1) }
    }

    /// Creates a node, held once, with its first name given or to come: `ENOSPC` if all numbers are
    /// used.
    pub(crate) fn insert(
        &self,
        new: &NewNode<'_>,
        parent: Ino,
        first_name: FirstName,
        now: Timestamp,
        ledger: &Ledger,
    ) -> Result<Inode<'_>, Errno> {
        let (ino, slot) = self.take_slot(ledger)?;
        slot.fill(&new.kind, ledger);
        slot.record.begin(new, now);
        slot.parent.store(parent.0, Relaxed);
        slot.life.begin(first_name);
        let generation = slot.generation.load(Relaxed) + 1;
        slot.generation.store(generation, Release);
        Ok(Inode { ino, slot })
    }

    /// Returns the inode of a key; `ESTALE` if it is gone.
    pub(crate) fn get(&self, key: Key) -> Result<Inode<'_>, Errno> {
        let slot = self.slot(key.ino).ok_or(Errno::ESTALE)?;
        if slot.generation.load(Acquire) != key.generation || key.generation.is_multiple_of(2) {
            return Err(Errno::ESTALE);
        }
        Ok(Inode { ino: key.ino, slot })
    }

    /// Returns the inode of a number that comes from data that the caller has locked.
    pub(crate) fn linked(&self, ino: Ino) -> Result<Inode<'_>, Errno> {
        let slot = self.slot(ino).ok_or(Errno::EIO)?;
        self.get(Key { ino, generation: slot.generation.load(Acquire) }).map_err(|_| Errno::EIO)
    }

    /// Frees the slot of a node that no thread can reach any more.
    pub(crate) fn remove(&self, inode: Inode<'_>, ledger: &Ledger) {
        inode.slot.empty(ledger);
        // A thread that finds the node gone may have come by the key of an earlier node.
        let generation = inode.slot.generation.load(Relaxed) + 1;
        inode.slot.generation.store(generation, Release);
        let mut head = self.free.load(Relaxed);
        loop {
            inode.slot.parent.store(u64::from(head as u32), Relaxed);
            match self.free.compare_exchange_weak(head, retagged(head, inode.ino.0), Release, Relaxed) {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
    }

    /// Calls `look` with every node. Nodes that are created or freed meanwhile may be left out.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&Slot)) {
        let slots = self.chunks.iter().filter_map(OnceLock::get).flatten();
        slots.filter(|slot| slot.generation.load(Acquire) % 2 == 1).for_each(&mut look);
    }

    fn slot(&self, ino: Ino) -> Option<&Slot> {
        let (chunk, place) = ino.place();
        self.chunks.get(chunk)?.get()?.get(place)
    }

    fn take_slot(&self, ledger: &Ledger) -> Result<(Ino, &Slot), Errno> {
        let mut head = self.free.load(Acquire);
        while let Some(slot) = self.slot(Ino(head & NUMBER)) {
            let next = slot.parent.load(Relaxed);
            match self.free.compare_exchange_weak(head, retagged(head, next), AcqRel, Acquire) {
                Ok(_) => return Ok((Ino(head & NUMBER), slot)),
                Err(other) => head = other,
            }
        }
        let more = |fresh| (fresh < END).then(|| fresh + 1);
        let ino = self.fresh.fetch_update(Relaxed, Relaxed, more).map_err(|_| Errno::ENOSPC)?;
        let ino = Ino(ino.into());
        let (chunk, place) = ino.place();
        Ok((ino, &self.chunks[chunk].get_or_init(|| new_chunk(chunk, ledger))[place]))
    }
}

/// The number's bits in the head of the stack.
const NUMBER: u64 = u32::MAX as u64;

fn retagged(head: u64, number: u64) -> u64 {
    (head >> 32).wrapping_add(1) << 32 | number & NUMBER
}

fn new_chunk(chunk: usize, ledger: &Ledger) -> Box<[Slot]> {
    let slots: Box<[Slot]> = (0..FIRST_CHUNK << chunk).map(|_| Slot::default()).collect();
    ledger.charge(allocation(size_of_val(&*slots)));
    slots
}

#[cfg(test)]
mod tests {
    use pathwalk::{Attributes, FileType, NewKind};

    use super::*;
    use crate::clock::Clock;

    fn insert<'a>(table: &'a Table, ledger: &Ledger) -> Inode<'a> {
        let new = NewNode::new(NewKind::Fifo, 0, 0, 0);
        table.insert(&new, Ino::NONE, FirstName::Given, Clock::System.now(), ledger).unwrap()
    }

    #[test]
    fn a_number_comes_back_with_another_generation() {
        let (table, ledger) = (Table::new(), Ledger::default());
        let inodes: Vec<_> = (0..200).map(|_| insert(&table, &ledger)).collect();
        assert!((1..).zip(&inodes).all(|(number, inode)| inode.ino == Ino(number)));
        assert!(inodes.iter().all(|inode| std::ptr::eq(table.get(inode.key()).unwrap().slot, inode.slot)));
        let gone = [inodes[5], inodes[70]];
        let keys = gone.map(|inode| inode.key());
        gone.iter().for_each(|inode| table.remove(*inode, &ledger));
        let full = ledger.total();
        let again = [insert(&table, &ledger), insert(&table, &ledger)];
        assert_eq!(again.map(|inode| inode.ino), [gone[1].ino, gone[0].ino]);
        for (gone, again) in keys.into_iter().rev().zip(again.map(|inode| inode.key())) {
            assert_eq!(table.get(gone).err(), Some(Errno::ESTALE));
            assert!(again != gone && table.get(again).is_ok());
        }
        assert_eq!((insert(&table, &ledger).ino, ledger.total()), (Ino(201), full));
    }

    #[test]
    fn keys_survive_the_way_through_128_bits() {
        let key = Key { ino: Ino(u64::MAX - 3), generation: 7 };
        assert_eq!(Key::from(NodeKey::from(key)), key);
        let (table, ledger) = (Table::new(), Ledger::default());
        for round in 0..2 {
            for nonsense in [0, 1, 2, 2 << 64, 2 << 64 | 1, u128::MAX, 1 << 64, 1 << 70 | 1] {
                assert_eq!(table.get(NodeKey(nonsense).into()).err(), Some(Errno::ESTALE), "{round}");
            }
            insert(&table, &ledger);
        }
    }

    #[test]
    fn no_slot_is_given_twice() {
        let (table, ledger) = (Table::new(), Ledger::default());
        let rounds = if cfg!(miri) { 20 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (table, ledger) = (&table, &ledger);
                scope.spawn(move || {
                    let new = NewNode::new(NewKind::Fifo, 0, thread, 0);
                    let mut found = Attributes::new(FileType::Fifo, 0);
                    for round in 0..rounds {
                        let mine = [(); 3]
                            .map(|()| table.insert(&new, Ino::NONE, FirstName::Given, Clock::System.now(), ledger).unwrap());
                        for inode in mine {
                            inode.slot.record.read(&mut found);
                            assert_eq!(found.uid, thread, "round {round}");
                        }
                        mine.iter().for_each(|inode| table.remove(*inode, ledger));
                    }
                });
            }
        });
        let mut left = 0;
        table.for_each(|_| left += 1);
        assert_eq!(left, 0);
        assert!((1..=13).contains(&insert(&table, &ledger).ino.0), "twelve at once, and none was lost");
    }
}
