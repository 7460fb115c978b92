//! Trees in a store: a node and an origin are a row each, under their numbers.
//!
//! What is saved is what the store does not have: the nodes from the root down to those that have
//! a number whose row is there. A row refers only to rows that are there, so what is below such a
//! node is there, too. What is loaded is shared in memory as far as it is shared in the store.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use parking_lot::Mutex;
use pathwalk::Errno;

use super::Stored;
use super::encoding::{self, FindOrigins, OfNode, OfOrigin, OfRow, StoreOrigins};
use crate::blobs::{Blob, BlobId, BlobStore};
use crate::numbers::Numbers;
use crate::origin::Origin;
use crate::rows::{Row, Tag};
use crate::store::{Batch, Snapshot};
use crate::tree::{Node, Parts, Shape, Tree};
use crate::{base::Base, base::FIRST_NEW, rows};

/// The most levels of a tree. It ends the load of one that is damaged.
pub(super) const HIGHEST: usize = 64;

/// Returns the key of a node.
pub(super) fn node_key(number: u64) -> [u8; 9] {
    key(b'n', number)
}

/// Returns the key of an origin.
pub(super) fn origin_key(number: u64) -> [u8; 9] {
    key(b'o', number)
}

fn key(kind: u8, number: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// What is in memory of what the store has.
#[derive(Default)]
pub(super) struct Known(Mutex<Tables>);

#[derive(Default)]
struct Tables {
    nodes: Table<Node<Row>>,
    origins: Table<Origin>,
}

/// Things by their numbers.
struct Table<T> {
    things: HashMap<u64, Weak<T>>,
    /// The number of entries at which those of things that are gone are removed.
    purge_at: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { things: HashMap::new(), purge_at: 1024 }
    }
}

impl<T> Table<T> {
    fn get(&self, number: u64) -> Option<Arc<T>> {
        self.things.get(&number)?.upgrade()
    }

    fn add(&mut self, number: u64, thing: &Arc<T>) {
        self.things.insert(number, Arc::downgrade(thing));
        if self.things.len() >= self.purge_at {
            self.things.retain(|_, thing| thing.strong_count() > 0);
            self.purge_at = (self.things.len() * 2).max(1024);
        }
    }
}

/// The saving of trees in one batch.
pub(super) struct Saver<'a> {
    base: &'a Base,
    blobs: &'a Arc<dyn BlobStore>,
    numbers: &'a Numbers,
    snapshot: &'a dyn Snapshot,
    batch: &'a mut Batch,
    saved: &'a mut Saved,
}

/// What a batch adds to the store, to be noted when it is done.
#[derive(Default)]
pub(super) struct Saved {
    nodes: Vec<(u64, Arc<Node<Row>>)>,
    origins: Vec<(u64, Arc<Origin>)>,
    /// Both by their addresses.
    numbers: HashMap<usize, u64>,
}

impl<'a> Saver<'a> {
    pub(super) fn new(
        (base, blobs, numbers): (&'a Base, &'a Arc<dyn BlobStore>, &'a Numbers),
        snapshot: &'a dyn Snapshot,
        batch: &'a mut Batch,
        saved: &'a mut Saved,
    ) -> Saver<'a> {
        Saver { base, blobs, numbers, snapshot, batch, saved }
    }

    /// Adds what the store does not have of a tree to the batch. Returns the number of its root.
    pub(super) fn tree(&mut self, tree: &Tree<Row>) -> Result<u64, Errno> {
        if tree.is_empty() { Ok(0) } else { self.node(tree.root()) }
    }

    fn node(&mut self, node: &Arc<Node<Row>>) -> Result<u64, Errno> {
        let number = node.number();
        if number != 0 && self.snapshot.get(&node_key(number))?.is_some() {
            return Ok(number);
        }
        let address = Arc::as_ptr(node) as usize;
        if let Some(number) = self.saved.numbers.get(&address) {
            return Ok(*number);
        }
        let form = match node.parts() {
            Parts::Rows(rows) => {
                let row = |(key, row): &(Arc<[u8]>, Row)| Ok((key.to_vec(), OfRow::new(row, self)?));
                OfNode::Rows(rows.iter().map(row).collect::<Result<_, Errno>>()?)
            }
            Parts::Children(children) => {
                let child = |(key, node): (&Arc<[u8]>, &Arc<Node<Row>>)| Ok((key.to_vec(), self.node(node)?));
                OfNode::Children(children.into_iter().map(child).collect::<Result<_, Errno>>()?)
            }
        };
        let number = self.numbers.next()?;
        self.batch.put(&node_key(number), &encoding::encode(&form)?);
        self.saved.numbers.insert(address, number);
        self.saved.nodes.push((number, Arc::clone(node)));
        Ok(number)
    }
}

