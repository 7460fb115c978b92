//! The collection of what no branch refers to any more: rows of nodes and origins, and blobs.
//!
//! Rows are marked in a snapshot, and removed by a batch that is refused if another batch has
//! referred to nodes meanwhile: each of those sets a value ([`SAVES`]) that the collection checks.
//! A batch that was put together before the collection, and is applied after it, is refused, since
//! it checks the number of collections; it is put together anew, and stores what is gone by then.
//!
//! Blobs are freed only while no other process has the store open. It may show data that no row
//! refers to: of a file that was removed and is open, or of a branch that was dropped and is
//! mounted. What this process shows is found in its trees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use pathwalk::Errno;

use super::chunks::has_place;
use super::encoding::{self, OfBranch, OfNode, OfOrigin, OfRest, OfRow, OfWhat};
use super::table::{COLLECTIONS, OF_BRANCHES, OF_CHUNKS, OF_PARTS, OF_RESTORED, SAVES, counter};
use super::trees::{node_key, origin_key};
use super::{Stored, store_error};
use crate::blobs::BlobId;
use crate::branch::Inner;
use crate::error::Error;
use crate::rows::{Extent, Row, What};
use crate::store::{Applied, Batch, Snapshot};

/// What a collection has removed. [`Branches::collect`](crate::Branches::collect) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Collected {
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes of data; `None` if another process has the store open, so that no data
    /// could be freed.
    pub bytes: Option<u64>,
}

/// What branches refer to.
#[derive(Default)]
struct Marks {
    nodes: BTreeSet<u64>,
    origins: BTreeSet<u64>,
    blobs: Blobs,
}

/// The lengths of blobs, as far as an extent shows them.
#[derive(Default)]
struct Blobs(BTreeMap<BlobId, u64>);

impl Blobs {
    fn add(&mut self, blob: BlobId, end: u64) {
        let length = self.0.entry(blob).or_default();
        *length = (*length).max(end);
    }

    /// Adds the data that a branch shows in memory.
    fn add_shown(&mut self, branch: &Inner) {
        branch.each_row(|row| {
            // A held branch has data elsewhere.
            if let Row::Extent(Extent { length, what: What::Blob(blob, start) }) = row
                && blob.is_in(&branch.shared.store)
            {
                self.add(blob.id(), start + length);
            }
        });
    }
}

impl Marks {
    /// Marks all that the branches of a snapshot refer to.
    fn of(snapshot: &dyn Snapshot) -> Result<Marks, Errno> {
        let mut roots = Vec::new();
        let mut each = |_: &[u8], value: &[u8]| {
            let row: OfBranch = encoding::decode(value)?;
            roots.extend([row.root, row.forked]);
            Ok(())
        };
        snapshot.scan(OF_BRANCHES, &mut each)?;
        snapshot.scan(OF_PARTS, &mut |_, value| {
            roots.push(encoding::decode::<OfRest>(value)?.root);
            Ok(())
        })?;
        let mut marks = Marks::default();
        roots.into_iter().try_for_each(|root| marks.tree(snapshot, root))?;
        Ok(marks)
    }

    /// Marks all that a tree refers to: `EIO` if a part of it is missing or damaged.
    fn tree(&mut self, snapshot: &dyn Snapshot, root: u64) -> Result<(), Errno> {
        let mut open = vec![root];
        while let Some(number) = open.pop() {
            if number == 0 || !self.nodes.insert(number) {
                continue;
            }
            let value = snapshot.get(&node_key(number))?.ok_or(Errno::EIO)?;
            match encoding::decode(&value)? {
                OfNode::Children(children) => open.extend(children.into_iter().map(|(_, child)| child)),
                OfNode::Rows(rows) => rows.iter().try_for_each(|(_, row)| self.row(snapshot, row))?,
            }
        }
        Ok(())
    }

    fn row(&mut self, snapshot: &dyn Snapshot, row: &OfRow) -> Result<(), Errno> {
        let origin = match row {
            OfRow::Record(record) => record.origin,
            OfRow::Extent { what: OfWhat::Base(origin, _), .. } => Some(*origin),
            OfRow::Extent { length, what: OfWhat::Blob(blob, start) } => {
                self.blobs.add(BlobId(*blob), start + length);
                None
            }
            _ => None,
        };
        if let Some(number) = origin
            && self.origins.insert(number)
        {
            let value = snapshot.get(&origin_key(number))?.ok_or(Errno::EIO)?;
            encoding::decode::<OfOrigin>(&value)?;
        }
        Ok(())
    }
}

impl Stored {
    /// Removes what no branch refers to.
    pub(crate) fn collect(&self) -> Result<Collected, Error> {
        let failed = || store_error("collect what is not used");
        // No branch is opened or dropped meanwhile. So what is in memory is in the trees that are
        // looked at here, or is put later, and then it is kept.
        let _open = self.open.lock();
        // No write comes to share data that is about to be freed.
        let _collecting = self.chunks.start_collection();
        let alone = self.store.alone().map_err(failed())?;
        let mut shown = Blobs::default();
        if alone.is_some() {
            let used: Vec<Arc<Inner>> = self.used.lock().iter().filter_map(Weak::upgrade).collect();
            used.iter().for_each(|branch| shown.add_shown(branch));
        }
        let _saving = self.saving.lock();
        let (marks, rows) = self.collect_rows().map_err(failed())?;
        let mut bytes = None;
        if alone.is_some() {
            marks.blobs.0.into_iter().for_each(|(blob, end)| shown.add(blob, end));
            let live: Vec<_> = shown.0.into_iter().collect();
            bytes = Some(self.store.retain(&live).map_err(failed())?);
        }
        Ok(Collected { rows, bytes })
    }

    /// Removes rows. Returns what is left, and the number of rows.
    fn collect_rows(&self) -> Result<(Marks, u64), Errno> {
        loop {
            let snapshot = self.store.snapshot()?;
            let (saves, collections) = (snapshot.get(SAVES)?, snapshot.get(COLLECTIONS)?);
            let marks = Marks::of(&*snapshot)?;
            let mut batch = Batch::default();
            for (prefix, marked) in [(b"n", &marks.nodes), (b"o", &marks.origins)] {
                let mut each = |key: &[u8], _: &[u8]| {
                    let number = key[1..].try_into().map(u64::from_be_bytes).map_err(|_| Errno::EIO)?;
                    if !marked.contains(&number) {
                        batch.delete(key);
                    }
                    Ok(())
                };
                snapshot.scan(prefix, &mut each)?;
            }
            snapshot.scan(OF_CHUNKS, &mut |key, value| {
                if !has_place(value, |blob| marks.blobs.0.get(&blob).copied()) {
                    batch.delete(key);
                }
                Ok(())
            })?;
            if marks.nodes.is_empty() {
                snapshot.scan(OF_RESTORED, &mut |key, _| {
                    batch.delete(key);
                    Ok(())
                })?;
            }
            drop(snapshot);
            let rows = batch.changes().count() as u64;
            if rows == 0 {
                return Ok((marks, 0));
            }
            batch.check(SAVES, saves.as_deref());
            batch.check(COLLECTIONS, collections.as_deref());
            batch.put(COLLECTIONS, &(counter(collections)? + 1).to_be_bytes());
            if self.store.apply(&batch)? == Applied::Done {
                return Ok((marks, rows));
            }
        }
    }
}
