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

/// Names and where they lead.
pub(crate) struct Names {
    /// Places in `entries`.
    index: HashTable<usize>,
    hasher: DefaultHashBuilder,
    entries: Vec<Slot>,
    text: Vec<u8>,
    next_cookie: u64,
    life: Life,
}

struct Slot {
    cookie: u64,
    target: Target,
    /// Where the name is in `text`.
    start: usize,
    /// 0: dead.
    length: u8,
}

/// What a name leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) key: Key,
    pub(crate) kind: FileType,
}

impl Target {
    pub(crate) fn of(inode: &Inode) -> Target {
        Target { key: inode.key, kind: inode.kind }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Life {
    #[default]
    Linked,
    /// Somebody may still hold the directory, but nothing can be made in it.
    Removed,
}

impl Slot {
    fn text(&self) -> Range<usize> {
        self.start..self.start + usize::from(self.length)
    }

    fn is_dead(&self) -> bool {
        self.length == 0
    }
}

impl Default for Names {
    fn default() -> Names {
        Names {
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            entries: Vec::new(),
            text: Vec::new(),
            next_cookie: FIRST_COOKIE,
            life: Life::Linked,
        }
    }
}

impl Names {
    pub(crate) fn get(&self, name: Name<'_>) -> Option<Target> {
        self.place(name).map(|place| self.entries[place].target)
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// All names, sorted.
    pub(crate) fn sorted(&self) -> Vec<Vec<u8>> {
        let alive = self.entries.iter().filter(|slot| !slot.is_dead());
        let mut names: Vec<_> = alive.map(|slot| self.text[slot.text()].to_vec()).collect();
        names.sort_unstable();
        names
    }

    /// Gives the entries behind a cookie, in the order of cookies, until there are no more or `each` says so.
    pub(crate) fn list(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) {
        let begin = self.entries.partition_point(|slot| slot.cookie <= from);
        for slot in self.entries[begin..].iter().filter(|slot| !slot.is_dead()) {
            let Target { key, kind } = slot.target;
            let entry = Entry { name: &self.text[slot.text()], key: key.into(), ino: key.ino.0, kind, cookie: slot.cookie };
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
    pub(crate) fn vacant(&self, name: Name<'_>) -> Result<(), Errno> {
        self.linked()?;
        if self.place(name).is_some() { Err(Errno::EEXIST) } else { Ok(()) }
    }

    /// Lets a name lead to a node, whatever it led to before. A name that was there keeps its cookie.
    pub(crate) fn put(&mut self, name: Name<'_>, target: Target, ledger: &Ledger) {
        if let Some(there) = self.place(name) {
            self.entries[there].target = target;
            return;
        }
        let before = self.bytes();
        let slot = Slot { cookie: self.next_cookie, target, start: self.text.len(), length: name.bytes().len() as u8 };
        self.next_cookie += 1;
        self.entries.push(slot);
        self.text.extend_from_slice(name.bytes());
        let (place, hash) = (self.entries.len() - 1, hash(&self.hasher, name.bytes()));
        let again = |place: &usize| hash_of(&self.hasher, &self.entries, &self.text, *place);
        self.index.insert_unique(hash, place, again);
        ledger.resize(before, self.bytes());
    }

    /// Takes a name away.
    pub(crate) fn take(&mut self, name: Name<'_>, ledger: &Ledger) {
        let (entries, text) = (&self.entries, &self.text);
        let same = |place: &usize| &text[entries[*place].text()] == name.bytes();
        let Ok(found) = self.index.find_entry(hash(&self.hasher, name.bytes()), same) else { return };
        let (place, _) = found.remove();
        self.entries[place].length = 0;
        let before = self.bytes();
        if self.index.is_empty() {
            self.clear();
        } else if self.entries.len() > 2 * self.index.len() + SLACK {
            self.compact();
        }
        ledger.resize(before, self.bytes());
    }

    /// `ENOTEMPTY` if a name is left; otherwise nothing can be made in here from now on.
    pub(crate) fn remove_directory(&mut self, ledger: &Ledger) -> Result<(), Errno> {
        if self.len() > 0 {
            return Err(Errno::ENOTEMPTY);
        }
        ledger.credit(self.bytes());
        *self = Names { life: Life::Removed, ..Names::default() };
        Ok(())
    }

    fn place(&self, name: Name<'_>) -> Option<usize> {
        let same = |place: &usize| &self.text[self.entries[*place].text()] == name.bytes();
        self.index.find(hash(&self.hasher, name.bytes()), same).copied()
    }

    /// Lets go of all entries, which are dead, and of the memory unless it is little.
    fn clear(&mut self) {
        self.entries.clear();
        self.text.clear();
        if self.entries.capacity() > SLACK {
            *self = Names { next_cookie: self.next_cookie, life: self.life, ..Names::default() };
        }
    }

    /// Lets go of dead entries. Costs as much as there are entries, of which more than half were taken since the last time.
    fn compact(&mut self) {
        let mut end = 0;
        let text = &mut self.text;
        self.entries.retain_mut(|slot| {
            text.copy_within(slot.text(), end);
            slot.start = end;
            end += usize::from(slot.length);
            !slot.is_dead()
        });
        self.text.truncate(end);
        self.entries.shrink_to(2 * self.entries.len());
        self.text.shrink_to(2 * end);
        self.index.clear();
        let again = |place: &usize| hash_of(&self.hasher, &self.entries, &self.text, *place);
        self.index.shrink_to(2 * self.entries.len(), again);
        for place in 0..self.entries.len() {
            self.index.insert_unique(again(&place), place, again);
        }
    }

    /// Bytes of memory that the names take.
    fn bytes(&self) -> u64 {
        allocation(self.index.allocation_size())
            + allocation(self.entries.capacity() * size_of::<Slot>())
            + allocation(self.text.capacity())
    }
}

fn hash(hasher: &DefaultHashBuilder, name: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(name);
    hasher.finish()
}

fn hash_of(hasher: &DefaultHashBuilder, entries: &[Slot], text: &[u8], place: usize) -> u64 {
    hash(hasher, &text[entries[place].text()])
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
        let (ledger, mut names) = (Ledger::default(), Names::default());
        let name = |i: u64| format!("{i:>width$}", width = 1 + i as usize % 200).into_bytes();
        for i in 0..1000 {
            names.put(Name::new(&name(i)).unwrap(), target(7), &ledger);
            names.put(Name::new(&name(i)).unwrap(), target(i), &ledger);
        }
        assert_eq!((names.len(), ledger.total()), (1000, names.bytes()));
        assert!(ledger.total() > 1000 * 100);
        for i in 0..1000 {
            assert_eq!(names.get(Name::new(&name(i)).unwrap()), Some(target(i)));
            names.take(Name::new(&name(i)).unwrap(), &ledger);
            names.take(Name::new(&name(i)).unwrap(), &ledger);
            assert_eq!(ledger.total(), names.bytes());
        }
        assert_eq!(names.len(), 0);
        assert!(ledger.total() < 64 * SLACK as u64, "little is kept: {}", ledger.total());
        names.remove_directory(&ledger).unwrap();
        assert_eq!(ledger.total(), 0);
    }

    #[test]
    fn nothing_is_made_in_a_removed_directory() {
        let (ledger, mut names) = (Ledger::default(), Names::default());
        let name = Name::new(b"a").unwrap();
        names.put(name, target(7), &ledger);
        assert_eq!((names.vacant(name), names.remove_directory(&ledger)), (Err(Errno::EEXIST), Err(Errno::ENOTEMPTY)));
        names.take(name, &ledger);
        assert_eq!((names.vacant(name), names.remove_directory(&ledger)), (Ok(()), Ok(())));
        assert_eq!(names.vacant(name), Err(Errno::ENOENT));
    }
}
