//! One directory's names, by name and in the order in which they were created.
//!
//! Entries lie in one vector in the order of their creation, and their text in another. So a new
//! name causes no allocation but that of room for many. A listing begins with the newest name, as
//! that of a tmpfs does: it reads memory from back to front, and comes to an end whatever is
//! created or renamed meanwhile. A hash table maps a name to the number of its entry, which is the
//! count of entries made before it. A removed name leaves a dead entry. Once more entries are dead
//! than alive, those at the front are dropped, which keeps the numbers of the others. If most dead
//! entries are elsewhere, the living entries move together and are renumbered.
//!
//! Invariants: every node in here has a link left, so it can be found in the table as long as the
//! directory's lock is held. Cookies fall along the vector and are never reused, not even after all
//! names are gone. Memory is recorded when it is allocated and freed, which is seldom, and not with
//! each name.

use std::hash::{BuildHasher, Hasher};
use std::ops::ControlFlow;

use hashbrown::{DefaultHashBuilder, HashTable};
use pathwalk::{Entry, FileType, Name};

use super::ledger::{Ledger, allocation};
use super::table::Key;

/// The number of entries for which an empty directory may keep room, and by which the dead may
/// exceed those alive.
const SLACK: usize = 16;

/// The number of names that a directory may have. Together with the dead ones there are fewer than
/// 2³² entries.
const MAX: usize = 1 << 30;

/// The cookie of a directory's first name; each later name has one less. No directory gets as many
/// names as would be needed to come near the least cookie. It is far below the greatest offset, so
/// a call at a listing's position has no offset beyond that.
const OLDEST: u64 = 1 << 62;

/// A name with its hash. All directories of a file system use the same hash function.
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

/// The names of a directory and the nodes they lead to.
pub(crate) struct Names {
    /// The numbers of entries. They may wrap around, since there are never that many entries at
    /// once.
    index: HashTable<u32>,
    entries: Vec<Line>,
    text: Vec<u8>,
    /// The number of the first entry.
    first: u32,
    /// The value of `start` that means the beginning of `text`.
    first_text: usize,
    next_cookie: u64,
}

struct Line {
    cookie: u64,
    key: Key,
    /// The offset of the name in `text`, plus the number of bytes that were dropped from its front
    /// before.
    start: usize,
    hash: u32,
    /// The length of the name; 0 for a dead entry.
    length: u8,
    kind: FileType,
}

/// The position of a name, valid until one is added or removed.
#[derive(Clone, Copy)]
pub(crate) struct Place(u32);

impl Names {
    pub(crate) const fn new() -> Names {
        Names { index: HashTable::new(), entries: Vec::new(), text: Vec::new(), first: 0, first_text: 0, next_cookie: OLDEST }
    }

    #[inline]
    pub(crate) fn find(&self, name: &Hashed<'_>) -> Option<Place> {
        let same = |number: &u32| self.text(self.line(Place(*number))) == name.name;
        self.index.find(spread(name.hash), same).copied().map(Place)
    }

    /// Returns the node that a name leads to.
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

    /// Returns all names, sorted.
    pub(crate) fn sorted(&self) -> Vec<Vec<u8>> {
        let mut names = Vec::with_capacity(self.len());
        self.list(0, &mut |entry| {
            names.push(entry.name.to_vec());
            ControlFlow::Continue(())
        });
        names.sort_unstable();
        names
    }

    /// Passes the entries behind a cookie to `each`, in the order of cookies, until there are no
    /// more or `each` breaks.
    pub(crate) fn list(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) {
        let end = self.entries.partition_point(|line| line.cookie > from);
        for line in self.entries[..end].iter().rev().filter(|line| !line.is_dead()) {
            let Line { key, kind, cookie, .. } = *line;
            if each(Entry { name: self.text(line), key: key.into(), ino: key.ino.0, kind, cookie }).is_break() {
                return;
            }
        }
    }

    /// Adds a name that does not exist yet.
    #[inline]
    pub(crate) fn add(&mut self, name: &Hashed<'_>, key: Key, kind: FileType, ledger: &Ledger) {
        if self.needs_room(name.name.len()) {
            self.grow(name.name.len(), ledger);
        }
        let number = self.first.wrapping_add(self.entries.len() as u32);
        let (start, length) = (self.first_text + self.text.len(), name.name.len() as u8);
        self.entries.push(Line { cookie: self.next_cookie, key, start, hash: name.hash, length, kind });
        self.next_cookie -= 1;
        self.text.extend_from_slice(name.name);
        let (entries, first) = (&self.entries, self.first);
        self.index.insert_unique(spread(name.hash), number, |number| spread(entries[place(*number, first)].hash));
    }

    /// Lets an existing name lead to another node. It keeps its cookie.
    pub(crate) fn retarget(&mut self, at: Place, key: Key, kind: FileType) {
        let line = &mut self.entries[place(at.0, self.first)];
        (line.key, line.kind) = (key, kind);
    }

    /// Removes a name.
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

    /// Returns the memory of the names in bytes.
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

    /// Returns whether another name needs more memory.
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

    /// Drops the entries of an empty directory, and their room unless it is small.
    fn clear(&mut self, ledger: &Ledger) {
        if self.entries.capacity() > SLACK {
            ledger.credit(self.bytes());
            *self = Names { next_cookie: self.next_cookie, ..Names::new() };
        }
        self.entries.clear();
        self.text.clear();
        (self.first, self.first_text) = (0, 0);
    }

    /// Drops dead entries, which are the majority: those at the front if they are at least half of
    /// the dead ones, otherwise all.
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

    /// Drops entries at the front. Costs a move of all that follows.
    fn drop_front(&mut self, count: usize) {
        self.entries.drain(..count);
        self.first = self.first.wrapping_add(count as u32);
        if let Some(line) = self.entries.first() {
            self.text.drain(..line.start - self.first_text);
            self.first_text = line.start;
        }
    }

    /// Moves the living entries together. Costs a new insertion into the hash table for each of
    /// them.
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

/// Returns the index of an entry in the vector, whose first one has the number `first`.
fn place(number: u32, first: u32) -> usize {
    number.wrapping_sub(first) as usize
}

/// Spreads a hash over all bits, since the hash table uses bits from both ends.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests;
