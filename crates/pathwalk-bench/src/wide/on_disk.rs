//! The same tree as real files, for the kernel: on a tmpfs, and on other file systems of the
//! machine.

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use procfs_core::{FromRead, Meminfo};

use super::tree::{Kind, Tree, TreePath};
use crate::kernel;
use crate::machine::{self, Doing, SetUpError, escaped};
use crate::walktrees::trees::descriptor;

/// The number of bytes that the kernel may take for a cached file and an absent name, according to
/// its slabs `inode_cache` and `dentry`, rounded up.
const KERNEL_BYTES: u64 = 2000;

/// The number of bytes that are left to the rest of the machine.
const LEFT: u64 = 1 << 30;

/// A tree of real files in a temporary directory. Dropping it removes the directory.
pub(super) struct OnDisk {
    root: OwnedFd,
    /// The kernel's name of the file system.
    pub(super) file_system: String,
    _dir: tempfile::TempDir,
}

impl OnDisk {
    /// Makes the files in a directory, or returns a note that they are left out because they would
    /// take too much memory.
    pub(super) fn make(dir: &Path, tree: Tree, made: &mut dyn FnMut(u64)) -> Result<Result<OnDisk, String>, SetUpError> {
        let file_system = machine::file_system_at(dir).unwrap_or_else(|| "an unknown file system".into());
        let (needed, available) = (tree.files() * KERNEL_BYTES + LEFT, available());
        if available.is_some_and(|available| available < needed) {
            let gigabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e9);
            let (needed, available) = (gigabytes(needed), gigabytes(available.unwrap_or(0)));
            return Ok(Err(format!(
                "access(2) on {file_system} is left out: {} files of the kernel's take some {needed} GB beside the others, and \
                 {available} are available",
                tree.files()
            )));
        }
        let temp = tempfile::Builder::new().prefix("pathwalk-wide-").tempdir_in(dir);
        let temp = temp.doing(|| format!("making a directory in \"{}\"", escaped(dir)))?;
        let mut last = PathBuf::new();
        for file in 0..tree.files() {
            let path = temp.path().join(tree.path(Kind::File, file).relative().to_string_lossy().as_ref());
            if let Some(parent) = path.parent().filter(|parent| *parent != last) {
                fs::create_dir_all(parent).doing(|| format!("making the directory \"{}\"", escaped(parent)))?;
                last = parent.to_owned();
            }
            File::create(&path).doing(|| format!("making the file \"{}\"", escaped(&path)))?;
            made(file + 1);
        }
        Ok(Ok(OnDisk { root: descriptor(temp.path())?, file_system, _dir: temp }))
    }

    /// Returns whether the kernel grants read access to a path below the tree's root.
    #[inline(always)]
    pub(super) fn is_there(&self, path: &TreePath) -> bool {
        let want = pathwalk::Access::READ;
        kernel::faccessat(self.root.as_fd(), path.relative(), kernel::mode(want), pathwalk::AtFlags::empty()).is_ok()
    }
}

/// Returns the number of bytes of memory that are available, or `None` if the kernel does not
/// report it. Source: `proc(5)`.
pub(super) fn available() -> Option<u64> {
    Meminfo::from_file("/proc/meminfo").ok()?.mem_available
}
