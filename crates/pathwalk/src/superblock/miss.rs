//! The lookup of a name that is not cached, or has to be revalidated. The file system is asked
//! once, however many threads wait.
//!
//! It is asked with the directory's lock held shared, so that the directory cannot change between
//! the answer and its being cached. `ENOENT` comes from the answer, never from the miss. About a
//! doubtful entry it is asked with the lock held exclusively.

use super::Trees;
use super::early::Early;
use super::iget::Origin;
use super::superblock::Superblock;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::children::NameIs;
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::in_lookup::Missing;
use crate::cache::dcache::rename::Answer;
use crate::cache::icache::hold::{NotGiven, PinnedInode};
use crate::cache::icache::inode::{self, LINKS_AUX, MANY};
use crate::fs_api::{Directory, FoundToRead};
use crate::limits::NAME_MAX;
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{dir_lock, pin};
use crate::node::{Node, NodeKey, Validity};
use crate::sync::Ordering;
use crate::text::Name;

/// The cached entries that are used without asking the file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// All entries but those that their file system has to revalidate.
    Cache,
    /// No entries, because something turned out to be stale.
    AskAlways,
    /// All entries, also those that are out of date: the file system is not asked.
    CacheOnly,
}

/// The result of a question about a doubtful entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    /// The name leads where it led.
    Holds,
    /// The entry was taken out of the table: the caller lets it go, and searches again.
    Dropped,
    /// Another thread changed the entry: the cache is to be searched again.
    Changed,
}

