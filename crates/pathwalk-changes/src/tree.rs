//! A tree that is read or changed, below the root of a context.
//!
//! What always holds: each path starts at the root, leads down, and follows no link
//! ([`Resolve::BENEATH`], [`Resolve::NO_SYMLINKS`]), also in a tree that others change meanwhile.
//! What is asked of a node is asked of a handle on it, and a name is made or removed in a handle on
//! its directory. So paths may be longer than the kernel's.

use pathwalk::limits::PATH_MAX;
use pathwalk::{
    AtFlags, Attributes, Context, Errno, File, FileType, Handle, Listed, OpenFlags, RenameFlags, Resolve, UnlinkFlags,
};

use crate::error::Error;
use crate::path::{ROOT, join, split, upwards};

/// A tree.
pub(crate) struct Tree {
    pub(crate) context: Context,
    root: Handle,
    /// The permission bits that new nodes do not get where they are not set.
    pub(crate) umask: u16,
}

impl Tree {
    pub(crate) fn of(context: &Context) -> Result<Tree, Error> {
        let mut confined = context.clone();
        let rules = (context.resolve() - Resolve::IN_ROOT) | Resolve::BENEATH | Resolve::NO_SYMLINKS;
        let root = context.root().clone();
        let begin = |confined: &mut Context| confined.fchdir(&root);
        begin(&mut confined).map_err(Error::tree("begin at", ROOT))?;
        let umask = confined.umask(0);
        let context = confined.with_resolve(rules).map_err(Error::tree("begin at", ROOT))?;
        Ok(Tree { context, root, umask })
    }

