//! The nodes that the kernel knows, by number.
//!
//! The kernel names a node by a number that it got with a lookup, until it has forgotten as many
//! lookups as it was given. Each node has a handle of the engine meanwhile, which keeps it in the
//! caches. The names of one inode have one number for each mount through which it was reached: the
//! mount decides about owners and about what may be changed, and a directory has one place there.
//!
//! What always holds: a number is given to one node only, so that the kernel's generation is always
//! 0. The count of a node is the number of lookups that were answered with it and not forgotten.
//! The root has its number from the beginning to the end.
//!
//! The table has `SHARDS` parts, each behind a lock of its own, which is held for one search.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pathwalk::security::NodeId;
use pathwalk::{Errno, Handle};
use rapidhash::fast::RandomState;
use smallvec::SmallVec;

use crate::abi::ROOT;

/// The number of parts: a power of two.
const SHARDS: u64 = 64;

/// The numbers of one node, each with the mount through which it was reached.
pub(crate) type Numbers = SmallVec<[(u64, u64); 1]>;

/// A node that the kernel knows.
struct Known {
    handle: Handle,
    /// The lookups that the kernel has not forgotten.
    lookups: u64,
    /// Whether a lookup was answered with it since it was last a candidate to be forgotten.
    is_used: bool,
    /// The directory whose listing had it, until data of it is read.
    listed_in: Option<NonZeroU64>,
}

#[derive(Default)]
struct Shard {
    by_number: HashMap<u64, Known, RandomState>,
    by_identity: HashMap<NodeId, Numbers, RandomState>,
    /// The numbers in the order in which they are candidates to be forgotten. Those that are
    /// forgotten meanwhile stay until their turn, or until they are more than the known ones.
    turns: VecDeque<u64>,
    /// The number of nodes that there have been.
    given: u64,
}

/// The nodes that the kernel knows.
pub(crate) struct Nodes {
    /// The root, which is never forgotten.
    root: Handle,
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    /// The number of nodes in all parts. It is changed under the lock of a part, and read to see
    /// whether there are too many. It orders nothing.
    known: AtomicU64,
    /// The nodes with several numbers. It is changed under the lock of a part.
    twins: AtomicU64,
    /// The nodes that were added since [`oldest`](Self::oldest) was called. It orders nothing.
    added: AtomicU64,
}

impl Nodes {
    /// Begins with the root alone.
    pub(crate) fn new(root: &Handle) -> Nodes {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let [known, twins, added] = [(); 3].map(|()| AtomicU64::new(0));
        let nodes = Nodes { root: root.clone(), shards, hasher: RandomState::default(), known, twins, added };
        let numbers = Numbers::from_iter([(root.mount_id(), ROOT)]);
        nodes.shards[nodes.place_of(root.node_id()) as usize].lock().by_identity.insert(root.node_id(), numbers);
        nodes
    }

    /// Returns the handle of a node; `ESTALE` for a number that was never given, or is forgotten.
    pub(crate) fn handle(&self, number: u64) -> Result<Handle, Errno> {
        if number == ROOT {
            return Ok(self.root.clone());
        }
        let shard = self.shard_of(number).lock();
        shard.by_number.get(&number).map(|known| known.handle.clone()).ok_or(Errno::ESTALE)
    }

    /// Returns the numbers of a node that the kernel knows, or is about to.
    pub(crate) fn numbers(&self, identity: NodeId) -> Numbers {
        self.shards[self.place_of(identity) as usize].lock().by_identity.get(&identity).cloned().unwrap_or_default()
    }

    /// Returns whether some node has several numbers, so that a change by one has to be told of the
    /// others.
    pub(crate) fn has_twins(&self) -> bool {
        self.twins.load(Ordering::SeqCst) > 0
    }

