//! The data that a node's lock protects: its content, which is a directory's names, a file's pages
//! or a link's body; and its access control lists.
//!
//! Names and pages change through the two kinds of guard here, and so do the attributes, so that
//! nothing changes without the lock. Content is allocated when there is some, and its memory is
//! recorded at that point: reads and refused operations cost nothing.

use std::ops::Deref;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::RwLockWriteGuard;
use pathwalk::{Errno, Timestamp};

use super::acl::Lists;
use super::inode::Inode;
use super::ledger::{Ledger, allocation};
use super::life::Left;
use super::names::{Hashed, Names, Place};
use super::pages::Pages;
use super::record::Record;

/// The data that a node's lock protects.
#[derive(Default)]
pub(crate) struct Guarded {
    pub(super) content: Content,
    /// The lists; `None` if the node has neither.
    pub(super) lists: Option<Box<Lists>>,
}

/// A node's content. It is boxed, so that it takes little room in the slots of nodes without
/// content.
#[derive(Default)]
pub(super) enum Content {
    /// The content of any node that has none yet: a directory without names, a file without pages.
    #[default]
    Empty,
    Directory(Box<Names>),
    File(Box<Pages>),
    Link(Box<Box<[u8]>>),
}

/// A node whose lock is held exclusively.
pub(crate) struct Locked<'a> {
    pub(super) inode: Inode<'a>,
    pub(super) guarded: RwLockWriteGuard<'a, Guarded>,
}

/// A directory whose lock is held exclusively, for changes of its names.
pub(crate) struct LockedNames<'a> {
    pub(crate) dir: Inode<'a>,
    pub(super) guarded: RwLockWriteGuard<'a, Guarded>,
}

impl Guarded {
    /// Sets a node's first content.
    fn fill(&mut self, inode: Inode<'_>, content: Content, ledger: &Ledger) {
        ledger.charge(content.bytes());
        self.content = content;
        inode.slot.record.filled.store(true, Relaxed);
    }
}

impl Locked<'_> {
    /// Returns a regular file's data; `EISDIR`, `EINVAL`. If it is empty afterwards, call
    /// [`tidy`](Self::tidy).
    pub(crate) fn pages_mut(&mut self, ledger: &Ledger) -> Result<&mut Pages, Errno> {
        self.inode.check_data()?;
        if let Content::Empty = self.guarded.content {
            self.guarded.fill(self.inode, Content::File(Box::default()), ledger);
        }
        // The node is a file, so it has pages.
        if let Content::File(pages) = &mut self.guarded.content { Ok(pages) } else { Err(Errno::EIO) }
    }

    /// Frees the memory for the pages of a file without pages.
    pub(crate) fn tidy(&mut self, ledger: &Ledger) {
        if self.guarded.content.pages().count() == 0 {
            ledger.credit(std::mem::take(&mut self.guarded.content).bytes());
        }
    }

    /// Removes the one name of a directory: `ENOTEMPTY` if a name is left in it. Otherwise no name
    /// can be added to it from now on. The caller, which has the lock of the parent, removes the
    /// name itself.
    pub(crate) fn remove_directory(&mut self, now: Timestamp, ledger: &Ledger) -> Result<Left, Errno> {
        if self.guarded.content.names().len() > 0 {
            return Err(Errno::ENOTEMPTY);
        }
        ledger.credit(std::mem::take(&mut self.guarded.content).bytes());
        self.inode.slot.record.filled.store(false, Relaxed);
        Ok(self.inode.lose_name(now))
    }

    /// Changes attributes.
    pub(crate) fn change(&mut self, change: impl FnOnce(&Record)) {
        let record = &self.inode.slot.record;
        record.change(|| change(record));
    }
}

impl LockedNames<'_> {
    /// Checks that a name can be added: `ENOENT` if the directory was removed, `ENOSPC` if it has
    /// 2³⁰ names.
    pub(crate) fn room_for_name(&self) -> Result<(), Errno> {
        match self.dir.slot.life.names() {
            0 => Err(Errno::ENOENT),
            _ if self.is_full() => Err(Errno::ENOSPC),
            _ => Ok(()),
        }
    }

    /// Checks that this name can be added: as above, and `EEXIST` if it exists.
    pub(crate) fn vacant(&self, name: &Hashed<'_>) -> Result<(), Errno> {
        self.room_for_name()?;
        if self.find(name).is_some() { Err(Errno::EEXIST) } else { Ok(()) }
    }

    /// Checks that a directory can be added: `EMLINK` if the directory has as many links as it may
    /// have.
    pub(crate) fn room_for_link(&self, max: u32) -> Result<(), Errno> {
        if self.dir.links() >= max { Err(Errno::EMLINK) } else { Ok(()) }
    }

    /// Adds a name, as [`Names::add`] does.
    pub(crate) fn add(&mut self, name: &Hashed<'_>, target: Inode<'_>, ledger: &Ledger) {
        if let Content::Empty = self.guarded.content {
            self.guarded.fill(self.dir, Content::Directory(Box::new(Names::new())), ledger);
        }
        if let Some(names) = self.guarded.content.names_mut() {
            names.add(name, target.key(), target.kind(), ledger);
        }
    }

    /// Lets a name lead to another node, as [`Names::retarget`] does.
    pub(crate) fn retarget(&mut self, at: Place, target: Inode<'_>) {
        if let Some(names) = self.guarded.content.names_mut() {
            names.retarget(at, target.key(), target.kind());
        }
    }

    /// Removes a name, as [`Names::take`] does.
    pub(crate) fn take(&mut self, at: Place, ledger: &Ledger) {
        if let Some(names) = self.guarded.content.names_mut() {
            names.take(at, ledger);
        }
    }

    /// Records a change of names, and the number of directories that were added to them.
    pub(crate) fn changed(&mut self, directories: i32, now: Timestamp) {
        self.dir.slot.record.names_changed(self.len(), directories, now);
    }
}

impl Deref for LockedNames<'_> {
    type Target = Names;

    fn deref(&self) -> &Names {
        self.guarded.content.names()
    }
}

impl Content {
    pub(super) fn names(&self) -> &Names {
        static NONE: Names = Names::new();
        if let Content::Directory(names) = self { names } else { &NONE }
    }

    fn names_mut(&mut self) -> Option<&mut Names> {
        if let Content::Directory(names) = self { Some(names) } else { None }
    }

    pub(super) fn pages(&self) -> &Pages {
        static NONE: Pages = Pages::new();
        if let Content::File(pages) = self { pages } else { &NONE }
    }

    /// Returns the memory in bytes; of a file without its pages.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Content::Empty => 0,
            Content::Directory(names) => allocation(size_of::<Names>()) + names.bytes(),
            Content::File(_) => allocation(size_of::<Pages>()),
            Content::Link(body) => allocation(size_of::<Box<[u8]>>()) + allocation(body.len()),
        }
    }
}