    /// Returns the node at a path, also if that is a link.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Handle, Errno> {
        let (mut at, mut rest) = (self.root.clone(), path.strip_prefix(ROOT).unwrap_or(path));
        while !rest.is_empty() {
            let end = match rest.len() {
                0..PATH_MAX => rest.len(),
                _ => rest[..PATH_MAX - 1].iter().rposition(|byte| *byte == b'/').ok_or(Errno::ENAMETOOLONG)?,
            };
            at = self.context.lookup_at(&at, &rest[..end], AtFlags::SYMLINK_NOFOLLOW)?;
            rest = rest[end..].strip_prefix(ROOT).unwrap_or_default();
        }
        Ok(at)
    }

    /// Returns the node at a path, or `None` if there is none.
    pub(crate) fn look(&self, path: &[u8]) -> Result<Option<Handle>, Error> {
        match self.find(path) {
            Ok(node) => Ok(Some(node)),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(None),
            Err(errno) => Err(Error::tree("look at", path)(errno)),
        }
    }

    /// Returns the node at a path.
    pub(crate) fn node(&self, path: &[u8]) -> Result<Handle, Error> {
        self.find(path).map_err(Error::tree("look at", path))
    }

    /// Returns the attributes of the node at a path.
    pub(crate) fn attributes(&self, path: &[u8]) -> Result<Attributes, Error> {
        self.find(path).and_then(|node| node.attributes()).map_err(Error::tree("look at", path))
    }

    /// Returns the directory that a path is in, and its name there.
    pub(crate) fn place<'p>(&self, path: &'p [u8]) -> Result<(Handle, &'p [u8]), Errno> {
        let (dir, name) = split(path);
        let dir = self.find(dir)?;
        if dir.kind() == FileType::Directory { Ok((dir, name)) } else { Err(Errno::ENOTDIR) }
    }

    /// Opens a file to be read, without a trace in its time of access where that is allowed.
    pub(crate) fn open(&self, path: &[u8]) -> Result<File, Error> {
        let open = |node: Handle| {
            // An open of a pipe would wait.
            if !matches!(node.kind(), FileType::Regular | FileType::Directory) {
                return Err(Errno::EINVAL);
            }
            match self.context.reopen(&node, OpenFlags::READ | OpenFlags::NOATIME) {
                Err(Errno::EPERM) => self.context.reopen(&node, OpenFlags::READ),
                opened => opened,
            }
        };
        self.find(path).and_then(open).map_err(Error::tree("open", path))
    }

    /// Returns the body of a link.
    pub(crate) fn body(&self, path: &[u8]) -> Result<Vec<u8>, Error> {
        let read = |node: Handle| {
            let mut buffer = vec![0; PATH_MAX];
            let length = self.context.readlinkat(&node, "", &mut buffer)?;
            buffer.truncate(length);
            Ok(buffer)
        };
        self.find(path).and_then(read).map_err(Error::tree("read the link", path))
    }

    /// Returns the entries of a directory, sorted by their names.
    pub(crate) fn list(&self, path: &[u8]) -> Result<Vec<Listed>, Error> {
        const BATCH: usize = 1024;
        let (file, mut all) = (self.open(path)?, Vec::new());
        loop {
            let batch = file.getdents(BATCH).map_err(Error::tree("list", path))?;
            if batch.is_empty() {
                break;
            }
            all.extend(batch.into_iter().filter(|entry| !matches!(&*entry.name, b"." | b"..")));
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Removes what a path names; of a directory, with all that is in it.
    pub(crate) fn remove(&self, path: &[u8]) -> Result<(), Error> {
        let refused = || Error::tree("remove", path);
        let kind = self.node(path)?.kind();
        if kind != FileType::Directory {
            let (dir, name) = self.place(path).map_err(refused())?;
            return self.context.unlinkat(&dir, name, UnlinkFlags::empty()).map_err(refused());
        }
        // As deep as it is, one directory at a time.
        let mut open = vec![(Box::from(path), false)];
        while let Some((dir, was_emptied)) = open.pop() {
            if was_emptied {
                self.remove_directory(&dir).map_err(Error::tree("remove", &dir))?;
                continue;
            }
            open.push((dir.clone(), true));
            for entry in self.list(&dir)? {
                let path = join(&dir, &entry.name);
                match entry.kind {
                    FileType::Directory => open.push((path, false)),
                    _ => {
                        let (dir, name) = self.place(&path).map_err(Error::tree("remove", &path))?;
                        let removed = self.context.unlinkat(&dir, name, UnlinkFlags::empty());
                        removed.map_err(Error::tree("remove", &path))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes the directories above a path that are missing.
    pub(crate) fn make_directories(&self, mode: u16, path: &[u8]) -> Result<(), Error> {
        let mut missing = Vec::new();
        for dir in upwards(path).skip(1) {
            if self.look(dir)?.is_some() {
                break;
            }
            missing.push(dir);
        }
        for dir in missing.into_iter().rev() {
            let make = || {
                let (above, name) = self.place(dir)?;
                self.context.mkdirat(&above, name, mode)
            };
            make().map_err(Error::tree("make", dir))?;
        }
        Ok(())
    }

    /// Removes an empty directory.
    pub(crate) fn remove_directory(&self, path: &[u8]) -> Result<(), Errno> {
        let (dir, name) = self.place(path)?;
        self.context.unlinkat(&dir, name, UnlinkFlags::REMOVEDIR)
    }

    /// Gives a node another path, at which there is nothing.
    pub(crate) fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), Error> {
        self.rename_with(from, to, RenameFlags::NOREPLACE)
    }

    /// Gives a node the path of another one, in its place.
    pub(crate) fn replace(&self, from: &[u8], to: &[u8]) -> Result<(), Error> {
        self.rename_with(from, to, RenameFlags::empty())
    }

    fn rename_with(&self, from: &[u8], to: &[u8], flags: RenameFlags) -> Result<(), Error> {
        let renamed = || {
            let (old, new) = (self.place(from)?, self.place(to)?);
            self.context.renameat(&old.0, old.1, &new.0, new.1, flags)
        };
        renamed().map_err(Error::tree("rename to", to))
    }
}
