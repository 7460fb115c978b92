//! Entries of 56 bytes in slots that never move, found by key.
//!
//! A chained hash index of 2 to 4 bytes an entry is threaded through the entries themselves. Slots
//! are reused, never given back to the allocator. What it does not do: maintain the relations
//! between entries.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::{Index, IndexMut};

use pathwalk::NodeKey;

use crate::key::tag_of;
use crate::small_name::SmallName;

/// The number that stands for "no slot".
pub(crate) const NONE: u32 = u32::MAX;

const CHUNK: usize = 512;

/// The number of entries for each bucket beyond which the index grows.
const PER_BUCKET: usize = 2;

/// One node. The key is stored as two words, for an alignment of 8.
#[derive(Default)]
pub(crate) struct Entry {
    key: [u64; 2],
    /// The next entry in its bucket, or in the free list.
    next: u32,
    /// The slot of its directory, `NONE` for the root and where no name is known.
    pub(crate) directory: u32,
    /// Its name in that directory.
    pub(crate) name: SmallName,
    /// The number of times that its node was handed out and not yet forgotten.
    pub(crate) held: u32,
    /// The number of entries and batches whose directory it is.
    pub(crate) children: u32,
}

const _: () = assert!(size_of::<Entry>() == 56);

impl Entry {
    pub(crate) fn key(&self) -> NodeKey {
        NodeKey(u128::from(self.key[1]) << 64 | u128::from(self.key[0]))
    }
}

/// The part of a key by which entries are indexed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Indexed {
    /// The whole key.
    ByKey,
    /// The tag alone, where each node has one of its own: so that entries are found by their tags.
    ByTag,
}

/// The entries, by slot and by key.
pub(crate) struct Slab {
    indexed: Indexed,
    /// The chunks of entries. Growing adds a chunk, and moves no entry.
    chunks: Vec<Box<[Entry]>>,
    /// The heads of the chains. Their number is a power of two, and at least half that of the
    /// entries.
    buckets: Vec<u32>,
    free: u32,
    live: usize,
    hasher: RandomState,
}

