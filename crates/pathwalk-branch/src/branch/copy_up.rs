//! The copy of a node of the base into the tree, before its first change.
//!
//! Its attributes, lists and extended attributes are copied; of its data, one extent says that it
//! is the base's. Of a directory no name is copied. The places of the node and of each directory
//! above it are noted, so that a comparison finds the way to what was changed.

use std::sync::Arc;

use pathwalk::permission::AclKind;
use pathwalk::{AclState, Errno, FileType, InodeFlags, StatxFlags};

use super::{Inner, record_mut};
use crate::base::Copied;
use crate::extents::{Extents, PAGE};
use crate::origin::Origin;
use crate::rows::{self, Counted, Extent, FirstName, Names, Pages, Place, Record, Row, Tag, What};
use crate::tree::Tree;

/// The flags of users that branches keep: those of a tmpfs.
pub(crate) const KEPT_INODE_FLAGS: InodeFlags =
    InodeFlags::IMMUTABLE.union(InodeFlags::APPEND).union(InodeFlags::NODUMP).union(InodeFlags::NOATIME);

/// The attribute bits that branches keep.
pub(crate) const KEPT_FLAGS: StatxFlags = StatxFlags::IMMUTABLE.union(StatxFlags::APPEND).union(StatxFlags::NODUMP);

/// Returns the attribute bits of flags.
pub(crate) fn bits_of(flags: InodeFlags) -> StatxFlags {
    // The bits that both have are the same bits on Linux.
    StatxFlags::from_kernel(flags.bits().into()) & KEPT_FLAGS
}

impl Inner {
    /// Makes sure that the tree has the attributes of a node, and returns them for a change.
    pub(crate) fn copy_up<'t>(&self, tree: &'t mut Tree<Row>, number: u64) -> Result<&'t mut Record, Errno> {
        if super::record(tree, number).is_none() {
            let base = self.base_of(number)?;
            let way = self.live.lock().way(number);
            let copied = self.shared.base.copied(&base, number, way)?;
            self.note_places(tree, number);
            copied_up(tree, number, copied);
        }
        record_mut(tree, number)
    }

    /// Notes the place of a node and of each directory above it that has none yet.
    fn note_places(&self, tree: &mut Tree<Row>, number: u64) {
        let (mut number, mut way) = (number, self.live.lock().way(number));
        while let Some(found) = way {
            let key = rows::of(number, Tag::Place);
            if tree.get(&key).is_some() {
                return;
            }
            let place = Place { dir: found.dir, name: found.name.clone() };
            tree.insert(&key, Row::Place(Arc::new(place)));
            (number, way) = (found.dir, found.above.clone());
        }
    }
}

/// Adds the rows of a node of the base as it was copied, but for its place.
pub(crate) fn copied_up(tree: &mut Tree<Row>, number: u64, copied: Copied) {
    let Copied { origin, body } = copied;
    // Of a node that had this number before.
    tree.remove(&rows::of(number, Tag::Removed));
    tree.remove(&rows::of(number, Tag::Text));
    for (key, row) in &origin.extras {
        tree.insert(key, row.clone());
    }
    let record = Record { body, ..Record::of_base(number, &origin) };
    if record.pages.of_base > 0 {
        let what = What::Base(Arc::clone(&origin), 0);
        tree.insert(&rows::extent(number, 0), Row::Extent(Extent { length: origin.attributes.size, what }));
    }
    tree.insert(&rows::of(number, Tag::Record), Row::Record(Arc::new(record)));
}

impl Record {
    /// Returns the attributes of a node of the base when it is copied, without the body of a link.
    pub(crate) fn of_base(number: u64, origin: &Arc<Origin>) -> Record {
        let mut attributes = origin.attributes;
        let kind = attributes.kind;
        let flags = InodeFlags::from_bits_truncate(attributes.flags.to_kernel() as u32);
        let flags = (origin.flags | flags) & KEPT_INODE_FLAGS;
        attributes.ino = number;
        attributes.flags = bits_of(flags);
        attributes.flags_mask |= KEPT_FLAGS;
        let access = rows::acl(number, AclKind::Access);
        let has_list = origin.extras.iter().any(|(key, _)| *key == access);
        attributes.acl = if has_list { AclState::Present } else { AclState::Absent };
        let of_base = if kind == FileType::Regular { attributes.size.div_ceil(PAGE) } else { 0 };
        Record {
            attributes,
            flags,
            body: None,
            origin: Some(Arc::clone(origin)),
            names: if kind == FileType::Directory { Names::Merged } else { Names::Own },
            first_name: FirstName::Given,
            counted: Counted::InEntry,
            pages: Pages { own: 0, of_base },
        }
    }
}

/// Returns whether a file shows its base alone.
pub(crate) fn shows_base_alone(tree: &Tree<Row>, number: u64, origin: &Origin) -> bool {
    let size = origin.attributes.size;
    let mut extents = Extents::new(tree, number).touching(0..u64::MAX);
    let first = extents.next();
    let is_base = match first {
        None => size == 0,
        Some((0, Extent { length, what: What::Base(of, 0) })) => *length == size && **of == *origin,
        Some(_) => false,
    };
    is_base && extents.next().is_none()
}
