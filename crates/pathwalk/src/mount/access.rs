//! Accesses to nodes, as their mounts have them stored. Linux: `touch_atime`.

use super::pinned::MountWriter;
use super::place::Place;
use super::records::Standing;
use super::world::World;
use crate::abi::AccessRule;
use crate::attr::{Attributes, FileType};
use crate::cache::icache::inode::{WORD, flags, kind_of};
use crate::sync::Ordering;

impl World {
    /// Stores the time of an access to a node at a pinned place, if the engine keeps it and it is
    /// due. The caller holds no lock but that of an open file's position.
    pub(crate) fn accessed(&self, at: Place) {
        let id = self.caches().dentries.inode(at.dentry());
        if !self.trees.superblock(id).keeps_access_times {
            return;
        }
        let kind = kind_of(self.caches().inodes.record(id)[WORD].load(Ordering::Relaxed));
        let rule = self.mounts.switches(at.mount()).access_rule(kind);
        if rule == AccessRule::Never {
            return;
        }
        let map = self.mounts.id_map(at.mount());
        let is_mapped = |of: &Attributes| map.is_none_or(|map| map.seen_uid(of.uid).is_some() && map.seen_gid(of.gid).is_some());
        self.trees.accessed(id, rule, |of| is_mapped(of).then(|| MountWriter::new(self, at.mount())).flatten());
    }

    /// Returns whether the caches can say if an access to a node at a pinned place is to be stored.
    pub(crate) fn knows_of_access(&self, at: Place) -> bool {
        let id = self.caches().dentries.inode(at.dentry());
        let word = self.caches().inodes.record(id)[WORD].load(Ordering::Relaxed);
        let is_known = word & (flags::STALE | flags::UNKNOWN) == 0;
        let is_stored = || self.mounts.switches(at.mount()).access_rule(kind_of(word)) != AccessRule::Never;
        is_known || !self.trees.superblock(id).keeps_access_times || !is_stored()
    }

    /// Returns whether the body of a link, whose word was sampled, may be used although a time of
    /// access may be due: the mount that a reader stands in has none stored.
    pub(crate) fn stores_no_access(&self, at: Standing, word: u64) -> bool {
        let rule = || self.mounts.switches_at(at).map(|of| of.access_rule(FileType::Symlink));
        word & flags::BODY_DUE != 0 && rule() == Some(AccessRule::Never)
    }

    /// Returns whether the mount has each access to a link, whose word was sampled, stored.
    pub(crate) fn stores_each_access(&self, at: Standing, word: u64) -> bool {
        let rule = || self.mounts.switches_at(at).map(|of| of.access_rule(FileType::Symlink));
        word & flags::KEEPS_ACCESS != 0 && rule() != Some(AccessRule::Never) && rule() != Some(AccessRule::Relative)
    }
}
