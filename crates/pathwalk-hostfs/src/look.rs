//! Looks at a node by its path, for programs that explain a walk to people: its list, its mount,
//! the names in it.
//!
//! Paths are those of [`Handle::path`](pathwalk::Handle::path): from the root, with a leading
//! slash. A link at the end is not followed, and a path with a link on the way is refused.
//!
//! What it does not do: remember anything, or serve the engine.

use pathwalk::permission::Acl;
use pathwalk::{Errno, FileType, MountFlags};
use rustix::fs::{Dir, OFlags};

use crate::acl;
use crate::attributes::from_statx;
use crate::beneath::{errno, open_beneath};
use crate::host_fs::HostFs;
use crate::mounts;

/// The mount that a node is on.
///
/// [`HostFs::mount_at`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MountAt {
    /// The mount id, as in the first field of `/proc/self/mountinfo`.
    pub id: u64,
    /// The flags of the mount, including those that its file system sets.
    pub flags: MountFlags,
}

impl HostFs {
    /// Returns the access control list of the node at `path`, if it has one. Fails with `EACCES` if
    /// this process may not search the node's directory.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn acl_at(&self, path: &[u8]) -> Result<Option<Acl>, Errno> {
        let path = beneath(path);
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (dir, name) = slash.map_or((&b""[..], path), |slash| (&path[..slash], &path[slash + 1..]));
        let node = self.tree.root.reach_in(dir, name).map_err(errno)?;
        let kind = from_statx(&node.stat().map_err(errno)?)?.kind;
        if kind == FileType::Symlink {
            return Ok(None);
        }
        let value = self.source.read(&node, kind)?;
        Ok(value.map(|value| acl::parse(&value)).transpose()?.map(|(list, _)| list))
    }

    /// Returns the mount that the node at `path` is on.
    ///
    /// ```
    /// use pathwalk_hostfs::HostFs;
    /// let tree = tempfile::tempdir()?;
    /// std::fs::write(tree.path().join("file"), "")?;
    /// let fs = HostFs::open(tree.path())?;
    /// assert_eq!(fs.mount_at(b"/file")?.id, fs.mount_at(b"/")?.id);
    /// assert_eq!(fs.names_at(b"/", 10)?, [b"file"]);
    /// assert_eq!(fs.acl_at(b"/file")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mount_at(&self, path: &[u8]) -> Result<MountAt, Errno> {
        let node = self.tree.root.reach(beneath(path)).map_err(errno)?;
        let flags = mounts::flags_of(node.fd()).map_err(errno)?;
        Ok(MountAt { id: node.stat().map_err(errno)?.stx_mnt_id, flags })
    }

    /// Returns the names in the directory at `path`, at most `most` of them, in no particular
    /// order. Fails with `EACCES` if this process may not read the directory.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn names_at(&self, path: &[u8], most: usize) -> Result<Vec<Vec<u8>>, Errno> {
        let place = self.tree.root.reach(beneath(path)).map_err(errno)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let names = Dir::new(open_beneath(place.fd(), b".", flags).map_err(errno)?).map_err(errno)?;
        let names = names.map(|entry| Ok(entry.map_err(errno)?.file_name().to_bytes().to_vec()));
        names.filter(|name| !matches!(name.as_deref(), Ok(b"." | b".."))).take(most).collect()
    }
}

/// Returns the path relative to the root, without its leading slash.
fn beneath(path: &[u8]) -> &[u8] {
    path.strip_prefix(b"/").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_looked_at_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("d/f"), "").unwrap();
        std::os::unix::fs::symlink("d", dir.path().join("l")).unwrap();
        let fs = HostFs::open(dir.path()).unwrap();
        assert_eq!(fs.acl_at(b"/d/f"), Ok(None));
        assert_eq!(fs.acl_at(b"/l"), Ok(None));
        assert_eq!(fs.acl_at(b"/"), Ok(None));
        assert_eq!(fs.acl_at(b"/nope"), Err(Errno::ENOENT));
        assert_eq!(fs.acl_at(b"/l/f"), Err(Errno::ESTALE), "no link is followed");
        assert_eq!(fs.mount_at(b"/d/f"), fs.mount_at(b"/"));
        let list = [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 1, 0, 11, 0, 0, 0, 4, 0, 0, 0, 255, 255, 255, 255]
            .into_iter()
            .chain([16, 0, 1, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255])
            .collect::<Vec<u8>>();
        let set = rustix::fs::setxattr(dir.path().join("d"), "system.posix_acl_access", &list, rustix::fs::XattrFlags::empty());
        match set {
            Ok(()) => {
                let acl = fs.acl_at(b"/d").unwrap().expect("a list");
                assert_eq!(acl.entries()[1].tag, pathwalk::permission::AclTag::User(11));
            }
            Err(errno) => pathwalk_tests::skipped("a node's list", &format!("this file system keeps none for us ({errno})")),
        }
        let mut names = fs.names_at(b"/", 9).unwrap();
        names.sort();
        assert_eq!(names, [b"d", b"l"]);
        assert_eq!(fs.names_at(b"/", 1).map(|names| names.len()), Ok(1));
        assert!(fs.names_at(b"/d/f", 1).is_err() && fs.names_at(b"/l", 1).is_err());
    }
}