    /// Counts a lookup of a node, and returns its number.
    pub(crate) fn found(&self, handle: Handle) -> u64 {
        let (identity, mount) = (handle.node_id(), handle.mount_id());
        let place = self.place_of(identity);
        let mut shard = self.shards[place as usize].lock();
        let Shard { by_number, by_identity, turns, given } = &mut *shard;
        let numbers = by_identity.entry(identity).or_default();
        if let Some((_, number)) = numbers.iter().find(|(through, _)| *through == mount) {
            if let Some(known) = by_number.get_mut(number) {
                known.lookups += 1;
                known.is_used = true;
            }
            return *number;
        }
        *given += 1;
        let number = place + *given * SHARDS;
        numbers.push((mount, number));
        if numbers.len() == 2 {
            self.twins.fetch_add(1, Ordering::SeqCst);
        }
        // A node that was removed is no longer there once the kernel has forgotten it.
        by_number.insert(number, Known { handle: handle.collecting(), lookups: 1, is_used: false, listed_in: None });
        turns.push_back(number);
        self.known.fetch_add(1, Ordering::Relaxed);
        self.added.fetch_add(1, Ordering::Relaxed);
        number
    }

    /// Notes that the listing of a directory had a node.
    pub(crate) fn set_listed(&self, number: u64, dir: u64) {
        if let Some(known) = self.shard_of(number).lock().by_number.get_mut(&number) {
            known.listed_in = NonZeroU64::new(dir);
        }
    }

    /// Returns the directory whose listing had a node, once for each listing.
    pub(crate) fn take_listed(&self, number: u64) -> Option<u64> {
        self.shard_of(number).lock().by_number.get_mut(&number)?.listed_in.take().map(NonZeroU64::get)
    }

    /// Takes back so many lookups of a node, and forgets the node if none is left. Returns whether
    /// it did.
    pub(crate) fn forget(&self, number: u64, lookups: u64) -> bool {
        let mut shard = self.shard_of(number).lock();
        let Entry::Occupied(mut known) = shard.by_number.entry(number) else { return false };
        known.get_mut().lookups = known.get().lookups.saturating_sub(lookups);
        if known.get().lookups > 0 {
            return false;
        }
        let known = known.remove();
        self.take_number(&mut shard, known.handle.node_id(), number);
        self.known.fetch_sub(1, Ordering::Relaxed);
        let Shard { by_number, turns, .. } = &mut *shard;
        if turns.len() > 2 * by_number.len() + 16 {
            turns.retain(|number| by_number.contains_key(number));
        }
        drop(shard);
        // What the drop of the handle sets free takes time.
        drop(known);
        true
    }

    fn take_number(&self, shard: &mut Shard, identity: NodeId, number: u64) {
        let Entry::Occupied(mut numbers) = shard.by_identity.entry(identity) else { return };
        numbers.get_mut().retain(|(_, of)| *of != number);
        match numbers.get().len() {
            0 => _ = numbers.remove(),
            1 => _ = self.twins.fetch_sub(1, Ordering::SeqCst),
            _ => {}
        }
    }

    /// Returns the number of nodes that the kernel knows, without the root.
    pub(crate) fn known(&self) -> u64 {
        self.known.load(Ordering::Relaxed)
    }

