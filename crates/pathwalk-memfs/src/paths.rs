//! Building and changing trees by paths.
//!
//! A path starts at the root of the file system, whether it begins with a slash or not. Empty
//! components and `.` are skipped; `..` is `EINVAL`. No link is followed. New nodes belong to root,
//! with the mode exactly as given. Operations here do not count among the engine's
//! [`Calls`](crate::Calls).

mod xattr;

use pathwalk::permission::AclEntry;
use pathwalk::{
    AsPath, Attributes, Errno, Name, NewKind, NewNode, NodeKey, RenameFlags, SetAttributes, StatxFlags, WriteAt, Written,
};

use crate::store::Held;
use crate::{Error, MemFs, Project};

/// The methods that build, change and read a tree by paths. A running `Vfs` gets no notice of any
/// change.
///
/// ```
/// use pathwalk::permission::{AclEntry, AclTag};
/// use pathwalk::{Access, NewKind, RenameFlags, StatxFlags};
/// use pathwalk_memfs::MemFs;
/// let fs = MemFs::new();
/// fs.mkdir("/usr", 0o755)?;
/// fs.mkdir_all("/usr/share/doc", 0o755)?;
/// fs.file("/usr/readme", 0o644)?;
/// fs.write("/usr/readme", 0, b"hello world")?;
/// fs.truncate("/usr/readme", 5)?;
/// assert_eq!(fs.read("/usr/readme")?, b"hello");
/// fs.chmod("/usr/readme", 0o640)?;
/// fs.chown("/usr/readme", 1000, 100)?;
/// let attributes = fs.stat("/usr/readme")?;
/// assert_eq!((attributes.mode, attributes.uid, attributes.gid), (0o640, 1000, 100));
///
/// fs.symlink("readme", "/usr/link")?;
/// fs.mknod("/usr/pipe", NewKind::Fifo, 0o600)?;
/// fs.link("/usr/readme", "/usr/other")?;
/// assert_eq!(fs.key("/usr/other")?, fs.key("/usr/readme")?);
/// fs.rename("/usr/other", "/usr/pipe")?;
/// fs.rename_with("/usr/pipe", "/usr/link", RenameFlags::EXCHANGE)?;
/// fs.unlink("/usr/pipe")?;
/// fs.remove("/usr/share/doc")?;
/// assert_eq!(fs.list("/usr")?.len(), 3);
///
/// let entry = |tag, grants| AclEntry { tag, grants };
/// let read = Access::READ;
/// fs.set_acl("/usr/readme", &[entry(AclTag::Owner, read), entry(AclTag::Group, read), entry(AclTag::Other, read)])?;
/// fs.set_flags("/usr/readme", StatxFlags::APPEND)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl MemFs {
    /// Creates a directory: `EEXIST`, `ENOENT`, `ENOTDIR`, `EMLINK`.
    pub fn mkdir(&self, path: impl AsPath, mode: u16) -> Result<(), Error> {
        self.make("make directory", path, NewKind::Directory, mode)
    }

    /// Creates a directory and its missing parents, all with this mode. An existing directory stays
    /// as it is.
    pub fn mkdir_all(&self, path: impl AsPath, mode: u16) -> Result<(), Error> {
        let path = path.path_bytes();
        self.make_all(path, mode).map_err(|errno| Error::new("make directory", path, errno))
    }

    /// Creates an empty regular file.
    pub fn file(&self, path: impl AsPath, mode: u16) -> Result<(), Error> {
        self.make("make file", path, NewKind::Regular, mode)
    }

    /// Creates a symbolic link: `ENAMETOOLONG` for a body over 4095 bytes, `EINVAL` for one with a
    /// NUL. An empty body, which `symlink(2)` refuses, is allowed.
    pub fn symlink(&self, body: impl AsPath, path: impl AsPath) -> Result<(), Error> {
        self.make("make symbolic link", path, NewKind::Symlink(body.path_bytes()), 0o777)
    }

    /// Creates a node of any kind.
    pub fn mknod(&self, path: impl AsPath, kind: NewKind<'_>, mode: u16) -> Result<(), Error> {
        self.make("make node", path, kind, mode)
    }

    /// Gives another name to a node that is not a directory.
    pub fn link(&self, existing: impl AsPath, path: impl AsPath) -> Result<(), Error> {
        let path = path.path_bytes();
        let node = self.node("link to", existing.path_bytes())?;
        self.in_parent("make link", path, |dir, name| self.0.link(node.key(), dir, name).map(drop))
    }

    /// Removes a name; a directory must be empty.
    pub fn unlink(&self, path: impl AsPath) -> Result<(), Error> {
        let path = path.path_bytes();
        self.in_parent("unlink", path, |dir, name| {
            let node = self.0.lookup(dir, name)?.ok_or(Errno::ENOENT)?;
            self.0.unlink(dir, name, node.key())
        })
    }

    /// Removes a name and, if it is that of a directory, the whole tree beneath it. Other threads
    /// that remove names there at the same time may make it fail halfway.
    pub fn remove(&self, path: impl AsPath) -> Result<(), Error> {
        let path = path.path_bytes();
        self.in_parent("remove", path, |dir, name| self.remove_all(dir, name))
    }

    /// Moves a name, replacing the node at `to` as `rename(2)` does.
    pub fn rename(&self, from: impl AsPath, to: impl AsPath) -> Result<(), Error> {
        self.rename_with(from, to, RenameFlags::empty())
    }

    /// Moves a name as [`rename`](Self::rename) does, with flags.
    pub fn rename_with(&self, from: impl AsPath, to: impl AsPath, flags: RenameFlags) -> Result<(), Error> {
        let to = to.path_bytes();
        self.in_parent("rename", from.path_bytes(), |from_dir, from_name| {
            let (to_dir, to_name) = self.parent(to)?;
            self.0.rename((from_dir, from_name), (to_dir.key(), to_name), flags)
        })
    }

    /// Sets the permission bits.
    pub fn chmod(&self, path: impl AsPath, mode: u16) -> Result<(), Error> {
        self.set("change mode of", path, SetAttributes::default().with_mode(mode))
    }

    /// Sets owner and group; of a link, its own.
    pub fn chown(&self, path: impl AsPath, uid: u32, gid: u32) -> Result<(), Error> {
        self.set("change owner of", path, SetAttributes::default().with_uid(uid).with_gid(gid))
    }

    /// Sets the size of a regular file.
    pub fn truncate(&self, path: impl AsPath, size: u64) -> Result<(), Error> {
        self.set("change size of", path, SetAttributes::default().with_size(size))
    }

    /// Writes into a regular file, from an offset in bytes. Fails with `ENOSPC` or `EDQUOT` if
    /// there is room for a part only; that part is written.
    pub fn write(&self, path: impl AsPath, offset: u64, data: &[u8]) -> Result<(), Error> {
        const ACTION: &str = "write to";
        let node = self.node(ACTION, path.path_bytes())?;
        let written = self.0.write(node.key(), data, WriteAt::Offset(offset));
        // A second write has the reason why the first one ended.
        let rest = |Written { bytes, end }| match &data[bytes..] {
            [] => Ok(()),
            rest => self.0.write(node.key(), rest, WriteAt::Offset(end)).and(Err(Errno::ENOSPC)),
        };
        written.and_then(rest).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Returns the whole data of a regular file.
    pub fn read(&self, path: impl AsPath) -> Result<Vec<u8>, Error> {
        const ACTION: &str = "read";
        let node = self.node(ACTION, path.path_bytes())?;
        self.0.read_all(node.key()).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Sets the access control list of a node; the mode follows it. Without entries, removes the
    /// list.
    pub fn set_acl(&self, path: impl AsPath, entries: &[AclEntry]) -> Result<(), Error> {
        const ACTION: &str = "set ACL of";
        let node = self.node(ACTION, path.path_bytes())?;
        self.set_acl_of(node.key(), entries).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Sets the attribute bits of a file or directory, and clears the others: `EOPNOTSUPP` for bits
    /// other than `IMMUTABLE`, `APPEND` and `NODUMP`. The engine enforces them; operations through
    /// paths here do not.
    pub fn set_flags(&self, path: impl AsPath, flags: StatxFlags) -> Result<(), Error> {
        const ACTION: &str = "set attribute bits of";
        let node = self.node(ACTION, path.path_bytes())?;
        self.0.set_flags(node.key(), flags).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Sets the project of a node, as [`set_project_of`](Self::set_project_of) does.
    ///
    /// [`Project`] has an example.
    pub fn set_project(&self, path: impl AsPath, project: Project) -> Result<(), Error> {
        const ACTION: &str = "set project of";
        let node = self.node(ACTION, path.path_bytes())?;
        self.0.set_project(node.key(), project).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Returns the project of a node.
    ///
    /// [`Project`] has an example.
    pub fn project(&self, path: impl AsPath) -> Result<Project, Error> {
        const ACTION: &str = "read project of";
        let node = self.node(ACTION, path.path_bytes())?;
        self.0.project(node.key()).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Returns the attributes of a node; of a link, its own.
    pub fn stat(&self, path: impl AsPath) -> Result<Attributes, Error> {
        const ACTION: &str = "stat";
        let node = self.node(ACTION, path.path_bytes())?;
        self.0.attributes(node.key()).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    /// Returns the key by which the engine identifies a node.
    pub fn key(&self, path: impl AsPath) -> Result<NodeKey, Error> {
        self.node("find", path.path_bytes()).map(|node| node.key())
    }

    /// Returns the names in a directory, sorted.
    pub fn list(&self, path: impl AsPath) -> Result<Vec<Vec<u8>>, Error> {
        const ACTION: &str = "list";
        let dir = self.node(ACTION, path.path_bytes())?;
        self.0.list(dir.key()).map_err(|errno| Error::new(ACTION, path.path_bytes(), errno))
    }

    fn make(&self, action: &'static str, path: impl AsPath, kind: NewKind<'_>, mode: u16) -> Result<(), Error> {
        let new = NewNode::new(kind, mode, 0, 0);
        self.in_parent(action, path.path_bytes(), |dir, name| self.0.create(dir, name, &new).map(drop))
    }

    fn make_all(&self, path: &[u8], mode: u16) -> Result<(), Errno> {
        let new = NewNode::new(NewKind::Directory, mode, 0, 0);
        let mut here = self.0.root()?;
        for name in components(path) {
            let name = Name::new(name)?;
            here = loop {
                if let Some(next) = self.0.lookup(here.key(), name)? {
                    break next;
                }
                match self.0.create(here.key(), name, &new) {
                    // Another thread created it first: its directory is as good.
                    Err(Errno::EEXIST) => {}
                    made => break made?,
                }
            };
        }
        self.0.check_directory(here.key())
    }

    fn set(&self, action: &'static str, path: impl AsPath, set: SetAttributes) -> Result<(), Error> {
        let node = self.node(action, path.path_bytes())?;
        match self.0.set_attributes(node.key(), &set) {
            Ok(_) => Ok(()),
            Err(errno) => Err(Error::new(action, path.path_bytes(), errno)),
        }
    }

    /// Removes children first, without recursion: a tree may be deeper than the stack.
    fn remove_all(&self, dir: NodeKey, name: Name<'_>) -> Result<(), Errno> {
        let top = self.0.lookup(dir, name)?.ok_or(Errno::ENOENT)?;
        let mut stack = vec![(dir, name.bytes().to_vec(), top)];
        while let Some((dir, name, node)) = stack.last() {
            match self.0.unlink(*dir, Name::new(name)?, node.key()) {
                Err(Errno::ENOTEMPTY) => {
                    let dir = node.key();
                    for name in self.0.list(dir)? {
                        if let Some(child) = self.0.lookup(dir, Name::new(&name)?)? {
                            stack.push((dir, name, child));
                        }
                    }
                }
                done => {
                    done?;
                    stack.pop();
                }
            }
        }
        Ok(())
    }

    fn node(&self, action: &'static str, path: &[u8]) -> Result<Held<'_>, Error> {
        self.resolve(components(path)).map_err(|errno| Error::new(action, path, errno))
    }

    /// Runs `act` on a name in the directory that `path` leads to.
    fn in_parent(
        &self,
        action: &'static str,
        path: &[u8],
        act: impl FnOnce(NodeKey, Name<'_>) -> Result<(), Errno>,
    ) -> Result<(), Error> {
        let done = self.parent(path).and_then(|(dir, name)| act(dir.key(), name));
        done.map_err(|errno| Error::new(action, path, errno))
    }

    /// Returns the directory and the last name; `EBUSY` for the root, which has none.
    fn parent<'p>(&self, path: &'p [u8]) -> Result<(Held<'_>, Name<'p>), Errno> {
        let mut names: Vec<_> = components(path).collect();
        let last = names.pop().ok_or(Errno::EBUSY)?;
        let dir = self.resolve(names.into_iter())?;
        self.0.check_directory(dir.key())?;
        Ok((dir, Name::new(last)?))
    }

    fn resolve<'p>(&self, names: impl Iterator<Item = &'p [u8]>) -> Result<Held<'_>, Errno> {
        let mut here = self.0.root()?;
        for name in names {
            here = self.0.lookup(here.key(), Name::new(name)?)?.ok_or(Errno::ENOENT)?;
        }
        Ok(here)
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}
