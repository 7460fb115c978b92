//! The check of a store: whether all that a branch refers to is there, and can be read.
//!
//! What can be told from the rest is mended: counts of forks, and counters that are too low. What
//! is lost is named.
//!
//! What it does not do: it does not know what data was. Of each blob, the last byte that a file
//! shows is read, which fails if the file of the blob is missing or too short.

use std::collections::BTreeMap;
use std::fmt;

use hashbrown::{HashMap, HashSet};
use pathwalk::Errno;

use super::encoding::{self, OfBranch, OfNode, OfOrigin, OfRow, OfWhat};
use super::table::{BRANCHES, OF_BRANCHES, RANGES, Step};
use super::trees::{HIGHEST, node_key, origin_key};
use super::{RANGE, Stored, store_error};
use crate::base::{Base, FIRST_NEW};
use crate::branch::Shared;
use crate::diff::Paths;
use crate::error::Error;
use crate::rows::{self, Extent, Row, What};
use crate::store::Snapshot;
use crate::tree::{Node, Parts};

/// What a check of a store has found. [`Branches::check`](crate::Branches::check) has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Damage {
    /// The row of a branch cannot be read: the branch is lost.
    Branch {
        /// The name of the branch.
        name: String,
    },
    /// A part of the tree of a branch is missing, or cannot be read. The branch can be dropped.
    Tree {
        /// The name of the branch.
        name: String,
    },
    /// A part of what a branch had in common with its parent is missing, or cannot be read. The
    /// branch is whole, and can be neither compared nor committed.
    Forked {
        /// The name of the branch.
        name: String,
    },
    /// The branch from which a branch was forked is not there. It can be compared, and not
    /// committed.
    Parent {
        /// The name of the branch.
        name: String,
    },
    /// A part of the data of a file is missing. Other branches may share it.
    Data {
        /// The name of a branch that has the file.
        name: String,
        /// The path of the file.
        path: Box<[u8]>,
    },
    /// The number of forks of a branch was not noted right. It is mended.
    Forks {
        /// The name of the branch.
        name: String,
    },
    /// A counter was lower than numbers in use. It is mended.
    Counter,
}

impl Damage {
    /// Returns whether it is mended.
    pub fn is_mended(&self) -> bool {
        matches!(self, Damage::Forks { .. } | Damage::Counter)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Branch { name } => write!(f, "branch \"{name}\" is lost: its row cannot be read"),
            Damage::Tree { name } => write!(f, "branch \"{name}\" is lost: a part of its tree cannot be read; drop it"),
            Damage::Forked { name } => {
                write!(f, "branch \"{name}\" can be neither compared nor committed: what it was forked from cannot be read")
            }
            Damage::Parent { name } => write!(f, "branch \"{name}\" cannot be committed: its parent is not there"),
            Damage::Data { name, path } => {
                write!(f, "a part of the data of \"{}\" is lost, in branch \"{name}\"", path.escape_ascii())
            }
            Damage::Forks { name } => write!(f, "the number of forks of branch \"{name}\" was wrong; it is mended"),
            Damage::Counter => f.write_str("a counter was lower than numbers in use; it is mended"),
        }
    }
}

/// What is known of the parts of trees.
struct Checker<'a> {
    snapshot: &'a dyn Snapshot,
    /// Whether a node and all below it can be read.
    nodes: HashMap<u64, bool>,
    origins: HashMap<u64, bool>,
    /// The ranges of numbers that are in use end below this.
    ranges: u64,
}

impl Checker<'_> {
    fn is_whole(&mut self, number: u64, levels: usize) -> Result<bool, Errno> {
        if let Some(known) = self.nodes.get(&number) {
            return Ok(*known);
        }
        self.ranges = self.ranges.max(number / RANGE + 1);
        let value = self.snapshot.get(&node_key(number))?;
        let mut is_whole = levels > 0;
        match value.map(|value| encoding::decode(&value)) {
            Some(Ok(OfNode::Children(children))) if is_whole => {
                is_whole = children.is_sorted_by(|(one, _), (other, _)| one < other);
                for (_, child) in children {
                    is_whole &= self.is_whole(child, levels - 1)?;
                }
            }
            Some(Ok(OfNode::Rows(all))) if is_whole => {
                is_whole = all.is_sorted_by(|(one, _), (other, _)| one < other);
                for (key, row) in all {
                    is_whole &= self.has_origin(&row)?;
                    let number = rows::parts(&key).map_or(0, |(number, ..)| number);
                    self.ranges = self.ranges.max(number.checked_sub(FIRST_NEW).map_or(0, |number| number / RANGE + 1));
                }
            }
            _ => is_whole = false,
        }
        self.nodes.insert(number, is_whole);
        Ok(is_whole)
    }

    fn has_origin(&mut self, row: &OfRow) -> Result<bool, Errno> {
        let origin = match row {
            OfRow::Record(record) => record.origin,
            OfRow::Extent { what: OfWhat::Base(origin, _), .. } => Some(*origin),
            _ => None,
        };
        let Some(number) = origin else { return Ok(true) };
        if let Some(known) = self.origins.get(&number) {
            return Ok(*known);
        }
        self.ranges = self.ranges.max(number / RANGE + 1);
        let value = self.snapshot.get(&origin_key(number))?;
        let is_there = value.is_some_and(|value| encoding::decode::<OfOrigin>(&value).is_ok());
        self.origins.insert(number, is_there);
        Ok(is_there)
    }

    fn is_tree(&mut self, root: u64) -> Result<bool, Errno> {
        if root == 0 { Ok(true) } else { self.is_whole(root, HIGHEST) }
    }
}

