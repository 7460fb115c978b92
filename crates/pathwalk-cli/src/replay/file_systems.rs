//! The file systems that are not made of files: their names lead to data of a process or of the
//! running kernel.
//!
//! A node is assigned by its device number, which `mountinfo` lists with the type. The
//! file has to be read before another root is entered. A device that it does not list, such as a
//! subvolume of btrfs, is ordinary. Source: `proc(5)`.

use std::collections::HashMap;

use pathwalk::Device;
use pathwalk_hostfs::mountinfo::{self, Line};

/// The types of file systems whose lookups are left out.
const SPECIAL: [&str; 18] = [
    "proc",
    "sysfs",
    "devpts",
    "devtmpfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "bpf",
    "configfs",
    "fusectl",
    "pstore",
    "efivarfs",
    "binfmt_misc",
    "selinuxfs",
    "smackfs",
    "nsfs",
];

/// The special file systems that are mounted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FileSystems {
    special: HashMap<Device, &'static str>,
}

impl FileSystems {
    /// Returns those that this process sees, or `None` if the list cannot be read.
    pub(crate) fn of_this_process() -> Option<FileSystems> {
        let mounts = mountinfo::now();
        (!mounts.is_empty()).then(|| FileSystems::of(&mounts))
    }

    fn of(mounts: &[Line]) -> FileSystems {
        let special = |mount: &Line| {
            let kind = SPECIAL.into_iter().find(|special| special.as_bytes() == mount.kind)?;
            Some((mount.device, kind))
        };
        FileSystems { special: mounts.iter().filter_map(special).collect() }
    }

    /// Returns the type of the file system on this device, if it is a special one.
    pub(crate) fn special(&self, device: Device) -> Option<&'static str> {
        self.special.get(&device).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_go_by_device() {
        let text = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n\
            27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n\
            24 27 0:6 / /de\\040v rw shared:7 - devtmpfs devtmpfs rw\n\
            malformed\n1 2 x:y / / rw - proc proc rw\n1 2 3:4 / / rw\n\n";
        let known = FileSystems::of(&mountinfo::parse(text));
        let at = |major, minor| known.special(Device { major, minor });
        assert_eq!((at(0, 21), at(0, 6)), (Some("proc"), Some("devtmpfs")));
        assert_eq!((at(254, 0), at(3, 4), at(0, 99)), (None, None, None));
        assert_eq!(known.special.len(), 2);
    }
}
