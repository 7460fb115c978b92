//! Operations of [`Context`] on access control lists.

use super::{AsPath, At, Context};
use crate::abi::AtFlags;
use crate::ops::Way;
use crate::permission::{Acl, AclKind};
use crate::{Errno, ops};

/// # Access control lists
///
/// They block: the file system is asked each time. `EOPNOTSUPP` for a link, and where the file
/// system keeps no lists. Through an id-mapped mount, named users and groups are mapped as owners
/// are. One without an id there is read as [`NO_ID`](crate::permission::NO_ID).
///
/// An open [`File`](crate::File) and a [`Handle`](crate::Handle) are starting points: with an empty
/// path and [`AtFlags::EMPTY_PATH`] the operation is on their own node.
///
/// ```
/// use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
/// use pathwalk::{Access, AtFlags, Credentials, Errno, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// let entry = |tag, grants| AclEntry { tag, grants };
/// let list = Acl::new(vec![
///     entry(AclTag::Owner, Access::READ | Access::WRITE),
///     entry(AclTag::User(1000), Access::READ),
///     entry(AclTag::Group, Access::empty()),
///     entry(AclTag::Mask, Access::READ),
///     entry(AclTag::Other, Access::empty()),
/// ]);
/// context.set_acl("/file", AclKind::Access, Some(&list))?;
/// assert_eq!(context.acl("/file", AclKind::Access)?, Some(list));
/// assert_eq!(context.stat("/file")?.mode, 0o640, "the group's bits are the mask");
///
/// let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
/// user.access("/file", Access::READ)?;
/// assert_eq!(user.set_acl("/file", AclKind::Access, None), Err(Errno::EPERM));
///
/// // By what is open, and without the list.
/// let file = context.lookup("/file")?;
/// context.set_acl_at(&file, "", AclKind::Access, None, AtFlags::EMPTY_PATH)?;
/// assert_eq!(context.acl_at(&file, "", AclKind::Access, AtFlags::EMPTY_PATH)?, None);
/// assert_eq!(user.access("/file", Access::READ), Err(Errno::EACCES));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Returns a list of a node, or `None` if the node has none. Needs no right to the node itself.
    /// Source: `getxattr(2)` of `system.posix_acl_access` or `system.posix_acl_default`, where
    /// `None` is `ENODATA`.
    pub fn acl(&self, path: impl AsPath, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.acl_at(At::Cwd, path, kind, AtFlags::empty())
    }

    /// Does the same as [`acl`](Self::acl) from a starting point and with flags:
    /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`. Source: `getxattrat(2)`, which refuses the descriptor of a
    /// mere place with an empty path (`EBADF`).
    pub fn acl_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        kind: AclKind,
        flags: AtFlags,
    ) -> Result<Option<Acl>, Errno> {
        self.may_ask_file_system()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::acl::get(&self.asker, at, path, kind, flags))
    }

    /// Sets a list of a node, or removes it; to remove a list that is not there is no error.
    ///
    /// An access list also sets the permission bits, to its [`mode`](Acl::mode). If these grant the
    /// same ([`Acl::is_only_mode`]), the node keeps no list. Without `CAP_FSETID`, the sgid bit is
    /// cleared if the caller is not in the node's group. If a list is removed, the bits stay, and
    /// the mask is the group's from then on. A default list is for directories: new nodes in it get
    /// theirs from that.
    ///
    /// `EROFS`; `EPERM` for callers that do not own the node, and for an immutable or append-only
    /// one; `EACCES` for a default list of another node than a directory; `EINVAL` for a list that
    /// is not [valid](Acl::is_valid). Source: `setxattr(2)`, `removexattr(2)`, `acl(5)`.
    pub fn set_acl(&self, path: impl AsPath, kind: AclKind, acl: Option<&Acl>) -> Result<(), Errno> {
        self.set_acl_at(At::Cwd, path, kind, acl, AtFlags::empty())
    }

    /// Does the same as [`set_acl`](Self::set_acl) from a starting point and with flags:
    /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`. Source: `setxattrat(2)`, `removexattrat(2)`, which refuse
    /// the descriptor of a mere place with an empty path (`EBADF`).
    pub fn set_acl_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        kind: AclKind,
        acl: Option<&Acl>,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::acl::set(&self.asker, at, path, (kind, acl), flags))
    }
}
