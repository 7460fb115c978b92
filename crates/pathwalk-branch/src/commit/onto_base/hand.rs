//! The operations on the base that a commit is made of.
//!
//! What always holds: each works on a node that is held, or on one name in a directory that is
//! held. Paths are walked without following any link, so nothing outside the base is reached,
//! whatever other programs put in the place of a directory meanwhile.

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    AtFlags, Attributes, Context, Errno, FallocateFlags, File, FileType, Handle, InodeFlags, OpenFlags, OpenHow, RenameFlags,
    Resolve, SetTime, Timestamp, XattrFlags,
};

use super::journal::{Before, Identity, NewList, Setting, timestamp};
use crate::births::Births;

/// The flags that keep a node from being changed.
pub(super) const FORBIDDING: InodeFlags = InodeFlags::IMMUTABLE.union(InodeFlags::APPEND);

/// A context on the base that follows no link.
pub(super) struct Hand {
    pub(super) context: Context,
    pub(super) root: Handle,
    births: Births,
}

impl Hand {
    pub(super) fn new(base: &Context) -> Result<Hand, Errno> {
        let mut context = base.clone().with_resolve(Resolve::NO_SYMLINKS)?;
        context.umask(0);
        let root = context.root().clone();
        let births = Births::of_base(&root)?;
        Ok(Hand { context, root, births })
    }

    /// Returns what tells a node from all others.
    pub(super) fn identity(&self, node: &Handle) -> Result<Identity, Errno> {
        Ok(self.identity_by(&node.attributes()?))
    }

    /// Returns what tells a node with these attributes from all others.
    pub(super) fn identity_by(&self, attributes: &Attributes) -> Identity {
        Identity::of(attributes, self.births)
    }

