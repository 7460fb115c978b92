//! Inode caches alone, which differ in their first probe: every thread gets the inodes of its
//! files, by key.
//!
//! A file that is not cached is filled at once, with its number: no file system is called.

use std::sync::Arc;

use pathwalk::internals::{self, FirstProbe, Global, LockFree, Locked};
use pathwalk::{Attributes, Errno, FileType, Iget, InodeCache, NodeKey};
use pathwalk_synthfs::{Place, Shape};

use super::Probe;
use super::crew::{Done, Failure, Work, fold_files};
use super::paths::Paths;
use crate::machine::{Doing, SetUpError};

/// A pass that gets the inode of each file from a cache.
struct Nodes<P: FirstProbe> {
    shape: Shape,
    cache: InodeCache<P>,
}

impl<P: FirstProbe> Work for Nodes<P> {
    #[inline(never)]
    fn walk(&self, thread: u32, done: &Done) -> Result<u64, Failure> {
        fold_files(self.shape, done, |directory, file| {
            let place = Place::File(thread, directory, file);
            let got = get(&self.cache, place.key(), || self.shape.inode_number(place));
            got.map_err(|errno| {
                let mut paths = Paths::new(thread);
                paths.enter(directory);
                paths.set(file);
                Failure { path: paths.absolute().into(), errno }
            })
        })
    }
}

/// Returns an empty cache with this room for inodes, as the work of asking it.
pub(crate) fn nodes(probe: Probe, shape: Shape, room: u64) -> Result<Arc<dyn Work>, SetUpError> {
    match probe {
        Probe::LockFree => Ok(Arc::new(Nodes::<LockFree> { shape, cache: empty(room)? })),
        Probe::Locked => Ok(Arc::new(Nodes::<Locked> { shape, cache: empty(room)? })),
        Probe::Global => Ok(Arc::new(Nodes::<Global> { shape, cache: empty(room)? })),
    }
}

/// Returns an empty cache with room for this number of inodes.
pub(crate) fn empty<P: FirstProbe>(room: u64) -> Result<InodeCache<P>, SetUpError> {
    let capacity = u32::try_from(room).unwrap_or(u32::MAX);
    let cache = internals::inode_cache(capacity, ());
    cache.doing(|| format!("making an inode cache with room for {room} inodes"))
}

/// Returns the number of an inode. `number` is called if the inode has to be filled.
#[inline]
pub(crate) fn get<P: FirstProbe>(cache: &InodeCache<P>, key: NodeKey, number: impl FnOnce() -> u64) -> Result<u64, Errno> {
    let inode = match cache.iget_locked(key)? {
        Iget::Cached(inode) => inode,
        Iget::New(new) => new.unlock(&Attributes::new(FileType::Regular, 0o644).with_ino(number())),
    };
    Ok(inode.attributes().ino)
}
