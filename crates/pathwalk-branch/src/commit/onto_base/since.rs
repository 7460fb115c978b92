//! What the base has changed since a branch copied from it, in the form of a branch: so it is
//! merged with what the branch changed as two branches are.
//!
//! The state that both have in common is the empty tree, which stands for the base as it was. The
//! tree made here has what is not as it was then, as far as the branch can tell: of the nodes that
//! it has copied, of the names that it has changed, and of what it has removed.
//!
//! What it does not do: of a node that is under a name of the base now, it has no more than the
//! node itself. What is below such a directory is in no tree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pathwalk::{Attributes, Errno, FileType, Handle};

use super::plan::Plan;
use crate::base::Base;
use crate::branch::{Inner, Way, copied_up, place, record, record_mut};
use crate::diff::{Aspects, Group, aspects};
use crate::origin::Origin;
use crate::rows::{self, Entry, Extent, Hidden, Place, Row, Tag, Target, What};
use crate::tree::{Key, Tree};

/// What the base has changed since.
#[derive(Default)]
pub(super) struct Since {
    pub(super) tree: Tree<Row>,
    /// The nodes that the base has changed or moved, as they are now.
    pub(super) now: BTreeMap<u64, Arc<Origin>>,
    /// The nodes that the branch has, and the base has no longer.
    pub(super) gone: BTreeSet<u64>,
    /// The nodes of the base that are under names which the branch has changed, and that the branch
    /// does not have.
    pub(super) arrived: BTreeSet<u64>,
    /// The names that the branch has removed, of what was changed since.
    pub(super) changed_names: BTreeSet<Key>,
}

impl Since {
    /// Compares the base with what the branch has of it.
    pub(super) fn new(plan: &Plan<'_>) -> Result<Since, Errno> {
        let mut since = Since::default();
        let mut names = Vec::new();
        for (number, group, origin) in plan.copied() {
            let Some((node, attributes)) = plan.node_of(origin)? else {
                since.note_gone(plan, number, origin);
                continue;
            };
            since.note_node(plan, (number, group, origin), (&node, &attributes))?;
            if attributes.kind == FileType::Directory {
                names.push((number, group, node));
            }
        }
        // Behind all moves, whose old names may be those of other nodes by now.
        for (number, group, node) in names {
            for entry in group.entries() {
                if let Some(new) = entry.new {
                    since.note_name(plan, (number, &node), (entry.name, entry.key), &new)?;
                }
            }
        }
        Ok(since)
    }

    /// Notes that the base has a node no longer.
    fn note_gone(&mut self, plan: &Plan<'_>, number: u64, origin: &Arc<Origin>) {
        self.gone.insert(number);
        let of_way = origin.way.as_ref().map(|way| Place { dir: way.dir, name: way.name.clone() });
        if let Some(at) = of_way.or_else(|| place(plan.tree, number).cloned()) {
            self.hide(plan.inner, &at, Target { number, kind: origin.attributes.kind }, origin);
        }
    }

    fn hide(&mut self, inner: &Inner, at: &Place, target: Target, origin: &Origin) {
        let hides = Some(Hidden { target, stamp: origin.stamp() });
        self.point(&inner.shared.entry_key(at.dir, &at.name), Entry { target: None, hides });
    }

    /// Notes what a name was and is. Of one node it may be noted that it went from there, and of
    /// another that it came.
    fn point(&mut self, key: &[u8], Entry { target, hides }: Entry) {
        let known = match self.tree.get(key) {
            Some(Row::Entry(entry)) => *entry,
            _ => Entry { target: None, hides: None },
        };
        let entry = Entry { target: target.or(known.target), hides: hides.or(known.hides) };
        self.tree.insert(key, Row::Entry(entry));
    }

