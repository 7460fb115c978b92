//! What the standard library's `File` has beside data and a position: metadata, permissions and
//! times.
//!
//! # What always holds
//!
//! - An operation is on the open file, whatever became of its name.
//! - It has the rights of the opener. How the file was opened does not matter, unless it is a place
//!   only (`EBADF`).

#[cfg(unix)]
use std::time::SystemTime;

use super::mode::AsMode;
use crate::abi::{AtFlags, SetTime};
use crate::attr::Attributes;
#[cfg(unix)]
use crate::attr::Timestamp;
use crate::context::Context;
use crate::errno::Errno;
use crate::file::File;
use crate::fs_api::SyncWhat;

/// # As in `std::fs`
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use pathwalk::{Credentials, File, Vfs};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let file = File::create(&context, "/motd")?;
/// let time = UNIX_EPOCH + Duration::from_secs(7);
/// file.set_permissions(0o600)?;
/// file.set_modified(time)?;
/// file.sync_all()?;
/// assert_eq!((file.metadata()?.mode, file.metadata()?.modified()?), (0o600, time));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl File {
    /// Returns its attributes. Errors as [`Handle::attributes`](crate::Handle::attributes), which
    /// it calls. Source: [`std::fs::File::metadata`].
    pub fn metadata(&self) -> Result<Attributes, Errno> {
        self.handle().attributes()
    }

    /// Sets permission bits. Errors as [`Context::chmod`]. Source:
    /// [`std::fs::File::set_permissions`].
    pub fn set_permissions(&self, permissions: impl AsMode) -> Result<(), Errno> {
        self.opener()?.fchmodat(self, "", permissions.mode_bits(), AtFlags::EMPTY_PATH)
    }

    /// Sets the time of the last change of the contents. Errors as [`Context::utimes`]. Source:
    /// [`std::fs::File::set_modified`].
    #[cfg(unix)]
    pub fn set_modified(&self, time: SystemTime) -> Result<(), Errno> {
        self.set_times(SetTime::Keep, SetTime::To(Timestamp::from(time)))
    }

    /// Sets the times of access and of change. Errors as [`Context::utimes`]. Source:
    /// `futimens(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, File, SetTime, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let file = File::create(&context, "/motd")?;
    /// file.set_times(SetTime::Keep, SetTime::To(Default::default()))?;
    /// assert_eq!(file.metadata()?.mtime, Default::default());
    /// file.sync_data()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_times(&self, atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        self.opener()?.utimensat(self, "", atime, mtime, AtFlags::EMPTY_PATH)
    }

    /// Puts data and attributes on stable storage, as [`sync`](Self::sync). Source:
    /// [`std::fs::File::sync_all`].
    pub fn sync_all(&self) -> Result<(), Errno> {
        self.sync(SyncWhat::All)
    }

    /// Puts data on stable storage, as [`sync`](Self::sync). [`set_times`](Self::set_times) has an
    /// example. Source: [`std::fs::File::sync_data`].
    pub fn sync_data(&self) -> Result<(), Errno> {
        self.sync(SyncWhat::Data)
    }

    /// Returns a context with the rights of the opener.
    fn opener(&self) -> Result<Context, Errno> {
        Ok(self.handle().vfs().context(self.opener_credentials()?.clone()))
    }
}
