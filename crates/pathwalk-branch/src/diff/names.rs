//! The names that came and went between two trees, and the paths of nodes in each.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::Groups;
use crate::branch::{place, record};
use crate::rows::{Row, Target};
use crate::tree::Tree;

/// The most directories above a node. It ends a search in a tree that is damaged.
const DEEPEST: usize = 1 << 20;

/// A name that came or went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) dir: u64,
    pub(crate) name: Box<[u8]>,
    pub(crate) target: Target,
}

/// The names that came and went.
pub(crate) struct Moves {
    pub(crate) gone: Vec<Named>,
    pub(crate) come: Vec<Named>,
    /// The nodes that were there and have no name any more.
    removed: BTreeSet<u64>,
    /// The nodes that were there and have names that came.
    moved: BTreeSet<u64>,
}

impl Moves {
    pub(crate) fn of(groups: &Groups, new: &Tree<Row>) -> Moves {
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for (dir, group) in groups.iter() {
            for entry in group.entries() {
                let hidden = entry.new.and_then(|new| new.hides);
                let before = entry.old.map_or(hidden, |old| old.target);
                let after = entry.new.and_then(|new| new.target);
                if before != after {
                    let named = |target| Named { dir, name: entry.name.into(), target };
                    gone.extend(before.map(named));
                    come.extend(after.map(named));
                }
            }
        }
        let arrived: BTreeSet<u64> = come.iter().map(|named| named.target.number).collect();
        let has_names = |number| record(new, number).is_some_and(|record| record.attributes.nlink > 0);
        let lost = gone.iter().map(|named| named.target.number).filter(|number| !has_names(*number));
        let ended = groups.iter().filter(|(_, group)| group.has_ended()).map(|(number, _)| number);
        let removed = lost.chain(ended).filter(|number| !arrived.contains(number)).collect();
        let left = gone.iter().map(|named| named.target.number);
        let moved = left.filter(|number| arrived.contains(number)).collect();
        Moves { gone, come, removed, moved }
    }

    /// Returns the names that went with the names that came in their places, of the same nodes.
    pub(crate) fn renames(&self) -> Vec<(Named, Named)> {
        let mut from: BTreeMap<u64, Vec<&Named>> = BTreeMap::new();
        self.gone.iter().for_each(|named| from.entry(named.target.number).or_default().push(named));
        let pair = |to: &Named| Some((from.get_mut(&to.target.number)?.pop()?.clone(), to.clone()));
        self.come.iter().filter_map(pair).collect()
    }

    /// Returns whether a node lost its last name.
    pub(crate) fn is_removed(&self, number: u64) -> bool {
        self.removed.contains(&number)
    }

    pub(crate) fn removed(&self) -> impl Iterator<Item = u64> {
        self.removed.iter().copied()
    }

    /// Returns whether a node was there and has a new name in the place of an old one.
    pub(crate) fn is_renamed(&self, number: u64) -> bool {
        self.moved.contains(&number)
    }

    /// Returns the path that a name had before the changes.
    pub(crate) fn old_path_at(&self, old: &Tree<Row>, new: &Tree<Row>, root: u64, dir: u64, name: &[u8]) -> Option<Box<[u8]>> {
        let from = |number| self.gone.iter().find(|named| named.target.number == number).map(|named| (named.dir, &*named.name));
        path(root, dir, name, |number| {
            let of_tree = |tree| place(tree, number).map(|place| (place.dir, &*place.name));
            of_tree(old).or_else(|| from(number)).or_else(|| of_tree(new))
        })
    }
}

/// Returns the path of a name in a directory.
pub(crate) fn path_at(tree: &Tree<Row>, root: u64, dir: u64, name: &[u8]) -> Option<Box<[u8]>> {
    path(root, dir, name, |number| place(tree, number).map(|place| (place.dir, &*place.name)))
}

/// Returns the path of a node.
pub(crate) fn path_of(tree: &Tree<Row>, root: u64, number: u64) -> Option<Box<[u8]>> {
    if number == root {
        return Some(b"/"[..].into());
    }
    let place = place(tree, number)?;
    path_at(tree, root, place.dir, &place.name)
}

/// Returns the path of a name, whose directories have these places.
fn path<'a>(root: u64, dir: u64, name: &'a [u8], place: impl Fn(u64) -> Option<(u64, &'a [u8])>) -> Option<Box<[u8]>> {
    let (mut number, mut names) = (dir, vec![name]);
    while number != root {
        let (above, name) = place(number)?;
        names.push(name);
        number = above;
        if names.len() > DEEPEST {
            return None;
        }
    }
    Some(names.iter().rev().flat_map(|name| [b"/", *name].concat()).collect())
}
