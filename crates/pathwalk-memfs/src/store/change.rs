//! The operations that add and remove names: create, link, unlink.

use pathwalk::permission::AclKind;
use pathwalk::{Errno, Inherited, Name, NewKind, NewNode, NodeKey, Timestamp};

use super::inode::Inode;
use super::life::FirstName;
use super::quota::Payers;
use super::record::first_pages;
use super::table::Ino;
use super::{Held, Store};
use crate::quota::Project;

impl Store {
    /// Creates a node. `EEXIST`, `ENOTDIR`; `ENOENT` if the directory was removed; `EMLINK` if it
    /// has as many directories as it may have; `ENOSPC`, `EDQUOT`.
    pub(crate) fn create(&self, dir: NodeKey, name: Name<'_>, new: &NewNode<'_>) -> Result<Held<'_>, Errno> {
        new.check()?;
        let mut dir = self.inode(dir)?.lock_names()?;
        let name = self.hashed(name);
        dir.vacant(&name)?;
        let directories = matches!(new.kind, NewKind::Directory) as i32;
        if directories > 0 {
            dir.room_for_link(self.options.max_links)?;
        }
        let now = self.now();
        let inherited = dir.guarded.inherited_by(new);
        let project = self.inherited_project(dir.dir, directories > 0);
        let inode = self.insert(new, inherited, project, (dir.dir.ino, FirstName::Given), now)?;
        inode.slot.record.inherit(&dir.dir.slot.record);
        dir.add(&name, inode, &self.ledger);
        dir.changed(directories, now);
        Ok(Held { store: self, inode })
    }

    /// Creates a regular file without a name; `link` may give it one. `ENOSPC`, `EDQUOT`;
    /// `EINVAL` for any other kind.
    pub(crate) fn create_unnamed(&self, dir: NodeKey, new: &NewNode<'_>) -> Result<Held<'_>, Errno> {
        if new.kind != NewKind::Regular {
            return Err(Errno::EINVAL);
        }
        new.check()?;
        let dir = self.inode(dir)?;
        let inherited =
            if dir.slot.record.has_list(AclKind::Default) { dir.lock_shared().inherited_by(new) } else { new.inherit(None) };
        let project = self.inherited_project(dir, false);
        let inode = self.insert(new, inherited, project, (Ino::NONE, FirstName::ToCome), self.now())?;
        inode.slot.record.inherit(&dir.slot.record);
        Ok(Held { store: self, inode })
    }

    /// Creates a node that is held once: `ENOSPC`, `EDQUOT`.
    fn insert(
        &self,
        new: &NewNode<'_>,
        inherited: Inherited,
        project: Project,
        (parent, first_name): (Ino, FirstName),
        now: Timestamp,
    ) -> Result<Inode<'_>, Errno> {
        let mut new = *new;
        new.mode = inherited.mode;
        let pages = first_pages(&new.kind);
        let payers = Payers([new.uid, new.gid, project.id]);
        self.take_node(payers, pages)?;
        let made = self.table.insert(&new, parent, first_name, now, &self.ledger);
        let inode = made.inspect_err(|_| self.give_node(payers, pages))?;
        self.give_lists(inode, inherited);
        self.put_project(inode, project);
        Ok(inode)
    }

    /// Gives a node one more name: `EPERM` for a directory, `ENOENT` for a node that has lost its
    /// last one, `EMLINK`, `ENOSPC`, `EXDEV` for a node of another project.
    pub(crate) fn link(&self, node: NodeKey, dir: NodeKey, name: Name<'_>) -> Result<Held<'_>, Errno> {
        let inode = self.inode(node)?;
        let mut dir = self.inode(dir)?.lock_names()?;
        let name = self.hashed(name);
        dir.vacant(&name)?;
        if inode.is_directory() {
            return Err(Errno::EPERM);
        }
        self.same_project(dir.dir, inode)?;
        let first_name = inode.first_name();
        if first_name == FirstName::Given {
            self.space.nodes.take_if_limited()?;
        }
        inode.slot.life.link(first_name, self.options.max_links).inspect_err(|_| {
            if first_name == FirstName::Given {
                self.space.nodes.give_if_limited();
            }
        })?;
        // The node is in this directory as long as it has the new name, which can be removed only
        // under the lock that is held.
        inode.set_parent(dir.dir.ino);
        let now = self.now();
        inode.slot.record.touch_name(now);
        dir.add(&name, inode, &self.ledger);
        dir.changed(0, now);
        Ok(Held { store: self, inode })
    }

    /// Removes the name of `node`: `ENOENT` if there is no such name, `ESTALE` if it now leads to
    /// another node, `ENOTEMPTY` for a directory with names in it.
    pub(crate) fn unlink(&self, dir: NodeKey, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let (inode, dir) = (self.inode(node)?, self.inode(dir)?);
        let name = self.hashed(name);
        let directories = inode.is_directory() as i32;
        let mut tree = None;
        loop {
            let mut dir = dir.lock_names()?;
            let place = dir.find(&name).ok_or(Errno::ENOENT)?;
            if dir.key(place) != node.into() {
                return Err(Errno::ESTALE);
            }
            let now = self.now();
            let left = if directories == 0 {
                inode.lose_name(now)
            } else if let Some(mut removed) = if tree.is_some() { Some(inode.lock()) } else { inode.try_lock() } {
                removed.remove_directory(now, &self.ledger)?
            } else {
                drop(dir);
                tree = Some(self.tree.lock());
                continue;
            };
            dir.take(place, &self.ledger);
            dir.changed(-directories, now);
            self.free_if(left, inode);
            return Ok(());
        }
    }
}
