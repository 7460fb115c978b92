//! Names move.
//!
//! All checks come before the first change, and all changes happen while the names of both directories are locked: nothing is left
//! half done, and no lookup finds the node in neither place.

use std::sync::Arc;

use parking_lot::RwLockWriteGuard;
use pathwalk::{Errno, Name, NodeKey, RenameFlags};

use super::inode::{Inode, now};
use super::ledger::Ledger;
use super::names::{Names, Target};
use super::{Store, lies_beneath};

/// One side of a rename: a directory, a name in it, and the node that it leads to.
struct Side<'a> {
    dir: &'a Inode,
    name: Name<'a>,
    node: Option<Arc<Inode>>,
}

/// The names of both directories, which may be the same.
struct Pair<'a> {
    from: RwLockWriteGuard<'a, Names>,
    /// `None`: `from` is both.
    to: Option<RwLockWriteGuard<'a, Names>>,
}

impl<'a> Pair<'a> {
    /// The caller holds `tree`, so the order makes no difference.
    fn lock(from: &'a Inode, to: &'a Inode) -> Result<Pair<'a>, Errno> {
        let (first, second) = (&from.directory()?.names, &to.directory()?.names);
        Ok(Pair { from: first.write(), to: (from.key != to.key).then(|| second.write()) })
    }

    fn to(&self) -> &Names {
        self.to.as_ref().unwrap_or(&self.from)
    }

    fn to_mut(&mut self) -> &mut Names {
        self.to.as_mut().unwrap_or(&mut self.from)
    }

    fn swap(&mut self, from: (Name<'_>, Target), to: (Name<'_>, Target), ledger: &Ledger) {
        self.to_mut().put(to.0, from.1, ledger);
        self.from.put(from.0, to.1, ledger);
    }
}

impl Store {
    /// Moves a name, or swaps two. Errors as of `renameat2(2)`; two names of one node are left as they are.
    pub(crate) fn rename(&self, from: (NodeKey, Name<'_>), to: (NodeKey, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        if flags.contains(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE) {
            return Err(Errno::EINVAL);
        }
        let _tree = self.tree.lock();
        let (from_dir, to_dir) = (self.inode(from.0)?, self.inode(to.0)?);
        let pair = Pair::lock(&from_dir, &to_dir)?;
        let node = |names: &Names, name| names.get(name).map(|target| self.table.get(target.key)).transpose();
        let from = Side { node: node(&pair.from, from.1)?, dir: &from_dir, name: from.1 };
        let to = Side { node: node(pair.to(), to.1)?, dir: &to_dir, name: to.1 };
        let moved = from.node.clone().ok_or(Errno::ENOENT)?;
        pair.to().linked()?;
        match &to.node {
            Some(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EEXIST),
            None if flags.contains(RenameFlags::EXCHANGE) => return Err(Errno::ENOENT),
            Some(there) if there.key == moved.key => return Ok(()),
            _ => {}
        }
        match to.node.clone() {
            Some(other) if flags.contains(RenameFlags::EXCHANGE) => self.exchange(pair, &from, &to, &moved, &other),
            replaced => self.replace(pair, &from, &to, &moved, replaced),
        }
    }

    fn replace(
        &self,
        mut pair: Pair<'_>,
        from: &Side<'_>,
        to: &Side<'_>,
        moved: &Arc<Inode>,
        replaced: Option<Arc<Inode>>,
    ) -> Result<(), Errno> {
        self.not_beneath(to.dir, moved, Errno::EINVAL)?;
        let arrives = moved.is_directory() as i32;
        if let Some(replaced) = &replaced {
            self.not_beneath(from.dir, replaced, Errno::ENOTEMPTY)?;
            match (moved.is_directory(), replaced.is_directory()) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                (true, true) => replaced.directory()?.names.write().remove_directory(&self.ledger)?,
                (false, false) => {}
            }
        } else if moved.is_directory() && from.dir.key != to.dir.key {
            self.room_for_link(to.dir)?;
        }

        let now = now();
        pair.to_mut().put(to.name, Target::of(moved), &self.ledger);
        pair.from.take(from.name, &self.ledger);
        from.dir.names_changed(pair.from.len(), -arrives, now);
        to.dir.names_changed(pair.to().len(), arrives, now);
        if let Some(replaced) = &replaced {
            self.name_lost(to.dir, pair.to(), replaced, now);
        }
        arrived(moved, to.dir);
        moved.meta.lock().ctime = now;
        Ok(())
    }

    fn exchange(
        &self,
        mut pair: Pair<'_>,
        from: &Side<'_>,
        to: &Side<'_>,
        moved: &Arc<Inode>,
        other: &Arc<Inode>,
    ) -> Result<(), Errno> {
        self.not_beneath(to.dir, moved, Errno::EINVAL)?;
        self.not_beneath(from.dir, other, Errno::EINVAL)?;
        let arrives = moved.is_directory() as i32 - other.is_directory() as i32;
        if from.dir.key != to.dir.key && arrives != 0 {
            self.room_for_link(if arrives > 0 { to.dir } else { from.dir })?;
        }

        let now = now();
        pair.swap((from.name, Target::of(moved)), (to.name, Target::of(other)), &self.ledger);
        from.dir.names_changed(pair.from.len(), -arrives, now);
        to.dir.names_changed(pair.to().len(), arrives, now);
        for (node, dir) in [(moved, to.dir), (other, from.dir)] {
            arrived(node, dir);
            node.meta.lock().ctime = now;
        }
        Ok(())
    }

    /// Refuses with `errno` if `node` is `dir` or a directory above it.
    fn not_beneath(&self, dir: &Inode, node: &Inode, errno: Errno) -> Result<(), Errno> {
        if node.is_directory() && lies_beneath(&self.table, dir, node.key.ino)? { Err(errno) } else { Ok(()) }
    }
}

/// Tells a directory where it is now.
fn arrived(node: &Inode, dir: &Inode) {
    if let Ok(directory) = node.directory() {
        directory.set_parent(dir.key.ino);
    }
}
