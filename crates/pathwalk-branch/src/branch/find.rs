//! Finding nodes by names and numbers, and handing them out.

use std::sync::Arc;

use pathwalk::security::NodeId;
use pathwalk::{Attributes, Errno, FileType, Freshness, Handle, Node, NodeKey, OpenFor};

use super::live::Way;
use super::{Inner, Shared, free, place, record};
use crate::options::BaseChanges;
use crate::origin::Origin;
use crate::rows::{Entry, Names, Record, Row, Target};
use crate::tree::Tree;

/// The node of a name.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) target: Target,
    /// The node of the base, if the name is the base's. The tree may have its attributes.
    pub(crate) base: Option<Handle>,
}

/// Returns the number of a key that was handed out.
pub(crate) fn number_of(key: NodeKey) -> u64 {
    // Keys are made of numbers.
    key.0 as u64
}

/// Returns whether a node of the base, whose attributes a tree does not have, shows in it: no entry
/// hides the name by which it was copied, or a directory above. `None` if the way up is not known.
pub(crate) fn shows_of_base(shared: &Shared, tree: &Tree<Row>, number: u64, origin: &Origin) -> Option<bool> {
    let (mut number, mut next) = (number, origin.way.clone());
    while let Some(way) = next {
        let shows = match tree.get(&shared.entry_key(way.dir, &way.name)) {
            Some(Row::Entry(entry)) => entry.target.is_some_and(|target| target.number == number),
            _ => record(tree, way.dir).is_none_or(|dir| dir.names == Names::Merged),
        };
        if !shows {
            return Some(false);
        }
        number = way.dir;
        if record(tree, number).is_some_and(|dir| dir.attributes.nlink > 0) {
            return Some(true);
        }
        let noted = || place(tree, number).map(|at| Arc::new(Way { dir: at.dir, name: at.name.clone(), above: None }));
        next = way.above.clone().or_else(noted);
    }
    (number == shared.root).then_some(true)
}

impl Inner {
    /// Returns the row of a name.
    pub(crate) fn entry(&self, tree: &Tree<Row>, dir: u64, name: &[u8]) -> Option<Entry> {
        match tree.get(&self.shared.entry_key(dir, name)) {
            Some(Row::Entry(entry)) => Some(*entry),
            _ => None,
        }
    }

    /// Returns the directory of the base whose names show in a directory, if there is one. None
    /// show in a directory that was removed.
    pub(crate) fn below(&self, tree: &Tree<Row>, dir: u64) -> Result<Option<Handle>, Errno> {
        match record(tree, dir) {
            Some(Record { names: Names::Merged, origin: Some(origin), attributes, .. }) if attributes.nlink > 0 => {
                match origin.handle(&self.shared.base) {
                    // The base has it no longer, and so none of its names.
                    Err(Errno::ESTALE) => Ok(None),
                    found => found.map(Some),
                }
            }
            Some(_) => Ok(None),
            None => self.base_of(dir).map(Some),
        }
    }

    /// Returns the node of the base behind a node that the tree does not have: `ESTALE` if it is
    /// not held.
    pub(crate) fn base_of(&self, number: u64) -> Result<Handle, Errno> {
        if number == self.shared.root {
            return Ok(self.shared.base.root().clone());
        }
        self.live.lock().base(number)
    }

    /// Returns the node of a name.
    pub(crate) fn find(&self, tree: &Tree<Row>, dir: u64, name: &[u8]) -> Result<Option<Found>, Errno> {
        if let Some(entry) = self.entry(tree, dir, name) {
            return Ok(entry.target.map(|target| Found { target, base: None }));
        }
        let Some(below) = self.below(tree, dir)? else { return Ok(None) };
        let Some(base) = self.shared.base.lookup(&below, name)? else { return Ok(None) };
        let target = Target { number: self.number(tree, &base)?, kind: base.kind() };
        Ok(Some(Found { target, base: Some(base) }))
    }

