//! The projects of nodes.
//!
//! Few nodes have one, so a node's slot has only a mark for it ([`Record`](super::record)), and the
//! projects are in a table beside the slots, as extended attributes are.
//!
//! What always holds: a node is in the table if and only if it has the mark. Both change only under
//! the node's lock, held exclusively, or while no other thread has the node. Inside of a stripe's
//! lock no other is taken.

use hashbrown::HashMap;
use parking_lot::RwLock;
use pathwalk::permission::NO_ID;
use pathwalk::{Errno, FileType, NodeKey};

use super::Store;
use super::inode::Inode;
use super::quota::Payers;
use crate::quota::{Project, ProjectScope};

/// The number of stripes of the table.
const STRIPES: usize = 16;

/// The memory of a node's entry in the table, in bytes, where half of the table is free.
const TABLE_ENTRY: u64 = 2 * (size_of::<(u64, Project)>() as u64 + 1);

/// The projects of all nodes that have one, by the node's number.
#[derive(Default)]
pub(crate) struct Projects([RwLock<HashMap<u64, Project>>; STRIPES]);

impl Store {
    pub(crate) fn project(&self, node: NodeKey) -> Result<Project, Errno> {
        Ok(self.project_in(self.inode(node)?))
    }

    /// Sets the project of a file or directory: `EDQUOT`, `EOPNOTSUPP`, `EINVAL`.
    pub(crate) fn set_project(&self, node: NodeKey, project: Project) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        match inode.kind() {
            _ if project.id == NO_ID => return Err(Errno::EINVAL),
            FileType::Directory => {}
            FileType::Regular if project.scope == ProjectScope::Node => {}
            _ => return Err(Errno::EOPNOTSUPP),
        }
        let mut locked = inode.lock();
        let Payers([uid, gid, _]) = self.payers(inode);
        self.transfer(inode, Payers([uid, gid, project.id]))?;
        self.put_project(inode, project);
        locked.change(|record| record.touch_ctime(self.now()));
        Ok(())
    }

    #[inline]
    pub(super) fn project_in(&self, inode: Inode<'_>) -> Project {
        if inode.slot.record.has_project() { self.projects.get(inode) } else { Project::default() }
    }

    #[inline]
    pub(super) fn project_id(&self, inode: Inode<'_>) -> u32 {
        self.project_in(inode).id
    }

    /// Returns the project of a node that is created in a directory.
    pub(super) fn inherited_project(&self, dir: Inode<'_>, is_directory: bool) -> Project {
        match self.project_in(dir) {
            Project { scope: ProjectScope::Node, .. } => Project::default(),
            project if is_directory => project,
            project => Project { scope: ProjectScope::Node, ..project },
        }
    }

    /// Checks that a node may get a name in a directory: `EXDEV` if the directory gives its project
    /// to all that is in it, and the node has another one. Source: `ext4_link` of Linux.
    pub(super) fn same_project(&self, dir: Inode<'_>, inode: Inode<'_>) -> Result<(), Errno> {
        let project = self.project_in(dir);
        let differs = project.scope == ProjectScope::NewNodes && project.id != self.project_id(inode);
        if differs { Err(Errno::EXDEV) } else { Ok(()) }
    }

    /// Records the project of a node, which no other thread has, or whose lock the caller has.
    pub(super) fn put_project(&self, inode: Inode<'_>, project: Project) {
        let has_one = project != Project::default();
        if !has_one && !inode.slot.record.has_project() {
            return;
        }
        let mut stripe = self.projects.stripe(inode).write();
        let before = if has_one { stripe.insert(inode.ino.0, project) } else { stripe.remove(&inode.ino.0) };
        let memory = |has: bool| if has { TABLE_ENTRY } else { 0 };
        self.ledger.resize(memory(before.is_some()), memory(has_one));
        inode.slot.record.set_project(has_one);
    }
}

impl Projects {
    fn stripe(&self, inode: Inode<'_>) -> &RwLock<HashMap<u64, Project>> {
        &self.0[inode.ino.0 as usize % STRIPES]
    }

    fn get(&self, inode: Inode<'_>) -> Project {
        self.stripe(inode).read().get(&inode.ino.0).copied().unwrap_or_default()
    }
}
