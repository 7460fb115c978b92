//! What one state of a branch changed beside an older one, as data.
//!
//! The two trees are compared by their rows, so the cost is that of the changes. A name of the base
//! that was removed or replaced is a row that says which node it hid, and a node that was copied
//! has its attributes as they were with it: so the base is not asked.
//!
//! What it does not do: it compares no data. A file into which the same bytes were written again is
//! changed.

mod groups;
mod names;
mod paths;

use std::collections::BTreeMap;

use bitflags::bitflags;
use pathwalk::FileType;

pub(crate) use groups::{Group, Groups, before, extras};
pub(crate) use names::{DEEPEST, Moves, Named, old_way, path_at};
pub(crate) use paths::Paths;

use crate::branch::{Shared, record, shows_of_base};
use crate::rows::{Record, Row};
use crate::tree::Tree;

bitflags! {
    /// The parts of a node that were changed.
    ///
    /// [`Change`] has an example.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct Aspects: u8 {
        /// Its data, or its size; of a link its body.
        const DATA = 1;
        /// Mode, owner, flags, device number, and of all but directories the time of access. So is
        /// the time of the last change of the data, unless that was changed with it.
        const ATTRIBUTES = 2;
        /// Extended attributes and access control lists.
        const XATTRS = 4;
    }
}

/// A change between two states of a branch.
///
/// Paths begin at the root of the branch, with a slash.
///
/// ```
/// use pathwalk::{Credentials, FileType, Vfs};
/// use pathwalk_branch::{Aspects, Branches, Change};
/// # let fs = pathwalk_memfs::MemFs::new();
/// # fs.file("/log", 0o644)?;
/// # fs.file("/old", 0o644)?;
/// # fs.mkdir("/target", 0o755)?;
/// # fs.file("/target/object", 0o644)?;
/// let base = Vfs::builder().build(fs)?.context(Credentials::root());
/// let branches = Branches::new(base)?;
/// let context = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
/// context.chmod("/log", 0o600)?;
/// context.rename("/old", "/new")?;
/// context.remove_dir_all("/target")?;
///
/// let path = |path: &str| Box::from(path.as_bytes());
/// let expected = [
///     Change::Changed { path: path("/log"), kind: FileType::Regular, what: Aspects::ATTRIBUTES },
///     Change::Renamed { from: path("/old"), path: path("/new"), kind: FileType::Regular, what: Aspects::empty() },
///     Change::Removed { path: path("/target"), kind: FileType::Directory },
/// ];
/// assert_eq!(branches.diff("work")?, expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A name that was not there. What is below a new directory has changes of its own.
    Added {
        /// The path.
        path: Box<[u8]>,
        /// The type of the node.
        kind: FileType,
    },
    /// A name that is no longer there. What was below a directory went with it.
    Removed {
        /// The path that it had.
        path: Box<[u8]>,
        /// The type of the node.
        kind: FileType,
    },
    /// A node under the name that it had; or a new node of the same type in the place of another,
    /// whose data and attributes count as changed. (A new directory in the place of another is a
    /// removal and an addition.)
    Changed {
        /// The path. Of a node with several names, one of them.
        path: Box<[u8]>,
        /// The type of the node.
        kind: FileType,
        /// The parts that were changed.
        what: Aspects,
    },
    /// A node that has another name, or is in another directory. What is below a directory moved
    /// with it, and has changes of its own only if it was changed.
    Renamed {
        /// The path that it had.
        from: Box<[u8]>,
        /// The path that it has.
        path: Box<[u8]>,
        /// The type of the node.
        kind: FileType,
        /// The parts that were changed, too.
        what: Aspects,
    },
    /// A new node of another type in the place of one. What was below a directory went with it.
    TypeChanged {
        /// The path.
        path: Box<[u8]>,
        /// The type of the node that was there.
        from: FileType,
        /// The type of the node that is there.
        kind: FileType,
    },
}

impl Change {
    /// Returns the path: of what was removed, the one that it had; else the one that it has.
    pub fn path(&self) -> &[u8] {
        match self {
            Change::Added { path, .. }
            | Change::Removed { path, .. }
            | Change::Changed { path, .. }
            | Change::Renamed { path, .. }
            | Change::TypeChanged { path, .. } => path,
        }
    }

