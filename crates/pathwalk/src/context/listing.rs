//! Listings of open directories with the attributes of their entries.

use super::Context;
use crate::Errno;
use crate::file::{EntryHandles, File, ListedNode};
use crate::ops::listed::OfDirectory;
use crate::walk::asker::Begin;

/// # Listings for servers
impl Context {
    /// Returns the entries behind a directory's position, at most `at_most`, as
    /// [`File::getdents`] does, with the attributes of each, and with a handle on each if
    /// requested. None at the end. Source: `READDIRPLUS` of NFSv3 and FUSE, `getdents(2)` with
    /// `fstatat(2)`.
    ///
    /// The attributes and handles are those that a lookup of each name by this context finds, by
    /// its rights and rules and without following a link. So a name on which something is mounted
    /// shows the mount's root, and `..` ends at the context's root. A caller that may not search
    /// the directory gets the names, and `EACCES` for the attributes of each.
    ///
    /// The caches are filled: the file system gives the nodes of a stretch of the directory in one
    /// call, where it can ([`OpenFile::read_dir_with_nodes`](crate::OpenFile::read_dir_with_nodes)).
    /// What is cached is not asked for.
    ///
    /// A server whose reply has a size in bytes takes as many of the entries as fit, and moves back
    /// to the cookie of the last of them by [`File::seek`]: the others are cached when they are
    /// listed again.
    ///
    /// Errors of the whole call are those of `getdents`, `EBADF` for a file of another `Vfs`, and
    /// `EAGAIN` for a context that asks the caches only. With a handle for each entry, `at_most` is
    /// best below a tenth of the cache, because a handle keeps its node there.
    ///
    /// Cost: what `getdents` costs, one probe of the table for each entry, and what the file system
    /// takes to give the nodes that are not cached, 256 at a time at most. Changes of the
    /// directory's names wait for each such call.
    ///
    /// ```
    /// use pathwalk::{Credentials, EntryHandles, Errno, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir("/dir")?;
    /// context.write("/dir/a", "some text")?;
    /// let dir = context.open("/dir", OpenFlags::READ)?;
    /// let all = context.readdirplus(&dir, 100, EntryHandles::With)?;
    /// assert_eq!(all.iter().map(|of| &*of.entry.name).collect::<Vec<_>>(), [&b"."[..], b"..", b"a"]);
    /// assert_eq!(all[2].attributes?.size, 9);
    /// let a = all[2].handle.as_ref().expect("it was found");
    /// assert_eq!(a.path()?, b"/dir/a");
    /// assert!(context.readdirplus(&dir, 100, EntryHandles::Without)?.is_empty());
    ///
    /// // A user that may read and not search it sees names alone.
    /// context.chmod("/dir", 0o744)?;
    /// let user = context.vfs().context(Credentials::user(1000, 1000, &[]));
    /// let dir = user.open("/dir", OpenFlags::READ)?;
    /// let names = user.readdirplus(&dir, 100, EntryHandles::Without)?;
    /// assert!(names.len() == 3 && names.iter().all(|of| of.attributes == Err(Errno::EACCES)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn readdirplus(&self, file: &File, at_most: usize, handles: EntryHandles) -> Result<Vec<ListedNode>, Errno> {
        self.may_ask_file_system()?;
        let begin = self.begin(file.handle());
        if matches!(begin, Begin::Elsewhere) {
            return Err(Errno::EBADF);
        }
        file.list_nodes(|| OfDirectory::searchable(&self.asker, begin), at_most, handles)
    }
}
