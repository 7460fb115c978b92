//! The kernel's file systems, each made in an image and mounted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pathwalk::FallocateFlags;

/// The kernel's file system.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disk {
    /// ext4, which has no clones, and nothing to unshare.
    Ext4,
    /// XFS, which has both. Its mkfs is in `xfsprogs`.
    Xfs,
}

impl Disk {
    /// Returns whether the pages with data are those that were written. XFS reserves more than a
    /// write needs, and unwritten blocks count as data while a page of them is in memory.
    pub(super) fn has_exact_holes(self) -> bool {
        self == Disk::Ext4
    }

    /// Returns whether files can share data.
    pub(super) fn has_clones(self) -> bool {
        self == Disk::Xfs
    }

    /// Returns flags that the file system has and that have the same effect on what can be read.
    pub(super) fn possible(self, mode: FallocateFlags) -> FallocateFlags {
        let (unshare, keep) = (FallocateFlags::UNSHARE_RANGE, FallocateFlags::KEEP_SIZE);
        if !self.has_clones() && mode - keep == unshare { mode - unshare } else { mode }
    }

    /// Makes it in an image.
    fn make(self, image: &Path) -> Result<()> {
        match self {
            Disk::Ext4 => run(Command::new("mkfs.ext4").args(["-q", "-b", "4096"]).arg(image)),
            Disk::Xfs => run(Command::new("mkfs.xfs").args(["-q", "-b", "size=4096", "-m", "reflink=1"]).arg(image)),
        }
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("run {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// The size of the image, in bytes. It takes only what is used on the disk.
const IMAGE: u64 = 1 << 30;

/// A file system in an image that is mounted. It is unmounted and removed on drop.
pub(super) struct Image {
    /// The directory of the image and of the place where it is mounted.
    files: PathBuf,
    directory: PathBuf,
}

impl Image {
    pub(super) fn mounted(disk: Disk) -> Result<Image> {
        let files = std::env::temp_dir().join(format!("pathwalk-fsx-{}", std::process::id()));
        let (path, directory) = (files.join("image"), files.join("mount"));
        fs::create_dir_all(&directory).context("make a directory for the image")?;
        // What was made is removed, also if the rest fails.
        let image = Image { files, directory };
        File::create(&path)?.set_len(IMAGE)?;
        disk.make(&path)?;
        run(Command::new("mount").args(["-o", "loop"]).args([&path, &image.directory])).context("mount the image, as root")?;
        Ok(image)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // Files that are still open keep the file system, and not the mount.
        _ = rustix::mount::unmount(&self.directory, rustix::mount::UnmountFlags::DETACH);
        _ = fs::remove_dir(&self.directory).and_then(|()| fs::remove_dir_all(&self.files));
    }
}
