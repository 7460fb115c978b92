//! What a format cannot hold of some changes.

use std::collections::BTreeMap;

use bitflags::bitflags;
use pathwalk::{Context, FileType};
use pathwalk_branch::{Aspects, Change};

use crate::archive::{Entries, Removals};
use crate::data;
use crate::error::Error;
use crate::node::{Kind, Node, has_several_names};
use crate::patch::Mode;
use crate::path::{PathBytes, ROOT, upwards};
use crate::plan::{Changed, Plan, walk};
use crate::tree::Tree;

bitflags! {
    /// The parts of a change that a format leaves out.
    ///
    /// [`left_out`] has an example.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Lost: u16 {
        /// The name itself: it does not come or go as in the branch.
        const NAME = 1;
        /// Owner and group.
        const OWNER = 2;
        /// Permission bits.
        const MODE = 4;
        /// Times.
        const TIMES = 8;
        /// Extended attributes and access control lists.
        const XATTRS = 16;
        /// The flags of `chattr(1)`.
        const FLAGS = 32;
        /// That the name is one of several of a file.
        const LINKS = 64;
        /// That parts of the file are holes.
        const HOLES = 128;
    }
}

/// A path of which a format leaves something out.
///
/// [`left_out`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeftOut {
    /// The path: of what goes the one that it had, and of all else the one that it has.
    pub path: Box<[u8]>,
    /// The parts that are left out.
    pub what: Lost,
}

/// A format that does not hold all that a tree has.
///
/// [`left_out`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// [`patch`](crate::patch).
    Patch,
    /// [`tar`](crate::tar).
    Tar,
    /// [`oci`](crate::oci).
    OciLayer,
}

/// Returns what a format leaves out of changes between two trees, sorted by the paths. It may name
/// more than is lost, as the owner of a new file, which is that of the process that applies the
/// changes; it never names less.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::Branches;
/// use pathwalk_changes::{Format, Lost, left_out};
///
/// # let context = |branch| Ok::<_, pathwalk::BuildError>(Vfs::builder().build(branch)?.context(Credentials::root()));
/// let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// base.write("/notes", "text")?;
/// let branches = Branches::new(base)?;
/// let new = context(branches.fork(None, "work")?)?;
/// new.mkdir("/empty", 0o755)?;
/// new.chmod("/notes", 0o600)?;
/// let old = context(branches.before("work")?)?;
/// let left = left_out(Format::Patch, &branches.diff("work")?, &old, &new)?;
/// let left: Vec<_> = left.iter().map(|left| (&*left.path, left.what)).collect();
/// assert_eq!(left, [(&b"/empty"[..], Lost::NAME), (b"/notes", Lost::MODE)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn left_out(format: Format, changes: &[Change], old: &Context, new: &Context) -> Result<Vec<LeftOut>, Error> {
    let (old, new) = (Tree::of(old)?, Tree::of(new)?);
    let plan = Plan::of(changes, &old, &new)?;
    let mut search = Search { plan: &plan, old: &old, new: &new, found: BTreeMap::new() };
    match format {
        Format::Patch => search.of_patch()?,
        Format::Tar => search.of_archive(Removals::Header)?,
        Format::OciLayer => search.of_archive(Removals::Whiteouts)?,
    }
    let found = search.found.into_iter().filter(|(_, what)| !what.is_empty());
    Ok(found.map(|(path, what)| LeftOut { path, what }).collect())
}

struct Search<'t> {
    plan: &'t Plan,
    old: &'t Tree,
    new: &'t Tree,
    found: BTreeMap<PathBytes, Lost>,
}

/// Returns whether git knows files of this type.
fn is_known(kind: FileType) -> bool {
    matches!(kind, FileType::Regular | FileType::Symlink)
}

/// Returns whether there is nothing in a directory that git knows.
fn is_hollow(tree: &Tree, path: &[u8]) -> Result<bool, Error> {
    let mut is_hollow = true;
    walk(tree, path, |_, kind, _| {
        is_hollow &= !is_known(kind);
        is_hollow
    })?;
    Ok(is_hollow)
}

