//! Changes of names: the caches' side of create, link, unlink and rename.
//!
//! Names here are single components in pinned directories. Permission is not checked: the
//! operations that take paths do that. Each change holds its directories' locks exclusively during
//! the file system's call and the change of the cache that follows, so that no lookup comes
//! between. What the cache needs is reserved before the file system is called: a change that was
//! made cannot fail to be cached.

use super::Trees;
use super::entry::{Locked, LockedBoth};
use super::iget::Origin;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::children::NameIs;
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::doubt::{OfNames, Sweeps};
use crate::cache::dcache::rename::Answer;
use crate::cache::icache::hold::{NotGiven, PinnedInode};
use crate::cache::icache::inode::{LINKS_AUX, WORD, flags as inode_flags, key_of};
use crate::fs_api::Directory;
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{dir_lock, pin, seqcount};
use crate::node::{Freshness, NewKind, NewNode, RenameFlags};
use crate::sync::Ordering;
use crate::text::Name;

/// The result of making a node under a name.
pub(crate) enum Made<'a> {
    /// The new node.
    New(Pinned<'a>),
    /// The node that has the name already.
    There(Pinned<'a>),
}

impl Trees {
    /// Makes the node that `new` returns, if nothing has the name. `new` is called once that is
    /// certain. `ENOENT` in a removed directory.
    pub(crate) fn make<'n>(
        &self,
        dir: DentryId,
        name: &[u8],
        new: impl FnOnce() -> Result<NewNode<'n>, Errno>,
    ) -> Result<Made<'_>, Errno> {
        self.caches.inodes.fetch_next();
        let Locked { names: _names, name, entry } = self.lock_name(dir, name)?;
        if !self.is_absent(&entry) {
            return Ok(Made::There(entry));
        }
        let new = new()?;
        let superblock = self.superblock_at(dir);
        let reserved = self.caches.reserve_inode()?;
        let asked = self.caches.doubts.of_nodes();
        let node = self.caches.with_room(|| superblock.fs.create(&Directory::new(&self.caches, dir), name, &new))?;
        self.caches.mark_stale(self.caches.dentries.inode(dir));
        let empty = (new.kind == NewKind::Directory).then(|| self.caches.begin_empty(entry.id()));
        if let Err(why) = self.iget(&superblock, entry.id(), &node, reserved, Origin::Made(asked)) {
            return Err(self.unknown(dir, &entry, why));
        }
        self.tell_created((dir, name), &entry);
        if let Some(empty) = empty {
            // Asked with the directory in the caches, so that a panic leaves nothing half done.
            if self.absence_lasts(entry.id()) {
                self.caches.end_empty(entry.id(), &empty, asked);
            } else {
                self.caches.no_longer_complete(entry.id());
            }
        }
        Ok(Made::New(entry))
    }

    /// Gives a node another name. `check` is called once it is certain that nothing has the name.
    pub(crate) fn link(
        &self,
        node: DentryId,
        dir: DentryId,
        name: &[u8],
        check: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let Locked { names: _names, name, entry } = self.lock_name(dir, name)?;
        if !self.is_absent(&entry) {
            return Err(Errno::EEXIST);
        }
        let (inode, superblock) = (self.caches.dentries.inode(node), self.superblock_at(dir));
        // A removal of the last name comes entirely before or after, so a node without names does
        // not come back.
        let _changing = self.caches.inodes.changing(inode);
        check()?;
        let key = key_of(self.caches.inodes.record(inode));
        let linked = self.caches.with_room(|| superblock.fs.link(key, &Directory::new(&self.caches, dir), name))?;
        superblock.fs.forget(linked.key);
        self.caches.mark_stale(inode);
        self.caches.mark_stale(self.caches.dentries.inode(dir));
        let given = self.caches.instantiate(entry.id(), PinnedInode::again(&self.caches, inode), linked.freshness);
        given.map_err(|why| self.unknown(dir, &entry, why))?;
        self.tell_created((dir, name), &entry);
        Ok(())
    }

    /// Drops all knowledge of a name, because the file system made the name for a node that it
    /// cannot be the name of. Returns the reason, or `EIO` if it is a second name of a directory.
    fn unknown(&self, dir: DentryId, entry: &Pinned<'_>, why: NotGiven<'_>) -> Errno {
        self.caches.unhash(dir, entry.id(), NameIs::Unknown, &self.caches.dentries.children_lock(dir));
        why.or(Errno::EIO)
    }

    /// Removes a name, if `check` allows it for the entry. Returns the entry if something is
    /// mounted on it. `ENOENT` if there is no such name; `ENOTEMPTY` comes from the file system of
    /// a directory.
    pub(crate) fn unlink(
        &self,
        dir: DentryId,
        name: &[u8],
        check: impl FnOnce(&Pinned<'_>) -> Result<(), Errno>,
    ) -> Result<Option<Pinned<'_>>, Errno> {
        let Locked { names: _names, name, entry: victim } = self.lock_name(dir, name)?;
        if self.is_absent(&victim) {
            return Err(Errno::ENOENT);
        }
        check(&victim)?;
        let is_directory = self.caches.dentries.word(victim.id()) & flags::DIRECTORY != 0;
        // Nothing is looked up in a directory while it is removed.
        let below = is_directory.then(|| dir_lock::exclusive(self.caches.dentries.lock(victim.id())));
        let inode = self.caches.dentries.inode(victim.id());
        let _changing = self.caches.inodes.changing(inode);
        let superblock = self.superblock_at(dir);
        let (asked, sweeps) = (self.caches.doubts.of_names(dir), self.caches.doubts.sweeps());
        let absence = self.absence_in(dir);
        let heard = self.heard(&victim);
        superblock.fs.unlink(&Directory::new(&self.caches, dir), name, key_of(self.caches.inodes.record(inode)))?;
        self.caches.mark_stale(self.caches.dentries.inode(dir));
        if is_directory {
            self.caches.drop_children(victim.id());
        }
        // A subscriber that is told asks again, and finds what is true by now.
        if self.turn_negative(&victim, absence, sweeps) {
            self.tell_removed((dir, name), heard);
            self.caches.collect_left();
            return Ok(None);
        }
        self.remove(dir, &victim, sweeps);
        self.tell_removed((dir, name), heard);
        // The lock lies in the slot that is given back.
        drop(below);
        let covered = self.discard_unless_covered(victim);
        self.leave_absence(dir, name, absence, asked);
        Ok(covered)
    }

    /// Moves `from` to `to`. Returns the replaced entry if something is mounted on it.
    ///
    /// `check` is called with both entries, of which the target's may be negative. It comes after
    /// `RENAME_NOREPLACE` and `RENAME_EXCHANGE`, `trailing`, `EINVAL` for a directory into itself,
    /// and `ENOTEMPTY` over one of its own ancestors. It is not called if both names are of one
    /// inode, because then nothing is done.
    pub(crate) fn rename(
        &self,
        from: (DentryId, &[u8]),
        to: (DentryId, &[u8]),
        how: RenameFlags,
        trailing: impl FnOnce(&Pinned<'_>, &Pinned<'_>) -> Result<(), Errno>,
        permitted: impl FnOnce(&Pinned<'_>, &Pinned<'_>) -> Result<(), Errno>,
        check: impl FnOnce(&Pinned<'_>, &Pinned<'_>) -> Result<(), Errno>,
    ) -> Result<Option<Pinned<'_>>, Errno> {
        if how.contains(RenameFlags::EXCHANGE | RenameFlags::NOREPLACE) {
            return Err(Errno::EINVAL);
        }
        let (from_dir, to_dir) = (from.0, to.0);
        let LockedBoth { moves, names: _names, from, source, to, target } = self.lock_names(from, to)?;
        let present = !self.is_absent(&target);
        if present && how.contains(RenameFlags::NOREPLACE) {
            return Err(Errno::EEXIST);
        }
        if !present && how.contains(RenameFlags::EXCHANGE) {
            return Err(Errno::ENOENT);
        }
        trailing(&source, &target)?;
        if let Some(moves) = &moves {
            if self.caches.is_above(source.id(), to_dir, moves) {
                return Err(Errno::EINVAL);
            }
            if self.caches.is_above(target.id(), from_dir, moves) {
                return Err(if how.contains(RenameFlags::EXCHANGE) { Errno::EINVAL } else { Errno::ENOTEMPTY });
            }
        }
        permitted(&source, &target)?;
        if present && self.caches.dentries.inode(source.id()) == self.caches.dentries.inode(target.id()) {
            return Ok(None);
        }
        check(&source, &target)?;
        self.rename_locked((&source, (from_dir, from)), (&target, (to_dir, to)), how)?;
        let is_out = self.caches.dentries.word(target.id()) & flags::UNHASHED != 0;
        Ok(if is_out { self.discard_unless_covered(target) } else { None })
    }

    /// Gives back a removed entry. Returns it instead if something is mounted on it.
    fn discard_unless_covered<'a>(&'a self, removed: Pinned<'a>) -> Option<Pinned<'a>> {
        // A thread that mounts something on it sets the flag, and then sees that it was removed; or
        // this thread sees the flag.
        if self.caches.dentries.word(removed.id()) & flags::MOUNTED != 0 {
            return Some(removed);
        }
        self.caches.discard_out(removed.into_id());
        None
    }

    /// Makes a regular file that has no name, in the file system of `dir`: unhashed, pinned.
    /// `REMOVED` records that it must not get a name.
    pub(crate) fn make_unnamed(&self, dir: DentryId, new: &NewNode<'_>) -> Result<Pinned<'_>, Errno> {
        let superblock = self.superblock_at(dir);
        let reserved = self.caches.reserve_inode()?;
        let entry = Pinned::new(&self.caches, self.caches.new_dentry(dir, b"", flags::IN_LOOKUP)?);
        let asked = self.caches.doubts.of_nodes();
        let made =
            self.caches.with_room(|| superblock.fs.create_unnamed(&Directory::new(&self.caches, dir), new)).and_then(|node| {
                let given = self.iget(&superblock, entry.id(), &node, reserved, Origin::Made(asked));
                given.map_err(|why| why.or(Errno::EIO))
            });
        match made {
            Ok(_) => Ok(entry),
            Err(errno) => {
                // An entry without a node would pin the directory, even beyond its removal.
                self.caches.discard(entry.into_id());
                Err(errno)
            }
        }
    }
}

