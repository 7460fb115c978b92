//! The entries that a change needs, under the locks that it takes.
//!
//! A name is looked up with its directory's lock held exclusively. No other thread looks it up or
//! enters it meanwhile, so its entry becomes visible with its answer, and no thread waits for it.
//!
//! The node of the name may be a directory that is cached elsewhere: it was moved in the file
//! system without the engine, or its entry was dropped while it was held. A lookup moves its dentry
//! here, and takes the lock of the directory where it was. So all locks are released for that, and
//! the change begins anew. The same is done where the entry is doubtful: a lookup asks about it.
//! About an entry that has to be revalidated each time, the file system is asked under the locks.

use super::Trees;
use super::iget::Origin;
use super::miss::Trust;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::children::NameIs;
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::moves::MovesHeld;
use crate::cache::dcache::watch::Known;
use crate::cache::icache::hold::NotGiven;
use crate::fs_api::Directory;
use crate::memory::dir_lock;
use crate::memory::slot::{DentryId, InodeId};
use crate::text::Name;

/// The maximum number of times that a change begins anew because a directory that it met is cached
/// elsewhere. Each time takes another thread that drops or moves the directory.
const TRIES: u32 = 1000;

/// The maximum number of times that it begins anew because it met the same directory under another
/// name than before. In a change of two names, in a file system that has the directory under both,
/// each name takes the dentry from the other.
const TRIES_OF_TWO_NAMES: u32 = 8;

/// The entry of a name, present or negative, with its directory's lock.
pub(super) struct Locked<'a, 'n> {
    pub(super) entry: Pinned<'a>,
    pub(super) name: Name<'n>,
    /// The lock on the names of the directory, released last.
    pub(super) names: dir_lock::Exclusive<'a>,
}

/// The entries of two names, the first of which is present, with all locks for a move from one to
/// the other.
pub(super) struct LockedBoth<'a, 'n> {
    pub(super) source: Pinned<'a>,
    pub(super) target: Pinned<'a>,
    pub(super) from: Name<'n>,
    pub(super) to: Name<'n>,
    pub(super) names: (dir_lock::Exclusive<'a>, Option<dir_lock::Exclusive<'a>>),
    pub(super) moves: Option<MovesHeld<'a>>,
}

/// The reason why an entry is not available.
enum NoEntry<'n> {
    Failed(Errno),
    /// The name of a directory, with this inode, that is cached elsewhere.
    Elsewhere(DentryId, Name<'n>, InodeId),
    /// A name whose entry is doubtful.
    Doubtful(DentryId, Name<'n>),
}

/// The name that was looked up since the last attempt, which is not revalidated.
type News<'n> = Option<(DentryId, &'n [u8])>;

impl From<Errno> for NoEntry<'_> {
    fn from(errno: Errno) -> Self {
        NoEntry::Failed(errno)
    }
}

