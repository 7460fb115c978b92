//! One directory's names, by name and in the order in which they were made.
//!
//! Entries lie in one vector in the order of their cookies and their text in another, so that making a name allocates nothing but
//! room for many, and a listing reads memory from front to back. A hash table leads from a name to its entry. What is taken away leaves
//! a dead entry; once more of them are dead than alive, the rest moves together.
//!
//! Invariants: every node in here has a link left, so it can be found in the table for as long as the directory's lock is held.
//! Cookies grow along the vector and are never given twice, also not after all names are gone. A removed directory stays empty.

use std::hash::{BuildHasher, Hasher};
use std::ops::{ControlFlow, Range};

use hashbrown::{DefaultHashBuilder, HashTable};
use pathwalk::{Entry, Errno, FIRST_COOKIE, FileType, Name};

use super::inode::Inode;
use super::ledger::{Ledger, allocation};
use super::table::Key;

/// So many entries an empty directory may keep room for, and so many more may be dead than alive.
const SLACK: usize = 16;

/// A name with its hash, which every directory of a file system takes it under.
#[derive(Clone, Copy)]
pub(crate) struct Hashed<'a> {
    name: &'a [u8],
    hash: u32,
}

impl<'a> Hashed<'a> {
    pub(crate) fn new(name: Name<'a>, hasher: &DefaultHashBuilder) -> Hashed<'a> {
        let mut hasher = hasher.build_hasher();
        hasher.write(name.bytes());
        Hashed { name: name.bytes(), hash: hasher.finish() as u32 }
    }
}

/// Names and where they lead.
pub(crate) struct Names {
    /// Made with the first name: many directories stay empty.
    list: Option<Box<List>>,
    next_cookie: u64,
    life: Life,
}

#[derive(Default)]
struct List {
    /// Places in `entries`.
    index: HashTable<usize>,
    entries: Vec<Line>,
    text: Vec<u8>,
}

struct Line {
    cookie: u64,
    target: Target,
    /// Where the name is in `text`.
    start: usize,
    hash: u32,
    /// 0: dead.
    length: u8,
}

/// What a name leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) key: Key,
    pub(crate) kind: FileType,
}

impl From<Inode<'_>> for Target {
    fn from(inode: Inode<'_>) -> Target {
        Target { key: inode.key, kind: inode.kind }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Linked,
    /// Somebody may still hold the directory, but nothing can be made in it.
    Removed,
}

impl Names {
    pub(crate) const fn new() -> Names {
        Names { list: None, next_cookie: FIRST_COOKIE, life: Life::Linked }
    }

    pub(crate) fn get(&self, name: Hashed<'_>) -> Option<Target> {
        let list = self.list.as_ref()?;
        list.place(name).map(|place| list.entries[place].target)
    }

    pub(crate) fn len(&self) -> usize {
        self.list.as_ref().map_or(0, |list| list.index.len())
    }

    /// All names, sorted.
    pub(crate) fn sorted(&self) -> Vec<Vec<u8>> {
        let mut names = Vec::with_capacity(self.len());
        self.list(0, &mut |entry| {
            names.push(entry.name.to_vec());
            ControlFlow::Continue(())
        });
        names.sort_unstable();
        names
    }

    /// Gives the entries behind a cookie, in the order of cookies, until there are no more or `each` says so.
    pub(crate) fn list(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) {
        let Some(list) = &self.list else { return };
        let begin = list.entries.partition_point(|line| line.cookie <= from);
        for line in list.entries[begin..].iter().filter(|line| !line.is_dead()) {
            let Target { key, kind } = line.target;
            let entry = Entry { name: &list.text[line.text()], key: key.into(), ino: key.ino.0, kind, cookie: line.cookie };
            if each(entry).is_break() {
                return;
            }
        }
    }

