//! Nodes of the base that a commit has touched and left as they were, since it was not made.
//!
//! No program can set a time of change. So a node that got a second name and lost it again has
//! another [`Stamp`], though all else of it is as before. Here is noted which stamp such a node had
//! before, so it is not taken for one that was changed.
//!
//! What always holds: what is noted stays true, since no node has one time of change twice.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use pathwalk::Errno;

use crate::stamp::Stamp;

/// What keeps the stamps for all processes that use the branches.
pub(crate) trait KeepStamps: Send + Sync {
    /// Makes pairs durable: a stamp, and the one before.
    fn keep(&self, pairs: &[(Stamp, Stamp)]) -> Result<(), Errno>;

    /// Passes all pairs to `each`.
    fn each(&self, each: &mut dyn FnMut(Stamp, Stamp)) -> Result<(), Errno>;
}

/// The stamps of such nodes, each with the one before.
#[derive(Default)]
pub(crate) struct Restored {
    known: Mutex<HashMap<Stamp, Stamp>>,
    keeper: Option<Arc<dyn KeepStamps>>,
}

impl Restored {
    /// Creates the list that a store keeps.
    pub(crate) fn kept(keeper: Arc<dyn KeepStamps>) -> Restored {
        Restored { known: Mutex::default(), keeper: Some(keeper) }
    }

    /// Returns the stamp that a node had before all commits that were not made.
    pub(crate) fn first(&self, stamp: Stamp) -> Stamp {
        self.known.lock().get(&stamp).copied().unwrap_or(stamp)
    }

    /// Returns whether nothing is noted, as far as this process has read it.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.lock().is_empty()
    }

    /// Returns whether two stamps are those of one state of a node. What another process has noted
    /// is read, too.
    pub(crate) fn is_same(&self, one: Stamp, other: Stamp) -> bool {
        let is_same = || self.first(one) == self.first(other);
        // A store that cannot be read leaves the node one that was changed.
        is_same() || self.read().is_ok() && is_same()
    }

    /// Reads what other processes have noted.
    pub(crate) fn read(&self) -> Result<(), Errno> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        let mut known = self.known.lock();
        keeper.each(&mut |now, before| _ = known.insert(now, before))
    }

    /// Notes stamps of nodes that are as they were before, each with the one before. It is durable
    /// then, if the branches are.
    pub(crate) fn note(&self, pairs: &[(Stamp, Stamp)]) -> Result<(), Errno> {
        if pairs.is_empty() {
            return Ok(());
        }
        self.read()?;
        // The one before may be one that a commit before has left.
        let pairs: Vec<_> = pairs.iter().map(|(now, before)| (*now, self.first(*before))).collect();
        if let Some(keeper) = &self.keeper {
            keeper.keep(&pairs)?;
        }
        self.known.lock().extend(pairs);
        Ok(())
    }
}
