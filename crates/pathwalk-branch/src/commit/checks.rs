//! The conflicts between a branch and its parent.

use std::collections::BTreeSet;

use super::{At, ConflictKind, Found, Side};
use crate::base::Base;
use crate::branch::{Shared, place, record};
use crate::diff::{Aspects, aspects, before, extras, old_way, path_at};
use crate::extents::Extents;
use crate::rows::{Record, Row, What};
use crate::tree::Tree;

/// Returns all conflicts, in no order.
pub(super) fn conflicts(shared: &Shared, common: &Tree<Row>, ours: &Side<'_>, theirs: &Side<'_>) -> Vec<Found> {
    let (base, root) = (&shared.base, shared.root);
    let mut found = Vec::new();
    let path = |side: &Side<'_>, number| {
        side.paths.of(number).or_else(|| old_path(common, side, root, number)).unwrap_or_else(|| b"/"[..].into())
    };
    for (number, group) in ours.groups.iter().filter(|(_, group)| group.is_change()) {
        let mut add = |kind| found.push(Found::new(path(ours, number), kind, At::Node(number)));
        if !ours.moves.is_removed(number) && lies_in_removed(common, ours, theirs, number) {
            add(ConflictKind::RemovedInParent);
            continue;
        }
        let of_parent = theirs.groups.get(number).filter(|group| group.is_change());
        let what = aspects(common, ours.tree, number, group);
        let of_theirs = of_parent.map_or(Aspects::empty(), |group| aspects(common, theirs.tree, number, group));
        // The merge has the data of the one side that changed it.
        let has_ours = what.contains(Aspects::DATA) || !of_theirs.contains(Aspects::DATA);
        if has_ours && shows_changed_base(base, ours.tree, number) {
            add(ConflictKind::BaseChanged);
        }
        let Some(of_parent) = of_parent else { continue };
        if ours.moves.is_renamed(number)
            && theirs.moves.is_renamed(number)
            && place(ours.tree, number) != place(theirs.tree, number)
        {
            add(ConflictKind::Moved);
        }
        let both = what & of_theirs;
        let both = both & disagreed(common, ours.tree, theirs.tree, number, both);
        if !both.is_empty() {
            add(ConflictKind::Changed(both));
        }
        // What the parent did in a directory that the branch removed is reported of the directory.
        for entry in group.entries().filter(|_| !ours.moves.is_removed(number)) {
            let of_parent = of_parent.entry(entry.key);
            if of_parent.is_some_and(|other| other.after() != entry.after()) {
                let path = path_at(ours.tree, root, number, entry.name).unwrap_or_else(|| entry.name.into());
                found.push(Found::new(path, ConflictKind::Named, At::Name(entry.key.into())));
            }
        }
    }
    for (number, _) in theirs.groups.iter().filter(|(_, group)| group.is_change()) {
        if !theirs.moves.is_removed(number) && lies_in_removed(common, theirs, ours, number) {
            let path = path(theirs, number);
            found.push(Found::new(path, ConflictKind::RemovedInBranch, At::Node(number)));
        }
    }
    found
}

/// Returns a conflict for each directory that one side moved, and that would be below itself.
pub(super) fn cycles(moved: &Side<'_>, merged: &Tree<Row>, root: u64) -> Vec<Found> {
    let mut found = Vec::new();
    for to in &moved.moves.come {
        let (mut number, mut seen) = (to.target.number, BTreeSet::new());
        while number != root && seen.insert(number) {
            match place(merged, number) {
                Some(place) => number = place.dir,
                None => number = root,
            }
        }
        if number != root {
            let path = path_at(moved.tree, root, to.dir, &to.name).unwrap_or_else(|| to.name.clone());
            found.push(Found::new(path, ConflictKind::Moved, At::Nodes(seen)));
        }
    }
    found
}

/// Returns the path that a node had, which a side removed.
fn old_path(common: &Tree<Row>, side: &Side<'_>, root: u64, number: u64) -> Option<Box<[u8]>> {
    let gone = side.moves.first_gone(number)?;
    side.moves.old_path_at(common, side.tree, root, gone.dir, &gone.name)
}

/// Returns whether the other side removed a node, or a directory above it: where it is, or where it
/// was when both had it in common.
pub(super) fn lies_in_removed(common: &Tree<Row>, side: &Side<'_>, other: &Side<'_>, number: u64) -> bool {
    // A file may have lost one of its names with a directory.
    if record(other.tree, number).is_some_and(|record| record.attributes.nlink > 0) {
        return false;
    }
    let was_in = || old_way(common, side.tree, number).is_some_and(|way| other.moves.removed_above(common, &way));
    let (mut above, mut seen) = (number, BTreeSet::new());
    while seen.insert(above) {
        if other.moves.is_removed(above) {
            return true;
        }
        // The name that a file got last may be gone.
        match side.paths.place_of(above) {
            Some((dir, _)) => above = dir,
            None => break,
        }
    }
    // The other side may have moved it out of there, too.
    !other.moves.is_renamed(number) && was_in()
}

/// Returns those of the parts that both changed about which they do not agree.
fn disagreed(common: &Tree<Row>, ours: &Tree<Row>, theirs: &Tree<Row>, number: u64, both: Aspects) -> Aspects {
    let (Some(one), Some(other)) = (record(ours, number), record(theirs, number)) else { return both };
    let Some(before) = before(common, number, one) else { return both };
    let mut found = both & Aspects::DATA;
    found.set(Aspects::ATTRIBUTES, !fields_agree(&before, one, other));
    found.set(Aspects::XATTRS, {
        let of = |tree, record| extras(tree, number, record);
        let (before, one, other) = (of(common, one), of(ours, one), of(theirs, other));
        let mut keys = before.keys().chain(one.keys()).chain(other.keys());
        keys.any(|key| differ(&before.get(key), &one.get(key), &other.get(key)))
    });
    found
}

/// Returns whether both sides changed a thing, to different ones.
pub(super) fn differ<T: PartialEq>(before: &T, one: &T, other: &T) -> bool {
    one != before && other != before && one != other
}

/// Returns whether no attribute has another value on each side.
fn fields_agree(before: &Record, one: &Record, other: &Record) -> bool {
    let [b, o, t] = [before, one, other].map(|record| record.attributes);
    let times = !before.is_directory() && (differ(&b.atime, &o.atime, &t.atime) || differ(&b.mtime, &o.mtime, &t.mtime));
    !(times
        || differ(&b.mode, &o.mode, &t.mode)
        || differ(&b.uid, &o.uid, &t.uid)
        || differ(&b.gid, &o.gid, &t.gid)
        || differ(&before.flags, &one.flags, &other.flags))
}

/// Returns whether a file shows parts of a file of the base that was changed since.
pub(super) fn shows_changed_base(base: &Base, tree: &Tree<Row>, number: u64) -> bool {
    Extents::new(tree, number).touching(0..u64::MAX).any(|(_, extent)| match &extent.what {
        What::Base(origin, _) => base.check_unchanged(origin).is_err(),
        _ => false,
    })
}
