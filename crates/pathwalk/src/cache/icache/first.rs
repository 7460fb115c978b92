//! The ways to look for an inode first, chosen at compile time, so that what ships carries no
//! switch.
//!
//! [`LockFree`] is what ships. The others are there to be measured against it, in an
//! [`InodeCache`](crate::InodeCache) alone.

use std::fmt::{self, Debug, Formatter};

use crate::sync::{Mutex, MutexGuard};

/// How an inode is looked for first, before the lock of its bucket is taken to insert it.
pub trait FirstProbe: Sealed + Default + Debug + Send + Sync + 'static {
    /// Whether it is made under the lock of the bucket.
    const LOCKED: bool;

    /// A lock beside that of the bucket, held until dropped.
    type Held<'a>;

    /// Takes that lock: before a bucket's, for each search under one, insertion and removal.
    fn lock(&self) -> Self::Held<'_>;
}

/// Without a lock, as Linux since 6.11 (`iget_locked`, `iget5_locked_rcu`).
#[derive(Default, Debug)]
pub struct LockFree;

/// Under the lock of the bucket, one of 256.
#[derive(Default, Debug)]
pub struct Locked;

/// Under one lock, which every probe, insertion and removal takes: as Linux's `inode_hash_lock`.
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

/// The mark of the engine's own ways.
pub trait Sealed {}

impl Sealed for LockFree {}
impl Sealed for Locked {}
impl Sealed for Global {}
