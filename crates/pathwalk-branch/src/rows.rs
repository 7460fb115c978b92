//! The rows of a branch's tree, and their keys.
//!
//! A key is the number of a node, a tag, and what tells rows of one kind apart. So all that belongs
//! to a node lies together:
//!
//! | tag | behind it | row |
//! |---|---|---|
//! | 0 | | the attributes of a node |
//! | 1 | | the name by which the node was found, or got, last |
//! | 2 | access or default | an access control list |
//! | 3 | name | an extended attribute |
//! | 4 | hash of the name, name | an entry of a directory: a name that the branch added, changed or removed |
//! | 5 | offset | an extent of a file |
//! | 6 | | what a node of the base was that was removed, if no entry says it |
//! | 7 | | the text of a file of the base, before the branch changed the file |
//!
//! What always holds:
//! - The number of the key is that of the node, with its highest byte first.
//! - An entry that leads to a node leads to one with attributes in the tree.
//! - A node of the base whose attributes are not in the tree has no row but those of its entries'
//!   names, which only directories have whose attributes are in the tree, that of its place, and
//!   its text.
//! - Each node with attributes has a place, except those that never had a name. So has each
//!   directory above it, up to the root.
//! - A removed name of the base is a row, too. Nothing but [`Entry`] knows of it, so it cannot be
//!   seen as a file.

use std::sync::Arc;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{Attributes, FileType, InodeFlags};
use smallvec::SmallVec;

use crate::blobs::Blob;
use crate::origin::Origin;
use crate::stamp::Stamp;

/// The bytes of a key.
pub(crate) type KeyBytes = SmallVec<[u8; 64]>;

/// The kind of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Tag {
    Record = 0,
    Place = 1,
    Acl = 2,
    Xattr = 3,
    Entry = 4,
    Extent = 5,
    Removed = 6,
    Text = 7,
}

/// The value of a row.
#[derive(Clone, PartialEq)]
pub(crate) enum Row {
    Record(Arc<Record>),
    Place(Arc<Place>),
    Acl(Arc<Acl>),
    Xattr(Arc<[u8]>),
    Entry(Entry),
    Extent(Extent),
    Removed(Stamp),
}

/// The attributes of a node.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Record {
    /// All that `stat` shows. The device and the state of the access list are filled in later.
    pub(crate) attributes: Attributes,
    pub(crate) flags: InodeFlags,
    pub(crate) body: Option<Arc<[u8]>>,
    /// The node of the base from which it was copied.
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) names: Names,
    pub(crate) first_name: FirstName,
    pub(crate) counted: Counted,
    pub(crate) pages: Pages,
}

/// The names of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Names {
    /// Those of the tree. Also said of what is no directory.
    Own,
    /// Those of the tree, and those of the base that the tree does not have.
    Merged,
}

/// The place of a node's stamp, once the node is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    /// In the entry that hides the node, and then in that of the directory above.
    InEntry,
    /// In a row of its own: a directory that was removed had a name of the node, and was counted
    /// while the node lived on under another name.
    Alone,
}

/// The possibility that a node without a name gets one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstName {
    Given,
    ToCome,
}

/// The pages that a file takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pages {
    /// Those in which the branch has data, or reserved space.
    pub(crate) own: u64,
    /// The others in which the file shows its base.
    pub(crate) of_base: u64,
}

/// A name of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) dir: u64,
    pub(crate) name: Box<[u8]>,
}

/// A node that a name leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) number: u64,
    pub(crate) kind: FileType,
}

/// An entry of a directory. One without a target and without a name of the base to hide is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The node that the name leads to; `None` if it was removed.
    pub(crate) target: Option<Target>,
    /// The node that the base has under this name, as of when the entry was made.
    pub(crate) hides: Option<Hidden>,
}

/// A node of the base that an entry hides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hidden {
    pub(crate) target: Target,
    /// What it was when the branch copied it; of a directory that was removed, with all that was in
    /// it.
    pub(crate) stamp: Stamp,
}

