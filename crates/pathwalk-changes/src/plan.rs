//! What a list of changes means for the names and nodes of a tree, in an order in which it can be
//! carried out.
//!
//! What always holds: what goes is named by the paths of the old tree, all else by those of the new
//! one. A name of the new tree is in at most one of [`new`](Plan::new), [`links`](Plan::links) and
//! [`renamed`](Plan::renamed).
//!
//! What it does not do: it reads no data. Its size is that of the changes. The new tree is walked
//! as a whole only where a changed node has names that the changes do not tell.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::FileType;
use pathwalk_branch::{Aspects, Change};

use crate::error::Error;
use crate::node::has_several_names;
use crate::path::{PathBytes, ROOT, join, parent, split, upwards};
use crate::tree::Tree;

/// A node that is in both trees, and was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Changed {
    pub(crate) kind: FileType,
    /// The path that it had.
    pub(crate) was: PathBytes,
    pub(crate) what: Aspects,
}

/// What a list of changes means.
#[derive(Default, Debug)]
pub(crate) struct Plan {
    /// Names that go, with what is below them.
    pub(crate) removed: BTreeMap<PathBytes, FileType>,
    /// Names that go elsewhere, by their new paths, with the old ones.
    pub(crate) renamed: BTreeMap<PathBytes, (PathBytes, FileType)>,
    /// Nodes to be made.
    pub(crate) new: BTreeMap<PathBytes, FileType>,
    /// Further names of nodes that are there or are made.
    pub(crate) links: BTreeMap<PathBytes, PathBytes>,
    /// Nodes that are changed as they are.
    pub(crate) changed: BTreeMap<PathBytes, Changed>,
    /// Names of changed nodes that the changes do not tell, with one that they do.
    pub(crate) others: BTreeMap<PathBytes, PathBytes>,
    /// The new paths of directories that were renamed, by their old ones.
    moved: BTreeMap<PathBytes, PathBytes>,
    /// Names of the new tree that were not there, or stand for another node.
    fresh: BTreeSet<PathBytes>,
}

impl Plan {
    /// Adds a name that goes elsewhere.
    pub(crate) fn rename(&mut self, from: &[u8], path: &[u8], kind: FileType) {
        self.renamed.insert(path.into(), (from.into(), kind));
        self.moved.insert(from.into(), path.into());
    }

    /// Adds a node to be made.
    pub(crate) fn make(&mut self, path: &[u8], kind: FileType) {
        self.new.insert(path.into(), kind);
        self.fresh.insert(path.into());
    }

    /// Adds a further name.
    pub(crate) fn link(&mut self, path: &[u8], to: &[u8]) {
        self.links.insert(path.into(), to.into());
        self.fresh.insert(path.into());
    }

