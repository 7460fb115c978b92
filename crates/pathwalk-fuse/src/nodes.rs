//! The nodes that the kernel knows, by number.
//!
//! The kernel names a node by a number that it got with a lookup, until it has forgotten as many
//! lookups as it was given. Each node has a handle of the engine meanwhile, which keeps it in the
//! caches. The names of one inode have one number.
//!
//! What always holds: a number is given to one node only, so that the kernel's generation is always
//! 0. The count of a node is the number of lookups that were answered with it and not forgotten.
//!
//! The table has `SHARDS` parts, each behind a lock of its own, which is held for one search.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use parking_lot::Mutex;
use pathwalk::{Attributes, Device, Errno, Handle, NodeKey};
use rapidhash::fast::RandomState;

use crate::abi::ROOT;

/// The number of parts: a power of two.
const SHARDS: u64 = 64;

/// The identity of an inode among all mounted file systems.
type Identity = (Device, NodeKey);

/// A node that the kernel knows.
struct Known {
    handle: Handle,
    identity: Identity,
    /// The lookups that the kernel has not forgotten.
    lookups: u64,
}

#[derive(Default)]
struct Shard {
    by_number: HashMap<u64, Known, RandomState>,
    by_identity: HashMap<Identity, u64, RandomState>,
    /// The number of nodes that there have been.
    given: u64,
}

/// The nodes that the kernel knows.
pub(crate) struct Nodes {
    /// The root, which is never forgotten.
    root: Handle,
    root_identity: Identity,
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
}

impl Nodes {
    /// Begins with the root alone.
    pub(crate) fn new(root: &Handle) -> Result<Nodes, Errno> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let root_identity = identity(root, root.attributes()?.device);
        Ok(Nodes { root: root.clone(), root_identity, shards, hasher: RandomState::default() })
    }

    /// Returns the handle of a node; `ESTALE` for a number that was never given, or is forgotten.
    pub(crate) fn handle(&self, number: u64) -> Result<Handle, Errno> {
        if number == ROOT {
            return Ok(self.root.clone());
        }
        let shard = self.shard_of(number).lock();
        shard.by_number.get(&number).map(|known| known.handle.clone()).ok_or(Errno::ESTALE)
    }

    /// Counts a lookup of a node, and returns its number.
    pub(crate) fn found(&self, handle: Handle, attributes: &Attributes) -> u64 {
        let identity = identity(&handle, attributes.device);
        if identity == self.root_identity {
            return ROOT;
        }
        let number = self.hasher.hash_one(identity) % SHARDS;
        let mut shard = self.shards[number as usize].lock();
        let Shard { by_number, by_identity, given } = &mut *shard;
        match by_identity.entry(identity) {
            Entry::Occupied(number) => {
                let known = by_number.get_mut(number.get()).expect("both tables have the same nodes");
                known.lookups += 1;
                *number.get()
            }
            Entry::Vacant(entry) => {
                *given += 1;
                let number = number + *given * SHARDS;
                by_number.insert(number, Known { handle, identity, lookups: 1 });
                *entry.insert(number)
            }
        }
    }

    /// Takes back so many lookups of a node, and forgets the node if none is left.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        let mut shard = self.shard_of(number).lock();
        let Entry::Occupied(mut known) = shard.by_number.entry(number) else { return };
        known.get_mut().lookups = known.get().lookups.saturating_sub(lookups);
        if known.get().lookups == 0 {
            let known = known.remove();
            shard.by_identity.remove(&known.identity);
            drop(shard);
            // What the drop of the handle sets free takes time.
            drop(known);
        }
    }

    /// Returns the number of nodes that the kernel knows, without the root, and of their lookups.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let of_one = |shard: &Mutex<Shard>| {
            let shard = shard.lock();
            (shard.by_number.len() as u64, shard.by_number.values().map(|known| known.lookups).sum::<u64>())
        };
        self.shards.iter().map(of_one).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    fn shard_of(&self, number: u64) -> &Mutex<Shard> {
        &self.shards[(number % SHARDS) as usize]
    }
}

fn identity(handle: &Handle, device: Device) -> Identity {
    (device, handle.key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathwalk::{Context, Credentials, Vfs};

    fn context() -> Context {
        Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap().context(Credentials::root())
    }

    fn look_up(nodes: &Nodes, context: &Context, path: &str) -> u64 {
        let handle = context.lookup(path).unwrap();
        let attributes = handle.attributes().unwrap();
        nodes.found(handle, &attributes)
    }

    #[test]
    fn names_of_one_inode_have_one_number_until_all_lookups_are_forgotten() {
        let context = context();
        context.write("/a", "").unwrap();
        context.hard_link("/a", "/b").unwrap();
        context.write("/c", "").unwrap();
        let nodes = Nodes::new(context.root()).unwrap();
        let a = look_up(&nodes, &context, "/a");
        assert_eq!(look_up(&nodes, &context, "/b"), a);
        assert_ne!(look_up(&nodes, &context, "/c"), a);
        assert_eq!((nodes.counts(), look_up(&nodes, &context, "/")), ((2, 3), ROOT));
        nodes.forget(a, 1);
        assert_eq!(nodes.handle(a).unwrap().path().unwrap(), b"/a");
        nodes.forget(a, 1);
        assert_eq!((nodes.handle(a).err(), nodes.counts()), (Some(Errno::ESTALE), (1, 1)));
        assert_ne!(look_up(&nodes, &context, "/a"), a, "a number is not given again");
        nodes.forget(ROOT, 100);
        nodes.forget(12345, 1);
        assert_eq!(nodes.handle(ROOT).unwrap().path().unwrap(), b"/");
    }
}
