//! What the simulator runs: walks, as a cache of names sees them.
//!
//! A walk ends at an entry, which is a name in a directory: present, or absent. Everything above it has to be cached before it, and
//! so does every link that the walk went through; a walk is told by its links, and by where it ends.
//!
//! An entry is absent if no walk ever found it. What comes and goes counts as present: it takes a slot either way.

use std::collections::HashMap;

/// A name in a directory.
pub type EntryId = u32;

/// The root. It is always cached and takes no slot.
pub const ROOT: EntryId = 0;

/// Marks an entry that the walk goes through and beyond, as it is a link. The next one without it is the walk's end.
const THROUGH: u32 = 1 << 31;

/// What a walk found in its last component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Something.
    Present,
    /// Nothing: `ENOENT`.
    Absent,
}

/// Walks in the order in which they were made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walks {
    parents: Vec<EntryId>,
    absent: Vec<bool>,
    touches: Vec<u32>,
    walks: usize,
}

impl Walks {
    /// None yet.
    pub fn new() -> Walks {
        Walks { parents: vec![ROOT], absent: vec![false], touches: Vec::new(), walks: 0 }
    }

    /// How many different names there are, those that are directories on the way among them; the root is none.
    pub fn entries(&self) -> usize {
        self.parents.len() - 1
    }

    /// How many of them are absent.
    pub fn absent_entries(&self) -> usize {
        self.absent.iter().filter(|absent| **absent).count()
    }

    /// How many walks there are.
    pub fn len(&self) -> usize {
        self.walks
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.walks == 0
    }

    /// The directory that an entry is in.
    pub fn parent(&self, entry: EntryId) -> EntryId {
        self.parents[entry as usize]
    }

    /// Was it never found?
    pub fn is_absent(&self, entry: EntryId) -> bool {
        self.absent[entry as usize]
    }

    /// The walks: the links that each goes through, and its end.
    pub fn iter(&self) -> impl Iterator<Item = Walk<'_>> {
        self.touches.chunk_by(|before, _| before & THROUGH != 0).map(Walk)
    }

    /// Adds an entry, absent until a walk finds it.
    pub(crate) fn add_entry(&mut self, parent: EntryId) -> EntryId {
        let entry = self.parents.len() as u32;
        assert!(entry < THROUGH, "two thousand million names do not fit");
        self.parents.push(parent);
        self.absent.push(true);
        // Something is in it.
        self.absent[parent as usize] = false;
        entry
    }

    /// Adds a walk through these links to this end.
    pub(crate) fn add_walk(&mut self, links: &[EntryId], end: EntryId, found: Found) {
        for link in links {
            self.absent[*link as usize] = false;
            self.touches.push(link | THROUGH);
        }
        if found == Found::Present {
            self.absent[end as usize] = false;
        }
        self.touches.push(end);
        self.walks += 1;
    }
}

impl Default for Walks {
    fn default() -> Walks {
        Walks::new()
    }
}

/// A walk.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a>(&'a [u32]);

impl<'a> Walk<'a> {
    /// Where it ends.
    pub fn end(self) -> EntryId {
        self.0[self.0.len() - 1]
    }

    /// The links that it goes through.
    pub fn links(self) -> impl Iterator<Item = EntryId> + 'a {
        self.0[..self.0.len() - 1].iter().map(|link| link & !THROUGH)
    }

    /// The links, then the end.
    pub fn targets(self) -> impl Iterator<Item = EntryId> + 'a {
        self.0.iter().map(|touch| touch & !THROUGH)
    }
}

/// A walk that was made before.
#[derive(Clone, Copy, Debug)]
pub struct WalkId {
    begin: usize,
    end: usize,
}

/// Makes walks from paths.
#[derive(Default)]
pub struct Builder {
    walks: Walks,
    names: HashMap<(EntryId, Box<[u8]>), EntryId>,
    links: Vec<EntryId>,
}

impl Builder {
    /// The entry of an absolute path without links, `.` and `..`.
    pub fn entry(&mut self, path: &[u8]) -> EntryId {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.fold(ROOT, |parent, name| {
            if let Some(entry) = self.names.get(&(parent, name.into())) {
                return *entry;
            }
            let entry = self.walks.add_entry(parent);
            self.names.insert((parent, name.into()), entry);
            entry
        })
    }

    /// The next walk goes through this link.
    pub fn link(&mut self, path: &[u8]) {
        let link = self.entry(path);
        self.links.push(link);
    }

    /// A walk through the links that were named since the last one. `None` if it ends at the root, which has no name to look up.
    pub fn walk(&mut self, path: &[u8], found: Found) -> Option<WalkId> {
        let end = self.entry(path);
        let begin = self.walks.touches.len();
        if end != ROOT {
            self.walks.add_walk(&self.links, end, found);
        }
        self.links.clear();
        (end != ROOT).then_some(WalkId { begin, end: self.walks.touches.len() })
    }

    /// The same walk again.
    pub fn again(&mut self, walk: WalkId) {
        self.walks.touches.extend_from_within(walk.begin..walk.end);
        self.walks.walks += 1;
    }

    /// All of them.
    pub fn finish(self) -> Walks {
        self.walks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_their_directories() {
        let mut builder = Builder::default();
        builder.walk(b"/usr/bin/cc", Found::Present);
        builder.link(b"/lib");
        builder.link(b"/usr/lib/a.so");
        builder.walk(b"/usr/lib/a.so.1", Found::Present);
        builder.walk(b"/usr/bin/ld", Found::Absent);
        builder.walk(b"/", Found::Present);
        let walks = builder.finish();
        assert_eq!((walks.entries(), walks.absent_entries(), walks.len()), (8, 1, 3));
        let told: Vec<(Vec<_>, _)> = walks.iter().map(|walk| (walk.links().collect(), walk.end())).collect();
        assert_eq!(told, [(vec![], 3), (vec![4, 6], 7), (vec![], 8)]);
        assert_eq!([3, 2, 1, 4, 6].map(|entry| walks.parent(entry)), [2, 1, ROOT, ROOT, 5]);
    }

    #[test]
    fn what_was_ever_found_is_present() {
        let mut builder = Builder::default();
        for (path, found) in [("/a", Found::Absent), ("/a", Found::Present), ("/a", Found::Absent), ("/b/c", Found::Absent)] {
            builder.walk(path.as_bytes(), found);
        }
        let walks = builder.finish();
        assert_eq!([1, 2, 3].map(|entry| walks.is_absent(entry)), [false, false, true]);
    }
}
