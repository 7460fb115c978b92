//! The look at a layer: from its names and notes to a [`Plan`].
//!
//! What always holds: nothing is changed. The branch still shows the base, so a path leads to the
//! same node in both.

use std::collections::{HashMap, HashSet};

use pathwalk::{Errno, FileHandle, FileType, Handle, HandleFlags};

use crate::error::Error;
use crate::form::{self, Copied, Covers, Extras, Notes};
use crate::plan::{Comes, Directory, Entry, Move, Node, Original, Pair, Plan, Stays, View, What};
use crate::tree::{body, child, find, join, split};
use crate::upper::{self, Dir, Named};

/// A directory of the base that one of the layer covers, with its path there.
#[derive(Clone)]
struct Lower {
    pair: Pair,
    path: Vec<u8>,
}

/// A node of the base by the name that one of the layer has, in a directory that both have.
struct There<'d> {
    dir: &'d Lower,
    base: Handle,
    path: Vec<u8>,
}

/// A directory of the layer that is looked at.
struct Open {
    number: usize,
    lower: Option<Lower>,
    path: Vec<u8>,
    /// The names that are left, the last one first.
    left: Vec<Named>,
}

/// What a name of the layer leads to.
enum Seen {
    Else(What),
    Directory(Open, Dir),
}

pub(crate) struct Look<'v> {
    pub(crate) view: &'v View,
    pub(crate) plan: Plan,
    /// What is hidden of the base, by its paths there.
    pub(crate) hidden: Vec<Vec<u8>>,
    /// The numbers of the directories of the base that are moved.
    pub(crate) moved: HashSet<u64>,
    /// Nodes of the base that have to be found, with the numbers of their copies.
    pub(crate) wanted: HashMap<FileHandle, u64>,
}

impl Plan {
    /// Looks at a layer.
    pub(crate) fn of(view: &View) -> Result<Plan, Error> {
        let mut look = Look { view, plan: Plan::default(), hidden: Vec::new(), moved: HashSet::new(), wanted: HashMap::new() };
        let pair = Pair { base: view.base.root().clone(), branch: view.branch.root().clone() };
        let root = Lower { pair, path: b"/".to_vec() };
        look.check(&root.pair.base, b"/")?;
        look.tree(root)?;
        look.indexed()?;
        look.find_hidden()?;
        look.plan.changed.sort();
        look.plan.changed.dedup();
        Ok(look.plan)
    }
}

