//! What a new node inherits from the default ACL of its directory.
//!
//! Source: `posix_acl_create` of Linux.

use super::{NewKind, NewNode};
use crate::attr::FileType;
use crate::permission::Acl;

/// The permission bits and the lists of a new node. Made by [`NewNode::inherit`], which has an
/// example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Inherited {
    /// The permission bits, 0..=0o7777.
    pub mode: u16,
    /// The access ACL, unless the permission bits grant the same.
    pub access: Option<Acl>,
    /// The default ACL, which only a directory gets.
    pub default: Option<Acl>,
}

impl NewNode<'_> {
    /// Returns the permission bits and lists of the node in a directory with this default ACL.
    ///
    /// Without one, the umask is applied. With one, it is not: the node gets the list, in which no
    /// entry that permission bits stand for grants more than the node's own bits. A link gets
    /// neither.
    ///
    /// ```
    /// use pathwalk::permission::Acl;
    /// use pathwalk::{NewKind, NewNode};
    /// let new = NewNode::new(NewKind::Directory, 0o777, 1000, 1000).with_umask(0o022);
    /// assert_eq!(new.inherit(None).mode, 0o755);
    /// let default = Acl::from_mode(0o770);
    /// let inherited = new.inherit(Some(&default));
    /// assert_eq!((inherited.mode, inherited.access), (0o770, None));
    /// assert_eq!(inherited.default, Some(default));
    /// ```
    pub fn inherit(&self, default: Option<&Acl>) -> Inherited {
        let is_link = matches!(self.kind, NewKind::Symlink(_));
        let Some(list) = default.filter(|_| !is_link) else {
            return Inherited { mode: self.mode & !self.umask, access: None, default: None };
        };
        let access = list.for_new(self.mode);
        let mode = self.mode & !0o777 | access.mode();
        let is_directory = self.kind.file_type() == FileType::Directory;
        Inherited {
            mode,
            access: Some(access).filter(|access| !access.is_only_mode()),
            default: is_directory.then(|| list.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::{Access, AclEntry, AclTag};

    #[test]
    fn only_directories_get_a_default_list_and_links_none() {
        let entry = |tag, grants| AclEntry { tag, grants };
        let list = Acl::new(vec![
            entry(AclTag::Owner, Access::all()),
            entry(AclTag::User(11), Access::READ),
            entry(AclTag::Group, Access::READ),
            entry(AclTag::Mask, Access::all()),
            entry(AclTag::Other, Access::empty()),
        ]);
        let of = |kind, mode| NewNode::new(kind, mode, 0, 0).with_umask(0o077).inherit(Some(&list));
        let directory = of(NewKind::Directory, 0o2777);
        assert_eq!((directory.mode, directory.access.as_ref(), directory.default.as_ref()), (0o2770, Some(&list), Some(&list)));
        let file = of(NewKind::Regular, 0o644);
        assert_eq!((file.mode, file.access, file.default), (0o640, Some(list.for_new(0o644)), None));
        let link = NewNode::new(NewKind::Symlink(b"to"), 0o777, 0, 0).inherit(Some(&list));
        assert_eq!((link.mode, link.access, link.default), (0o777, None, None));
    }
}
