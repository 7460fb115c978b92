//! Reads of attributes that are up to date, and changes of attributes.

use super::Trees;
use super::superblock::Superblock;
use crate::Errno;
use crate::attr::{Attributes, Details, StatxMask};
use crate::cache::icache::inode::{self, WORD, attributes_of, flags, of_type};
use crate::cache::icache::snapshot::{Snapshot, words};
use crate::cache::icache::store::{IfMoved, IfUnknown, UnderWay};
use crate::memory::slot::InodeId;
use crate::node::{Freshness, SetAttributes};
use crate::sync::{Ordering, yield_now};

/// The number of times that the file system is asked for attributes that change meanwhile. The
/// last answer is used and not stored.
const TRIES: u32 = 100;

/// A question for the attributes of an inode on which the caller has a pin.
struct Asked {
    id: InodeId,
    /// The version of the attributes before the question.
    version: u64,
    freshness: Freshness,
}

impl Trees {
    /// Asks the file system for the attributes of an inode on which the caller has a pin, and
    /// stores them. `ESTALE` if they are those of a node of another type.
    pub(crate) fn refresh(&self, id: InodeId) -> Result<Attributes, Errno> {
        self.refresh_with(id, |_| IfUnknown::Store).map(|(attributes, _)| attributes)
    }

    /// Does the same, and returns what the answer says about permission if the answer is not kept,
    /// since the file system is to be asked each time.
    pub(super) fn answered(&self, id: InodeId) -> Result<Option<Snapshot>, Errno> {
        let (attributes, freshness) = self.refresh_with(id, |_| IfUnknown::Store)?;
        let is_kept = freshness != Freshness::AskEachTime;
        Ok((!is_kept).then(|| Snapshot::of_answer(&self.caches, id, &attributes)))
    }

    /// Asks for the attributes of which the caches have all but those that become stale.
    fn refresh_stale(&self, id: InodeId) -> Result<Attributes, Errno> {
        self.refresh_with(id, |_| IfUnknown::Keep).map(|(attributes, _)| attributes)
    }

    /// Does the same. `acl` returns what becomes of the ACL's state if the file system cannot say
    /// it, for the version at which it was asked.
    fn refresh_with(&self, id: InodeId, acl: impl Fn(u64) -> IfUnknown) -> Result<(Attributes, Freshness), Errno> {
        let superblock = self.superblock(id);
        let mut tries = 0;
        loop {
            let asked = self.question(&superblock, id);
            let answer = superblock.fs.attributes(inode::key_of(self.caches.inodes.record(id)))?;
            let (attributes, is_stored) = self.keep_answer(&superblock, &asked, answer, acl(asked.version))?;
            tries += 1;
            if is_stored || tries == TRIES {
                return Ok((attributes, asked.freshness));
            }
        }
    }

    /// Begins a question for attributes.
    fn question(&self, superblock: &Superblock, id: InodeId) -> Asked {
        let version = self.caches.versions.of(id);
        Asked { id, version, freshness: superblock.fs.attributes_freshness(inode::key_of(self.caches.inodes.record(id))) }
    }

    /// Stores the answer to a question, unless it may be old by now. Returns the attributes, and
    /// whether they were stored.
    fn keep_answer(
        &self,
        superblock: &Superblock,
        asked: &Asked,
        answer: Attributes,
        acl: IfUnknown,
    ) -> Result<(Attributes, bool), Errno> {
        let kind = inode::kind_of(self.caches.inodes.record(asked.id)[WORD].load(Ordering::Relaxed));
        let attributes = of_type(kind, answer)?;
        let owed = self.owed(superblock, &attributes);
        let news = (&attributes, asked.freshness);
        let stored = self.caches.store(asked.id, news, asked.version, (IfMoved::Refuse, acl), owed);
        Ok((stored.map_or(attributes, |acl| Attributes { acl, ..attributes }), stored.is_some()))
    }

    /// Sets attributes through the file system.
    pub(crate) fn set_attributes(&self, id: InodeId, set: &SetAttributes) -> Result<Attributes, Errno> {
        // Readers of the data see a new size. Other attributes are seen only through this code.
        let under_way = set.size.is_some().then(|| self.caches.under_way(id));
        let before = self.caches.versions.of(id);
        let attributes = self.superblock(id).fs.set_attributes(inode::key_of(self.caches.inodes.record(id)), set)?;
        self.changed(id, attributes, before, (under_way, IfUnknown::Keep))
    }