impl Search<'_> {
    fn add(&mut self, path: &[u8], what: Lost) {
        *self.found.entry(path.into()).or_default() |= what;
    }

    fn of_patch(&mut self) -> Result<(), Error> {
        let plan = self.plan;
        for (path, kind) in &plan.removed {
            self.gone(path, *kind)?;
        }
        for path in plan.new.keys() {
            self.made(path)?;
        }
        for (path, to) in &plan.links {
            self.made(path)?;
            self.add(path, Lost::LINKS);
            self.add(to, Lost::LINKS);
            plan.others.iter().filter(|(_, first)| *first == to).for_each(|(other, _)| self.add(other, Lost::LINKS));
        }
        for (path, (from, kind)) in &plan.renamed {
            if !is_known(*kind) {
                self.gone(from, *kind)?;
                self.made(path)?;
            }
            if *kind == FileType::Directory {
                let mut below = Vec::new();
                walk(self.new, path, |path, kind, _| {
                    let is_of_its_own = plan.has_come(path);
                    if !is_of_its_own && !is_known(kind) {
                        below.push(PathBytes::from(path));
                    }
                    !is_of_its_own
                })?;
                below.iter().try_for_each(|path| self.made(path))?;
            }
        }
        for (path, changed) in &plan.changed {
            let lost = self.changed(path, changed)?;
            self.add(path, lost);
            plan.others.iter().filter(|(_, first)| *first == path).for_each(|(other, _)| self.add(other, lost));
        }
        self.emptied()
    }

    fn of_archive(&mut self, removals: Removals) -> Result<(), Error> {
        let entries = Entries::of(self.plan, self.new)?;
        for path in entries.nodes.keys() {
            let node = Node::read(self.new, path)?;
            let mut lost = Lost::empty();
            lost.set(Lost::NAME, node.kind == Kind::Socket);
            lost.set(Lost::FLAGS, node.flags != self.flags_that_stay(&entries, path, &node, removals)?);
            lost.set(Lost::HOLES, removals == Removals::Whiteouts && self.has_holes(path, &node)?);
            self.add(path, lost);
        }
        Ok(())
    }

    /// Returns the flags that a node has once an archive was applied: a directory keeps those of
    /// the one that was there, and all else gets none.
    fn flags_that_stay(&self, entries: &Entries, path: &[u8], node: &Node, removals: Removals) -> Result<u32, Error> {
        // A whiteout for the content of a directory leaves the directory.
        let from = if removals == Removals::Whiteouts { 1 } else { 0 };
        let is_gone = upwards(path).skip(from).any(|above| entries.removed.contains_key(above));
        let is_directory = |path| Ok::<_, Error>(self.old.look(path)?.is_some_and(|there| there.kind() == FileType::Directory));
        match node.kind == Kind::Directory && !is_gone && is_directory(path)? {
            true => Ok(Node::read(self.old, path)?.flags),
            false => Ok(0),
        }
    }

    /// Adds what stays, with the directories above it, where something went.
    fn gone(&mut self, path: &[u8], kind: FileType) -> Result<(), Error> {
        if kind != FileType::Directory {
            if !is_known(kind) {
                self.add(path, Lost::NAME);
            }
            return Ok(());
        }
        let mut staying = Vec::new();
        let plan = self.plan;
        walk(self.old, path, |path, kind, _| {
            let is_of_its_own = plan.is_gone(path);
            if !is_of_its_own && !is_known(kind) {
                staying.push((PathBytes::from(path), kind));
            }
            !is_of_its_own
        })?;
        staying.push((path.into(), kind));
        for (below, kind) in staying {
            if kind != FileType::Directory || is_hollow(self.old, &below)? {
                let is_gone = |above: &&[u8]| plan.new_path(above).as_deref() != Some(*above);
                upwards(&below).filter(is_gone).for_each(|above| self.add(above, Lost::NAME));
            }
        }
        Ok(())
    }

    /// Adds what a node does not get that is made.
    fn made(&mut self, path: &[u8]) -> Result<(), Error> {
        let node = Node::read(self.new, path)?;
        let is_lost = match node.kind {
            Kind::Directory => is_hollow(self.new, path)?,
            kind => !is_known(kind.file_type()),
        };
        let what = if is_lost { Lost::NAME } else { self.of_new(path, &node)? };
        self.add(path, what);
        Ok(())
    }

    fn of_new(&self, path: &[u8], node: &Node) -> Result<Lost, Error> {
        let mut lost = Lost::OWNER | Lost::TIMES;
        // An old directory that stays there, since git does not know of it, is taken as it is.
        if node.kind == Kind::Directory && self.old.look(path)?.is_some() {
            return Ok(lost | Lost::MODE | Lost::XATTRS | Lost::FLAGS);
        }
        let modes: &[u16] = match node.kind {
            Kind::File => &[0o644, 0o755],
            Kind::Directory => &[0o755],
            _ => return Ok(lost),
        };
        let (gives_list, gives_flags) = self.inherited(path)?;
        let has_lists = !node.acl.is_empty() || !node.default_acl.is_empty() || gives_list;
        lost.set(Lost::MODE, !modes.contains(&node.mode) || has_lists);
        lost.set(Lost::XATTRS, !node.xattrs.is_empty() || has_lists);
        lost.set(Lost::FLAGS, node.flags != 0 || gives_flags);
        lost.set(Lost::HOLES, self.has_holes(path, node)?);
        Ok(lost)
    }

    /// Returns whether a directory above a path gives new nodes a list, or flags.
    fn inherited(&self, path: &[u8]) -> Result<(bool, bool), Error> {
        let (mut gives_list, mut gives_flags) = (false, false);
        for dir in upwards(path).skip(1).chain([ROOT]) {
            for tree in [self.old, self.new] {
                if tree.look(dir)?.is_some_and(|node| node.kind() == FileType::Directory) {
                    let node = Node::read(tree, dir)?;
                    gives_list |= !node.default_acl.is_empty();
                    gives_flags |= node.flags != 0;
                }
            }
        }
        Ok((gives_list, gives_flags))
    }

    fn has_holes(&self, path: &[u8], node: &Node) -> Result<bool, Error> {
        if node.kind != Kind::File {
            return Ok(false);
        }
        let ranges = data::ranges(&self.new.open(path)?, path, node.size)?;
        Ok(ranges.iter().map(|range| range.end - range.start).sum::<u64>() < node.size)
    }

    /// Returns what a node does not get that is changed.
    fn changed(&self, path: &[u8], changed: &Changed) -> Result<Lost, Error> {
        let (before, now) = (Node::read(self.old, &changed.was)?, Node::read(self.new, path)?);
        let has_data = changed.what.contains(Aspects::DATA) && now.kind == Kind::File;
        let git_mode = |node: &Node| Mode::of(node.kind.file_type(), node.mode);
        let mode = match git_mode(&now) {
            Some(mode) if Some(mode) != git_mode(&before) => mode.applied(before.mode),
            _ => before.mode,
        };
        let mut lost = Lost::empty();
        lost.set(Lost::OWNER, (before.uid, before.gid) != (now.uid, now.gid));
        lost.set(Lost::MODE, mode != now.mode);
        lost.set(Lost::TIMES, has_data || (before.atime, before.mtime) != (now.atime, now.mtime));
        let extras = |node: &Node| (node.xattrs.clone(), node.acl.clone(), node.default_acl.clone());
        lost.set(Lost::XATTRS, extras(&before) != extras(&now));
        lost.set(Lost::FLAGS, before.flags != now.flags);
        lost.set(Lost::LINKS, has_data && has_several_names(&self.new.attributes(path)?));
        lost.set(Lost::HOLES, has_data && self.has_holes(path, &now)?);
        Ok(lost)
    }

    /// Adds directories that are left without a file, which git removes.
    fn emptied(&mut self) -> Result<(), Error> {
        let gone = self.plan.removed.keys().chain(self.plan.renamed.values().map(|(from, _)| from));
        let mut above: Vec<PathBytes> = gone.flat_map(|path| upwards(path).skip(1)).map(Box::from).collect();
        above.sort();
        above.dedup();
        for was in above {
            let Some(path) = self.plan.new_path(&was) else { continue };
            if is_hollow(self.new, &path)? {
                self.add(&path, Lost::NAME);
            }
        }
        Ok(())
    }
}
