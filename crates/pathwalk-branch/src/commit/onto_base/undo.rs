//! The undo of a commit onto the base.
//!
//! 1. Before the commit, a branch gets all of the base that the commit changes, moves or removes:
//!    attributes, names, and the data that will be overwritten or lost ([`of_base`]).
//! 2. When the commit is done, each part is compared with what the base has now, and not with what
//!    it had ([`over_committed`]). From then on it is a branch of the base as any other, which has
//!    made the base as it was. Its commit is the undo.
//!
//! What always holds: of the data of a node that stays, only what the commit overwrites is copied.
//! A hole stays one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pathwalk::{Errno, FileType, Handle};

use super::super::undo::note_places;
use super::apply::joined;
use super::plan::{Changed, Gone, Plan};
use super::since::way_of;
use crate::branch::{Way, copied_up, record};
use crate::diff::Aspects;
use crate::extents::{Extents, PAGE};
use crate::rows::{Entry, Record, Row, Target, What};
use crate::tree::Tree;

/// The number of bytes that are copied at once.
const PIECE: u64 = 1 << 20;

/// Returns what a commit will change of the base, as it is.
pub(super) fn of_base(plan: &Plan<'_>) -> Result<Tree<Row>, Errno> {
    let path_of = |gone: &Gone| Some((joined(&plan.base.path(&gone.dir)?, &gone.name), gone.number));
    let mut kept = Kept { plan, tree: Tree::default(), gone: plan.gone.iter().filter_map(path_of).collect() };
    for (number, _, origin) in plan.copied() {
        if let Some((node, _)) = plan.node_of(origin)? {
            let way = if number == plan.inner.shared.root { None } else { way_of(plan, &node)? };
            kept.node(number, &node, way)?;
        }
    }
    for gone in &plan.gone {
        let dir = plan.inner.number(plan.tree, &gone.dir)?;
        let above = if dir == plan.inner.shared.root { None } else { way_of(plan, &gone.dir)? };
        kept.name((dir, &gone.name), above, &gone.node)?;
    }
    for named in plan.come.values().flatten() {
        let key = plan.inner.shared.entry_key(named.dir, &named.name);
        if kept.has(named.dir) && kept.tree.get(&key).is_none() {
            kept.tree.insert(&key, Row::Entry(Entry { target: None, hides: None }));
        }
    }
    Ok(kept.tree)
}

/// What is kept of the base.
struct Kept<'a> {
    plan: &'a Plan<'a>,
    tree: Tree<Row>,
    /// The paths that go, each with the number of its node.
    gone: BTreeMap<Vec<u8>, u64>,
}

