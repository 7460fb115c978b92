//! An inode's words as of one instant, and what they say about permission.
//!
//! Both walkers use the one decision here. The fast walk hands over where the file system has to be
//! asked; the locked walk asks it.

use super::inode::{self, INODE_WORDS, MIXED, OWNER, WORD, flags};
use crate::Errno;
use crate::attr::{AclState, Attributes, FileType};
use crate::cache::Caches;
use crate::memory::seqcount::{self, ODD};
use crate::memory::slot::InodeId;
use crate::node::PermissionRule;
use crate::permission::{Access, Owners, Subject, everyone_may, generic};
use crate::sync::{Ordering, yield_now};

/// Returns the words of an inode as of one instant, or `None` if it changed meanwhile.
#[inline(always)]
pub(crate) fn words(caches: &Caches, id: InodeId) -> Option<[u64; INODE_WORDS]> {
    let record = caches.inodes.record(id);
    let word = seqcount::sample(&record[WORD]);
    let mut words: [u64; INODE_WORDS] = std::array::from_fn(|at| record[at].load(Ordering::Relaxed));
    words[WORD] = word;
    (word & ODD == 0 && seqcount::unchanged(&record[WORD], word)).then_some(words)
}

/// The words of an inode that permission depends on, read as of one instant.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) word: u64,
    uid: u32,
    gid: u32,
    mixed: u64,
}

/// The decision that a snapshot allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    Granted,
    Refused,
    /// The file system's own check decides.
    AskFileSystem,
    /// The decision depends on whether there is an ACL.
    AskForAcl,
    /// The decision depends on attributes that are not known any more.
    AskForAttributes,
}

impl Snapshot {
    pub(crate) fn read(caches: &Caches, id: InodeId) -> Option<Snapshot> {
        let record = caches.inodes.record(id);
        let word = seqcount::sample(&record[WORD]);
        let (uid, gid) = inode::owner_of(record[OWNER].load(Ordering::Relaxed));
        let mixed = record[MIXED].load(Ordering::Relaxed);
        let same = word & seqcount::ODD == 0 && seqcount::unchanged(&record[WORD], word);
        same.then_some(Snapshot { word, uid, gid, mixed })
    }

    /// Reads a snapshot of an inode that the caller has a pin on.
    pub(crate) fn of_pinned(caches: &Caches, id: InodeId) -> Snapshot {
        loop {
            if let Some(snapshot) = Snapshot::read(caches, id) {
                return snapshot;
            }
            yield_now();
        }
    }

    /// Returns what attributes say that the file system just returned for an inode on which the
    /// caller has a pin, and that are not kept.
    pub(crate) fn of_answer(caches: &Caches, id: InodeId, of: &Attributes) -> Snapshot {
        let for_life = caches.inodes.record(id)[WORD].load(Ordering::Relaxed) & flags::FOR_LIFE & !flags::NO_CAPABILITY;
        let word = inode::word_of(of, PermissionRule::Generic) | for_life;
        Snapshot { word, uid: of.uid, gid: of.gid, mixed: inode::bits_of(of) }
    }

    /// Returns the snapshot with another state of the ACL.
    pub(crate) fn with_acl(self, acl: AclState) -> Snapshot {
        Snapshot { word: self.word & !flags::ACL | (acl as u64) << flags::ACL_SHIFT, ..self }
    }

    /// Returns whether another snapshot gives the same rights, apart from the ACL.
    pub(crate) fn has_rights_of(&self, other: &Snapshot) -> bool {
        let of = |this: &Snapshot| (this.word & (inode::MODE | flags::UNKNOWN), this.uid, this.gid);
        of(self) == of(other)
    }

    pub(crate) fn is_immutable(&self) -> bool {
        inode::is_immutable(self.mixed)
    }

    pub(crate) fn is_append_only(&self) -> bool {
        inode::is_append_only(self.mixed)
    }

    /// Returns whether there is no capability that a write would remove.
    pub(crate) fn has_no_capability(&self) -> bool {
        self.word & flags::NO_CAPABILITY != 0
    }

    pub(crate) fn kind(&self) -> FileType {
        inode::kind_of(self.word)
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    pub(crate) fn gid(&self) -> u32 {
        self.gid
    }

    /// Returns both ids, as the file system stores them.
    pub(crate) fn owners(&self) -> Owners {
        Owners { uid: self.uid, gid: self.gid }
    }

    /// Returns whether both ids are mapped by the mount that `who` comes through.
    pub(crate) fn is_seen_by(&self, who: &Subject<'_>) -> bool {
        who.sees_owners(self.uid, self.gid)
    }

    pub(crate) fn mode(&self) -> u16 {
        inode::mode_of(self.word)
    }

    /// Decides whether `who` may do `want`. The order is: unmapped owners, whose nodes are not
    /// written to; a promise about the file system's own rule; that rule itself; the owner; the
    /// ACL; the triads; capabilities.
    pub(crate) fn decide(&self, who: &Subject<'_>, want: Access) -> Decision {
        let (kind, mode) = (inode::kind_of(self.word), self.mode());
        let acl = inode::acl_of(self.word);
        if self.word & flags::UNKNOWN != 0 {
            return Decision::AskForAttributes;
        }
        if want.contains(Access::WRITE) && !self.is_seen_by(who) {
            return Decision::Refused;
        }
        if self.word & flags::OWN_RULE != 0 {
            let promised = self.word & flags::GENERIC_SEARCH != 0 && want == Access::EXECUTE && acl == AclState::Absent;
            let searchable = kind == FileType::Directory && everyone_may(mode).contains(want);
            return if promised && searchable { Decision::Granted } else { Decision::AskFileSystem };
        }
        let group_bits = mode & 0o070 != 0;
        if !who.owns(self.uid) && group_bits {
            match acl {
                AclState::Absent => {}
                AclState::Unknown => return Decision::AskForAcl,
                AclState::Present => return Decision::AskFileSystem,
            }
        }
        match generic(who, kind, mode, self.uid, self.gid, want) {
            Ok(()) => Decision::Granted,
            Err(_) => Decision::Refused,
        }
    }
}

impl Snapshot {
    /// Checks whether `who` may do `want`. Fails with `EACCES` if not, and with `EAGAIN` if only
    /// the file system can tell.
    pub(crate) fn may_cached(&self, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        match self.decide(who, want) {
            Decision::Granted => Ok(()),
            Decision::Refused => Err(Errno::EACCES),
            Decision::AskFileSystem | Decision::AskForAcl | Decision::AskForAttributes => Err(Errno::EAGAIN),
        }
    }

    /// Returns whether it is unknown if the node has an ACL, and the generic rule depends on that.
    pub(crate) fn leaves_acl_open(&self) -> bool {
        self.word & (flags::UNKNOWN | flags::OWN_RULE) == 0 && inode::acl_of(self.word) == AclState::Unknown
    }

    /// Returns the snapshot, or `EAGAIN` if its attributes are not known any more.
    pub(crate) fn if_known(self) -> Result<Snapshot, Errno> {
        if self.word & flags::UNKNOWN == 0 { Ok(self) } else { Err(Errno::EAGAIN) }
    }
}
