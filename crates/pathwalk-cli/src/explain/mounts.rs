//! The mounts that this thread sees, as `/proc/thread-self/mountinfo` tells them: what is mounted, and how.
//!
//! It is for telling: what a mount forbids is asked of the node itself. Source: `proc_pid_mountinfo(5)`.

use pathwalk::MountFlags;
use pathwalk_hostfs::mountinfo::{self, Line, Writing};

/// What is known of a mount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    /// What it forbids.
    pub(crate) flags: MountFlags,
    /// `None` where there is no `/proc`.
    pub(crate) line: Option<Line>,
}

impl Mount {
    /// Whether the whole file system, and not only this mount of it, is read-only.
    pub(crate) fn is_read_only_file_system(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.writing == Writing::ReadOnly)
    }

    /// Whether it is of one of these kinds; `fuse` stands for all of FUSE's.
    pub(crate) fn is_a(&self, kinds: &[&str]) -> bool {
        let is = |line: &Line| {
            let kind = line.kind.split(|byte| *byte == b'.').next().unwrap_or_default();
            kinds.iter().any(|name| name.as_bytes() == kind)
        };
        self.line.as_ref().is_some_and(is)
    }

    /// The switches that matter to a walk, as `mount(8)` calls them.
    pub(crate) fn switches(&self) -> Vec<&'static str> {
        let names = [(MountFlags::READ_ONLY, "ro"), (MountFlags::NOEXEC, "noexec"), (MountFlags::NOSYMFOLLOW, "nosymfollow")];
        names.iter().filter(|(flag, _)| self.flags.contains(*flag)).map(|(_, name)| *name).collect()
    }
}

/// All mounts of this process.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mounts(Vec<Line>);

impl Mounts {
    /// As they are now; none where there is no `/proc`.
    pub(crate) fn now() -> Mounts {
        Mounts(mountinfo::now())
    }

    /// From the text of that file; lines that are none are passed over.
    #[cfg(test)]
    pub(crate) fn parse(text: &[u8]) -> Mounts {
        Mounts(mountinfo::parse(text))
    }

    /// What the line of this mount says.
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
