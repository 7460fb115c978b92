//! Entries of a directory that were read ahead of the reader.

use crate::attr::FileType;
use crate::file::Dirent;

/// Most bytes that are read ahead of one directory, as C libraries give to `getdents(2)`.
const MOST_BYTES: usize = 32 << 10;

/// Entries that were read and not yet given out, the oldest first.
#[derive(Default)]
pub(super) struct Ahead {
    names: Vec<u8>,
    entries: Vec<Entry>,
    /// How many were given out.
    given: usize,
}

/// One of them; its name ends where the next one's begins.
struct Entry {
    begin: u32,
    kind: FileType,
    ino: u64,
    cookie: u64,
}

impl Ahead {
    pub(super) fn is_empty(&self) -> bool {
        self.given == self.entries.len()
    }

    /// Returns whether another entry might be too much.
    pub(super) fn is_full(&self) -> bool {
        let bytes = self.names.len() + self.entries.len() * size_of::<Entry>();
        bytes + crate::limits::NAME_MAX + size_of::<Entry>() > MOST_BYTES
    }

    pub(super) fn push(&mut self, entry: Dirent<'_>) {
        let Dirent { name, ino, kind, cookie } = entry;
        self.entries.push(Entry { begin: self.names.len() as u32, kind, ino, cookie });
        self.names.extend_from_slice(name);
    }

    /// Returns the next one.
    pub(super) fn next(&mut self) -> Option<Dirent<'_>> {
        let Entry { begin, kind, ino, cookie } = *self.entries.get(self.given)?;
        self.given += 1;
        let end = self.entries.get(self.given).map_or(self.names.len(), |next| next.begin as usize);
        Some(Dirent { name: &self.names[begin as usize..end], ino, kind, cookie })
    }

    /// Forgets all of them, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
        self.given = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_and_is_bounded() {
        let mut ahead = Ahead::default();
        for round in 0..3_u64 {
            ahead.clear();
            let mut count = 0;
            while !ahead.is_full() {
                let name = vec![b'x'; (count as usize * 7 + round as usize) % 255 + 1];
                ahead.push(Dirent { name: &name, ino: count, kind: FileType::Regular, cookie: count + 3 });
                count += 1;
            }
            assert!(ahead.names.len() + ahead.entries.len() * size_of::<Entry>() <= MOST_BYTES);
            for number in 0..count {
                let entry = ahead.next().expect("it went in");
                assert_eq!((entry.ino, entry.cookie), (number, number + 3));
                assert_eq!(entry.name.len(), (number as usize * 7 + round as usize) % 255 + 1);
            }
            assert!(ahead.is_empty() && ahead.next().is_none());
        }
    }
}