    /// Returns the number of a node of the base in this branch.
    pub(crate) fn number(&self, tree: &Tree<Row>, base: &Handle) -> Result<u64, Errno> {
        let number = self.shared.base.number(base, &base.attributes()?)?;
        let other = |id: NodeId| id != base.node_id();
        let is_taken = match record(tree, number) {
            Some(Record { origin: Some(origin), .. }) => !origin.is_node(&self.shared.base, base)?,
            Some(_) => true,
            None => self.live.lock().base_id(number).is_some_and(other),
        };
        if is_taken { self.shared.base.number_apart(base) } else { Ok(number) }
    }

    /// Returns the attributes of a node.
    pub(crate) fn attributes(&self, tree: &Tree<Row>, number: u64) -> Result<Attributes, Errno> {
        match record(tree, number) {
            Some(record) => Ok(self.shown(record)),
            None => self.shown_of_base(number, &self.base_of(number)?),
        }
    }

    /// Returns the attributes of a node of the tree as they are shown.
    pub(crate) fn shown(&self, record: &Record) -> Attributes {
        let mut attributes = record.attributes;
        attributes.device = self.device;
        attributes
    }

    fn shown_of_base(&self, number: u64, base: &Handle) -> Result<Attributes, Errno> {
        let mut attributes = base.attributes()?;
        attributes.device = self.device;
        attributes.ino = number;
        Ok(attributes)
    }

    /// Returns the body of a link.
    pub(crate) fn link_body(&self, tree: &Tree<Row>, number: u64) -> Result<Box<[u8]>, Errno> {
        match record(tree, number) {
            Some(record) => record.body.as_deref().map(Box::from).ok_or(Errno::EINVAL),
            None => self.shared.base.read_link(&self.base_of(number)?),
        }
    }

    /// Returns the type of a node.
    pub(crate) fn kind(&self, tree: &Tree<Row>, number: u64) -> Result<FileType, Errno> {
        match record(tree, number) {
            Some(record) => Ok(record.kind()),
            None => Ok(self.base_of(number)?.kind()),
        }
    }

    /// Hands a node out that was found under a name.
    pub(crate) fn hold_found(&self, tree: &Tree<Row>, dir: u64, name: &[u8], found: Found) -> Result<Node, Errno> {
        let number = found.target.number;
        let way = if record(tree, number).is_none() {
            let above = self.live.lock().way(dir);
            Some(Arc::new(Way { dir, name: name.into(), above }))
        } else {
            None
        };
        let freshness = if found.base.is_some() { self.absences(tree, dir) } else { Freshness::Stable };
        Ok(self.hold(tree, number, found.base, way)?.with_freshness(freshness))
    }

    /// Hands a node out.
    pub(crate) fn hold(&self, tree: &Tree<Row>, number: u64, base: Option<Handle>, way: Option<Arc<Way>>) -> Result<Node, Errno> {
        let key = NodeKey(number.into());
        let of_tree = record(tree, number);
        let of_origin = || of_tree?.origin.as_ref()?.handle(&self.shared.base).ok();
        let base = base.or_else(of_origin);
        let attributes = match (of_tree, &base) {
            (Some(record), _) => self.shown(record),
            (None, Some(base)) => self.shown_of_base(number, base)?,
            (None, None) => return Err(Errno::ESTALE),
        };
        let body = match (attributes.kind, of_tree, &base) {
            (FileType::Symlink, Some(record), _) => record.body.as_deref().map(Box::from),
            (FileType::Symlink, None, Some(base)) => Some(self.shared.base.read_link(base)?),
            _ => None,
        };
        let freshness = if of_tree.is_some() { Freshness::Stable } else { self.shared.options.base_changes.freshness() };
        self.live.lock().hold(number, base, way);
        // An empty body cannot come with the node.
        let body = body.filter(|body| !body.is_empty());
        Ok(Node::new(key, attributes).with_freshness(freshness).with_link_body(body))
    }

    /// Returns how long absences in a directory are valid, and names that are the base's: as long
    /// as the base says, where its names show.
    pub(crate) fn absence_freshness(&self, dir: u64) -> Freshness {
        self.absences(&self.tree.read(), dir)
    }

