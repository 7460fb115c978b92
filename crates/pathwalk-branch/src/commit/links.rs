//! The numbers of links after a merge, and the sizes of directories.
//!
//! Mostly they are counted by the names that were merged. That is not enough where a side removed a
//! directory of the base: of the names in it there are no rows, and a file may have other names
//! elsewhere. Nor is it where an answer has brought names back. Then all names are counted: those
//! that entries give, and those of the base that no entry hides and that are in no removed
//! directory.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::{Attributes, Errno, FileType, Handle};

use crate::branch::{Inner, count_names, free, record, record_mut};
use crate::rows::{self, Entry, Record, Row, Tag};
use crate::tree::Tree;

/// The names that the entries of a directory add, and directories among them.
type Names = BTreeMap<u64, (i64, i64)>;

/// Sets the numbers of links of these nodes. A file without a name goes, unless it is to stay
/// without one.
pub(super) fn count(inner: &Inner, tree: &mut Tree<Row>, numbers: &BTreeSet<u64>, orphans: &BTreeSet<u64>) -> Result<(), Errno> {
    let (by_entries, names, removed) = entries(tree);
    let mut in_removed = BTreeMap::new();
    for (dir, name, number) in removed {
        let Some(Record { origin: Some(origin), .. }) = record(tree, dir) else { continue };
        let above = match origin.handle(&inner.shared.base) {
            Err(Errno::ESTALE) => continue,
            above => above?,
        };
        let found = inner.shared.base.lookup(&above, &name)?;
        if let Some(found) = found.filter(|found| found.kind() == FileType::Directory)
            && inner.number(tree, &found)? == number
        {
            count_in(inner, tree, found, &mut in_removed)?;
        }
    }
    for number in numbers.difference(orphans) {
        let Ok(record) = record_mut(tree, *number) else { continue };
        if record.is_directory() {
            let (empty, (bytes, size)) = (Attributes::new(FileType::Directory, 0), inner.shared.base.directory_sizes());
            let before = record.origin.as_ref().map(|origin| (origin.attributes.nlink, origin.attributes.size));
            if record.attributes.nlink > 0 {
                (record.attributes.nlink, record.attributes.size) = before.unwrap_or((empty.nlink, size));
                count_names(&mut record.attributes, names.get(number).copied().unwrap_or_default(), bytes);
            }
            continue;
        }
        let of_base = record.origin.as_ref().map_or(0, |origin| i64::from(origin.attributes.nlink));
        let of = |counts: &BTreeMap<u64, i64>| counts.get(number).copied().unwrap_or_default();
        let links = of_base + of(&by_entries) - of(&in_removed);
        record.attributes.nlink = u32::try_from(links).unwrap_or_default();
        if record.attributes.nlink == 0 {
            free(tree, *number);
        }
    }
    Ok(())
}

/// Returns by how much entries change the numbers of links and of names, and the directories of the
/// base that are removed, each with its place.
#[expect(clippy::type_complexity, reason = "all are taken apart at once")]
fn entries(tree: &Tree<Row>) -> (BTreeMap<u64, i64>, Names, Vec<(u64, Box<[u8]>, u64)>) {
    let lives = |number| record(tree, number).is_some_and(|record| record.attributes.nlink > 0);
    let (mut counts, mut names, mut removed) = (BTreeMap::new(), Names::new(), Vec::new());
    for (key, row) in tree.range(b"") {
        let (Some((dir, Tag::Entry, rest)), Row::Entry(Entry { target, hides })) = (rows::parts(key), row) else { continue };
        if !lives(dir) {
            continue;
        }
        let hidden = hides.map(|hidden| hidden.target);
        for (node, by) in [(target, 1), (&hidden, -1)] {
            let Some(node) = node else { continue };
            *counts.entry(node.number).or_default() += by;
            let of_dir = names.entry(dir).or_default();
            of_dir.0 += by;
            of_dir.1 += if node.kind == FileType::Directory { by } else { 0 };
        }
        if let Some(hidden) = hidden.filter(|hidden| hidden.kind == FileType::Directory && !lives(hidden.number))
            && let Some((_, name)) = rows::hash_and_name(rest)
        {
            removed.push((dir, name.into(), hidden.number));
        }
    }
    (counts, names, removed)
}

/// Counts the names of the base below a directory that was removed, but for what lives on.
fn count_in(inner: &Inner, tree: &Tree<Row>, dir: Handle, counts: &mut BTreeMap<u64, i64>) -> Result<(), Errno> {
    let mut open = vec![dir];
    while let Some(dir) = open.pop() {
        for listed in inner.shared.base.list(&dir)? {
            let Some(node) = inner.shared.base.lookup(&dir, &listed.name)? else { continue };
            let number = inner.number(tree, &node)?;
            match node.kind() {
                FileType::Directory if record(tree, number).is_some_and(|record| record.attributes.nlink > 0) => {}
                FileType::Directory => open.push(node),
                _ => *counts.entry(number).or_default() += 1,
            }
        }
    }
    Ok(())
}