    /// Returns the paths: of what was renamed, both.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let from = match self {
            Change::Renamed { from, .. } => Some(&**from),
            _ => None,
        };
        from.into_iter().chain([self.path()])
    }
}

/// Returns the changes between two trees, sorted by their paths.
pub(crate) fn changes(shared: &Shared, old: &Tree<Row>, new: &Tree<Row>) -> Vec<Change> {
    let (root, paths) = (shared.root, Paths::new(shared, new));
    let groups = Groups::between(old, new);
    let moves = Moves::of(&groups, old, new);
    let of_node = |number| groups.get(number).map_or(Aspects::empty(), |group| aspects(old, new, number, group));
    let mut found = Vec::new();
    let by_name = |all: &[Named]| all.iter().map(|named| (named.place(), named.clone())).collect::<BTreeMap<_, _>>();
    let (mut gone, mut come) = (by_name(&moves.gone), by_name(&moves.come));
    let new_path = |at: &Named| names::path_at(new, root, at.dir, &at.name);
    let old_path = |at: &Named| moves.old_path_at(old, new, root, at.dir, &at.name);

    for (from, to) in moves.renames() {
        gone.remove(&from.place());
        come.remove(&to.place());
        if let (Some(from), Some(path)) = (old_path(&from), new_path(&to)) {
            found.push(Change::Renamed { from, path, kind: to.target.kind, what: of_node(to.target.number) });
        }
    }
    for (place, to) in &come {
        let Some(path) = new_path(to) else { continue };
        let kind = to.target.kind;
        let Some(from) = gone.remove(place) else {
            found.push(Change::Added { path, kind });
            continue;
        };
        match kind {
            _ if from.target.kind != kind => found.push(Change::TypeChanged { path, from: from.target.kind, kind }),
            // What was below the old one is gone.
            FileType::Directory => {
                found.extend(old_path(&from).map(|path| Change::Removed { path, kind }));
                found.push(Change::Added { path, kind });
            }
            _ => found.push(Change::Changed { path, kind, what: Aspects::DATA | Aspects::ATTRIBUTES }),
        }
    }
    // What went with its directory is no change of its own.
    for from in gone.values().filter(|from| !moves.is_removed(from.dir)) {
        found.extend(old_path(from).map(|path| Change::Removed { path, kind: from.target.kind }));
    }
    for (number, group) in groups.iter().filter(|(number, _)| !moves.is_renamed(*number)) {
        let Some((_, now)) = group.alive(old, new, number) else { continue };
        let was_removed = |origin| record(old, number).is_none() && shows_of_base(shared, old, number, origin) == Some(false);
        if now.origin.as_deref().is_some_and(was_removed) {
            continue;
        }
        let what = aspects(old, new, number, group);
        if let (false, Some(path)) = (what.is_empty(), paths.of(number)) {
            found.push(Change::Changed { path, kind: now.kind(), what });
        }
    }
    // Of two changes of one path, the removal comes first.
    found.sort_by(|one, other| {
        let is_added = |change: &Change| !matches!(change, Change::Removed { .. });
        (one.path(), is_added(one)).cmp(&(other.path(), is_added(other)))
    });
    found
}

/// Returns the parts of a node that were changed. It was there before, and is.
pub(crate) fn aspects(old: &Tree<Row>, new: &Tree<Row>, number: u64, group: &Group) -> Aspects {
    let Some((before, after)) = group.alive(old, new, number) else { return Aspects::empty() };
    let mut found = Aspects::empty();
    found.set(Aspects::DATA, group.has_new_data(old, new, number, (&before, after)));
    let has_new_time = before.attributes.mtime != after.attributes.mtime && !after.is_directory();
    let is_set = has_new_time && !found.contains(Aspects::DATA);
    found.set(Aspects::ATTRIBUTES, is_set || !same_attributes(&before, after));
    found.set(Aspects::XATTRS, group.has_new_extras(old, new, number, after));
    found
}

/// Returns whether two records have the same attributes, as far as they always count as changes.
fn same_attributes(one: &Record, other: &Record) -> bool {
    let compared = |record: &Record| {
        let of = record.attributes;
        let atime = (!record.is_directory()).then_some(of.atime);
        (of.mode, of.uid, of.gid, of.device_node, record.flags, atime)
    };
    compared(one) == compared(other)
}
