//! Caches of whole paths. Those that evict have as much memory as pathwalk.
//!
//! The memory for a path is measured in each of them: the growth of resident memory while all paths
//! are put in. A cache that evicts and that takes more bytes than it may is then made anew with
//! room for fewer paths.

use pathwalk::AsPath;

use super::tree::{Kind, TreePath};
use crate::peers::Hash;

/// A cache from whole paths to the kinds of names that they lead to.
pub trait WholePaths: Send + Sync {
    /// The name of the cache.
    const WHAT: &'static str;

    /// A flag: whether the cache evicts, so that it can be made to hold fewer paths than are put
    /// in.
    const EVICTS: bool;

    /// Creates a cache with room for this many paths.
    fn new(paths: usize) -> Self;

    /// Puts a path in.
    fn put(&self, path: &[u8], kind: Kind);

    /// Returns what a path leads to, if that is cached.
    fn get(&self, path: &[u8]) -> Option<Kind>;

    /// Does the work that is pending after all paths are put in.
    fn settle(&self) {}
}

/// A lock-free map, which evicts nothing.
pub struct Papaya(papaya::HashMap<Box<[u8]>, Kind, Hash>);

impl WholePaths for Papaya {
    const WHAT: &'static str = "papaya";
    const EVICTS: bool = false;

    fn new(_paths: usize) -> Self {
        Papaya(papaya::HashMap::default())
    }

    fn put(&self, path: &[u8], kind: Kind) {
        self.0.pin().insert(path.into(), kind);
    }

    #[inline(always)]
    fn get(&self, path: &[u8]) -> Option<Kind> {
        self.0.pin().get(path).copied()
    }
}

/// A cache with S3-FIFO, sharded, under locks.
pub struct Quick(quick_cache::sync::Cache<Box<[u8]>, Kind, quick_cache::UnitWeighter, Hash>);

impl WholePaths for Quick {
    const WHAT: &'static str = "quick_cache";
    const EVICTS: bool = true;

    fn new(paths: usize) -> Self {
        let lifecycle = quick_cache::sync::DefaultLifecycle::default();
        let (weighter, hash) = (quick_cache::UnitWeighter, Hash::default());
        Quick(quick_cache::sync::Cache::with(paths, paths as u64, weighter, hash, lifecycle))
    }

    fn put(&self, path: &[u8], kind: Kind) {
        self.0.insert(path.into(), kind);
    }

    #[inline(always)]
    fn get(&self, path: &[u8]) -> Option<Kind> {
        self.0.get(path)
    }
}

/// A cache with TinyLFU, after Java's Caffeine.
pub struct Moka(moka::sync::Cache<Box<[u8]>, Kind, Hash>);

impl WholePaths for Moka {
    const WHAT: &'static str = "moka";
    const EVICTS: bool = true;

    fn new(paths: usize) -> Self {
        Moka(moka::sync::Cache::builder().max_capacity(paths as u64).build_with_hasher(Hash::default()))
    }

    fn put(&self, path: &[u8], kind: Kind) {
        self.0.insert(path.into(), kind);
    }

    #[inline(always)]
    fn get(&self, path: &[u8]) -> Option<Kind> {
        self.0.get(path)
    }

    fn settle(&self) {
        self.0.run_pending_tasks();
    }
}

/// A cache that was filled, and its size.
pub(super) struct Filled<C> {
    pub(super) cache: C,
    /// The growth of resident memory with all paths in it, in bytes.
    pub(super) bytes: u64,
    /// The number of paths that it has room for within its budget; all paths if it evicts nothing.
    pub(super) room: u64,
}

/// Fills a cache with all paths, within `budget` bytes if it can evict.
pub(super) fn fill<C: WholePaths>(paths: &[(Kind, &[TreePath])], budget: u64, resident: impl Fn() -> u64) -> Filled<C> {
    let all: u64 = paths.iter().map(|(_, paths)| paths.len() as u64).sum();
    let before = resident();
    let cache = filled::<C>(all as usize, paths);
    let bytes = resident().saturating_sub(before).max(1);
    let fits = u128::from(all) * u128::from(budget) / u128::from(bytes);
    let room = all.min(fits.max(1) as u64);
    if room == all || !C::EVICTS {
        return Filled { cache, bytes, room: all };
    }
    drop(cache);
    Filled { cache: filled::<C>(room as usize, paths), bytes, room }
}

fn filled<C: WholePaths>(room: usize, paths: &[(Kind, &[TreePath])]) -> C {
    // The shards share the room, and some are full before all of the room is used: so the cache
    // gets more room than paths.
    let cache = C::new(room + room / 16 + 1024);
    for (kind, paths) in paths {
        paths.iter().for_each(|path| cache.put(path.path_bytes(), *kind));
    }
    cache.settle();
    cache
}
