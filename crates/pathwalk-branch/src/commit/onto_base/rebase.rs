//! The rebase of a branch of the base onto the base as it is now.
//!
//! What the base has changed is merged with what the branch has (`since`), as the changes of a
//! parent are. The merged tree still says of each thing what the base had when it was copied; here
//! it gets what the base has now. Then the commit's own comparison must find no conflict.
//!
//! What the base has removed and the branch keeps becomes a new node, so all of it must be in the
//! branch: data, and the attributes of the directories above it. Else it stays a conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pathwalk::{Errno, FileType, Handle};

use super::super::checks::shows_changed_base;
use super::super::links;
use super::super::resolution::Resolution;
use super::super::resolve::{Over, Three};
use super::super::{Conflict, ConflictKind, Onto, Settled, replace, settle};
use super::plan::Plan;
use super::search;
use super::since::Since;
use crate::branch::{Inner, copied_up, free, place, record, record_mut};
use crate::diff::Paths;
use crate::origin::Origin;
use crate::rows::{self, Entry, Extent, Hidden, Names, Place, Record, Row, Tag, Target, What};
use crate::tree::{Key, Tree};

/// Rebases a branch. Returns the conflicts that are open; if there is one, nothing is done. `store`
/// makes the new tree durable before anything shows it; if that fails, nothing is done.
pub(crate) fn rebase(
    inner: &Inner,
    resolution: &Resolution,
    store: impl FnOnce(&Tree<Row>) -> Result<(), Errno>,
) -> Result<Vec<Conflict>, Errno> {
    let mut locked = inner.lock();
    match rebased(inner, &inner.without_orphans(locked.clone(), &BTreeSet::new()), resolution)? {
        Ok(settled) => replace(&mut locked, inner, settled, store).map(|()| Vec::new()),
        Err(open) => Ok(open),
    }
}

/// Returns the tree of a branch as a rebase would make it, or the conflicts that are open.
pub(super) fn tree_over_base(
    inner: &Inner,
    tree: &Tree<Row>,
    resolution: &Resolution,
) -> Result<Result<Tree<Row>, Vec<Conflict>>, Errno> {
    let rebased = rebased(inner, tree, resolution)?;
    Ok(rebased.map(|settled| inner.without_orphans(settled.merged, &settled.orphans)))
}

/// Returns the tree of a branch that has kept what a commit changed, over the base as that is after
/// the commit: all that the branch has stays as it is, and is compared with what the base has now.
pub(crate) fn over_committed(inner: &Inner) -> Result<Tree<Row>, Errno> {
    let tree = inner.snapshot();
    search::find_lost(&Plan::of(inner, &tree))?;
    // The branch has all names that the commit has changed, of which a second name is no move.
    let since = Since { tree: Tree::default(), ..Since::new(&Plan::of(inner, &tree))? };
    let mut moving = Moving { inner, since: &since, ours: &tree, tree: tree.clone(), lost: Vec::new() };
    moving.all(&BTreeSet::new())?;
    Ok(moving.tree)
}

/// Returns the tree of a branch over the base as it is now, or the conflicts that are open.
fn rebased(inner: &Inner, tree: &Tree<Row>, resolution: &Resolution) -> Result<Result<Settled, Vec<Conflict>>, Errno> {
    let since = Since::new(&Plan::of(inner, tree))?;
    let three = Three { common: Tree::default(), ours: tree.clone(), theirs: since.tree.clone(), over: Over::Base };
    let mut settled = match settle(three, (inner, Onto::Ours), resolution)? {
        Ok(settled) => settled,
        Err(open) => return Ok(Err(open)),
    };
    let mut moving = Moving { inner, since: &since, ours: tree, tree: settled.merged, lost: Vec::new() };
    moving.all(&settled.orphans)?;
    let Moving { tree, lost, .. } = moving;
    if !lost.is_empty() {
        return Ok(Err(lost));
    }
    let conflicts = Plan::new(inner, &inner.without_orphans(tree.clone(), &settled.orphans))?.conflicts();
    if !conflicts.is_empty() {
        return Ok(Err(conflicts));
    }
    settled.merged = tree;
    Ok(Ok(settled))
}

