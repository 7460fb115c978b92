//! The rows in which two trees differ, by the nodes to which they belong.

use std::collections::BTreeMap;

use pathwalk::FileType;

use crate::branch::{record, shows_base_alone};
use crate::rows::{self, Entry, Record, Row, Tag, Target};
use crate::tree::{Difference, Tree};

/// The rows of all nodes that differ.
#[derive(Default)]
pub(crate) struct Groups(BTreeMap<u64, Group>);

/// The rows of one node that differ.
#[derive(Default)]
pub(crate) struct Group(Vec<(Tag, Difference<Row>)>);

/// An entry of a directory that differs.
pub(crate) struct EntryChange<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) old: Option<Entry>,
    pub(crate) new: Option<Entry>,
}

impl EntryChange<'_> {
    /// Returns the node that the base has under this name, as far as an entry says it.
    pub(crate) fn hidden(&self) -> Option<Target> {
        let of = |entry: Option<Entry>| entry.and_then(|entry| entry.hides).map(|hidden| hidden.target);
        of(self.new).or(of(self.old))
    }

    /// Returns the node to which the name led.
    pub(crate) fn before(&self) -> Option<Target> {
        self.old.map_or(self.hidden(), |old| old.target)
    }

    /// Returns the node to which the name leads, if its directory is there.
    pub(crate) fn after(&self) -> Option<Target> {
        self.new.map_or(self.hidden(), |new| new.target)
    }
}

impl Groups {
    pub(crate) fn between(old: &Tree<Row>, new: &Tree<Row>) -> Groups {
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        for difference in new.since(old) {
            if let Some((number, tag, _)) = rows::parts(&difference.key) {
                groups.entry(number).or_default().0.push((tag, difference));
            }
        }
        Groups(groups)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Group> {
        self.0.get(&number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Group)> {
        self.0.iter().map(|(number, group)| (*number, group))
    }
}

impl Group {
    /// Returns whether the group has a row of this kind.
    pub(crate) fn has(&self, tag: Tag) -> bool {
        self.0.iter().any(|(of, _)| *of == tag)
    }

    /// Returns whether the group has more than the place of the node, and what it was.
    pub(crate) fn is_change(&self) -> bool {
        self.0.iter().any(|(tag, _)| !matches!(tag, Tag::Place | Tag::Removed | Tag::Text))
    }

    /// Returns whether the node lost its last name.
    pub(crate) fn has_ended(&self) -> bool {
        let has_names = |row: &Option<Row>| matches!(row, Some(Row::Record(record)) if record.attributes.nlink > 0);
        self.0.iter().any(|(tag, row)| *tag == Tag::Record && has_names(&row.old) && !has_names(&row.new))
    }

    /// Returns the entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryChange<'_>> {
        self.0.iter().filter(|(tag, _)| *tag == Tag::Entry).filter_map(|(_, row)| entry_change(row))
    }

    /// Returns the entry with this key.
    pub(crate) fn entry(&self, key: &[u8]) -> Option<EntryChange<'_>> {
        // The rows of a comparison come in the order of their keys.
        let at = self.0.binary_search_by(|(_, row)| row.key[..].cmp(key)).ok()?;
        entry_change(&self.0[at].1)
    }

    /// Returns the attributes before and after, of a node that was there and is.
    pub(crate) fn alive<'t>(&self, old: &Tree<Row>, new: &'t Tree<Row>, number: u64) -> Option<(Record, &'t Record)> {
        let after = record(new, number).filter(|record| record.attributes.nlink > 0)?;
        Some((before(old, number, after)?, after))
    }

    /// Returns whether the data of a node that was there and is differs.
    pub(crate) fn has_new_data(&self, old: &Tree<Row>, new: &Tree<Row>, number: u64, records: (&Record, &Record)) -> bool {
        let (before, after) = records;
        if before.body != after.body && before.body.is_some()
            || !after.is_directory() && before.attributes.size != after.attributes.size
        {
            return true;
        }
        match &after.origin {
            _ if after.kind() != FileType::Regular => false,
            Some(origin) if record(old, number).is_none() => !shows_base_alone(new, number, origin),
            _ => self.has(Tag::Extent),
        }
    }

    /// Returns whether the lists or the extended attributes of a node that was there and is differ.
    pub(crate) fn has_new_extras(&self, old: &Tree<Row>, new: &Tree<Row>, number: u64, after: &Record) -> bool {
        match &after.origin {
            Some(_) if record(old, number).is_none() => extras(old, number, after) != extras(new, number, after),
            _ => self.has(Tag::Acl) || self.has(Tag::Xattr),
        }
    }
}

fn entry_change(row: &Difference<Row>) -> Option<EntryChange<'_>> {
    let entry = |row: &Option<Row>| match row {
        Some(Row::Entry(entry)) => Some(*entry),
        _ => None,
    };
    let (_, name) = rows::hash_and_name(&row.key[9..])?;
    Some(EntryChange { name, key: &row.key, old: entry(&row.old), new: entry(&row.new) })
}

/// Returns the attributes that a node had before, which has these now: those of its origin, if the
/// older tree did not have it. `None` for a new node.
pub(crate) fn before(old: &Tree<Row>, number: u64, after: &Record) -> Option<Record> {
    let of_origin = || Some(Record { body: after.body.clone(), ..Record::of_base(number, after.origin.as_ref()?) });
    record(old, number).cloned().or_else(of_origin)
}

/// Returns the lists and extended attributes of a node that a tree has, or of its origin.
pub(crate) fn extras(tree: &Tree<Row>, number: u64, of_origin: &Record) -> BTreeMap<Vec<u8>, Row> {
    let own = |tag: Tag| -> Vec<(Vec<u8>, Row)> {
        tree.with_prefix(&rows::of(number, tag)).map(|(key, row)| (key.to_vec(), row.clone())).collect()
    };
    match (&of_origin.origin, record(tree, number)) {
        (Some(origin), None) => origin.extras.iter().map(|(key, row)| (key.to_vec(), row.clone())).collect(),
        _ => own(Tag::Acl).into_iter().chain(own(Tag::Xattr)).collect(),
    }
}
