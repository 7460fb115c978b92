//! What a commit onto the base has to do, and what stands against it.
//!
//! The branch's tree is compared with the empty one, which stands for the base as it was; and the
//! base as it is now with what the branch keeps of it: of each node that was copied its attributes,
//! of each name that was removed the stamp of its node.
//!
//! What it does not do: it changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pathwalk::{Attributes, Errno, FileType, Handle, StatxFlags};

use super::super::checks::shows_changed_base;
use super::super::{Conflict, ConflictKind};
use super::search;
use crate::base::Base;
use crate::branch::{Inner, has_one_name, record};
use crate::diff::{Aspects, Group, Groups, Moves, Named, Paths, aspects, path_at};
use crate::origin::Origin;
use crate::rows::{self, Entry, Record, Row, Tag, Target};
use crate::stamp::Stamp;
use crate::tree::Tree;

/// What has to be done.
pub(super) struct Plan<'a> {
    pub(super) inner: &'a Inner,
    pub(super) tree: &'a Tree<Row>,
    pub(super) base: &'a Base,
    common: Tree<Row>,
    groups: Groups,
    moves: Moves,
    /// For each node that gets names, these.
    pub(super) come: BTreeMap<u64, Vec<Named>>,
    /// The names of the base that go.
    pub(super) gone: Vec<Gone>,
    /// The nodes of the base that get other contents or attributes, or whose names change.
    pub(super) changed: Vec<Changed>,
    conflicts: Vec<Conflict>,
}

/// A name of the base that goes.
pub(super) struct Gone {
    pub(super) dir: Handle,
    pub(super) name: Box<[u8]>,
    pub(super) node: Handle,
    pub(super) number: u64,
}

/// A node of the base that changes.
pub(super) struct Changed {
    pub(super) number: u64,
    pub(super) node: Handle,
    pub(super) what: Aspects,
}

