//! Names come and go: create, link, unlink.

use pathwalk::limits::LINK_MAX;
use pathwalk::{Errno, Name, NewKind, NewNode, NodeKey, Timestamp};

use super::inode::{FirstName, Inode, Meta, first_pages, now};
use super::names::Names;
use super::{Held, Store};

impl Store {
    /// Makes a node. `EEXIST`, `ENOTDIR`; `ENOENT` if the directory was removed; `EMLINK` if it has all the directories it may
    /// have; `ENOSPC`.
    pub(crate) fn create(&self, dir: NodeKey, name: Name<'_>, new: &NewNode<'_>) -> Result<Held<'_>, Errno> {
        check_body(&new.kind)?;
        let parent = self.inode(dir)?;
        let mut names = parent.names_mut()?;
        let name = self.hashed(name);
        names.vacant(name)?;
        let (now, pages) = (now(), first_pages(&new.kind));
        let directories = matches!(new.kind, NewKind::Directory) as i32;
        if let Err(no_room) = self.space.take_node(pages) {
            // Linux looks at the links first.
            return Err(if directories > 0 { self.room_for_link(parent).err().unwrap_or(no_room) } else { no_room });
        }
        let comes = parent.name_comes(names.len() + 1, directories, now, self.options.max_links);
        comes.inspect_err(|_| self.space.give_node(pages))?;
        let held = |inode, meta: &mut Meta| self.held(inode, meta);
        let made = self.table.insert(new, Some(parent.key.ino), FirstName::Given, now, &self.ledger, held);
        names.add(name, made.inode.into(), &self.ledger);
        Ok(made)
    }

    /// Makes a regular file without a name; `link` may give it one. `ENOSPC`; `EINVAL` for anything else than a file.
    pub(crate) fn create_unnamed(&self, new: &NewNode<'_>) -> Result<Held<'_>, Errno> {
        if new.kind != NewKind::Regular {
            return Err(Errno::EINVAL);
        }
        self.space.take_node(0)?;
        let held = |inode, meta: &mut Meta| self.held(inode, meta);
        Ok(self.table.insert(new, None, FirstName::ToCome, now(), &self.ledger, held))
    }

    /// Gives a node one more name: `EPERM` for a directory, `ENOENT` for a node that has lost its last one, `EMLINK`.
    pub(crate) fn link(&self, node: NodeKey, dir: NodeKey, name: Name<'_>) -> Result<Held<'_>, Errno> {
        let inode = self.inode(node)?;
        let dir = self.inode(dir)?;
        let mut names = dir.names_mut()?;
        let name = self.hashed(name);
        names.vacant(name)?;
        if inode.is_directory() {
            return Err(Errno::EPERM);
        }
        let now = now();
        let linked = {
            let mut meta = inode.slot.meta.lock();
            if meta.is_gone() || (meta.nlink == 0 && meta.first_name == FirstName::Given) {
                return Err(Errno::ENOENT);
            }
            if meta.nlink >= self.options.max_links {
                return Err(Errno::EMLINK);
            }
            meta.nlink += 1;
            meta.first_name = FirstName::Given;
            meta.held += 1;
            meta.ctime = now;
            self.held(inode, &meta)
        };
        names.add(name, inode.into(), &self.ledger);
        dir.names_changed(names.len(), 0, now);
        Ok(linked)
    }

    /// Takes the name of `node` away: `ENOENT` if there is no such name, `ESTALE` if it leads elsewhere by now, `ENOTEMPTY` for a
    /// directory with names in it.
    pub(crate) fn unlink(&self, dir: NodeKey, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        // Two directories will be locked.
        let _tree = inode.is_directory().then(|| self.tree.lock());
        let dir = self.inode(dir)?;
        let mut names = dir.names_mut()?;
        let name = self.hashed(name);
        if names.get(name).ok_or(Errno::ENOENT)?.key != inode.key {
            return Err(Errno::ESTALE);
        }
        if inode.is_directory() {
            inode.names_mut()?.remove_directory(&self.ledger)?;
        }
        names.take(name, &self.ledger);
        self.name_lost(dir, &names, inode, now());
        Ok(())
    }

    /// Books that `inode` lost a name in `dir`, whose `names` are locked. The name itself is gone already.
    pub(super) fn name_lost(&self, dir: Inode<'_>, names: &Names, inode: Inode<'_>, now: Timestamp) {
        dir.names_changed(names.len(), -(inode.is_directory() as i32), now);
        let mut meta = inode.slot.meta.lock();
        meta.nlink = if inode.is_directory() { 0 } else { meta.nlink.saturating_sub(1) };
        meta.ctime = now;
        self.free_if_gone(inode, meta);
    }

    /// `EMLINK` if `dir` has all the links it may have.
    pub(super) fn room_for_link(&self, dir: Inode<'_>) -> Result<(), Errno> {
        if dir.slot.meta.lock().nlink >= self.options.max_links { Err(Errno::EMLINK) } else { Ok(()) }
    }
}

/// `ENAMETOOLONG` or `EINVAL` for a link body that no path can be. An empty one is let through: whether one may be made is for
/// the callers to say.
fn check_body(kind: &NewKind<'_>) -> Result<(), Errno> {
    match kind {
        NewKind::Symlink(body) if body.len() > LINK_MAX => Err(Errno::ENAMETOOLONG),
        NewKind::Symlink(body) if body.contains(&0) => Err(Errno::EINVAL),
        _ => Ok(()),
    }
}
