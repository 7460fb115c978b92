//! The entries that a change is about, under the locks that it takes.
//!
//! A name is looked up with its directory's lock held exclusively: nobody else looks it up or enters it meanwhile, so its entry is shown when it is
//! answered for, and nobody waits for it.
//!
//! What has the name may be a directory that is cached elsewhere: it was moved behind our back, or its entry was dropped while somebody held it.
//! Its dentry is moved here by a lookup, which takes the lock of the directory where it is. So all locks are given back for that, and all
//! begins anew.

use super::Trees;
use super::miss::Trust;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::moves::MovesHeld;
use crate::cache::dcache::watch::Known;
use crate::cache::icache::hold::NotGiven;
use crate::fs_api::Directory;
use crate::memory::dir_lock;
use crate::memory::slot::{DentryId, InodeId};
use crate::text::Name;

/// How often a change begins anew because a directory that it met is cached elsewhere. It takes
/// another thread each time, which drops or moves the directory.
const TRIES: u32 = 1000;

/// How often it begins anew because it met the same directory under another name than before. Of a
/// change of two names, in a file system that has the directory under both, each name takes it from
/// the other.
const TRIES_OF_TWO_NAMES: u32 = 8;

/// The entry of a name, present or negative, with its directory's lock.
pub(super) struct Locked<'a, 'n> {
    pub(super) entry: Pinned<'a>,
    pub(super) name: Name<'n>,
    /// Given back last.
    pub(super) names: dir_lock::Exclusive<'a>,
}

/// The entries of two names, the first of which is present, with all locks that a move from the one to the other takes.
pub(super) struct LockedBoth<'a, 'n> {
    pub(super) source: Pinned<'a>,
    pub(super) target: Pinned<'a>,
    pub(super) from: Name<'n>,
    pub(super) to: Name<'n>,
    pub(super) names: (dir_lock::Exclusive<'a>, Option<dir_lock::Exclusive<'a>>),
    pub(super) moves: Option<MovesHeld<'a>>,
}

/// Why an entry cannot be had.
enum NoEntry<'n> {
    Failed(Errno),
    /// The name is that of a directory, with this inode, that is cached elsewhere.
    Elsewhere(DentryId, Name<'n>, InodeId),
}

impl From<Errno> for NoEntry<'_> {
    fn from(errno: Errno) -> Self {
        NoEntry::Failed(errno)
    }
}

