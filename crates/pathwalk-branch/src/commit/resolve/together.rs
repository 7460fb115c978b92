//! What has one answer with a conflict.
//!
//! From a name one gets to its nodes, as of all three states. From a node one gets to all its names
//! that changed; and if a side has removed or made it, to all that changed in it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::checks::lies_in_removed;
use super::super::{At, Onto, Side};
use super::{Answers, Three};
use crate::branch::{Inner, place, record};
use crate::diff::DEEPEST;
use crate::rows::Row;
use crate::tree::{Key, Tree};

/// The names that either side changed.
#[derive(Default)]
pub(super) struct Names {
    /// The nodes to which they lead in any state.
    pub(super) nodes: BTreeMap<Key, BTreeSet<u64>>,
    /// The directories in which they are.
    pub(super) dirs: BTreeMap<Key, u64>,
    pub(super) of_node: BTreeMap<u64, BTreeSet<Key>>,
    in_dir: BTreeMap<u64, BTreeSet<Key>>,
}

impl Names {
    pub(super) fn new(onto: &Inner, ours: &Side<'_>, theirs: &Side<'_>) -> Names {
        let mut names = Names::default();
        for side in [ours, theirs] {
            for (dir, group) in side.groups.iter() {
                for entry in group.entries() {
                    let targets = [entry.before(), entry.after()].into_iter().flatten();
                    names.add(dir, entry.key.into(), targets.map(|target| target.number));
                }
            }
            for named in side.moves.gone.iter().chain(&side.moves.come) {
                let key = onto.shared.entry_key(named.dir, &named.name);
                names.add(named.dir, key[..].into(), [named.target.number].into_iter());
            }
        }
        names
    }

    fn add(&mut self, dir: u64, key: Key, targets: impl Iterator<Item = u64>) {
        let nodes = self.nodes.entry(key.clone()).or_default();
        for number in targets {
            nodes.insert(number);
            self.of_node.entry(number).or_default().insert(key.clone());
        }
        self.dirs.insert(key.clone(), dir);
        self.in_dir.entry(dir).or_default().insert(key);
    }
}

/// What has one answer.
#[derive(Default)]
pub(super) struct Together {
    pub(super) names: BTreeSet<Key>,
    /// The nodes that all states have.
    pub(super) changed: BTreeSet<u64>,
    /// The others: all of their rows give way.
    pub(super) whole: BTreeSet<u64>,
}

impl Answers<'_> {
    /// Returns the names and the nodes that have one answer with this conflict. A node that the
    /// keeper has, and the other side removed, is kept with the directories above it.
    pub(super) fn together(&self, at: &At, keeper: Option<Onto>) -> Together {
        let mut found = Together::default();
        match at {
            At::Name(key) => self.add_name(key, &mut found),
            At::Nodes(numbers) => numbers.iter().for_each(|number| self.add_node(*number, &mut found)),
            At::Node(number) => {
                self.add_node(*number, &mut found);
                let trees = keeper.map(|keeper| [self.before.of(keeper), &self.before.common]);
                for tree in trees.into_iter().flatten() {
                    let above = above(tree, *number).into_iter().filter(|above| !self.is_everywhere(*above));
                    above.for_each(|above| self.add_node(above, &mut found));
                }
            }
        }
        found
    }

    fn add_name(&self, key: &Key, found: &mut Together) {
        if found.names.insert(key.clone()) {
            for number in self.names.nodes.get(key).into_iter().flatten() {
                self.add_node(*number, found);
            }
        }
    }

    fn add_node(&self, number: u64, found: &mut Together) {
        let mut open = vec![number];
        while let Some(number) = open.pop() {
            let is_everywhere = self.is_everywhere(number);
            let nodes = if is_everywhere { &mut found.changed } else { &mut found.whole };
            if !nodes.insert(number) {
                continue;
            }
            let mut keys: Vec<&Key> = self.names.of_node.get(&number).into_iter().flatten().collect();
            if !is_everywhere {
                keys.extend(self.names.in_dir.get(&number).into_iter().flatten());
                open.extend(self.removed_with(number));
            }
            for key in keys {
                if found.names.insert(key.clone()) {
                    open.extend(self.names.nodes.get(key).into_iter().flatten());
                }
            }
        }
    }

    /// Returns the nodes that a side removed with a directory, or moved out of it.
    fn removed_with(&self, dir: u64) -> Vec<u64> {
        let removed = self.ours.moves.removed().chain(self.theirs.moves.removed());
        let removed = removed.filter(|number| above(&self.before.common, *number).contains(&dir));
        let moved_out = [self.ours, self.theirs].into_iter().flat_map(|side| side.moves.moved_out_of(dir));
        removed.chain(moved_out).collect()
    }

    /// Returns whether all three states have a node.
    pub(super) fn is_everywhere(&self, number: u64) -> bool {
        let Three { common, ours, theirs, .. } = self.before;
        let is_made = |tree: &Tree<Row>| record(tree, number).is_some_and(|record| record.origin.is_none());
        let is_new = record(common, number).is_none() && (is_made(ours) || is_made(theirs));
        let lost = |of: &Side<'_>, other: &Side<'_>| {
            of.moves.is_removed(number) || record(of.tree, number).is_none() && lies_in_removed(common, other, of, number)
        };
        !is_new && !lost(self.ours, self.theirs) && !lost(self.theirs, self.ours)
    }
}

/// Returns the directories above a node.
fn above(tree: &Tree<Row>, number: u64) -> BTreeSet<u64> {
    let (mut found, mut number) = (BTreeSet::new(), number);
    while let Some(of) = place(tree, number).filter(|_| found.len() < DEEPEST) {
        if !found.insert(of.dir) {
            break;
        }
        number = of.dir;
    }
    found
}
