//! The rows that are no parts of trees, and batches over them.
//!
//! | key | row |
//! |---|---|
//! | `b`, name | a branch |
//! | `n`, number | a node of trees |
//! | `o`, number | an origin of nodes and extents |
//! | `m` | what all branches share: the key of the hash of names, and which base it is |
//! | `c`, kind | a counter: of the ranges of numbers, and of the numbers of branches |
//! | `g` | the number of collections that removed something |
//! | `u`, name | the branch whose commit onto the base this branch is to take back, until that is done |
//! | `r`, stamp | the stamp that a node of the base had before a commit that was not made |
//! | `p`, name | the branch of which this one is a part, and what is left of it when the part is committed |
//! | `h`, hash | the place of a chunk of data with this hash |
//! | `s` | a value that each batch which refers to nodes sets to another one |
//!
//! What always holds: a branch counts its forks, so a batch that changes the parent of a fork, or
//! drops it, meets a batch that forks it in one row.

use pathwalk::Errno;

use super::encoding::{self, OfBranch, OfRest, OfUndo};
use super::trees::{Saved, Saver};
use super::{Stored, store_error};
use crate::base::Base;
use crate::error::Error;
use crate::rows::Row;
use crate::store::{Applied, Batch, Snapshot};
use crate::tree::Tree;

/// The row of what all branches share.
pub(super) const SHARED: &[u8] = b"m";

/// The counter of ranges of numbers.
pub(super) const RANGES: &[u8] = b"cr";

/// The counter of numbers of branches.
pub(super) const BRANCHES: &[u8] = b"cb";

/// The number of collections.
pub(super) const COLLECTIONS: &[u8] = b"g";

/// The value that each batch which refers to nodes changes.
pub(super) const SAVES: &[u8] = b"s";

/// The beginning of the keys of branches.
pub(super) const OF_BRANCHES: &[u8] = b"b";

/// The beginning of the keys of branches that are to take a commit back.
pub(super) const OF_UNDOS: &[u8] = b"u";

/// The beginning of the keys of stamps.
pub(super) const OF_RESTORED: &[u8] = b"r";

/// The beginning of the keys of parts.
pub(super) const OF_PARTS: &[u8] = b"p";

/// The beginning of the keys of chunks.
pub(super) const OF_CHUNKS: &[u8] = b"h";

pub(super) fn part_key(name: &str) -> Vec<u8> {
    [OF_PARTS, name.as_bytes()].concat()
}

pub(super) fn undo_key(name: &str) -> Vec<u8> {
    [OF_UNDOS, name.as_bytes()].concat()
}

pub(super) fn branch_key(name: &str) -> Vec<u8> {
    [OF_BRANCHES, name.as_bytes()].concat()
}

/// A batch that is put together from one snapshot. It checks all that it has read.
pub(super) struct Step<'a> {
    stored: &'a Stored,
    base: &'a Base,
    pub(super) snapshot: &'a dyn Snapshot,
    batch: Batch,
    saved: Saved,
}

