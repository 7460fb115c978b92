//! Changes of names: the caches' side of create, link, unlink and rename.
//!
//! Names here are single components in pinned directories, and permission is not asked for: that is the business of the operations that
//! take paths. Each change holds its directories' locks exclusively over the file system's call and over the change of the cache that
//! follows, so that no lookup comes between. What the cache needs is reserved before the file system is called: a change that was made
//! cannot fail to be cached.

use crate::Errno;
use crate::attr::Attributes;
use crate::dcache::dentry::{DentryId, InodeId, flags};
use crate::dcache::in_lookup::Missing;
use crate::fs_api::{Directory, Freshness, Name, NewNode, RenameFlags, SetAttributes};
use crate::handle::Handle;
use crate::icache::iget::PinnedInode;
use crate::icache::inode::key_of;
use crate::memory::dir_lock;
use crate::vfs::{Core, Pinned};

/// Makes a node. `EEXIST` if the name is taken, `ENOENT` in a removed directory.
pub(crate) fn create(dir: &Handle, name: Name<'_>, new: &NewNode<'_>) -> Result<Handle, Errno> {
    let core = dir.vfs().core();
    let _names = core.lock_directory(dir.dentry())?;
    let negative = core.absent_in(dir.dentry(), name)?;
    let reserved = core.reserve_inode()?;
    let node = core.fs.create(&Directory::new(core, dir.dentry()), name, new)?;
    core.mark_stale(core.dentries.inode(dir.dentry()));
    let inode = core.iget(&node, reserved, None)?;
    if core.instantiate(negative.id(), inode, node.freshness).is_err() {
        // The file system gave a new directory the key of another: nothing is known of the name any more.
        core.unhash(dir.dentry(), negative.id(), &core.dentries.children_lock(dir.dentry()));
        return Err(Errno::EIO);
    }
    Ok(Handle::from_pinned(dir.vfs(), negative.into_id()))
}

/// Gives a node another name.
pub(crate) fn link(node: &Handle, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    let core = dir.vfs().core();
    if !node.vfs().is(dir.vfs()) {
        return Err(Errno::EXDEV);
    }
    let _names = core.lock_directory(dir.dentry())?;
    let negative = core.absent_in(dir.dentry(), name)?;
    let inode = core.dentries.inode(node.dentry());
    let key = key_of(core.inodes.record(inode));
    let linked = core.fs.link(key, &Directory::new(core, dir.dentry()), name)?;
    core.fs.forget(linked.key);
    core.mark_stale(inode);
    core.mark_stale(core.dentries.inode(dir.dentry()));
    let pinned = PinnedInode::again(core, inode);
    if core.instantiate(negative.id(), pinned, linked.freshness).is_err() {
        // The file system links directories.
        core.unhash(dir.dentry(), negative.id(), &core.dentries.children_lock(dir.dentry()));
        return Err(Errno::EIO);
    }
    Ok(())
}

/// Takes a name away. `ENOENT` if it is not there; a directory's file system says `ENOTEMPTY`.
pub(crate) fn unlink(dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
    let core = dir.vfs().core();
    let _names = core.lock_directory(dir.dentry())?;
    let victim = core.present_in(dir.dentry(), name)?;
    let is_directory = core.dentries.word(victim.id()) & flags::DIRECTORY != 0;
    // Nothing is looked up in a directory while it goes.
    let below = is_directory.then(|| dir_lock::exclusive(core.dentries.lock(victim.id())));
    let inode = core.dentries.inode(victim.id());
    core.fs.unlink(&Directory::new(core, dir.dentry()), name, key_of(core.inodes.record(inode)))?;
    core.remove(dir.dentry(), &victim);
    // The lock lies in the slot that is given back.
    drop(below);
    core.discard(victim.into_id());
    core.leave_absence(dir.dentry(), name);
    core.mark_stale(core.dentries.inode(dir.dentry()));
    Ok(())
}

/// Moves `from` to `to`. `EINVAL` for a directory into itself, `ENOTEMPTY` over one of its own ancestors.
pub(crate) fn rename(from: (&Handle, Name<'_>), to: (&Handle, Name<'_>), how: RenameFlags) -> Result<(), Errno> {
    let core = from.0.vfs().core();
    if !from.0.vfs().is(to.0.vfs()) {
        return Err(Errno::EXDEV);
    }
    if how.contains(RenameFlags::EXCHANGE | RenameFlags::NOREPLACE) {
        return Err(Errno::EINVAL);
    }
    let (from_dir, to_dir) = (from.0.dentry(), to.0.dentry());
    let _moves = (from_dir != to_dir).then(|| core.moves.lock());
    let _names = core.lock_both(from_dir, to_dir);
    core.not_removed(from_dir)?;
    core.not_removed(to_dir)?;
    let source = core.present_in(from_dir, from.1)?;
    let target = core.entry_in(to_dir, to.1)?;
    if from_dir != to_dir && core.is_above(source.id(), to_dir) {
        return Err(Errno::EINVAL);
    }
    if from_dir != to_dir && core.is_above(target.id(), from_dir) {
        return Err(if how.contains(RenameFlags::EXCHANGE) { Errno::EINVAL } else { Errno::ENOTEMPTY });
    }
    let present = core.dentries.word(target.id()) & flags::NEGATIVE == 0;
    if present && how.contains(RenameFlags::NOREPLACE) {
        return Err(Errno::EEXIST);
    }
    if !present && how.contains(RenameFlags::EXCHANGE) {
        return Err(Errno::ENOENT);
    }
    if present && core.dentries.inode(source.id()) == core.dentries.inode(target.id()) {
        return Ok(());
    }
    core.rename_locked((&source, from), (&target, to), how)?;
    if !how.contains(RenameFlags::EXCHANGE) {
        core.discard(target.into_id());
    }
    Ok(())
}

