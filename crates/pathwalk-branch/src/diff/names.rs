//! The names that came and went between two trees, and the paths of nodes in each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::groups::Groups;
use crate::branch::{Way, place, record};
use crate::rows::{Row, Target};
use crate::tree::Tree;

/// The most directories above a node. It ends a search in a tree that is damaged.
pub(crate) const DEEPEST: usize = 1 << 20;

/// A name that came or went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) dir: u64,
    pub(crate) name: Box<[u8]>,
    pub(crate) target: Target,
}

impl Named {
    /// Returns the directory and the name, of which there is one at a time.
    pub(crate) fn place(&self) -> (u64, Box<[u8]>) {
        (self.dir, self.name.clone())
    }
}

/// The names that came and went.
pub(crate) struct Moves {
    pub(crate) gone: Vec<Named>,
    pub(crate) come: Vec<Named>,
    /// For each node with names that went, the place of the first of them in `gone`.
    gone_by_node: BTreeMap<u64, usize>,
    /// The nodes that were there and have no name any more.
    removed: BTreeSet<u64>,
    /// The nodes that were there and have names that came.
    moved: BTreeSet<u64>,
    /// The places of directories of the base that have no rows, above nodes that moved.
    above: BTreeMap<u64, Arc<Way>>,
}

impl Moves {
    pub(crate) fn of(groups: &Groups, old: &Tree<Row>, new: &Tree<Row>) -> Moves {
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for (dir, group) in groups.iter() {
            // The names of the base show in a directory that is there.
            let is_there = record(new, dir).is_some();
            for entry in group.entries() {
                let before = entry.before();
                let after = if is_there { entry.after() } else { entry.new.and_then(|new| new.target) };
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
        let removed: BTreeSet<u64> = lost.chain(ended).filter(|number| !arrived.contains(number)).collect();
        let (without_rows, above) = moved_out(&come, &gone, (old, new), &removed);
        gone.extend(without_rows);
        let left = gone.iter().map(|named| named.target.number);
        let moved = left.filter(|number| arrived.contains(number)).collect();
        let mut gone_by_node = BTreeMap::new();
        gone.iter().enumerate().for_each(|(at, named)| _ = gone_by_node.entry(named.target.number).or_insert(at));
        Moves { gone, come, gone_by_node, removed, moved, above }
    }

    /// Returns the first name of a node that went.
    pub(crate) fn first_gone(&self, number: u64) -> Option<&Named> {
        self.gone_by_node.get(&number).map(|at| &self.gone[*at])
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

    /// Returns whether a way, as it was before the changes, leads through a directory that they
    /// removed.
    pub(crate) fn removed_above(&self, old: &Tree<Row>, way: &Arc<Way>) -> bool {
        lies_in(way, old, &self.removed, &mut BTreeMap::new())
    }

    /// Returns the nodes that were below a directory without rows of its own, and were moved.
    pub(crate) fn moved_out_of(&self, above: u64) -> impl Iterator<Item = u64> {
        let lies_in = move |named: &&Named| {
            let mut dir = named.dir;
            while let (true, Some(way)) = (dir != above, self.above.get(&dir)) {
                dir = way.dir;
            }
            dir == above
        };
        self.gone.iter().filter(lies_in).map(|named| named.target.number)
    }

    /// Returns whether a node was there and has a new name in the place of an old one.
    pub(crate) fn is_renamed(&self, number: u64) -> bool {
        self.moved.contains(&number)
    }

    /// Returns the path that a name had before the changes.
    pub(crate) fn old_path_at(&self, old: &Tree<Row>, new: &Tree<Row>, root: u64, dir: u64, name: &[u8]) -> Option<Box<[u8]>> {
        let from = |number| self.first_gone(number).map(|named| (named.dir, &*named.name));
        path(root, dir, name, |number| {
            let of_tree = |tree| place(tree, number).map(|place| (place.dir, &*place.name));
            let of_base = || self.above.get(&number).map(|way| (way.dir, &*way.name));
            of_tree(old).or_else(|| from(number)).or_else(|| of_tree(new)).or_else(of_base)
        })
    }
}

/// Returns the old names of nodes that were moved out of directories which are gone with their
/// rows, and the places of those directories that have no rows in the old tree either.
fn moved_out(
    come: &[Named],
    gone: &[Named],
    (old, new): (&Tree<Row>, &Tree<Row>),
    removed: &BTreeSet<u64>,
) -> (Vec<Named>, BTreeMap<u64, Arc<Way>>) {
    let gone: BTreeSet<u64> = gone.iter().map(|named| named.target.number).collect();
    let (mut found, mut above) = (Vec::new(), BTreeMap::new());
    for to in come.iter().filter(|to| !gone.contains(&to.target.number)) {
        let Some(way) = old_way(old, new, to.target.number) else { continue };
        if lies_in(&way, old, removed, &mut above) {
            found.push(Named { dir: way.dir, name: way.name.clone(), target: to.target });
        }
    }
    (found, above)
}

/// Returns the way by which a node was found in an older tree: its place there, or the way to the
/// node of the base. `None` for a new node.
pub(crate) fn old_way(old: &Tree<Row>, new: &Tree<Row>, number: u64) -> Option<Arc<Way>> {
    if record(old, number).is_some() {
        let place = place(old, number)?;
        return Some(Arc::new(Way { dir: place.dir, name: place.name.clone(), above: None }));
    }
    record(new, number)?.origin.as_ref()?.way.clone()
}

/// Returns whether a way leads through one of these directories. Passes the places on it that the
/// older tree does not have to `above`.
fn lies_in(way: &Arc<Way>, old: &Tree<Row>, directories: &BTreeSet<u64>, above: &mut BTreeMap<u64, Arc<Way>>) -> bool {
    let (mut dir, mut next, mut is_in) = (way.dir, way.above.clone(), false);
    for _ in 0..DEEPEST {
        is_in |= directories.contains(&dir);
        if let Some(place) = place(old, dir) {
            (dir, next) = (place.dir, None);
        } else if let Some(way) = next.take() {
            above.insert(dir, Arc::clone(&way));
            (dir, next) = (way.dir, way.above.clone());
        } else {
            break;
        }
    }
    is_in
}

/// Returns the path of a name in a directory.
pub(crate) fn path_at(tree: &Tree<Row>, root: u64, dir: u64, name: &[u8]) -> Option<Box<[u8]>> {
    path(root, dir, name, |number| place(tree, number).map(|place| (place.dir, &*place.name)))
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
