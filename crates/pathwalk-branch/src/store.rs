//! What branches need of a store that outlives the process: rows in order, and blobs.
//!
//! # Isolation
//!
//! A [`Snapshot`] shows all rows as of one instant. A [`Batch`] is atomic, and durable when
//! [`Store::apply`] returns: all its changes are made if all its checks hold at one instant, else
//! none. Batches are serializable as far as their checks go: what a batch has not checked may have
//! been changed by another one. Many processes, on many machines, may read and write at once. No
//! process is told of what others do.
//!
//! A batch refers only to blobs that are durable: [`BlobStore::sync`] returned before.

mod disk;

use pathwalk::Errno;

use crate::blobs::{BlobId, BlobStore};

pub use disk::DiskStore;

/// A store of branches. [`Branches::open`](crate::Branches::open) uses one.
///
/// ```
/// use pathwalk::Errno;
/// use pathwalk_branch::{Applied, Batch, DiskStore, Store};
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// let store = DiskStore::open(dir)?;
/// let mut batch = Batch::default();
/// batch.check(b"key", None);
/// batch.put(b"key", b"value");
/// assert_eq!(store.apply(&batch)?, Applied::Done);
/// assert_eq!(store.apply(&batch)?, Applied::Refused, "there is a value by now");
/// assert_eq!(store.snapshot()?.get(b"key")?.as_deref(), Some(&b"value"[..]));
/// # Ok::<(), Errno>(())
/// ```
pub trait Store: BlobStore {
    /// Returns all rows as they are now.
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, Errno>;

    /// Makes all changes of a batch durable, or none.
    fn apply(&self, batch: &Batch) -> Result<Applied, Errno>;

    /// Does the same, and calls `decided` as soon as all checks hold and no other batch can come
    /// between, so that only a failure of the store can undo it. What it does may still be lost in
    /// a crash until this returns.
    fn apply_and_tell(&self, batch: &Batch, decided: &mut dyn FnMut()) -> Result<Applied, Errno> {
        self.apply(batch).inspect(|applied| {
            if *applied == Applied::Done {
                decided()
            }
        })
    }

    /// Takes a lease: no other process gets one under this number until it is dropped or the
    /// process ends. `None` if there is one.
    fn lease(&self, number: u64) -> Result<Option<Lease>, Errno>;

    /// Keeps other processes from opening the store, as long as the lease is held. `None` if
    /// another process has it open.
    fn alone(&self) -> Result<Option<Lease>, Errno>;

    /// Frees all blobs but these, which are sorted, each as far as its length, and those that were
    /// put since the caller is [`alone`](Self::alone). Returns the number of bytes that are free
    /// now.
    fn retain(&self, live: &[(BlobId, u64)]) -> Result<u64, Errno>;
}

/// The rows of a store at one instant.
///
/// [`Store`] has an example.
pub trait Snapshot {
    /// Returns the value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Errno>;

    /// Passes all keys that begin with these bytes to `each`, in order, with their values. Ends
    /// with the first error.
    fn scan(&self, prefix: &[u8], each: EachRow<'_>) -> Result<(), Errno>;
}

/// What is called for each row of a [`scan`](Snapshot::scan), with its key and its value.
pub type EachRow<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<(), Errno>;

/// What became of a batch.
///
/// [`Store`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// All its changes were made, and are durable.
    Done,
    /// A check did not hold, and nothing was changed.
    Refused,
}

/// What is held as long as no other process may use a thing: the store gives it back when it is
/// dropped.
pub type Lease = Box<dyn Send + Sync>;

/// Changes of rows that are made together, if all checks hold.
///
/// [`Store`] has an example.
#[derive(Clone, Default, Debug)]
pub struct Batch {
    checks: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Batch {
    /// Adds the check that a key has this value, or with `None` that it has none.
    pub fn check(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.checks.push((key.to_vec(), value.map(<[u8]>::to_vec)));
    }

    /// Adds the change that a key gets this value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.changes.push((key.to_vec(), Some(value.to_vec())));
    }

    /// Adds the change that a key goes, if it is there.
    pub fn delete(&mut self, key: &[u8]) {
        self.changes.push((key.to_vec(), None));
    }

    /// Returns the checks: keys with the values that they must have.
    pub fn checks(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.checks.iter().map(|(key, value)| (&key[..], value.as_deref()))
    }

    /// Returns the changes in their order: keys with the values that they get.
    pub fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes.iter().map(|(key, value)| (&key[..], value.as_deref()))
    }
}
