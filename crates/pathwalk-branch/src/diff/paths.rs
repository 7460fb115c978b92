//! The paths of nodes in one tree, also of those that lost a name.
//!
//! A tree notes one place for each node: where it was found, or the name that it got last. A node
//! with several names may have lost that one. Then another name of it is looked for.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::names::{DEEPEST, path_at};
use crate::branch::{Shared, place, record};
use crate::rows::{self, Names, Row, Tag};
use crate::tree::{Key, Tree};

/// A directory, and a name in it.
pub(crate) type At<'a> = (u64, &'a [u8]);

/// What a row says of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leads {
    Yes,
    /// There is no row: the name is one of the base, or there is none.
    Unsaid,
    No,
}

/// The paths of nodes in a tree.
pub(crate) struct Paths<'a> {
    shared: &'a Shared,
    tree: &'a Tree<Row>,
    /// The keys of the names of which the tree has rows, by nodes. They are collected for the first
    /// node that lost the noted one.
    named: OnceCell<BTreeMap<u64, Vec<Key>>>,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(shared: &'a Shared, tree: &'a Tree<Row>) -> Paths<'a> {
        Paths { shared, tree, named: OnceCell::new() }
    }

    /// Returns a path of a node. `None` if no name is known: a node of the base may have others.
    pub(crate) fn of(&self, number: u64) -> Option<Box<[u8]>> {
        if number == self.shared.root {
            return Some(b"/"[..].into());
        }
        let (dir, name) = self.place_of(number)?;
        path_at(self.tree, self.shared.root, dir, name)
    }

    /// Returns the directory of a node and its name there. `None` as for its path.
    pub(crate) fn place_of(&self, number: u64) -> Option<At<'a>> {
        let noted = place(self.tree, number).map(|place| (place.dir, &*place.name));
        let origin = record(self.tree, number).and_then(|record| record.origin.as_ref());
        let found = origin.and_then(|origin| origin.way.as_ref()).map(|way| (way.dir, &*way.name));
        let is_sure = |at: &At<'_>| self.is_name(*at, number) && (self.leads(*at, number) == Leads::Yes || Some(*at) == found);
        let is_directory = record(self.tree, number).is_none_or(|record| record.is_directory());
        // A directory has one name.
        noted
            .filter(|at| is_directory || is_sure(at))
            .or_else(|| self.named(number).find(|at| self.is_name(*at, number)))
            .or_else(|| found.filter(|at| self.is_name(*at, number)))
            .or_else(|| noted.filter(|at| self.is_name(*at, number)))
    }

    /// Returns whether a name may lead to a node, and its directory is there.
    fn is_name(&self, (dir, name): At<'_>, number: u64) -> bool {
        let shows_base = || record(self.tree, dir).is_none_or(|record| record.names == Names::Merged);
        match self.leads((dir, name), number) {
            Leads::No => false,
            Leads::Unsaid if !shows_base() => false,
            _ => self.is_there(dir),
        }
    }

    fn leads(&self, (dir, name): At<'_>, number: u64) -> Leads {
        match self.tree.get(&self.shared.entry_key(dir, name)) {
            Some(Row::Entry(entry)) if entry.target.is_some_and(|target| target.number == number) => Leads::Yes,
            Some(Row::Entry(_)) => Leads::No,
            _ => Leads::Unsaid,
        }
    }

    /// Returns whether a directory has a name, and so have all above it.
    fn is_there(&self, dir: u64) -> bool {
        let mut number = dir;
        for _ in 0..DEEPEST {
            if number == self.shared.root {
                return true;
            }
            let Some(at) = place(self.tree, number) else { return false };
            if self.leads((at.dir, &at.name), number) == Leads::No {
                return false;
            }
            number = at.dir;
        }
        false
    }

    /// Returns the names of a node of which the tree has rows.
    fn named(&self, number: u64) -> impl Iterator<Item = At<'a>> {
        let all = self.named.get_or_init(|| {
            let mut all: BTreeMap<u64, Vec<Key>> = BTreeMap::new();
            for (key, row) in self.tree.range(&[]) {
                if let (Row::Entry(entry), Some((_, Tag::Entry, _))) = (row, rows::parts(key))
                    && let Some(target) = entry.target
                {
                    all.entry(target.number).or_default().push(key.clone());
                }
            }
            all
        });
        let keys = all.get(&number).into_iter().flatten();
        keys.filter_map(|key| {
            let (dir, _, rest) = rows::parts(self.tree.range(key).next()?.0)?;
            Some((dir, rows::hash_and_name(rest)?.1))
        })
    }
}
