//! The application of answers to conflicts.
//!
//! A conflict is a thing that both sides changed since they had a state in common. If that state is
//! said to have been as the one side has the thing now, this side has not changed it, and the other
//! side's change is the only one: it is merged. So an answer replaces rows of the common state by
//! those of the side that gives way, and the merge itself knows nothing of answers.
//!
//! What always holds: only the three trees of this merge are changed, which are clones.
//!
//! What hangs together gives way together (`together`).

pub(crate) mod part;
mod text;
mod together;

use std::collections::BTreeSet;
use std::sync::Arc;

use pathwalk::Errno;

use super::apply::take_rows;
use super::checks::differ;
use super::resolution::{Answer, Resolution};
use super::{At, Conflict, ConflictKind, Found, Onto, Side, sorted};
use crate::base::Copied;
use crate::branch::{Inner, copied_up, place, record, record_mut};
use crate::diff::Aspects;
use crate::rows::{self, Record, Row, Tag};
use crate::tree::{Key, Tree};
use together::{Names, Together};

/// The most rounds. One answer may uncover further conflicts, at most one for each level of names.
const MOST_ROUNDS: usize = 256;

/// The three states of a merge.
#[derive(Clone)]
pub(super) struct Three {
    pub(super) common: Tree<Row>,
    pub(super) ours: Tree<Row>,
    pub(super) theirs: Tree<Row>,
    pub(super) over: Over,
}

/// The kind of what the branch was forked from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Parent,
    /// Other programs have moved its nodes, so that their places before are not there any more.
    Base,
}

impl Three {
    pub(super) fn of(&self, side: Onto) -> &Tree<Row> {
        match side {
            Onto::Ours => &self.ours,
            Onto::Theirs => &self.theirs,
        }
    }
}

/// The rounds of answers: each changes the three states, which are then compared again.
#[derive(Default)]
pub(super) struct Rounds {
    number: usize,
    last: Vec<Conflict>,
}

impl Rounds {
    /// Returns whether there were answers.
    pub(super) fn has_answered(&self) -> bool {
        self.number > 0
    }

    /// Applies the answers to conflicts. Returns those that are open, if there are any: they have
    /// no answer, or one that cannot be applied.
    pub(super) fn answer(
        &mut self,
        onto: &Inner,
        three: &mut Three,
        (ours, theirs): (&Side<'_>, &Side<'_>),
        found: Vec<Found>,
        resolution: &Resolution,
    ) -> Result<Option<Vec<Conflict>>, Errno> {
        let mut open = Vec::new();
        let before = three.clone();
        let names = Names::new(onto, ours, theirs);
        let mut answers = Answers { onto, before: &before, three, ours, theirs, names };
        let all = found.iter().map(|found| found.conflict.clone()).collect();
        for found in found {
            if !answers.apply(&found, resolution.of(&found.conflict.path))? {
                open.push(found);
            }
        }
        self.number += 1;
        let is_stuck = self.last == all || self.number > MOST_ROUNDS;
        self.last = all;
        let open = if is_stuck { self.last.clone() } else { sorted(open) };
        Ok((!open.is_empty()).then_some(open))
    }
}

/// The conflicts of one round, and the states that the answers change.
struct Answers<'a> {
    onto: &'a Inner,
    /// The states at the beginning of the round.
    before: &'a Three,
    three: &'a mut Three,
    ours: &'a Side<'a>,
    theirs: &'a Side<'a>,
    names: Names,
}

