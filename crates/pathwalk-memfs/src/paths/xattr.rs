//! Extended attributes by paths.

use pathwalk::{AsPath, Errno, XattrFlags, XattrName};

use crate::{Error, MemFs};

/// The methods for extended attributes. They check no rights, and a running `Vfs` gets no notice of
/// a change: one that sets `security.capability` is followed by
/// [`Vfs::refresh`](pathwalk::Vfs::refresh).
///
/// ```
/// use pathwalk_memfs::MemFs;
/// let fs = MemFs::new();
/// fs.file("/file", 0o644)?;
/// fs.set_xattr("/file", "user.colour", b"red")?;
/// assert_eq!(fs.xattr("/file", "user.colour")?.as_deref(), Some(&b"red"[..]));
/// assert_eq!(fs.xattr("/file", "user.size")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl MemFs {
    /// Sets an extended attribute of a node; of a link, its own. `EINVAL`, `EOPNOTSUPP` or `ERANGE`
    /// for a name that is none, `ENOSPC`.
    pub fn set_xattr(&self, path: impl AsPath, name: impl AsRef<[u8]>, value: &[u8]) -> Result<(), Error> {
        const ACTION: &str = "set extended attribute of";
        let node = self.node(ACTION, path.path_bytes())?;
        let set = |name| self.0.set_xattr(node.key(), name, value, XattrFlags::empty());
        XattrName::new(name.as_ref()).and_then(set).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Returns the value of an extended attribute; `None` if the node does not have it.
    pub fn xattr(&self, path: impl AsPath, name: impl AsRef<[u8]>) -> Result<Option<Box<[u8]>>, Error> {
        const ACTION: &str = "get extended attribute of";
        let node = self.node(ACTION, path.path_bytes())?;
        let get = |name| -> Result<_, Errno> { self.0.get_xattr(node.key(), name) };
        XattrName::new(name.as_ref()).and_then(get).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }
}
