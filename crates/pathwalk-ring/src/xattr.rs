//! Extended attributes through the async face. The file system is asked each time, so a worker does
//! it.

use pathwalk::{AtFlags, Errno, XattrFlags, XattrList};

use crate::{AsyncContext, Op, Place, Value};

/// # Extended attributes
///
/// ```
/// use pathwalk::{AtFlags, Credentials, Vfs, XattrFlags};
/// use pathwalk_ring::{AsyncContext, Pool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// let (vfs, flags) = (AsyncContext::new(context, Pool::default()), AtFlags::empty());
/// vfs.setxattr("/file", "user.colour", "red", XattrFlags::CREATE, flags).await?;
/// assert_eq!(vfs.getxattr("/file", "user.colour", flags).await?, b"red");
/// assert_eq!(vfs.listxattr("/file", flags).await?.as_bytes(), b"user.colour\0");
/// vfs.removexattr("/file", "user.colour", flags).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl AsyncContext {
    /// Returns the value of an extended attribute as [`Context::getxattrat`] does.
    ///
    /// [`Context::getxattrat`]: pathwalk::Context::getxattrat
    pub async fn getxattr(&self, place: impl Into<Place<'_>>, name: impl AsRef<[u8]>, flags: AtFlags) -> Result<Vec<u8>, Errno> {
        match self.perform(Op::Getxattrat { place: place.into(), name: name.as_ref().into(), flags }).await? {
            Value::Xattr(value) => Ok(value),
            other => unreachable!("{other:?} for an operation that gives a value"),
        }
    }

    /// Sets an extended attribute as [`Context::setxattrat`] does.
    ///
    /// [`Context::setxattrat`]: pathwalk::Context::setxattrat
    pub async fn setxattr(
        &self,
        place: impl Into<Place<'_>>,
        name: impl AsRef<[u8]>,
        value: impl Into<Vec<u8>>,
        how: XattrFlags,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        let (place, name, value) = (place.into(), name.as_ref().into(), value.into());
        self.perform(Op::Setxattrat { place, name, value, how, flags }).await.map(drop)
    }

    /// Returns the names of the extended attributes as [`Context::listxattrat`] does.
    ///
    /// [`Context::listxattrat`]: pathwalk::Context::listxattrat
    pub async fn listxattr(&self, place: impl Into<Place<'_>>, flags: AtFlags) -> Result<XattrList, Errno> {
        match self.perform(Op::Listxattrat { place: place.into(), flags }).await? {
            Value::XattrList(names) => Ok(names),
            other => unreachable!("{other:?} for an operation that gives a list"),
        }
    }

    /// Removes an extended attribute as [`Context::removexattrat`] does.
    ///
    /// [`Context::removexattrat`]: pathwalk::Context::removexattrat
    pub async fn removexattr(&self, place: impl Into<Place<'_>>, name: impl AsRef<[u8]>, flags: AtFlags) -> Result<(), Errno> {
        self.perform(Op::Removexattrat { place: place.into(), name: name.as_ref().into(), flags }).await.map(drop)
    }
}