impl Answers<'_> {
    /// Applies an answer. Returns false if it cannot be.
    fn apply(&mut self, found: &Found, answer: Answer) -> Result<bool, Errno> {
        let loser = match answer {
            Answer::Left => return Ok(false),
            Answer::Merge if !self.merge_text(found)? => return Ok(false),
            Answer::Ours | Answer::Merge => Onto::Theirs,
            Answer::Theirs => Onto::Ours,
        };
        match (found.conflict.kind, &found.at) {
            (ConflictKind::Changed(_) | ConflictKind::BaseChanged, At::Node(number)) if answer == Answer::Merge => {
                self.parts_of(*number, Aspects::DATA, loser)
            }
            (ConflictKind::Changed(what), At::Node(number)) => self.parts_of(*number, what, loser),
            (ConflictKind::BaseChanged, At::Node(number)) if loser == Onto::Ours => self.parts_of(*number, Aspects::DATA, loser),
            (ConflictKind::BaseChanged, _) => Ok(false),
            (kind, at) => {
                let keeper = match kind {
                    ConflictKind::RemovedInBranch => Some(Onto::Theirs),
                    ConflictKind::RemovedInParent => Some(Onto::Ours),
                    _ => None,
                };
                let together = self.together(at, keeper.filter(|keeper| *keeper != loser));
                let is_moved = |number: &u64| self.theirs.moves.is_renamed(*number);
                if self.three.over == Over::Base && loser == Onto::Theirs && together.changed.iter().any(is_moved) {
                    return Ok(false);
                }
                self.give_way(&together, loser).map(|()| true)
            }
        }
    }

    /// Gives the parts of a node that both changed, with different results, to the common state as
    /// the loser has them.
    fn parts_of(&mut self, number: u64, what: Aspects, loser: Onto) -> Result<bool, Errno> {
        self.copy_to_all(number)?;
        let from = self.three.of(loser).clone();
        let (Some(one), Some(other)) = (record(&self.three.ours, number), record(&self.three.theirs, number)) else {
            return Ok(false);
        };
        let (one, other) = (one.clone(), other.clone());
        let of = if loser == Onto::Ours { &one } else { &other };
        if what.contains(Aspects::DATA) {
            take_rows(&from, &mut self.three.common, number, Tag::Extent);
        }
        if what.contains(Aspects::XATTRS) {
            self.extras_of(number, loser);
        }
        let common = record_mut(&mut self.three.common, number)?;
        if what.contains(Aspects::DATA) {
            (common.attributes.size, common.attributes.blocks) = (of.attributes.size, of.attributes.blocks);
            (common.pages, common.body) = (of.pages, of.body.clone());
        }
        if what.contains(Aspects::XATTRS) && differ(&common.attributes.acl, &one.attributes.acl, &other.attributes.acl) {
            common.attributes.acl = of.attributes.acl;
        }
        set_fields(common, (&one, &other), of);
        Ok(true)
    }

    /// Does the same with extended attributes and lists.
    fn extras_of(&mut self, number: u64, loser: Onto) {
        for tag in [Tag::Acl, Tag::Xattr] {
            let prefix = rows::of(number, tag);
            let trees = [&self.three.common, &self.three.ours, &self.three.theirs];
            let keys: BTreeSet<Key> =
                trees.into_iter().flat_map(|tree| tree.with_prefix(&prefix).map(|(key, _)| key.clone())).collect();
            for key in keys {
                if differ(&self.three.common.get(&key), &self.three.ours.get(&key), &self.three.theirs.get(&key)) {
                    let row = self.three.of(loser).get(&key).cloned();
                    set_row(&mut self.three.common, &key, row);
                }
            }
        }
    }

    /// Gives what hangs together to the common state as the loser has it.
    fn give_way(&mut self, together: &Together, loser: Onto) -> Result<(), Errno> {
        let dirs: BTreeSet<u64> = together.names.iter().filter_map(|key| self.names.dirs.get(key)).copied().collect();
        for number in together.changed.iter().chain(dirs.difference(&together.whole)) {
            self.copy_to_all(*number)?;
        }
        let from = self.three.of(loser).clone();
        let common = &mut self.three.common;
        for number in &together.whole {
            let prefix = number.to_be_bytes();
            let before: Vec<_> = common.with_prefix(&prefix).map(|(key, _)| key.clone()).collect();
            before.iter().for_each(|key| _ = common.remove(key));
            from.with_prefix(&prefix).for_each(|(key, row)| _ = common.insert(key, row.clone()));
        }
        for key in &together.names {
            set_row(common, key, from.get(key).cloned());
        }
        Ok(())
    }

    /// Makes sure that each of the three states has the attributes of a node that all of them show.
    fn copy_to_all(&mut self, number: u64) -> Result<(), Errno> {
        if !self.is_everywhere(number) {
            return Ok(());
        }
        let donors = [&self.before.ours, &self.before.theirs, &self.before.common];
        let Some((from, origin, body)) = donors.into_iter().find_map(|tree| {
            let Record { origin, body, .. } = record(tree, number)?;
            Some((tree, origin.clone()?, body.clone()))
        }) else {
            return Ok(());
        };
        let base = &self.onto.shared.base;
        let of = place(from, number).cloned();
        let Three { common, ours, theirs, .. } = &mut *self.three;
        for (tree, is_shown) in [(common, false), (ours, true), (theirs, true)] {
            if record(tree, number).is_some() {
                continue;
            }
            // It shows the base as that is now.
            let copied = match is_shown && base.check_unchanged(&origin).is_err() {
                true => base.copied(&origin.handle(base)?, number, origin.way.clone())?,
                false => Copied { origin: Arc::clone(&origin), body: body.clone() },
            };
            copied_up(tree, number, copied);
            let key = rows::of(number, Tag::Place);
            if let (None, Some(of)) = (tree.get(&key), &of) {
                tree.insert(&key, Row::Place(Arc::new(of.clone())));
            }
        }
        Ok(())
    }
}

/// Sets a row, or removes it.
fn set_row(tree: &mut Tree<Row>, key: &[u8], row: Option<Row>) {
    match row {
        Some(row) => _ = tree.insert(key, row),
        None => _ = tree.remove(key),
    }
}

/// Sets those attributes on which the two sides do not agree.
fn set_fields(common: &mut Record, (one, other): (&Record, &Record), to: &Record) {
    let is_directory = common.is_directory();
    if differ(&common.flags, &one.flags, &other.flags) {
        common.flags = to.flags;
        common.attributes.flags = to.attributes.flags;
    }
    let (c, o, t, to) = (&mut common.attributes, &one.attributes, &other.attributes, &to.attributes);
    let (mode, uid, gid) = (differ(&c.mode, &o.mode, &t.mode), differ(&c.uid, &o.uid, &t.uid), differ(&c.gid, &o.gid, &t.gid));
    c.mode = if mode { to.mode } else { c.mode };
    c.uid = if uid { to.uid } else { c.uid };
    c.gid = if gid { to.gid } else { c.gid };
    if !is_directory {
        let (atime, mtime) = (differ(&c.atime, &o.atime, &t.atime), differ(&c.mtime, &o.mtime, &t.mtime));
        c.atime = if atime { to.atime } else { c.atime };
        c.mtime = if mtime { to.mtime } else { c.mtime };
    }
}
