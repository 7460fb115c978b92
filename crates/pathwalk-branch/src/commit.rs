//! The commit of a branch onto its parent: both are compared with what they had in common, and what
//! the branch changed is applied to the parent, unless the two do not agree. A rebase is the same
//! with the two exchanged: what the parent changed is applied to the branch.
//!
//! All is done on a clone of a tree, which replaces it at the end. So a branch shows nothing of a
//! commit that is refused, and all of one that is not.
//!
//! What is merged: names in one directory, different attributes of one node, different extended
//! attributes. Times of directories, and times of change, are the later ones; numbers of links and
//! sizes of directories are counted together. All else that both changed is a conflict, for which
//! there may be an answer (`resolution`, `resolve`).

mod apply;
mod checks;
mod links;
pub(crate) mod onto_base;
pub(crate) mod resolution;
pub(crate) mod resolve;
pub(crate) mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pathwalk::{Errno, Name, NodeKey};

use crate::branch::{Inner, Shared};
use crate::diff::{Aspects, Group, Groups, Moves, Paths};
use crate::rows::{Row, Tag};
use crate::tree::{Key, Tree};
use resolution::Resolution;
use resolve::{Over, Three};

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

/// A conflict, and what it is about.
struct Found {
    conflict: Conflict,
    at: At,
}

/// What a conflict is about.
#[derive(Clone, PartialEq, Eq, Debug)]
enum At {
    Node(u64),
    /// The key of an entry.
    Name(Key),
    /// Directories that would be below each other.
    Nodes(BTreeSet<u64>),
}

impl Found {
    fn new(path: Box<[u8]>, kind: ConflictKind, at: At) -> Found {
        Found { conflict: Conflict { path, kind }, at }
    }
}

/// Returns conflicts, sorted by their paths.
fn sorted(found: impl IntoIterator<Item = Found>) -> Vec<Conflict> {
    let mut conflicts: Vec<_> = found.into_iter().map(|found| found.conflict).collect();
    conflicts.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
    conflicts.dedup();
    conflicts
}

/// One side of a commit, compared with what both had in common.
struct Side<'a> {
    tree: &'a Tree<Row>,
    paths: Paths<'a>,
    groups: Groups,
    moves: Moves,
    /// Whether files lost links with directories of the base, of whose names there are no rows.
    has_lost_links: bool,
}

impl<'a> Side<'a> {
    fn new(shared: &'a Shared, common: &Tree<Row>, tree: &'a Tree<Row>) -> Side<'a> {
        let groups = Groups::between(common, tree);
        let moves = Moves::of(&groups, common, tree);
        let mut by_names: BTreeMap<u64, i64> = BTreeMap::new();
        moves.come.iter().for_each(|named| *by_names.entry(named.target.number).or_default() += 1);
        moves.gone.iter().for_each(|named| *by_names.entry(named.target.number).or_default() -= 1);
        let lost = |(number, group): (u64, &Group)| {
            let (before, after) = group.alive(common, tree, number).filter(|(_, after)| !after.is_directory())?;
            let by = i64::from(after.attributes.nlink) - i64::from(before.attributes.nlink);
            Some(by != by_names.get(&number).copied().unwrap_or_default())
        };
        let has_lost_links = groups.iter().any(|of| lost(of) == Some(true));
        Side { tree, paths: Paths::new(shared, tree), groups, moves, has_lost_links }
    }
}

/// The side whose tree gets what the other one changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Onto {
    /// The parent, in a commit.
    Theirs,
    /// The branch, in a rebase.
    Ours,
}

/// A merge without open conflicts.
struct Settled {
    merged: Tree<Row>,
    /// The nodes that were removed and are held, which stay without a name.
    orphans: BTreeSet<u64>,
    removed: BTreeSet<u64>,
}

