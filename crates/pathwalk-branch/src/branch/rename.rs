//! The moving of names.
//!
//! A directory of the base is moved as any node: one entry leads to it, one says that its old name
//! is gone, and nothing below is copied. All checks come before the first change.

use pathwalk::{Errno, FileType, RenameFlags};

use super::{Found, Inner, record, record_mut};
use crate::rows::{self, Place, Row, Tag};
use crate::tree::Tree;

/// One side of a rename.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) dir: u64,
    pub(crate) name: &'a [u8],
}

impl Found {
    fn is_directory(&self) -> bool {
        self.target.kind == FileType::Directory
    }
}

impl Inner {
    /// Moves a name, or exchanges two. Errors as of `renameat2(2)`. Two names of one node are left
    /// as they are.
    pub(crate) fn rename(&self, from: Side<'_>, to: Side<'_>, flags: RenameFlags) -> Result<(), Errno> {
        if flags.contains(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE) {
            return Err(Errno::EINVAL);
        }
        let tree = &mut *self.lock();
        let moved = self.find(tree, from.dir, from.name)?.ok_or(Errno::ENOENT)?;
        let there = self.find(tree, to.dir, to.name)?;
        self.check_not_removed(tree, to.dir)?;
        match there {
            Some(_) if flags.contains(RenameFlags::NOREPLACE) => Err(Errno::EEXIST),
            None if flags.contains(RenameFlags::EXCHANGE) => Err(Errno::ENOENT),
            Some(there) if there.target.number == moved.target.number => Ok(()),
            Some(other) if flags.contains(RenameFlags::EXCHANGE) => self.exchange(tree, (from, moved), (to, other)),
            replaced => self.replace(tree, (from, moved), to, replaced),
        }
    }

    fn replace(&self, tree: &mut Tree<Row>, from: (Side<'_>, Found), to: Side<'_>, replaced: Option<Found>) -> Result<(), Errno> {
        let (from, moved) = from;
        self.not_beneath(tree, to.dir, &moved, Errno::EINVAL)?;
        if let Some(replaced) = &replaced {
            self.not_beneath(tree, from.dir, replaced, Errno::ENOTEMPTY)?;
            match (moved.is_directory(), replaced.is_directory()) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                (true, true) if !self.is_empty(tree, replaced.target.number)? => return Err(Errno::ENOTEMPTY),
                _ => {}
            }
        }
        self.copied([from.dir, to.dir, moved.target.number], tree)?;
        self.copied(replaced.iter().map(|found| found.target.number), tree)?;
        // An editor may save a file so.
        replaced.iter().try_for_each(|found| self.keep_text(tree, found.target.number))?;

        let directories = i64::from(moved.is_directory());
        let replaces = i64::from(replaced.is_some());
        self.point(tree, from.dir, from.name, None, Some(&moved));
        self.point(tree, to.dir, to.name, Some(moved.target), replaced.as_ref());
        if from.dir == to.dir {
            self.names_changed(tree, to.dir, (-replaces, -directories * replaces))?;
        } else {
            self.names_changed(tree, from.dir, (-1, -directories))?;
            self.names_changed(tree, to.dir, (1 - replaces, directories - directories * replaces))?;
        }
        if let Some(replaced) = replaced {
            self.lose_name(tree, replaced.target.number)?;
        }
        self.arrived(tree, moved.target.number)
    }

    fn exchange(&self, tree: &mut Tree<Row>, from: (Side<'_>, Found), to: (Side<'_>, Found)) -> Result<(), Errno> {
        let ((from, moved), (to, other)) = (from, to);
        self.not_beneath(tree, to.dir, &moved, Errno::EINVAL)?;
        self.not_beneath(tree, from.dir, &other, Errno::EINVAL)?;
        self.copied([from.dir, to.dir, moved.target.number, other.target.number], tree)?;

        let arrive = i64::from(moved.is_directory()) - i64::from(other.is_directory());
        self.point(tree, to.dir, to.name, Some(moved.target), Some(&other));
        self.point(tree, from.dir, from.name, Some(other.target), Some(&moved));
        self.names_changed(tree, from.dir, (0, if from.dir == to.dir { 0 } else { -arrive }))?;
        if from.dir != to.dir {
            self.names_changed(tree, to.dir, (0, arrive))?;
        }
        self.arrived(tree, moved.target.number)?;
        self.arrived(tree, other.target.number)
    }

    /// Makes sure that the tree has the attributes of these nodes.
    fn copied(&self, numbers: impl IntoIterator<Item = u64>, tree: &mut Tree<Row>) -> Result<(), Errno> {
        numbers.into_iter().try_for_each(|number| self.copy_up(tree, number).map(drop))
    }

    /// Notes that a node has a new name.
    fn arrived(&self, tree: &mut Tree<Row>, number: u64) -> Result<(), Errno> {
        let now = self.shared.now();
        record_mut(tree, number).map(|record| record.touch_ctime(now))
    }

    /// Fails with `errno` if `node` is `dir` or a directory above it.
    fn not_beneath(&self, tree: &Tree<Row>, dir: u64, node: &Found, errno: Errno) -> Result<(), Errno> {
        if node.is_directory() && self.lies_beneath(tree, dir, node.target.number) { Err(errno) } else { Ok(()) }
    }

    /// Returns whether `dir` is `above` or lies beneath it.
    fn lies_beneath(&self, tree: &Tree<Row>, dir: u64, above: u64) -> bool {
        let (mut number, mut way) = (dir, self.live.lock().way(dir));
        loop {
            if number == above {
                return true;
            }
            if let Some(place) = place(tree, number) {
                (number, way) = (place.dir, None);
            } else if let Some(found) = way.take().or_else(|| self.live.lock().way(number)) {
                (number, way) = (found.dir, found.above.clone());
            } else {
                return false;
            }
        }
    }
}

/// Returns the place of a node.
pub(crate) fn place(tree: &Tree<Row>, number: u64) -> Option<&Place> {
    match tree.get(&rows::of(number, Tag::Place)) {
        Some(Row::Place(place)) => Some(place),
        _ => None,
    }
}

/// Returns whether a node of the tree has a name.
pub(crate) fn has_name(tree: &Tree<Row>, number: u64) -> bool {
    record(tree, number).is_none_or(|record| record.attributes.nlink > 0)
}
