//! What a node has but its names and its data, copied as far as it differs.
//!
//! What always holds: owner, lists, mode, extended attributes, times and flags are set in that
//! order, since each of these may change those before it, and none changes one behind it.

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AtFlags, Context, Errno, FileType, Handle, InodeFlags, SetTime, Timestamp, XattrFlags};

use crate::form::{self, Form};
use crate::tree::{flags, if_supported};

/// Whether a node was made for this, or is one of the base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    New,
    OfBase,
}

/// The flags that a branch keeps.
const KEPT: InodeFlags = InodeFlags::IMMUTABLE.union(InodeFlags::APPEND).union(InodeFlags::NODUMP).union(InodeFlags::NOATIME);

/// The flags that overlayfs does not copy with a node.
const NOT_COPIED: InodeFlags = InodeFlags::NODUMP;

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
    fn xattrs(&self, node: &Handle) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Errno> {
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

    /// Copies all that a node has but its names, its data, times and flags.
    pub(crate) fn copy_rights(&self, node: &Handle, to: &Context, target: &Handle) -> Result<(), Errno> {
        let (wanted, there) = (node.attributes()?, target.attributes()?);
        if (wanted.uid, wanted.gid) != (there.uid, there.gid) {
            to.fchownat(target, "", Some(wanted.uid), Some(wanted.gid), AtFlags::EMPTY_PATH)?;
        }
        for kind in [AclKind::Access, AclKind::Default] {
            let (wanted, there) = (list(self.context, node, kind)?, list(to, target, kind)?);
            if wanted != there {
                to.set_acl_at(target, "", kind, wanted.as_ref(), AtFlags::EMPTY_PATH)?;
            }
        }
        if wanted.kind != FileType::Symlink && target.attributes()?.mode != wanted.mode {
            to.fchmodat(target, "", wanted.mode, AtFlags::EMPTY_PATH)?;
        }
        let (wanted, there) = (self.xattrs(node)?, Source { context: to, form: None }.xattrs(target)?);
        for (name, _) in there.iter().filter(|(name, _)| !wanted.iter().any(|(wanted, _)| wanted == name)) {
            to.removexattrat(target, "", name, AtFlags::EMPTY_PATH)?;
        }
        for (name, value) in wanted.iter().filter(|wanted| !there.contains(wanted)) {
            to.setxattrat(target, "", name, value, XattrFlags::empty(), AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    /// Copies times and flags, when all else of the node is done.
    pub(crate) fn copy_times_and_flags(&self, node: &Handle, to: &Context, target: &Handle, is: Target) -> Result<(), Errno> {
        let (wanted, there) = (node.attributes()?, target.attributes()?);
        let time = |wanted: Timestamp, there| if wanted == there { SetTime::Keep } else { SetTime::To(wanted) };
        let times = (time(wanted.atime, there.atime), time(wanted.mtime, there.mtime));
        if (wanted.atime, wanted.mtime) != (there.atime, there.mtime) {
            to.utimensat(target, "", times.0, times.1, AtFlags::EMPTY_PATH)?;
        }
        let there = flags(to, target)?;
        let mut wanted = flags(self.context, node)?;
        if let Some(form) = self.form {
            wanted |= form::noted_flags(form, self.context, node)?;
        }
        if is == Target::OfBase {
            wanted |= there & NOT_COPIED;
        }
        if (wanted ^ there).intersects(KEPT) {
            to.set_inode_flags_at(target, "", wanted & KEPT, AtFlags::EMPTY_PATH)?;
        }
        Ok(())
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
