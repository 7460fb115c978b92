//! Names move.
//!
//! All checks come before the first change, and all changes happen while the names of both directories are locked: nothing is left
//! half done, and no lookup finds the node in neither place.

use parking_lot::MappedRwLockWriteGuard;
use pathwalk::{Errno, Name, NodeKey, RenameFlags, Timestamp};

use super::inode::{Inode, now};
use super::ledger::Ledger;
use super::names::{Hashed, Names, Target};
use super::{Store, lies_beneath};

/// One side of a rename: a name in a directory.
#[derive(Clone, Copy)]
struct Side<'a> {
    dir: Inode<'a>,
    name: Hashed<'a>,
}

/// The names of both directories, which may be the same.
struct Pair<'a> {
    from: MappedRwLockWriteGuard<'a, Names>,
    /// `None`: `from` is both.
    to: Option<MappedRwLockWriteGuard<'a, Names>>,
}

impl<'a> Pair<'a> {
    /// If they are two, the caller holds `tree`, so the order makes no difference.
    fn lock(from: Inode<'a>, to: Inode<'a>) -> Result<Pair<'a>, Errno> {
        let first = from.names_mut()?;
        let second = if from.key == to.key { None } else { Some(to.names_mut()?) };
        Ok(Pair { from: first, to: second })
    }

    fn to(&self) -> &Names {
        self.to.as_ref().unwrap_or(&self.from)
    }

    fn to_mut(&mut self) -> &mut Names {
        self.to.as_mut().unwrap_or(&mut self.from)
    }

    fn swap(&mut self, from: (Hashed<'_>, Target), to: (Hashed<'_>, Target), ledger: &Ledger) {
        self.to_mut().put(to.0, from.1, ledger);
        self.from.put(from.0, to.1, ledger);
    }

    /// Books that names changed in both, and that so many more directories are in `to` and fewer in `from`.
    fn changed(&self, from: Inode<'_>, to: Inode<'_>, arrive: i32, now: Timestamp) {
        match &self.to {
            None => from.names_changed(self.from.len(), 0, now),
            Some(names) => {
                from.names_changed(self.from.len(), -arrive, now);
                to.names_changed(names.len(), arrive, now);
            }
        }
    }
}

impl Store {
    /// Moves a name, or swaps two. Errors as of `renameat2(2)`; two names of one node are left as they are.
    ///
    /// Within one directory, what is none moves without the lock of the tree.
    pub(crate) fn rename(&self, from: (NodeKey, Name<'_>), to: (NodeKey, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        if flags.contains(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE) {
            return Err(Errno::EINVAL);
        }
        let side = |(dir, name)| Ok::<_, Errno>(Side { dir: self.inode(dir)?, name: self.hashed(name) });
        let (from, to) = (side(from)?, side(to)?);
        let mut tree = (from.dir.key != to.dir.key).then(|| self.tree.lock());
        loop {
            let pair = Pair::lock(from.dir, to.dir)?;
            let node = |names: &Names, name| names.get(name).map(|target| self.table.get(target.key)).transpose();
            let moved = node(&pair.from, from.name)?.ok_or(Errno::ENOENT)?;
            let there = node(pair.to(), to.name)?;
            pair.to().linked()?;
            match there {
                Some(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EEXIST),
                None if flags.contains(RenameFlags::EXCHANGE) => return Err(Errno::ENOENT),
                Some(there) if there.key == moved.key => return Ok(()),
                _ => {}
            }
            let directories = moved.is_directory() || there.is_some_and(|there| there.is_directory());
            if tree.is_none() && directories {
                // It may be that the names of a second one are locked, or that something is beneath something.
                drop(pair);
                tree = Some(self.tree.lock());
                continue;
            }
            return match there {
                Some(other) if flags.contains(RenameFlags::EXCHANGE) => self.exchange(pair, from, to, moved, other),
                replaced => self.replace(pair, from, to, moved, replaced),
            };
        }
    }

    fn replace(
        &self,
        mut pair: Pair<'_>,
        from: Side<'_>,
        to: Side<'_>,
        moved: Inode<'_>,
        replaced: Option<Inode<'_>>,
    ) -> Result<(), Errno> {
        self.not_beneath(to.dir, moved, Errno::EINVAL)?;
        if let Some(replaced) = replaced {
            self.not_beneath(from.dir, replaced, Errno::ENOTEMPTY)?;
            match (moved.is_directory(), replaced.is_directory()) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                (true, true) => replaced.names_mut()?.remove_directory(&self.ledger)?,
                (false, false) => {}
            }
        } else if moved.is_directory() && from.dir.key != to.dir.key {
            self.room_for_link(to.dir)?;
        }

        let now = now();
        match replaced {
            Some(_) => pair.to_mut().put(to.name, moved.into(), &self.ledger),
            None => pair.to_mut().add(to.name, moved.into(), &self.ledger),
        }
        pair.from.take(from.name, &self.ledger);
        pair.changed(from.dir, to.dir, moved.is_directory() as i32, now);
        if let Some(replaced) = replaced {
            self.name_lost(to.dir, pair.to(), replaced, now);
        }
        arrived(moved, to.dir, now);
        Ok(())
    }

    fn exchange(
        &self,
        mut pair: Pair<'_>,
        from: Side<'_>,
        to: Side<'_>,
        moved: Inode<'_>,
        other: Inode<'_>,
    ) -> Result<(), Errno> {
        self.not_beneath(to.dir, moved, Errno::EINVAL)?;
        self.not_beneath(from.dir, other, Errno::EINVAL)?;
        let arrive = moved.is_directory() as i32 - other.is_directory() as i32;
        if from.dir.key != to.dir.key && arrive != 0 {
            self.room_for_link(if arrive > 0 { to.dir } else { from.dir })?;
        }

        let now = now();
        pair.swap((from.name, moved.into()), (to.name, other.into()), &self.ledger);
        pair.changed(from.dir, to.dir, arrive, now);
        arrived(moved, to.dir, now);
        arrived(other, from.dir, now);
        Ok(())
    }

    /// Refuses with `errno` if `node` is `dir` or a directory above it.
    fn not_beneath(&self, dir: Inode<'_>, node: Inode<'_>, errno: Errno) -> Result<(), Errno> {
        if node.is_directory() && lies_beneath(&self.table, dir, node.key.ino)? { Err(errno) } else { Ok(()) }
    }
}

/// Books that a node has another name, in `dir`.
fn arrived(node: Inode<'_>, dir: Inode<'_>, now: Timestamp) {
    if node.is_directory() {
        node.set_parent(dir.key.ino);
    }
    node.slot.meta.lock().ctime = now;
}
