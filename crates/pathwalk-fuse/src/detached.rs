//! A mount that one process makes, in namespaces of its own, and that another process serves.
//!
//! The first opens the device, since the kernel lets a mount be used in the user namespace in which
//! its descriptor was opened. It passes the descriptor to the second one, by `SCM_RIGHTS` say.
//!
//! What it does not do: attach the mount, or unmount it. The namespace in which it is attached has
//! it, and its end is the end of the mount.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use pathwalk::Context;

use crate::device::Device;
use crate::mounted::Pinned;
use crate::serve::Server;
use crate::session::Session;
use crate::{MountError, Options, begin_and_start, generation, untold};

/// A mount that is attached nowhere, and that is not served yet.
///
/// [`serve`] has an example.
#[derive(Debug)]
pub struct Detached {
    /// The mount, for `move_mount(2)`.
    pub mount: OwnedFd,
    /// The descriptor of `/dev/fuse`, for [`serve`].
    pub device: OwnedFd,
}

impl Detached {
    /// Has the kernel learn that it need not tell of opens, if the mount is served with
    /// [`Opens::Untold`](crate::Opens::Untold). Otherwise it learns that when a file is opened
    /// first, and tells of the end of files that were created before. Waits until the mount is
    /// served, and fails as the creation of a file without a name fails in the root.
    ///
    /// ```no_run
    /// use pathwalk_fuse::{Options, mount_detached};
    /// let detached = mount_detached(&Options::default())?;
    /// // Here the device is passed to the process that serves it.
    /// let _ = detached.learn_opens();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn learn_opens(&self) -> std::io::Result<()> {
        untold::teach(&self.mount)
    }
}

/// Mounts by the caller's own privilege, and attaches the mount nowhere. All that use it wait until
/// the device is served.
///
/// | error | when |
/// |---|---|
/// | [`Device`](MountError::Device) | there is no `/dev/fuse`, or it may not be opened |
/// | [`Detached`](MountError::Detached) | the caller has no `CAP_SYS_ADMIN` in its user namespace, or the kernel refuses |
///
/// [`serve`] has an example.
pub fn mount_detached(options: &Options) -> Result<Detached, MountError> {
    let device = Device::open().map_err(|errno| MountError::Device(errno.into()))?;
    let mount = device.mount_detached(&options.mounting()).map_err(|errno| match errno {
        rustix::io::Errno::NODEV => MountError::Device(errno.into()),
        errno => MountError::Detached(errno.into()),
    })?;
    Ok(Detached { mount, device: device.into_descriptor() })
}

/// Serves the root of a context by threads of its own, on a device by which
/// [`mount_detached`] mounted with the same options, in this process or in another one.
///
/// | error | when |
/// |---|---|
/// | [`Protocol`](MountError::Protocol) | the kernel is older than Linux 5.14, or the mount has ended |
/// | [`Root`](MountError::Root) | the file system fails at its root |
/// | [`Thread`](MountError::Thread) | no thread can be started |
///
/// ```no_run
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_fuse::{Options, mount_detached, serve};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let options = Options::default();
/// let detached = mount_detached(&options)?;
/// let served = serve(&context, detached.device, &options)?;
/// drop(detached.mount); // nothing has it any more
/// served.wait();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn serve(context: &Context, device: OwnedFd, options: &Options) -> Result<Served, MountError> {
    let server = Server::new(context, options, generation()).map_err(MountError::Root)?;
    let session = begin_and_start(Device::of_mount(device), server, options)?;
    Ok(Served { session })
}

/// A mount of another process, while it is served. It is served until it is unmounted, also when
/// this is dropped.
///
/// [`serve`] has an example.
pub struct Served {
    session: Arc<Session>,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("pinned", &self.pinned()).finish_non_exhaustive()
    }
}

impl Served {
    /// Returns what the kernel holds: nothing, once the mount has ended. The cost grows with the
    /// number of nodes.
    pub fn pinned(&self) -> Pinned {
        self.session.pinned()
    }

    /// Waits until it is unmounted.
    pub fn wait(&self) {
        self.session.wait();
    }

    /// Waits as long at most, and returns whether it is unmounted.
    pub fn wait_for(&self, most: Duration) -> bool {
        self.session.wait_for(most)
    }
}
