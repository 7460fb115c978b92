//! Listing a directory with the attributes of its entries, as servers of directories do.

use std::ops::ControlFlow;

use super::{Dirent, File, Listed, Position};
use crate::Errno;
use crate::attr::Attributes;
use crate::fs_api::OpenFile;
use crate::handle::Handle;
use crate::mount::PinnedPlace;
use crate::ops::listed::OfDirectory;
use crate::superblock::listing::ListedName;
use crate::vfs::Vfs;

/// One entry of a directory with what a lookup of its name finds: see
/// [`Context::readdirplus`](crate::Context::readdirplus).
#[derive(Clone, Debug)]
pub struct ListedNode {
    /// The entry as [`File::getdents`] gives it. Its inode number and type are those of the
    /// listing. Where something is mounted on the name, or the name was given to another node
    /// meanwhile, those of the attributes differ.
    pub entry: Listed,
    /// The attributes of the node, or the error of its lookup. `EACCES` for all entries if the
    /// caller may not search the directory; `ENOENT` if the name was removed meanwhile.
    pub attributes: Result<Attributes, Errno>,
    /// A handle on the node, if handles were requested and the lookup succeeded.
    pub handle: Option<Handle>,
}

/// Whether the entries of a listing come with handles.
///
/// [`Context::readdirplus`](crate::Context::readdirplus) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EntryHandles {
    /// They do not.
    #[default]
    Without,
    /// Each node that is found comes with a handle, which keeps it in the caches.
    With,
}

impl File {
    /// Returns the entries behind its position, at most `at_most`, with what a lookup finds under
    /// each name. `dir` goes to the directory as the caller may.
    pub(crate) fn list_nodes<'a>(
        &'a self,
        dir: impl Fn() -> Result<OfDirectory<'a>, Errno>,
        at_most: usize,
        handles: EntryHandles,
    ) -> Result<Vec<ListedNode>, Errno> {
        if at_most == 0 {
            return Err(Errno::EINVAL);
        }
        let mut piece = Piece { vfs: self.handle.vfs(), handles, at_most, listed: Vec::new() };
        let filled = self.listing(|file, position| self.fill_piece(file, position, dir, &mut piece));
        // The position is behind those that came before an error: they do not come again.
        if piece.listed.is_empty() { filled.map(|()| piece.listed) } else { Ok(piece.listed) }
    }

    fn fill_piece<'a>(
        &'a self,
        file: &dyn OpenFile,
        position: &mut Position,
        dir: impl Fn() -> Result<OfDirectory<'a>, Errno>,
        piece: &mut Piece<'_>,
    ) -> Result<(), Errno> {
        while piece.more() > 0
            && let Some(dots) = self.next_of_dots(position)?
        {
            let found = dir().and_then(|dir| if dots.name == b".." { dir.above() } else { dir.itself() });
            piece.push(dots, found);
        }
        // The right to search is checked before each stretch.
        while piece.more() > 0 {
            let is_end = match dir() {
                Ok(dir) => self.fill_with(&dir, file, position, piece)?,
                Err(errno) => self.fill_without(errno, file, position, piece)?,
            };
            if is_end {
                break;
            }
        }
        Ok(())
    }

    /// Lists a stretch of names, and looks them up. Returns whether the directory has no more.
    fn fill_with(
        &self,
        dir: &OfDirectory<'_>,
        file: &dyn OpenFile,
        position: &mut Position,
        piece: &mut Piece<'_>,
    ) -> Result<bool, Errno> {
        let trees = &self.handle.world().trees;
        let from = (position.at, piece.more());
        let stretch = trees.list_with_nodes(self.handle.dentry(), file, from, &mut position.listing)?;
        for ListedName { name, ino, kind, cookie, dentry, .. } in stretch.names {
            position.at = cookie;
            let found = dir.look_up(&name, dentry);
            piece.push(Dirent { name: &name, ino, kind, cookie }, found);
        }
        stretch.is_end
    }

    /// Lists names that the caller may not look up. Returns whether the directory has no more.
    fn fill_without(
        &self,
        errno: Errno,
        file: &dyn OpenFile,
        position: &mut Position,
        piece: &mut Piece<'_>,
    ) -> Result<bool, Errno> {
        self.list_names(file, position, |entry| {
            piece.push(entry, Err(errno));
            if piece.more() == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(piece.more() > 0)
    }
}

/// The entries that a call returns.
struct Piece<'a> {
    vfs: &'a Vfs,
    handles: EntryHandles,
    at_most: usize,
    listed: Vec<ListedNode>,
}

impl Piece<'_> {
    /// Returns the number of entries that it has room for.
    fn more(&self) -> usize {
        self.at_most - self.listed.len()
    }

    fn push(&mut self, entry: Dirent<'_>, found: Result<(PinnedPlace<'_>, Attributes), Errno>) {
        let with_handle = |(place, attributes)| {
            let handle = (self.handles == EntryHandles::With).then(|| Handle::from_pinned(self.vfs, place));
            (attributes, handle)
        };
        let (attributes, handle) = found.map(with_handle).map_or_else(|errno| (Err(errno), None), |(a, h)| (Ok(a), h));
        self.listed.push(ListedNode { entry: entry.into(), attributes, handle });
    }
}
