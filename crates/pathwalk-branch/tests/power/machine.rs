//! A machine: disks with the kernel's file systems, mounted as long as it is on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::disk::{Content, Disks, History, SECTOR};

/// A file system of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Ext4,
    Xfs,
    Btrfs,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Ext4, Kind::Xfs, Kind::Btrfs];

    fn name(self) -> &'static str {
        match self {
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
            Kind::Btrfs => "btrfs",
        }
    }

    /// Makes an empty file system.
    pub(crate) fn make(self) -> Result<Content, String> {
        let (size, options) = match self {
            Kind::Ext4 => (24 << 20, "-q -b 4096 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0 -O metadata_csum"),
            Kind::Xfs => (300 << 20, "-q -s size=4096"),
            Kind::Btrfs => (128 << 20, "-q"),
        };
        let image = tempfile::NamedTempFile::new().and_then(|image| image.as_file().set_len(size).map(|()| image));
        let image = image.map_err(|error| error.to_string())?;
        run(Command::new(format!("mkfs.{}", self.name())).args(options.split(' ')).arg(image.path()))?;
        Ok(Content::of_image(&std::fs::read(image.path()).map_err(|error| error.to_string())?))
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Disks that are mounted, until this is dropped.
pub(crate) struct Machine<'a> {
    disks: &'a Disks,
    names: Vec<String>,
    mounts: Vec<PathBuf>,
    directory: tempfile::TempDir,
    pub(crate) history: History,
}

impl Machine<'_> {
    /// Starts a machine with these disks.
    pub(crate) fn start<'a>(disks: &'a Disks, kind: Kind, contents: &[Content]) -> Result<Machine<'a>, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut machine = Machine { disks, names: Vec::new(), mounts: Vec::new(), directory, history: History::default() };
        for (number, content) in contents.iter().enumerate() {
            let name = disks.add(number, content.clone(), &machine.history);
            let (file, place) = (disks.directory().join(&name), machine.directory.path().join(&name));
            machine.names.push(name);
            std::fs::create_dir(&place).map_err(|error| error.to_string())?;
            let device = run(Command::new("losetup").args(["-f", "--show", "-b", &SECTOR.to_string()]).arg(&file))?;
            let mounted = mount(&*device, &place, kind.name(), MountFlags::empty(), None);
            // It goes with the mount.
            run(Command::new("losetup").args(["-d", &device]))?;
            mounted.map_err(|error| format!("mount {}: {error}", kind.name()))?;
            machine.mounts.push(place);
        }
        Ok(machine)
    }

    /// Returns the directory of a disk.
    pub(crate) fn mounted(&self, disk: usize) -> &Path {
        &self.mounts[disk]
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        for place in &self.mounts {
            // What was open may be closed a moment later; after a panic, never.
            let is_unmounted = (0..200).any(|_| {
                unmount(place, UnmountFlags::empty()).is_ok() || {
                    std::thread::sleep(Duration::from_millis(5));
                    false
                }
            });
            if !is_unmounted {
                _ = unmount(place, UnmountFlags::DETACH);
            }
        }
        self.names.iter().for_each(|name| self.disks.remove(name));
    }
}
