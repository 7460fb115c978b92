//! Inode number and generation → inode.
//!
//! Nodes lie in slots, slots in chunks, each as large as all before it together; chunks are made when they are needed and stay where
//! they are for as long as the file system lives, so that a slot is found without a lock and making a node allocates nothing but its
//! content. (Making a chunk takes as long as it is large; whoever needs a slot of it waits.) The number of a node is that of its slot;
//! the first is 1. A number that was freed is used again, with another generation, so that a stale key is told from a good one.
//!
//! A key is checked once, when the slot is found: after that it is the node's holds and names that keep the slot from being used for
//! another (see the store's page). Freeing a node is therefore for whoever saw it without either.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use parking_lot::Mutex;
use pathwalk::{Errno, FileType, NewNode, NodeKey, Timestamp};

use super::inode::{FirstName, Inode, Meta, Slot};
use super::ledger::{Ledger, allocation};

/// Slots of the first chunk.
const FIRST_CHUNK: u64 = 64;
/// More slots than memory holds.
const CHUNKS: usize = 48;

/// An inode number, as users see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ino(pub(crate) u64);

impl Ino {
    /// Chunk and place in it; a chunk that there never is for a number that none has.
    fn place(self) -> (usize, usize) {
        let number = self.0.wrapping_sub(1).saturating_add(FIRST_CHUNK);
        let chunk = number.ilog2() - FIRST_CHUNK.ilog2();
        (chunk as usize, (number - (FIRST_CHUNK << chunk)) as usize)
    }
}

/// Which node: its number, and how often that slot was filled and emptied before.
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
    free: Mutex<Free>,
}

/// Slots without a node.
struct Free {
    /// The last that was freed; each leads to the one freed before. 0: none.
    last: u64,
    /// The first number that was never used.
    fresh: u64,
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { chunks: std::array::from_fn(|_| OnceLock::new()), free: Mutex::new(Free { last: 0, fresh: 1 }) }
    }

    /// Makes a node, held once, with its first name given or to come. `parent` is the directory that a directory is in; `None`: itself.
    /// Returns what `then` makes of it.
    pub(crate) fn insert<'a, T>(
        &'a self,
        new: &NewNode<'_>,
        parent: Option<Ino>,
        first_name: FirstName,
        now: Timestamp,
        ledger: &Ledger,
        then: impl FnOnce(Inode<'a>, &mut Meta) -> T,
    ) -> T {
        let (ino, slot) = self.take_slot(ledger);
        let kind = new.kind.file_type();
        ledger.charge(slot.fill(&new.kind));
        let mut meta = slot.meta.lock();
        meta.begin(new, first_name, now);
        slot.kind.store(kind.mode_bits(), Relaxed);
        slot.parent.store(parent.unwrap_or(ino).0, Relaxed);
        let generation = slot.generation.load(Relaxed) + 1;
        slot.generation.store(generation, Release);
        then(Inode { key: Key { ino, generation }, kind, slot }, &mut meta)
    }

    /// The inode of a key; `ESTALE` if it is gone.
    pub(crate) fn get(&self, key: Key) -> Result<Inode<'_>, Errno> {
        let slot = self.slot(key.ino).ok_or(Errno::ESTALE)?;
        if slot.generation.load(Acquire) != key.generation || key.generation.is_multiple_of(2) {
            return Err(Errno::ESTALE);
        }
        Ok(Inode { key, kind: kind_of(slot), slot })
    }

    /// The inode of a number that something that the caller has locked leads to.
    pub(crate) fn linked(&self, ino: Ino) -> Result<Inode<'_>, Errno> {
        let slot = self.slot(ino).ok_or(Errno::EIO)?;
        self.get(Key { ino, generation: slot.generation.load(Acquire) }).map_err(|_| Errno::EIO)
    }

    /// Frees a node that nobody can ask about any more.
    pub(crate) fn remove(&self, inode: Inode<'_>, ledger: &Ledger) {
        ledger.credit(inode.slot.empty());
        inode.slot.generation.store(inode.key.generation + 1, Release);
        let mut free = self.free.lock();
        inode.slot.parent.store(free.last, Relaxed);
        free.last = inode.key.ino.0;
    }

    /// Calls `look` with the attributes of every node. Those that come or go meanwhile may be left out.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&Meta)) {
        for slot in self.chunks.iter().filter_map(OnceLock::get).flatten() {
            let meta = slot.meta.lock();
            if slot.generation.load(Acquire) % 2 == 1 {
                look(&meta);
            }
        }
    }

    fn slot(&self, ino: Ino) -> Option<&Slot> {
        let (chunk, place) = ino.place();
        self.chunks.get(chunk)?.get()?.get(place)
    }

    fn take_slot(&self, ledger: &Ledger) -> (Ino, &Slot) {
        let mut free = self.free.lock();
        if let Some(slot) = self.slot(Ino(free.last)).filter(|_| free.last > 0) {
            let ino = Ino(free.last);
            free.last = slot.parent.load(Relaxed);
            return (ino, slot);
        }
        let ino = Ino(free.fresh);
        free.fresh += 1;
        drop(free);
        let (chunk, place) = ino.place();
        (ino, &self.chunks[chunk].get_or_init(|| new_chunk(chunk, ledger))[place])
    }
}

fn new_chunk(chunk: usize, ledger: &Ledger) -> Box<[Slot]> {
    let slots: Box<[Slot]> = (0..FIRST_CHUNK << chunk).map(|_| Slot::default()).collect();
    ledger.charge(allocation(size_of_val(&*slots)));
    slots
}

fn kind_of(slot: &Slot) -> FileType {
    // It was stored as the type bits of one.
    FileType::from_mode(slot.kind.load(Relaxed).into()).unwrap_or(FileType::Regular)
}

#[cfg(test)]
mod tests {
    use pathwalk::NewKind;

    use super::super::inode::now;
    use super::*;

    fn insert<'a>(table: &'a Table, ledger: &Ledger) -> Inode<'a> {
        let new = NewNode { kind: NewKind::Fifo, mode: 0, uid: 0, gid: 0 };
        table.insert(&new, None, FirstName::Given, now(), ledger, |inode, _| inode)
    }

    #[test]
    fn a_number_comes_back_with_another_generation() {
        let (table, ledger) = (Table::new(), Ledger::default());
        let inodes: Vec<_> = (0..200).map(|_| insert(&table, &ledger)).collect();
        assert!((1..).zip(&inodes).all(|(number, inode)| inode.key.ino == Ino(number)));
        assert!(inodes.iter().all(|inode| std::ptr::eq(table.get(inode.key).unwrap().slot, inode.slot)));
        let gone = [inodes[5], inodes[70]];
        gone.iter().for_each(|inode| table.remove(*inode, &ledger));
        let full = ledger.total();
        let again = [insert(&table, &ledger), insert(&table, &ledger)];
        assert_eq!(again.map(|inode| inode.key.ino), [gone[1].key.ino, gone[0].key.ino]);
        for (gone, again) in gone.iter().rev().zip(again) {
            assert_eq!(table.get(gone.key).err(), Some(Errno::ESTALE));
            assert!(again.key != gone.key && table.get(again.key).is_ok());
        }
        assert_eq!((insert(&table, &ledger).key.ino, ledger.total()), (Ino(201), full));
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
}
