//! A doubly linked list of slots, for LRU, FIFO, SIEVE and S3-FIFO.
//!
//! The engine has no such list: a list needs a lock, or stores to neighbouring entries.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    newer: u32,
    older: u32,
}

/// A list of slots from the newest to the oldest.
#[derive(Default)]
pub(super) struct List {
    nodes: Vec<Node>,
    newest: Option<usize>,
    oldest: Option<usize>,
    len: usize,
}

impl List {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn oldest(&self) -> Option<usize> {
        self.oldest
    }

    /// Returns the slot that is next to this one on the newer side.
    pub(super) fn newer(&self, slot: usize) -> Option<usize> {
        link(self.nodes[slot].newer)
    }

    /// Adds a slot that is in no list at the newest end.
    pub(super) fn put(&mut self, slot: usize) {
        if self.nodes.len() <= slot {
            self.nodes.resize(slot + 1, Node { newer: NONE, older: NONE });
        }
        self.nodes[slot] = Node { newer: NONE, older: self.newest.map_or(NONE, |slot| slot as u32) };
        match self.newest {
            Some(newest) => self.nodes[newest].newer = slot as u32,
            None => self.oldest = Some(slot),
        }
        self.newest = Some(slot);
        self.len += 1;
    }

    /// Removes a slot that is in this list.
    pub(super) fn remove(&mut self, slot: usize) {
        let Node { newer, older } = self.nodes[slot];
        match link(newer) {
            Some(newer) => self.nodes[newer].older = older,
            None => self.newest = link(older),
        }
        match link(older) {
            Some(older) => self.nodes[older].newer = newer,
            None => self.oldest = link(newer),
        }
        self.len -= 1;
    }

    pub(super) fn renew(&mut self, slot: usize) {
        self.remove(slot);
        self.put(slot);
    }

    /// Returns the slots from the oldest to the newest.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.oldest, |slot| self.newer(*slot))
    }
}

fn link(slot: u32) -> Option<usize> {
    (slot != NONE).then_some(slot as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut list = List::default();
        for slot in [3, 0, 2] {
            list.put(slot);
        }
        list.renew(3);
        assert_eq!(list.oldest_first().collect::<Vec<_>>(), [0, 2, 3]);
        list.remove(2);
        assert_eq!((list.oldest_first().collect::<Vec<_>>(), list.len()), (vec![0, 3], 2));
        list.remove(0);
        list.remove(3);
        assert_eq!((list.oldest(), list.len()), (None, 0));
    }
}
