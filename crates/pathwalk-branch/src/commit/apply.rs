//! The merge of a branch's changes into its parent's tree, after all checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pathwalk::{Attributes, FileType};

use super::Side;
use crate::branch::{count_names, free, place, record, record_mut};
use crate::diff::{Group, before, extras};
use crate::rows::{self, Record, Row, Tag};
use crate::tree::Tree;

/// Applies the changes of a branch. The nodes that it removed and that the parent holds, `orphans`,
/// stay without a name. A name adds so many bytes to the size of a directory.
pub(super) fn apply(
    common: &Tree<Row>,
    ours: &Side<'_>,
    theirs: &Side<'_>,
    merged: &mut Tree<Row>,
    (orphans, name_bytes): (&BTreeSet<u64>, u64),
) {
    let counts = apply_names(ours, merged);
    for (number, group) in ours.groups.iter().filter(|(number, _)| !ours.moves.is_removed(*number)) {
        let is_moved = ours.moves.is_renamed(number) || !theirs.moves.is_renamed(number);
        if is_moved && let Some(place) = place(ours.tree, number) {
            merged.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place.clone())));
        }
        let changed_by_parent = theirs.groups.get(number).is_some_and(Group::is_change);
        match (record(ours.tree, number), record(theirs.tree, number)) {
            (Some(one), Some(other)) if changed_by_parent && group.is_change() => {
                let count = counts.get(&number).copied().unwrap_or_default();
                merge(common, (ours, one), other, merged, (number, count, name_bytes));
            }
            (Some(_), _) if group.is_change() => take(ours.tree, merged, number),
            _ => {}
        }
    }
    for number in ours.moves.removed().filter(|number| !orphans.contains(number)) {
        free(merged, number);
    }
    for (number, _) in ours.groups.iter().filter(|(_, group)| group.has(Tag::Removed)) {
        take_rows(ours.tree, merged, number, Tag::Removed);
    }
    for (number, _) in ours.groups.iter().filter(|(_, group)| group.has(Tag::Text)) {
        take_text(ours.tree, merged, number);
    }
    for number in orphans {
        if let Ok(record) = record_mut(merged, *number) {
            record.attributes.nlink = 0;
        }
    }
}

/// Removes the nodes that have no name any more.
pub(super) fn free_unnamed(ours: &Side<'_>, merged: &mut Tree<Row>, orphans: &BTreeSet<u64>) {
    for (number, _) in ours.groups.iter().filter(|(number, _)| !orphans.contains(number)) {
        if record(merged, number).is_some_and(|record| record.attributes.nlink == 0) {
            free(merged, number);
        }
    }
}

/// What the names that were applied add.
#[derive(Clone, Copy, Default)]
struct Count {
    /// The names of a node.
    links: i64,
    /// The names in a directory.
    names: i64,
    /// Those of them that lead to directories.
    directories: i64,
}

/// Applies the entries of directories. Returns what they add to each node beside what the parent
/// has: of a name that both removed, nothing.
fn apply_names(ours: &Side<'_>, merged: &mut Tree<Row>) -> BTreeMap<u64, Count> {
    let mut counts: BTreeMap<u64, Count> = BTreeMap::new();
    for (dir, group) in ours.groups.iter().filter(|(number, _)| !ours.moves.is_removed(*number)) {
        for entry in group.entries() {
            let before = match merged.get(entry.key) {
                Some(Row::Entry(entry)) => entry.target,
                _ => entry.hidden(),
            };
            for (target, by) in [(before, -1), (entry.after(), 1)] {
                let Some(target) = target else { continue };
                counts.entry(target.number).or_default().links += by;
                let of_directory = counts.entry(dir).or_default();
                of_directory.names += by;
                of_directory.directories += if target.kind == FileType::Directory { by } else { 0 };
            }
            match ours.tree.get(entry.key) {
                Some(row) => _ = merged.insert(entry.key, row.clone()),
                None => _ = merged.remove(entry.key),
            }
        }
    }
    counts
}

