//! The link between names and nodes: a dentry gets its inode, or becomes negative. This is the one
//! file that writes both records.
//!
//! Invariant: once a dentry has an inode, it keeps it until it dies. So a caller that has a pin on
//! a dentry may use its inode. A negative dentry may get an inode.

use super::dcache::dentry::{WORD, chain_of, everyone, flags, flags_of, forget_hit, set_inode_chain};
use super::icache::access::{Owed, of_link};
use super::icache::body::StoredBody;
use super::icache::hold::{NotGiven, PinnedInode};
use super::icache::inode::{self, LINKS_AUX, MANY, MIXED, Record, set_fields};
use super::icache::pool::InodeHeld;
use super::search::is_promised;
use crate::Errno;
use crate::attr::{AclState, Attributes, FileType};
use crate::cache::Caches;
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{pin, seqcount};
use crate::node::{Freshness, Node};
use crate::permission::{Access, everyone_may};
use crate::sync::Ordering;

impl Caches {
    /// Gives an inode to a dentry that has none: one in lookup, a negative one, or a new one. The
    /// pin on the inode passes to the dentry, unless this fails.
    pub(crate) fn instantiate<'a>(&self, id: DentryId, inode: PinnedInode<'a>, freshness: Freshness) -> Result<(), NotGiven<'a>> {
        let record = self.inodes.record(inode.id());
        let held = self.lock_inode(inode.id());
        let kind = inode::kind_of(record[inode::WORD].load(Ordering::Relaxed));
        let Some(permission) = self.take_alias(record, kind, id, &held) else {
            drop(held);
            return Err(NotGiven::AliasElsewhere(inode));
        };
        self.set_inode(id, inode.into_id(), flags_of(kind) | permission | revalidate(freshness));
        Ok(())
    }

    /// Gives a cached inode to a dentry, for a node that was handed out once more; the file system
    /// is told to forget the extra node.
    pub(crate) fn give_found<'a>(&'a self, id: DentryId, found: PinnedInode<'a>, node: &Node) -> Result<(), NotGiven<'a>> {
        self.owner.forget(self.superblock_of(found.id()), node.key);
        let kind = inode::kind_of(self.inodes.record(found.id())[WORD].load(Ordering::Relaxed));
        if kind != node.attributes.kind {
            return Err(Errno::ESTALE.into());
        }
        self.compare(found.id(), &node.attributes);
        self.instantiate(id, found, node.freshness)
    }

    /// Gives a dentry an inode that is new, whose lock is held, and whose alias the dentry is
    /// already.
    pub(crate) fn give_new(&self, id: DentryId, inode: InodeId, freshness: Freshness, _held: &InodeHeld<'_>) {
        let record = self.inodes.record(inode);
        let kind = inode::kind_of(record[inode::WORD].load(Ordering::Relaxed));
        let permission = self.permission_flags(record);
        self.set_inode(id, inode, flags_of(kind) | permission | revalidate(freshness));
    }

    /// Makes a dentry negative. `absence` is the freshness that the file system gives to absences;
    /// it was asked before any lock but a directory's was taken.
    pub(crate) fn make_negative(&self, id: DentryId, absence: Freshness) {
        self.set_inode(id, InodeId::NONE, flags::NEGATIVE | revalidate(absence));
    }

    /// Records that the name leads where it led, and whether it has to be revalidated, as the file
    /// system says now. The name is not doubtful any more.
    pub(crate) fn set_freshness(&self, id: DentryId, freshness: Freshness) {
        let writing = self.dentries.write(id);
        let kept = writing.flags() & !(flags::REVALIDATE | flags::DOUBTFUL | flags::SWEPT);
        writing.end(kept | revalidate(freshness));
    }

    fn set_inode(&self, id: DentryId, inode: InodeId, of_inode: u64) {
        let line = self.dentries.line(id);
        // A dentry without an inode, or one that is about to lose it under the inode's lock, has no
        // permission flags for others to write. But a report may mark it as doubtful.
        let writing = self.dentries.write(id);
        let (was_absent, is_absent) = (writing.flags() & flags::NEGATIVE != 0, of_inode & flags::NEGATIVE != 0);
        let kept = writing.flags() & !(flags::OF_INODE | flags::IN_LOOKUP | flags::LISTED | flags::SWEPT);
        set_inode_chain(line, inode, chain_of(line));
        forget_hit(line);
        // An answer that was under way when a report came does not clear the doubt.
        let doubt = if kept & flags::DOUBTFUL != 0 { flags::REVALIDATE } else { 0 };
        writing.end(kept | of_inode | doubt);
        if was_absent != is_absent {
            self.uses.turned(id, is_absent);
        }
    }

    /// Makes `id` an alias of this inode. Returns the permission flags that the dentry may have, or
    /// `None` for a directory that has another dentry. The inode's lock is held.
    fn take_alias(&self, record: &Record, kind: FileType, id: DentryId, held: &InodeHeld<'_>) -> Option<u64> {
        let alias = self.alias(record);
        debug_assert!(alias != id.0, "a dentry without an inode is no alias");
        match (kind, alias) {
            (_, 0) => self.set_alias(record, id.0),
            // The alias is dying, and about to leave.
            (_, other) if other != MANY && pin::read(self.dentries.life(DentryId(other))).is_none() => {
                self.set_alias(record, id.0)
            }
            (FileType::Directory, _) => return None,
            (_, MANY) => return Some(0),
            (_, other) => {
                // From here on, a change of mode would not update the other dentry's permission
                // bits. The other dentry moves in any case, so that the memo does not keep a link.
                self.set_alias(record, MANY);
                self.set_permission_flags(DentryId(other), 0, held);
                return Some(0);
            }
        }
        Some(self.permission_flags(record))
    }

    fn set_alias(&self, record: &Record, alias: u32) {
        let links_aux = record[LINKS_AUX].load(Ordering::Relaxed);
        if inode::kind_of(record[inode::WORD].load(Ordering::Relaxed)) == FileType::Symlink {
            // Readers of the body do not look at the tag. Without a body there is no chain.
            self.side.set_tag(inode::aux_of(links_aux), alias);
            return;
        }
        let writing = seqcount::write_alone(&record[inode::WORD]);
        let links = (links_aux >> 32) as u32;
        inode::set_links(record, links, alias);
        let flags = writing.flags();
        writing.end(flags);
    }

    /// Removes a dentry from the alias of the inode whose lock is held. After that, no change of
    /// mode writes to the dentry.
    pub(crate) fn leave_alias(&self, record: &Record, id: DentryId, _held: &InodeHeld<'_>) {
        if self.alias(record) == id.0 {
            self.set_alias(record, 0);
        }
    }

    /// Returns what all users may do with a node, as flags of its dentry. Returns no flags where
    /// the answer depends on the ACL or on the file system's own check. A directory about which
    /// a security hook is to be asked lets no caller search it unasked.
    pub(crate) fn permission_flags(&self, record: &Record) -> u64 {
        let word = record[inode::WORD].load(Ordering::Relaxed);
        if inode::acl_of(word) != AclState::Absent || word & inode::flags::UNKNOWN != 0 {
            return 0;
        }
        if inode::kind_of(word) == FileType::Symlink {
            return 0;
        }
        let mut may = everyone_may(inode::mode_of(word));
        if inode::is_immutable(record[MIXED].load(Ordering::Relaxed)) {
            may -= Access::WRITE;
        }
        if word & inode::flags::OWN_RULE != 0 {
            let promised = word & inode::flags::GENERIC_SEARCH != 0 && inode::kind_of(word) == FileType::Directory;
            may &= if promised { Access::EXECUTE } else { Access::empty() };
        }
        if self.search.asks() && inode::kind_of(word) == FileType::Directory && !is_promised(word) {
            may -= Access::EXECUTE;
        }
        everyone(may)
    }

    /// Stores what all users may do in a dentry that is the alias of the inode whose lock is held.
    pub(crate) fn set_permission_flags(&self, id: DentryId, permission: u64, _held: &InodeHeld<'_>) {
        let writing = self.dentries.write(id);
        let flags = writing.flags() & !flags::EVERYONE | permission;
        writing.end(flags);
    }
}

/// Stores the fields of a new node's inode besides its key; returns the flags. The alias is
/// `dentry`, which is about to get the inode. Of a link, the time of access is `owed`.
pub(crate) fn filled(
    record: &Record,
    node: &Node,
    attributes: &Attributes,
    (body, owed): (Option<StoredBody<'_>>, Owed),
    dentry: DentryId,
) -> u64 {
    let (body_flag, length) = match (&node.link_body, &body) {
        (Some(text), Some(_)) => (inode::flags::BODY, text.len()),
        (Some(_), None) => (inode::flags::BODY_LEFT_OUT, 0),
        (None, _) => (0, 0),
    };
    let aux = match attributes.kind {
        FileType::Symlink => body.map_or(0, |body| body.into_chain_of(dentry)),
        _ => dentry.0,
    };
    set_fields(record, attributes, length);
    inode::set_links(record, attributes.nlink, aux);
    let word = inode::word_of(attributes, node.rule) | body_flag;
    if attributes.kind == FileType::Symlink { of_link(word, owed) } else { word }
}

/// Returns the flag that says whether a name has to be revalidated.
pub(super) fn revalidate(freshness: Freshness) -> u64 {
    if freshness == Freshness::AskEachTime { flags::REVALIDATE } else { 0 }
}
