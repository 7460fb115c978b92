//! The operations that add and remove names: create, link, unlink.
//!
//! A name of the base that is removed leaves an entry without a node. A name that the branch added,
//! where the base has none, leaves nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use pathwalk::permission::AclKind;
use pathwalk::{AclState, Attributes, Errno, FileType, Inherited, InodeFlags, NewKind, NewNode, Node};

use super::copy_up::{KEPT_FLAGS, bits_of};
use super::data::PAGE_BLOCKS;
use super::{Found, Inner, free, record, record_mut};
use crate::rows::{self, Counted, Entry, FirstName, Hidden, Names, Pages, Place, Record, Row, Tag, Target};
use crate::stamp::Stamp;
use crate::tree::Tree;

/// The longest body of a link that takes no page, as on a tmpfs.
const SHORT_BODY: usize = 127;

impl Inner {
    /// Makes a node. `EEXIST`, `ENOTDIR`; `ENOENT` if the directory was removed.
    pub(crate) fn create(&self, dir: u64, name: &[u8], new: &NewNode<'_>) -> Result<Node, Errno> {
        check_new(new)?;
        let tree = &mut *self.lock();
        self.room_for_name(tree, dir, name)?;
        let directories = matches!(new.kind, NewKind::Directory) as i64;
        let number = self.add_node(tree, dir, new, FirstName::Given)?;
        self.point(tree, dir, name, Some(Target { number, kind: new.kind.file_type() }), None);
        self.names_changed(tree, dir, (1, directories))?;
        self.hold(tree, number, None, None)
    }

    /// Makes a regular file without a name: `EINVAL` for another kind.
    pub(crate) fn create_unnamed(&self, dir: u64, new: &NewNode<'_>) -> Result<Node, Errno> {
        if new.kind != NewKind::Regular {
            return Err(Errno::EINVAL);
        }
        check_new(new)?;
        let tree = &mut *self.lock();
        let number = self.add_node(tree, dir, new, FirstName::ToCome)?;
        let node = self.hold(tree, number, None, None)?;
        self.live.lock().orphan(number);
        Ok(node)
    }

    /// Adds the rows of a new node, but for its name.
    fn add_node(&self, tree: &mut Tree<Row>, dir: u64, new: &NewNode<'_>, first_name: FirstName) -> Result<u64, Errno> {
        let above = self.inode_flags_in(tree, dir)?;
        let inherited = new.inherit(self.acl_in(tree, dir, AclKind::Default)?.as_ref());
        let number = self.shared.base.new_number()?;
        let flags = above & (InodeFlags::NODUMP | InodeFlags::NOATIME);
        let record = self.new_record(new, &inherited, number, flags, first_name);
        tree.insert(&rows::of(number, Tag::Record), Row::Record(Arc::new(record)));
        let lists = [(AclKind::Access, inherited.access), (AclKind::Default, inherited.default)];
        for (kind, list) in lists {
            if let Some(list) = list {
                tree.insert(&rows::acl(number, kind), Row::Acl(Arc::new(list)));
            }
        }
        Ok(number)
    }

    fn new_record(
        &self,
        new: &NewNode<'_>,
        inherited: &Inherited,
        number: u64,
        flags: InodeFlags,
        first_name: FirstName,
    ) -> Record {
        let now = self.shared.now();
        let mut attributes = Attributes::new(new.kind.file_type(), inherited.mode).with_owner(new.uid, new.gid).with_ino(number);
        (attributes.atime, attributes.mtime, attributes.ctime, attributes.btime) = (now, now, now, Some(now));
        (attributes.flags, attributes.flags_mask) = (bits_of(flags), KEPT_FLAGS);
        if inherited.access.is_some() {
            attributes.acl = AclState::Present;
        }
        if first_name == FirstName::ToCome {
            attributes.nlink = 0;
        }
        let mut body = None;
        match new.kind {
            NewKind::Directory => attributes.size = self.shared.base.directory_sizes().1,
            NewKind::Symlink(of) => {
                attributes.size = of.len() as u64;
                attributes.blocks = if of.len() > SHORT_BODY { PAGE_BLOCKS } else { 0 };
                body = Some(of.into());
            }
            NewKind::CharDevice(device) | NewKind::BlockDevice(device) => attributes.device_node = device,
            _ => {}
        }
        Record {
            attributes,
            flags,
            body,
            origin: None,
            names: Names::Own,
            first_name,
            counted: Counted::InEntry,
            pages: Pages::default(),
        }
    }

