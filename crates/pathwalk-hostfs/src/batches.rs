//! The places of files that were handed out together and have neighbouring inode numbers.
//!
//! Files that were made one after the other in one directory usually have such numbers. A batch
//! stores their places in a few bytes each, written once for all of them. It holds at most 64
//! files, whose keys differ only in their tags and their lowest 6 bits. It stays until the last of
//! its files is forgotten.
//!
//! What it does not do: store more than a file's place. A file that is found again at another
//! place, or for which more is stored, is taken out of its batch ([`take`](Batches::take)).

use std::collections::HashMap;

use pathwalk::{Name, Node, NodeKey};
use rapidhash::fast::RandomState;

use crate::key::{tag_of, without_tag};

/// The number of lowest bits in which the keys of a batch may differ.
const BITS: u32 = 6;

/// All batches, grouped by the bits that their keys have in common.
#[derive(Default)]
pub(crate) struct Batches {
    groups: HashMap<u128, Vec<Batch>, RandomState>,
    /// The bytes that the batches hold on the heap.
    heap: u64,
}

struct Batch {
    /// The slot of the files' directory.
    directory: u32,
    /// One bit for each file, selected by the lowest bits of its key: set while the file is handed
    /// out and not yet forgotten.
    held: u64,
    /// The files, in the order of their names.
    files: Box<[File]>,
    names: Box<[u8]>,
}

struct File {
    tag: u32,
    /// The end of its name in `names`.
    end: u16,
    /// The lowest bits of its key.
    place: u8,
}

const _: () = assert!((1 << BITS) * pathwalk::limits::NAME_MAX <= u16::MAX as usize);

/// Returns the bits of a key that all files of one batch have in common.
pub(crate) fn group_of(key: NodeKey) -> u128 {
    without_tag(key) >> BITS
}

fn place_of(key: NodeKey) -> u8 {
    key.0 as u8 & ((1 << BITS) - 1)
}

impl Batch {
    fn new(directory: u32, files: &[(Name<'_>, Node)]) -> Batch {
        let mut names = Vec::with_capacity(files.iter().map(|(name, _)| name.bytes().len()).sum());
        let mut held = 0;
        let mut file_of = |(name, node): &(Name<'_>, Node)| {
            names.extend_from_slice(name.bytes());
            held |= 1 << place_of(node.key);
            File { tag: tag_of(node.key), end: names.len() as u16, place: place_of(node.key) }
        };
        let files = files.iter().map(&mut file_of).collect();
        Batch { directory, held, files, names: names.into() }
    }

    fn holds(&self, key: NodeKey) -> bool {
        self.held & 1 << place_of(key) != 0 && self.position(key).is_some()
    }

    fn position(&self, key: NodeKey) -> Option<usize> {
        self.files.iter().position(|file| file.place == place_of(key) && file.tag == tag_of(key))
    }

    fn name(&self, key: NodeKey) -> Option<&[u8]> {
        let at = self.position(key)?;
        let start = if at == 0 { 0 } else { self.files[at - 1].end };
        Some(&self.names[start.into()..self.files[at].end.into()])
    }

    fn heap(&self) -> u64 {
        (size_of::<Batch>() + size_of_val(&*self.files) + self.names.len()) as u64
    }
}

impl Batches {
    /// Adds files of one group, at most 64, each once. Each counts as handed out once more.
    pub(crate) fn insert(&mut self, directory: u32, files: &[(Name<'_>, Node)]) {
        let batch = Batch::new(directory, files);
        self.heap += batch.heap();
        self.groups.entry(group_of(files[0].1.key)).or_default().push(batch);
    }

    /// Returns the slot of a file's directory and the file's name there. If the file is in several
    /// batches, the newest counts.
    pub(crate) fn find(&self, key: NodeKey) -> Option<(u32, &[u8])> {
        let batch = self.groups.get(&group_of(key))?.iter().rfind(|batch| batch.holds(key))?;
        Some((batch.directory, batch.name(key)?))
    }

    /// Takes a file out, which counts it as handed out once less. If the file is in several
    /// batches, the oldest counts. If it was the last file of its batch, the batch is dropped.
    /// Returns `None` if no batch holds the file.
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

    /// Returns the number of bytes that the batches hold.
    pub(crate) fn memory(&self) -> u64 {
        (self.groups.capacity() * (size_of::<(u128, Vec<Batch>)>() + 1)) as u64 + self.heap
    }
}

/// The result of taking a file out, with the slot of its directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// The batch still holds other files.
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