    /// Notes what the base has changed of a node that it has.
    fn note_node(
        &mut self,
        plan: &Plan<'_>,
        (number, group, origin): (u64, &Group, &Arc<Origin>),
        (node, attributes): (&Handle, &Attributes),
    ) -> Result<(), Errno> {
        let way = if number == plan.inner.shared.root { None } else { way_of(plan, node)? };
        let was_at = origin.way.as_ref().map(|way| (way.dir, &way.name));
        let is_elsewhere = match (&was_at, &way) {
            (Some(was), Some(is)) => *was != (is.dir, &is.name),
            _ => false,
        };
        // Of several names of a file, any may be the one that is found now.
        let is_moved = is_elsewhere && (attributes.kind == FileType::Directory || attributes.nlink == 1);
        if plan.base.check_unchanged(origin).is_ok() && same_way(&origin.way, &way) {
            return Ok(());
        }
        let way = if is_moved || !is_elsewhere { way } else { origin.way.clone() };
        let copied = plan.base.copied(node, number, way.clone())?;
        self.now.insert(number, Arc::clone(&copied.origin));
        let changed = plan.changed_in_base(number, node, origin)?;
        let has_own_data = aspects(&Tree::default(), plan.tree, number, group).contains(Aspects::DATA);
        let shown = if changed.contains(Aspects::DATA) || !has_own_data { &copied.origin } else { origin };
        let shown = Arc::clone(shown);
        copied_up(&mut self.tree, number, copied);
        record_mut(&mut self.tree, number)?.origin = Some(Arc::clone(origin));
        self.show(number, &shown);
        if let (true, Some(was), Some(way)) = (is_moved, &origin.way, &way) {
            let target = Target { number, kind: attributes.kind };
            self.hide(plan.inner, &Place { dir: was.dir, name: was.name.clone() }, target, origin);
            let key = plan.inner.shared.entry_key(way.dir, &way.name);
            self.point(&key, Entry { target: Some(target), hides: None });
            self.note_directory(plan, way, &plan.base.place(node)?.0)?;
        }
        if let Some(way) = &way {
            let place = Place { dir: way.dir, name: way.name.clone() };
            self.tree.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place)));
        }
        Ok(())
    }

    /// Adds the directory of a way, if the branch does not have it.
    fn note_directory(&mut self, plan: &Plan<'_>, way: &Way, dir: &Handle) -> Result<(), Errno> {
        if record(plan.tree, way.dir).is_some() || record(&self.tree, way.dir).is_some() {
            return Ok(());
        }
        copied_up(&mut self.tree, way.dir, plan.base.copied(dir, way.dir, way.above.clone())?);
        let (mut number, mut next) = (way.dir, way.above.as_ref());
        while let Some(above) = next {
            let place = Place { dir: above.dir, name: above.name.clone() };
            self.tree.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place)));
            (number, next) = (above.dir, above.above.as_ref());
        }
        Ok(())
    }

    /// Lets the data of a node be that of an origin, if it has any.
    fn show(&mut self, number: u64, origin: &Arc<Origin>) {
        let key = rows::extent(number, 0);
        if let Some(Row::Extent(Extent { length, .. })) = self.tree.get(&key) {
            let extent = Extent { length: *length, what: What::Base(Arc::clone(origin), 0) };
            self.tree.insert(&key, Row::Extent(extent));
        }
    }

    /// Notes what the base has under a name now that the branch has changed.
    fn note_name(
        &mut self,
        plan: &Plan<'_>,
        (dir, handle): (u64, &Handle),
        (name, key): (&[u8], &[u8]),
        entry: &Entry,
    ) -> Result<(), Errno> {
        let Some(node) = plan.base.lookup(handle, name)? else {
            if entry.hides.is_some() {
                self.tree.insert(key, Row::Entry(Entry { target: None, hides: entry.hides }));
            }
            return Ok(());
        };
        let target = Target { number: plan.inner.number(plan.tree, &node)?, kind: node.kind() };
        let hidden = entry.hides.map(|hidden| hidden.target.number);
        if hidden == Some(target.number) {
            let was = plan.removed(target.number).or(entry.hides.map(|hidden| hidden.stamp));
            let is_as_removed = || was.map_or(Ok(false), |was| plan.is_as_removed(&node, was));
            if !plan.lives(target.number) && !is_as_removed()? {
                self.changed_names.insert(key.into());
                self.arrive(plan.base, (dir, name), target.number, &node)?;
            }
            return Ok(());
        }
        self.point(key, Entry { target: Some(target), hides: entry.hides });
        if !plan.lives(target.number) {
            self.arrive(plan.base, (dir, name), target.number, &node)?;
        }
        Ok(())
    }

    /// Adds a node of the base that the branch does not have. It is as a new one, since it is not
    /// known what it was before.
    fn arrive(&mut self, base: &Base, (dir, name): (u64, &[u8]), number: u64, node: &Handle) -> Result<(), Errno> {
        copied_up(&mut self.tree, number, base.copied(node, number, None)?);
        record_mut(&mut self.tree, number)?.origin = None;
        let place = Place { dir, name: name.into() };
        self.tree.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place)));
        self.arrived.insert(number);
        Ok(())
    }
}

/// Returns the way to a node of the base, as it is now; `None` if it has none.
pub(super) fn way_of(plan: &Plan<'_>, node: &Handle) -> Result<Option<Arc<Way>>, Errno> {
    let (mut steps, mut node) = (Vec::new(), node.clone());
    while node.node_id() != plan.base.root().node_id() {
        let (dir, name) = match plan.base.place(&node) {
            Err(Errno::ESTALE) => return Ok(None),
            found => found?,
        };
        steps.push((plan.inner.number(plan.tree, &dir)?, name));
        node = dir;
    }
    let add = |above, (dir, name)| Some(Arc::new(Way { dir, name, above }));
    Ok(steps.into_iter().rev().fold(None, add))
}

/// Returns whether two ways are the same, as far as the first is known.
fn same_way(known: &Option<Arc<Way>>, now: &Option<Arc<Way>>) -> bool {
    let (mut one, mut other) = (known.as_ref(), now.as_ref());
    while let (Some(known), Some(now)) = (one, other) {
        if (known.dir, &known.name) != (now.dir, &now.name) {
            return false;
        }
        (one, other) = (known.above.as_ref(), now.above.as_ref());
    }
    true
}
