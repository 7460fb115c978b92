//! Operations of [`Context`] on file handles, and the reopening of a handle's node.

use super::{AsPath, At, Context};
use crate::abi::{HandleFlags, OpenHow};
use crate::file::File;
use crate::fs_api::FileHandle;
use crate::handle::Handle;
use crate::{Errno, ops};

/// # File handles, and reopening
///
/// A [`FileHandle`] names a node without a path, for a server whose clients come back after a
/// restart. It leads to the node wherever that is by then. A directory gets its way to the root
/// back: [`Handle::path`], `..` and the rules for moves hold for it as for one that a walk found.
/// A file is at one of its names, where the file system finds one
/// ([`find_name`](crate::FileSystem::find_name)); else it has no path.
///
/// All of these ask the file system, and block.
///
/// ```
/// use pathwalk::{Credentials, Errno, HandleFlags, OpenFlags, Vfs};
/// # let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// let root = vfs.context(Credentials::root());
/// root.create_dir_all("/a/b")?;
/// let (of_b, _mount) = root.name_to_handle("/a/b", HandleFlags::empty())?;
/// let a = root.lookup("/a")?;
/// assert_eq!(root.name_to_handle_at(&a, "b", HandleFlags::empty())?.0, of_b);
/// root.rename("/a/b", "/c")?;
/// assert_eq!(root.lookup_by_handle(&a, &of_b)?.path()?, b"/c");
/// assert!(root.open_by_handle(&a, &of_b, OpenFlags::READ | OpenFlags::DIRECTORY).is_ok());
///
/// // A confined context reaches nothing outside of its root by a handle.
/// let jail = root.confined(&a)?;
/// assert_eq!(jail.lookup_by_handle(jail.root(), &of_b).unwrap_err(), Errno::ESTALE);
///
/// // A place is opened by the rights to the node alone, and not by those to the way.
/// root.create_dir_all("/closed")?;
/// root.chmod("/closed", 0o700)?;
/// root.write("/closed/file", "data")?;
/// let place = root.lookup("/closed/file")?;
/// let user = vfs.context(Credentials::user(1000, 1000, &[]));
/// let file = user.reopen(&place, OpenFlags::READ)?;
/// assert_eq!(std::io::read_to_string(&file).unwrap(), "data");
/// assert_eq!(user.reopen(&place, OpenFlags::WRITE).unwrap_err(), Errno::EACCES);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Returns the handle of the node at `path`, and the number of its mount, which
    /// [`statx`](Self::statx) returns too. A link in the last component is not followed unless
    /// `flags` say so. Requires no right to the node. `EOPNOTSUPP` if the file system has no
    /// handles, or none of the kind that is asked for; `EIO` if it returns one that Linux has no
    /// room for. Source: `name_to_handle_at(2)`.
    pub fn name_to_handle(&self, path: impl AsPath, flags: HandleFlags) -> Result<(FileHandle, u64), Errno> {
        self.name_to_handle_at(At::Cwd, path, flags)
    }

    /// Does the same as [`name_to_handle`](Self::name_to_handle) from a starting point. An empty
    /// path with [`HandleFlags::EMPTY_PATH`] means the starting point itself.
    pub fn name_to_handle_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: HandleFlags,
    ) -> Result<(FileHandle, u64), Errno> {
        self.may_ask_file_system()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [ops::handles::way(at, path, flags)], || {
            ops::handles::name_to_handle(&self.asker, at, path, flags)
        })
    }

    /// Returns the place of a handle's node in the mount that `mount` is in, which may be any node
    /// of that mount. Source: `open_by_handle_at(2)` with `O_PATH`.
    ///
    /// | errno | when |
    /// |---|---|
    /// | `EINVAL` | the kind is none that `name_to_handle` returns, or there are no bytes |
    /// | `EBADF` | `mount` is of another `Vfs` |
    /// | `EPERM` | the caller has no `CAP_DAC_READ_SEARCH` |
    /// | `EXDEV` | the context is confined, and `mount` is outside of its root |
    /// | `ESTALE` | the node is gone, or the file system did not give the handle |
    /// | `ESTALE` | the node is not below the root of the mount, or of a confined context |
    /// | `ESTALE` | the context is confined, and something is mounted on the node, or above it |
    /// | `ESTALE` | the handle is [`CONNECTABLE`](HandleFlags::CONNECTABLE), and the node is not below `mount` |
    ///
    /// Of a file with several names, it is a place that this call may give, if the file is cached
    /// at one, or else if the file system finds one ([`find_name`](crate::FileSystem::find_name)).
    /// A file that is taken without a name is below nothing but the root of its file system. Cost:
    /// a call of the file system; for a node that is not cached, two more for each directory on its
    /// way that is not cached either.
    pub fn lookup_by_handle(&self, mount: &Handle, handle: &FileHandle) -> Result<Handle, Errno> {
        self.may_ask_file_system()?;
        let found = ops::handles::lookup(&self.asker, self.begin(mount), handle)?;
        Ok(Handle::from_pinned(self.vfs(), found))
    }

    /// Opens a handle's node: finds it as [`lookup_by_handle`](Self::lookup_by_handle), and opens
    /// it as [`reopen`](Self::reopen), except that [`NOFOLLOW`](crate::OpenFlags::NOFOLLOW) is no
    /// error. The errors of the former come first. Source: `open_by_handle_at(2)`.
    pub fn open_by_handle(&self, mount: &Handle, handle: &FileHandle, how: impl Into<OpenHow>) -> Result<File, Errno> {
        self.may_ask_file_system()?;
        let how = how.into();
        let opened = ops::handles::open(&self.asker, self.begin(mount), handle, &how)?;
        Ok(File::new(self.vfs(), opened, how.flags, self.credentials().clone(), self.lock_owner))
    }

    /// Opens a node once more, perhaps with other flags, as an open of `/proc/self/fd/N` does. The
    /// node may have no name any more. Only the rights to the node count. To open the node of a
    /// file, pass [`File::handle`].
    ///
    /// | errno | when |
    /// |---|---|
    /// | `EACCES`, `EROFS`, `EISDIR`, `ENXIO` | as of [`open`](Self::open) |
    /// | `EEXIST` | `CREATE` with `EXCLUSIVE` |
    /// | `ELOOP` | the node is a link, without `PATH`; or `NOFOLLOW` without `PATH` |
    /// | `ENOTDIR` | `DIRECTORY` or `TMPFILE`, and the node is no directory |
    /// | `EXDEV` | the context is confined, and the node is outside of its root |
    /// | `EINVAL` | the flags contradict each other, or there are flags of `RESOLVE_*` |
    ///
    /// Source: `proc_pid_fd(5)`.
    pub fn reopen(&self, node: &Handle, how: impl Into<OpenHow>) -> Result<File, Errno> {
        self.may_ask_file_system()?;
        let how = how.into();
        let opened = ops::handles::reopen(&self.asker, self.begin(node), &how)?;
        Ok(File::new(self.vfs(), opened, how.flags, self.credentials().clone(), self.lock_owner))
    }
}