/// A part of a file.
#[derive(Clone, PartialEq)]
pub(crate) struct Extent {
    pub(crate) length: u64,
    pub(crate) what: What,
}

/// The content of an extent.
#[derive(Clone, PartialEq)]
pub(crate) enum What {
    /// Bytes of a blob from an offset on.
    Blob(Blob, u64),
    /// Bytes of a file of the base from an offset on.
    Base(Arc<Origin>, u64),
    /// Zeroes that were written.
    Zeroes,
    /// Space that is allocated and was not written.
    Reserved,
}

/// Returns the beginning of the keys of a node's rows of one kind.
pub(crate) fn of(number: u64, tag: Tag) -> [u8; 9] {
    let mut key = [tag as u8; 9];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

fn with(number: u64, tag: Tag, rest: &[&[u8]]) -> KeyBytes {
    let mut key = KeyBytes::from_slice(&of(number, tag));
    rest.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// Returns the key of an entry.
pub(crate) fn entry(dir: u64, hash: u64, name: &[u8]) -> KeyBytes {
    with(dir, Tag::Entry, &[&hash.to_be_bytes(), name])
}

/// Returns the key of the first entry whose hash is greater.
pub(crate) fn entries_behind(dir: u64, hash: u64) -> KeyBytes {
    with(dir, Tag::Entry, &[&hash.saturating_add(1).to_be_bytes()])
}

/// Returns the key of an extended attribute.
pub(crate) fn xattr(number: u64, name: &[u8]) -> KeyBytes {
    with(number, Tag::Xattr, &[name])
}

/// Returns the key of an access control list.
pub(crate) fn acl(number: u64, kind: AclKind) -> KeyBytes {
    with(number, Tag::Acl, &[&[(kind == AclKind::Default) as u8]])
}

/// Returns the key of an extent.
pub(crate) fn extent(number: u64, offset: u64) -> KeyBytes {
    with(number, Tag::Extent, &[&offset.to_be_bytes()])
}

/// Returns the number of a node, the tag, and the rest of a key.
pub(crate) fn parts(key: &[u8]) -> Option<(u64, Tag, &[u8])> {
    let (number, rest) = key.split_first_chunk::<8>()?;
    let (tag, rest) = rest.split_first()?;
    let tags = [Tag::Record, Tag::Place, Tag::Acl, Tag::Xattr, Tag::Entry, Tag::Extent, Tag::Removed, Tag::Text];
    Some((u64::from_be_bytes(*number), *tags.get(usize::from(*tag))?, rest))
}

/// Returns the hash and the name of an entry, from the rest of its key.
pub(crate) fn hash_and_name(rest: &[u8]) -> Option<(u64, &[u8])> {
    let (hash, name) = rest.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*hash), name))
}

/// Returns the offset of an extent, from the rest of its key.
pub(crate) fn offset(rest: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(rest.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_apart_as_it_was_made() {
        let key = entry(7, 99, b"name");
        let (number, tag, rest) = parts(&key).expect("it is a key");
        assert_eq!((number, tag, hash_and_name(rest)), (7, Tag::Entry, Some((99, &b"name"[..]))));
        let key = extent(u64::MAX, 1 << 40);
        let (number, tag, rest) = parts(&key).expect("it is a key");
        assert_eq!((number, tag, offset(rest)), (u64::MAX, Tag::Extent, Some(1 << 40)));
        assert_eq!((parts(b"short"), parts(&[9; 9])), (None, None));
    }

    #[test]
    fn the_rows_of_a_node_lie_together() {
        let keys = [
            KeyBytes::from_slice(&of(1, Tag::Record)),
            acl(1, AclKind::Access),
            acl(1, AclKind::Default),
            xattr(1, b"user.a"),
            entry(1, 5, b"b"),
            entry(1, 6, b"a"),
            entries_behind(1, 6),
            extent(1, 0),
            extent(1, 1 << 32),
            KeyBytes::from_slice(&of(2, Tag::Record)),
        ];
        assert!(keys.is_sorted());
    }
}
