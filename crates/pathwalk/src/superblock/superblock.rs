//! A superblock: a file system and its counters.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::abi::SuperblockFlags;
use crate::fs_api::{AccessTimes, FileSystem, Reporter};
use crate::memory::alone::{self, Alone, SHARES, apart};
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::stats::FileSystemStats;
use crate::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, unique};

/// A file system whose nodes are in the caches. Linux: `struct super_block`.
pub(crate) struct Superblock {
    pub(crate) id: SuperblockId,
    /// A number that no other superblock of the process ever has.
    pub(super) serial: u64,
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Whether its mounts may be id-mapped. Linux: `FS_ALLOW_IDMAP`.
    pub(crate) allows_id_maps: bool,
    /// Whether its nodes have ACLs, and it applies the umask itself. Linux: `SB_POSIXACL`.
    pub(crate) keeps_acls: bool,
    /// Whether the engine keeps the times of accesses to its nodes.
    pub(crate) keeps_access_times: bool,
    /// The second of its clock at which cached links are looked through next for times of access
    /// that are a day old; 0 before the first access. `Relaxed`: the one thread that moves it looks
    /// through them.
    pub(super) ages_at: AtomicU64,
    /// The root's dentry, pinned until the shutdown; 0 before it is made. Written once, before
    /// another thread can know of it; `Relaxed`. Linux: `s_root`.
    root: AtomicU32,
    /// The flags that the file system itself sets, which no remount removes.
    said: SuperblockFlags,
    /// [`SuperblockFlags`], written under the lock of the tree of mounts, or before it is mounted.
    /// Read by that lock's holders; `Relaxed`. Linux: `s_flags`.
    flags: AtomicU32,
    /// The numbers of its mounts' slots. A slot is listed from before it is filled to before it is
    /// given back, so a mount in a listed slot belongs to this superblock. Linux: `s_mounts`.
    listed: Mutex<BTreeSet<u32>>,
    /// The number of its mounts. The last to go shuts it down. Linux: `s_active`.
    mounts: AtomicU32,
    /// The counters of the threads, each in a share of its own.
    shares: Box<[Alone<Share>]>,
}

/// The counters of some of the threads. Each is independent of the others, so `Relaxed`.
#[derive(Default)]
struct Share {
    lookups: AtomicU64,
    siblings: AtomicU64,
    /// The number of inodes that were made.
    came: AtomicU64,
    /// The number of inodes that were freed, with their nodes forgotten. Release, paired with the
    /// Acquire of the thread that shuts it down, which thereby sees that the file system was told
    /// of each.
    left: AtomicU64,
}

impl Superblock {
    pub(super) fn new(id: SuperblockId, fs: Arc<dyn FileSystem>) -> Superblock {
        let (root, mounts) = (AtomicU32::new(0), AtomicU32::new(0));
        let (allows_id_maps, keeps_acls) = (fs.allows_id_maps(), fs.keeps_acls());
        let keeps_access_times = fs.access_times() == AccessTimes::OfEngine;
        let said = fs.superblock_flags();
        let (flags, listed) = (AtomicU32::new(said.bits()), Mutex::default());
        let shares = apart(SHARES, Share::default);
        let ages_at = AtomicU64::new(0);
        Superblock {
            id,
            serial: unique(),
            fs,
            allows_id_maps,
            keeps_acls,
            keeps_access_times,
            ages_at,
            root,
            said,
            flags,
            listed,
            mounts,
            shares,
        }
    }

    /// Returns the name by which its file system's notifier is known.
    pub(crate) fn reporter(&self) -> Reporter {
        Reporter { superblock: self.id, serial: self.serial }
    }

    /// Returns its flags. The tree of mounts is locked, or it is not mounted yet.
    pub(crate) fn flags(&self) -> SuperblockFlags {
        SuperblockFlags::from_bits_truncate(self.flags.load(Ordering::Relaxed))
    }

    /// Returns the flags `to` with those that the file system itself sets.
    pub(crate) fn with_own(&self, to: SuperblockFlags) -> SuperblockFlags {
        to | self.said
    }

    /// Sets its flags. The tree of mounts is locked, or it is not mounted yet. The caller updates
    /// its mounts.
    pub(crate) fn set_flags(&self, to: SuperblockFlags) {
        self.flags.store(to.bits(), Ordering::Relaxed);
    }

    /// Lists a slot that is about to become a mount of it.
    pub(crate) fn list(&self, mount: MountId) {
        self.listed.lock().insert(mount.0);
    }

    /// Removes a mount that has ended from the list. Its slot is given back next. Waits for the
    /// holder of the guard that [`listed`](Self::listed) returns.
    pub(crate) fn unlist(&self, mount: MountId) {
        self.listed.lock().remove(&mount.0);
    }

    /// Returns its mounts, some of which may have ended, in a guard that keeps their slots from
    /// being given back.
    pub(crate) fn listed(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.listed.lock()
    }

    pub(crate) fn root(&self) -> DentryId {
        DentryId(self.root.load(Ordering::Relaxed))
    }

    pub(super) fn set_root(&self, root: DentryId) {
        self.root.store(root.0, Ordering::Relaxed);
    }

    /// Counts a mount. Another is held, or it is the first.
    pub(crate) fn mounted(&self) {
        self.mounts.fetch_add(1, Ordering::Relaxed);
    }

    /// Uncounts a mount. Returns whether it was the last: then the caller shuts it down.
    pub(crate) fn unmounted(&self) -> bool {
        self.mounts.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Counts an inode that is made.
    pub(super) fn came(&self) {
        self.mine().came.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an inode that was freed.
    pub(super) fn left(&self) {
        self.mine().left.fetch_add(1, Ordering::Release);
    }

    /// Returns whether no inode of it is left. No inode is made any more.
    pub(super) fn is_empty(&self) -> bool {
        let left: u64 = self.shares.iter().map(|share| share.left.load(Ordering::Acquire)).sum();
        left == self.sum(|share| &share.came)
    }

    fn mine(&self) -> &Share {
        alone::mine(&self.shares)
    }

    fn sum(&self, of: fn(&Share) -> &AtomicU64) -> u64 {
        self.shares.iter().map(|share| of(share).load(Ordering::Relaxed)).sum()
    }

    /// Counts a lookup of a name by the file system.
    pub(crate) fn looked_up(&self) {
        self.mine().lookups.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts siblings: names that the file system gave without a lookup of each.
    pub(crate) fn told_siblings(&self, count: u64) {
        self.mine().siblings.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns its counters and the memory that it holds. Each figure is of a moment of its own.
    pub(crate) fn stats(&self) -> FileSystemStats {
        FileSystemStats {
            file_system: self.id.0,
            mounts: self.mounts.load(Ordering::Relaxed),
            nodes: self.sum(|share| &share.came).saturating_sub(self.sum(|share| &share.left)),
            lookups: self.lookups(),
            siblings: self.siblings(),
            memory: self.fs.memory(),
        }
    }

    /// Returns the number of lookups of names by the file system.
    pub(crate) fn lookups(&self) -> u64 {
        self.sum(|share| &share.lookups)
    }

    /// Returns the number of names that the file system gave without a lookup of each.
    pub(crate) fn siblings(&self) -> u64 {
        self.sum(|share| &share.siblings)
    }
}
