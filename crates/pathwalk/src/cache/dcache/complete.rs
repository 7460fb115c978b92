//! Directories all of whose names are cached. In such a directory a name that is not cached is
//! absent, and the file system need not be asked.
//!
//! A directory is complete when it is made, and after a listing from its beginning to its end. A
//! listing says which names there are, not what they lead to. So each name that is not cached gets
//! a dentry marked `LISTED`, and the first lookup of that name asks the file system and fills the
//! dentry. While a listing runs, the directory is watched. Names that are made meanwhile have
//! dentries anyhow. If a dentry that is not negative leaves the cache meanwhile, the listing does
//! not make the directory complete. A listing that begins while another one watches shares its
//! watch, because no name was lost since that watch began.
//!
//! Invariant: where [`Known::All`] is noted, every name of the directory has a hashed dentry. So
//! code that takes a dentry out of the table that may stand for a name clears the note, under the
//! same children lock. Code that relies on the note looks for the name and reads the note without
//! releasing that lock in between.
//!
//! The note lies in the upper half of the word of the first child. The directory's own children
//! lock protects it.
//!
//! What it does not do: a file system whose absences have to be revalidated each time has no
//! complete directories. A listing that would make more dentries than a share of the cache gives
//! up.

use super::dentry::{ChildrenHeld, flags};
use super::doubt::OfNodes;
use super::watch::{Known, Watch};
use crate::cache::Caches;
use crate::memory::dir_lock;
use crate::memory::slot::DentryId;
use crate::sync::Ordering;
use crate::text::Name;

/// The names that a listing gave, in one piece of memory, with a byte of length before each.
#[derive(Default)]
pub(crate) struct Listed(Vec<u8>);

impl Listed {
    /// Appends a name. A name that is too long is kept as one of length 0, which no file can have.
    pub(crate) fn push(&mut self, name: &[u8]) {
        let length = u8::try_from(name.len()).unwrap_or(0);
        self.0.push(length);
        self.0.extend_from_slice(&name[..length.into()]);
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first()?;
            let (name, behind) = behind.split_at((*length).into());
            rest = behind;
            Some(name)
        })
    }
}

/// A listing that may make its directory complete.
pub(crate) struct Listing {
    watch: Watch,
    /// The number of dentries that the listing made.
    made: u32,
}

/// Returns the number of dentries that one listing may make in a cache of this capacity: a
/// sixteenth of the capacity, but at least eight.
pub(crate) fn share(capacity: u32) -> u32 {
    const SHARE: u32 = 16;
    const A_FEW: u32 = 8;
    A_FEW.max(capacity / SHARE)
}

impl Caches {
    pub(crate) fn known(&self, dir: DentryId, held: &ChildrenHeld<'_>) -> Known {
        debug_assert!(held.covers(dir));
        Known::of((self.dentries.first_child(dir).load(Ordering::Relaxed) >> 32) as u32)
    }

    pub(crate) fn set_known(&self, dir: DentryId, known: Known, held: &ChildrenHeld<'_>) {
        debug_assert!(held.covers(dir));
        let word = self.dentries.first_child(dir);
        let child = word.load(Ordering::Relaxed) as u32;
        word.store(u64::from(known.note()) << 32 | u64::from(child), Ordering::Relaxed);
    }

    /// Begins to watch a dentry that is about to become a new, empty directory. It is called before
    /// the dentry is a directory, so no thread can have made a name in it. It does not take the
    /// children lock: no thread looks at the note or the children of a dentry that is not a
    /// directory, and a thread that finds it to be a directory sees the note. The caller holds the
    /// lock of the parent directory exclusively.
    pub(crate) fn begin_empty(&self, id: DentryId) -> Listing {
        let watch = self.watches.next();
        self.dentries.first_child(id).store(u64::from(Known::Watched(watch).note()) << 32, Ordering::Relaxed);
        Listing { watch, made: 0 }
    }

    /// Notes that all names of a new directory are cached, unless a name was lost meanwhile, or
    /// there was a report about a node since `asked` was read: the node may be this directory.
    pub(crate) fn end_empty(&self, id: DentryId, empty: &Listing, asked: OfNodes) {
        let held = self.dentries.children_lock(id);
        if self.known(id, &held) == Known::Watched(empty.watch) && self.doubts.of_nodes() == asked {
            self.set_known(id, Known::All, &held);
        }
    }

    /// Records that the directory may have a name that is not cached.
    pub(crate) fn no_longer_complete(&self, dir: DentryId) {
        self.set_known(dir, Known::Nothing, &self.dentries.children_lock(dir));
    }

    /// Begins a listing at the beginning of a directory whose negative entries stay valid. Returns
    /// `None` if the directory is complete already.
    pub(crate) fn begin_listing(&self, dir: DentryId) -> Option<Listing> {
        let held = self.dentries.children_lock(dir);
        let watch = match self.known(dir, &held) {
            Known::All => return None,
            Known::Watched(watch) => watch,
            Known::Nothing => self.watches.next(),
        };
        self.set_known(dir, Known::Watched(watch), &held);
        Some(Listing { watch, made: 0 })
    }

    /// Enters the names that a listing gave. The caller has a pin on the directory. Returns false
    /// if the listing can no longer make the directory complete.
    pub(crate) fn note_listed(&self, dir: DentryId, listing: &mut Listing, listed: &Listed) -> bool {
        // The lock is shared: a change of the directory, which holds it exclusively, must be the
        // only one to enter names.
        let _names = dir_lock::shared(self.dentries.lock(dir));
        if self.dentries.word(dir) & flags::REMOVED != 0 {
            return false;
        }
        listed.names().all(|name| Name::new(name).is_ok_and(|name| self.note_name(dir, listing, name)))
    }

    pub(crate) fn note_name(&self, dir: DentryId, listing: &mut Listing, name: Name<'_>) -> bool {
        self.dentries.fetch_place(self.hash.in_directory(self.hash.name(name.bytes()), dir.0));
        if self.probe(dir, name.bytes()).is_some() {
            return true;
        }
        listing.made += 1;
        if listing.made > share(self.dentries.free().capacity()) {
            return false;
        }
        let Ok(id) = self.new_dentry(dir, name.bytes(), flags::IN_LOOKUP | flags::LISTED) else { return false };
        let held = self.dentries.children_lock(dir);
        let still = self.known(dir, &held) == Known::Watched(listing.watch);
        if still && self.probe_exact(dir, name.bytes(), &held).is_none() {
            self.hash_in(dir, id, &held);
            drop(held);
            self.dentries.unpin(id);
        } else {
            drop(held);
            self.discard(id);
        }
        still
    }

    /// Ends a listing that came to the end of the directory and whose names were all noted.
    pub(crate) fn end_listing(&self, dir: DentryId, listing: &Listing) {
        let held = self.dentries.children_lock(dir);
        if self.known(dir, &held) == Known::Watched(listing.watch) {
            self.set_known(dir, Known::All, &held);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were_given() {
        let mut listed = Listed::default();
        let names = [&b"a"[..], &[b'x'; 255], b"", b"last"];
        names.iter().for_each(|name| listed.push(name));
        listed.push(&[b'y'; 256]);
        assert_eq!(listed.names().collect::<Vec<_>>(), [names[0], names[1], names[2], names[3], b""]);
    }
}