impl Trees {
    /// Does the part of a rename that needs all locks.
    fn rename_locked(
        &self,
        (source, from): (&Pinned<'_>, (DentryId, Name<'_>)),
        (target, to): (&Pinned<'_>, (DentryId, Name<'_>)),
        how: RenameFlags,
    ) -> Result<(), Errno> {
        let (from_dir, to_dir) = (from.0, to.0);
        let new_name = self.caches.new_name(to.1.bytes())?;
        let old_name = self.caches.new_name(from.1.bytes())?;
        let target_word = self.caches.dentries.word(target.id());
        let exchange = how.contains(RenameFlags::EXCHANGE);
        // Nothing is looked up in a directory while it is replaced.
        let replaces_directory = target_word & flags::DIRECTORY != 0 && !exchange;
        let below = replaces_directory.then(|| dir_lock::exclusive(self.caches.dentries.lock(target.id())));
        let loses_name = target_word & flags::NEGATIVE == 0 && !exchange;
        let _changing = loses_name.then(|| self.caches.inodes.changing(self.caches.dentries.inode(target.id())));
        let dirs = (Directory::new(&self.caches, from_dir), Directory::new(&self.caches, to_dir));
        // The file system is not called again after it has made the change.
        let superblock = self.superblock_at(from_dir);
        let doubts = &self.caches.doubts;
        let (sweeps, asked_from, asked_to) = (doubts.sweeps(), doubts.of_names(from_dir), doubts.of_names(to_dir));
        let lasts = self.absence_in(from_dir);
        let replaced = loses_name.then(|| self.heard(target));
        self.caches.with_room(|| superblock.fs.rename((&dirs.0, from.1), (&dirs.1, to.1), how))?;
        let (source_inode, target_inode) = (self.caches.dentries.inode(source.id()), self.caches.dentries.inode(target.id()));
        let (source_id, target_id) = (source.id(), target.id());
        // A negative entry of the target becomes that of the old name, where absences last.
        let names = if exchange {
            self.caches.exchange_dentries((source_id, new_name), (target_id, old_name), sweeps);
            None
        } else if target_word & flags::NEGATIVE != 0 && lasts != Freshness::AskEachTime {
            self.caches.exchange_with_absence((source_id, new_name), (target_id, old_name), sweeps).err()
        } else {
            Some([new_name, old_name])
        };
        if let Some([new_name, _]) = names {
            self.remove(to_dir, target, sweeps);
            self.caches.move_dentry(source_id, to_dir, new_name, Answer { asked: asked_to, sweeps, freshness: None });
            // Released here, so that a thread that finds the directory replaced also finds its
            // replacement.
            drop(below);
            self.leave_absence(from_dir, from.1, lasts, asked_from);
        }
        // A replaced target was marked when it was removed.
        let exchanged = if exchange { target_inode } else { InodeId::NONE };
        let second = if from_dir == to_dir { InodeId::NONE } else { self.caches.dentries.inode(to_dir) };
        let touched = [source_inode, exchanged, self.caches.dentries.inode(from_dir), second];
        touched.into_iter().filter(|inode| *inode != InodeId::NONE).for_each(|inode| self.caches.mark_stale(inode));
        self.tell_renamed(from, to, source, replaced);
        if exchange {
            self.tell_renamed(to, from, target, None);
        }
        Ok(())
    }

    /// Turns the entry of a removed name negative in its place, if the caller has the only pin on
    /// it. If it is a directory, nothing is cached in it. The directory's lock is held exclusively.
    /// Returns false if another thread has a pin on the entry, which then keeps the entry and its
    /// inode.
    ///
    /// The entry dies and is revived, in its place in the table and in the list. Meanwhile, no
    /// thread relies on a listed dentry being pinned: code that does so holds the directory's lock.
    /// A walk that sampled the entry finds it dead, or its count moved.
    fn turn_negative(&self, entry: &Pinned<'_>, absence: Freshness, sweeps: Sweeps) -> bool {
        let life = self.caches.dentries.life(entry.id());
        if absence == Freshness::AskEachTime || !pin::kill_held(life) {
            return false;
        }
        let inode = self.caches.dentries.inode(entry.id());
        // This is done while the entry still has the inode: a thread that is looking up another
        // name of the inode may have an old answer.
        if !self.had_one_name(inode) {
            self.caches.mark_stale(inode);
        }
        let others = self.caches.part(entry.id(), inode, || {
            self.caches.make_negative(entry.id(), absence);
            pin::revive(life);
        });
        // The inode is still in use by another name, or by a dropped entry.
        if let Some(inode) = others {
            self.mark_left(inode.id(), sweeps);
        }
        true
    }

    /// Returns whether a name that was just removed was the only one of an inode on which the
    /// caller has a pin. Then only those that have the inode already can reach it. A thread that
    /// gives it a name meanwhile marks it afterwards.
    fn had_one_name(&self, id: InodeId) -> bool {
        let record = self.caches.inodes.record(id);
        let word = seqcount::sample(&record[WORD]);
        let links = record[LINKS_AUX].load(Ordering::Relaxed) >> 32;
        let is_known = word & (seqcount::ODD | inode_flags::STALE | inode_flags::UNKNOWN) == 0;
        is_known && links == 1 && seqcount::unchanged(&record[WORD], word)
    }

    /// Takes the entry of a removed name, or a negative one that is in the way, out of the table. A
    /// holder of a pin keeps the entry and its inode.
    fn remove(&self, dir: DentryId, entry: &Pinned<'_>, sweeps: Sweeps) {
        let lock = || self.caches.dentries.children_lock(dir);
        let (held, _) = self.caches.lock_beside_sweeps(sweeps, &[entry.id()], lock);
        self.caches.unhash(dir, entry.id(), NameIs::Gone, &held);
        drop(held);
        let word = self.caches.dentries.word(entry.id());
        if word & flags::NEGATIVE != 0 {
            return;
        }
        self.mark_removed(entry.id());
        if word & flags::DIRECTORY != 0 {
            self.caches.drop_children(entry.id());
        }
        self.caches.mark_stale(self.caches.dentries.inode(entry.id()));
    }

    /// Marks an inode that lost a name as out of date. A sweep that ran meanwhile may not have
    /// found it, so then nothing is known of it.
    fn mark_left(&self, inode: InodeId, sweeps: Sweeps) {
        if self.caches.doubts.swept_since(sweeps) {
            self.caches.mark_unknown(inode);
        } else {
            self.caches.mark_stale(inode);
        }
    }

    pub(crate) fn mark_removed(&self, id: DentryId) {
        self.caches.change_flags(id, |flags| flags | flags::REMOVED);
    }

    /// Puts a negative entry where a name was removed, because the name is likely to be looked up
    /// again. Without room, or if there was a report about the directory since `asked` was read, it
    /// is left out. The directory's lock is held exclusively, so nothing else has the name.
    fn leave_absence(&self, dir: DentryId, name: Name<'_>, absence: Freshness, asked: OfNames) {
        if absence == Freshness::AskEachTime {
            return;
        }
        if let Ok(id) = self.caches.new_dentry(dir, name.bytes(), flags::IN_LOOKUP) {
            let held = self.caches.dentries.children_lock(dir);
            if self.caches.doubts.of_names(dir) != asked {
                drop(held);
                return self.caches.discard(id);
            }
            self.caches.make_negative(id, absence);
            self.caches.hash_in(dir, id, &held);
            drop(held);
            self.caches.dentries.unpin(id);
        }
    }
}