/// A merged tree on its way from the base as it was to the base as it is.
struct Moving<'a> {
    inner: &'a Inner,
    since: &'a Since,
    /// The branch before it was merged.
    ours: &'a Tree<Row>,
    tree: Tree<Row>,
    lost: Vec<Conflict>,
}

impl Moving<'_> {
    /// Does all. The nodes that are held, `orphans`, stay without a name.
    fn all(&mut self, orphans: &BTreeSet<u64>) -> Result<(), Errno> {
        for number in &self.since.arrived {
            // The base shows it.
            free(&mut self.tree, *number);
        }
        self.renew_origins()?;
        let kept: BTreeSet<u64> = self.since.gone.iter().copied().filter(|number| self.lives(*number)).collect();
        for number in &kept {
            self.make_anew(*number, &kept)?;
        }
        self.keep_names()?;
        self.count_links(&kept)?;
        self.renew_names()?;
        self.renew_places();
        let all = self.tree.range(b"").filter_map(|(key, _)| rows::parts(key));
        let changed = all.filter(|(_, tag, _)| *tag == Tag::Record).map(|(number, ..)| number).collect();
        let before = self.tree.clone();
        links::count(self.inner, &mut self.tree, &changed, orphans)?;
        self.renew_last_names(&before)
    }

    /// Lets the names that the branch has removed be compared with what the base has under them
    /// now, of nodes that have lost their last name only with what the base has removed.
    fn renew_last_names(&mut self, before: &Tree<Row>) -> Result<(), Errno> {
        let lived = |number| record(before, number).is_some_and(|record| record.attributes.nlink > 0);
        let merged = self.tree.clone();
        let plan = Plan::of(self.inner, &merged);
        for (key, entry) in entries(&merged).filter(|(_, entry)| entry.target.is_none()) {
            let is_last = |hidden: &Hidden| lived(hidden.target.number) && !self.lives(hidden.target.number);
            let Some(Hidden { target, .. }) = entry.hides.filter(is_last) else { continue };
            let Some((dir, _, rest)) = rows::parts(key) else { continue };
            let Some((_, name)) = rows::hash_and_name(rest) else { continue };
            if let Some(node) = now_at(&plan, dir, name)? {
                let hides = Some(Hidden { target, stamp: plan.stamp(&node)? });
                self.tree.insert(key, Row::Entry(Entry { target: None, hides }));
            }
        }
        Ok(())
    }

    /// Notes the places of nodes that are where the base has them.
    fn renew_places(&mut self) {
        let (mut named, mut copied) = (BTreeSet::new(), Vec::new());
        for (key, row) in self.tree.range(b"") {
            match (rows::parts(key), row) {
                (_, Row::Entry(Entry { target: Some(target), .. })) => _ = named.insert(target.number),
                (Some((number, Tag::Record, _)), Row::Record(record)) => {
                    copied.extend(record.origin.as_ref().and_then(|origin| Some((number, origin.way.clone()?))));
                }
                _ => {}
            }
        }
        for (number, way) in copied.into_iter().filter(|(number, _)| !named.contains(number)) {
            let place = Place { dir: way.dir, name: way.name.clone() };
            self.tree.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place)));
        }
    }

    fn paths(&self) -> Paths<'_> {
        Paths::new(&self.inner.shared, &self.tree)
    }

    fn lives(&self, number: u64) -> bool {
        record(&self.tree, number).is_some_and(|record| record.attributes.nlink > 0)
    }

    /// Lets each node be compared with what the base has now.
    fn renew_origins(&mut self) -> Result<(), Errno> {
        for (number, now) in &self.since.now {
            let Ok(record) = record_mut(&mut self.tree, *number) else { continue };
            let Some(was) = record.origin.replace(Arc::clone(now)) else {
                record.origin = None;
                continue;
            };
            let prefix = rows::of(*number, Tag::Extent);
            let shown: Vec<_> = self.tree.with_prefix(&prefix).map(|(key, row)| (key.clone(), row.clone())).collect();
            for (key, row) in shown {
                if let Row::Extent(Extent { length, what: What::Base(of, from) }) = row
                    && of == was
                {
                    let what = What::Base(Arc::clone(now), from);
                    self.tree.insert(&key, Row::Extent(Extent { length, what }));
                }
            }
            if self.tree.get(&rows::of(*number, Tag::Text)).is_some() {
                self.inner.renew_text(&mut self.tree, *number, now)?;
            }
            self.note_places(*number, now);
        }
        Ok(())
    }

    /// Notes where a node is that the branch has not moved, and the directories above it.
    fn note_places(&mut self, number: u64, now: &Origin) {
        let (mut number, mut way) = (number, now.way.clone());
        while let Some(found) = way {
            let is_moved = place(&self.tree, number).is_some_and(|place| {
                let key = self.inner.shared.entry_key(place.dir, &place.name);
                matches!(self.tree.get(&key), Some(Row::Entry(entry)) if entry.target.is_some_and(|to| to.number == number))
            });
            if is_moved {
                return;
            }
            let place = Place { dir: found.dir, name: found.name.clone() };
            self.tree.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place)));
            (number, way) = (found.dir, found.above.clone());
        }
    }

    /// Makes a node new that the base has no longer.
    fn make_anew(&mut self, number: u64, kept: &BTreeSet<u64>) -> Result<(), Errno> {
        // Of a node with several names, the one that is noted may be gone.
        let at = self.paths().place_of(number).map(|(dir, name)| Place { dir, name: name.into() });
        let Some(at) = at else { return Ok(()) };
        let has_dir = kept.contains(&at.dir) || self.copy_directory(at.dir)?;
        if !has_dir || shows_changed_base(&self.inner.shared.base, &self.tree, number) {
            let path = self.paths().of(number).unwrap_or_else(|| at.name.clone());
            self.lost.push(Conflict { path, kind: ConflictKind::RemovedInParent });
            return Ok(());
        }
        let record = record_mut(&mut self.tree, number)?;
        (record.origin, record.names) = (None, Names::Own);
        let kind = record.kind();
        self.tree.remove(&rows::of(number, Tag::Text));
        let target = Target { number, kind };
        let key = self.inner.shared.entry_key(at.dir, &at.name);
        let hides = match self.tree.get(&key) {
            Some(Row::Entry(entry)) => entry.hides,
            _ => None,
        };
        self.tree.insert(&key, Row::Entry(Entry { target: Some(target), hides }));
        Ok(())
    }

    /// Makes sure that the tree has the attributes of a directory: false if the base has it no
    /// longer.
    fn copy_directory(&mut self, number: u64) -> Result<bool, Errno> {
        if record(&self.tree, number).is_some() {
            return Ok(true);
        }
        let base = &self.inner.shared.base;
        let Some(path) = self.paths().of(number) else { return Ok(false) };
        let mut found = base.root().clone();
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            match if found.kind() == FileType::Directory { base.lookup(&found, name)? } else { None } {
                Some(node) => found = node,
                None => return Ok(false),
            }
        }
        if self.inner.number(&self.tree, &found)? != number || found.kind() != FileType::Directory {
            return Ok(false);
        }
        copied_up(&mut self.tree, number, base.copied(&found, number, None)?);
        Ok(true)
    }

    /// Adds the names that the base has changed, and the merged tree has as they were.
    fn keep_names(&mut self) -> Result<(), Errno> {
        let changed: Vec<(Key, Entry)> = entries(&self.since.tree).map(|(key, entry)| (key.clone(), entry)).collect();
        for (key, entry) in changed {
            let Some((dir, ..)) = rows::parts(&key) else { continue };
            if self.tree.get(&key).is_none() && self.copy_directory(dir)? {
                let target = entry.hides.map(|hidden| hidden.target).filter(|target| self.lives(target.number));
                self.tree.insert(&key, Row::Entry(Entry { target, hides: None }));
            }
        }
        Ok(())
    }

    /// Counts the names of nodes that were made anew, and the names in such directories. They have
    /// none but those of the branch.
    fn count_links(&mut self, kept: &BTreeSet<u64>) -> Result<(), Errno> {
        if kept.is_empty() {
            return Ok(());
        }
        let (mut links, mut names): (BTreeMap<u64, u32>, BTreeMap<u64, (u32, u64)>) = Default::default();
        let mut hidden = Vec::new();
        for (key, row) in self.tree.range(b"") {
            let (Some((dir, Tag::Entry, _)), Row::Entry(entry)) = (rows::parts(key), row) else { continue };
            match entry.target {
                Some(target) => {
                    *links.entry(target.number).or_default() += 1;
                    let of_dir = names.entry(dir).or_default();
                    of_dir.0 += u32::from(target.kind == FileType::Directory);
                    of_dir.1 += 1;
                }
                None if kept.contains(&dir) => hidden.push(key.clone()),
                None => {}
            }
        }
        hidden.iter().for_each(|key| _ = self.tree.remove(key));
        let (bytes, empty) = self.inner.shared.base.directory_sizes();
        for number in kept {
            let Ok(record) = record_mut(&mut self.tree, *number) else { continue };
            let (directories, all) = names.get(number).copied().unwrap_or_default();
            if record.is_directory() {
                (record.attributes.nlink, record.attributes.size) = (2 + directories, empty + all * bytes);
            } else {
                record.attributes.nlink = links.get(number).copied().unwrap_or(1);
            }
        }
        Ok(())
    }

    /// Lets each name be compared with what the base has under it now.
    fn renew_names(&mut self) -> Result<(), Errno> {
        let all = self.tree.range(b"").filter_map(|(key, row)| match (rows::parts(key)?, row) {
            ((dir, Tag::Entry, rest), Row::Entry(entry)) => {
                Some((key.clone(), dir, rows::hash_and_name(rest)?.1.to_vec(), *entry))
            }
            _ => None,
        });
        let all: Vec<(Key, u64, Vec<u8>, Entry)> = all.collect();
        let merged = self.tree.clone();
        let plan = Plan::of(self.inner, &merged);
        for (key, dir, name, entry) in all {
            // The base has moved away what was there, and may have put another node in its place.
            if entry.target.is_none() && self.ours.get(&key).is_none() {
                self.tree.remove(&key);
                continue;
            }
            if record(&merged, dir).is_none() {
                // Names of the base that were moved into a directory of which no more is known.
                self.tree.remove(&key);
                continue;
            }
            let now = now_at(&plan, dir, &name)?;
            let hides = match &now {
                None => None,
                Some(node) => {
                    let target = Target { number: self.inner.number(&merged, node)?, kind: node.kind() };
                    let is_known = entry.hides.filter(|hidden| hidden.target == target);
                    match is_known.filter(|_| !self.since.changed_names.contains(&key)) {
                        Some(hidden) => Some(hidden),
                        None => {
                            let is_replaced = entry.target.is_some_and(|is| is != target && is.kind == target.kind);
                            if is_replaced && target.kind == FileType::Regular && !self.lives(target.number) {
                                let origin = plan.base.origin(node)?;
                                self.inner.renew_text(&mut self.tree, target.number, &origin)?;
                            }
                            Some(Hidden { target, stamp: plan.stamp(node)? })
                        }
                    }
                }
            };
            let is_as_in_base = entry.target == hides.map(|hidden| hidden.target);
            if is_as_in_base {
                self.tree.remove(&key);
            } else {
                self.tree.insert(&key, Row::Entry(Entry { target: entry.target, hides }));
            }
        }
        Ok(())
    }
}

/// Returns what the base has under a name now, in a directory that the tree has.
fn now_at(plan: &Plan<'_>, dir: u64, name: &[u8]) -> Result<Option<Handle>, Errno> {
    let Some(Record { origin: Some(origin), .. }) = record(plan.tree, dir) else { return Ok(None) };
    match plan.node_of(origin)? {
        Some((handle, _)) => plan.base.lookup(&handle, name),
        None => Ok(None),
    }
}

/// Returns all entries of a tree.
fn entries(tree: &Tree<Row>) -> impl Iterator<Item = (&Key, Entry)> {
    tree.range(b"").filter_map(|(key, row)| match row {
        Row::Entry(entry) => Some((key, *entry)),
        _ => None,
    })
}