    /// Returns the node at a path: `ENOENT`, `ENOTDIR`; `ELOOP` for a path through a link.
    pub(super) fn at(&self, path: &[u8]) -> Result<Handle, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        self.context.lookup_at(&self.root, path, flags)
    }

    /// Returns the directory at a path: `ENOTDIR` if it is none.
    pub(super) fn directory(&self, path: &[u8]) -> Result<Handle, Errno> {
        let found = self.at(path)?;
        if found.kind() == FileType::Directory { Ok(found) } else { Err(Errno::ENOTDIR) }
    }

    /// Returns the node of a name; `None` if there is none.
    pub(super) fn find(&self, dir: &Handle, name: &[u8]) -> Result<Option<Handle>, Errno> {
        match self.context.lookup_at(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Returns whether a name leads to this node.
    pub(super) fn leads_to(&self, dir: &Handle, name: &[u8], node: Identity) -> Result<bool, Errno> {
        let Some(found) = self.find(dir, name)? else { return Ok(false) };
        Ok(self.identity(&found)? == node)
    }

    /// Moves a name to one that is free. `EEXIST`.
    pub(super) fn rename(&self, from: (&Handle, &[u8]), to: (&Handle, &[u8])) -> Result<(), Errno> {
        self.context.renameat(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE)
    }

    /// Makes a file, and opens it for writing. `EEXIST`.
    pub(super) fn make_file(&self, dir: &Handle, name: &[u8], mode: u16) -> Result<File, Errno> {
        let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        self.context.openat(dir, name, OpenHow { flags, mode, resolve: Resolve::empty() })
    }

    /// Clears the flags that keep a node from being changed.
    pub(super) fn allow_changes(&self, node: &Handle) -> Result<(), Errno> {
        let attributes = node.attributes()?;
        if !super::has_forbidding_flags(&attributes) {
            return Ok(());
        }
        let flags = self.context.inode_flags_at(node, "", AtFlags::EMPTY_PATH)?;
        self.context.set_inode_flags_at(node, "", flags - FORBIDDING, AtFlags::EMPTY_PATH)
    }

    /// Puts back what moves of names have changed of a node, if it is where it was.
    pub(super) fn put_back(&self, before: &Before) -> Result<(), Errno> {
        let found = match self.at(&before.path) {
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return Ok(()),
            found => found?,
        };
        if self.identity(&found)? != before.node {
            return Ok(());
        }
        self.set_mtime(&found, timestamp(before.mtime))?;
        match before.flags {
            Some(flags) => {
                let flags = InodeFlags::from_bits_retain(flags);
                self.context.set_inode_flags_at(&found, "", flags, AtFlags::EMPTY_PATH)
            }
            None => Ok(()),
        }
    }

    /// Sets the time of the last change of a node, if it is another one.
    pub(super) fn set_mtime(&self, node: &Handle, mtime: Timestamp) -> Result<(), Errno> {
        if node.attributes()?.mtime == mtime {
            return Ok(());
        }
        self.context.utimensat(node, "", SetTime::Keep, SetTime::To(mtime), AtFlags::EMPTY_PATH)
    }

    /// Gives a node these attributes.
    pub(super) fn set(&self, node: &Handle, setting: &Setting) -> Result<(), Errno> {
        let (context, empty) = (&self.context, AtFlags::EMPTY_PATH);
        self.allow_changes(node)?;
        let now = node.attributes()?;
        if let Some((uid, gid)) = setting.owner.filter(|owner| *owner != (now.uid, now.gid)) {
            let (uid, gid) = ((uid != now.uid).then_some(uid), (gid != now.gid).then_some(gid));
            context.fchownat(node, "", uid, gid, empty)?;
        }
        for (kind, list) in [(AclKind::Access, &setting.access), (AclKind::Default, &setting.default)] {
            if let Some(list) = list {
                self.set_list(node, kind, list)?;
            }
        }
        // After the owner and the list, both of which change bits of the mode.
        if let Some(mode) = setting.mode
            && node.attributes()?.mode != mode
        {
            context.fchmodat(node, "", mode, empty)?;
        }
        for (name, value) in &setting.xattrs {
            self.set_xattr(node, name, value.as_deref())?;
        }
        let kept = |time: Option<(i64, u32)>| time.map_or(SetTime::Keep, |time| SetTime::To(timestamp(time)));
        if setting.atime.is_some() || setting.mtime.is_some() {
            context.utimensat(node, "", kept(setting.atime), kept(setting.mtime), empty)?;
        }
        if let Some(flags) = setting.flags {
            self.set_flags(node, InodeFlags::from_bits_retain(flags))?;
        }
        Ok(())
    }

    /// Sets the flags that branches keep, and leaves the others.
    fn set_flags(&self, node: &Handle, flags: InodeFlags) -> Result<(), Errno> {
        let now = match self.context.inode_flags_at(node, "", AtFlags::EMPTY_PATH) {
            Err(Errno::EOPNOTSUPP | Errno::ENOTTY) if flags.is_empty() => return Ok(()),
            now => now?,
        };
        let wanted = (now - crate::branch::KEPT_INODE_FLAGS) | flags;
        if wanted == now { Ok(()) } else { self.context.set_inode_flags_at(node, "", wanted, AtFlags::EMPTY_PATH) }
    }

    /// Removes the list and the flags that a directory has from the one above it, and passes on.
    pub(super) fn inherit_nothing(&self, dir: &Handle) -> Result<(), Errno> {
        self.set_list(dir, AclKind::Default, &None)?;
        self.set_flags(dir, InodeFlags::empty())
    }

    fn set_list(&self, node: &Handle, kind: AclKind, list: &NewList) -> Result<(), Errno> {
        let list = list.as_deref().map(Acl::from_xattr).transpose()?;
        match self.context.set_acl_at(node, "", kind, list.as_ref(), AtFlags::EMPTY_PATH) {
            Err(Errno::EOPNOTSUPP) if list.is_none() => Ok(()),
            set => set,
        }
    }

    fn set_xattr(&self, node: &Handle, name: &[u8], value: Option<&[u8]>) -> Result<(), Errno> {
        match value {
            Some(value) => self.context.setxattrat(node, "", name, value, XattrFlags::empty(), AtFlags::EMPTY_PATH),
            None => match self.context.removexattrat(node, "", name, AtFlags::EMPTY_PATH) {
                Err(Errno::ENODATA | Errno::EOPNOTSUPP) => Ok(()),
                removed => removed,
            },
        }
    }
}

/// Reserves space, where the file system can.
pub(super) fn reserve(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    match file.fallocate(FallocateFlags::KEEP_SIZE, offset, length) {
        Err(Errno::EOPNOTSUPP) => Ok(()),
        reserved => reserved,
    }
}
