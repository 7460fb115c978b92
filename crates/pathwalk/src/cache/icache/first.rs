//! The ways to search for an inode first, chosen at compile time, so that the shipped code has no
//! switch.
//!
//! [`LockFree`] is what ships. The others exist to be measured against it, in an
//! [`InodeCache`](crate::InodeCache) alone.

use std::fmt::{self, Debug, Formatter};

use crate::sync::{Mutex, MutexGuard};

/// The way in which an inode is searched for first, before the lock of its bucket is taken to
/// insert it.
pub trait FirstProbe: Sealed + Default + Debug + Send + Sync + 'static {
    /// True if the first search holds the lock of the bucket.
    const LOCKED: bool;

    /// The guard of a lock beside that of the bucket, held until dropped.
    type Held<'a>;

    /// Takes that lock. It is taken before a bucket's lock, for each search under one, insertion
    /// and removal.
    fn lock(&self) -> Self::Held<'_>;
}

/// A search without a lock, as in Linux since 6.11 (`iget_locked`, `iget5_locked_rcu`).
#[derive(Default, Debug)]
pub struct LockFree;

/// A search under the lock of the bucket, of which there are 256.
#[derive(Default, Debug)]
pub struct Locked;

/// A search under one lock, which every probe, insertion and removal takes, as with Linux's
/// `inode_hash_lock`.
#[derive(Default)]
pub struct Global(Mutex<()>);

impl FirstProbe for LockFree {
    const LOCKED: bool = false;

    type Held<'a> = ();

    fn lock(&self) {}
}

impl FirstProbe for Locked {
    const LOCKED: bool = true;

    type Held<'a> = ();

    fn lock(&self) {}
}

impl FirstProbe for Global {
    const LOCKED: bool = true;

    type Held<'a> = MutexGuard<'a, ()>;

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock()
    }
}

impl Debug for Global {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Global")
    }
}

/// The marker of the engine's own ways.
pub trait Sealed {}

impl Sealed for LockFree {}
impl Sealed for Locked {}
impl Sealed for Global {}