    /// Gives a node one more name: `EPERM` for a directory, `ENOENT` for a node that has lost its
    /// last one, `EMLINK`.
    pub(crate) fn link(&self, number: u64, dir: u64, name: &[u8]) -> Result<Node, Errno> {
        let tree = &mut *self.lock();
        self.room_for_name(tree, dir, name)?;
        let kind = self.kind(tree, number)?;
        if kind == FileType::Directory {
            return Err(Errno::EPERM);
        }
        let now = self.shared.now();
        let linked = self.copy_up(tree, number)?;
        match linked.attributes.nlink {
            0 if linked.first_name == FirstName::Given => return Err(Errno::ENOENT),
            u32::MAX => return Err(Errno::EMLINK),
            _ => {}
        }
        linked.attributes.nlink += 1;
        linked.first_name = FirstName::Given;
        linked.touch_ctime(now);
        self.live.lock().named(number);
        self.point(tree, dir, name, Some(Target { number, kind }), None);
        self.names_changed(tree, dir, (1, 0))?;
        self.hold(tree, number, None, None)
    }

    /// Removes the name of a node: `ENOENT` if there is no such name, `ESTALE` if it now leads to
    /// another node, `ENOTEMPTY` for a directory with names in it.
    pub(crate) fn unlink(&self, dir: u64, name: &[u8], number: u64) -> Result<(), Errno> {
        let tree = &mut *self.lock();
        let found = self.find(tree, dir, name)?.ok_or(Errno::ENOENT)?;
        if found.target.number != number {
            return Err(Errno::ESTALE);
        }
        let is_directory = found.target.kind == FileType::Directory;
        if is_directory && !self.is_empty(tree, number)? {
            return Err(Errno::ENOTEMPTY);
        }
        self.copy_up(tree, dir)?;
        self.copy_up(tree, number)?;
        self.point(tree, dir, name, None, Some(&found));
        self.names_changed(tree, dir, (-1, -i64::from(is_directory)))?;
        self.lose_name(tree, number)
    }

    /// Counts a name less of a node, and removes it if that was the last and it is not held.
    pub(super) fn lose_name(&self, tree: &mut Tree<Row>, number: u64) -> Result<(), Errno> {
        let now = self.shared.now();
        let lost = record_mut(tree, number)?;
        lost.attributes.nlink = if lost.is_directory() { 0 } else { lost.attributes.nlink.saturating_sub(1) };
        lost.touch_ctime(now);
        if lost.attributes.nlink == 0 {
            self.note_contents(tree, number);
            if !self.live.lock().orphan(number) {
                free(tree, number);
            }
        }
        Ok(())
    }

    /// Adds what a directory of the base had in it when it was removed to the stamp of the entry
    /// that hides it. The rows that know of it go with the directory.
    fn note_contents(&self, tree: &mut Tree<Row>, number: u64) {
        let Some(Record { names: Names::Merged, origin: Some(origin), .. }) = record(tree, number) else { return };
        let Some(way) = origin.way.clone() else { return };
        let (contents, outlived) = contents(tree, number);
        let key = self.shared.entry_key(way.dir, &way.name);
        if let Some(Row::Entry(Entry { hides: Some(hidden), .. })) = tree.get_mut(&key)
            && hidden.target.number == number
        {
            hidden.stamp = hidden.stamp.with(contents);
        }
        for number in outlived {
            if let Ok(record) = record_mut(tree, number) {
                record.counted = Counted::Alone;
            }
        }
    }

    /// Returns those of some nodes, whose last names are to be removed, that are held, and makes
    /// sure that the tree has their attributes.
    pub(crate) fn orphans_of(&self, numbers: impl Iterator<Item = u64>, tree: &mut Tree<Row>) -> Result<BTreeSet<u64>, Errno> {
        let held: BTreeSet<u64> = {
            let live = self.live.lock();
            numbers.filter(|number| live.is_held(*number)).collect()
        };
        held.iter().try_for_each(|number| self.copy_up(tree, *number).map(drop))?;
        Ok(held)
    }

    /// Notes that these nodes have no names any more. They are freed when they are forgotten, or
    /// now, if they are not held any more.
    pub(crate) fn become_orphans(&self, numbers: &BTreeSet<u64>, tree: &mut Tree<Row>) {
        for number in numbers {
            if !self.live.lock().orphan(*number) {
                free(tree, *number);
            }
        }
    }

