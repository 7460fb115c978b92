//! The input of the simulator: walks, as a cache of names sees them.
//!
//! A walk ends at an entry: a name in a directory, present or absent. Everything above the entry
//! has to be cached before it, and so does every link that the walk went through. So a walk is
//! stored as its links and its end.
//!
//! An entry is absent if no walk ever found it or went through it. A name that comes and goes
//! counts as present; it takes a slot either way.

use std::collections::HashMap;

/// The number of an entry: a name in a directory.
pub type EntryId = u32;

/// The root. It is always cached and takes no slot.
pub const ROOT: EntryId = 0;

/// A bit that marks an entry as a link that the walk goes through. The next entry without it is the
/// walk's end.
const THROUGH: u32 = 1 << 31;

/// The result of a walk for its last component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A present entry.
    Present,
    /// An absent entry: `ENOENT`.
    Absent,
}

/// A sequence of walks, in the order in which they were made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walks {
    parents: Vec<EntryId>,
    absent: Vec<bool>,
    touches: Vec<u32>,
    walks: usize,
}

impl Walks {
    /// Creates an empty sequence.
    pub fn new() -> Walks {
        Walks { parents: vec![ROOT], absent: vec![false], touches: Vec::new(), walks: 0 }
    }

    /// Returns the number of different names. Directories on the way are counted, the root is not.
    pub fn entries(&self) -> usize {
        self.parents.len() - 1
    }

    /// Returns the number of names that are absent.
    pub fn absent_entries(&self) -> usize {
        self.absent.iter().filter(|absent| **absent).count()
    }

    /// Returns the number of walks.
    pub fn len(&self) -> usize {
        self.walks
    }

    /// Returns whether there are no walks.
    pub fn is_empty(&self) -> bool {
        self.walks == 0
    }

    /// Returns the directory that an entry is in.
    pub fn parent(&self, entry: EntryId) -> EntryId {
        self.parents[entry as usize]
    }

    /// Returns whether no walk ever found the entry or went through it.
    pub fn is_absent(&self, entry: EntryId) -> bool {
        self.absent[entry as usize]
    }

    /// Returns the walks, in order.
    pub fn iter(&self) -> impl Iterator<Item = Walk<'_>> {
        self.touches.chunk_by(|before, _| before & THROUGH != 0).map(Walk)
    }

    /// Adds an entry, absent until a walk finds it.
    pub(crate) fn add_entry(&mut self, parent: EntryId) -> EntryId {
        let entry = self.parents.len() as u32;
        assert!(entry < THROUGH, "two thousand million names do not fit");
        self.parents.push(parent);
        self.absent.push(true);
        // A directory with an entry in it is present.
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

/// A walk: the links that it goes through, and its end.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a>(&'a [u32]);

impl<'a> Walk<'a> {
    /// Returns the entry at which the walk ends.
    pub fn end(self) -> EntryId {
        self.0[self.0.len() - 1]
    }

    /// Returns the links that the walk goes through.
    pub fn links(self) -> impl Iterator<Item = EntryId> + 'a {
        self.0[..self.0.len() - 1].iter().map(|link| link & !THROUGH)
    }

    /// Returns the links, then the end.
    pub fn targets(self) -> impl Iterator<Item = EntryId> + 'a {
        self.0.iter().map(|touch| touch & !THROUGH)
    }
}

/// A walk that a [`Builder`] has added, and can add again.
#[derive(Clone, Copy, Debug)]
pub struct WalkId {
    begin: usize,
    end: usize,
}

/// A builder of walks from paths.
#[derive(Default)]
pub struct Builder {
    walks: Walks,
    names: HashMap<(EntryId, Box<[u8]>), EntryId>,
    links: Vec<EntryId>,
}

impl Builder {
    /// Returns the entry of an absolute path without links, `.` and `..`. Adds it if it is new.
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

    /// Adds a link that the next walk goes through.
    pub fn link(&mut self, path: &[u8]) {
        let link = self.entry(path);
        self.links.push(link);
    }

    /// Adds a walk through the links that were added since the last one.
    /// Adds nothing and returns `None` if the walk ends at the root, which has no name to look up.
    pub fn walk(&mut self, path: &[u8], found: Found) -> Option<WalkId> {
        let end = self.entry(path);
        let begin = self.walks.touches.len();
        if end != ROOT {
            self.walks.add_walk(&self.links, end, found);
        }
        self.links.clear();
        (end != ROOT).then_some(WalkId { begin, end: self.walks.touches.len() })
    }

    /// Adds the same walk again.
    pub fn again(&mut self, walk: WalkId) {
        self.walks.touches.extend_from_within(walk.begin..walk.end);
        self.walks.walks += 1;
    }

    /// Returns all walks that were added.
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