/// Applies what a tree changed since it had `common` in common with `onto` to that branch. Returns
/// the conflicts that are open; if there is one, nothing is done. `store` gets the tree of the
/// branch as it was, and makes the new one durable, before anything shows it; if that fails,
/// nothing is done.
pub(crate) fn merge(
    common: &Tree<Row>,
    other: &Tree<Row>,
    (onto, side): (&Inner, Onto),
    resolution: &Resolution,
    store: impl FnOnce(&Tree<Row>, &Tree<Row>) -> Result<(), Errno>,
) -> Result<Vec<Conflict>, Errno> {
    let mut locked = onto.lock();
    let named = onto.without_orphans(locked.clone(), &BTreeSet::new());
    let before = named.clone();
    let (ours, theirs) = match side {
        Onto::Theirs => (other.clone(), named),
        Onto::Ours => (named, other.clone()),
    };
    match settle(Three { common: common.clone(), ours, theirs, over: Over::Parent }, (onto, side), resolution)? {
        Ok(settled) => replace(&mut locked, onto, settled, |merged| store(&before, merged)).map(|()| Vec::new()),
        Err(open) => Ok(open),
    }
}

/// Merges two states of a branch, of which one is that of `onto`. Returns the conflicts that are
/// open, if there are any.
fn settle(three: Three, onto: (&Inner, Onto), resolution: &Resolution) -> Result<Result<Settled, Vec<Conflict>>, Errno> {
    settle_from(resolve::Rounds::default(), three, onto, resolution)
}

/// Does the same, after these rounds of answers.
fn settle_from(
    mut rounds: resolve::Rounds,
    mut three: Three,
    (onto, side): (&Inner, Onto),
    resolution: &Resolution,
) -> Result<Result<Settled, Vec<Conflict>>, Errno> {
    loop {
        let now = three.clone();
        let [ours, theirs] = [&now.ours, &now.theirs].map(|tree| Side::new(&onto.shared, &now.common, tree));
        let mut found = checks::conflicts(&onto.shared, &now.common, &ours, &theirs);
        if found.is_empty() {
            let (from, to) = match side {
                Onto::Theirs => (&ours, &theirs),
                Onto::Ours => (&theirs, &ours),
            };
            let mut merged = to.tree.clone();
            let orphans = onto.orphans_of(from.moves.removed(), &mut merged)?;
            apply::apply(&now.common, from, to, &mut merged, (&orphans, onto.shared.base.directory_sizes().0));
            // Over a base, they are counted once the tree says of each node what the base has now.
            let may_be_wrong = rounds.has_answered() || ours.has_lost_links || theirs.has_lost_links;
            if three.over == Over::Parent && may_be_wrong {
                let numbers = [&ours, &theirs].into_iter().flat_map(|side| side.groups.iter().map(|(number, _)| number));
                links::count(onto, &mut merged, &numbers.collect(), &orphans)?;
            }
            apply::free_unnamed(from, &mut merged, &orphans);
            found = checks::cycles(from, &merged, onto.shared.root);
            if found.is_empty() {
                return Ok(Ok(Settled { merged, orphans, removed: from.moves.removed().collect() }));
            }
        }
        if let Some(open) = rounds.answer(onto, &mut three, (&ours, &theirs), found, resolution)? {
            return Ok(Err(open));
        }
    }
}

/// Puts a merged tree into the place of that of a branch, which is locked.
fn replace(
    locked: &mut Tree<Row>,
    onto: &Inner,
    Settled { mut merged, orphans, removed }: Settled,
    store: impl FnOnce(&Tree<Row>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    store(&onto.without_orphans(merged.clone(), &orphans))?;
    onto.keep_orphans(locked, &mut merged);
    onto.become_orphans(&orphans, &mut merged);
    let changed = Groups::between(locked, &merged);
    *locked = merged;
    // No question is answered until all caches are told. So a caller that was answered by the new
    // tree uses nothing of the old one from then on.
    report(&changed, &removed, onto);
    Ok(())
}

/// Tells the caches of what was changed, and which nodes were removed.
fn report(changed: &Groups, removed: &BTreeSet<u64>, onto: &Inner) {
    for (number, group) in changed.iter() {
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
    for number in removed {
        onto.notify(|notifier| notifier.invalidate_attributes(NodeKey((*number).into())));
    }
}
