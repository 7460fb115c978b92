//! All that a commit needs, put into the staging directory: new nodes as they will be, the data of
//! changed files, and second names of nodes that would be hard to find again.
//!
//! What always holds: nothing outside the staging directory changes but counts of links and times
//! of changes of attributes.

mod data;
mod new_nodes;
mod settings;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use pathwalk::{AtFlags, Errno, FileType, Handle, InodeFlags, LinkFlags};

use super::before;
use super::hand::{FORBIDDING, Hand};
use super::journal::{Before, Identity, Journal, NewData, NodeChange, Put, Setting, Take, Where, time};
use super::plan::{Changed, Gone, Plan};
use super::{Failure, has_forbidding_flags, sync};
use crate::branch::record;
use crate::diff::Aspects;

/// What fills the staging directory.
pub(super) struct Stage<'a> {
    pub(super) hand: &'a Hand,
    pub(super) staging: &'a Handle,
    pub(super) plan: &'a Plan<'a>,
    /// Whether what is written down of nodes, as they are before, is on disk.
    pub(super) are_states_synced: Cell<bool>,
}

/// The identities of new nodes, but for spare files in new directories, and for each node that gets
/// names its names in the staging directory itself.
#[derive(Default)]
struct Staged {
    new: BTreeMap<u64, Identity>,
    /// The new nodes that have their names already, in new directories.
    named: BTreeSet<u64>,
    sources: BTreeMap<u64, Vec<String>>,
}

