//! One directory's names, by name and in the order in which they were made.
//!
//! Entries lie in one vector in the order of their cookies and their text in another, so that making a name allocates nothing but
//! room for many, and a listing reads memory from front to back. A hash table leads from a name to the number of its entry: how many were
//! made before. What is taken away leaves a dead entry. Once more of them are dead than alive, those at the front are let go of, which leaves
//! the numbers of the others as they are; if they are not the most, the rest moves together and is numbered anew.
//!
//! Invariants: every node in here has a link left, so it can be found in the table for as long as the directory's lock is held.
//! Cookies grow along the vector and are never given twice, also not after all names are gone. Memory is booked when it is taken and given
//! back, which is seldom, and not with each name.

use std::hash::{BuildHasher, Hasher};
use std::ops::ControlFlow;

use hashbrown::{DefaultHashBuilder, HashTable};
use pathwalk::{Entry, FIRST_COOKIE, FileType, Name};

use super::ledger::{Ledger, allocation};
use super::table::Key;

/// So many entries an empty directory may keep room for, and so many more may be dead than alive.
const SLACK: usize = 16;

/// So many names a directory may have. With those that are dead there are fewer than 2³² entries.
const MAX: usize = 1 << 30;

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
    /// Numbers of entries, which may run over: there are never so many at once.
    index: HashTable<u32>,
    entries: Vec<Line>,
    text: Vec<u8>,
    /// The number of the first entry.
    first: u32,
    /// What lines take for the beginning of `text`.
    first_text: usize,
    next_cookie: u64,
}

struct Line {
    cookie: u64,
    key: Key,
    /// Where the name is in `text`, and how many bytes of text were let go of before.
    start: usize,
    hash: u32,
    /// 0: dead.
    length: u8,
    kind: FileType,
}

/// Where a name is, until one is added or taken.
#[derive(Clone, Copy)]
pub(crate) struct Place(u32);

impl Names {
    pub(crate) const fn new() -> Names {
        Names {
            index: HashTable::new(),
            entries: Vec::new(),
            text: Vec::new(),
            first: 0,
            first_text: 0,
            next_cookie: FIRST_COOKIE,
        }
    }

    #[inline]
    pub(crate) fn find(&self, name: &Hashed<'_>) -> Option<Place> {
        let same = |number: &u32| self.text(self.line(Place(*number))) == name.name;
        self.index.find(spread(name.hash), same).copied().map(Place)
    }

    /// The node that a name leads to.
    #[inline]
    pub(crate) fn key(&self, at: Place) -> Key {
        self.line(at).key
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MAX
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
        let begin = self.entries.partition_point(|line| line.cookie <= from);
        for line in self.entries[begin..].iter().filter(|line| !line.is_dead()) {
            let Line { key, kind, cookie, .. } = *line;
            if each(Entry { name: self.text(line), key: key.into(), ino: key.ino.0, kind, cookie }).is_break() {
                return;
            }
        }
    }

    /// A name that is not there leads to a node from now on.
    #[inline]
    pub(crate) fn add(&mut self, name: &Hashed<'_>, key: Key, kind: FileType, ledger: &Ledger) {
        if self.needs_room(name.name.len()) {
            self.grow(name.name.len(), ledger);
        }
        let number = self.first.wrapping_add(self.entries.len() as u32);
        let (start, length) = (self.first_text + self.text.len(), name.name.len() as u8);
        self.entries.push(Line { cookie: self.next_cookie, key, start, hash: name.hash, length, kind });
        self.next_cookie += 1;
        self.text.extend_from_slice(name.name);
        let (entries, first) = (&self.entries, self.first);
        self.index.insert_unique(spread(name.hash), number, |number| spread(entries[place(*number, first)].hash));
    }

    /// A name that is there leads elsewhere. It keeps its cookie.
    pub(crate) fn retarget(&mut self, at: Place, key: Key, kind: FileType) {
        let line = &mut self.entries[place(at.0, self.first)];
        (line.key, line.kind) = (key, kind);
    }

