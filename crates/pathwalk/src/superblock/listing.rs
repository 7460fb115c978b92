//! Listings that fill the caches: a stretch of a directory's entries with their nodes, by one call
//! of the file system.
//!
//! Invariants: the call is made under the directory's lock, shared, as a lookup is. What it gave is
//! entered before the lock is released, so that no change of a name comes between: an entry of the
//! stretch that is pinned was the name's at the same instant. What is cached already is not
//! replaced, and nothing is recorded as absent.
//!
//! New entries are on probation, so a listing of a large directory replaces what other listings
//! brought, and not what is in use.
//!
//! What it does not do: it looks up no single name. For an entry that comes without a pin, the
//! caller does that, after the lock is released.

use std::ops::ControlFlow;

use super::Trees;
use super::many::AskedForMany;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::complete::{self, Listing};
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::key_of;
use crate::fs_api::{Entry, EntrySink, OpenFile, TakesEntries};
use crate::memory::dir_lock;
use crate::memory::slot::DentryId;
use crate::node::{Node, NodeKey};
use crate::text::Name;

/// The maximum number of entries of a stretch: all of them are pinned at once.
const MOST: usize = 256;

/// The states in which a dentry does not say to which node its name leads.
const UNSURE: u64 = flags::LISTED | flags::IN_LOOKUP | flags::NEGATIVE | flags::UNHASHED;

/// An entry as the file system listed it.
pub(crate) struct ListedName<'a> {
    pub(crate) name: Box<[u8]>,
    pub(crate) ino: u64,
    pub(crate) kind: FileType,
    pub(crate) cookie: u64,
    /// The node that the file system gave with it.
    given: Option<NodeKey>,
    /// Its dentry, if that is cached with its node.
    pub(crate) dentry: Option<Pinned<'a>>,
}

/// Some entries that follow each other.
pub(crate) struct Stretch<'a> {
    pub(crate) names: Vec<ListedName<'a>>,
    /// Whether the stretch came to the end of the directory; or the error that ended it.
    pub(crate) is_end: Result<bool, Errno>,
}

/// The receiver of the entries. The caller has a pin on the directory, and its lock shared.
struct Taking<'a> {
    trees: &'a Trees,
    dir: DentryId,
    most: usize,
    /// The counts before the file system was asked for any of the nodes.
    asked: AskedForMany,
    names: Vec<ListedName<'a>>,
    /// Whether the budget is used up by pinned entries.
    is_full: bool,
}

impl TakesEntries for Taking<'_> {
    fn push(&mut self, entry: Entry<'_>) -> ControlFlow<()> {
        let Entry { name, ino, kind, cookie, .. } = entry;
        if self.names.len() < self.most {
            self.names.push(ListedName { name: name.into(), ino, kind, cookie, given: None, dentry: None });
        }
        if self.names.len() < self.most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Returns whether a name is not cached, only listed, or has to be revalidated. May return true
    /// for another one.
    fn wants(&self, name: Name<'_>) -> bool {
        let word = || self.trees.caches.probe(self.dir, name.bytes()).map(|(_, word)| word);
        !self.is_full && word().is_none_or(|word| word & (flags::LISTED | flags::REVALIDATE) != 0)
    }

    fn give(&mut self, found: &[(Name<'_>, Node)]) {
        // The lookup of a name that was not entered reports any other error.
        self.is_full |= self.trees.enter_many(self.dir, self.asked, found) == Err(Errno::ENFILE);
        // Most are in the order of the listing, so the search begins behind the last one.
        let mut at = 0;
        for (name, node) in found {
            let is_it = |entry: &ListedName<'_>| *entry.name == *name.bytes();
            let behind = self.names[at..].iter().position(is_it).map(|further| at + further);
            if let Some(found) = behind.or_else(|| self.names.iter().position(is_it)) {
                self.names[found].given = Some(node.key);
                at = found + 1;
            }
        }
    }
}

impl Trees {
    /// Lists a stretch of a directory from a cookie on, at most `most` entries, and enters the
    /// nodes that come with them. The caller has a pin on the directory, and `file` is open on it.
    /// `ENOENT` if it was removed.
    ///
    /// Names without a node are noted in `listing`, which is taken away if it can no longer make
    /// the directory complete, and ended at the end of the directory.
    pub(crate) fn list_with_nodes(
        &self,
        dir: DentryId,
        file: &dyn OpenFile,
        (from, most): (u64, usize),
        listing: &mut Option<Listing>,
    ) -> Result<Stretch<'_>, Errno> {
        let most = most.min(MOST).min(complete::share(self.caches.dentries.free().capacity()) as usize);
        let _names = dir_lock::shared(self.caches.dentries.lock(dir));
        self.not_removed(dir)?;
        let asked = AskedForMany { versions: self.caches.versions.ask(), doubts: self.caches.doubts.of_names(dir) };
        let mut taking = Taking { trees: self, dir, most, asked, names: Vec::new(), is_full: false };
        // Taken out, so that a listing that panics does not make the directory complete.
        let mut of_all = listing.take();
        let listed = file.read_dir_with_nodes(from, &mut EntrySink::new(&mut taking));
        let mut names = taking.names;
        for entry in &mut names {
            entry.dentry = self.sure_entry(dir, entry);
            if entry.dentry.is_none() {
                let name = Name::new(&entry.name);
                of_all.take_if(|of_all| !name.is_ok_and(|name| self.caches.note_name(dir, of_all, name)));
            }
        }
        let is_end = listed.map(|()| names.len() < most);
        match of_all {
            Some(of_all) if is_end == Ok(true) => self.caches.end_listing(dir, &of_all),
            going_on => *listing = going_on.filter(|_| is_end.is_ok()),
        }
        Ok(Stretch { names, is_end })
    }

    /// Returns the dentry of a listed name if it is cached with its node, and valid: it needs no
    /// revalidation, or the file system has just given that node. The caller holds the directory's
    /// lock shared.
    fn sure_entry(&self, dir: DentryId, entry: &ListedName<'_>) -> Option<Pinned<'_>> {
        let found = Pinned::new(&self.caches, self.caches.find_pinned(dir, &entry.name)?);
        let word = self.caches.dentries.word(found.id());
        let key = || key_of(self.caches.inodes.record(self.caches.dentries.inode(found.id())));
        let is_valid = || word & flags::REVALIDATE == 0 || entry.given == Some(key());
        (word & UNSURE == 0 && is_valid()).then_some(found)
    }
}