impl Step<'_> {
    /// Returns a row, which is checked to be the same when the batch is applied.
    pub(super) fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
        let value = self.snapshot.get(key)?;
        self.batch.check(key, value.as_deref());
        Ok(value)
    }

    pub(super) fn branch(&mut self, name: &str) -> Result<Option<OfBranch>, Errno> {
        self.get(&branch_key(name))?.map(|value| encoding::decode(&value)).transpose()
    }

    pub(super) fn put_branch(&mut self, name: &str, branch: &OfBranch) -> Result<(), Errno> {
        self.batch.put(&branch_key(name), &encoding::encode(branch)?);
        if branch.root != 0 || branch.forked != 0 { self.note_save() } else { Ok(()) }
    }

    /// Lets a collection start again that has marked what was in use before.
    fn note_save(&mut self) -> Result<(), Errno> {
        self.get(COLLECTIONS)?;
        self.batch.put(SAVES, &self.stored.new_value());
        Ok(())
    }

    /// Notes that a branch is a part of another one, and what is left of that without it.
    pub(super) fn put_part(&mut self, name: &str, rest: &OfRest) -> Result<(), Errno> {
        self.batch.put(&part_key(name), &encoding::encode(rest)?);
        self.note_save()
    }

    /// Removes what is noted of a part, and returns it.
    pub(super) fn take_part(&mut self, name: &str) -> Result<Option<OfRest>, Errno> {
        let Some(value) = self.get(&part_key(name))? else { return Ok(None) };
        self.batch.delete(&part_key(name));
        encoding::decode(&value).map(Some)
    }

    pub(super) fn delete_branch(&mut self, name: &str) {
        self.batch.delete(&branch_key(name));
    }

    /// Notes which commit a branch is to take back, or that it does so from now on.
    pub(super) fn put_undo(&mut self, name: &str, of: Option<&OfUndo>) -> Result<(), Errno> {
        match of {
            Some(of) => self.batch.put(&undo_key(name), &encoding::encode(of)?),
            None => self.batch.delete(&undo_key(name)),
        }
        Ok(())
    }

    /// Returns a number that no other branch ever has.
    pub(super) fn new_branch(&mut self) -> Result<u64, Errno> {
        let next = counter(self.get(BRANCHES)?)?;
        self.batch.put(BRANCHES, &(next + 1).to_be_bytes());
        Ok(next)
    }

    /// Sets a counter to this value, if it is lower. Returns whether it was.
    pub(super) fn raise(&mut self, key: &[u8], least: u64) -> Result<bool, Errno> {
        let is_low = counter(self.get(key)?)? < least;
        if is_low {
            self.batch.put(key, &least.to_be_bytes());
        }
        Ok(is_low)
    }

    /// Saves a tree. Returns the number of its root.
    pub(super) fn save(&mut self, tree: &Tree<Row>) -> Result<u64, Errno> {
        let of_store = (self.base, &self.stored.blobs, &self.stored.numbers);
        Saver::new(of_store, self.snapshot, &mut self.batch, &mut self.saved).tree(tree)
    }
}

/// Returns the value of a counter.
pub(super) fn counter(value: Option<Vec<u8>>) -> Result<u64, Errno> {
    let value = value.as_deref().map(|value| value.try_into().map(u64::from_be_bytes));
    value.unwrap_or(Ok(0)).map_err(|_| Errno::EIO)
}

impl Stored {
    /// Puts a batch together and applies it; again from a newer snapshot, if another process was
    /// faster. Data that was written before is durable afterwards, too.
    pub(super) fn change<R>(
        &self,
        base: &Base,
        action: &'static str,
        put_together: impl FnMut(&mut Step<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.change_and_tell(base, action, put_together, &mut || {})
    }

    /// Does the same, and calls `decided` once nothing but the disk is waited for.
    pub(super) fn change_and_tell<R>(
        &self,
        base: &Base,
        action: &'static str,
        mut put_together: impl FnMut(&mut Step<'_>) -> Result<R, Error>,
        decided: &mut dyn FnMut(),
    ) -> Result<R, Error> {
        let failed = || store_error(action);
        // Two threads that save one node would save it twice.
        let _saving = self.saving.lock();
        loop {
            let snapshot = self.store.snapshot().map_err(failed())?;
            let mut step = Step { stored: self, base, snapshot: &*snapshot, batch: Batch::default(), saved: Saved::default() };
            let result = put_together(&mut step)?;
            let Step { mut batch, saved, .. } = step;
            if batch.changes().next().is_none() {
                return Ok(result);
            }
            let chunks = self.chunks.put_rows(&mut batch).map_err(failed())?;
            drop(snapshot);
            self.store.sync().map_err(failed())?;
            if self.store.apply_and_tell(&batch, decided).map_err(failed())? == Applied::Done {
                self.known.note(saved);
                self.chunks.have_rows(&chunks);
                return Ok(result);
            }
        }
    }
}
