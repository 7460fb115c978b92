//! The flags of nodes that users set, through the async face. The file system is asked each time,
//! so a worker does it.

use pathwalk::{AtFlags, Errno, InodeFlags};

use crate::{AsyncContext, Op, Place, Value};

/// # Flags of nodes
///
/// ```
/// use pathwalk::{AtFlags, Credentials, InodeFlags, Vfs};
/// use pathwalk_ring::{AsyncContext, Pool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// let (vfs, flags) = (AsyncContext::new(context, Pool::default()), AtFlags::empty());
/// vfs.set_inode_flags("/file", InodeFlags::NODUMP, flags).await?;
/// assert_eq!(vfs.inode_flags("/file", flags).await?, InodeFlags::NODUMP);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl AsyncContext {
    /// Returns the flags of a node as [`Context::inode_flags_at`] does.
    ///
    /// [`Context::inode_flags_at`]: pathwalk::Context::inode_flags_at
    pub async fn inode_flags(&self, place: impl Into<Place<'_>>, flags: AtFlags) -> Result<InodeFlags, Errno> {
        match self.perform(Op::InodeFlagsAt { place: place.into(), flags }).await? {
            Value::InodeFlags(found) => Ok(found),
            other => unreachable!("{other:?} for an operation that gives flags"),
        }
    }

    /// Sets the flags of a node as [`Context::set_inode_flags_at`] does.
    ///
    /// [`Context::set_inode_flags_at`]: pathwalk::Context::set_inode_flags_at
    pub async fn set_inode_flags(&self, place: impl Into<Place<'_>>, to: InodeFlags, flags: AtFlags) -> Result<(), Errno> {
        self.perform(Op::SetInodeFlagsAt { place: place.into(), to, flags }).await.map(drop)
    }
}