/// Sets attributes.
pub(crate) fn set_attributes(node: &Handle, set: &SetAttributes) -> Result<Attributes, Errno> {
    let core = node.vfs().core();
    core.set_attributes(core.dentries.inode(node.dentry()), set)
}

impl Core {
    fn lock_directory(&self, dir: DentryId) -> Result<dir_lock::Exclusive<'_>, Errno> {
        let held = dir_lock::exclusive(self.dentries.lock(dir));
        self.not_removed(dir)?;
        Ok(held)
    }

    fn not_removed(&self, dir: DentryId) -> Result<(), Errno> {
        let word = self.dentries.word(dir);
        if word & flags::DIRECTORY == 0 {
            return Err(Errno::ENOTDIR);
        }
        if word & flags::REMOVED != 0 { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// The entry of a name, present or negative, asking the file system if need be. The directory's lock is held exclusively.
    fn entry_in(&self, dir: DentryId, name: Name<'_>) -> Result<Pinned<'_>, Errno> {
        if let Some(found) = self.find_exact(dir, name.bytes()) {
            return Ok(Pinned::new(self, found));
        }
        let asking = match self.begin_lookup(dir, name.bytes())? {
            Missing::Found(found) => return Ok(Pinned::new(self, found)),
            Missing::Ask(asking) => asking,
        };
        let reserved = self.reserve_inode()?;
        let asked = self.versions.ask();
        self.counters.fs_lookup();
        match self.fs.lookup(&Directory::new(self, dir), name)? {
            None => self.make_negative(asking.dentry()),
            Some(node) => {
                let inode = self.iget(&node, reserved, Some(asked))?;
                if self.instantiate(asking.dentry(), inode, node.freshness).is_err() {
                    // It was moved behind our back: let a walk find out first.
                    return Err(Errno::ESTALE);
                }
            }
        }
        Ok(Pinned::new(self, asking.answered()))
    }

    fn present_in(&self, dir: DentryId, name: Name<'_>) -> Result<Pinned<'_>, Errno> {
        let entry = self.entry_in(dir, name)?;
        if self.dentries.word(entry.id()) & flags::NEGATIVE != 0 { Err(Errno::ENOENT) } else { Ok(entry) }
    }

    fn absent_in(&self, dir: DentryId, name: Name<'_>) -> Result<Pinned<'_>, Errno> {
        let entry = self.entry_in(dir, name)?;
        if self.dentries.word(entry.id()) & flags::NEGATIVE != 0 { Ok(entry) } else { Err(Errno::EEXIST) }
    }

    /// The part of a rename under all locks.
    fn rename_locked(
        &self,
        (source, from): (&Pinned<'_>, (&Handle, Name<'_>)),
        (target, to): (&Pinned<'_>, (&Handle, Name<'_>)),
        how: RenameFlags,
    ) -> Result<(), Errno> {
        let (from_dir, to_dir) = (from.0.dentry(), to.0.dentry());
        let new_name = self.new_name(to.1.bytes())?;
        let old_name = self.new_name(from.1.bytes())?;
        let target_word = self.dentries.word(target.id());
        let exchange = how.contains(RenameFlags::EXCHANGE);
        // Nothing is looked up in a directory while it is replaced.
        let replaced = target_word & flags::DIRECTORY != 0 && !exchange;
        let below = replaced.then(|| dir_lock::exclusive(self.dentries.lock(target.id())));
        let dirs = (Directory::new(self, from_dir), Directory::new(self, to_dir));
        self.fs.rename((&dirs.0, from.1), (&dirs.1, to.1), how)?;
        let (source_inode, target_inode) = (self.dentries.inode(source.id()), self.dentries.inode(target.id()));
        if exchange {
            self.exchange_dentries(source.id(), new_name, target.id(), old_name);
        } else {
            drop(old_name);
            self.remove(to_dir, target);
            drop(below);
            self.move_dentry(source.id(), to_dir, new_name);
            self.leave_absence(from_dir, from.1);
        }
        // A target that was replaced was marked when it was removed.
        let exchanged = if exchange { target_inode } else { InodeId::NONE };
        let touched = [source_inode, exchanged, self.dentries.inode(from_dir), self.dentries.inode(to_dir)];
        touched.into_iter().filter(|inode| *inode != InodeId::NONE).for_each(|inode| self.mark_stale(inode));
        Ok(())
    }

    /// Takes the entry of a name that is gone, or a negative one that is in the way, out of the table. Whoever has a pin on it keeps it,
    /// and its inode.
    fn remove(&self, dir: DentryId, entry: &Pinned<'_>) {
        self.unhash(dir, entry.id(), &self.dentries.children_lock(dir));
        let word = self.dentries.word(entry.id());
        if word & flags::NEGATIVE != 0 {
            return;
        }
        self.mark_removed(entry.id());
        if word & flags::DIRECTORY != 0 {
            self.drop_children(entry.id());
        }
        self.mark_stale(self.dentries.inode(entry.id()));
    }

    fn mark_removed(&self, id: DentryId) {
        use crate::dcache::dentry::WORD;
        let writing = crate::memory::seqcount::write(&self.dentries.line(id)[WORD]);
        let flags = writing.flags() | flags::REMOVED;
        writing.end(flags);
    }

    /// Puts a negative entry where a name was taken away: it is likely to be asked for again. Without room, it is left out.
    fn leave_absence(&self, dir: DentryId, name: Name<'_>) {
        if self.fs.absence() == Freshness::AskEachTime {
            return;
        }
        if let Ok(Missing::Ask(asking)) = self.begin_lookup(dir, name.bytes()) {
            self.make_negative(asking.dentry());
            self.dentries.unpin(asking.answered());
        }
    }
}