impl Kept<'_> {
    fn has(&self, number: u64) -> bool {
        record(&self.tree, number).is_some()
    }

    /// Keeps a name that goes, and all that goes with its node.
    fn name(&mut self, (dir, name): (u64, &[u8]), above: Option<Arc<Way>>, node: &Handle) -> Result<(), Errno> {
        let mut open = vec![(dir, Box::<[u8]>::from(name), above, node.clone())];
        while let Some((dir, name, above, node)) = open.pop() {
            let number = self.plan.inner.number(self.plan.tree, &node)?;
            let target = Some(Target { number, kind: node.kind() });
            let key = self.plan.inner.shared.entry_key(dir, &name);
            self.tree.insert(&key, Row::Entry(Entry { target, hides: None }));
            let way = Arc::new(Way { dir, name, above });
            let is_new = !self.has(number);
            self.node(number, &node, Some(Arc::clone(&way)))?;
            // What the branch moved out takes with it what is in it.
            if is_new && node.kind() == FileType::Directory && !self.plan.lives(number) {
                for listed in self.plan.base.list(&node)? {
                    if let Some(child) = self.plan.base.lookup(&node, &listed.name)? {
                        open.push((number, listed.name, Some(Arc::clone(&way)), child));
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps a node, with the data that it is going to lose.
    fn node(&mut self, number: u64, node: &Handle, way: Option<Arc<Way>>) -> Result<(), Errno> {
        if self.has(number) {
            return Ok(());
        }
        let copied = self.plan.base.copied(node, number, way)?;
        let origin = Arc::clone(&copied.origin);
        if let Some(path) = self.path_to_come(number, node)? {
            origin.set_path_to_come(path);
        }
        copied_up(&mut self.tree, number, copied);
        note_places(&mut self.tree, number, origin.way.as_ref());
        if node.kind() == FileType::Regular {
            for range in self.lost(number, origin.attributes.size) {
                self.copy(number, node, range)?;
            }
            // What was read may be of two versions else.
            self.plan.base.check_unchanged(&origin)?;
        }
        Ok(())
    }

    /// Returns the path that a node has after the commit: `None` if that takes all its known names
    /// away. A process that compares it then may find it by this path alone.
    fn path_to_come(&self, number: u64, node: &Handle) -> Result<Option<Box<[u8]>>, Errno> {
        let is_copied = record(self.plan.tree, number).is_some_and(|record| record.origin.is_some());
        if !is_copied || !self.plan.lives(number) || !self.plan.come.contains_key(&number) && self.goes(node) {
            return Ok(None);
        }
        match self.plan.final_path(number) {
            Err(Errno::ESTALE) => Ok(None),
            path => path.map(|path| Some(path.into())),
        }
    }

    /// Returns whether the name by which a node is known goes, or a directory above it that is not
    /// moved.
    fn goes(&self, node: &Handle) -> bool {
        let Some(path) = self.plan.base.path(node) else { return true };
        let ends = (1..=path.len()).rev().filter(|end| path.get(*end).is_none_or(|next| *next == b'/'));
        let gone = ends.filter_map(|end| self.gone.get(&path[..end])).next();
        gone.is_some_and(|number| !self.plan.come.contains_key(number))
    }

    /// Returns the ranges of a file that the commit overwrites or removes.
    fn lost(&self, number: u64, size: u64) -> Vec<Range<u64>> {
        let (mut lost, mut end) = (Vec::new(), 0);
        let Some(Record { origin: Some(origin), .. }) = record(self.plan.tree, number).filter(|_| self.plan.lives(number)) else {
            lost.push(0..size);
            return lost;
        };
        let is_written = |changed: &Changed| changed.number == number && changed.what.contains(Aspects::DATA);
        if !self.plan.changed.iter().any(is_written) {
            return lost;
        }
        for (part, what) in Extents::new(self.plan.tree, number).within(0..size) {
            if matches!(&what, What::Base(of, from) if *of == *origin && *from == part.start) {
                lost.extend((end < part.start).then_some(end..part.start));
                end = part.end;
            }
        }
        lost.extend((end < size).then_some(end..size));
        // Whole pages, so that a hole in one comes back as a hole.
        let paged = |lost: Range<u64>| lost.start / PAGE * PAGE..lost.end.next_multiple_of(PAGE).min(size);
        lost.into_iter().map(paged).collect()
    }

    /// Copies the data of a range.
    fn copy(&mut self, number: u64, node: &Handle, range: Range<u64>) -> Result<(), Errno> {
        let (inner, file) = (self.plan.inner, self.plan.base.open(node)?);
        let tree = &mut self.tree;
        inner.change_extents(tree, number, range.clone(), |extents| extents.replace(range.clone(), None))?;
        let (mut at, mut buffer) = (range.start, Vec::new());
        while at < range.end {
            let from = match file.seek_data(at) {
                Err(Errno::ENXIO) => break,
                from => from?,
            };
            let to = file.seek_hole(from)?.min(range.end);
            at = from;
            while at < to {
                buffer.resize((to - at).min(PIECE) as usize, 0);
                let read = file.read_at(&mut buffer, at)?;
                if read == 0 {
                    return Err(Errno::ESTALE);
                }
                let (data, store) = (&buffer[..read], &inner.shared.store);
                let to = at + read as u64;
                inner.change_extents(tree, number, at..to, |extents| extents.write(data, at, store))??;
                at = to;
            }
        }
        Ok(())
    }
}