impl StoreOrigins for Saver<'_> {
    fn blob(&self, blob: &Blob) -> Result<BlobId, Errno> {
        // A held branch has data elsewhere.
        if blob.is_in(self.blobs) { Ok(blob.keep()) } else { Err(Errno::EBUSY) }
    }

    fn row_of(&mut self, origin: &Arc<Origin>) -> Result<u64, Errno> {
        let address = Arc::as_ptr(origin) as usize;
        if let Some(number) = self.saved.numbers.get(&address) {
            return Ok(*number);
        }
        let number = origin.row();
        if number != 0 && self.snapshot.get(&origin_key(number))?.is_some() {
            return Ok(number);
        }
        let number = self.numbers.next()?;
        let form = OfOrigin::new(origin, origin.trace(self.base)?)?;
        self.batch.put(&origin_key(number), &encoding::encode(&form)?);
        self.saved.numbers.insert(address, number);
        self.saved.origins.push((number, Arc::clone(origin)));
        Ok(number)
    }
}

impl Known {
    /// Notes what a batch has added to the store.
    pub(super) fn note(&self, saved: Saved) {
        let tables = &mut *self.0.lock();
        for (number, origin) in saved.origins {
            origin.set_row(number);
            tables.origins.add(number, &origin);
        }
        // Children come before the nodes above them.
        for (number, node) in saved.nodes {
            node.set_number(number);
            tables.nodes.add(number, &node);
        }
    }
}

/// The loading of a tree.
struct Loader<'a> {
    known: &'a Known,
    blobs: &'a Arc<dyn BlobStore>,
    snapshot: &'a dyn Snapshot,
    /// Nodes of the base that have other numbers than their own.
    others: Vec<(u64, Arc<Origin>)>,
}

impl Stored {
    /// Returns the tree with a root, which a snapshot has: `EIO` if a part of it is missing or
    /// damaged.
    pub(super) fn load(&self, base: &Base, snapshot: &dyn Snapshot, root: u64) -> Result<Tree<Row>, Errno> {
        if root == 0 {
            return Ok(Tree::default());
        }
        let mut loader = Loader { known: &self.known, blobs: &self.blobs, snapshot, others: Vec::new() };
        let root = loader.node(root, HIGHEST)?;
        for (number, origin) in loader.others {
            // One that is gone shows nothing of the base.
            if let Ok(node) = origin.handle(base) {
                base.set_number(&node, number);
            }
        }
        Ok(Tree::of_root(root))
    }
}

impl Loader<'_> {
    fn node(&mut self, number: u64, levels: usize) -> Result<Arc<Node<Row>>, Errno> {
        if let Some(node) = self.known.0.lock().nodes.get(number) {
            return Ok(node);
        }
        let levels = levels.checked_sub(1).ok_or(Errno::EIO)?;
        let value = self.snapshot.get(&node_key(number))?.ok_or(Errno::EIO)?;
        let shape = match encoding::decode(&value)? {
            OfNode::Rows(rows) => {
                let row = |(key, row): (Vec<u8>, OfRow)| Ok((key.into(), row.row(self)?));
                let rows = rows.into_iter().map(row).collect::<Result<Vec<(Arc<[u8]>, Row)>, Errno>>()?;
                rows.iter().for_each(|(key, row)| self.note_other(key, row));
                Shape::Rows(rows)
            }
            OfNode::Children(children) => {
                let child = |(key, number): (Vec<u8>, u64)| Ok((key.into(), self.node(number, levels)?));
                Shape::Children(children.into_iter().map(child).collect::<Result<_, Errno>>()?)
            }
        };
        let node = Node::stored(number, shape).ok_or(Errno::EIO)?;
        self.known.0.lock().nodes.add(number, &node);
        Ok(node)
    }

    fn note_other(&mut self, key: &[u8], row: &Row) {
        if let (Some((number, Tag::Record, _)), Row::Record(record)) = (rows::parts(key), row)
            && number >= FIRST_NEW
            && let Some(origin) = &record.origin
        {
            self.others.push((number, Arc::clone(origin)));
        }
    }
}

impl FindOrigins for Loader<'_> {
    fn in_row(&mut self, row: u64) -> Result<Arc<Origin>, Errno> {
        if let Some(origin) = self.known.0.lock().origins.get(row) {
            return Ok(origin);
        }
        let value = self.snapshot.get(&origin_key(row))?.ok_or(Errno::EIO)?;
        let origin = Arc::new(encoding::decode::<OfOrigin>(&value)?.origin(row)?);
        self.known.0.lock().origins.add(row, &origin);
        Ok(origin)
    }

    fn blobs(&self) -> &Arc<dyn BlobStore> {
        self.blobs
    }
}
