//! What opens devices: one driver for all devices of a `Vfs`, fixed at its construction.

use std::sync::Arc;

use crate::Errno;
use crate::attr::{Device, FileType};
use crate::fs_api::{OpenFile, OpenFor};

/// The code behind device nodes. Given to [`VfsBuilder::driver`](crate::VfsBuilder::driver).
/// Functions of these arguments implement it.
///
/// ```
/// use pathwalk::{Credentials, Device, Driver, Errno, FileType, MountFlags, NewKind, OpenFile, OpenFlags, OpenFor};
/// use pathwalk::{Seeking, Vfs, WriteAt, Written};
///
/// /// `/dev/null`, and `/dev/zero` if it has zeroes.
/// struct Memory {
///     has_zeroes: bool,
/// }
///
/// impl OpenFile for Memory {
///     fn seeking(&self) -> Seeking {
///         Seeking::Nowhere
///     }
///     fn read_at(&self, buffer: &mut [u8], _: u64) -> Result<usize, Errno> {
///         buffer.fill(0);
///         Ok(if self.has_zeroes { buffer.len() } else { 0 })
///     }
///     fn write_at(&self, data: &[u8], _: WriteAt) -> Result<Written, Errno> {
///         Ok(Written { bytes: data.len(), end: 0 })
///     }
/// }
///
/// struct Devices;
///
/// impl Driver for Devices {
///     fn open(&self, device: Device, kind: FileType, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
///         match (kind, device.major, device.minor) {
///             (FileType::CharDevice, 1, 3) => Ok(Box::new(Memory { has_zeroes: false })),
///             (FileType::CharDevice, 1, 5) => Ok(Box::new(Memory { has_zeroes: true })),
///             _ => Err(Errno::ENXIO),
///         }
///     }
/// }
///
/// let vfs = Vfs::builder().driver(Devices).build(pathwalk_memfs::MemFs::new())?;
/// let context = vfs.context(Credentials::root());
/// context.mknod("/null", NewKind::CharDevice(Device { major: 1, minor: 3 }), 0o666)?;
/// context.mknod("/zero", NewKind::CharDevice(Device { major: 1, minor: 5 }), 0o666)?;
/// context.mknod("/tty", NewKind::CharDevice(Device { major: 5, minor: 0 }), 0o666)?;
/// context.write("/null", "gone")?;
/// assert_eq!(context.read("/null")?, b"");
/// let mut buffer = [1; 3];
/// assert_eq!(context.open("/zero", OpenFlags::READ)?.read(&mut buffer), Ok(3));
/// assert_eq!(buffer, [0; 3]);
/// assert_eq!(context.open("/tty", OpenFlags::READ).unwrap_err(), Errno::ENXIO);
///
/// // A mount may forbid devices.
/// let sandbox = Vfs::builder().driver(Devices).mount_flags(MountFlags::NODEV).build(pathwalk_memfs::MemFs::new())?;
/// let context = sandbox.context(Credentials::root());
/// context.mknod("/null", NewKind::CharDevice(Device { major: 1, minor: 3 }), 0o666)?;
/// assert_eq!(context.open("/null", OpenFlags::READ).unwrap_err(), Errno::EACCES);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Driver: Send + Sync {
    /// Opens a device: `ENXIO` if there is none with this number. The right to open the node was
    /// checked. `kind` is a character or a block device; `what_for` has
    /// [`NONBLOCK`](OpenFor::NONBLOCK) if the open has it. Called under no lock; may block.
    fn open(&self, device: Device, kind: FileType, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno>;
}

impl<F> Driver for F
where
    F: Fn(Device, FileType, OpenFor) -> Result<Box<dyn OpenFile>, Errno> + Send + Sync,
{
    fn open(&self, device: Device, kind: FileType, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self(device, kind, what_for)
    }
}

/// The driver of a `Vfs`, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Drivers(Option<Arc<dyn Driver>>);

impl Drivers {
    pub(crate) fn of(driver: impl Driver + 'static) -> Drivers {
        Drivers(Some(Arc::new(driver)))
    }

    /// Opens a device: `ENXIO` without a driver.
    pub(crate) fn open(&self, device: Device, kind: FileType, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.0.as_ref().ok_or(Errno::ENXIO)?.open(device, kind, what_for)
    }

    /// Returns whether no device can be opened.
    pub(crate) fn are_none(&self) -> bool {
        self.0.is_none()
    }
}

impl std::fmt::Debug for Drivers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.are_none() { "none" } else { "some" })
    }
}