impl Slab {
    pub(crate) fn new(indexed: Indexed) -> Slab {
        Slab { indexed, chunks: Vec::new(), buckets: vec![NONE; 64], free: NONE, live: 0, hasher: RandomState::new() }
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Returns the number of bytes that the slab holds, without those of long names.
    pub(crate) fn memory(&self) -> usize {
        let chunks = self.chunks.len() * CHUNK * size_of::<Entry>() + self.chunks.capacity() * size_of::<Box<[Entry]>>();
        chunks + self.buckets.capacity() * size_of::<u32>()
    }

    /// Returns the slot of the entry with this key.
    pub(crate) fn find(&self, key: NodeKey) -> Option<u32> {
        self.chain(self.buckets[self.bucket(key)]).find(|slot| self[*slot].key() == key)
    }

    /// Returns the keys with this tag: that of a node, and any other by chance. Only where entries
    /// are indexed by tag.
    pub(crate) fn with_tag(&self, tag: u32) -> impl Iterator<Item = NodeKey> {
        debug_assert_eq!(self.indexed, Indexed::ByTag);
        let keys = self.chain(self.buckets[self.bucket_of(u128::from(tag))]).map(|slot| self[slot].key());
        keys.filter(move |key| tag_of(*key) == tag)
    }

    /// Makes an entry for a key that has none yet.
    pub(crate) fn insert(&mut self, key: NodeKey, directory: u32, name: SmallName) -> u32 {
        if self.live == self.buckets.len() * PER_BUCKET {
            self.grow_index();
        }
        if self.free == NONE {
            self.grow_slab();
        }
        let slot = self.free;
        self.free = self[slot].next;
        self.live += 1;
        let words = [key.0 as u64, (key.0 >> 64) as u64];
        self[slot] = Entry { key: words, next: NONE, directory, name, held: 0, children: 0 };
        self.enter(slot);
        slot
    }

    /// Removes an entry and frees its slot.
    pub(crate) fn remove(&mut self, slot: u32) -> Entry {
        let bucket = self.bucket(self[slot].key());
        let next = self[slot].next;
        // The predecessor has to be found before the entry's link is overwritten. Otherwise the
        // chain would run on into the free list and be as long as that.
        let before = self.chain(self.buckets[bucket]).take_while(|at| *at != slot).last();
        match before {
            Some(before) => self[before].next = next,
            None => self.buckets[bucket] = next,
        }
        let freed = Entry { next: self.free, ..Entry::default() };
        self.free = slot;
        self.live -= 1;
        std::mem::replace(&mut self[slot], freed)
    }

    fn chain(&self, head: u32) -> impl Iterator<Item = u32> {
        let some = |slot| (slot != NONE).then_some(slot);
        std::iter::successors(some(head), move |slot| some(self[*slot].next))
    }

    /// Puts a slot in front of its bucket's chain.
    fn enter(&mut self, slot: u32) {
        let bucket = self.bucket(self[slot].key());
        self[slot].next = std::mem::replace(&mut self.buckets[bucket], slot);
    }

    fn bucket(&self, key: NodeKey) -> usize {
        match self.indexed {
            Indexed::ByKey => self.bucket_of(key.0),
            Indexed::ByTag => self.bucket_of(u128::from(tag_of(key))),
        }
    }

    fn bucket_of(&self, what: u128) -> usize {
        self.hasher.hash_one(what) as usize & (self.buckets.len() - 1)
    }

    fn grow_slab(&mut self) {
        let first = (self.chunks.len() * CHUNK) as u32;
        let mut chunk: Box<[Entry]> = (0..CHUNK).map(|_| Entry::default()).collect();
        for (entry, slot) in chunk.iter_mut().zip(first..) {
            entry.next = slot + 1;
        }
        if let Some(last) = chunk.last_mut() {
            last.next = self.free;
        }
        self.chunks.push(chunk);
        self.free = first;
    }

    fn grow_index(&mut self) {
        let doubled = vec![NONE; self.buckets.len() * 2];
        for head in std::mem::replace(&mut self.buckets, doubled) {
            let mut slot = head;
            while slot != NONE {
                let next = self[slot].next;
                self.enter(slot);
                slot = next;
            }
        }
    }
}

impl Index<u32> for Slab {
    type Output = Entry;
    fn index(&self, slot: u32) -> &Entry {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }
}

impl IndexMut<u32> for Slab {
    fn index_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_while_they_are_in_and_slots_are_reused() {
        let mut slab = Slab::new(Indexed::ByKey);
        let key = |i: u32| NodeKey(u128::from(i) << 60);
        let slots: Vec<u32> = (0..5000_u32).map(|i| slab.insert(key(i), NONE, SmallName::new(&i.to_le_bytes()))).collect();
        for i in (0..5000_u32).step_by(2) {
            assert_eq!(slab.remove(slots[i as usize]).name.bytes(), i.to_le_bytes());
        }
        for i in 0..5000 {
            assert_eq!(slab.find(key(i)), (i % 2 == 1).then_some(slots[i as usize]));
        }
        assert_eq!(slab.find(NodeKey(u128::MAX)), None);
        let before = slab.memory();
        for i in (0..5000).step_by(2) {
            slab.insert(key(i), NONE, SmallName::default());
        }
        assert_eq!((slab.len(), slab.memory()), (5000, before));
        assert!((0..5000).all(|i| slab.find(key(i)).is_some_and(|slot| slab[slot].key() == key(i))));
    }

    #[test]
    fn entries_are_found_by_their_tags() {
        let mut slab = Slab::new(Indexed::ByTag);
        let key = |tag: u32, ino: u32| NodeKey(u128::from(tag) << 64 | u128::from(ino));
        (0..3000).for_each(|i| _ = slab.insert(key(i, i), NONE, SmallName::default()));
        let twice = slab.insert(key(7, 9000), NONE, SmallName::default());
        let mut found: Vec<NodeKey> = slab.with_tag(7).collect();
        found.sort_unstable();
        assert_eq!(found, [key(7, 7), key(7, 9000)]);
        slab.remove(twice);
        assert_eq!(slab.with_tag(7).collect::<Vec<_>>(), [key(7, 7)]);
        assert!(slab.with_tag(3000).next().is_none());
        assert_eq!(slab.find(key(8, 9)), None);
    }
}