    /// Checks that a name can be added: `ENOENT` if the directory was removed, `EEXIST`, `ENOTDIR`.
    fn room_for_name(&self, tree: &mut Tree<Row>, dir: u64, name: &[u8]) -> Result<(), Errno> {
        if self.kind(tree, dir)? != FileType::Directory {
            return Err(Errno::ENOTDIR);
        }
        self.check_not_removed(tree, dir)?;
        if self.find(tree, dir, name)?.is_some() {
            return Err(Errno::EEXIST);
        }
        self.copy_up(tree, dir).map(drop)
    }

    /// Fails with `ENOENT` if a directory was removed.
    pub(super) fn check_not_removed(&self, tree: &Tree<Row>, dir: u64) -> Result<(), Errno> {
        match record(tree, dir) {
            Some(record) if record.attributes.nlink == 0 => Err(Errno::ENOENT),
            _ => Ok(()),
        }
    }

    /// Lets a name lead to a node, or to none. `was` is what it leads to now.
    pub(super) fn point(&self, tree: &mut Tree<Row>, dir: u64, name: &[u8], target: Option<Target>, was: Option<&Found>) {
        let key = self.shared.entry_key(dir, name);
        let before = self.entry(tree, dir, name);
        let hides = match before {
            Some(entry) => entry.hides,
            None => was.filter(|found| found.base.is_some()).map(|found| hidden(tree, found.target)),
        };
        match (target, hides) {
            (None, None) => _ = tree.remove(&key),
            _ => _ = tree.insert(&key, Row::Entry(Entry { target, hides })),
        }
        if let Some(target) = target {
            let place = Place { dir, name: name.into() };
            tree.insert(&rows::of(target.number, Tag::Place), Row::Place(Arc::new(place)));
        }
    }

    /// Notes that a directory, which was copied, got so many names more, and so many directories
    /// among them.
    pub(super) fn names_changed(&self, tree: &mut Tree<Row>, dir: u64, (names, directories): (i64, i64)) -> Result<(), Errno> {
        let (now, (bytes, _)) = (self.shared.now(), self.shared.base.directory_sizes());
        let record = record_mut(tree, dir)?;
        count_names(&mut record.attributes, (names, directories), bytes);
        record.touch(now);
        Ok(())
    }
}

/// Returns what an entry keeps of a node of the base that it hides, which was copied.
fn hidden(tree: &Tree<Row>, target: Target) -> Hidden {
    let origin = record(tree, target.number).and_then(|record| record.origin.as_ref());
    Hidden { target, stamp: origin.map_or_else(Stamp::default, |origin| origin.stamp()) }
}

/// Returns the stamp of the names of the base that a directory hides, and the nodes among them that
/// live on under other names. Those count without their contents.
pub(super) fn contents(tree: &Tree<Row>, dir: u64) -> (Stamp, Vec<u64>) {
    let prefix = rows::of(dir, Tag::Entry);
    let (mut stamp, mut outlived) = (Stamp::default(), Vec::new());
    for (key, row) in tree.with_prefix(&prefix) {
        if let Row::Entry(Entry { hides: Some(hidden), .. }) = row
            && let Some((_, name)) = rows::hash_and_name(&key[prefix.len()..])
        {
            let number = hidden.target.number;
            stamp = stamp.with(Stamp::of_name(dir, name, number));
            match record(tree, number) {
                Some(record) if record.attributes.nlink > 0 => outlived.push(number),
                // It outlived another directory, and is compared by itself.
                _ if tree.get(&rows::of(number, Tag::Removed)).is_some() => {}
                _ => stamp = stamp.with(hidden.stamp),
            }
        }
    }
    (stamp, outlived)
}

/// Counts names of a directory, each of which takes so many bytes, and directories among them.
pub(crate) fn count_names(attributes: &mut Attributes, (names, directories): (i64, i64), bytes: u64) {
    attributes.size = attributes.size.saturating_add_signed(names * bytes as i64);
    // One link is what file systems say that count none.
    if attributes.nlink > 1 {
        attributes.nlink = attributes.nlink.saturating_add_signed(directories as i32);
    }
}

/// Checks a new node: as [`NewNode::check`] does, and `ENOENT` for a link with an empty body.
fn check_new(new: &NewNode<'_>) -> Result<(), Errno> {
    if new.kind == NewKind::Symlink(b"") { Err(Errno::ENOENT) } else { new.check() }
}