    /// Returns what these changes between two trees mean.
    pub(crate) fn of(changes: &[Change], old: &Tree, new: &Tree) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        for change in changes {
            match change {
                Change::Renamed { from, path, kind, .. } => {
                    plan.rename(from, path, *kind);
                }
                Change::Added { path, .. } | Change::TypeChanged { path, .. } => _ = plan.fresh.insert(path.clone()),
                _ => {}
            }
        }
        for change in changes {
            plan.add(change, old, new)?;
        }
        plan.find_links(new)?;
        Ok(plan)
    }

    fn add(&mut self, change: &Change, old: &Tree, new: &Tree) -> Result<(), Error> {
        // The data of one node changes only in a file. What else is told so has new times.
        let what = |kind, what: Aspects| match what.contains(Aspects::DATA) && kind != FileType::Regular {
            true => (what - Aspects::DATA) | Aspects::ATTRIBUTES,
            false => what,
        };
        match change {
            Change::Added { path, kind } => _ = self.new.insert(path.clone(), *kind),
            Change::Removed { path, kind } => _ = self.removed.insert(path.clone(), *kind),
            Change::TypeChanged { path, from, kind } => {
                self.removed.extend(self.old_place(path).map(|was| (was, *from)));
                self.new.insert(path.clone(), *kind);
            }
            Change::Changed { path, kind, what: told } => match self.old_path(path) {
                // A new name of it was told, too.
                // The other way to tell of it is a path that was removed since.
                None if !has_several_names(&new.attributes(path)?) => {
                    return Err(Error::differs(path, "is told as changed, and is another node"));
                }
                None => {
                    _ = self.changed.insert(path.clone(), Changed { kind: *kind, was: Box::default(), what: what(*kind, *told) })
                }
                Some(was) if old.attributes(&was)?.ino == new.attributes(path)?.ino => {
                    self.changed.insert(path.clone(), Changed { kind: *kind, was, what: what(*kind, *told) });
                }
                Some(was) => {
                    self.removed.insert(was, *kind);
                    self.make(path, *kind);
                }
            },
            Change::Renamed { from, path, kind, what: told } if !told.is_empty() => {
                self.changed.insert(path.clone(), Changed { kind: *kind, was: from.clone(), what: what(*kind, *told) });
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the old path of the same name in the same directory. It may be that of another
    /// node.
    pub(crate) fn old_place(&self, path: &[u8]) -> Option<PathBytes> {
        let (dir, name) = (parent(path)?, split(path).1);
        Some(join(&self.old_path(dir)?, name))
    }

    /// Returns the path that a node of the new tree had, if it was there.
    pub(crate) fn old_path(&self, path: &[u8]) -> Option<PathBytes> {
        for above in upwards(path) {
            if let Some((from, _)) = self.renamed.get(above) {
                return Some([from, &path[above.len()..]].concat().into());
            }
            if self.fresh.contains(above) {
                return None;
            }
        }
        Some(path.into())
    }

    /// Returns the path that a directory of the old tree has, if it is still there.
    pub(crate) fn new_path(&self, path: &[u8]) -> Option<PathBytes> {
        for above in upwards(path) {
            if let Some(to) = self.moved.get(above) {
                return Some([to, &path[above.len()..]].concat().into());
            }
            if self.removed.contains_key(above) {
                return None;
            }
        }
        Some(path.into())
    }

    /// Returns the directories of the new tree that are new or whose names changed.
    pub(crate) fn directories(&self) -> BTreeSet<PathBytes> {
        let come = self.new.keys().chain(self.renamed.keys()).chain(self.links.keys());
        let gone = self.removed.keys().chain(self.renamed.values().map(|(from, _)| from));
        let mut all: BTreeSet<PathBytes> = come.filter_map(|path| parent(path)).map(Box::from).collect();
        all.extend(gone.filter_map(|path| self.new_path(parent(path)?)));
        all.extend(self.new.iter().filter(|(_, kind)| **kind == FileType::Directory).map(|(path, _)| path.clone()));
        all
    }

    /// Finds which names stand for one node.
    fn find_links(&mut self, new: &Tree) -> Result<(), Error> {
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        let told = self.new.iter().chain(self.changed.iter().map(|(path, changed)| (path, &changed.kind)));
        for (path, _) in told.filter(|(_, kind)| **kind != FileType::Directory) {
            let of = new.attributes(path)?;
            if has_several_names(&of) {
                let group = groups.entry(of.ino).or_insert_with(|| Group { nlink: of.nlink, names: BTreeSet::new() });
                group.names.insert(path.clone());
            }
        }
        if groups.values().any(|group| group.names.len() < group.nlink as usize) {
            find_names(new, &mut groups)?;
        }
        groups.values().for_each(|group| self.join(group));
        // A new node has all of what was changed.
        self.changed.retain(|_, changed| !changed.was.is_empty());
        Ok(())
    }

    /// Makes all new names of one node but at most one links.
    fn join(&mut self, group: &Group) {
        let kept = group.names.iter().find(|path| !self.fresh.contains(*path) && self.old_path(path).is_some());
        let Some(first) = kept.or(group.names.first()).cloned() else { return };
        for path in group.names.iter().filter(|path| **path != first) {
            if self.new.remove(path).is_some() {
                self.links.insert(path.clone(), first.clone());
            }
        }
        let others = group.names.iter().filter(|path| **path != first && !self.links.contains_key(*path));
        self.others.extend(others.map(|path| (path.clone(), first.clone())));
        // One of several names is enough for what was changed.
        let told = group.names.iter().filter_map(|path| self.changed.remove(path));
        let all = told.reduce(|one, other| Changed { what: one.what | other.what, ..one });
        if let (Some(changed), Some(was)) = (all, self.old_path(&first)) {
            self.changed.insert(first, Changed { was, ..changed });
        }
    }

    /// Returns whether a path of the old tree is removed, or moved elsewhere, by itself.
    pub(crate) fn is_gone(&self, path: &[u8]) -> bool {
        self.removed.contains_key(path) || self.moved.contains_key(path)
    }

    /// Returns whether a name of the new tree has a record of its own.
    pub(crate) fn has_come(&self, path: &[u8]) -> bool {
        self.fresh.contains(path) || self.renamed.contains_key(path)
    }
}

/// The names of one node.
struct Group {
    nlink: u32,
    names: BTreeSet<PathBytes>,
}

/// Finds all names of some nodes.
fn find_names(tree: &Tree, groups: &mut BTreeMap<u64, Group>) -> Result<(), Error> {
    walk(tree, ROOT, |path, kind, ino| {
        if kind != FileType::Directory
            && let Some(group) = groups.get_mut(&ino)
        {
            group.names.insert(path.into());
        }
        true
    })
}

/// Calls a function for all that is below a directory: a directory before what is in it, which is
/// left out if it returns `false`.
pub(crate) fn walk(tree: &Tree, path: &[u8], mut visit: impl FnMut(&[u8], FileType, u64) -> bool) -> Result<(), Error> {
    let mut open = vec![Box::from(path)];
    while let Some(dir) = open.pop() {
        let mut below = Vec::new();
        for entry in tree.list(&dir)? {
            let path = join(&dir, &entry.name);
            if visit(&path, entry.kind, entry.ino) && entry.kind == FileType::Directory {
                below.push(path);
            }
        }
        open.extend(below.into_iter().rev());
    }
    Ok(())
}
