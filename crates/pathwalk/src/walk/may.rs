//! Who may do what with an inode, where the dentry's own bits do not say.
//!
//! One decision, for both walkers: the fast one feeds it a snapshot and hands over where the file system has to be asked, the
//! locked one asks.

use super::{Cursor, Env};
use crate::Errno;
use crate::attr::AclState;
use crate::dcache::dentry::{InodeId, inode_of};
use crate::icache::inode::{self, MIXED, OWNER, WORD, flags};
use crate::memory::seqcount;
use crate::permission::{Access, Subject, everyone_may, generic};
use crate::sync::Ordering;
use crate::vfs::Core;

/// What an inode says about permission, read as of one instant.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) word: u64,
    uid: u32,
    gid: u32,
    mixed: u64,
}

/// What a snapshot allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    Granted,
    Refused,
    /// The file system's own check decides.
    AskFileSystem,
    /// It depends on whether there is an ACL.
    AskForAcl,
    /// It depends on attributes that are not known any more.
    AskForAttributes,
}

impl Snapshot {
    /// Of the inode of a cursor, or `None` if something changed. The dentry is rechecked, too: it is the inode of that name.
    pub(crate) fn of(env: &Env<'_>, cur: Cursor<'_>) -> Option<Snapshot> {
        let snapshot = Snapshot::read(env.core, inode_of(cur.line))?;
        cur.unchanged().then_some(snapshot)
    }

    fn read(core: &Core, id: InodeId) -> Option<Snapshot> {
        let record = core.inodes.record(id);
        let word = seqcount::sample(&record[WORD]);
        let (uid, gid) = inode::owner_of(record[OWNER].load(Ordering::Relaxed));
        let mixed = record[MIXED].load(Ordering::Relaxed);
        let same = word & seqcount::ODD == 0 && seqcount::unchanged(&record[WORD], word);
        same.then_some(Snapshot { word, uid, gid, mixed })
    }

    /// Of an inode that the caller has a pin on.
    pub(crate) fn of_pinned(core: &Core, id: InodeId) -> Snapshot {
        loop {
            if let Some(snapshot) = Snapshot::read(core, id) {
                return snapshot;
            }
            crate::sync::yield_now();
        }
    }

    pub(crate) fn is_immutable(&self) -> bool {
        inode::is_immutable(self.mixed)
    }

    pub(crate) fn is_append_only(&self) -> bool {
        inode::is_append_only(self.mixed)
    }

    pub(crate) fn kind(&self) -> crate::FileType {
        inode::kind_of(self.word)
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    pub(crate) fn gid(&self) -> u32 {
        self.gid
    }

    pub(crate) fn mode(&self) -> u16 {
        inode::mode_of(self.word)
    }

    /// Whether `who` may do `want`. Order: a promise of the file system's own rule, the rule itself, the owner, the ACL, the triads,
    /// capabilities.
    pub(crate) fn decide(&self, who: &Subject<'_>, want: Access) -> Decision {
        let (kind, mode) = (inode::kind_of(self.word), self.mode());
        let acl = inode::acl_of(self.word);
        if self.word & flags::UNKNOWN != 0 {
            return Decision::AskForAttributes;
        }
        if self.word & flags::OWN_RULE != 0 {
            let promised = self.word & flags::GENERIC_SEARCH != 0 && want == Access::EXECUTE && acl == AclState::Absent;
            let searchable = kind == crate::FileType::Directory && everyone_may(mode).contains(want);
            return if promised && searchable { Decision::Granted } else { Decision::AskFileSystem };
        }
        let group_bits = mode & 0o070 != 0;
        if who.uid() != self.uid && group_bits {
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
    /// Whether `who` may do `want`, if that can be said without asking the file system; else `EAGAIN`. `EACCES` if not.
    pub(crate) fn may_cached(&self, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        match self.decide(who, want) {
            Decision::Granted => Ok(()),
            Decision::Refused => Err(Errno::EACCES),
            Decision::AskFileSystem | Decision::AskForAcl | Decision::AskForAttributes => Err(Errno::EAGAIN),
        }
    }

    /// Itself, unless it is out of date: then `EAGAIN`.
    pub(crate) fn if_known(self) -> Result<Snapshot, Errno> {
        if self.word & flags::UNKNOWN == 0 { Ok(self) } else { Err(Errno::EAGAIN) }
    }
}

impl Core {
    /// What an inode that the caller has a pin on says about permission, asking the file system if that is not known any more.
    pub(crate) fn known_snapshot(&self, id: InodeId) -> Result<Snapshot, Errno> {
        loop {
            let snapshot = Snapshot::of_pinned(self, id);
            if snapshot.word & flags::UNKNOWN == 0 {
                return Ok(snapshot);
            }
            self.refresh(id)?;
        }
    }

    /// Whether `who` may do `want` with an inode that the caller has a pin on, asking the file system if need be. `EACCES` if not.
    pub(crate) fn may(&self, id: InodeId, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        loop {
            match Snapshot::of_pinned(self, id).decide(who, want) {
                Decision::Granted => return Ok(()),
                Decision::Refused => return Err(Errno::EACCES),
                Decision::AskFileSystem => return self.fs.permission(self.key(id), who, want),
                Decision::AskForAcl => self.ask_for_acl(id)?,
                Decision::AskForAttributes => _ = self.refresh(id)?,
            }
        }
    }

    fn ask_for_acl(&self, id: InodeId) -> Result<(), Errno> {
        let version = self.versions.of(id);
        let found = match self.fs.acl(self.key(id))? {
            AclState::Present => AclState::Present,
            AclState::Absent | AclState::Unknown => AclState::Absent,
        };
        self.set_acl_state(id, found, version);
        Ok(())
    }

    fn key(&self, id: InodeId) -> crate::NodeKey {
        inode::key_of(self.inodes.record(id))
    }
}