impl<'a> Plan<'a> {
    /// Compares the branch with the base as it is now.
    pub(super) fn new(inner: &'a Inner, tree: &'a Tree<Row>) -> Result<Plan<'a>, Errno> {
        let mut plan = Plan::of(inner, tree);
        plan.compare()?;
        plan.find_cycles();
        Ok(plan)
    }

    /// Finds the directories that the branch moved, and that would be below themselves, since the
    /// base has moved others.
    fn find_cycles(&mut self) {
        let come = self.moves.come.iter().filter(|named| named.target.kind == FileType::Directory);
        let cycles = come.filter(|named| self.final_path(named.target.number) == Err(Errno::ELOOP));
        let cycles: Vec<Named> = cycles.cloned().collect();
        cycles.iter().for_each(|named| self.add_name(named.dir, &named.name, ConflictKind::Moved));
    }

    /// Creates one of what the branch changed, which is not compared with the base.
    pub(super) fn of(inner: &'a Inner, tree: &'a Tree<Row>) -> Plan<'a> {
        let common = Tree::default();
        let groups = Groups::between(&common, tree);
        let moves = Moves::of(&groups, &common, tree);
        let mut come: BTreeMap<u64, Vec<Named>> = BTreeMap::new();
        moves.come.iter().for_each(|named| come.entry(named.target.number).or_default().push(named.clone()));
        let (gone, changed, conflicts) = (Vec::new(), Vec::new(), Vec::new());
        let base = &inner.shared.base;
        Plan { inner, tree, base, common, groups, moves, come, gone, changed, conflicts }
    }

    /// Returns the nodes that were copied and have names.
    pub(super) fn copied(&self) -> impl Iterator<Item = (u64, &Group, &'a Arc<Origin>)> {
        let tree = self.tree;
        let changed = self.groups.iter().filter(|(number, group)| group.is_change() && self.lives(*number));
        changed.filter_map(move |(number, group)| Some((number, group, record(tree, number)?.origin.as_ref()?)))
    }

    /// Returns whether there is nothing to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.come.is_empty() && self.gone.is_empty() && self.changed.is_empty()
    }

    /// Returns all conflicts, sorted by their paths.
    pub(super) fn conflicts(&mut self) -> Vec<Conflict> {
        let mut conflicts = std::mem::take(&mut self.conflicts);
        conflicts.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
        conflicts.dedup();
        conflicts
    }

    fn compare(&mut self) -> Result<(), Errno> {
        let groups = std::mem::take(&mut self.groups);
        for (number, group) in groups.iter().filter(|(_, group)| group.is_change()) {
            let Some(origin) = record(self.tree, number).and_then(|record| record.origin.clone()) else { continue };
            if !self.lives(number) {
                continue;
            }
            if let Some(node) = self.compare_node(number, group, &origin)? {
                for entry in group.entries() {
                    if let Some(new) = entry.new {
                        self.compare_name(number, &node, entry.name, &new)?;
                    }
                }
            }
        }
        self.groups = groups;
        self.find_moved_out()
    }

    /// Compares a node that was copied, and returns it; `None` if the base has it no longer.
    fn compare_node(&mut self, number: u64, group: &Group, origin: &Origin) -> Result<Option<Handle>, Errno> {
        let Some((node, now)) = self.node_of(origin)? else {
            self.add(number, ConflictKind::RemovedInParent);
            return Ok(None);
        };
        self.base.check_device(&now)?;
        let what = aspects(&self.common, self.tree, number, group);
        let both = what & self.changed_in_base(number, &node, origin)?;
        if !both.is_empty() {
            self.add(number, ConflictKind::Changed(both));
        }
        if what.contains(Aspects::DATA) && shows_changed_base(self.base, self.tree, number) {
            self.add(number, ConflictKind::BaseChanged);
        }
        let has_names = group.entries().next().is_some();
        let (was, times) = (&origin.attributes, |of: &Attributes| (of.mtime, of.atime));
        let has_new_time = |record: &Record| times(&record.attributes) != times(was);
        if !what.is_empty() || has_names || record(self.tree, number).is_some_and(has_new_time) {
            self.changed.push(Changed { number, node: node.clone(), what });
        }
        Ok(Some(node))
    }

    /// Returns the node that was copied, with its attributes as they are now.
    pub(super) fn node_of(&self, origin: &Origin) -> Result<Option<(Handle, Attributes)>, Errno> {
        let node = match origin.handle(self.base) {
            Err(Errno::ESTALE) => return Ok(None),
            node => node?,
        };
        let now = match node.attributes() {
            Err(Errno::ESTALE | Errno::ENOENT) => return Ok(None),
            now => now?,
        };
        let has_place = || node.kind() != FileType::Directory || self.base.path(&node).is_some();
        Ok((now.nlink > 0 && has_place()).then_some((node, now)))
    }

    /// Returns what the base has changed of a node since it was copied.
    pub(super) fn changed_in_base(&self, number: u64, node: &Handle, origin: &Origin) -> Result<Aspects, Errno> {
        let mut changed = Aspects::empty();
        if self.base.check_unchanged(origin).is_ok() {
            return Ok(changed);
        }
        let now = self.base.copied(node, number, None)?.origin;
        let (was, is) = (&origin.attributes, &now.attributes);
        let is_directory = was.kind == FileType::Directory;
        let has_new_data = (was.size, was.mtime) != (is.size, is.mtime) || was.ctime == is.ctime;
        changed.set(Aspects::DATA, !is_directory && has_new_data);
        let compared = |of: &Origin| {
            let forbidding = of.attributes.flags & (StatxFlags::IMMUTABLE | StatxFlags::APPEND);
            (of.attributes.mode, of.attributes.uid, of.attributes.gid, of.flags, forbidding)
        };
        changed.set(Aspects::ATTRIBUTES, compared(origin) != compared(&now));
        changed.set(Aspects::XATTRS, origin.extras != now.extras);
        Ok(changed)
    }

    /// Compares an entry of a directory with the name as the base has it now.
    fn compare_name(&mut self, dir: u64, handle: &Handle, name: &[u8], entry: &Entry) -> Result<(), Errno> {
        let Some(node) = self.base.lookup(handle, name)? else {
            // What both removed is removed.
            let stays = entry.hides.is_some_and(|hidden| entry.target.is_some() || self.lives(hidden.target.number));
            if stays {
                self.add_name(dir, name, ConflictKind::RemovedInParent);
            }
            return Ok(());
        };
        let Some(hidden) = entry.hides else {
            self.add_name(dir, name, ConflictKind::Named);
            return Ok(());
        };
        let number = self.inner.number(self.tree, &node)?;
        if number != hidden.target.number {
            self.add_name(dir, name, ConflictKind::Named);
            return Ok(());
        }
        if entry.target.is_some_and(|target| target.number == number) {
            return Ok(());
        }
        let removed = self.removed(number).unwrap_or(hidden.stamp);
        if !self.lives(number) && !self.is_as_removed(&node, removed)? {
            self.add_name(dir, name, ConflictKind::RemovedInBranch);
        }
        self.base.check_device(&node.attributes()?)?;
        self.gone.push(Gone { dir: handle.clone(), name: name.into(), node, number });
        Ok(())
    }

    /// Returns the stamp of a node, of a directory with all that was removed with it. A node whose
    /// removal was noted by itself counts if it is not what it was then.
    pub(super) fn stamp(&self, node: &Handle) -> Result<Stamp, Errno> {
        self.stamp_by(node, &|stamp| stamp)
    }

    /// Returns whether a node is what it was when it was removed.
    pub(super) fn is_as_removed(&self, node: &Handle, removed: Stamp) -> Result<bool, Errno> {
        if self.stamp(node)? == removed {
            return Ok(true);
        }
        self.base.read_restored()?;
        let first = |stamp| self.base.first_stamp(stamp);
        Ok(self.base.has_restored() && self.stamp_by(node, &first)? == first(removed))
    }

    /// Returns the stamp of a node, of which each part is what `of` makes of it.
    fn stamp_by(&self, node: &Handle, of: &dyn Fn(Stamp) -> Stamp) -> Result<Stamp, Errno> {
        let mut stamp = of(self.base.stamp(node)?);
        let mut open = vec![node.clone()];
        while let Some(dir) = open.pop().filter(|_| node.kind() == FileType::Directory) {
            let number_of_dir = self.base.number(&dir, &dir.attributes()?)?;
            for listed in self.base.list(&dir)? {
                let Some(node) = self.base.lookup(&dir, &listed.name)? else { continue };
                // First, since the number comes from attributes which are at hand then.
                let now = self.base.stamp(&node)?;
                let number = self.inner.number(self.tree, &node)?;
                stamp = stamp.with(Stamp::of_name(number_of_dir, &listed.name, number));
                match self.removed(number) {
                    _ if self.lives(number) => {}
                    // It was counted while it lived on under another name.
                    Some(removed) if self.is_as_removed(&node, removed)? => {}
                    _ => {
                        stamp = stamp.with(of(now));
                        open.extend((node.kind() == FileType::Directory).then_some(node));
                    }
                }
            }
        }
        Ok(stamp)
    }

    /// Returns what a node was when it was removed, if that was noted by itself.
    pub(super) fn removed(&self, number: u64) -> Option<Stamp> {
        match self.tree.get(&rows::of(number, Tag::Removed)) {
            Some(Row::Removed(stamp)) => Some(*stamp),
            _ => None,
        }
    }

    /// Finds the names that nodes had in directories which the branch removed. A node that has
    /// others beside loses that one with the directory.
    fn find_moved_out(&mut self) -> Result<(), Errno> {
        let known: BTreeSet<u64> = self.gone.iter().map(|gone| gone.number).collect();
        let without_rows = self.moves.gone.iter().filter(|named| record(self.tree, named.dir).is_none());
        let numbers: BTreeSet<u64> = without_rows.map(|named| named.target.number).collect();
        for number in numbers.difference(&known) {
            let Some(Record { origin: Some(origin), .. }) = record(self.tree, *number) else { continue };
            let Some((node, attributes)) = self.node_of(origin)? else {
                self.add(*number, ConflictKind::RemovedInParent);
                continue;
            };
            let is_directory = attributes.kind == FileType::Directory;
            match self.base.place(&node) {
                Ok((dir, name)) if is_directory || attributes.nlink == 1 => {
                    self.gone.push(Gone { dir, name, node, number: *number });
                }
                Ok(_) => {}
                Err(Errno::ESTALE) => self.add(*number, ConflictKind::RemovedInParent),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Returns the path that a node has when all names are in their places: of several, one.
    /// `ELOOP` for a directory below itself.
    pub(super) fn final_path(&self, number: u64) -> Result<Vec<u8>, Errno> {
        let (mut number, mut names, mut known, mut seen) = (number, Vec::new(), None, BTreeSet::new());
        while number != self.inner.shared.root {
            let name = match self.come.get(&number).and_then(|all| all.first()) {
                Some(named) => {
                    (number, known) = (named.dir, None);
                    named.name.clone()
                }
                None => {
                    let node = match known.take() {
                        Some(node) => node,
                        None => self.copied_from(number)?,
                    };
                    let (dir, name) = self.place_that_stays(&node)?;
                    (number, known) = (self.inner.number(self.tree, &dir)?, Some(dir));
                    name
                }
            };
            names.push(name);
            if !seen.insert(number) {
                return Err(Errno::ELOOP);
            }
        }
        names.reverse();
        Ok(names.join(&b'/'))
    }

    /// Returns the directory of a node of the base that gets no new name, and its name there: of a
    /// file with several names, one that the branch leaves.
    fn place_that_stays(&self, node: &Handle) -> Result<(Handle, Box<[u8]>), Errno> {
        let place = self.base.place(node)?;
        // All names that go are compared only for a file that has others.
        let stays = has_one_name(&node.attributes()?) || self.stays(&place)?;
        if stays { Ok(place) } else { search::name_that_stays(self, node) }
    }

    /// Returns whether the branch leaves a name of the base, and all directories above it, or moves
    /// one of these.
    fn stays(&self, (dir, name): &(Handle, Box<[u8]>)) -> Result<bool, Errno> {
        let mut at = (dir.clone(), name.clone());
        while !self.goes(&at.0, &at.1) {
            if at.0.node_id() == self.base.root().node_id() || self.gets_name(&at.0)? {
                return Ok(true);
            }
            at = self.base.place(&at.0)?;
        }
        Ok(false)
    }

    /// Returns whether the branch takes a name of the base away.
    pub(super) fn goes(&self, dir: &Handle, name: &[u8]) -> bool {
        self.gone.iter().any(|gone| *gone.name == *name && gone.dir.node_id() == dir.node_id())
    }

    /// Returns whether a node of the base gets a name.
    pub(super) fn gets_name(&self, node: &Handle) -> Result<bool, Errno> {
        Ok(self.come.contains_key(&self.inner.number(self.tree, node)?))
    }

    /// Returns the node of the base from which a node was copied: `ESTALE` if there is none.
    pub(super) fn copied_from(&self, number: u64) -> Result<Handle, Errno> {
        let origin = record(self.tree, number).and_then(|record| record.origin.as_ref());
        origin.ok_or(Errno::ESTALE)?.handle(self.base)
    }

    /// Returns whether a node that the tree has has a name.
    pub(super) fn lives(&self, number: u64) -> bool {
        record(self.tree, number).is_some_and(|record| record.attributes.nlink > 0)
    }

    fn add(&mut self, number: u64, kind: ConflictKind) {
        let path = Paths::new(&self.inner.shared, self.tree).of(number).unwrap_or_else(|| b"/"[..].into());
        self.conflicts.push(Conflict { path, kind });
    }

    fn add_name(&mut self, dir: u64, name: &[u8], kind: ConflictKind) {
        let path = path_at(self.tree, self.inner.shared.root, dir, name).unwrap_or_else(|| name.into());
        self.conflicts.push(Conflict { path, kind });
    }

    /// Returns the new nodes, which the base does not have, each with its target.
    pub(super) fn new_nodes(&self) -> impl Iterator<Item = (Target, &Record)> {
        self.come.values().filter_map(|names| {
            let target = names.first()?.target;
            let record = record(self.tree, target.number)?;
            record.origin.is_none().then_some((target, record))
        })
    }
}