/// The kinds of rows that belong to a node alone.
const OWN: [Tag; 5] = [Tag::Record, Tag::Acl, Tag::Xattr, Tag::Extent, Tag::Text];

/// Takes over the node as the branch has it, but for its names.
fn take(ours: &Tree<Row>, merged: &mut Tree<Row>, number: u64) {
    OWN.into_iter().for_each(|tag| take_rows(ours, merged, number, tag));
}

/// Takes over the rows of one kind.
pub(super) fn take_rows(from: &Tree<Row>, merged: &mut Tree<Row>, number: u64, tag: Tag) {
    let prefix = rows::of(number, tag);
    let before: Vec<_> = merged.with_prefix(&prefix).map(|(key, _)| key.clone()).collect();
    before.iter().for_each(|key| _ = merged.remove(key));
    let now: Vec<_> = from.with_prefix(&prefix).map(|(key, row)| (key.clone(), row.clone())).collect();
    now.into_iter().for_each(|(key, row)| _ = merged.insert(&key, row));
}

/// Takes over the text that is kept of a node, if none is.
fn take_text(ours: &Tree<Row>, merged: &mut Tree<Row>, number: u64) {
    let key = rows::of(number, Tag::Text);
    if let (None, Some(text)) = (merged.get(&key), ours.get(&key)) {
        merged.insert(&key, text.clone());
    }
}

/// Merges a node that both changed, and about which they agree.
fn merge(
    common: &Tree<Row>,
    (ours, one): (&Side<'_>, &Record),
    other: &Record,
    merged: &mut Tree<Row>,
    (number, count, name_bytes): (u64, Count, u64),
) {
    // A node that both have and had in common has attributes from before.
    let Some(before) = before(common, number, one) else { return take(ours.tree, merged, number) };
    let mut record = other.clone();
    let group = ours.groups.get(number);
    if group.is_some_and(|group| group.has_new_data(common, ours.tree, number, (&before, one))) {
        take_rows(ours.tree, merged, number, Tag::Extent);
        (record.attributes.size, record.attributes.blocks) = (one.attributes.size, one.attributes.blocks);
        record.pages = one.pages;
    }
    let of = |tree, record| extras(tree, number, record);
    let (known, mine) = (of(common, one), of(ours.tree, one));
    for key in known.keys().chain(mine.keys()) {
        match mine.get(key) {
            value if value == known.get(key) => {}
            Some(row) => _ = merged.insert(key, row.clone()),
            None => _ = merged.remove(key),
        }
    }
    if one.attributes.acl != before.attributes.acl {
        record.attributes.acl = one.attributes.acl;
    }
    attributes(&before, one, &mut record, (count, name_bytes));
    merged.insert(&rows::of(number, Tag::Record), Row::Record(Arc::new(record)));
}

/// Merges the attributes of one side into those of the other.
fn attributes(before: &Record, one: &Record, into: &mut Record, (count, name_bytes): (Count, u64)) {
    let (b, o) = (&before.attributes, &one.attributes);
    if one.flags != before.flags {
        into.flags = one.flags;
        into.attributes.flags = o.flags;
    }
    let to: &mut Attributes = &mut into.attributes;
    let take = |before: u32, one: u32, to: &mut u32| {
        if one != before {
            *to = one;
        }
    };
    take(b.uid, o.uid, &mut to.uid);
    take(b.gid, o.gid, &mut to.gid);
    if o.mode != b.mode {
        to.mode = o.mode;
    }
    if o.atime != b.atime {
        to.atime = o.atime;
    }
    to.ctime = to.ctime.max(o.ctime);
    if one.is_directory() {
        to.mtime = to.mtime.max(o.mtime);
        count_names(to, (count.names, count.directories), name_bytes);
    } else {
        if o.mtime != b.mtime {
            to.mtime = o.mtime;
        }
        to.nlink = to.nlink.saturating_add_signed(count.links as i32);
    }
}
