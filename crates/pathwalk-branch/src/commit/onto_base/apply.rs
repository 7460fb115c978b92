//! The steps of a commit onto the base, once all is staged: names, then contents.
//!
//! What always holds: no node of the base is lost. A name that goes is moved into the staging
//! directory, and one that comes is put where there is none. So as long as not all names are in
//! their places, each step can be undone; and each tells whether it was done, so it can be
//! repeated.

use std::collections::BTreeMap;

use pathwalk::{Errno, FallocateFlags, File, Handle, LinkFlags, OpenFlags, UnlinkFlags};

use super::hand::{Hand, reserve};
use super::journal::{Fill, Journal, NewData, NodeChange, Put, Take, Where};
use super::{Failure, remove_all};

/// The number of bytes of zeroes that are written at once.
const PIECE: usize = 1 << 16;

/// What follows a name that is moved back beside its old place, before a number.
const BESIDE: &[u8] = b".before-commit-";

/// Whether there was something to be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Removed {
    Some,
    Nothing,
}

/// The steps of one commit.
pub(super) struct Steps<'a> {
    pub(super) hand: &'a Hand,
    pub(super) staging: &'a Handle,
    pub(super) journal: &'a Journal,
}

impl Steps<'_> {
    /// Moves all names. A step that fails leaves what was done before.
    pub(super) fn move_names(&self) -> Result<(), Failure> {
        let puts: BTreeMap<&str, &Put> = self.journal.puts.iter().map(|put| (&*put.staged, put)).collect();
        for link in &self.journal.links {
            let put = puts.get(&*link.staged).copied();
            self.link(link, put).map_err(|errno| Failure::new("link", &joined(&link.dir, &link.name), errno))?;
        }
        for take in &self.journal.takes {
            let put = puts.get(&*take.staged).copied();
            self.take(take, put).map_err(|errno| Failure::new("remove", &joined(&take.dir, &take.name), errno))?;
        }
        for put in &self.journal.puts {
            self.put(put).map_err(|errno| Failure::new("add", &joined(&put.dir, &put.name), errno))?;
        }
        Ok(())
    }

    /// Returns whether a node has its name in the staging directory, or had it.
    fn is_taken(&self, take: &Take, put: Option<&Put>) -> Result<bool, Errno> {
        let is_put = || put.map_or(Ok(false), |put| self.is_put(put));
        Ok(self.hand.leads_to(self.staging, take.staged.as_bytes(), take.node)? || is_put()?)
    }

    /// Returns the directory of a name, whose node may be changed from then on.
    fn open_dir_of(&self, take: &Take) -> Result<Handle, Errno> {
        let dir = self.hand.directory(&take.dir)?;
        match self.hand.find(&dir, &take.name)? {
            Some(found) if self.hand.identity(&found)? == take.node => self.hand.allow_changes(&found)?,
            _ => return Err(Errno::ESTALE),
        }
        Ok(dir)
    }

    fn link(&self, link: &Take, put: Option<&Put>) -> Result<(), Errno> {
        if self.is_taken(link, put)? {
            return Ok(());
        }
        let dir = self.open_dir_of(link)?;
        self.hand.context.linkat(&dir, &link.name, self.staging, &link.staged, LinkFlags::empty())
    }

    fn take(&self, take: &Take, put: Option<&Put>) -> Result<(), Errno> {
        let (staged, node) = (take.staged.as_bytes(), take.node);
        if self.is_taken(take, put)? {
            return Ok(());
        }
        let dir = self.open_dir_of(take)?;
        self.hand.allow_changes(&dir)?;
        self.hand.rename((&dir, &take.name), (self.staging, staged))?;
        if self.hand.leads_to(self.staging, staged, node)? {
            return Ok(());
        }
        // Another program has put another node there at this moment.
        self.hand.rename((self.staging, staged), (&dir, &take.name))?;
        Err(Errno::ESTALE)
    }

    /// Returns whether a name is in its place.
    fn is_put(&self, put: &Put) -> Result<bool, Errno> {
        match self.hand.directory(&put.dir) {
            // A new directory may have the path of one that is yet to go.
            Ok(dir) if self.hand.identity(&dir)? == put.into => self.hand.leads_to(&dir, &put.name, put.node),
            Ok(_) => Ok(false),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    fn put(&self, put: &Put) -> Result<(), Errno> {
        let dir = self.hand.directory(&put.dir)?;
        if self.hand.identity(&dir)? != put.into {
            return Err(Errno::ESTALE);
        }
        if self.hand.leads_to(&dir, &put.name, put.node)? {
            return Ok(());
        }
        self.hand.allow_changes(&dir)?;
        self.hand.rename((self.staging, put.staged.as_bytes()), (&dir, &put.name))
    }

    /// Moves all names back. Goes on behind what fails, and returns the first that did.
    pub(super) fn undo(&self) -> Result<(), Failure> {
        let mut first = Ok(());
        for put in self.journal.puts.iter().rev() {
            let undone = self.undo_put(put);
            first = first.and(undone.map_err(|errno| Failure::new("take back", &joined(&put.dir, &put.name), errno)));
        }
        for take in self.journal.takes.iter().rev() {
            let undone = self.undo_take(take);
            first = first.and(undone.map_err(|errno| Failure::new("put back", &joined(&take.dir, &take.name), errno)));
        }
        for before in &self.journal.before {
            let undone = self.hand.put_back(before);
            first = first.and(undone.map_err(|errno| Failure::new("put back the attributes of", &before.path, errno)));
        }
        first
    }

    fn undo_put(&self, put: &Put) -> Result<(), Errno> {
        if self.hand.find(self.staging, put.staged.as_bytes())?.is_some() || !self.is_put(put)? {
            return Ok(());
        }
        let dir = self.hand.directory(&put.dir)?;
        self.hand.rename((&dir, &put.name), (self.staging, put.staged.as_bytes()))
    }

    fn undo_take(&self, take: &Take) -> Result<(), Errno> {
        let staged = take.staged.as_bytes();
        if self.hand.find(self.staging, staged)?.is_none() {
            return Ok(());
        }
        let dir = self.hand.directory(&take.dir)?;
        match self.hand.rename((self.staging, staged), (&dir, &take.name)) {
            Err(Errno::EEXIST) => self.put_beside(staged, &dir, &take.name),
            moved => moved,
        }
    }

    /// Moves a name back whose place another program has taken meanwhile, to a free one beside.
    fn put_beside(&self, staged: &[u8], dir: &Handle, name: &[u8]) -> Result<(), Errno> {
        for number in 0.. {
            let beside = [name, BESIDE, number.to_string().as_bytes()].concat();
            match self.hand.rename((self.staging, staged), (dir, &beside)) {
                Err(Errno::EEXIST) => {}
                moved => return moved,
            }
        }
        Err(Errno::EEXIST)
    }

    /// Gives all nodes their contents and attributes.
    pub(super) fn change_nodes(&self) -> Result<(), Failure> {
        for name in &self.journal.surplus {
            let removed = remove_all(self.hand, self.staging, name.as_bytes());
            removed.map_err(|errno| Failure::new("remove", name.as_bytes(), errno))?;
        }
        for change in &self.journal.nodes {
            let failed = |errno| match &change.at {
                Where::Staged(name) => Failure::new("change", name.as_bytes(), errno),
                Where::Path(path) => Failure::new("change", path, errno),
            };
            self.change(change).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes the second names of nodes, once these have their contents and attributes. That is a
    /// change of nodes, too.
    pub(super) fn remove_seconds(&self) -> Result<Removed, Errno> {
        let mut removed = Removed::Nothing;
        for change in &self.journal.nodes {
            let Where::Staged(name) = &change.at else { continue };
            match self.hand.context.unlinkat(self.staging, name, UnlinkFlags::empty()) {
                Ok(()) => removed = Removed::Some,
                Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(removed)
    }

    /// Reserves the space for new data, so that a lack of it ends the commit while it can be
    /// undone; and so does a program that runs and is to be changed.
    pub(super) fn reserve(&self) -> Result<(), Failure> {
        for change in &self.journal.nodes {
            if let (Some(data), Where::Staged(name)) = (&change.data, &change.at) {
                self.reserve_for(change, data).map_err(|errno| Failure::new("change", name.as_bytes(), errno))?;
            }
        }
        Ok(())
    }

    fn reserve_for(&self, change: &NodeChange, data: &NewData) -> Result<(), Errno> {
        let node = self.node(change)?;
        self.hand.allow_changes(&node)?;
        let target = self.hand.context.reopen(&node, OpenFlags::WRITE)?;
        let mut new = data.ranges.iter().filter(|(_, _, fill)| *fill == Fill::Data);
        new.try_for_each(|(offset, length, _)| reserve(&target, *offset, *length))
    }

    fn node(&self, change: &NodeChange) -> Result<Handle, Errno> {
        let node = match &change.at {
            Where::Staged(name) => self.hand.find(self.staging, name.as_bytes())?.ok_or(Errno::ESTALE)?,
            Where::Path(path) => self.hand.at(path)?,
        };
        if self.hand.identity(&node)? == change.node { Ok(node) } else { Err(Errno::ESTALE) }
    }

    fn change(&self, change: &NodeChange) -> Result<(), Errno> {
        let node = self.node(change)?;
        if let Some(data) = &change.data {
            self.hand.allow_changes(&node)?;
            self.write(&node, data)?;
        }
        self.hand.set(&node, &change.setting)
    }

    fn write(&self, node: &Handle, data: &NewData) -> Result<(), Errno> {
        let target = self.hand.context.reopen(node, OpenFlags::READ | OpenFlags::WRITE)?;
        let source = self.hand.context.openat(self.staging, &data.staged, OpenFlags::READ)?;
        target.set_len(data.size)?;
        for (offset, length, fill) in &data.ranges {
            match fill {
                Fill::Data => copy((&source, *offset), (&target, *offset), *length)?,
                Fill::Hole => clear(&target, *offset, *length)?,
                Fill::Reserved => {
                    clear(&target, *offset, *length)?;
                    reserve(&target, *offset, *length)?;
                }
            }
        }
        Ok(())
    }
}

/// Copies a range to another file, which shares it where the file system of the host can do that.
/// `EIO` if there is less.
pub(super) fn copy((source, from): (&File, u64), (target, to): (&File, u64), length: u64) -> Result<(), Errno> {
    let mut done = 0;
    while done < length {
        let most = usize::try_from(length - done).unwrap_or(usize::MAX);
        match source.copy_file_range(Some(from + done), target, Some(to + done), most)? {
            0 => return Err(Errno::EIO),
            copied => done += copied as u64,
        }
    }
    Ok(())
}

/// Lets a range read as zeroes.
fn clear(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    match file.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length) {
        Err(Errno::EOPNOTSUPP) => {}
        cleared => return cleared,
    }
    for at in (offset..offset + length).step_by(PIECE) {
        let most = usize::try_from(offset + length - at).map_or(PIECE, |left| left.min(PIECE));
        file.write_all_at(&[0; PIECE][..most], at)?;
    }
    Ok(())
}

/// Returns the path of a name in a directory.
pub(super) fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() }
}
