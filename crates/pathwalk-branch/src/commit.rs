//! The commit of a branch onto its parent: both are compared with what they had in common, and what
//! the branch changed is applied to the parent, unless the two do not agree.
//!
//! All is done on a clone of the parent's tree, which replaces it at the end. So the parent shows
//! nothing of a commit that is refused, and all of one that is not.
//!
//! What is merged: names in one directory, different attributes of one node, different extended
//! attributes. Times of directories, and times of change, are the later ones; numbers of links and
//! sizes of directories are counted together. All else that both changed is a conflict.

mod apply;
mod checks;
pub(crate) mod onto_base;

use std::fmt;

use pathwalk::{Errno, Name, NodeKey};

use crate::branch::Inner;
use crate::diff::{Aspects, Groups, Moves};
use crate::rows::{Row, Tag};
use crate::tree::Tree;

/// A thing about which a branch and its parent do not agree.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::{Aspects, Branches, ConflictKind, Error};
/// # let fs = pathwalk_memfs::MemFs::new();
/// # fs.file("/file", 0o644)?;
/// let branches = Branches::new(Vfs::builder().build(fs)?.context(Credentials::root()))?;
/// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
/// let step = Vfs::builder().build(branches.fork(Some("work"), "step")?)?.context(Credentials::root());
/// work.write("/file", "mine")?;
/// step.write("/file", "yours")?;
/// let Err(Error::Conflicts { conflicts, .. }) = branches.commit("step") else { panic!() };
/// assert_eq!(&*conflicts[0].path, b"/file");
/// assert_eq!(conflicts[0].kind, ConflictKind::Changed(Aspects::DATA));
/// assert_eq!(work.read_to_string("/file")?, "mine");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Conflict {
    /// The path: in the branch, or in the parent if the branch has it no longer.
    pub path: Box<[u8]>,
    /// What both did to it.
    pub kind: ConflictKind,
}

/// The kind of a conflict.
///
/// [`Conflict`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ConflictKind {
    /// Both changed these parts of a node.
    Changed(Aspects),
    /// Both made, removed or replaced one name, with different results.
    Named,
    /// Both moved one node, or moved directories below each other.
    Moved,
    /// The branch removed what the parent changed.
    RemovedInBranch,
    /// The parent removed what the branch changed.
    RemovedInParent,
    /// The base changed a file of which the branch changed a part only. The rest cannot be read any
    /// more.
    BaseChanged,
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConflictKind::Changed(_) => "changed in both",
            ConflictKind::Named => "another node under this name in each",
            ConflictKind::Moved => "moved in both",
            ConflictKind::RemovedInBranch => "removed in the branch, changed in the parent",
            ConflictKind::RemovedInParent => "removed in the parent, changed in the branch",
            ConflictKind::BaseChanged => "changed in part, and changed in the base since",
        })
    }
}

/// One side of a commit, compared with what both had in common.
struct Side<'a> {
    tree: &'a Tree<Row>,
    groups: Groups,
    moves: Moves,
}

impl<'a> Side<'a> {
    fn new(common: &Tree<Row>, tree: &'a Tree<Row>) -> Side<'a> {
        let groups = Groups::between(common, tree);
        let moves = Moves::of(&groups, common, tree);
        Side { tree, groups, moves }
    }
}

/// Applies what a tree changed since it had `common` in common with `onto` to that branch. Returns
/// the conflicts; if there is one, nothing is done. `store` makes the new tree durable, before
/// anything shows it; if that fails, nothing is done.
pub(crate) fn commit(
    common: &Tree<Row>,
    branch: &Tree<Row>,
    onto: &Inner,
    store: impl FnOnce(&Tree<Row>) -> Result<(), Errno>,
) -> Result<Vec<Conflict>, Errno> {
    let root = onto.shared.root;
    let ours = Side::new(common, branch);
    let mut locked = onto.lock();
    let before = locked.clone();
    let theirs = Side::new(common, &before);
    let mut conflicts = checks::conflicts(&onto.shared.base, common, &ours, &theirs, root);
    let mut merged = before.clone();
    let orphans = onto.orphans_of(ours.moves.removed(), &mut merged)?;
    if conflicts.is_empty() {
        apply::apply(common, &ours, &theirs, &mut merged, (&orphans, onto.shared.base.directory_sizes().0));
        conflicts = checks::cycles(&ours, &merged, root);
    }
    if !conflicts.is_empty() {
        conflicts.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
        conflicts.dedup();
        return Ok(conflicts);
    }
    store(&onto.without_orphans(merged.clone(), &orphans))?;
    onto.become_orphans(&orphans, &mut merged);
    *locked = merged;
    // No question is answered until all caches are told. So a caller that was answered by the new
    // tree uses nothing of the old one from then on.
    report(&ours, onto);
    drop(locked);
    Ok(conflicts)
}

/// Tells the caches of what was applied.
fn report(ours: &Side<'_>, onto: &Inner) {
    for (number, group) in ours.groups.iter() {
        let key = NodeKey(number.into());
        for entry in group.entries() {
            if let Ok(name) = Name::new(entry.name) {
                onto.notify(|notifier| notifier.invalidate_name(key, name));
            }
        }
        if group.has(Tag::Extent) {
            onto.notify(|notifier| notifier.invalidate_data(key));
        }
        if group.is_change() {
            onto.notify(|notifier| notifier.invalidate_attributes(key));
        }
    }
    for number in ours.moves.removed() {
        onto.notify(|notifier| notifier.invalidate_attributes(NodeKey(number.into())));
    }
}
