//! The moving of names.
//!
//! All checks come before the first change, and all changes happen while the names of both
//! directories are locked. So a failure leaves nothing half done, and every lookup finds the node
//! in one of the places.

use pathwalk::{Errno, Name, NodeKey, RenameFlags, Timestamp};

use super::inode::Inode;
use super::locked::LockedNames;
use super::names::{Hashed, Place};
use super::{Store, lies_beneath};

/// One side of a rename: a name in a directory.
#[derive(Clone, Copy)]
struct Side<'a> {
    dir: Inode<'a>,
    name: Hashed<'a>,
}

/// The locked names of both directories, which may be the same.
struct Pair<'a> {
    from: LockedNames<'a>,
    /// The target directory; `None` if `from` is both.
    to: Option<LockedNames<'a>>,
}

/// A node, and the position of the name that leads to it.
#[derive(Clone, Copy)]
struct There<'a> {
    place: Place,
    inode: Inode<'a>,
}

impl<'a> Pair<'a> {
    /// Locks both directories. If they are two, the caller holds `tree`, so the order makes no
    /// difference.
    fn lock(from: Inode<'a>, to: Inode<'a>) -> Result<Pair<'a>, Errno> {
        let first = from.lock_names()?;
        let second = if from.ino == to.ino { None } else { Some(to.lock_names()?) };
        Ok(Pair { from: first, to: second })
    }

    fn to(&self) -> &LockedNames<'a> {
        self.to.as_ref().unwrap_or(&self.from)
    }

    fn to_mut(&mut self) -> &mut LockedNames<'a> {
        self.to.as_mut().unwrap_or(&mut self.from)
    }

    /// Records a change of names in both directories, and the number of directories that moved from
    /// `from` to `to`.
    fn changed(&mut self, arrive: i32, now: Timestamp) {
        match &mut self.to {
            None => self.from.changed(0, now),
            Some(to) => {
                self.from.changed(-arrive, now);
                to.changed(arrive, now);
            }
        }
    }
}

impl Store {
    /// Moves a name, or exchanges two. Errors as of `renameat2(2)`;
    /// `EXDEV` for a node of another project. Two names of one node are left
    /// as they are.
    ///
    /// Within one directory, names of nodes that are not directories move without the lock of the
    /// tree.
    pub(crate) fn rename(&self, from: (NodeKey, Name<'_>), to: (NodeKey, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        if flags.contains(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE) {
            return Err(Errno::EINVAL);
        }
        let side = |(dir, name)| Ok::<_, Errno>(Side { dir: self.inode(dir)?, name: self.hashed(name) });
        let (from, to) = (side(from)?, side(to)?);
        let mut tree = (from.dir.ino != to.dir.ino).then(|| self.tree.lock());
        loop {
            let mut pair = Pair::lock(from.dir, to.dir)?;
            let moved = self.there(&pair.from, &from.name)?.ok_or(Errno::ENOENT)?;
            let there = self.there(pair.to(), &to.name)?;
            pair.to().room_for_name()?;
            match there {
                Some(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EEXIST),
                None if flags.contains(RenameFlags::EXCHANGE) => return Err(Errno::ENOENT),
                Some(there) if there.inode.ino == moved.inode.ino => return Ok(()),
                _ => {}
            }
            let directories = moved.inode.is_directory() || there.is_some_and(|there| there.inode.is_directory());
            if tree.is_none() && directories {
                // The names of a second directory may have to be locked, or one directory may lie
                // beneath another.
                drop(pair);
                tree = Some(self.tree.lock());
                continue;
            }
            return match there {
                Some(other) if flags.contains(RenameFlags::EXCHANGE) => self.exchange(&mut pair, moved, other),
                replaced => self.replace(&mut pair, moved, &to.name, replaced),
            };
        }
    }

    #[inline]
    fn there<'a>(&'a self, names: &LockedNames<'_>, name: &Hashed<'_>) -> Result<Option<There<'a>>, Errno> {
        let Some(place) = names.find(name) else { return Ok(None) };
        Ok(Some(There { place, inode: self.table.get(names.key(place))? }))
    }

    fn replace(
        &self,
        pair: &mut Pair<'_>,
        moved: There<'_>,
        name: &Hashed<'_>,
        replaced: Option<There<'_>>,
    ) -> Result<(), Errno> {
        let inode = moved.inode;
        self.not_beneath(pair.to().dir, inode, Errno::EINVAL)?;
        self.same_project(pair.to().dir, inode)?;
        let now = self.now();
        let left = match replaced.map(|replaced| replaced.inode) {
            Some(replaced) => {
                self.not_beneath(pair.from.dir, replaced, Errno::ENOTEMPTY)?;
                match (inode.is_directory(), replaced.is_directory()) {
                    (true, false) => return Err(Errno::ENOTDIR),
                    (false, true) => return Err(Errno::EISDIR),
                    (true, true) => Some(replaced.lock().remove_directory(now, &self.ledger)?),
                    (false, false) => Some(replaced.lose_name(now)),
                }
            }
            None if inode.is_directory() && pair.to.is_some() => {
                pair.to().room_for_link(self.options.max_links)?;
                None
            }
            None => None,
        };

        match replaced {
            Some(replaced) => pair.to_mut().retarget(replaced.place, inode),
            None => pair.to_mut().add(name, inode, &self.ledger),
        }
        pair.from.take(moved.place, &self.ledger);
        pair.changed(inode.is_directory() as i32, now);
        if let (Some(replaced), Some(left)) = (replaced, left) {
            pair.to_mut().changed(-(inode.is_directory() as i32), now);
            self.free_if(left, replaced.inode);
        }
        arrived(inode, pair.to().dir, now);
        Ok(())
    }

    fn exchange(&self, pair: &mut Pair<'_>, moved: There<'_>, other: There<'_>) -> Result<(), Errno> {
        self.not_beneath(pair.to().dir, moved.inode, Errno::EINVAL)?;
        self.not_beneath(pair.from.dir, other.inode, Errno::EINVAL)?;
        self.same_project(pair.to().dir, moved.inode)?;
        self.same_project(pair.from.dir, other.inode)?;
        let arrive = moved.inode.is_directory() as i32 - other.inode.is_directory() as i32;
        if pair.to.is_some() && arrive != 0 {
            let gains = if arrive > 0 { pair.to() } else { &pair.from };
            gains.room_for_link(self.options.max_links)?;
        }

        let now = self.now();
        pair.to_mut().retarget(other.place, moved.inode);
        pair.from.retarget(moved.place, other.inode);
        pair.changed(arrive, now);
        arrived(moved.inode, pair.to().dir, now);
        arrived(other.inode, pair.from.dir, now);
        Ok(())
    }

    /// Fails with `errno` if `node` is `dir` or a directory above it.
    fn not_beneath(&self, dir: Inode<'_>, node: Inode<'_>, errno: Errno) -> Result<(), Errno> {
        if node.is_directory() && lies_beneath(&self.table, dir, node.ino)? { Err(errno) } else { Ok(()) }
    }
}

/// Records that a node has a new name, in `dir`.
fn arrived(node: Inode<'_>, dir: Inode<'_>, now: Timestamp) {
    node.set_parent(dir.ino);
    node.slot.record.touch_name(now);
}