impl Stored {
    /// Checks all branches, as they were synced last, and mends what it can.
    pub(crate) fn check(&self, shared: &Shared) -> Result<Vec<Damage>, Error> {
        let action = "check the store";
        let mut found = self.mend(&shared.base, action)?;
        self.check_data(shared, &mut found).map_err(store_error(action))?;
        Ok(found)
    }

    /// Checks rows, and mends counts and counters.
    fn mend(&self, base: &Base, action: &'static str) -> Result<Vec<Damage>, Error> {
        self.change(base, action, |step| {
            let (branches, mut found) = all_branches(step.snapshot).map_err(store_error(action))?;
            let mut checker = Checker { snapshot: step.snapshot, nodes: HashMap::new(), origins: HashMap::new(), ranges: 0 };
            for (name, row) in &branches {
                let name = || name.clone();
                if !checker.is_tree(row.root).map_err(store_error(action))? {
                    found.push(Damage::Tree { name: name() });
                } else if !checker.is_tree(row.forked).map_err(store_error(action))? {
                    found.push(Damage::Forked { name: name() });
                }
                if row.parent.as_ref().is_some_and(|parent| !branches.contains_key(parent)) {
                    found.push(Damage::Parent { name: name() });
                }
            }
            let ranges = checker.ranges;
            mend_counts(step, &branches, &mut found).map_err(store_error(action))?;
            let ids = branches.values().map(|row| row.id + 1).max().unwrap_or(0);
            let mut is_low = false;
            for (key, least) in [(RANGES, ranges), (BRANCHES, ids)] {
                is_low |= step.raise(key, least).map_err(store_error(action))?;
            }
            found.extend(is_low.then_some(Damage::Counter));
            Ok(found)
        })
    }

    /// Reads the ends of all blobs of the branches that can be read.
    fn check_data(&self, shared: &Shared, found: &mut Vec<Damage>) -> Result<(), Errno> {
        let snapshot = self.store.snapshot()?;
        let mut seen = HashSet::new();
        for (name, row) in all_branches(&*snapshot)?.0 {
            let is_lost = |damage: &Damage| matches!(damage, Damage::Tree { name: of } if **of == *name);
            if !found.iter().any(is_lost) {
                let tree = match self.load(&shared.base, &*snapshot, row.root) {
                    Err(Errno::EIO) => {
                        found.push(Damage::Tree { name });
                        continue;
                    }
                    tree => tree?,
                };
                let mut damaged: Vec<u64> = Vec::new();
                check_node(tree.root(), &mut seen, &mut damaged);
                damaged.dedup();
                let paths = Paths::new(shared, &tree);
                let path = |number| paths.of(number).unwrap_or_default();
                found.extend(damaged.into_iter().map(|number| Damage::Data { name: name.clone(), path: path(number) }));
            }
        }
        Ok(())
    }
}

/// Returns all branches by their names, and those whose rows cannot be read.
fn all_branches(snapshot: &dyn Snapshot) -> Result<(BTreeMap<String, OfBranch>, Vec<Damage>), Errno> {
    let (mut branches, mut found) = (BTreeMap::new(), Vec::new());
    let mut each = |key: &[u8], value: &[u8]| {
        let name = String::from_utf8_lossy(&key[OF_BRANCHES.len()..]).into_owned();
        match encoding::decode(value) {
            Ok(row) => _ = branches.insert(name, row),
            Err(_) => found.push(Damage::Branch { name }),
        }
        Ok(())
    };
    snapshot.scan(OF_BRANCHES, &mut each)?;
    Ok((branches, found))
}

/// Sets the numbers of forks to what they are.
fn mend_counts(step: &mut Step<'_>, branches: &BTreeMap<String, OfBranch>, found: &mut Vec<Damage>) -> Result<(), Errno> {
    let mut forks: BTreeMap<&str, u32> = BTreeMap::new();
    branches.values().filter_map(|row| row.parent.as_deref()).for_each(|parent| *forks.entry(parent).or_default() += 1);
    for (name, row) in branches {
        let forks = forks.get(&**name).copied().unwrap_or(0);
        if forks != row.forks {
            // It is checked to be the same when the batch is applied.
            step.branch(name)?;
            step.put_branch(name, &OfBranch { forks, ..row.clone() })?;
            found.push(Damage::Forks { name: name.clone() });
        }
    }
    Ok(())
}

/// Finds the files below a node whose blobs are too short. A node that was seen is left out.
fn check_node(node: &Node<Row>, seen: &mut HashSet<u64>, damaged: &mut Vec<u64>) {
    let number = node.number();
    if number != 0 && !seen.insert(number) {
        return;
    }
    match node.parts() {
        Parts::Children(children) => children.into_iter().for_each(|(_, child)| check_node(child, seen, damaged)),
        Parts::Rows(rows) => {
            for (key, row) in rows {
                if let Row::Extent(Extent { length, what: What::Blob(blob, start) }) = row
                    && blob.read(start + length - 1, &mut [0]).is_err()
                    && let Some((number, ..)) = rows::parts(key)
                {
                    damaged.push(number);
                }
            }
        }
    }
}