impl Trees {
    /// Returns the child of this name, present or negative. The caller has a pin on the directory.
    pub(crate) fn child(&self, dir: DentryId, name: &[u8], trust: Trust) -> Result<Pinned<'_>, Errno> {
        self.child_to_read(dir, name, trust, None)
    }

    /// Does the same for a child that is to be opened, if there is an `early`: a lookup may bring
    /// the open file.
    pub(crate) fn child_to_read(
        &self,
        dir: DentryId,
        name: &[u8],
        trust: Trust,
        mut early: Option<&mut Early>,
    ) -> Result<Pinned<'_>, Errno> {
        if trust == Trust::CacheOnly {
            return self.cached_child(dir, name);
        }
        if trust == Trust::AskAlways && self.absence_lasts(dir) {
            self.caches.no_longer_complete(dir);
        }
        // An entry that was just looked up is not revalidated.
        let mut is_news = false;
        loop {
            // An entry that was only listed exists, but nothing else is known of it.
            let found = self.caches.find_pinned(dir, name).map(|id| Pinned::new(&self.caches, id));
            let Some(found) = found.filter(|found| self.caches.dentries.word(found.id()) & flags::LISTED == 0) else {
                if let Some(answer) = self.look_up(dir, name, trust, early.as_deref_mut())? {
                    return Ok(answer);
                }
                is_news = true;
                continue;
            };
            self.caches.wait_for_answer(found.id());
            let word = self.caches.dentries.word(found.id());
            if word & (flags::UNHASHED | flags::LISTED) != 0 {
                // Its lookup failed, or it was dropped, so the cache is searched again.
                continue;
            }
            let is_doubtful = word & flags::DOUBTFUL != 0;
            if !is_doubtful {
                let is_trusted = is_news || trust == Trust::Cache && word & flags::REVALIDATE == 0;
                let is_valid = is_trusted || self.still_valid(dir, name, found.id(), trust)?;
                if is_valid && (is_news || trust == Trust::Cache) {
                    return Ok(found);
                }
                if !is_valid {
                    self.dropped.add(self.caches.invalidate_entry(dir, found));
                    continue;
                }
            }
            match self.settle(dir, name, &found, trust)? {
                Settled::Holds => return Ok(found),
                Settled::Dropped => self.let_go(found),
                Settled::Changed => {}
            }
        }
    }

    /// Returns the cached child of a name, present or negative; `EAGAIN` if there is none.
    fn cached_child(&self, dir: DentryId, name: &[u8]) -> Result<Pinned<'_>, Errno> {
        let found = self.caches.find_pinned(dir, name).map(|id| Pinned::new(&self.caches, id));
        let is_known = |found: &Pinned<'_>| self.caches.dentries.word(found.id()) & flags::IN_LOOKUP == 0;
        found.filter(is_known).ok_or(Errno::EAGAIN)
    }

    /// Asks the file system about an entry again that is doubtful, or that is not trusted. If the
    /// name still leads to its node, the entry stays, with all that is below it and mounted on it;
    /// else it is dropped. Threads that meet a doubtful entry meanwhile wait, so the question is
    /// asked once.
    #[cold]
    fn settle(&self, dir: DentryId, name: &[u8], entry: &Pinned<'_>, trust: Trust) -> Result<Settled, Errno> {
        let caches = &self.caches;
        let _names = dir_lock::exclusive(caches.dentries.lock(dir));
        // Read before the word: a report that comes later is not overlooked.
        let asked = caches.doubts.of_names(dir);
        let word = caches.dentries.word(entry.id());
        if trust == Trust::Cache && word & flags::DOUBTFUL == 0
            || word & flags::UNHASHED != 0
            || caches.dentries.parent(entry.id()) != dir
        {
            return Ok(Settled::Changed);
        }
        let superblock = self.superblock_at(dir);
        let (directory, wanted) = (Directory::new(caches, dir), Name::new(name)?);
        if word & flags::SWEPT != 0
            && trust == Trust::Cache
            && let Some(freshness) = superblock.fs.confirm(&directory, wanted, self.key_of_entry(entry.id()))?
        {
            caches.confirm(dir, entry.id(), freshness, asked);
            return Ok(Settled::Holds);
        }
        // What is known to be absent has nothing that could be kept.
        if word & flags::NEGATIVE == 0 {
            superblock.looked_up();
            if let Some(node) = superblock.fs.lookup(&directory, wanted)? {
                superblock.fs.forget(node.key);
                let id = caches.dentries.inode(entry.id());
                let record = caches.inodes.record(id);
                let kind = inode::kind_of(record[inode::WORD].load(Ordering::Relaxed));
                if (inode::key_of(record), kind) == (node.key, node.attributes.kind) {
                    caches.compare(id, &node.attributes);
                    caches.confirm(dir, entry.id(), node.freshness, asked);
                    return Ok(Settled::Holds);
                }
            }
        }
        caches.unhash(dir, entry.id(), NameIs::Unknown, &caches.dentries.children_lock(dir));
        Ok(Settled::Dropped)
    }

    /// Gives back an entry that was dropped, and leaves it to the next thread that changes mounts
    /// if something is mounted on it. Its node may have changed with its name.
    pub(super) fn let_go(&self, entry: Pinned<'_>) {
        let inode = self.caches.dentries.inode(entry.id());
        if inode != InodeId::NONE {
            self.caches.mark_unknown(inode);
        }
        if self.caches.dentries.word(entry.id()) & flags::MOUNTED != 0 {
            self.dropped.add(vec![entry]);
        } else {
            self.caches.discard(entry.into_id());
        }
    }

    /// Asks the file system whether an entry is valid. With `AskAlways`, it also asks whether its
    /// node still exists.
    fn still_valid(&self, dir: DentryId, name: &[u8], id: DentryId, trust: Trust) -> Result<bool, Errno> {
        let _names = dir_lock::shared(self.caches.dentries.lock(dir));
        let is_valid = self.is_valid(dir, Name::new(name)?, id)?;
        let inode = self.caches.dentries.inode(id);
        let gone = || inode != InodeId::NONE && trust == Trust::AskAlways && self.refresh(inode) == Err(Errno::ESTALE);
        Ok(is_valid && !gone())
    }

    /// Asks the file system whether an entry is valid. The caller holds the directory's lock.
    pub(super) fn is_valid(&self, dir: DentryId, name: Name<'_>, id: DentryId) -> Result<bool, Errno> {
        let key = self.key_of_entry(id);
        let validity = self.superblock_at(dir).fs.revalidate(&Directory::new(&self.caches, dir), name, key)?;
        Ok(validity == Validity::Valid)
    }

    /// Returns the key of an entry's node; `None` for an absence.
    fn key_of_entry(&self, id: DentryId) -> Option<NodeKey> {
        let is_present = self.caches.dentries.word(id) & flags::NEGATIVE == 0;
        is_present.then(|| inode::key_of(self.caches.inodes.record(self.caches.dentries.inode(id))))
    }

    /// Asks the file system for a name that is not cached. `None` means: search the cache again.
    fn look_up(&self, dir: DentryId, name: &[u8], trust: Trust, early: Option<&mut Early>) -> Result<Option<Pinned<'_>>, Errno> {
        let names = dir_lock::shared(self.caches.dentries.lock(dir));
        if self.caches.dentries.word(dir) & flags::REMOVED != 0 {
            return Err(Errno::ENOENT);
        }
        if name.len() > NAME_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        if trust == Trust::Cache && self.asked_for_all(dir) {
            return Ok(None);
        }
        let superblock = self.superblock_at(dir);
        let asking = match self.caches.begin_lookup(dir, name, self.absence_in(dir))? {
            Missing::Found(other) => {
                drop(names);
                drop(Pinned::new(&self.caches, other));
                return Ok(None);
            }
            Missing::Absent(entry) => return Ok(Some(Pinned::new(&self.caches, entry))),
            Missing::Ask(asking) => asking,
        };
        let reserved = self.caches.reserve_inode()?;
        let asked = self.caches.versions.ask();
        superblock.looked_up();
        match self.ask(&superblock, dir, Name::new(name)?, early)? {
            None => {
                self.caches.make_negative(asking.dentry(), self.absence_in(dir));
                return Ok(Some(Pinned::new(&self.caches, asking.answered())));
            }
            Some(node) => match self.iget(&superblock, asking.dentry(), &node, reserved, Origin::Found(asked)) {
                Ok(()) => {}
                Err(NotGiven::Failed(errno)) => return Err(errno),
                Err(NotGiven::AliasElsewhere(inode)) => {
                    drop(asking);
                    drop(names);
                    return self.splice(dir, name, &node, &inode).map(|()| None);
                }
            },
        }
        let found = Pinned::new(&self.caches, asking.answered());
        self.asked_for_one(dir, trust);
        Ok(Some(found))
    }

    /// Asks the file system for a name, and for the open file if the caller has a use for it.
    fn ask(
        &self,
        superblock: &Superblock,
        dir: DentryId,
        name: Name<'_>,
        early: Option<&mut Early>,
    ) -> Result<Option<Node>, Errno> {
        let directory = Directory::new(&self.caches, dir);
        let Some(early) = early else { return superblock.fs.lookup(&directory, name) };
        let found = superblock.fs.lookup_to_read(&directory, name, early.expected)?;
        let Some(FoundToRead { node, file }) = found else { return Ok(None) };
        early.bring(self.caches.superblock_of(self.caches.dentries.inode(dir)), node.key, file);
        Ok(Some(node))
    }

    /// Moves the dentry of a directory, with all below it, to this name. The directory turned up
    /// under another name than it is cached by: it was moved in the file system without the engine,
    /// or its old name was dropped while it was pinned. `ELOOP` if that would put it below itself.
    fn splice(&self, dir: DentryId, name: &[u8], node: &Node, inode: &PinnedInode<'_>) -> Result<(), Errno> {
        let moves = self.caches.moves.lock();
        let Some(alias) = self.pin_alias(inode) else { return Ok(()) };
        if self.caches.is_above(alias.id(), dir, &moves) {
            return Err(Errno::ELOOP);
        }
        let new_name = self.caches.new_name(name)?;
        // Pinned, because its lock lies in its slot, and the move gives back the pin of its child.
        let old_parent = Pinned::new(&self.caches, self.caches.pin_parent(alias.id()));
        let _names = self.caches.lock_both(old_parent.id(), dir, Some(&moves));
        let there = self.caches.find_exact(dir, name).map(|id| Pinned::new(&self.caches, id));
        // A name that was only listed has an entry without an answer of the file system.
        let is_answered = |there: &Pinned<'_>| self.caches.dentries.word(there.id()) & flags::LISTED == 0;
        if self.caches.dentries.word(dir) & flags::REMOVED != 0 || there.as_ref().is_some_and(is_answered) {
            return Ok(());
        }
        // Under the lock, the answer may be another.
        let superblock = self.superblock_at(dir);
        let (sweeps, asked) = (self.caches.doubts.sweeps(), self.caches.doubts.of_names(dir));
        let again = superblock.fs.lookup(&Directory::new(&self.caches, dir), Name::new(name)?)?;
        let Some(again) = again else { return Ok(()) };
        superblock.fs.forget(again.key);
        if again.key == node.key {
            if let Some(listed) = there {
                self.caches.unhash(dir, listed.id(), NameIs::Gone, &self.caches.dentries.children_lock(dir));
                self.caches.discard(listed.into_id());
            }
            self.caches.compare(inode.id(), &again.attributes);
            self.caches.move_dentry(alias.id(), dir, new_name, Answer { asked, sweeps, freshness: Some(again.freshness) });
        }
        Ok(())
    }

    /// Returns the one dentry of a directory's inode, pinned, unless it is dying.
    pub(super) fn pin_alias(&self, inode: &PinnedInode<'_>) -> Option<Pinned<'_>> {
        let inode = inode.id();
        let _held = self.caches.lock_inode(inode);
        let alias = inode::aux_of(self.caches.inodes.record(inode)[LINKS_AUX].load(Ordering::Relaxed));
        if alias == 0 || alias == MANY {
            return None;
        }
        let id = DentryId(alias);
        let life = self.caches.dentries.life(id);
        pin::read(life).filter(|of| pin::pin(life, *of)).map(|_| Pinned::new(&self.caches, id))
    }
}
