//! One directory's names.
//!
//! Invariant: every inode number in here is that of a node with a link left, so it can be found in the table for as long as
//! the directory's lock is held. A removed directory stays empty.

use hashbrown::HashMap;
use pathwalk::{Errno, Name};

use super::ledger::{Ledger, allocation};
use super::table::Ino;

/// Names and where they lead.
#[derive(Default)]
pub(crate) struct Names {
    map: HashMap<Box<[u8]>, Ino>,
    life: Life,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Life {
    #[default]
    Linked,
    /// Somebody may still hold the directory, but nothing can be made in it.
    Removed,
}

impl Names {
    pub(crate) fn get(&self, name: Name<'_>) -> Option<Ino> {
        self.map.get(name.bytes()).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// All names, sorted.
    pub(crate) fn sorted(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<_> = self.map.keys().map(|name| name.to_vec()).collect();
        names.sort_unstable();
        names
    }

    /// `ENOENT` if the directory was removed.
    pub(crate) fn linked(&self) -> Result<(), Errno> {
        if self.life == Life::Removed { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// Whether something can be made of this name: `EEXIST` if it is taken, `ENOENT` if the directory was removed.
    pub(crate) fn vacant(&self, name: Name<'_>) -> Result<(), Errno> {
        self.linked()?;
        if self.map.contains_key(name.bytes()) { Err(Errno::EEXIST) } else { Ok(()) }
    }

    /// Lets a name lead to a node, whatever it led to before.
    pub(crate) fn put(&mut self, name: Name<'_>, ino: Ino, ledger: &Ledger) {
        if let Some(there) = self.map.get_mut(name.bytes()) {
            *there = ino;
            return;
        }
        let before = self.table_bytes();
        self.map.insert(name.bytes().into(), ino);
        ledger.resize(before, self.table_bytes() + allocation(name.bytes().len()));
    }

    /// Takes a name away.
    pub(crate) fn take(&mut self, name: Name<'_>, ledger: &Ledger) {
        let before = self.table_bytes();
        if self.map.remove(name.bytes()).is_none() {
            return;
        }
        if self.map.is_empty() || self.map.len() < self.map.capacity() / 8 {
            self.map.shrink_to(self.map.len() * 2);
        }
        ledger.resize(before + allocation(name.bytes().len()), self.table_bytes());
    }

    /// `ENOTEMPTY` if a name is left; otherwise nothing can be made in here from now on.
    pub(crate) fn remove_directory(&mut self) -> Result<(), Errno> {
        if !self.map.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        self.life = Life::Removed;
        Ok(())
    }

    fn table_bytes(&self) -> u64 {
        allocation(self.map.allocation_size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_given_back() {
        let (ledger, mut names) = (Ledger::default(), Names::default());
        let name = |i: u32| format!("{i:>width$}", width = 1 + i as usize % 200).into_bytes();
        for i in 0..1000 {
            names.put(Name::new(&name(i)).unwrap(), Ino(7), &ledger);
            names.put(Name::new(&name(i)).unwrap(), Ino(8), &ledger);
        }
        let names_alone: u64 = (0..1000).map(|i| allocation(name(i).len())).sum();
        assert_eq!(ledger.total(), names_alone + names.table_bytes());
        for i in 0..1000 {
            names.take(Name::new(&name(i)).unwrap(), &ledger);
            names.take(Name::new(&name(i)).unwrap(), &ledger);
        }
        assert_eq!((names.len(), ledger.total()), (0, 0));
    }

    #[test]
    fn nothing_is_made_in_a_removed_directory() {
        let (ledger, mut names) = (Ledger::default(), Names::default());
        let name = Name::new(b"a").unwrap();
        names.put(name, Ino(7), &ledger);
        assert_eq!((names.vacant(name), names.remove_directory()), (Err(Errno::EEXIST), Err(Errno::ENOTEMPTY)));
        names.take(name, &ledger);
        assert_eq!((names.vacant(name), names.remove_directory()), (Ok(()), Ok(())));
        assert_eq!(names.vacant(name), Err(Errno::ENOENT));
    }
}
