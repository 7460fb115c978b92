//! What a node has but its names and its data, copied as far as it differs.
//!
//! What always holds: owner, lists, mode, extended attributes, times and flags are set in that
//! order, since each of these may change those before it, and none changes one behind it.

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AtFlags, Attributes, Context, Errno, FileType, Handle, InodeFlags, SetTime, Timestamp, XattrFlags};

use crate::form::{self, Extras, Form};
use crate::tree::{flags, if_supported};
use crate::upper::Node;

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

/// What a node has but its names, its data and its times.
pub(crate) struct Settings {
    of: Attributes,
    access: Option<Acl>,
    default: Option<Acl>,
    /// Extended attributes that are no lists, sorted.
    xattrs: Vec<Xattr>,
    flags: InodeFlags,
}

impl Settings {
    /// Returns those of a node that a context sees.
    pub(crate) fn of(context: &Context, node: &Handle) -> Result<Settings, Errno> {
        let (access, default) = (list(context, node, AclKind::Access)?, list(context, node, AclKind::Default)?);
        let (of, xattrs, flags) = (node.attributes()?, xattrs(context, node)?, flags(context, node)?);
        Ok(Settings { of, access, default, xattrs, flags })
    }

    /// Returns those of a node of a layer, as the mount shows them.
    pub(crate) fn of_upper(form: Form, node: &Node, extras: Extras) -> Result<Settings, Errno> {
        let (of, flags) = (*node.attributes(), node.flags()?);
        let mut found = Settings { of, access: None, default: None, xattrs: Vec::new(), flags };
        if extras == Extras::None {
            return Ok(found);
        }
        found.flags |= form::noted_flags(form, node)?;
        for name in node.xattr_names()? {
            let list = match &name[..] {
                b"system.posix_acl_access" => &mut found.access,
                b"system.posix_acl_default" => &mut found.default,
                name if name.starts_with(b"system.") => continue,
                name => {
                    if let Some(shown) = form.shown(name) {
                        found.xattrs.push((shown.into_owned(), node.xattr(name)?));
                    }
                    continue;
                }
            };
            *list = Some(Acl::from_xattr(&node.xattr(&name)?)?);
        }
        found.xattrs.sort();
        Ok(found)
    }

    /// Returns whether there are no lists, extended attributes and flags.
    pub(crate) fn is_plain(&self) -> bool {
        self.access.is_none() && self.default.is_none() && self.xattrs.is_empty() && (self.flags & KEPT).is_empty()
    }

    /// Gives all of it, and times, to a node, as far as it differs.
    pub(crate) fn give(&self, times: Times, to: &Context, (target, is): (&Handle, Target)) -> Result<(), Errno> {
        let mut is_set = self.give_rights(to, (target, is))?;
        let flags_there = flags(to, target)?;
        let flags = self.flags_for(flags_there, is);
        is_set |= flags != flags_there & KEPT || times.atime != SetTime::Keep;
        if is_set || target.attributes()?.mtime != times.mtime {
            to.utimensat(target, "", times.atime, SetTime::To(times.mtime), AtFlags::EMPTY_PATH)?;
        }
        if flags != flags_there & KEPT {
            to.set_inode_flags_at(target, "", flags, AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    /// Gives owner, lists, mode and extended attributes, and returns whether one of them was not
    /// the same.
    fn give_rights(&self, to: &Context, (target, is): (&Handle, Target)) -> Result<bool, Errno> {
        let (mut is_set, wanted, there) = (false, &self.of, target.attributes()?);
        if (wanted.uid, wanted.gid) != (there.uid, there.gid) {
            to.fchownat(target, "", Some(wanted.uid), Some(wanted.gid), AtFlags::EMPTY_PATH)?;
            is_set = true;
        }
        for (kind, wanted) in [(AclKind::Access, &self.access), (AclKind::Default, &self.default)] {
            if *wanted != list(to, target, kind)? {
                to.set_acl_at(target, "", kind, wanted.as_ref(), AtFlags::EMPTY_PATH)?;
                is_set = true;
            }
        }
        if wanted.kind != FileType::Symlink && target.attributes()?.mode != wanted.mode {
            to.fchmodat(target, "", wanted.mode, AtFlags::EMPTY_PATH)?;
            is_set = true;
        }
        let there = if is == Target::New { Vec::new() } else { xattrs(to, target)? };
        for (name, _) in there.iter().filter(|(name, _)| !self.xattrs.iter().any(|(wanted, _)| wanted == name)) {
            to.removexattrat(target, "", name, AtFlags::EMPTY_PATH)?;
        }
        for (name, value) in self.xattrs.iter().filter(|wanted| !there.contains(wanted)) {
            to.setxattrat(target, "", name, value, XattrFlags::empty(), AtFlags::EMPTY_PATH)?;
        }
        Ok(is_set || self.xattrs != there)
    }

    /// Returns the flags for a node, where `there` are those that it has by now.
    fn flags_for(&self, there: InodeFlags, is: Target) -> InodeFlags {
        let not_copied = if is == Target::OfBase { there & NOT_COPIED } else { InodeFlags::empty() };
        (self.flags | not_copied) & KEPT
    }
}

/// Returns the extended attributes of a node, without its lists, sorted.
fn xattrs(context: &Context, node: &Handle) -> Result<Vec<Xattr>, Errno> {
    let names = if_supported(context.listxattrat(node, "", AtFlags::EMPTY_PATH))?;
    let mut all = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with(b"system.")) {
        match context.getxattrat(node, "", name, AtFlags::EMPTY_PATH) {
            Ok(value) => all.push((name.to_vec(), value)),
            Err(Errno::ENODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    all.sort();
    Ok(all)
}

/// Returns a list of a node.
fn list(context: &Context, node: &Handle, kind: AclKind) -> Result<Option<Acl>, Errno> {
    match (node.kind(), kind) {
        (FileType::Symlink, _) => Ok(None),
        (other, AclKind::Default) if other != FileType::Directory => Ok(None),
        _ => if_supported(context.acl_at(node, "", kind, AtFlags::EMPTY_PATH)),
    }
}
