//! Extended attributes: their names, and lists of names. Source: `xattr(7)`.
//!
//! What always holds: an [`XattrName`] is in one of the four namespaces, and has more than that. A
//! [`XattrList`] has each name with a NUL behind it, as `listxattr(2)` returns it.
//!
//! What it does not do: it checks no rights, which is for `ops/xattr.rs`.

use crate::Errno;
use crate::limits::{XATTR_LIST_MAX, XATTR_NAME_MAX};

/// The namespace of an extended attribute, which decides about the rights to it. Source:
/// `xattr(7)`.
///
/// [`XattrName`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum XattrNamespace {
    /// `user.`: of regular files and directories, for callers that may read or write them.
    User,
    /// `trusted.`: for callers with `CAP_SYS_ADMIN`.
    Trusted,
    /// `security.`: readable for all callers, and set by those with `CAP_SYS_ADMIN`; the file
    /// capability by those with `CAP_SETFCAP`.
    Security,
    /// `system.`: what file systems define, as access control lists.
    System,
}

impl XattrNamespace {
    const ALL: [(XattrNamespace, &'static [u8]); 4] = [
        (XattrNamespace::User, b"user."),
        (XattrNamespace::Trusted, b"trusted."),
        (XattrNamespace::Security, b"security."),
        (XattrNamespace::System, b"system."),
    ];

    /// Returns the namespace of any name, with the length of its prefix in bytes.
    pub(crate) fn of(name: &[u8]) -> Option<(XattrNamespace, usize)> {
        let all = XattrNamespace::ALL.iter();
        let mut found = all.filter(|(_, prefix)| name.starts_with(prefix)).map(|(space, prefix)| (*space, prefix.len()));
        found.next()
    }
}

/// The name of an extended attribute: 1..=255 bytes without NUL, of which the first are those of a
/// namespace, and at least one follows.
///
/// ```
/// use pathwalk::{Errno, XattrName, XattrNamespace};
/// let name = XattrName::new(b"user.colour")?;
/// assert_eq!((name.bytes(), name.namespace()), (&b"user.colour"[..], XattrNamespace::User));
/// assert_eq!(XattrName::new(b""), Err(Errno::ERANGE));
/// assert_eq!(XattrName::new(b"colour"), Err(Errno::EOPNOTSUPP));
/// assert_eq!(XattrName::new(b"user."), Err(Errno::EINVAL));
/// # Ok::<(), Errno>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct XattrName<'a> {
    bytes: &'a [u8],
    namespace: XattrNamespace,
}

impl<'a> XattrName<'a> {
    /// The file capability, which writes to the file remove. Source: `capabilities(7)`.
    pub(crate) const CAPABILITY: XattrName<'static> =
        XattrName { bytes: b"security.capability", namespace: XattrNamespace::Security };

    /// Creates a name. `ERANGE` if it is empty or longer than
    /// [`XATTR_NAME_MAX`](crate::limits::XATTR_NAME_MAX), `EOPNOTSUPP` if it is in no namespace,
    /// `EINVAL` if nothing follows the namespace, or for a NUL.
    pub fn new(bytes: &'a [u8]) -> Result<XattrName<'a>, Errno> {
        XattrName::check(bytes)?;
        let (namespace, prefix) = XattrNamespace::of(bytes).ok_or(Errno::EOPNOTSUPP)?;
        match namespace {
            _ if bytes.len() > prefix => Ok(XattrName { bytes, namespace }),
            // No file system has all of this namespace.
            XattrNamespace::System => Err(Errno::EOPNOTSUPP),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Checks what Linux checks before it looks at a path: the length. A NUL would end the name
    /// there, and is `EINVAL` here.
    pub(crate) fn check(bytes: &[u8]) -> Result<(), Errno> {
        match bytes.len() {
            1..=XATTR_NAME_MAX if bytes.contains(&0) => Err(Errno::EINVAL),
            1..=XATTR_NAME_MAX => Ok(()),
            _ => Err(Errno::ERANGE),
        }
    }

    /// Returns all bytes, the namespace's included.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the namespace.
    pub fn namespace(self) -> XattrNamespace {
        self.namespace
    }
}

/// The names of a node's extended attributes, in the order of the file system. Made by
/// [`Context::listxattr`](crate::Context::listxattr).
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs, XattrFlags, copy_xattr};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.setxattr("/", "user.colour", "red", XattrFlags::empty())?;
/// context.setxattr("/", "trusted.seal", "", XattrFlags::empty())?;
/// let list = context.listxattr("/")?;
/// assert_eq!(list.iter().collect::<Vec<_>>(), [&b"user.colour"[..], b"trusted.seal"]);
/// assert!(!list.is_empty());
/// assert!(list.iter().all(|name| context.getxattr("/", name).is_ok()));
/// assert_eq!(list.as_bytes(), b"user.colour\0trusted.seal\0", "as Linux returns it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct XattrList(Vec<u8>);

impl XattrList {
    /// Adds a name: `E2BIG` if the list becomes longer than Linux returns.
    pub(crate) fn push(&mut self, name: &[u8]) -> Result<(), Errno> {
        if self.0.len() + name.len() >= XATTR_LIST_MAX {
            return Err(Errno::E2BIG);
        }
        self.0.extend_from_slice(name);
        self.0.push(0);
        Ok(())
    }

    /// Returns the names.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split_inclusive(|byte| *byte == 0).map(|name| &name[..name.len() - 1])
    }

    /// Returns the names with a NUL behind each, for [`copy_xattr`] and for servers.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for XattrList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|name| format!("{}", name.escape_ascii()))).finish()
    }
}

/// Copies a value or a [list](XattrList::as_bytes) into a buffer as `getxattr(2)` and
/// `listxattr(2)` do, and returns its length in bytes: of an empty buffer nothing is filled, and
/// another that is too small is `ERANGE`. For servers, whose clients ask in these two steps.
///
/// ```
/// use pathwalk::{Errno, copy_xattr};
/// assert_eq!(copy_xattr(b"value", &mut []), Ok(5), "a question about the size");
/// let mut buffer = [0; 8];
/// assert_eq!((copy_xattr(b"value", &mut buffer), &buffer[..5]), (Ok(5), &b"value"[..]));
/// assert_eq!(copy_xattr(b"value", &mut buffer[..4]), Err(Errno::ERANGE));
/// ```
pub fn copy_xattr(found: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
    if !buffer.is_empty() {
        buffer.get_mut(..found.len()).ok_or(Errno::ERANGE)?.copy_from_slice(found);
    }
    Ok(found.len())
}