    /// Returns the number of nodes that were added since [`oldest`](Self::oldest) was called.
    pub(crate) fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }

    /// Returns about so many nodes of which the kernel was told least recently, by their numbers.
    /// They have their turn again when all others had theirs.
    pub(crate) fn oldest(&self, most: u64) -> Vec<u64> {
        self.added.store(0, Ordering::Relaxed);
        let each = most.div_ceil(SHARDS);
        let mut oldest = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            let Shard { by_number, turns, .. } = &mut *shard;
            let (mut left, mut looks) = (each, turns.len());
            while left > 0 && looks > 0 {
                looks -= 1;
                let Some(number) = turns.pop_front() else { break };
                let Some(known) = by_number.get_mut(&number) else { continue };
                turns.push_back(number);
                if !std::mem::take(&mut known.is_used) {
                    oldest.push(number);
                    left -= 1;
                }
            }
        }
        oldest
    }

    /// Returns the numbers of all nodes, with that of the root.
    pub(crate) fn all(&self) -> Vec<u64> {
        let mut all = vec![ROOT];
        self.shards.iter().for_each(|shard| all.extend(shard.lock().by_number.keys()));
        all
    }

    /// Forgets all nodes but the root: nothing is mounted any more.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let all = std::mem::take(&mut *shard.lock());
            self.known.fetch_sub(all.by_number.len() as u64, Ordering::Relaxed);
            let twins = all.by_identity.values().filter(|numbers| numbers.len() > 1).count();
            self.twins.fetch_sub(twins as u64, Ordering::SeqCst);
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

    fn place_of(&self, identity: NodeId) -> u64 {
        self.hasher.hash_one(identity) % SHARDS
    }

    fn shard_of(&self, number: u64) -> &Mutex<Shard> {
        &self.shards[(number % SHARDS) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use pathwalk::{Context, Credentials, Recursion, Vfs};

    fn context() -> Context {
        Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap().context(Credentials::root())
    }

    fn look_up(nodes: &Nodes, context: &Context, path: &str) -> u64 {
        nodes.found(context.lookup(path).unwrap())
    }

    #[test]
    fn names_of_one_inode_have_one_number_until_all_lookups_are_forgotten() {
        let context = context();
        context.write("/a", "").unwrap();
        context.hard_link("/a", "/b").unwrap();
        context.write("/c", "").unwrap();
        let nodes = Nodes::new(context.root());
        let a = look_up(&nodes, &context, "/a");
        assert_eq!(look_up(&nodes, &context, "/b"), a);
        let number = |path: &str| nodes.numbers(context.lookup(path).unwrap().node_id()).first().map(|(_, number)| *number);
        assert_eq!((number("/b"), number("/")), (Some(a), Some(ROOT)));
        assert_ne!(look_up(&nodes, &context, "/c"), a);
        assert_eq!((nodes.counts(), nodes.known(), look_up(&nodes, &context, "/")), ((2, 3), 2, ROOT));
        nodes.forget(a, 1);
        assert_eq!(nodes.handle(a).unwrap().path().unwrap(), b"/a");
        nodes.forget(a, 1);
        assert_eq!((nodes.handle(a).err(), nodes.counts()), (Some(Errno::ESTALE), (1, 1)));
        assert_ne!(look_up(&nodes, &context, "/a"), a, "a number is not given again");
        nodes.forget(ROOT, 100);
        nodes.forget(12345, 1);
        assert_eq!(nodes.handle(ROOT).unwrap().path().unwrap(), b"/");
        nodes.clear();
        assert_eq!((nodes.known(), nodes.all()), (0, vec![ROOT]));
    }

    #[test]
    fn a_node_has_a_number_for_each_mount() {
        let context = context();
        context.create_dir_all("/a/d").unwrap();
        context.create_dir_all("/b").unwrap();
        context.bind("/a", "/b", Recursion::Alone).unwrap();
        let nodes = Nodes::new(context.root());
        let one = look_up(&nodes, &context, "/a/d");
        assert!(!nodes.has_twins());
        let other = look_up(&nodes, &context, "/b/d");
        assert!(nodes.has_twins() && one != other && look_up(&nodes, &context, "/a/d") == one);
        let numbers = nodes.numbers(context.lookup("/a/d").unwrap().node_id());
        assert_eq!(numbers.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [one, other]);
        assert_eq!(nodes.handle(other).unwrap().path().unwrap(), b"/b/d");
        nodes.forget(one, 2);
        assert_eq!((nodes.has_twins(), nodes.known(), nodes.handle(other).is_ok()), (false, 1, true));
        look_up(&nodes, &context, "/a/d");
        nodes.clear();
        assert!(!nodes.has_twins());
    }

    #[test]
    fn what_was_told_last_is_forgotten_last() {
        let context = context();
        let nodes = Nodes::new(context.root());
        let names: Vec<String> = (0..1000).map(|number| format!("/{number}")).collect();
        names.iter().for_each(|name| context.write(name, "").unwrap());
        let numbers: Vec<u64> = names.iter().map(|name| look_up(&nodes, &context, name)).collect();
        let again = &names[..500];
        again.iter().for_each(|name| assert!(numbers.contains(&look_up(&nodes, &context, name))));
        let oldest = nodes.oldest(SHARDS);
        // One of each part. The parts are chosen at random, so that one may have used numbers only.
        let parts: HashSet<u64> = numbers[500..].iter().map(|number| number % SHARDS).collect();
        assert_eq!((oldest.len(), nodes.added()), (parts.len(), 0));
        assert!(oldest.iter().all(|number| numbers[500..].contains(number)), "used ones come later");
        // Each has a turn, used ones at the second time.
        let mut all: Vec<u64> = (0..60).flat_map(|_| nodes.oldest(SHARDS)).chain(oldest).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
        assert!(numbers.iter().all(|number| nodes.forget(*number, 2)));
        assert_eq!((nodes.known(), nodes.oldest(SHARDS)), (0, vec![]));
    }
}
