//! The mount of a layer over its base.
//!
//! What always holds: a mount is attached to nothing at first, so it goes with its descriptor if no
//! one attaches it. Directories are passed by descriptors, so a path may have any bytes and length.
//!
//! Needs `/proc`, and the right to mount in this process's namespaces. The kernel refuses
//! directories that are on a mount of another namespace, so it is called after that was entered.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, open};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
    fsopen, move_mount,
};

use crate::error::Error;
use crate::form::Form;
use crate::layer::{Layer, UPPER, WORK};

/// The options for root, with which overlayfs comes nearest to a plain directory: directories of
/// the base are renamed, a node with several names stays one, a copy has all its data, and numbers
/// of nodes stay.
const OF_ROOT: [(&str, &str); 4] = [("redirect_dir", "on"), ("index", "on"), ("metacopy", "off"), ("xino", "auto")];

/// The directory by which overlayfs notes a `volatile` mount, in its work directory.
const NOTED: &str = "work/incompat/volatile";

impl Layer {
    /// Mounts the layer over a directory, without device nodes and suid programs. The mount is
    /// attached to nothing until [`attach`](Self::attach).
    ///
    /// It is `volatile`: neither `fsync(2)` nor the end of the mount writes to disk what the layer
    /// has. So it is refused for a layer of an [earlier boot](Self::is_of_this_boot). Source:
    /// `Documentation/filesystems/overlayfs.rst`.
    pub fn mount(&self, base: &Path) -> Result<OwnedFd, Error> {
        let directory = |path: &Path| {
            let opened = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            opened.map_err(Error::host("open", path))
        };
        let (upper, work) = (directory(&self.dir.join(UPPER))?, directory(&self.dir.join(WORK))?);
        let base = directory(base)?;
        if self.is_of_this_boot() {
            self.allow_again()?;
        }
        let refused = |error: rustix::io::Errno| Error::Refused { path: self.dir.clone(), error: error.into() };
        configured(self.form(), [&base, &upper, &work].map(AsFd::as_fd)).map_err(refused)
    }

    /// Removes the note that the layer was mounted before, with which the kernel refuses it. What
    /// was written then is seen, since the kernel has not been started anew.
    fn allow_again(&self) -> Result<(), Error> {
        let noted = self.dir.join(WORK).join(NOTED);
        match std::fs::remove_dir_all(&noted) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::host("remove", &noted)(error)),
            _ => Ok(()),
        }
    }

    /// Attaches a mount to a directory.
    pub fn attach(mount: &OwnedFd, at: &Path) -> Result<(), Error> {
        let moved = move_mount(mount, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
        moved.map_err(io::Error::from).map_err(Error::host("mount overlayfs at", at))
    }
}

/// Makes a mount of the base, the layer and its work directory.
fn configured(form: Form, [base, upper, work]: [BorrowedFd<'_>; 3]) -> rustix::io::Result<OwnedFd> {
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&fs, "source", "pathwalk")?;
    for (name, directory) in [("lowerdir", base), ("upperdir", upper), ("workdir", work)] {
        fsconfig_set_string(&fs, name, format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    }
    match form {
        Form::Trusted => OF_ROOT.into_iter().try_for_each(|(name, value)| fsconfig_set_string(&fs, name, value))?,
        Form::User => fsconfig_set_flag(&fs, "userxattr")?,
    }
    // What is needed after a loss of power is synced when the layer is taken.
    fsconfig_set_flag(&fs, "volatile")?;
    fsconfig_create(&fs)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOATIME | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}
