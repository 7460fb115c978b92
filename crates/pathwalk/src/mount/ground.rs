//! The ground that the tree of mounts stands on (records, dentries and superblocks), and changes of
//! the tree, one after the other.
//!
//! What always holds: a change is seen as a whole. A walk that meets a place whose mount is about
//! to change waits for the end of the change, or finds the state before it (see
//! [`records`](super::records)). Work that may block, such as shutting a file system down, is done
//! after the tree is unlocked.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::changing::Changing;
use super::holders::Left;
use super::id_maps::IdMapNumber;
use super::place::Place;
use super::tree::{Attributes, Change, Ground, Tree};
use super::world::World;
use crate::Errno;
use crate::abi::{MountFlags, SuperblockFlags};
use crate::cache::dcache::dentry::{flags, guess_cover};
use crate::fs_api::FileSystem;
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::permission::IdMap;
use crate::superblock::superblock::Superblock;
use crate::superblock::trees::NoRoot;

/// One change of the tree, and the work that remains after it.
pub(crate) struct Work<'a> {
    world: &'a World,
    /// The change of the records, begun when the first record changes.
    changing: OnceCell<Changing<'a>>,
    /// The mounts that the change made.
    made: RefCell<Vec<MountId>>,
    /// The dentries that were covered, or were to be, each with a pin.
    uncovered: RefCell<Vec<DentryId>>,
    /// The dentries that were found removed when a mount was shown on them.
    late: RefCell<Vec<DentryId>>,
    /// The mounts that ended.
    ended: RefCell<Vec<MountId>>,
    /// The file systems that became read-only, each pinned by the caller.
    quiet: RefCell<Vec<SuperblockId>>,
}

impl World {
    /// Changes the tree. Blocks while another thread changes it, and while a file system is shut
    /// down whose last mount is gone.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Change<'_, Work<'_>>) -> T) -> T {
        let dropped = self.trees.dropped.take(self.caches());
        let mut tree = self.tree.lock();
        let work = Work::begin(self);
        dropped.iter().for_each(|point| tree.on(&work).detach_at(point.id()));
        let result = change(&mut tree.on(&work));
        let behind = work.end(&mut tree);
        drop(tree);
        behind.finish(self);
        self.trees.tell_mounts();
        dropped.into_iter().for_each(|point| self.caches().discard_out(point.into_id()));
        result
    }

    /// Unmounts, in all namespaces, what is mounted on entries that a file system invalidated when
    /// the caller asked it about them. Linux: `d_invalidate`.
    pub(crate) fn unmount_dropped(&self) {
        if !self.trees.dropped.is_empty() {
            self.change(|_| ());
        }
    }

    /// Mounts a file system as the root of the first namespace.
    pub(crate) fn mount_root(&mut self, fs: Arc<dyn FileSystem>, flags: MountFlags) -> Result<(), NoRoot> {
        let superblock = self.trees.enter(fs)?;
        let (id, root) = (superblock.id, superblock.root());
        drop(superblock);
        let (namespace, mount) = self.change(|change| change.new_namespace(id, root, Attributes::new(flags)))?;
        self.mounts.pin_again(mount);
        self.caches().dentries.pin_again(root);
        (self.root, self.namespace) = (Place::new(mount, root), namespace);
        Ok(())
    }

    /// Takes a file system in, with these switches beside its own, and calls `mount` to mount it.
    /// Shuts the file system down if that fails.
    pub(crate) fn with_superblock<T>(
        &self,
        fs: Arc<dyn FileSystem>,
        flags: SuperblockFlags,
        mount: impl FnOnce(SuperblockId, DentryId) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let superblock = self.trees.enter(fs).map_err(|why| match why {
            NoRoot::Failed(errno) => errno,
            NoRoot::NotADirectory => Errno::ENOTDIR,
        })?;
        let (id, root) = (superblock.id, superblock.root());
        superblock.set_flags(superblock.with_own(flags));
        // Counted as a mount would be, so that a mount that is undone does not shut the file system
        // down.
        superblock.mounted();
        drop(superblock);
        let mounted = mount(id, root);
        self.leave(id);
        mounted
    }

    /// Uncounts a mount of a file system; shuts the file system down if it was the last.
    fn leave(&self, superblock: SuperblockId) {
        let was_last = self.trees.superblocks.get(superblock).unmounted();
        if was_last {
            self.trees.shut_down(superblock);
        }
    }

    /// Gives a pin on a mount back. If it was the last pin, the mount ends. If that was the last
    /// mount of a file system, the file system is shut down, which blocks.
    pub(crate) fn unpin_mount(&self, mount: MountId) {
        match self.mounts.unpin(mount) {
            Left::Others => {}
            Left::Nothing => {
                if self.mounts.end_idle(mount) {
                    self.bury(mount);
                }
            }
            Left::Tree => self.change(|change| change.collect(mount)),
        }
    }

    /// Gives back what an ended mount held.
    fn bury(&self, mount: MountId) {
        let (root, superblock) = (self.mounts.root(mount), self.mounts.superblock(mount));
        self.trees.superblocks.get(superblock).unlist(mount);
        self.mounts.give(mount);
        self.give_back(root);
        self.leave(superblock);
    }

    /// Gives back a pin on a dentry, and evicts the dentry if it was removed.
    fn give_back(&self, dentry: DentryId) {
        let is_out = self.caches().dentries.word(dentry) & flags::UNHASHED != 0 && !self.caches().is_root(dentry);
        self.caches().dentries.unpin(dentry);
        if is_out {
            self.caches().try_evict(dentry);
        }
    }
}