    fn absences(&self, tree: &Tree<Row>, dir: u64) -> Freshness {
        let below = match record(tree, dir) {
            Some(Record { names: Names::Merged, origin: Some(origin), attributes, .. }) if attributes.nlink > 0 => {
                // One that was never looked for would have to be searched for now.
                origin.known_handle().cloned().ok_or(Errno::EAGAIN)
            }
            Some(_) => return Freshness::Stable,
            None => self.base_of(dir),
        };
        self.as_base_says(below, Handle::absence_freshness)
    }

    /// Returns how long attributes of a node are valid: those of the base as long as it says.
    pub(crate) fn attributes_freshness(&self, number: u64) -> Freshness {
        match record(&self.tree.read(), number) {
            Some(_) => Freshness::Stable,
            None => self.as_base_says(self.base_of(number), Handle::attributes_freshness),
        }
    }

    /// Returns how long an answer of the base is valid. One that is not reported is asked for each
    /// time.
    fn as_base_says(&self, node: Result<Handle, Errno>, says: impl Fn(&Handle) -> Freshness) -> Freshness {
        match (self.shared.options.base_changes, node) {
            (BaseChanges::Reported, Ok(node)) => says(&node),
            _ => Freshness::AskEachTime,
        }
    }

    /// Hands the root out.
    pub(crate) fn hold_root(&self, root: u64) -> Result<Node, Errno> {
        let base = self.shared.base.root().clone();
        self.hold(&self.tree.read(), root, Some(base), None)
    }

    /// Returns the node of a name, handed out.
    pub(crate) fn lookup(&self, dir: u64, name: &[u8]) -> Result<Option<Node>, Errno> {
        let tree = self.tree.read();
        let found = self.find(&tree, dir, name)?;
        found.map(|found| self.hold_found(&tree, dir, name, found)).transpose()
    }

    /// Returns the number of the node of a name.
    pub(crate) fn peek(&self, dir: u64, name: &[u8]) -> Result<Option<u64>, Errno> {
        Ok(self.find(&self.tree.read(), dir, name)?.map(|found| found.target.number))
    }

    pub(crate) fn attributes_of(&self, number: u64) -> Result<Attributes, Errno> {
        self.attributes(&self.tree.read(), number)
    }

    pub(crate) fn read_link(&self, number: u64) -> Result<Box<[u8]>, Errno> {
        self.link_body(&self.tree.read(), number)
    }

    /// Checks that a node can be opened: `EISDIR` for a directory that is opened for writing,
    /// `EINVAL` for a node that is neither file nor directory.
    pub(crate) fn check_open(&self, number: u64, what_for: OpenFor) -> Result<(), Errno> {
        match self.kind(&self.tree.read(), number)? {
            FileType::Directory if what_for.contains(OpenFor::WRITE) => Err(Errno::EISDIR),
            FileType::Directory | FileType::Regular => Ok(()),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Returns the node that is held for a node of the base.
    pub(crate) fn held_for(&self, base: NodeId) -> Option<u64> {
        if base == self.shared.base.root().node_id() { Some(self.shared.root) } else { self.live.lock().of_base(base) }
    }

    /// Returns the node that is held for a node of the base, if it shows the base's attributes.
    pub(crate) fn shows_node(&self, base: NodeId) -> Option<u64> {
        self.held_for(base).filter(|number| record(&self.tree.read(), *number).is_none())
    }

    /// Returns the directory that is held for one of the base, if it shows the base's name.
    pub(crate) fn shows_name(&self, dir: NodeId, name: &[u8]) -> Option<u64> {
        self.held_for(dir).filter(|number| self.entry(&self.tree.read(), *number, name).is_none())
    }

    /// Gives a hold back.
    pub(crate) fn forget(&self, number: u64) {
        let (base, is_orphan) = self.live.lock().release(number);
        if is_orphan {
            let mut tree = self.lock();
            // Another thread may have been first.
            if self.live.lock().is_gone(number) {
                free(&mut tree, number);
            }
        }
        drop(base);
    }
}
