//! Permission checks that ask the file system where the caches do not decide.

use super::Trees;
use crate::Errno;
use crate::attr::AclState;
use crate::cache::icache::inode::{self, flags};
use crate::cache::icache::snapshot::{Decision, Snapshot};
use crate::memory::slot::{DentryId, InodeId};
use crate::node::NodeKey;
use crate::permission::{Access, Subject};

/// The number of times that what a file system said was out of date at once. A file system that
/// reports a change of a node each time that it is asked about it is not asked without end.
const ROUNDS: u32 = 16;

impl Trees {
    /// Returns what an inode on which the caller has a pin says about permission. Asks the file
    /// system if that is no longer known, or never kept. `ESTALE` if it never becomes known.
    pub(crate) fn known_snapshot(&self, id: InodeId) -> Result<Snapshot, Errno> {
        for _ in 0..ROUNDS {
            let snapshot = Snapshot::of_pinned(&self.caches, id);
            if snapshot.word & flags::UNKNOWN == 0 {
                return Ok(snapshot);
            }
            if let Some(answer) = self.answered(id)? {
                return Ok(answer);
            }
        }
        Err(Errno::ESTALE)
    }

    /// Checks whether `who` has the rights `want` to an inode on which the caller has a pin, and
    /// asks the file system if necessary. `EACCES` if not; `ESTALE` if that never becomes known.
    pub(crate) fn may(&self, id: InodeId, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.may_by(&self.known_snapshot(id)?, id, who, want)
    }

    /// Does the same for a caller that has just got this snapshot.
    pub(crate) fn may_by(&self, known: &Snapshot, id: InodeId, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let mut snapshot = *known;
        for _ in 0..ROUNDS {
            match snapshot.decide(who, want) {
                Decision::Granted => return Ok(()),
                Decision::Refused => return Err(Errno::EACCES),
                Decision::AskFileSystem => return self.superblock(id).fs.permission(self.key(id), who, want),
                Decision::AskForAcl => {
                    let (found, before) = (self.ask_for_acl(id)?, snapshot);
                    snapshot = self.known_snapshot(id)?;
                    // Where nothing is kept, the state of the list is that of the attributes before
                    // and after it.
                    if snapshot.has_rights_of(&before) && snapshot.leaves_acl_open() {
                        snapshot = snapshot.with_acl(found);
                    }
                }
                Decision::AskForAttributes => snapshot = self.known_snapshot(id)?,
            }
        }
        Err(Errno::ESTALE)
    }

    /// Asks for the ACL of a dentry's node, if it is not known and the dentry's word is still
    /// `word`. (The owner's right is decided without the ACL.) Once the ACL is known to be absent,
    /// the dentry's word has the rights of all users. May block. Errors are dropped: they recur for
    /// a caller that needs the ACL.
    #[cold]
    pub(crate) fn learn_acl(&self, dentry: DentryId, word: u64) {
        let dentries = &self.caches.dentries;
        if !dentries.pin_sampled(dentry, word) {
            return;
        }
        let id = dentries.inode(dentry);
        if Snapshot::of_pinned(&self.caches, id).leaves_acl_open() {
            _ = self.ask_for_acl(id);
        }
        dentries.unpin(dentry);
    }

    fn ask_for_acl(&self, id: InodeId) -> Result<AclState, Errno> {
        let version = self.caches.versions.of(id);
        let found = match self.superblock(id).fs.acl(self.key(id))? {
            AclState::Present => AclState::Present,
            AclState::Absent | AclState::Unknown => AclState::Absent,
        };
        self.caches.set_acl_state(id, found, version);
        Ok(found)
    }

    fn key(&self, id: InodeId) -> NodeKey {
        inode::key_of(self.caches.inodes.record(id))
    }
}
