//! The new nodes of a commit onto the base. A new directory is made with what is new in it, so that
//! one move gives all of it its place.
//!
//! What always holds: a directory gets its lists and flags when all in it is made, so what is made
//! has those alone that the branch has given it.
//!
//! What it does not do: make a node with several names in its directory. Its names come one by one.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::{AtFlags, Errno, File, FileType, Handle, InodeFlags, Name, NewKind};

use super::super::Failure;
use super::super::journal::{Fill, Identity};
use super::{Stage, Staged};
use crate::branch::record;
use crate::rows::Record;

/// The bits of a file's mode with which it may be made.
const AT_ONCE: u16 = 0o777;

/// The rights that the owner of a file has until it is complete.
const OF_OWNER: u16 = 0o600;

/// A new directory that is being filled.
struct Open {
    number: u64,
    node: Handle,
}

impl Stage<'_> {
    /// Makes all new nodes with all that they have.
    pub(super) fn new_nodes(&self, staged: &mut Staged) -> Result<(), Failure> {
        let mut inside = self.inside_new();
        staged.named = inside.values().flatten().copied().collect();
        let new = self.plan.new_nodes().map(|(target, _)| target.number);
        let tops: Vec<u64> = new.filter(|number| !staged.named.contains(number)).collect();
        for number in tops {
            let name = format!("n{number}");
            let mut open = Vec::from_iter(self.new_node(self.staging, name.as_bytes(), number, staged)?);
            staged.sources.insert(number, vec![name]);
            while let Some(dir) = open.last() {
                match inside.get_mut(&dir.number).and_then(Vec::pop) {
                    Some(below) => {
                        let name = &self.plan.come[&below][0].name;
                        let made = self.new_node(&dir.node, name, below, staged)?;
                        open.extend(made);
                    }
                    None => {
                        self.complete(&dir.node, dir.number).map_err(self.failed("make", dir.number))?;
                        open.pop();
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns, for new directories, the new nodes that have their only names in them.
    fn inside_new(&self) -> BTreeMap<u64, Vec<u64>> {
        let new: BTreeSet<u64> = self.plan.new_nodes().map(|(target, _)| target.number).collect();
        let mut inside: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for number in &new {
            if let [only] = &self.plan.come[number][..]
                && new.contains(&only.dir)
            {
                inside.entry(only.dir).or_default().push(*number);
            }
        }
        inside
    }

    /// Makes a new node, and returns it if it is a directory, which is to be filled and completed.
    fn new_node(&self, dir: &Handle, name: &[u8], number: u64, staged: &mut Staged) -> Result<Option<Open>, Failure> {
        let make = || {
            let record = record(self.plan.tree, number).ok_or(Errno::ESTALE)?;
            if self.is_given(dir, name, number, record)? {
                // What is in a new directory is not looked for again.
                let is_moved = !staged.named.contains(&number);
                let identity = is_moved.then(|| self.hand.identity(&self.made(dir, name)?)).transpose()?;
                return Ok((identity, None));
            }
            let (identity, node) = self.make(dir, name, number, record)?;
            Ok((Some(identity), record.is_directory().then_some(Open { number, node })))
        };
        let (identity, open) = make().map_err(self.failed("make", number))?;
        staged.new.extend(identity.map(|identity| (number, identity)));
        Ok(open)
    }

    /// Returns whether a spare file was moved to this name, which has all that the node has.
    fn is_given(&self, dir: &Handle, name: &[u8], number: u64, record: &Record) -> Result<bool, Errno> {
        let Some(spares) = self.plan.inner.shared.spares.lock().clone() else { return Ok(false) };
        let has_extras = || {
            let all = self.all_of(number, record);
            !record.flags.is_empty() || all.access.is_some() || all.default.is_some() || !all.xattrs.is_empty()
        };
        if record.kind() != FileType::Regular || has_extras() || !spares.give(number, &record.attributes, dir, name) {
            return Ok(false);
        }
        // The caches of the base know of no such name.
        self.hand.context.vfs().invalidate(dir, Name::new(name)?)?;
        Ok(true)
    }

    /// Makes a node with all that it has, but a directory.
    fn make(&self, dir: &Handle, name: &[u8], number: u64, record: &Record) -> Result<(Identity, Handle), Errno> {
        let identified = |node: &Handle| Ok((self.hand.identity(node)?, node.clone()));
        let device = record.attributes.device_node;
        let kind = match record.kind() {
            FileType::Regular => {
                let mode = record.attributes.mode & AT_ONCE | OF_OWNER;
                let file = self.hand.make_file(dir, name, mode)?;
                // What a write changes would have to be asked for.
                let made = identified(file.handle())?;
                self.write_file(&file, number, record)?;
                self.complete(file.handle(), number)?;
                return Ok(made);
            }
            FileType::Directory => {
                self.hand.context.mkdirat(dir, name, 0o700)?;
                return identified(&self.made(dir, name)?);
            }
            FileType::Symlink => NewKind::Symlink(record.body.as_deref().ok_or(Errno::EIO)?),
            FileType::Fifo => NewKind::Fifo,
            FileType::Socket => NewKind::Socket,
            FileType::CharDevice => NewKind::CharDevice(device),
            FileType::BlockDevice => NewKind::BlockDevice(device),
        };
        if record.flags.is_empty() {
            self.make_special(dir, name, kind)?;
        } else {
            // Such a node has the flags of the directory in which it was made.
            let (made_in, first) = (self.with_flags(record.flags)?, format!("n{number}"));
            self.make_special(&made_in, first.as_bytes(), kind)?;
            self.hand.rename((&made_in, first.as_bytes()), (dir, name))?;
        }
        let node = self.made(dir, name)?;
        self.complete(&node, number)?;
        identified(&node)
    }

    fn made(&self, dir: &Handle, name: &[u8]) -> Result<Handle, Errno> {
        self.hand.find(dir, name)?.ok_or(Errno::ESTALE)
    }

    /// Gives a node its attributes.
    fn complete(&self, node: &Handle, number: u64) -> Result<(), Errno> {
        let record = record(self.plan.tree, number).ok_or(Errno::ESTALE)?;
        self.hand.set(node, &self.all_of(number, record))
    }

    fn make_special(&self, dir: &Handle, name: &[u8], kind: NewKind<'_>) -> Result<(), Errno> {
        match kind {
            NewKind::Symlink(body) => self.hand.context.symlinkat(body, dir, name),
            kind => self.hand.context.mknodat(dir, name, kind, 0o600),
        }
    }

    /// Returns a directory that passes flags on to what is made in it.
    fn with_flags(&self, flags: InodeFlags) -> Result<Handle, Errno> {
        let name = format!("f{}", flags.bits());
        if let Some(found) = self.hand.find(self.staging, name.as_bytes())? {
            return Ok(found);
        }
        self.hand.context.mkdirat(self.staging, &name, 0o700)?;
        let made = self.made(self.staging, name.as_bytes())?;
        self.hand.context.set_inode_flags_at(&made, "", flags, AtFlags::EMPTY_PATH)?;
        Ok(made)
    }

    fn write_file(&self, file: &File, number: u64, record: &Record) -> Result<(), Errno> {
        let (size, ranges) = (record.attributes.size, self.ranges(number, record, None));
        // Data that ends the file sets its size.
        if ranges.last().is_some_and(|(_, _, fill)| *fill != Fill::Data) {
            file.set_len(size)?;
        }
        self.write_ranges(file, number, &ranges)
    }
}
