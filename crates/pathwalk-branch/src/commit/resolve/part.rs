//! A part of what a branch changed: the rest is taken back, as by an answer to a conflict that
//! takes what was there before.
//!
//! What always holds: what hangs together (`together`) is in one part, or nothing is done. So each
//! part is a state that the branch could have been in.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::Errno;

use super::super::{At, Conflict, Onto, Settled, Side, settle_from};
use super::together::{Names, Together};
use super::{Answers, Over, Resolution, Rounds, Three, set_row, take_rows};
use crate::branch::{Inner, record, record_mut};
use crate::diff::{Group, Groups, Paths, aspects, path_at};
use crate::rows::{self, Counted, Record, Row, Tag};
use crate::tree::{Key, Tree};

/// The result of taking back.
pub(crate) enum Taken {
    /// The tree with the rest.
    Done(Tree<Row>),
    /// Of these two paths, one was to be taken back alone.
    Together([Box<[u8]>; 2]),
    /// What is left contradicts itself.
    Conflicts(Vec<Conflict>),
}

/// Takes back what a tree changed at these paths.
pub(crate) fn take_back(
    onto: &Inner,
    (common, ours): (&Tree<Row>, &Tree<Row>),
    is_taken: &dyn Fn(&[u8]) -> bool,
) -> Result<Taken, Errno> {
    let before = Three { common: common.clone(), ours: ours.clone(), theirs: common.clone(), over: Over::Parent };
    let mut three = before.clone();
    let [one, other] = [&before.ours, &before.theirs].map(|tree| Side::new(&onto.shared, &before.common, tree));
    let paths = paths(onto, &before, &one);
    let names = Names::new(onto, &one, &other);
    let mut answers = Answers { onto, before: &before, three: &mut three, ours: &one, theirs: &other, names };

    // Entries that lead where they did have no path. They go with the directory in which they are.
    let (mut all, keys) = (Together::default(), paths.keys().cloned().collect::<Vec<_>>());
    for key in keys {
        let together = answers.together(&At::Name(key.clone()), None);
        let (of, is_one_taken) = (&paths[&key], is_taken(&paths[&key]));
        let mut others = together.names.iter().filter_map(|name| paths.get(name));
        if let Some(other) = others.find(|other| is_taken(other) != is_one_taken) {
            return Ok(Taken::Together([of.clone(), other.clone()]));
        }
        if is_one_taken {
            all.names.extend(together.names);
            all.changed.extend(together.changed);
            all.whole.extend(together.whole);
        }
    }
    let of_nodes = Paths::new(&onto.shared, ours);
    let changed = one.groups.iter().filter(|(number, group)| group.is_change() && answers.is_everywhere(*number));
    let taken = changed.filter(|(number, _)| of_nodes.of(*number).is_some_and(|path| is_taken(&path)));
    let nodes: Vec<u64> = taken.map(|(number, _)| number).collect();
    answers.give_way(&all, Onto::Ours)?;
    for number in nodes {
        answers.take_back_node(number)?;
    }
    let rounds = Rounds { number: 1, ..Rounds::default() };
    match settle_from(rounds, three, (onto, Onto::Theirs), &Resolution::default())? {
        Ok(Settled { mut merged, .. }) => {
            forget_unchanged(&before.common, &one, &mut merged);
            Ok(Taken::Done(merged))
        }
        Err(open) => Ok(Taken::Conflicts(open)),
    }
}

impl Answers<'_> {
    /// Takes back all that was changed of a node which stays, but for its names: those of a
    /// directory are names of other nodes.
    fn take_back_node(&mut self, number: u64) -> Result<(), Errno> {
        self.copy_to_all(number)?;
        let Three { common, ours, theirs, .. } = &mut *self.three;
        // What a directory that was removed says of it stays true, wherever that goes.
        if let Some(counted) = record(ours, number).map(|record| record.counted) {
            record_mut(theirs, number)?.counted = counted;
        }
        [Tag::Acl, Tag::Xattr, Tag::Extent].into_iter().for_each(|tag| take_rows(ours, common, number, tag));
        let row = ours.get(&rows::of(number, Tag::Record)).cloned();
        set_row(common, &rows::of(number, Tag::Record), row);
        Ok(())
    }
}

/// Removes the attributes of nodes that the tree shows as the base has them, and of which the
/// common state has none: they would keep what the base is from being seen.
fn forget_unchanged(common: &Tree<Row>, side: &Side<'_>, merged: &mut Tree<Row>) {
    let changed = Groups::between(common, merged);
    let entries = changed.iter().flat_map(|(_, group)| group.entries());
    let named: BTreeSet<u64> = entries.filter_map(|entry| entry.new?.target).map(|target| target.number).collect();
    let is_copy = |record: &Record| record.origin.is_some() && record.counted == Counted::InEntry;
    for (number, _) in side.groups.iter() {
        let is_copied = record(common, number).is_none() && record(merged, number).is_some_and(is_copy);
        let has_changed = |group: &Group| group.entries().next().is_some() || !aspects(common, merged, number, group).is_empty();
        if is_copied && !named.contains(&number) && !changed.get(number).is_some_and(has_changed) {
            for tag in [Tag::Record, Tag::Acl, Tag::Xattr, Tag::Extent] {
                let prefix = rows::of(number, tag);
                let keys: Vec<_> = merged.with_prefix(&prefix).map(|(key, _)| key.clone()).collect();
                keys.iter().for_each(|key| _ = merged.remove(key));
            }
        }
    }
}

/// Returns the paths of the names that were changed: those that they have, or had.
fn paths(onto: &Inner, before: &Three, side: &Side<'_>) -> BTreeMap<Key, Box<[u8]>> {
    let root = onto.shared.root;
    let key = |dir, name: &[u8]| -> Key { onto.shared.entry_key(dir, name)[..].into() };
    let gone = side.moves.gone.iter().filter_map(|at| {
        let path = side.moves.old_path_at(&before.common, &before.ours, root, at.dir, &at.name)?;
        Some((key(at.dir, &at.name), path))
    });
    let come = side.moves.come.iter().filter_map(|at| {
        let path = path_at(&before.ours, root, at.dir, &at.name)?;
        Some((key(at.dir, &at.name), path))
    });
    gone.chain(come).collect()
}