    /// Stores the attributes of an inode of which the file system just changed some, and returned
    /// these. `before` is the version before the change.
    pub(super) fn changed(
        &self,
        id: InodeId,
        attributes: Attributes,
        before: u64,
        (under_way, acl): (Option<UnderWay<'_>>, IfUnknown),
    ) -> Result<Attributes, Errno> {
        let kind = inode::kind_of(self.caches.inodes.record(id)[WORD].load(Ordering::Relaxed));
        let attributes = of_type(kind, attributes)?;
        self.caches.versions.set_one();
        match under_way {
            Some(under_way) => drop(under_way),
            None => self.caches.versions.moved(id),
        }
        let after = before.wrapping_add(1);
        // What the change says of the ACL holds if no other change was stored since.
        let of_acl = |version| if acl == IfUnknown::Keep || version == after { acl } else { IfUnknown::Store };
        // The change is done. If the refresh fails, the attributes that the change returned are the
        // best available.
        Ok(self.refresh_with(id, of_acl).map(|(attributes, _)| attributes).unwrap_or_else(|_| {
            let (superblock, acl) = (self.superblock(id), of_acl(self.caches.versions.of(id)));
            let freshness = superblock.fs.attributes_freshness(inode::key_of(self.caches.inodes.record(id)));
            let owed = self.owed(&superblock, &attributes);
            self.caches.store(id, (&attributes, freshness), after, (IfMoved::MarkStale, acl), owed);
            attributes
        }))
    }

    /// Returns the attributes of an inode on which the caller has a pin, up to date.
    pub(crate) fn stat(&self, id: InodeId) -> Result<Attributes, Errno> {
        loop {
            match words(&self.caches, id) {
                Some(words) if words[WORD] & flags::STALE == 0 => return Ok(attributes_of(&words)),
                Some(words) if words[WORD] & flags::UNKNOWN == 0 => return self.refresh_stale(id),
                Some(_) => return self.refresh(id),
                None => yield_now(),
            }
        }
    }

    /// Asks the file system for the attributes of an inode on which the caller has a pin, whatever
    /// the caches have.
    pub(crate) fn asked_again(&self, id: InodeId) -> Result<Attributes, Errno> {
        let is_unknown = self.at_hand(id).1 & flags::UNKNOWN != 0;
        if is_unknown { self.refresh(id) } else { self.refresh_stale(id) }
    }

    /// Returns the attributes that the caches have, and the inode's word, which says how many of
    /// them are up to date.
    pub(crate) fn at_hand(&self, id: InodeId) -> (Attributes, u64) {
        loop {
            if let Some(words) = words(&self.caches, id) {
                return (attributes_of(&words), words[WORD]);
            }
            yield_now();
        }
    }

    /// Returns what the file system has of a node beside its attributes; and these, if they came
    /// with it and no other thread has changed them meanwhile.
    pub(crate) fn details(&self, id: InodeId, wanted: StatxMask) -> Result<(Details, Option<Attributes>), Errno> {
        let superblock = self.superblock(id);
        let asked = self.question(&superblock, id);
        let mut details = superblock.fs.details(inode::key_of(self.caches.inodes.record(id)), wanted)?;
        let Some(answer) = details.attributes.take() else { return Ok((details, None)) };
        let is_unknown = self.at_hand(id).1 & flags::UNKNOWN != 0;
        let acl = if is_unknown { IfUnknown::Store } else { IfUnknown::Keep };
        let (attributes, is_stored) = self.keep_answer(&superblock, &asked, answer, acl)?;
        Ok((details, is_stored.then_some(attributes)))
    }

    /// Returns attributes of which type, mode and owner are up to date.
    pub(crate) fn kept_attributes(&self, id: InodeId) -> Result<Attributes, Errno> {
        let (attributes, word) = self.at_hand(id);
        if word & flags::UNKNOWN == 0 { Ok(attributes) } else { self.refresh(id) }
    }
}