    /// Takes a name away.
    #[inline]
    pub(crate) fn take(&mut self, at: Place, ledger: &Ledger) {
        let line = &mut self.entries[place(at.0, self.first)];
        line.length = 0;
        if let Ok(number) = self.index.find_entry(spread(line.hash), |number| *number == at.0) {
            number.remove();
        }
        if self.index.is_empty() {
            self.clear(ledger);
        } else if self.entries.len() > 2 * self.index.len() + SLACK {
            self.compact(ledger);
        }
    }

    /// Bytes of memory that the names take.
    pub(crate) fn bytes(&self) -> u64 {
        allocation(self.index.allocation_size())
            + allocation(self.entries.capacity() * size_of::<Line>())
            + allocation(self.text.capacity())
    }

    #[inline]
    fn line(&self, at: Place) -> &Line {
        &self.entries[place(at.0, self.first)]
    }

    #[inline]
    fn text(&self, line: &Line) -> &[u8] {
        let start = line.start - self.first_text;
        &self.text[start..start + usize::from(line.length)]
    }

    /// Whether another name needs more memory.
    fn needs_room(&self, length: usize) -> bool {
        self.entries.len() == self.entries.capacity()
            || self.text.capacity() - self.text.len() < length
            || self.index.len() == self.index.capacity()
    }

    #[cold]
    fn grow(&mut self, length: usize, ledger: &Ledger) {
        let before = self.bytes();
        self.entries.reserve(1);
        self.text.reserve(length);
        let (entries, first) = (&self.entries, self.first);
        self.index.reserve(1, |number| spread(entries[place(*number, first)].hash));
        ledger.resize(before, self.bytes());
    }

    /// Lets go of the entries of an empty directory, and of their room unless it is little.
    fn clear(&mut self, ledger: &Ledger) {
        if self.entries.capacity() > SLACK {
            ledger.credit(self.bytes());
            *self = Names { next_cookie: self.next_cookie, ..Names::new() };
        }
        self.entries.clear();
        self.text.clear();
        (self.first, self.first_text) = (0, 0);
    }

    /// Lets go of dead entries, of which there are more than others: if at least half of them are in front, of those, else of all.
    #[cold]
    fn compact(&mut self, ledger: &Ledger) {
        let before = self.bytes();
        let (alive, dead) = (self.index.len(), self.entries.len() - self.index.len());
        let in_front = self.entries.iter().take_while(|line| line.is_dead()).count();
        if in_front >= dead / 2 {
            self.drop_front(in_front);
        } else {
            self.move_together();
        }
        let least = 2 * alive;
        if self.entries.capacity() > 4 * least {
            let (entries, first) = (&self.entries, self.first);
            self.index.shrink_to(least, |number| spread(entries[place(*number, first)].hash));
            self.entries.shrink_to(least);
            self.text.shrink_to(2 * self.text.len());
        }
        ledger.resize(before, self.bytes());
    }

    /// Costs as much as moving what is behind.
    fn drop_front(&mut self, count: usize) {
        self.entries.drain(..count);
        self.first = self.first.wrapping_add(count as u32);
        if let Some(line) = self.entries.first() {
            self.text.drain(..line.start - self.first_text);
            self.first_text = line.start;
        }
    }

    /// Costs a new place in the hash table for each that is alive.
    fn move_together(&mut self) {
        let (mut end, first_text) = (0, self.first_text);
        let text = &mut self.text;
        self.entries.retain_mut(|line| {
            let (start, length) = (line.start - first_text, usize::from(line.length));
            text.copy_within(start..start + length, end);
            line.start = end;
            end += length;
            !line.is_dead()
        });
        self.text.truncate(end);
        (self.first, self.first_text) = (0, 0);
        self.index.clear();
        let hash = |number: &u32| spread(self.entries[place(*number, 0)].hash);
        for number in 0..self.entries.len() as u32 {
            self.index.insert_unique(hash(&number), number, hash);
        }
    }
}

impl Line {
    fn is_dead(&self) -> bool {
        self.length == 0
    }
}

/// Where an entry is in the vector, whose first one has the number `first`.
fn place(number: u32, first: u32) -> usize {
    number.wrapping_sub(first) as usize
}

/// Over all bits, which the table takes from both ends.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests;
