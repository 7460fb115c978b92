//! The setting of attributes, flags and access control lists, by the rules of a tmpfs.

use pathwalk::permission::{Acl, AclKind, Subject, generic};
use pathwalk::{Access, AclState, Attributes, Errno, FileType, InodeFlags, SetAttributes, Timestamp};

use super::copy_up::{KEPT_INODE_FLAGS, bits_of};
use super::{Inner, record};
use crate::rows::{self, Record, Row};
use crate::tree::Tree;

impl Inner {
    /// Sets all of these attributes or none.
    pub(crate) fn set_attributes(&self, number: u64, set: &SetAttributes) -> Result<Attributes, Errno> {
        let tree = &mut *self.lock();
        set.check(self.kind(tree, number)?)?;
        let (now, before) = (self.shared.now(), self.copy_up(tree, number)?);
        let (size, had_pages) = (before.attributes.size, before.attributes.blocks > 0);
        if set.size.is_some_and(|to| to != size) {
            self.keep_text(tree, number)?;
        }
        if let Some(to) = set.size
            && to <= size
        {
            // Space may be reserved behind the end.
            self.change_extents(tree, number, to..u64::MAX, |extents| extents.truncate(to))?;
        }
        let list = set.mode.and_then(|mode| Some(of_tree(tree, number, AclKind::Access)?.with_mode(mode)));
        let has_new_list = list.is_some();
        if let Some(list) = list {
            tree.insert(&rows::acl(number, AclKind::Access), Row::Acl(list.into()));
        }
        let record = self.copy_up(tree, number)?;
        record.set(set, had_pages, now);
        if has_new_list {
            record.touch_ctime(now);
        }
        Ok(self.shown(record))
    }

    /// Returns the flags of a file or directory that users set: `ENOTTY` for other nodes.
    pub(crate) fn inode_flags(&self, number: u64) -> Result<InodeFlags, Errno> {
        let tree = self.tree.read();
        has_flags(self.kind(&tree, number)?)?;
        self.inode_flags_in(&tree, number)
    }

    pub(super) fn inode_flags_in(&self, tree: &Tree<Row>, number: u64) -> Result<InodeFlags, Errno> {
        if let Some(record) = record(tree, number) {
            return Ok(record.flags);
        }
        Ok(self.shared.base.inode_flags(&self.base_of(number)?)? & KEPT_INODE_FLAGS)
    }

    /// Sets the flags of a file or directory that users set: `ENOTTY` for other nodes, and
    /// `EOPNOTSUPP` for a flag that is not kept.
    pub(crate) fn set_inode_flags(&self, number: u64, to: InodeFlags) -> Result<Attributes, Errno> {
        let tree = &mut *self.lock();
        has_flags(self.kind(tree, number)?)?;
        if !KEPT_INODE_FLAGS.contains(to) {
            return Err(Errno::EOPNOTSUPP);
        }
        let now = self.shared.now();
        let record = self.copy_up(tree, number)?;
        record.flags = to;
        record.attributes.flags = bits_of(to);
        record.touch_ctime(now);
        Ok(self.shown(record))
    }

    /// Returns a number that another node under the same inode number does not have. Numbers of new
    /// nodes are not used again.
    pub(crate) fn generation(&self, number: u64) -> Result<u32, Errno> {
        let tree = self.tree.read();
        has_flags(self.kind(&tree, number)?)?;
        let base = match record(&tree, number) {
            Some(Record { origin: None, .. }) => return Ok(0),
            Some(Record { origin: Some(origin), .. }) => origin.handle(&self.shared.base)?,
            None => self.base_of(number)?,
        };
        self.shared.base.generation(&base)
    }

    /// Returns a list of a node, if it has one.
    pub(crate) fn acl(&self, number: u64, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.acl_in(&self.tree.read(), number, kind)
    }

    pub(super) fn acl_in(&self, tree: &Tree<Row>, number: u64, kind: AclKind) -> Result<Option<Acl>, Errno> {
        if record(tree, number).is_some() {
            return Ok(of_tree(tree, number, kind).cloned());
        }
        let base = self.base_of(number)?;
        if kind == AclKind::Default && base.kind() != FileType::Directory {
            return Ok(None);
        }
        self.shared.base.acl(&base, kind)
    }

    /// Returns whether a node has an access list.
    pub(crate) fn acl_state(&self, number: u64) -> Result<AclState, Errno> {
        Ok(if self.acl(number, AclKind::Access)?.is_some() { AclState::Present } else { AclState::Absent })
    }

    /// Sets a list of a node, or removes it. `EOPNOTSUPP` for a link, `EACCES` for a default list
    /// of a node that is no directory.
    pub(crate) fn set_acl(&self, number: u64, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        let tree = &mut *self.lock();
        match self.kind(tree, number)? {
            FileType::Symlink => return Err(Errno::EOPNOTSUPP),
            FileType::Directory => {}
            _ if kind == AclKind::Default && acl.is_some() => return Err(Errno::EACCES),
            _ => {}
        }
        self.copy_up(tree, number)?;
        let key = rows::acl(number, kind);
        match acl {
            Some(acl) => _ = tree.insert(&key, Row::Acl(acl.clone().into())),
            None => _ = tree.remove(&key),
        }
        let now = self.shared.now();
        let record = self.copy_up(tree, number)?;
        if let Some(mode) = mode {
            record.attributes.mode = mode & 0o7777;
        }
        if kind == AclKind::Access {
            record.attributes.acl = if acl.is_some() { AclState::Present } else { AclState::Absent };
        }
        record.touch_ctime(now);
        Ok(self.shown(record))
    }

    /// Checks an access completely, with or without a list.
    pub(crate) fn permission(&self, number: u64, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let tree = self.tree.read();
        let node = self.attributes(&tree, number)?;
        match self.acl_in(&tree, number, AclKind::Access)? {
            None => generic(who, node.kind, node.mode, node.uid, node.gid, want),
            Some(list) => list.check(who, &node, want),
        }
    }
}

impl Record {
    /// Sets attributes, which were checked. A size updates the times where it changes, or where the
    /// file has pages. Otherwise it updates none, also where the mode loses set-id bits with it. A
    /// tmpfs does the same.
    fn set(&mut self, set: &SetAttributes, had_pages: bool, now: Timestamp) {
        let node = &mut self.attributes;
        let resizes = set.size.is_some_and(|new| new != node.size || had_pages);
        let to_size = SetAttributes::default().with_size(node.size);
        let keeps_times = !resizes && *set == set.mode.map_or(to_size, |mode| to_size.with_mode(mode));
        node.mode = set.mode.map_or(node.mode, |mode| mode & 0o7777);
        node.uid = set.uid.unwrap_or(node.uid);
        node.gid = set.gid.unwrap_or(node.gid);
        node.size = set.size.unwrap_or(node.size);
        node.atime = set.atime.unwrap_or(node.atime);
        node.mtime = set.mtime.or(resizes.then_some(now)).unwrap_or(node.mtime);
        if !keeps_times {
            self.touch_ctime(now);
        }
    }
}

/// Returns a list of a node that the tree has.
fn of_tree(tree: &Tree<Row>, number: u64, kind: AclKind) -> Option<&Acl> {
    match tree.get(&rows::acl(number, kind)) {
        Some(Row::Acl(acl)) => Some(acl),
        _ => None,
    }
}

fn has_flags(kind: FileType) -> Result<(), Errno> {
    if matches!(kind, FileType::Regular | FileType::Directory) { Ok(()) } else { Err(Errno::ENOTTY) }
}
