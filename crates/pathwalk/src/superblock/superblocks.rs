//! The table of superblocks: the file system for each number.
//!
//! What always holds: a superblock is in the table for as long as an inode of it is cached. So a
//! caller with a pin on an inode finds its superblock, without a lock and without a store to shared
//! memory.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};

use super::superblock::Superblock;
use crate::Errno;
use crate::cache::owner::NodeOwner;
use crate::fs_api::{FileSystem, Reporter};
use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;
use crate::sync::Mutex;

/// The number of superblocks in one piece of the table. A piece is allocated as a whole.
const PIECE: usize = 256;

/// The maximum number of superblocks at once.
const MOST: usize = PIECE * PIECE;

type Piece = Box<[ArcSwapOption<Superblock>]>;

/// The table of superblocks, by number. Linux: `super_blocks`.
pub(crate) struct Superblocks {
    pieces: Box<[OnceLock<Piece>]>,
    numbers: Mutex<Numbers>,
}

/// The numbers that no superblock has.
#[derive(Default)]
struct Numbers {
    given_back: Vec<SuperblockId>,
    /// The lowest number that was never given.
    fresh: usize,
}

/// A superblock that is in use by the holder.
pub(crate) struct SuperblockRef(Guard<Option<Arc<Superblock>>>);

impl Deref for SuperblockRef {
    type Target = Superblock;

    fn deref(&self) -> &Superblock {
        self.0.as_deref().expect("a superblock stays for as long as an inode of it is cached")
    }
}

impl Superblocks {
    pub(crate) fn new() -> Superblocks {
        Superblocks { pieces: (0..PIECE).map(|_| OnceLock::new()).collect(), numbers: Mutex::new(Numbers::default()) }
    }

    /// Enters a file system. `ENOSPC` if there are 65,536 already.
    pub(super) fn enter(&self, fs: Arc<dyn FileSystem>) -> Result<SuperblockRef, Errno> {
        let id = {
            let mut numbers = self.numbers.lock();
            numbers.given_back.pop().or_else(|| numbers.next()).ok_or(Errno::ENOSPC)?
        };
        self.slot(id).store(Some(Arc::new(Superblock::new(id, fs))));
        Ok(self.get(id))
    }

    /// Returns the superblock of a number. The caller has a pin on an inode of it, or is about to
    /// make one.
    pub(crate) fn get(&self, id: SuperblockId) -> SuperblockRef {
        SuperblockRef(self.slot(id).load())
    }

    /// Returns whether a file system is still in the table.
    pub(super) fn has(&self, reporter: Reporter) -> bool {
        let piece = self.pieces[usize::from(reporter.superblock.0) / PIECE].get();
        let slot = piece.map(|piece| piece[usize::from(reporter.superblock.0) % PIECE].load());
        slot.is_some_and(|slot| slot.as_ref().is_some_and(|superblock| superblock.serial == reporter.serial))
    }

    /// Removes a superblock of which no inode is cached.
    pub(super) fn leave(&self, id: SuperblockId) {
        drop(self.slot(id).swap(None));
        self.numbers.lock().given_back.push(id);
    }

    /// Returns all superblocks.
    pub(crate) fn all(&self) -> impl Iterator<Item = Arc<Superblock>> {
        self.pieces.iter().filter_map(OnceLock::get).flat_map(|piece| piece.iter().filter_map(ArcSwapOption::load_full))
    }

    fn slot(&self, id: SuperblockId) -> &ArcSwapOption<Superblock> {
        let (piece, at) = (usize::from(id.0) / PIECE, usize::from(id.0) % PIECE);
        &self.pieces[piece].get_or_init(|| (0..PIECE).map(|_| ArcSwapOption::empty()).collect())[at]
    }
}

impl Numbers {
    fn next(&mut self) -> Option<SuperblockId> {
        let id = u16::try_from(self.fresh).ok().filter(|_| self.fresh < MOST)?;
        self.fresh += 1;
        Some(SuperblockId(id))
    }
}

impl NodeOwner for Arc<Superblocks> {
    fn forget(&self, superblock: SuperblockId, key: NodeKey) {
        self.get(superblock).fs.forget(key);
    }

    fn freed(&self, superblock: SuperblockId) {
        self.get(superblock).left();
    }
}