impl Work<'_> {
    /// Keeps writers out of all mounts of a file system. Fails with `EBUSY`, and lets writers in
    /// again, if a mount has writers or if a node that has no name any more is held. Linux:
    /// `sb_prepare_remount_readonly`.
    fn bar_all(&self, of: &Superblock) -> Result<(), Errno> {
        let is_barred = of.listed().iter().all(|mount| self.world.mounts.refuse_writers(MountId(*mount), true));
        // The list is unlocked by now, since this may call the file system.
        let is_busy = if is_barred { self.world.trees.holds_removed(of.id) } else { Ok(true) };
        let result = is_busy.and_then(|is_busy| if is_busy { Err(Errno::EBUSY) } else { Ok(()) });
        if result.is_err() {
            of.listed().iter().for_each(|mount| self.admit_writers(MountId(*mount)));
        }
        result
    }
}

impl<'a> Work<'a> {
    fn begin(world: &'a World) -> Work<'a> {
        Work {
            world,
            changing: OnceCell::new(),
            made: RefCell::default(),
            uncovered: RefCell::default(),
            late: RefCell::default(),
            ended: RefCell::default(),
            quiet: RefCell::default(),
        }
    }

    pub(super) fn world(&self) -> &'a World {
        self.world
    }

    fn changing(&self) -> &Changing<'a> {
        self.changing.get_or_init(|| Changing::begin(&self.world.mounts))
    }

    /// Ends the change. The tree is still locked.
    fn end(self, tree: &mut Tree) -> Behind {
        for point in self.late.take() {
            tree.on(&self).detach_at(point);
        }
        for mount in self.made.take() {
            if let Some(number) = tree.number(mount) {
                self.changing().set_number(mount, number);
            }
        }
        let uncovered = self.uncovered.take();
        for &point in &uncovered {
            if !tree.is_mounted_on(point) {
                self.world.caches().change_flags(point, |flags| flags & !flags::MOUNTED);
            }
        }
        Behind { uncovered, ended: self.ended.take(), quiet: self.quiet.take() }
    }
}

/// The work that remains after a change, to be done with nothing locked.
struct Behind {
    uncovered: Vec<DentryId>,
    ended: Vec<MountId>,
    quiet: Vec<SuperblockId>,
}

impl Behind {
    fn finish(self, world: &World) {
        self.uncovered.into_iter().for_each(|point| world.give_back(point));
        self.ended.into_iter().for_each(|mount| world.bury(mount));
        for superblock in self.quiet {
            // An error is dropped, as when ext4 is remounted.
            _ = world.trees.superblocks.get(superblock).fs.sync();
        }
    }
}

