//! The nodes of a branch that are held.
//!
//! The engine holds a node once for each `Node` that it received and did not forget. As long as it
//! does, the node of the base behind it is held by a handle, and the way to it is kept, so that its
//! first change can note its place.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use pathwalk::security::NodeId;
use pathwalk::{Errno, Handle};

/// The name by which a node was found, and the way to its directory.
pub(crate) struct Way {
    pub(crate) dir: u64,
    pub(crate) name: Box<[u8]>,
    /// The way to the directory; `None` if the tree had its place when the node was found.
    pub(crate) above: Option<Arc<Way>>,
}

/// The nodes that are held.
#[derive(Default)]
pub(super) struct Live {
    nodes: HashMap<u64, Held>,
    by_base: HashMap<NodeId, u64>,
    orphans: HashSet<u64>,
}

struct Held {
    count: u64,
    base: Option<Handle>,
    way: Option<Arc<Way>>,
}

impl Live {
    /// Adds a hold.
    pub(super) fn hold(&mut self, number: u64, base: Option<Handle>, way: Option<Arc<Way>>) {
        let held = self.nodes.entry(number).or_insert(Held { count: 0, base: None, way: None });
        held.count += 1;
        if let Some(way) = way {
            held.way = Some(way);
        }
        if let (None, Some(base)) = (&held.base, base) {
            self.by_base.insert(base.node_id(), number);
            held.base = Some(base);
        }
    }

    /// Gives a hold back. Returns the handle of a node that is not held any more, to be dropped
    /// without the lock, and whether the node was an orphan, so that its rows are to go.
    pub(super) fn release(&mut self, number: u64) -> (Option<Handle>, bool) {
        let Some(held) = self.nodes.get_mut(&number) else { return (None, false) };
        held.count -= 1;
        if held.count > 0 {
            return (None, false);
        }
        let base = self.nodes.remove(&number).and_then(|held| held.base);
        if let Some(base) = &base {
            self.by_base.remove(&base.node_id());
        }
        (base, self.orphans.contains(&number))
    }

    /// Returns whether an orphan is not held any more. Then it is none from now on.
    pub(super) fn is_gone(&mut self, number: u64) -> bool {
        !self.is_held(number) && self.orphans.remove(&number)
    }

    pub(super) fn is_held(&self, number: u64) -> bool {
        self.nodes.contains_key(&number)
    }

    /// Notes that a node has lost its last name. Returns whether it is held, so that it lives on.
    pub(super) fn orphan(&mut self, number: u64) -> bool {
        let is_held = self.is_held(number);
        if is_held {
            self.orphans.insert(number);
        }
        is_held
    }

    /// Notes that a node without a name got one.
    pub(super) fn named(&mut self, number: u64) {
        self.orphans.remove(&number);
    }

    pub(super) fn orphans(&self) -> Vec<u64> {
        self.orphans.iter().copied().collect()
    }

    /// Returns the node of the base behind a node: `ESTALE` if it is not held, or has none.
    pub(super) fn base(&self, number: u64) -> Result<Handle, Errno> {
        self.nodes.get(&number).and_then(|held| held.base.clone()).ok_or(Errno::ESTALE)
    }

    /// Returns the identity of the node of the base behind a node that is held.
    pub(super) fn base_id(&self, number: u64) -> Option<NodeId> {
        self.nodes.get(&number).and_then(|held| held.base.as_ref()).map(Handle::node_id)
    }

    /// Returns the node that is held for a node of the base.
    pub(super) fn of_base(&self, base: NodeId) -> Option<u64> {
        self.by_base.get(&base).copied()
    }

    pub(super) fn way(&self, number: u64) -> Option<Arc<Way>> {
        self.nodes.get(&number).and_then(|held| held.way.clone())
    }
}