impl Trees {
    /// Looks a name up for a change. `ENOENT` if the directory was removed; `ESTALE` if the name is
    /// that of a directory that other threads move again and again.
    pub(super) fn lock_name<'n>(&self, dir: DentryId, name: &'n [u8]) -> Result<Locked<'_, 'n>, Errno> {
        self.settled(|news| self.try_lock_name(dir, name, news))
    }

    /// Does the same as [`lock_name`](Self::lock_name), with actions of other threads before each
    /// attempt, and releases the locks.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn lock_name_beside(&self, dir: DentryId, name: &[u8], others: impl Fn()) -> Result<(), Errno> {
        self.settled(|news| {
            others();
            self.try_lock_name(dir, name, news)
        })
        .map(drop)
    }

    fn try_lock_name<'n>(&self, dir: DentryId, name: &'n [u8], news: News<'n>) -> Result<Locked<'_, 'n>, NoEntry<'n>> {
        let names = dir_lock::exclusive(self.caches.dentries.lock(dir));
        self.not_removed(dir)?;
        let name = Name::new(name)?;
        Ok(Locked { entry: self.entry_in(dir, name, news)?, name, names })
    }

    /// Does the same as [`lock_name`](Self::lock_name) for two names, for a move. `ENOENT` if there
    /// is nothing to move.
    pub(super) fn lock_names<'n>(
        &self,
        from: (DentryId, &'n [u8]),
        to: (DentryId, &'n [u8]),
    ) -> Result<LockedBoth<'_, 'n>, Errno> {
        self.settled(|news| {
            let moves = (from.0 != to.0).then(|| self.caches.moves.lock());
            let names = self.caches.lock_both(from.0, to.0, moves.as_ref());
            self.not_removed(from.0)?;
            let old = Name::new(from.1)?;
            let source = self.entry_in(from.0, old, news)?;
            if self.is_absent(&source) {
                return Err(Errno::ENOENT.into());
            }
            self.not_removed(to.0)?;
            let new = Name::new(to.1)?;
            let target = self.entry_in(to.0, new, news)?;
            Ok(LockedBoth { source, target, from: old, to: new, names, moves })
        })
    }

    /// Repeats `attempt` until it meets no directory that is cached elsewhere, and no doubtful
    /// entry. Returns its result.
    fn settled<'n, T>(&self, attempt: impl Fn(News<'n>) -> Result<T, NoEntry<'n>>) -> Result<T, Errno> {
        let (mut last, mut of_two_names, mut news) = (None, 0, None);
        for _ in 0..TRIES {
            let (dir, name, inode) = match attempt(news) {
                Ok(locked) => return Ok(locked),
                Err(NoEntry::Failed(errno)) => return Err(errno),
                Err(NoEntry::Elsewhere(dir, name, inode)) => (dir, name, inode),
                Err(NoEntry::Doubtful(dir, name)) => {
                    drop(self.child(dir, name.bytes(), Trust::Cache)?);
                    continue;
                }
            };
            drop(self.child(dir, name.bytes(), Trust::Cache)?);
            news = Some((dir, name.bytes()));
            let met = (inode.0, dir.0, name.bytes());
            of_two_names += u32::from(last.is_some_and(|last: (u32, _, _)| last.0 == met.0 && last != met));
            if of_two_names == TRIES_OF_TWO_NAMES {
                break;
            }
            last = Some(met);
        }
        Err(Errno::ESTALE)
    }

    /// Checks that a dentry is a directory (`ENOTDIR`) that was not removed (`ENOENT`).
    pub(crate) fn not_removed(&self, dir: DentryId) -> Result<(), Errno> {
        let word = self.caches.dentries.word(dir);
        if word & flags::DIRECTORY == 0 {
            return Err(Errno::ENOTDIR);
        }
        if word & flags::REMOVED != 0 { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// Does the same as [`not_removed`](Self::not_removed) after any change of the directory that
    /// is under way. So a directory that the file system has already removed does not pass for an
    /// existing one. Linux lists a directory with its lock held, to the same end.
    pub(crate) fn settled_and_not_removed(&self, dir: DentryId) -> Result<(), Errno> {
        let _names = dir_lock::shared(self.caches.dentries.lock(dir));
        self.not_removed(dir)
    }

    pub(super) fn is_absent(&self, entry: &Pinned<'_>) -> bool {
        self.caches.dentries.word(entry.id()) & flags::NEGATIVE != 0
    }

    /// Returns the entry of a name, present or negative, and asks the file system if necessary. No
    /// other thread enters one, so a search without a lock is exact.
    fn entry_in<'n>(&self, dir: DentryId, name: Name<'n>, news: News<'n>) -> Result<Pinned<'_>, NoEntry<'n>> {
        let found = self.caches.find_pinned(dir, name.bytes()).map(|id| Pinned::new(&self.caches, id));
        let Some(found) = found else { return self.new_entry_in(dir, name) };
        let word = self.caches.dentries.word(found.id());
        if word & flags::LISTED != 0 {
            self.caches.clear_doubt(found.id());
            return self.ask_for(dir, name, &found).map(|()| found);
        }
        if word & flags::DOUBTFUL != 0 {
            return Err(NoEntry::Doubtful(dir, name));
        }
        if word & flags::REVALIDATE == 0 || news == Some((dir, name.bytes())) || self.is_valid(dir, name, found.id())? {
            return Ok(found);
        }
        self.caches.unhash(dir, found.id(), NameIs::Unknown, &self.caches.dentries.children_lock(dir));
        self.let_go(found);
        self.new_entry_in(dir, name)
    }

    /// Does the same for a name that is not cached.
    fn new_entry_in<'n>(&self, dir: DentryId, name: Name<'n>) -> Result<Pinned<'_>, NoEntry<'n>> {
        let absence = self.absence_in(dir);
        let entry = Pinned::new(&self.caches, self.caches.new_dentry(dir, name.bytes(), flags::IN_LOOKUP)?);
        let mut held = self.caches.dentries.children_lock(dir);
        if self.caches.known(dir, &held) == Known::All {
            self.caches.make_negative(entry.id(), absence);
            self.caches.counters.known_absent();
        } else {
            drop(held);
            let asked = self.caches.doubts.of_names(dir);
            if let Err(why) = self.ask_for(dir, name, &entry) {
                // The entry would pin the directory, even beyond its removal.
                self.caches.discard(entry.into_id());
                return Err(why);
            }
            held = self.caches.dentries.children_lock(dir);
            if self.caches.doubts.of_names(dir) != asked {
                self.caches.doubt(entry.id());
            }
        }
        self.caches.hash_in(dir, entry.id(), &held);
        drop(held);
        Ok(entry)
    }

    /// Asks the file system which node has a name, and gives the answer to its entry.
    fn ask_for<'n>(&self, dir: DentryId, name: Name<'n>, entry: &Pinned<'_>) -> Result<(), NoEntry<'n>> {
        let reserved = self.caches.reserve_inode()?;
        let asked = self.caches.versions.ask();
        let superblock = self.superblock_at(dir);
        superblock.looked_up();
        let Some(node) = superblock.fs.lookup(&Directory::new(&self.caches, dir), name)? else {
            self.caches.make_negative(entry.id(), self.absence_in(dir));
            return Ok(());
        };
        self.iget(&superblock, entry.id(), &node, reserved, Origin::Found(asked)).map_err(|why| match why {
            NotGiven::Failed(errno) => NoEntry::Failed(errno),
            NotGiven::AliasElsewhere(inode) => NoEntry::Elsewhere(dir, name, inode.id()),
        })
    }
}