impl Look<'_> {
    /// Looks at all directories of the layer.
    fn tree(&mut self, root: Lower) -> Result<(), Error> {
        let failed = || Error::tree("list", b"/");
        let mut upper = Dir::open(&self.view.upper).map_err(failed())?;
        let extras = upper.as_node().and_then(|node| Notes::read(self.view.form, &node)).map_err(failed())?.extras;
        let mut open = vec![self.open(Comes::Stays, extras, &upper, Some(root), b"/".to_vec())?];
        while let Some(dir) = open.last_mut() {
            let Some(Named { name, kind }) = dir.left.pop() else {
                open.pop();
                if !open.is_empty() {
                    upper = upper.above().map_err(failed())?;
                }
                continue;
            };
            let (number, path) = (dir.number, join(&dir.path, &name));
            let what = match self.entry(&upper, dir, (&name, kind), &path)? {
                Seen::Else(what) => what,
                Seen::Directory(below, at) => {
                    let number = below.number;
                    upper = at;
                    open.push(below);
                    What::Directory(number)
                }
            };
            self.plan.directories[number].entries.push(Entry { name, what });
        }
        Ok(())
    }

    fn open(&mut self, comes: Comes, extras: Extras, upper: &Dir, lower: Option<Lower>, path: Vec<u8>) -> Result<Open, Error> {
        let number = self.plan.directories.len();
        self.plan.directories.push(Directory { comes, extras, entries: Vec::new() });
        let mut left = upper.names().map_err(Error::tree("list", &path))?;
        left.reverse();
        Ok(Open { number, lower, path, left })
    }

    /// Notes that a node of the base changed, if it did.
    pub(crate) fn check(&mut self, node: &Handle, path: &[u8]) -> Result<(), Error> {
        let of = node.attributes().map_err(Error::tree("look at", path))?;
        if of.ctime >= self.view.start {
            self.plan.changed.push(path.into());
        }
        Ok(())
    }

    /// Looks at a name in a directory of the layer.
    fn entry(&mut self, upper: &Dir, dir: &Open, (name, kind): (&[u8], FileType), path: &[u8]) -> Result<Seen, Error> {
        let failed = || Error::tree("look at", path);
        let node = upper.node(name, kind).map_err(failed())?;
        let notes = Notes::read(self.view.form, &node).map_err(failed())?;
        if notes.is_whiteout {
            if let Some(lower) = &dir.lower {
                // Not by the branch, which removes at once what it does not hold.
                let (base, path) = (child(&self.view.base, &lower.pair.base, name).map_err(failed())?, join(&lower.path, name));
                match base {
                    Some(base) => {
                        self.check(&base, &path)?;
                        self.hidden.push(path);
                    }
                    // It was there when the name was removed.
                    None => self.plan.changed.push(path.into()),
                }
            }
            return Ok(Seen::Else(What::Removed));
        }
        let there = match &dir.lower {
            Some(lower) => self.there(lower, name).map_err(failed())?,
            None => None,
        };
        if let Some(there) = &there {
            self.check(&there.base, &there.path)?;
        }
        if kind == FileType::Directory {
            return self.below_directory(dir, node, notes, there, path);
        }
        if notes.is_metacopy {
            return Err(Error::Metacopy(path.into()));
        }
        self.node(&node, &notes, there, path).map(Seen::Else)
    }

    /// Returns the node of a name in a directory of the base. It is not asked of the branch, which
    /// removes at once what it does not hold.
    fn there<'d>(&self, dir: &'d Lower, name: &[u8]) -> Result<Option<There<'d>>, Errno> {
        let base = child(&self.view.base, &dir.pair.base, name)?;
        Ok(base.map(|base| There { dir, base, path: join(&dir.path, name) }))
    }

    /// Returns the same node with that of the branch.
    fn in_both(&self, There { dir, base, path }: There<'_>) -> Result<Option<Lower>, Errno> {
        let branch = child(&self.view.branch, &dir.pair.branch, split(&path).1)?;
        Ok(branch.map(|branch| Lower { pair: Pair { base, branch }, path }))
    }

    fn below(&self, dir: &Lower, name: &[u8]) -> Result<Option<Lower>, Errno> {
        self.there(dir, name)?.map_or(Ok(None), |there| self.in_both(there))
    }

    fn below_directory(
        &mut self,
        dir: &Open,
        node: upper::Node,
        notes: Notes,
        there: Option<There<'_>>,
        path: &[u8],
    ) -> Result<Seen, Error> {
        let failed = || Error::tree("look at", path);
        let (was, is_directory) =
            (there.as_ref().map(|there| there.path.clone()), |base: &Handle| base.kind() == FileType::Directory);
        let (lower, comes) = match notes.covers {
            Covers::Nothing => (None, Comes::New),
            Covers::Same => {
                let there = there.filter(|there| is_directory(&there.base));
                match there.map_or(Ok(None), |there| self.in_both(there)).map_err(failed())? {
                    Some(lower) => (Some(lower), Comes::Stays),
                    None => (None, Comes::New),
                }
            }
            Covers::Redirected(to) => {
                match self.redirected(dir, &to, path)?.filter(|(_, lower)| is_directory(&lower.pair.base)) {
                    Some((above, lower)) => {
                        self.check(&lower.pair.base, &lower.path)?;
                        let of = lower.pair.base.attributes().map_err(Error::tree("look at", &lower.path))?;
                        self.moved.insert(of.ino);
                        let name = split(&lower.path).1.into();
                        self.plan.moves.push(Move { dir: above, name, path: lower.path.clone().into() });
                        (Some(lower), Comes::Moved(self.plan.moves.len() - 1))
                    }
                    None => (None, Comes::New),
                }
            }
        };
        if comes != Comes::Stays {
            self.hidden.extend(was);
        }
        let upper = node.into_dir().map_err(Error::tree("list", path))?;
        Ok(Seen::Directory(self.open(comes, notes.extras, &upper, lower, path.to_vec())?, upper))
    }

    /// Returns the directory to which a redirect leads, and in the branch the one above it.
    fn redirected(&mut self, dir: &Open, to: &[u8], path: &[u8]) -> Result<Option<(Handle, Lower)>, Error> {
        let View { base, branch, .. } = self.view;
        let found = || {
            if !to.starts_with(b"/") {
                let Some(above) = &dir.lower else { return Ok(None) };
                return Ok(self.below(above, to)?.map(|found| (above.pair.branch.clone(), found)));
            }
            let (above, name) = split(to);
            let Some((base, branch)) = find(base, above)?.zip(find(branch, above)?) else { return Ok(None) };
            let above = Lower { pair: Pair { base, branch: branch.clone() }, path: above.to_vec() };
            Ok(self.below(&above, name)?.map(|found| (branch, found)))
        };
        let found = found().map_err(Error::tree("find what is renamed to", path))?;
        if found.is_none() {
            // It was there when it was renamed.
            let place = dir.lower.as_ref().map_or_else(Vec::new, |lower| join(&lower.path, to));
            self.plan.changed.push(if to.starts_with(b"/") { to.into() } else { place.into() });
        }
        Ok(found)
    }

    /// Looks at a node that is no directory.
    fn node(&mut self, node: &upper::Node, notes: &Notes, there: Option<There<'_>>, path: &[u8]) -> Result<What, Error> {
        let of = node.attributes();
        let number = of.ino;
        let failed = || Error::tree("compare", path);
        let stays = match &there {
            Some(there) => self.is_copy(node, notes, there).map_err(failed())?,
            None => false,
        };
        match (stays, there) {
            (true, Some(there)) if of.nlink > 1 => {
                let lower = self.in_both(there).map_err(failed())?;
                let original = lower.map(|lower| Original { node: lower.pair.branch, stays: Stays::Yes });
                self.plan.originals.extend(original.map(|original| (number, original)));
            }
            (true, _) => {}
            (false, there) => {
                self.hidden.extend(there.map(|there| there.path));
                if let Copied::From(origin) = &notes.copied {
                    self.wanted.insert(origin.clone(), number);
                }
            }
        }
        let stays = if stays { Stays::Yes } else { Stays::No };
        Ok(What::Node(Node { number, kind: of.kind, extras: notes.extras, stays }))
    }

    /// Returns whether a node of the layer is a copy of one of the base, which has the same name.
    fn is_copy(&self, node: &upper::Node, notes: &Notes, there: &There<'_>) -> Result<bool, Errno> {
        let (base, of) = (&self.view.base, node.attributes());
        let was = there.base.attributes()?;
        if was.kind != of.kind {
            return Ok(false);
        }
        match &notes.copied {
            Copied::No => Ok(false),
            Copied::From(origin) => Ok(self.handle(&there.base)?.as_ref() == Some(origin)),
            // The names of a node that has several part with its copy.
            Copied::Of if was.nlink > 1 => Ok(false),
            Copied::Of if of.kind == FileType::Symlink => Ok(node.body()? == body(base, &there.base)?),
            Copied::Of => Ok(was.device_node == of.device_node),
        }
    }

    /// Returns the handle of a node of the base, as overlayfs notes it.
    pub(crate) fn handle(&self, node: &Handle) -> Result<Option<FileHandle>, Errno> {
        match self.view.base.name_to_handle_at(node, "", HandleFlags::EMPTY_PATH) {
            Ok((handle, _)) => Ok(Some(handle)),
            Err(Errno::EOPNOTSUPP | Errno::EOVERFLOW) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Looks at the index: nodes that are seen only by names that the layer does not have.
    fn indexed(&mut self) -> Result<(), Error> {
        let Some(index) = &self.view.index else { return Ok(()) };
        let failed = |name: &[u8]| Error::tree("look at", name);
        let index = Dir::open(index).map_err(Error::tree("list", b"/work/index"))?;
        let names = index.names().map_err(Error::tree("list", b"/work/index"))?;
        let seen: HashSet<u64> = self.plan.directories.iter().flat_map(|dir| &dir.entries).filter_map(Entry::number).collect();
        for Named { name, kind } in names {
            let Some(origin) = form::origin_of_index(&name) else { continue };
            if matches!(kind, FileType::Directory | FileType::CharDevice) {
                // The copy of a directory, or a whiteout.
                continue;
            }
            let node = index.node(&name, kind).map_err(failed(&name))?;
            let (number, stays) = (node.attributes().ino, Stays::Yes);
            if !seen.contains(&number) {
                self.wanted.insert(origin, number);
                self.plan.indexed.push((name, Node { number, kind, extras: Extras::Some, stays }));
            }
        }
        Ok(())
    }
}

impl Entry {
    fn number(&self) -> Option<u64> {
        match self.what {
            What::Node(node) => Some(node.number),
            _ => None,
        }
    }
}
