//! File handles, and the way back from a node to its name.
//!
//! The handle of a node that the base has is made of the base's handle, and is the same before and
//! after the first change. That of a new node is its number, which no other node ever has.

use std::sync::Arc;

use pathwalk::{Errno, FileHandle, FoundName, Handle, Node};

use super::live::Way;
use super::{Inner, record};
use crate::branch::rename::place;
use crate::origin::Origin;
use crate::rows::{Record, Row};
use crate::tree::Tree;

/// The kind of the handle of a new node: its number, and eight bytes of zero.
const NEW: i32 = 1;

/// The kind of the handle of a node of the base: its number, the kind of the base's handle, and its
/// bytes.
const OF_BASE: i32 = 2;

impl Inner {
    /// Returns the handle of a node: `EOPNOTSUPP` if the base has none, or one that is too long.
    pub(crate) fn encode_handle(&self, number: u64) -> Result<FileHandle, Errno> {
        let tree = self.tree.read();
        let base = match record(&tree, number) {
            Some(Record { origin: None, .. }) => return FileHandle::new(NEW, &u128::from(number).to_le_bytes()),
            Some(Record { origin: Some(origin), .. }) => origin.handle(&self.shared.base)?,
            None => self.base_of(number)?,
        };
        self.of_base(number, &base)
    }

    fn of_base(&self, number: u64, base: &Handle) -> Result<FileHandle, Errno> {
        let handle = self.shared.base.encode_handle(base)?;
        let bytes = [&number.to_le_bytes()[..], &handle.to_bytes()].concat();
        FileHandle::new(OF_BASE, &bytes).map_err(|_| Errno::EOPNOTSUPP)
    }

    /// Returns whether a handle is that of a node with this origin.
    fn is_of(&self, number: u64, origin: &Origin, handle: &FileHandle) -> Result<bool, Errno> {
        Ok(self.of_base(number, &origin.handle(&self.shared.base)?)? == *handle)
    }

    /// Returns the node of a handle, handed out: `ESTALE` if it is gone, or the handle is none.
    pub(crate) fn decode_handle(&self, handle: &FileHandle) -> Result<Node, Errno> {
        let tree = self.tree.read();
        let (number, rest) = handle.bytes().split_first_chunk::<8>().ok_or(Errno::ESTALE)?;
        let number = u64::from_le_bytes(*number);
        match (handle.kind(), record(&tree, number)) {
            (NEW, Some(Record { origin: None, .. })) if *rest == [0; 8] => {}
            (OF_BASE, Some(Record { origin: Some(origin), .. })) if self.is_of(number, origin, handle)? => {}
            (OF_BASE, None) => {
                let base = FileHandle::from_bytes(rest).map_err(|_| Errno::ESTALE)?;
                let base = self.shared.base.decode_handle(&base).map_err(|_| Errno::ESTALE)?;
                if self.number(&tree, &base)? != number {
                    return Err(Errno::ESTALE);
                }
                if number == self.shared.root || self.live.lock().is_held(number) {
                    return self.hold(&tree, number, Some(base), None);
                }
                let way = self.way_of(&tree, &base)?;
                return self.hold(&tree, number, Some(base), Some(way));
            }
            _ => return Err(Errno::ESTALE),
        }
        // A node without a name lives as long as it is held.
        let lives = record(&tree, number).is_some_and(|record| record.attributes.nlink > 0);
        if !lives && !self.live.lock().is_held(number) {
            return Err(Errno::ESTALE);
        }
        self.hold(&tree, number, None, None)
    }

    /// Returns the way to a node of the base that the tree does not have: `ESTALE` if no name of
    /// the branch leads to it.
    fn way_of(&self, tree: &Tree<Row>, base: &Handle) -> Result<Arc<Way>, Errno> {
        let (dir, name) = self.shared.base.place(base)?;
        let number = self.number(tree, &dir)?;
        if self.entry(tree, number, &name).is_some() {
            return Err(Errno::ESTALE);
        }
        let above = match record(tree, number) {
            _ if number == self.shared.root => None,
            Some(record) if record.attributes.nlink == 0 => return Err(Errno::ESTALE),
            Some(_) => None,
            None => Some(self.way_of(tree, &dir)?),
        };
        Ok(Arc::new(Way { dir: number, name, above }))
    }

    /// Returns the directory in which a node got a name last, and that name: `ESTALE` if it has
    /// none there any more.
    pub(crate) fn find_name(&self, number: u64) -> Result<FoundName, Errno> {
        let tree = self.tree.read();
        let way = self.live.lock().way(number);
        let way = match (place(&tree, number), way) {
            (Some(place), _) => Arc::new(Way { dir: place.dir, name: place.name.clone(), above: None }),
            (None, Some(way)) => way,
            (None, None) => self.way_of(&tree, &self.base_of(number)?)?,
        };
        let (dir, name) = (way.dir, way.name.clone());
        let base = self.directory(&tree, &way)?;
        let key = match self.entry(&tree, dir, &name) {
            Some(entry) => entry.target.map(|target| target.number),
            None => match &base {
                Some(base) => {
                    let found = self.shared.base.lookup(base, &name)?;
                    found.map(|found| self.number(&tree, &found)).transpose()?
                }
                None => None,
            },
        };
        if key != Some(number) {
            return Err(Errno::ESTALE);
        }
        let way = match (record(&tree, dir), &base) {
            (None, Some(base)) if dir != self.shared.root => Some(self.way_of(&tree, base)?),
            _ => None,
        };
        Ok(FoundName { dir: self.hold(&tree, dir, base, way)?, name })
    }

    /// Returns the directory of the base whose names show in the directory of a way, which need not
    /// be held: `ESTALE` if the base has it no longer.
    fn directory(&self, tree: &Tree<Row>, way: &Way) -> Result<Option<Handle>, Errno> {
        let dir = way.dir;
        if record(tree, dir).is_some() || dir == self.shared.root || self.live.lock().is_held(dir) {
            return self.below(tree, dir);
        }
        let of_tree = place(tree, dir).map(|place| Arc::new(Way { dir: place.dir, name: place.name.clone(), above: None }));
        let above = of_tree.or_else(|| way.above.clone()).ok_or(Errno::ESTALE)?;
        let base = self.directory(tree, &above)?.ok_or(Errno::ESTALE)?;
        self.shared.base.lookup(&base, &above.name)?.ok_or(Errno::ESTALE).map(Some)
    }
}