impl Stage<'_> {
    /// Fills the staging directory. Returns what is to be done then.
    pub(super) fn fill(&self, branch: &str) -> Result<Journal, Failure> {
        let mut staged = Staged::default();
        let (takes, mut before) = (self.takes(&mut staged)?, self.before()?);
        self.new_nodes(&mut staged)?;
        let mut data = BTreeMap::new();
        for changed in self.plan.changed.iter().filter(|changed| changed.what.contains(Aspects::DATA)) {
            let new = self.new_data(changed.number).map_err(self.failed("copy", changed.number))?;
            data.extend(new.map(|new| (changed.number, new)));
        }
        // From here on, times of nodes of the base change, and data of one that was changed is
        // not read.
        let noted = before::write_states(self.hand, self.staging, self.plan);
        noted.map_err(Failure::of_staging("write into"))?;
        let (links, of_linked) = self.more_names(&mut staged)?;
        before.extend(of_linked);
        let puts = self.puts(&mut staged)?;
        let mut nodes = Vec::new();
        for changed in &self.plan.changed {
            let data = data.remove(&changed.number);
            nodes.push(self.change(changed, data).map_err(self.failed("change", changed.number))?);
        }
        nodes.extend(self.flagged_again()?);
        let touched = self.touched_by_moves(&staged);
        for (target, record) in self.plan.new_nodes() {
            // A spare file has all that it gets.
            let Some(identity) = staged.new.get(&target.number) else { continue };
            let later = self.later(target.number, record, *identity, &touched);
            nodes.extend(later.map_err(self.failed("make", target.number))?);
        }
        let surplus = self.surplus(&staged, &nodes);
        Ok(Journal {
            list: self.plan.inner.shared.identity(),
            branch: branch.to_owned(),
            number: self.plan.inner.branch_number(),
            links,
            takes,
            puts,
            surplus,
            nodes,
            before,
        })
    }

    /// Returns what moves of names, and reserved space, change beside.
    fn before(&self) -> Result<Vec<Before>, Failure> {
        let has_names = |changed: &&Changed| changed.node.kind() == FileType::Directory;
        let is_changed = |changed: &&Changed| has_names(changed) || changed.what.contains(Aspects::DATA);
        let changed = self.plan.changed.iter().filter(is_changed).map(|changed| &changed.node);
        let mut found = BTreeMap::new();
        for node in changed.chain(self.plan.gone.iter().flat_map(|gone| [&gone.dir, &gone.node])) {
            match self.before_of(node) {
                Ok(before) => _ = found.insert(before.path.clone(), before),
                // The base has removed the name by which it was found, and it has others.
                Err(Errno::ESTALE) if node.kind() != FileType::Directory => {}
                Err(errno) => return Err(Failure::new("look at", b"the base", errno)),
            }
        }
        Ok(found.into_values().collect())
    }

    fn before_of(&self, node: &Handle) -> Result<Before, Errno> {
        let attributes = node.attributes()?;
        let flags = match has_forbidding_flags(&attributes) {
            true => Some(self.hand.context.inode_flags_at(node, "", AtFlags::EMPTY_PATH)?.bits()),
            false => None,
        };
        let path = self.plan.base.path(node).ok_or(Errno::ESTALE)?.into_vec();
        let mtime = time(attributes.mtime);
        Ok(Before { path, node: self.hand.identity_by(&attributes), mtime, flags })
    }

    /// Returns what gives nodes of the base, of which nothing changes but names, their flags again,
    /// which are cleared meanwhile.
    fn flagged_again(&self) -> Result<Vec<NodeChange>, Failure> {
        let changed = self.plan.changed.iter().map(|changed| changed.number).collect();
        let named = self.plan.come.keys().copied().chain(self.plan.gone.iter().map(|gone| gone.number));
        // A name of such a file may be below a directory that goes.
        let forbids =
            |number: &u64| record(self.plan.tree, *number).is_some_and(|record| has_forbidding_flags(&record.attributes));
        let named = named.chain(self.plan.copied().map(|(number, ..)| number).filter(forbids));
        let named: BTreeSet<u64> = named.filter(|number| self.plan.lives(*number)).collect();
        let again = |number: &u64| self.flags_again(*number).map_err(self.failed("look at", *number)).transpose();
        named.difference(&changed).filter_map(again).collect()
    }

    fn flags_again(&self, number: u64) -> Result<Option<NodeChange>, Errno> {
        let Some(record) = record(self.plan.tree, number).filter(|record| record.origin.is_some()) else { return Ok(None) };
        let now = self.plan.copied_from(number)?.attributes()?;
        if !has_forbidding_flags(&now) {
            return Ok(None);
        }
        let setting = Setting { flags: Some(record.flags.bits()), ..Setting::default() };
        let at = Where::Path(self.plan.final_path(number)?);
        Ok(Some(NodeChange { at, node: self.hand.identity_by(&now), data: None, setting }))
    }

    /// Returns the nodes that get names by moves, and the directories of these names: both may get
    /// another time then, since some file systems count a new directory above as a change.
    fn touched_by_moves(&self, staged: &Staged) -> BTreeSet<u64> {
        let moved = self.plan.come.iter().filter(|(number, _)| !staged.named.contains(number));
        moved.flat_map(|(number, names)| names.iter().map(|named| named.dir).chain([*number])).collect()
    }

    fn failed(&self, action: &'static str, number: u64) -> impl FnOnce(Errno) -> Failure {
        move |errno| Failure::new(action, &self.plan.final_path(number).unwrap_or_default(), errno)
    }

    /// Returns the names that go, those in the deepest directories first.
    fn takes(&self, staged: &mut Staged) -> Result<Vec<Take>, Failure> {
        let mut takes = Vec::new();
        for (at, Gone { dir, name, node, number }) in self.plan.gone.iter().enumerate() {
            let failed = |errno| Failure::new("remove", name, errno);
            let dir = self.plan.base.path(dir).ok_or(Errno::ESTALE).map_err(failed)?.into_vec();
            let node = self.hand.identity(node).map_err(failed)?;
            let name_there = format!("g{at}");
            staged.sources.entry(*number).or_default().push(name_there.clone());
            takes.push(Take { dir, name: name.to_vec(), node, staged: name_there });
        }
        takes.sort_by_key(|take| std::cmp::Reverse(depth(&take.dir)));
        Ok(takes)
    }

    /// Adds second names of nodes that get more names than go. A node of the base gets them by one
    /// that it has. Returns those that it gets only once its flags are cleared, and what such nodes
    /// have before.
    fn more_names(&self, staged: &mut Staged) -> Result<(Vec<Take>, Vec<Before>), Failure> {
        let (mut links, mut before) = (Vec::new(), Vec::new());
        for (number, names) in self.plan.come.iter().filter(|(number, _)| !staged.named.contains(number)) {
            let sources = staged.sources.entry(*number).or_default();
            while sources.len() < names.len() {
                let name = format!("l{number}.{}", sources.len());
                let linked = match sources.first().filter(|_| staged.new.contains_key(number)) {
                    Some(first) => self.link(self.staging, first.as_bytes(), &name),
                    None => match self.link_of_base(*number, &name) {
                        Err(Errno::EPERM) => self.later_link(*number, &name).map(|(link, of_node)| {
                            links.push(link);
                            before.push(of_node);
                        }),
                        linked => linked,
                    },
                };
                linked.map_err(self.failed("link", *number))?;
                sources.push(name);
            }
        }
        Ok((links, before))
    }

    /// Returns the link of a node that gets it only once its flags are cleared: `EPERM` if it has
    /// none.
    fn later_link(&self, number: u64, name: &str) -> Result<(Take, Before), Errno> {
        let node = self.plan.copied_from(number)?;
        let before = self.before_of(&node)?;
        before.flags.ok_or(Errno::EPERM)?;
        let (dir, of) = self.plan.base.place(&node)?;
        let dir = self.plan.base.path(&dir).ok_or(Errno::ESTALE)?.into_vec();
        Ok((Take { dir, name: of.into_vec(), node: before.node, staged: name.to_owned() }, before))
    }

    fn link(&self, dir: &Handle, name: &[u8], to: &str) -> Result<(), Errno> {
        self.hand.context.linkat(dir, name, self.staging, to, LinkFlags::empty())
    }

    /// Adds a name in the staging directory of a node that the base has. Its time of change must
    /// not be on disk before what says how the node was.
    fn link_of_base(&self, number: u64, name: &str) -> Result<(), Errno> {
        let node = self.plan.copied_from(number)?;
        if !self.are_states_synced.replace(true) {
            sync(self.hand, self.staging)?;
        }
        // By the node itself: the base may have removed the name by which it was found.
        match self.hand.context.linkat(&node, "", self.staging, name, LinkFlags::EMPTY_PATH) {
            Ok(()) => return Ok(()),
            Err(Errno::EEXIST) => return Err(Errno::EEXIST),
            Err(_) => {}
        }
        let (dir, of) = self.plan.base.place(&node)?;
        self.link(&dir, &of, name)
    }

    /// Returns the names that come, those in the highest directories first.
    fn puts(&self, staged: &mut Staged) -> Result<Vec<Put>, Failure> {
        let mut puts = Vec::new();
        for (number, names) in self.plan.come.iter().filter(|(number, _)| !staged.named.contains(number)) {
            let node = self.identity(staged, *number).map_err(self.failed("move", *number))?;
            let mut left = std::mem::take(staged.sources.entry(*number).or_default());
            let sources: Vec<_> = left.drain(..names.len().min(left.len())).collect();
            staged.sources.insert(*number, left);
            for (named, staged_name) in names.iter().zip(sources) {
                let failed = |errno| Failure::new("move", &named.name, errno);
                let dir = self.plan.final_path(named.dir).map_err(failed)?;
                let into = self.identity(staged, named.dir).map_err(failed)?;
                puts.push(Put { staged: staged_name, node, dir, into, name: named.name.to_vec() });
            }
        }
        puts.sort_by_key(|put| depth(&put.dir));
        Ok(puts)
    }

    /// Returns the names in the staging directory, once all names are in their places, of nodes
    /// that live on; and all others that go, if a file gets flags that forbid changes, since one of
    /// its names may be below them.
    fn surplus(&self, staged: &Staged, nodes: &[NodeChange]) -> Vec<String> {
        let forbids = |flags| InodeFlags::from_bits_retain(flags).intersects(FORBIDDING);
        let all = nodes.iter().any(|change| change.setting.flags.is_some_and(forbids) && !change.node.is_directory());
        let goes = staged.sources.iter().filter(|(number, _)| all || self.plan.lives(**number));
        goes.flat_map(|(_, left)| left.iter().cloned()).collect()
    }

    fn identity(&self, staged: &Staged, number: u64) -> Result<Identity, Errno> {
        if let Some(identity) = staged.new.get(&number) {
            return Ok(*identity);
        }
        if number == self.plan.inner.shared.root {
            return self.hand.identity(self.plan.base.root());
        }
        self.hand.identity(&self.plan.copied_from(number)?)
    }

    /// Stages what a node of the base gets.
    fn change(&self, Changed { number, node, what }: &Changed, data: Option<NewData>) -> Result<NodeChange, Errno> {
        let record = record(self.plan.tree, *number).ok_or(Errno::ESTALE)?;
        let origin = record.origin.as_ref().ok_or(Errno::ESTALE)?;
        let now = node.attributes()?;
        let is_directory = now.kind == FileType::Directory;
        let setting = self.new_attributes(*number, record, origin, &now, *what);
        let (second, identity) = (format!("c{number}"), self.hand.identity_by(&now));
        // Of a node that may not be changed then, a second name could not be removed.
        let may_have_second = !is_directory && !has_forbidding_flags(&record.attributes);
        let at = if may_have_second && self.link_of_base(*number, &second).is_ok() {
            // Overlayfs copies a file of a lower layer that has several names, one name alone.
            if !self.hand.leads_to(self.staging, second.as_bytes(), identity)? {
                return Err(Errno::ESTALE);
            }
            Where::Staged(second)
        } else {
            Where::Path(self.plan.final_path(*number)?)
        };
        Ok(NodeChange { at, node: identity, data, setting })
    }
}

fn depth(path: &[u8]) -> usize {
    if path.is_empty() { 0 } else { path.split(|byte| *byte == b'/').count() }
}
