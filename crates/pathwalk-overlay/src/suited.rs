//! Whether a mounted layer answers as Linux does on a plain directory.
//!
//! The kernel turns options off that a file system does not allow, and reports that only in its
//! log. So what matters is found by what the mount shows.
//!
//! What it does not do: look for what overlayfs answers in its own way on every file system. These
//! are: a file of the base that is mapped shared and read-only does not show later writes; one that
//! is executed may be written; `name_to_handle_at` is `EOPNOTSUPP`; a character device 0:0 cannot
//! be made; a file of the base has another time of birth from its first change on; the root of the
//! mount has a number of its own.

use std::collections::HashSet;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use pathwalk_hostfs::mountinfo;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Statx, StatxFlags, fstatfs, openat, statx};

use crate::error::Error;
use crate::form::Form;
use crate::layer::{Layer, WORK};

/// Whether a mounted layer answers as Linux does on a plain directory.
///
/// [`Layer`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suited {
    /// It does.
    Yes,
    /// It does not, in these points.
    No(Vec<Limit>),
}

/// A point in which a mounted layer is not as a plain directory.
///
/// ```
/// use pathwalk_overlay::Limit;
/// assert!(Limit::RenamedDirectories.to_string().contains("EXDEV"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// `rename(2)` of a directory of the base fails.
    RenamedDirectories,
    /// The names of a file of the base part when it is changed.
    HardLinks,
    /// Files have other numbers, some from their first change on, or a device number each.
    Numbers,
    /// What is mounted below the base is not seen.
    MountsBelow,
    /// Another machine, or another process, writes the times of the base, so its changes are not
    /// found.
    Clock,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::RenamedDirectories => "a rename of a directory of the base fails (EXDEV)",
            Limit::HardLinks => "hard links of a file of the base part when it is changed",
            Limit::Numbers => "inode numbers of the base change",
            Limit::MountsBelow => "what is mounted below the base is not seen",
            Limit::Clock => "changes of the base on a network or FUSE file system are not found",
        })
    }
}

/// File systems whose times this machine's kernel does not write: NFS, CIFS, SMB2, 9P, Ceph, AFS,
/// FUSE. Source: `statfs(2)`, `linux/magic.h`.
const OTHER_CLOCKS: [u64; 7] = [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x6573_5546];

/// The most entries of the base whose numbers are compared.
const COMPARED: usize = 64;

impl Layer {
    /// Finds whether a mount of this layer, over a directory, is suited.
    pub fn suited(&self, base: &Path, mount: &OwnedFd) -> Result<Suited, Error> {
        let mut limits = Vec::new();
        if self.form() == Form::User {
            limits.extend([Limit::RenamedDirectories, Limit::HardLinks, Limit::Numbers]);
        } else if !self.dir.join(WORK).join("index").is_dir() {
            // The kernel makes it when the layer is first mounted.
            limits.push(Limit::HardLinks);
        }
        let opened = openat(CWD, base, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let opened = opened.map_err(Error::host("open", base))?;
        if self.form() == Form::Trusted && !keeps_numbers(&opened, mount).map_err(Error::host("look at", base))? {
            limits.push(Limit::Numbers);
        }
        let full = base.canonicalize().map_err(Error::host("find", base))?;
        if has_mounts_below(&full) {
            limits.push(Limit::MountsBelow);
        }
        let kind = fstatfs(&opened).map_err(Error::host("look at", base))?.f_type as u64 & u64::from(u32::MAX);
        if OTHER_CLOCKS.contains(&kind) {
            limits.push(Limit::Clock);
        }
        Ok(if limits.is_empty() { Suited::Yes } else { Suited::No(limits) })
    }
}

/// Returns whether entries of a directory have their numbers in a mount, and all one device number.
fn keeps_numbers(base: &OwnedFd, mount: &OwnedFd) -> rustix::io::Result<bool> {
    let number = |dir: &OwnedFd, name: &std::ffi::CStr| {
        statx(dir.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, StatxFlags::INO)
    };
    let device = |of: &Statx| (of.stx_dev_major, of.stx_dev_minor);
    let root = statx(mount, c"", AtFlags::EMPTY_PATH, StatxFlags::INO)?;
    let mut devices = HashSet::from([device(&root)]);
    for entry in Dir::read_from(base)?.take(COMPARED) {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let (Ok(was), Ok(is)) = (number(base, entry.file_name()), number(mount, entry.file_name())) else { continue };
        devices.insert(device(&is));
        if was.stx_ino != is.stx_ino {
            return Ok(false);
        }
    }
    Ok(devices.len() == 1)
}

/// Returns whether something is mounted below a directory, which has no link in its path.
fn has_mounts_below(dir: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let dir = dir.as_os_str().as_bytes();
    let prefix = if dir == b"/" { b"/".to_vec() } else { [dir, b"/"].concat() };
    mountinfo::now().iter().any(|line| line.point != b"/" && line.point.starts_with(&prefix))
}
