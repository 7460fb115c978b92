//! The maps and caches that servers use in place of an inode cache: from (device, inode number) to
//! attributes.
//!
//! What they get wrong: nothing is called when an inode is dropped, so its owner cannot forget it.
//! And an inode that is evicted while it is in use is filled once more, as another.

use std::sync::Arc;

use dashmap::DashMap;
use pathwalk::{Attributes, FileType};
use pathwalk_synthfs::{Place, Shape};

use super::crew::{Done, Failure, Work, fold_files};
use crate::peers::Hash;

/// A peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// A cache with S3-FIFO, under locks of its shards.
    QuickCache,
    /// A map under locks of its shards, which evicts nothing.
    DashMap,
}

impl Peer {
    /// Returns the name for tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Peer::QuickCache => "quick_cache",
            Peer::DashMap => "dashmap",
        }
    }
}

/// The device and the inode number.
type Key = (u64, u64);

/// The device of all files.
const DEVICE: u64 = 1;

type Quick = quick_cache::sync::Cache<Key, Arc<Attributes>, quick_cache::UnitWeighter, Hash>;

/// A cache of attributes.
trait Keyed: Send + Sync {
    /// Returns the attributes for a key. Fills them if there are none.
    fn get(&self, key: Key, fill: impl FnOnce() -> Arc<Attributes>) -> Arc<Attributes>;
}

impl Keyed for DashMap<Key, Arc<Attributes>, Hash> {
    #[inline]
    fn get(&self, key: Key, fill: impl FnOnce() -> Arc<Attributes>) -> Arc<Attributes> {
        match DashMap::get(self, &key) {
            Some(found) => found.clone(),
            None => self.entry(key).or_insert_with(fill).clone(),
        }
    }
}

impl Keyed for Quick {
    #[inline]
    fn get(&self, key: Key, fill: impl FnOnce() -> Arc<Attributes>) -> Arc<Attributes> {
        match self.get(&key) {
            Some(found) => found,
            None => {
                let filled = fill();
                self.insert(key, filled.clone());
                filled
            }
        }
    }
}

/// A pass that gets the attributes of each file from a cache.
struct Nodes<C> {
    shape: Shape,
    cache: C,
}

impl<C: Keyed> Work for Nodes<C> {
    #[inline(never)]
    fn walk(&self, thread: u32, done: &Done) -> Result<u64, Failure> {
        fold_files(self.shape, done, |directory, file| {
            let ino = self.shape.inode_number(Place::File(thread, directory, file));
            let fill = || Arc::new(Attributes::new(FileType::Regular, 0o644).with_ino(ino));
            Ok(self.cache.get((DEVICE, ino), fill).ino)
        })
    }
}

/// Returns an empty cache, as the work of asking it. If it has a limit, it has room for this number
/// of files.
pub(super) fn nodes(peer: Peer, shape: Shape, room: u64) -> Arc<dyn Work> {
    match peer {
        Peer::DashMap => Arc::new(Nodes { shape, cache: DashMap::<Key, Arc<Attributes>, Hash>::default() }),
        Peer::QuickCache => {
            let estimated = usize::try_from(room).unwrap_or(usize::MAX);
            let (weighter, hash) = (quick_cache::UnitWeighter, Hash::default());
            let cache = Quick::with(estimated, room, weighter, hash, quick_cache::sync::DefaultLifecycle::default());
            Arc::new(Nodes { shape, cache })
        }
    }
}
