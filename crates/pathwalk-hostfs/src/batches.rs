//! Files of one directory that were handed out together and have neighbouring numbers, as files have that were made one after the other: where they
//! are, in a few bytes each, written once for all of them.
//!
//! A batch is of at most 64 files, the keys of which differ in their lowest 6 bits only. It stays until the last of them is forgotten.
//!
//! What it does not do: more than to tell a file's place. A file that is found again elsewhere, or of which more is kept, is taken out of its batch
//! ([`take`](Batches::take)).

use std::collections::HashMap;

use pathwalk::{Name, Node, NodeKey};
use rapidhash::fast::RandomState;

/// Lowest bits in which the keys of a batch may differ.
const BITS: u32 = 6;

/// All batches, by what the keys in them have in common.
#[derive(Default)]
pub(crate) struct Batches {
    groups: HashMap<u128, Vec<Batch>, RandomState>,
    /// Bytes of what they point to.
    heap: u64,
}

struct Batch {
    /// Its slot.
    directory: u32,
    /// A bit for each file, by its lowest bits: handed out and not yet forgotten.
    held: u64,
    /// Of each file, in order: its lowest bits, and where its name ends.
    ends: Box<[(u8, u16)]>,
    names: Box<[u8]>,
}

const _: () = assert!((1 << BITS) * pathwalk::limits::NAME_MAX <= u16::MAX as usize);

/// What two files have in common that may be in one batch.
pub(crate) fn group_of(key: NodeKey) -> u128 {
    key.0 >> BITS
}

fn place_of(key: NodeKey) -> u8 {
    key.0 as u8 & ((1 << BITS) - 1)
}

impl Batch {
    fn new(directory: u32, files: &[(Name<'_>, Node)]) -> Batch {
        let mut names = Vec::with_capacity(files.iter().map(|(name, _)| name.bytes().len()).sum());
        let mut held = 0;
        let mut end_of = |(name, node): &(Name<'_>, Node)| {
            names.extend_from_slice(name.bytes());
            held |= 1 << place_of(node.key);
            (place_of(node.key), names.len() as u16)
        };
        let ends = files.iter().map(&mut end_of).collect();
        Batch { directory, held, ends, names: names.into() }
    }

    fn holds(&self, key: NodeKey) -> bool {
        self.held & 1 << place_of(key) != 0
    }

    fn name(&self, key: NodeKey) -> Option<&[u8]> {
        let at = self.ends.iter().position(|(place, _)| *place == place_of(key))?;
        let start = if at == 0 { 0 } else { self.ends[at - 1].1 };
        Some(&self.names[start.into()..self.ends[at].1.into()])
    }

    fn heap(&self) -> u64 {
        (size_of::<Batch>() + size_of_val(&*self.ends) + self.names.len()) as u64
    }
}

impl Batches {
    /// Enters files of one group, each once, at most 64; each is handed out once more.
    pub(crate) fn insert(&mut self, directory: u32, files: &[(Name<'_>, Node)]) {
        let batch = Batch::new(directory, files);
        self.heap += batch.heap();
        self.groups.entry(group_of(files[0].1.key)).or_default().push(batch);
    }

    /// The slot of a file's directory, and its name there: the newest, if there are several.
    pub(crate) fn find(&self, key: NodeKey) -> Option<(u32, &[u8])> {
        let batch = self.groups.get(&group_of(key))?.iter().rfind(|batch| batch.holds(key))?;
        Some((batch.directory, batch.name(key)?))
    }

    /// Takes a file out: once less handed out. The oldest, if there are several; and whether that was the last of its batch, which is gone then.
    pub(crate) fn take(&mut self, key: NodeKey) -> Option<Taken> {
        let batches = self.groups.get_mut(&group_of(key))?;
        let at = batches.iter().position(|batch| batch.holds(key))?;
        batches[at].held &= !(1 << place_of(key));
        let directory = batches[at].directory;
        if batches[at].held != 0 {
            return Some(Taken::OneOf(directory));
        }
        self.heap -= batches.remove(at).heap();
        if batches.is_empty() {
            self.groups.remove(&group_of(key));
        }
        Some(Taken::LastOf(directory))
    }

    /// Bytes it holds.
    pub(crate) fn memory(&self) -> u64 {
        (self.groups.capacity() * (size_of::<(u128, Vec<Batch>)>() + 1)) as u64 + self.heap
    }
}

/// What was taken out, with its directory's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// Others are in the batch.
    OneOf(u32),
    /// The batch is gone.
    LastOf(u32),
}

#[cfg(test)]
mod tests {
    use pathwalk::{Attributes, FileType};

    use super::*;

    fn file(name: &str, key: u128) -> (Name<'_>, Node) {
        (Name::new(name.as_bytes()).unwrap(), Node::new(NodeKey(key), Attributes::new(FileType::Regular, 0)))
    }

    #[test]
    fn files_are_found_until_they_are_taken_out() {
        let mut batches = Batches::default();
        let empty = batches.memory();
        let long = "x".repeat(255);
        batches.insert(7, &[file("a", 64), file(&long, 70), file("last", 127)]);
        assert_eq!(batches.find(NodeKey(64)), Some((7, &b"a"[..])));
        assert_eq!(batches.find(NodeKey(70)), Some((7, long.as_bytes())));
        assert_eq!(batches.find(NodeKey(127)), Some((7, &b"last"[..])));
        assert!([63, 65, 128, 70 + 64].iter().all(|key| batches.find(NodeKey(*key)).is_none()));
        assert_eq!(batches.take(NodeKey(70)), Some(Taken::OneOf(7)));
        assert_eq!(batches.take(NodeKey(70)), None);
        assert_eq!(batches.find(NodeKey(70)), None);
        assert_eq!(batches.take(NodeKey(64)), Some(Taken::OneOf(7)));
        assert_eq!(batches.take(NodeKey(127)), Some(Taken::LastOf(7)));
        assert!(batches.groups.is_empty() && batches.heap == 0 && batches.memory() >= empty);
    }

    #[test]
    fn the_newest_place_is_told_and_the_oldest_goes_first() {
        let mut batches = Batches::default();
        batches.insert(1, &[file("old", 1), file("other", 2)]);
        batches.insert(2, &[file("new", 1)]);
        assert_eq!(batches.find(NodeKey(1)), Some((2, &b"new"[..])));
        assert_eq!(batches.take(NodeKey(1)), Some(Taken::OneOf(1)));
        assert_eq!(batches.find(NodeKey(1)), Some((2, &b"new"[..])));
        assert_eq!(batches.take(NodeKey(1)), Some(Taken::LastOf(2)));
        assert_eq!((batches.find(NodeKey(1)), batches.find(NodeKey(2))), (None, Some((1, &b"other"[..]))));
    }
}