impl Trees {
    /// Looks a name up for a change. `ENOENT` if the directory was removed; `ESTALE` if what has the
    /// name is a directory that other threads move again and again.
    pub(super) fn lock_name<'n>(&self, dir: DentryId, name: &'n [u8]) -> Result<Locked<'_, 'n>, Errno> {
        self.settled(|| self.try_lock_name(dir, name))
    }

    /// As [`lock_name`](Self::lock_name), with what other threads do before each attempt; gives the
    /// locks back.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn lock_name_beside(&self, dir: DentryId, name: &[u8], others: impl Fn()) -> Result<(), Errno> {
        self.settled(|| {
            others();
            self.try_lock_name(dir, name)
        })
        .map(drop)
    }

    fn try_lock_name<'n>(&self, dir: DentryId, name: &'n [u8]) -> Result<Locked<'_, 'n>, NoEntry<'n>> {
        let names = dir_lock::exclusive(self.caches.dentries.lock(dir));
        self.not_removed(dir)?;
        let name = Name::new(name)?;
        Ok(Locked { entry: self.entry_in(dir, name)?, name, names })
    }

    /// As [`lock_name`](Self::lock_name) of two, for a move. `ENOENT` if there is nothing to move.
    pub(super) fn lock_names<'n>(
        &self,
        from: (DentryId, &'n [u8]),
        to: (DentryId, &'n [u8]),
    ) -> Result<LockedBoth<'_, 'n>, Errno> {
        self.settled(|| {
            let moves = (from.0 != to.0).then(|| self.caches.moves.lock());
            let names = self.caches.lock_both(from.0, to.0, moves.as_ref());
            self.not_removed(from.0)?;
            let old = Name::new(from.1)?;
            let source = self.entry_in(from.0, old)?;
            if self.is_absent(&source) {
                return Err(Errno::ENOENT.into());
            }
            self.not_removed(to.0)?;
            let new = Name::new(to.1)?;
            let target = self.entry_in(to.0, new)?;
            Ok(LockedBoth { source, target, from: old, to: new, names, moves })
        })
    }

    /// Returns what comes of `attempt` once no directory that it meets is cached elsewhere.
    fn settled<'n, T>(&self, attempt: impl Fn() -> Result<T, NoEntry<'n>>) -> Result<T, Errno> {
        let (mut last, mut of_two_names) = (None, 0);
        for _ in 0..TRIES {
            let (dir, name, inode) = match attempt() {
                Ok(locked) => return Ok(locked),
                Err(NoEntry::Failed(errno)) => return Err(errno),
                Err(NoEntry::Elsewhere(dir, name, inode)) => (dir, name, inode),
            };
            drop(self.child(dir, name.bytes(), Trust::Cache)?);
            let met = (inode.0, dir.0, name.bytes());
            of_two_names += u32::from(last.is_some_and(|last: (u32, _, _)| last.0 == met.0 && last != met));
            if of_two_names == TRIES_OF_TWO_NAMES {
                break;
            }
            last = Some(met);
        }
        Err(Errno::ESTALE)
    }

    /// `ENOTDIR` for what is no directory, `ENOENT` for one that was removed.
    pub(crate) fn not_removed(&self, dir: DentryId) -> Result<(), Errno> {
        let word = self.caches.dentries.word(dir);
        if word & flags::DIRECTORY == 0 {
            return Err(Errno::ENOTDIR);
        }
        if word & flags::REMOVED != 0 { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// As [`not_removed`](Self::not_removed), behind any change of the directory that is under way.
    /// So a directory that the file system has removed already is not taken to be there; Linux
    /// lists one with its lock held, to the same end.
    pub(crate) fn settled_and_not_removed(&self, dir: DentryId) -> Result<(), Errno> {
        let _names = dir_lock::shared(self.caches.dentries.lock(dir));
        self.not_removed(dir)
    }

    pub(super) fn is_absent(&self, entry: &Pinned<'_>) -> bool {
        self.caches.dentries.word(entry.id()) & flags::NEGATIVE != 0
    }

    /// The entry of a name, present or negative, asking the file system if need be. Nobody else enters one: a search without a lock is exact.
    fn entry_in<'n>(&self, dir: DentryId, name: Name<'n>) -> Result<Pinned<'_>, NoEntry<'n>> {
        let found = self.caches.find_pinned(dir, name.bytes()).map(|id| Pinned::new(&self.caches, id));
        match found {
            Some(found) if self.caches.dentries.word(found.id()) & flags::LISTED == 0 => Ok(found),
            Some(listed) => self.ask_for(dir, name, &listed).map(|()| listed),
            None => self.new_entry_in(dir, name),
        }
    }

    /// The same of a name that is not cached.
    fn new_entry_in<'n>(&self, dir: DentryId, name: Name<'n>) -> Result<Pinned<'_>, NoEntry<'n>> {
        let absence = self.superblock_at(dir).fs.absence();
        let entry = Pinned::new(&self.caches, self.caches.new_dentry(dir, name.bytes(), flags::IN_LOOKUP)?);
        let mut held = self.caches.dentries.children_lock(dir);
        if self.caches.known(dir, &held) == Known::All {
            self.caches.make_negative(entry.id(), absence);
            self.caches.counters.known_absent();
        } else {
            drop(held);
            if let Err(why) = self.ask_for(dir, name, &entry) {
                // It would pin the directory, even beyond its removal.
                self.caches.discard(entry.into_id());
                return Err(why);
            }
            held = self.caches.dentries.children_lock(dir);
        }
        self.caches.hash_in(dir, entry.id(), &held);
        drop(held);
        Ok(entry)
    }

    /// Asks the file system what has a name, and gives the answer to its entry.
    fn ask_for<'n>(&self, dir: DentryId, name: Name<'n>, entry: &Pinned<'_>) -> Result<(), NoEntry<'n>> {
        let reserved = self.caches.reserve_inode()?;
        let asked = self.caches.versions.ask();
        let superblock = self.superblock_at(dir);
        superblock.looked_up();
        let Some(node) = superblock.fs.lookup(&Directory::new(&self.caches, dir), name)? else {
            self.caches.make_negative(entry.id(), superblock.fs.absence());
            return Ok(());
        };
        self.iget(&superblock, entry.id(), &node, reserved, Some(asked)).map_err(|why| match why {
            NotGiven::Failed(errno) => NoEntry::Failed(errno),
            NotGiven::AliasElsewhere(inode) => NoEntry::Elsewhere(dir, name, inode.id()),
        })
    }
}
