//! The descriptor of `/dev/fuse`: mounting with it, and messages through it.
//!
//! A read gives one request as a whole, and a write takes one answer as a whole. Each thread has a
//! descriptor of its own for the same mount, so that answers and requests of one thread do not wait
//! for those of another.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{self, Errno, fcntl_dupfd_cloexec};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
    fsopen, mount,
};

use crate::unmount::{WhileInUse, unmount};

/// The device.
const PATH: &str = "/dev/fuse";

/// The request `FUSE_DEV_IOC_CLONE`: `_IOR(229, 0, uint32_t)`.
const CLONE: Opcode = opcode::read::<u32>(229, 0);

/// A descriptor for one mount.
#[derive(Debug)]
pub(crate) struct Device(OwnedFd);

/// What a mount is made with.
pub(crate) struct Mounting<'a> {
    /// The name that `mount(8)` shows as the source.
    pub(crate) source: &'a str,
    pub(crate) flags: MountFlags,
    /// Whether users other than the one that mounts may use it.
    pub(crate) is_for_all: bool,
}

impl Mounting<'_> {
    /// Returns the options of the file system that have no value.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        ["default_permissions"].into_iter().chain(self.is_for_all.then_some("allow_other"))
    }
}

impl Device {
    /// Opens the device.
    pub(crate) fn open() -> io::Result<Device> {
        openat(CWD, PATH, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map(Device)
    }

    /// Mounts on a directory. The kernel checks permissions.
    pub(crate) fn mount(&self, at: &Path, mounting: &Mounting<'_>) -> io::Result<()> {
        let values = self.values().map(|(name, value)| format!("{name}={value}"));
        let options = values.into_iter().chain(mounting.words().map(str::to_owned)).collect::<Vec<_>>().join(",");
        let options = CString::new(options).map_err(|_| Errno::INVAL)?;
        mount(mounting.source, at, "fuse.pathwalk", mounting.flags, &*options)
    }

    /// Mounts nowhere yet. Returns the mount, which `move_mount(2)` attaches.
    pub(crate) fn mount_detached(&self, mounting: &Mounting<'_>) -> io::Result<OwnedFd> {
        let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&context, "source", mounting.source)?;
        fsconfig_set_string(&context, "subtype", "pathwalk")?;
        self.values().into_iter().try_for_each(|(name, value)| fsconfig_set_string(&context, name, value))?;
        mounting.words().try_for_each(|word| fsconfig_set_flag(&context, word))?;
        fsconfig_create(&context)?;
        let pairs = [
            (MountFlags::RDONLY, MountAttrFlags::MOUNT_ATTR_RDONLY),
            (MountFlags::NODEV, MountAttrFlags::MOUNT_ATTR_NODEV),
            (MountFlags::NOSUID, MountAttrFlags::MOUNT_ATTR_NOSUID),
            (MountFlags::NOEXEC, MountAttrFlags::MOUNT_ATTR_NOEXEC),
        ];
        let set = pairs.iter().filter(|(flag, _)| mounting.flags.contains(*flag)).map(|(_, flag)| *flag);
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, set.collect())
    }

    /// Returns what tells the kernel whose mount it is.
    fn values(&self) -> [(&'static str, String); 4] {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let number = |number: u32| number.to_string();
        let descriptor = self.0.as_raw_fd().to_string();
        [("fd", descriptor), ("rootmode", "40000".into()), ("user_id", number(uid)), ("group_id", number(gid))]
    }

    /// Returns the descriptor, for another process.
    pub(crate) fn into_descriptor(self) -> OwnedFd {
        self.0
    }

    /// Takes the descriptor of a mount that another process made.
    pub(crate) fn of_mount(descriptor: OwnedFd) -> Device {
        Device(descriptor)
    }

    /// Returns one more descriptor for the same mount, with requests of its own under way.
    #[allow(unsafe_code)]
    pub(crate) fn again(&self) -> io::Result<Device> {
        let device = Device::open()?;
        let of = self.0.as_raw_fd() as u32;
        // SAFETY: the request reads one `u32`, the number of a descriptor that is open meanwhile.
        match unsafe { ioctl(&device.0, Setter::<CLONE, u32>::new(of)) } {
            Ok(()) => Ok(device),
            // A kernel before 6.2 refuses a device that was opened in another user namespace. Then
            // threads share one queue of requests.
            Err(Errno::INVAL) => Ok(Device(fcntl_dupfd_cloexec(&self.0, 0)?)),
            Err(errno) => Err(errno),
        }
    }

    /// Reads a request, and returns its length. `None` once nothing is mounted any more.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match io::read(&self.0, &mut *buffer) {
                Ok(length) => return Ok(Some(length)),
                // A request that was interrupted before it was read.
                Err(Errno::NOENT | Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::NODEV | Errno::NOTCONN) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Writes an answer. `ENOENT` if the request was given up meanwhile.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        io::write(&self.0, message).map(drop)
    }
}

/// Unmounts. A mount that is in use goes when it is no longer, and cannot be reached before.
pub(crate) fn detach(at: &Path) -> io::Result<()> {
    let done = unmount(at, WhileInUse::Goes);
    done.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::PERM))
}

/// Removes the mounts whose servers have died, if there are some in this place.
pub(crate) fn remove_dead(at: &Path) -> io::Result<()> {
    // Not by `stat`, which the kernel answers by what it has kept.
    while let Err(Errno::NOTCONN) = rustix::fs::statfs(at) {
        detach(at)?;
    }
    Ok(())
}
