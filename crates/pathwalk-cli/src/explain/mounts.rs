//! The mounts that this thread sees, from `/proc/thread-self/mountinfo`: their places and
//! properties.
//!
//! This is for the report. The flags of a mount are read from the node itself. Source:
//! `proc_pid_mountinfo(5)`.

use pathwalk::MountFlags;
use pathwalk_hostfs::mountinfo::{self, Line, Writing};

/// The known properties of a mount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    /// The flags of the mount.
    pub(crate) flags: MountFlags,
    /// The mount's line, `None` where there is no `/proc`.
    pub(crate) line: Option<Line>,
}

impl Mount {
    /// Returns whether the whole file system is read-only, and not only this mount of it.
    pub(crate) fn is_read_only_file_system(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.writing == Writing::ReadOnly)
    }

    /// Returns whether the file system is of one of these types. `fuse` stands for all types of
    /// FUSE.
    pub(crate) fn is_a(&self, kinds: &[&str]) -> bool {
        let is = |line: &Line| {
            let kind = line.kind.split(|byte| *byte == b'.').next().unwrap_or_default();
            kinds.iter().any(|name| name.as_bytes() == kind)
        };
        self.line.as_ref().is_some_and(is)
    }

    /// Returns the switches that matter to a walk, with the names of `mount(8)`.
    pub(crate) fn switches(&self) -> Vec<&'static str> {
        let names = [(MountFlags::READ_ONLY, "ro"), (MountFlags::NOEXEC, "noexec"), (MountFlags::NOSYMFOLLOW, "nosymfollow")];
        names.iter().filter(|(flag, _)| self.flags.contains(*flag)).map(|(_, name)| *name).collect()
    }
}

/// All mounts of this process.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mounts(Vec<Line>);

impl Mounts {
    /// Returns the mounts as they are now, or none where there is no `/proc`.
    pub(crate) fn now() -> Mounts {
        Mounts(mountinfo::now())
    }

    /// Parses the text of that file. Skips lines that are not valid.
    #[cfg(test)]
    pub(crate) fn parse(text: &[u8]) -> Mounts {
        Mounts(mountinfo::parse(text))
    }

    /// Returns the line of this mount.
    pub(crate) fn line(&self, id: u64) -> Option<Line> {
        self.0.iter().find(|line| line.id == id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_a_mount_is() {
        let mounts = Mounts::parse(b"37 35 0:3 / / ro - fuse.sshfs host:x ro\n");
        let mount = Mount { id: 37, flags: MountFlags::all(), line: mounts.line(37) };
        assert!(mount.is_a(&["nfs", "fuse"]) && !mount.is_a(&["sshfs"]) && mount.is_read_only_file_system());
        assert_eq!(mount.switches(), ["ro", "noexec", "nosymfollow"]);
        assert_eq!(mounts.line(38), None);
    }
}
