//! Inode number and generation → inode.
//!
//! Numbers are given out in turn over the shards, so that threads that make nodes rarely meet; a number that was freed is used
//! again, with the next generation, so that a stale key is told from a good one. The first number is 1.
//!
//! The shards' locks are the innermost: nothing is called while one is held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::RwLock;
use pathwalk::{Errno, NodeKey};

use super::inode::Inode;
use super::ledger::{Ledger, allocation};

const SHARDS: usize = 64;

/// An inode number, as users see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ino(pub(crate) u64);

impl Ino {
    /// Shard and place in it.
    fn place(self) -> (usize, usize) {
        let number = self.0.wrapping_sub(1) as usize;
        (number % SHARDS, number / SHARDS)
    }

    fn at(shard: usize, index: usize) -> Ino {
        Ino((index * SHARDS + shard + 1) as u64)
    }
}

/// Which node: its number, and how often that number was used before.
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
    shards: [RwLock<Shard>; SHARDS],
    /// Whose turn it is.
    next: AtomicUsize,
}

#[derive(Default)]
struct Shard {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

struct Slot {
    generation: u64,
    inode: Option<Arc<Inode>>,
}

impl Shard {
    fn bytes(&self) -> u64 {
        allocation(self.slots.capacity() * size_of::<Slot>()) + allocation(self.free.capacity() * size_of::<usize>())
    }
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { shards: std::array::from_fn(|_| RwLock::default()), next: AtomicUsize::new(0) }
    }

    /// Puts in a new inode, made for the key that it gets.
    pub(crate) fn insert(&self, ledger: &Ledger, make: impl FnOnce(Key) -> Inode) -> Arc<Inode> {
        let number = self.next.fetch_add(1, Relaxed) % SHARDS;
        let mut shard = self.shards[number].write();
        let before = shard.bytes();
        let index = shard.free.pop().unwrap_or_else(|| {
            shard.slots.push(Slot { generation: 0, inode: None });
            shard.slots.len() - 1
        });
        let slot = &mut shard.slots[index];
        let inode = Arc::new(make(Key { ino: Ino::at(number, index), generation: slot.generation }));
        slot.inode = Some(inode.clone());
        ledger.resize(before, shard.bytes() + inode.bytes());
        inode
    }

    /// The inode of a key; `ESTALE` if it is gone.
    pub(crate) fn get(&self, key: Key) -> Result<Arc<Inode>, Errno> {
        let (shard, index) = key.ino.place();
        let shard = self.shards[shard].read();
        let slot = shard.slots.get(index).filter(|slot| slot.generation == key.generation);
        slot.and_then(|slot| slot.inode.clone()).ok_or(Errno::ESTALE)
    }

    /// The inode of a number that a directory whose lock the caller holds leads to.
    pub(crate) fn linked(&self, ino: Ino) -> Result<Arc<Inode>, Errno> {
        let (shard, index) = ino.place();
        let shard = self.shards[shard].read();
        shard.slots.get(index).and_then(|slot| slot.inode.clone()).ok_or(Errno::EIO)
    }

    /// Frees a key that nobody can ask about any more.
    pub(crate) fn remove(&self, key: Key, ledger: &Ledger) {
        let (number, index) = key.ino.place();
        let mut shard = self.shards[number].write();
        let before = shard.bytes();
        let Some(slot) = shard.slots.get_mut(index).filter(|slot| slot.generation == key.generation) else { return };
        let Some(inode) = slot.inode.take() else { return };
        slot.generation += 1;
        shard.free.push(index);
        ledger.resize(before + inode.bytes(), shard.bytes());
    }

    /// Calls `look` with every inode, a shard at a time.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&Inode)) {
        for shard in &self.shards {
            // Copied first, so that `look` may take an inode's lock.
            let inodes: Vec<_> = shard.read().slots.iter().filter_map(|slot| slot.inode.clone()).collect();
            inodes.iter().for_each(|inode| look(inode));
        }
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::{NewKind, NewNode};

    use super::super::inode::{FirstName, now};
    use super::*;

    fn insert(table: &Table, ledger: &Ledger) -> Key {
        let new = NewNode { kind: NewKind::Regular, mode: 0, uid: 0, gid: 0 };
        table.insert(ledger, |key| Inode::new(key, &new, Ino(1), FirstName::Given, now())).key
    }

    #[test]
    fn a_number_comes_back_with_another_generation() {
        let (table, ledger) = (Table::new(), Ledger::default());
        let keys: Vec<_> = (0..3 * SHARDS).map(|_| insert(&table, &ledger)).collect();
        assert_eq!((keys[0].ino, keys[SHARDS].ino), (Ino(1), Ino(1 + SHARDS as u64)));
        table.remove(keys[5], &ledger);
        assert_eq!(table.get(keys[5]).err(), Some(Errno::ESTALE));
        let again = (0..SHARDS).map(|_| insert(&table, &ledger)).find(|key| key.ino == keys[5].ino).unwrap();
        assert_eq!(again.generation, keys[5].generation + 1);
        assert!(table.get(again).is_ok() && table.get(keys[5]).is_err());
        table.remove(keys[5], &ledger);
        assert!(table.get(again).is_ok(), "a stale key removes nothing");
    }

    #[test]
    fn keys_survive_the_way_through_128_bits() {
        let key = Key { ino: Ino(u64::MAX - 3), generation: 7 };
        assert_eq!(Key::from(NodeKey::from(key)), key);
        let table = Table::new();
        for nonsense in [0, 1, u128::MAX, 1 << 64] {
            assert_eq!(table.get(NodeKey(nonsense).into()).err(), Some(Errno::ESTALE));
        }
    }
}
