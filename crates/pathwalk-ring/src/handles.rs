//! File handles, generations and what the caches never have of a node, through the async face. The
//! file system is asked each time, so a worker does it.

use std::sync::Arc;

use pathwalk::{AtFlags, Details, Errno, File, FileHandle, Handle, HandleFlags, OpenHow, Statx, StatxMask};

use crate::{AsyncContext, Op, Place, Value};

/// # For servers
///
/// ```
/// use pathwalk::{AtFlags, Credentials, HandleFlags, OpenFlags, StatxMask, Vfs};
/// use pathwalk_ring::{AsyncContext, Offset, Pool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// let (root, vfs) = (context.root().clone(), AsyncContext::new(context, Pool::default()));
/// let (of_file, _mount) = vfs.name_to_handle("/file", HandleFlags::empty()).await?;
/// vfs.rename("/file", "/moved", Default::default()).await?;
/// assert_eq!(vfs.lookup_by_handle(&root, &of_file).await?.path()?, b"/moved");
/// let file = vfs.open_by_handle(&root, &of_file, OpenFlags::READ).await?;
/// assert_eq!(vfs.read(&file, vec![0; 9], Offset::Current).await?, b"data");
/// // What an NFS server gives with attributes, and a FUSE server with an entry.
/// let (found, details) = vfs.details("/moved", AtFlags::empty(), StatxMask::CHANGE_COOKIE).await?;
/// assert_eq!(found.change_attribute(details.change), details.change.unwrap().number());
/// assert_eq!(vfs.generation("/moved", AtFlags::empty()).await?, file.generation()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl AsyncContext {
    /// Returns the handle of a node, and the number of its mount, as
    /// [`Context::name_to_handle_at`] does.
    ///
    /// [`Context::name_to_handle_at`]: pathwalk::Context::name_to_handle_at
    pub async fn name_to_handle(&self, place: impl Into<Place<'_>>, flags: HandleFlags) -> Result<(FileHandle, u64), Errno> {
        match self.perform(Op::NameToHandleAt { place: place.into(), flags }).await? {
            Value::FileHandle(handle, mount) => Ok((handle, mount)),
            other => unreachable!("{other:?} for an operation that gives a handle"),
        }
    }

    /// Returns the place of a handle's node as [`Context::lookup_by_handle`] does.
    ///
    /// [`Context::lookup_by_handle`]: pathwalk::Context::lookup_by_handle
    pub async fn lookup_by_handle(&self, mount: &Handle, handle: &FileHandle) -> Result<Handle, Errno> {
        match self.perform(Op::LookupByHandle { mount: mount.clone(), handle: handle.clone() }).await? {
            Value::Handle(found) => Ok(found),
            other => unreachable!("{other:?} for a lookup"),
        }
    }

    /// Opens a handle's node as [`Context::open_by_handle`] does.
    ///
    /// [`Context::open_by_handle`]: pathwalk::Context::open_by_handle
    pub async fn open_by_handle(&self, mount: &Handle, handle: &FileHandle, how: impl Into<OpenHow>) -> Result<Arc<File>, Errno> {
        let op = Op::OpenByHandleAt { mount: mount.clone(), handle: handle.clone(), how: how.into() };
        match self.perform(op).await? {
            Value::File(file) => Ok(file),
            other => unreachable!("{other:?} for an open"),
        }
    }

    /// Returns attributes with what the caches never have, as [`Context::details_at`] does.
    ///
    /// [`Context::details_at`]: pathwalk::Context::details_at
    pub async fn details(&self, place: impl Into<Place<'_>>, flags: AtFlags, mask: StatxMask) -> Result<(Statx, Details), Errno> {
        match self.perform(Op::Details { place: place.into(), flags, mask }).await? {
            Value::Details(found) => Ok(*found),
            other => unreachable!("{other:?} for an operation that gives attributes"),
        }
    }

    /// Returns the generation of a node as [`Context::generation_at`] does.
    ///
    /// [`Context::generation_at`]: pathwalk::Context::generation_at
    pub async fn generation(&self, place: impl Into<Place<'_>>, flags: AtFlags) -> Result<u32, Errno> {
        match self.perform(Op::GenerationAt { place: place.into(), flags }).await? {
            Value::Generation(number) => Ok(number),
            other => unreachable!("{other:?} for an operation that gives a generation"),
        }
    }
}