impl Ground for Work<'_> {
    fn new_mount(&self, superblock: SuperblockId, root: DentryId, attributes: &Attributes) -> Result<MountId, Errno> {
        let caches = self.world.caches();
        let mount = self.world.mounts.take().ok_or(Errno::ENOSPC)?;
        caches.dentries.pin_again(root);
        caches.change_flags(root, |flags| flags | flags::ROOTED);
        let is_link = caches.dentries.word(root) & flags::LINK != 0;
        self.world.mounts.note_root(is_link, !caches.is_root(root));
        let of = self.world.trees.superblocks.get(superblock);
        of.mounted();
        of.list(mount);
        self.changing().fill(mount, root, (superblock, of.flags()), attributes);
        self.made.borrow_mut().push(mount);
        Ok(mount)
    }

    fn show(&self, mount: MountId, parent: MountId, point: DentryId) {
        let caches = self.world.caches();
        caches.dentries.pin_again(point);
        caches.change_flags(point, |flags| {
            if flags & flags::REMOVED != 0 {
                self.late.borrow_mut().push(point);
            }
            flags | flags::MOUNTED
        });
        guess_cover(caches.dentries.line(point), mount);
        self.changing().show(mount, Place::new(parent, point));
    }

    fn hide(&self, mount: MountId) {
        let at = self.changing().hide(mount);
        self.uncovered.borrow_mut().push(at.dentry());
    }

    fn set(&self, mount: MountId, attributes: &Attributes) {
        self.changing().set(mount, attributes);
    }

    fn allows_id_maps(&self, superblock: SuperblockId) -> bool {
        self.world.trees.superblocks.get(superblock).allows_id_maps
    }

    fn enter_id_map(&self, map: &IdMap) -> Result<IdMapNumber, Errno> {
        self.world.mounts.id_maps.enter(map)
    }

    fn bar_writers(&self, mount: MountId) -> bool {
        self.world.mounts.refuse_writers(mount, true)
    }

    fn admit_writers(&self, mount: MountId) {
        if !self.world.mounts.switches(mount).is_read_only() {
            self.world.mounts.refuse_writers(mount, false);
        }
    }

    fn superblock_flags(&self, superblock: SuperblockId) -> SuperblockFlags {
        self.world.trees.superblocks.get(superblock).flags()
    }

    fn set_superblock(&self, superblock: SuperblockId, to: SuperblockFlags) -> Result<(), Errno> {
        let of = self.world.trees.superblocks.get(superblock);
        let to = of.with_own(to);
        if to == of.flags() {
            return Ok(());
        }
        if to.contains(SuperblockFlags::READ_ONLY) {
            self.bar_all(&of)?;
            self.quiet.borrow_mut().push(superblock);
        }
        of.set_flags(to);
        let listed = of.listed();
        listed.iter().for_each(|mount| self.changing().set_superblock(MountId(*mount), to));
        Ok(())
    }

    fn is_busy(&self, mount: MountId) -> bool {
        self.world.mounts.is_busy(mount)
    }

    fn close(&self, mount: MountId) -> bool {
        let closed = self.world.mounts.end_held(mount);
        if closed {
            self.ended.borrow_mut().push(mount);
        }
        closed
    }

    fn release(&self, mount: MountId) {
        if self.world.mounts.unpin(mount) == Left::Nothing && self.world.mounts.end_idle(mount) {
            self.ended.borrow_mut().push(mount);
        }
    }

    fn expire(&self, mount: MountId) -> bool {
        self.changing().expire(mount)
    }

    fn linger(&self, mount: MountId) {
        self.changing().linger(mount);
    }

    fn root(&self, mount: MountId) -> DentryId {
        self.world.mounts.root(mount)
    }

    fn is_below(&self, dentry: DentryId, top: DentryId) -> bool {
        self.world.caches().is_below_at_last(dentry, top)
    }

    fn is_directory(&self, dentry: DentryId) -> bool {
        self.world.caches().dentries.word(dentry) & flags::DIRECTORY != 0
    }

    fn is_removed(&self, dentry: DentryId) -> bool {
        let caches = self.world.caches();
        caches.dentries.word(dentry) & flags::REMOVED != 0 || caches.is_unnamed(dentry)
    }
}
