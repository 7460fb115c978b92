//! The call `mount_setattr(2)`, which no library has.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use pathwalk::{MountFlags, Propagation, Recursion};
use rustix::mount::MountAttrFlags;

/// The changes of a mount's attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct MountAttr<'a> {
    /// The switches that are set: those that affect operations on files.
    pub set: MountFlags,
    /// The switches that are cleared before.
    pub clear: MountFlags,
    /// The new propagation of the mount, if it changes.
    pub propagation: Option<Propagation>,
    /// The user namespace with the mount's new id map, if it gets one.
    pub users: Option<BorrowedFd<'a>>,
}

const SWITCHES: [(MountFlags, MountAttrFlags); 5] = [
    (MountFlags::READ_ONLY, MountAttrFlags::MOUNT_ATTR_RDONLY),
    (MountFlags::NOSUID, MountAttrFlags::MOUNT_ATTR_NOSUID),
    (MountFlags::NODEV, MountAttrFlags::MOUNT_ATTR_NODEV),
    (MountFlags::NOEXEC, MountAttrFlags::MOUNT_ATTR_NOEXEC),
    (MountFlags::NOSYMFOLLOW, MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW),
];

const AT_RECURSIVE: libc::c_uint = 0x8000;

/// Returns the kernel's form of these switches.
pub fn attributes(flags: MountFlags) -> MountAttrFlags {
    let set = SWITCHES.into_iter().filter(|switch| flags.contains(switch.0));
    set.fold(MountAttrFlags::empty(), |all, switch| all | switch.1)
}

/// Changes the mount whose root a path leads to. An empty path means the file that the descriptor
/// is open on.
pub fn mount_setattr(at: BorrowedFd<'_>, path: &[u8], to: &MountAttr<'_>, how: Recursion) -> io::Result<()> {
    let propagation = to.propagation.map_or(0, |kind| match kind {
        Propagation::Private => libc::MS_PRIVATE,
        Propagation::Shared => libc::MS_SHARED,
        Propagation::Slave => libc::MS_SLAVE,
        Propagation::Unbindable => libc::MS_UNBINDABLE,
    });
    let mapped = to.users.map_or(MountAttrFlags::empty(), |_| MountAttrFlags::MOUNT_ATTR_IDMAP);
    let users = to.users.map_or(0, |users| users.as_raw_fd() as u64);
    let [set, clear] = [attributes(to.set) | mapped, attributes(to.clear)].map(|flags| u64::from(flags.bits()));
    let attributes: [u64; 4] = [set, clear, propagation, users];
    let mut flags = if path.is_empty() { libc::AT_EMPTY_PATH as libc::c_uint } else { 0 };
    flags |= if how == Recursion::Recursive { AT_RECURSIVE } else { 0 };
    let path = CString::new(path)?;
    let (size, attributes) = (size_of_val(&attributes), attributes.as_ptr());
    // SAFETY: the path ends in a NUL; it and the attributes outlive the call, which only reads
    // them.
    let result = unsafe { libc::syscall(libc::SYS_mount_setattr, at.as_raw_fd(), path.as_ptr(), flags, attributes, size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