    /// `ENOENT` if the directory was removed.
    pub(crate) fn linked(&self) -> Result<(), Errno> {
        if self.life == Life::Removed { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// Whether something can be made of this name: `EEXIST` if it is taken, `ENOENT` if the directory was removed.
    pub(crate) fn vacant(&self, name: Hashed<'_>) -> Result<(), Errno> {
        self.linked()?;
        if self.get(name).is_some() { Err(Errno::EEXIST) } else { Ok(()) }
    }

    /// Lets a name lead to a node, whatever it led to before. A name that was there keeps its cookie.
    pub(crate) fn put(&mut self, name: Hashed<'_>, target: Target, ledger: &Ledger) {
        let before = self.bytes();
        let list = self.list.get_or_insert_default();
        if let Some(there) = list.place(name) {
            list.entries[there].target = target;
            return;
        }
        list.add(name, self.next_cookie, target);
        self.next_cookie += 1;
        ledger.resize(before, self.bytes());
    }

    /// The same of a name that is not there.
    pub(crate) fn add(&mut self, name: Hashed<'_>, target: Target, ledger: &Ledger) {
        let before = self.bytes();
        self.list.get_or_insert_default().add(name, self.next_cookie, target);
        self.next_cookie += 1;
        ledger.resize(before, self.bytes());
    }

    /// Takes a name away.
    pub(crate) fn take(&mut self, name: Hashed<'_>, ledger: &Ledger) {
        let before = self.bytes();
        let Some(list) = &mut self.list else { return };
        list.take(name);
        if list.index.is_empty() && list.entries.capacity() > SLACK {
            self.list = None;
        }
        ledger.resize(before, self.bytes());
    }

    /// `ENOTEMPTY` if a name is left; otherwise nothing can be made in here from now on.
    pub(crate) fn remove_directory(&mut self, ledger: &Ledger) -> Result<(), Errno> {
        if self.len() > 0 {
            return Err(Errno::ENOTEMPTY);
        }
        ledger.credit(self.bytes());
        (self.list, self.life) = (None, Life::Removed);
        Ok(())
    }

    /// Bytes of memory that the names take.
    fn bytes(&self) -> u64 {
        self.list.as_ref().map_or(0, |list| allocation(size_of::<List>()) + list.bytes())
    }
}

impl Line {
    fn text(&self) -> Range<usize> {
        self.start..self.start + usize::from(self.length)
    }

    fn is_dead(&self) -> bool {
        self.length == 0
    }
}

impl List {
    fn place(&self, name: Hashed<'_>) -> Option<usize> {
        self.index.find(spread(name.hash), |place| &self.text[self.entries[*place].text()] == name.name).copied()
    }

    fn add(&mut self, name: Hashed<'_>, cookie: u64, target: Target) {
        let (start, place) = (self.text.len(), self.entries.len());
        self.entries.push(Line { cookie, target, start, hash: name.hash, length: name.name.len() as u8 });
        self.text.extend_from_slice(name.name);
        self.index.insert_unique(spread(name.hash), place, |place| spread(self.entries[*place].hash));
    }

    fn take(&mut self, name: Hashed<'_>) {
        let (entries, text) = (&self.entries, &self.text);
        let same = |place: &usize| &text[entries[*place].text()] == name.name;
        let Ok(found) = self.index.find_entry(spread(name.hash), same) else { return };
        let (place, _) = found.remove();
        self.entries[place].length = 0;
        if self.index.is_empty() {
            self.entries.clear();
            self.text.clear();
        } else if self.entries.len() > 2 * self.index.len() + SLACK {
            self.compact();
        }
    }

    /// Lets go of dead entries. Costs as much as there are entries, of which more than half were taken since the last time.
    fn compact(&mut self) {
        let mut end = 0;
        let text = &mut self.text;
        self.entries.retain_mut(|line| {
            text.copy_within(line.text(), end);
            line.start = end;
            end += usize::from(line.length);
            !line.is_dead()
        });
        self.text.truncate(end);
        self.index.clear();
        let hash = |place: &usize| spread(self.entries[*place].hash);
        let least = 2 * self.entries.len();
        if self.entries.capacity() > 4 * least {
            self.index.shrink_to(least, hash);
        }
        for place in 0..self.entries.len() {
            self.index.insert_unique(hash(&place), place, hash);
        }
        if self.entries.capacity() > 4 * least {
            self.entries.shrink_to(least);
            self.text.shrink_to(2 * end);
        }
    }

    fn bytes(&self) -> u64 {
        allocation(self.index.allocation_size())
            + allocation(self.entries.capacity() * size_of::<Line>())
            + allocation(self.text.capacity())
    }
}

/// Over all bits, which the table takes from both ends.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::super::table::Ino;
    use super::*;

    fn target(ino: u64) -> Target {
        Target { key: Key { ino: Ino(ino), generation: 0 }, kind: FileType::Regular }
    }

    #[test]
    fn what_is_charged_is_given_back() {
        let (ledger, mut names) = (Ledger::default(), Names::new());
        let hasher = DefaultHashBuilder::default();
        let texts: Vec<_> = (0..1000).map(|i| format!("{i:>width$}", width = 1 + i % 200)).collect();
        let name = |i: u64| Hashed::new(Name::new(texts[i as usize].as_bytes()).unwrap(), &hasher);
        for i in 0..1000 {
            names.put(name(i), target(7), &ledger);
            names.put(name(i), target(i), &ledger);
        }
        assert_eq!((names.len(), ledger.total()), (1000, names.bytes()));
        assert!(ledger.total() > 1000 * 100);
        for i in 0..1000 {
            assert_eq!(names.get(name(i)), Some(target(i)));
            names.take(name(i), &ledger);
            names.take(name(i), &ledger);
            assert_eq!(ledger.total(), names.bytes());
        }
        assert_eq!(names.len(), 0);
        assert!(ledger.total() < 64 * SLACK as u64, "little is kept: {}", ledger.total());
        names.remove_directory(&ledger).unwrap();
        assert_eq!(ledger.total(), 0);
    }

    #[test]
    fn nothing_is_made_in_a_removed_directory() {
        let (ledger, mut names) = (Ledger::default(), Names::new());
        let name = Hashed::new(Name::new(b"a").unwrap(), &DefaultHashBuilder::default());
        names.put(name, target(7), &ledger);
        assert_eq!((names.vacant(name), names.remove_directory(&ledger)), (Err(Errno::EEXIST), Err(Errno::ENOTEMPTY)));
        names.take(name, &ledger);
        assert_eq!((names.vacant(name), names.remove_directory(&ledger)), (Ok(()), Ok(())));
        assert_eq!(names.vacant(name), Err(Errno::ENOENT));
    }
}
