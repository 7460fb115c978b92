//! What a node has but its names and its data, copied as far as it differs.
//!
//! What always holds: owner, lists, mode, extended attributes, times and flags are set in that
//! order, since each of these may change those before it, and none changes one behind it.

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AtFlags, Attributes, Context, Errno, FileType, Handle, InodeFlags, SetTime, Timestamp, XattrFlags};

use crate::form::{self, Form};
use crate::tree::{flags, if_supported};

/// Whether a node was made for this, or is one of the base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    New,
    OfBase,
}

/// The times that a node is given.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) atime: SetTime,
    pub(crate) mtime: Timestamp,
}

impl Times {
    /// Returns those of a node, both of which are set.
    pub(crate) fn of(node: &Attributes) -> Times {
        Times { atime: SetTime::To(node.atime), mtime: node.mtime }
    }

    /// Returns those of the copy of a node that was so before a read of its data, where a layer was
    /// begun at `start`. A time of access that the host has moved since then is left, since the
    /// copy has the one before.
    pub(crate) fn of_copy(copy: &Attributes, before: &Attributes, start: Timestamp) -> Times {
        let is_left = copy.atime == before.atime || before.atime >= start && before.atime <= Timestamp::now();
        let atime = if is_left { SetTime::Keep } else { SetTime::To(copy.atime) };
        Times { atime, mtime: copy.mtime }
    }
}

/// The flags that a branch keeps.
const KEPT: InodeFlags = InodeFlags::IMMUTABLE.union(InodeFlags::APPEND).union(InodeFlags::NODUMP).union(InodeFlags::NOATIME);

/// The flags that overlayfs does not copy with a node.
const NOT_COPIED: InodeFlags = InodeFlags::NODUMP;

/// An extended attribute: its name and its value.
type Xattr = (Vec<u8>, Vec<u8>);

/// A tree from which nodes are copied.
pub(crate) struct Source<'a> {
    pub(crate) context: &'a Context,
    /// The form of the notes that are left out; `None` for a tree that has none.
    pub(crate) form: Option<Form>,
}

impl Source<'_> {
    fn shown(&self, name: &[u8]) -> Option<Vec<u8>> {
        match self.form {
            Some(form) => form.shown(name).map(std::borrow::Cow::into_owned),
            None => Some(name.into()),
        }
    }

    /// Returns the extended attributes of a node, without its lists, sorted.
    fn xattrs(&self, node: &Handle) -> Result<Vec<Xattr>, Errno> {
        let names = if_supported(self.context.listxattrat(node, "", AtFlags::EMPTY_PATH))?;
        let mut all = Vec::new();
        for name in names.iter().filter(|name| !name.starts_with(b"system.")) {
            let Some(shown) = self.shown(name) else { continue };
            match self.context.getxattrat(node, "", name, AtFlags::EMPTY_PATH) {
                Ok(value) => all.push((shown, value)),
                Err(Errno::ENODATA) => {}
                Err(errno) => return Err(errno),
            }
        }
        all.sort();
        Ok(all)
    }

    /// Copies all that a node has but its names and its data.
    pub(crate) fn copy(&self, node: &Handle, times: Times, to: &Context, (target, is): (&Handle, Target)) -> Result<(), Errno> {
        let mut is_set = self.copy_rights(node, to, target)?;
        let flags_there = flags(to, target)?;
        let flags = self.flags(node, flags_there, is)?;
        is_set |= flags != flags_there & KEPT || times.atime != SetTime::Keep;
        if is_set || target.attributes()?.mtime != times.mtime {
            to.utimensat(target, "", times.atime, SetTime::To(times.mtime), AtFlags::EMPTY_PATH)?;
        }
        if flags != flags_there & KEPT {
            to.set_inode_flags_at(target, "", flags, AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    /// Copies owner, lists, mode and extended attributes, and returns whether one of them was not
    /// the same.
    fn copy_rights(&self, node: &Handle, to: &Context, target: &Handle) -> Result<bool, Errno> {
        let (mut is_set, wanted, there) = (false, node.attributes()?, target.attributes()?);
        if (wanted.uid, wanted.gid) != (there.uid, there.gid) {
            to.fchownat(target, "", Some(wanted.uid), Some(wanted.gid), AtFlags::EMPTY_PATH)?;
            is_set = true;
        }
        for kind in [AclKind::Access, AclKind::Default] {
            let (wanted, there) = (list(self.context, node, kind)?, list(to, target, kind)?);
            if wanted != there {
                to.set_acl_at(target, "", kind, wanted.as_ref(), AtFlags::EMPTY_PATH)?;
                is_set = true;
            }
        }
        if wanted.kind != FileType::Symlink && target.attributes()?.mode != wanted.mode {
            to.fchmodat(target, "", wanted.mode, AtFlags::EMPTY_PATH)?;
            is_set = true;
        }
        let (wanted, there) = (self.xattrs(node)?, Source { context: to, form: None }.xattrs(target)?);
        for (name, _) in there.iter().filter(|(name, _)| !wanted.iter().any(|(wanted, _)| wanted == name)) {
            to.removexattrat(target, "", name, AtFlags::EMPTY_PATH)?;
        }
        for (name, value) in wanted.iter().filter(|wanted| !there.contains(wanted)) {
            to.setxattrat(target, "", name, value, XattrFlags::empty(), AtFlags::EMPTY_PATH)?;
        }
        Ok(is_set || wanted != there)
    }

    /// Returns the flags that a copy of a node has, where `there` are those that it has by now.
    fn flags(&self, node: &Handle, there: InodeFlags, is: Target) -> Result<InodeFlags, Errno> {
        let mut wanted = flags(self.context, node)?;
        if let Some(form) = self.form {
            wanted |= form::noted_flags(form, self.context, node)?;
        }
        if is == Target::OfBase {
            wanted |= there & NOT_COPIED;
        }
        Ok(wanted & KEPT)
    }
}

/// Returns a list of a node.
fn list(context: &Context, node: &Handle, kind: AclKind) -> Result<Option<Acl>, Errno> {
    match (node.kind(), kind) {
        (FileType::Symlink, _) => Ok(None),
        (other, AclKind::Default) if other != FileType::Directory => Ok(None),
        _ => if_supported(context.acl_at(node, "", kind, AtFlags::EMPTY_PATH)),
    }
}
