//! Names that go, come and move, in a tree to which changes are applied.
//!
//! What always holds:
//!
//! - What goes, goes first, and what moves is set aside before: the deepest first, so the paths of
//!   the old tree lead to it. So names may be exchanged, and a directory may move into one that was
//!   below it.
//! - What comes, comes in the order of its paths: a directory before what is in it.
//! - What is set aside is in a directory of the root that only its owner may search. It is never
//!   removed with something in it.

use pathwalk::{Errno, FileType};

use crate::error::Error;
use crate::path::{PathBytes, ROOT, join, parent};
use crate::plan::Plan;
use crate::tree::Tree;

/// How the names of directories begin that hold what is set aside.
const STAGE: &str = ".pathwalk-changes-";

/// The most names that are tried for one.
const ATTEMPTS: u32 = 1 << 16;

/// A directory of the root for what is on its way.
pub(crate) struct Stage<'t> {
    tree: &'t Tree,
    pub(crate) path: PathBytes,
}

impl<'t> Stage<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Result<Stage<'t>, Error> {
        let root = tree.node(ROOT)?;
        for number in 0..ATTEMPTS {
            let name = format!("{STAGE}{number}");
            match tree.context.mkdirat(&root, &name, 0o700) {
                Ok(()) => return Ok(Stage { tree, path: join(ROOT, name.as_bytes()) }),
                Err(Errno::EEXIST) => {}
                Err(errno) => return Err(Error::tree("make", &join(ROOT, name.as_bytes()))(errno)),
            }
        }
        Err(Error::tree("make", &join(ROOT, STAGE.as_bytes()))(Errno::EEXIST))
    }

    /// Returns a path in it.
    pub(crate) fn path_of(&self, number: usize) -> PathBytes {
        join(&self.path, number.to_string().as_bytes())
    }

    /// Removes the directory, which is empty.
    pub(crate) fn end(self) -> Result<(), Error> {
        self.tree.remove_directory(&self.path).map_err(Error::tree("remove", &self.path))
    }
}

/// The names of a tree, on their way from the old ones to the new ones.
pub(crate) struct Names<'t> {
    tree: &'t Tree,
    stage: Option<Stage<'t>>,
    /// What is set aside: where, and its new path, the last one first.
    waiting: Vec<(PathBytes, PathBytes)>,
}

impl<'t> Names<'t> {
    /// Removes what goes, and sets aside what moves.
    pub(crate) fn begin(tree: &'t Tree, plan: &Plan) -> Result<Names<'t>, Error> {
        let mut names = Names { tree, stage: None, waiting: Vec::new() };
        let moves = plan.renamed.iter().map(|(to, (from, _))| (from, Some(to)));
        let mut going: Vec<_> = plan.removed.keys().map(|path| (path, None)).chain(moves).collect();
        // What is below a directory sorts behind it.
        going.sort();
        for (from, to) in going.into_iter().rev() {
            let done = names.take_out(from, to);
            let change = if to.is_some() { "the rename of" } else { "the removal of" };
            names.at(change, from, done)?;
        }
        names.waiting.sort_by(|one, other| other.1.cmp(&one.1));
        Ok(names)
    }

    fn take_out(&mut self, from: &[u8], to: Option<&PathBytes>) -> Result<(), Error> {
        let Some(to) = to else { return self.tree.remove(from) };
        if self.stage.is_none() {
            self.stage = Some(Stage::new(self.tree)?);
        }
        let aside = self.stage.as_ref().expect("it was made").path_of(self.waiting.len());
        self.tree.rename(from, &aside)?;
        self.waiting.push((aside, to.clone()));
        Ok(())
    }

    /// Gives what moves its new names, as far as these come before a path.
    pub(crate) fn come_before(&mut self, path: &[u8]) -> Result<(), Error> {
        while let Some((aside, to)) = self.waiting.pop_if(|(_, to)| **to < *path) {
            let done = self.tree.rename(&aside, &to);
            if done.is_err() {
                self.waiting.push((aside, to.clone()));
            }
            self.at("the rename to", &to, done)?;
        }
        Ok(())
    }

    /// Gives all that moves its new name.
    pub(crate) fn come_all(&mut self) -> Result<(), Error> {
        // No path sorts behind this one: each begins with a slash.
        self.come_before(b"0")?;
        let ended = self.stage.take().map_or(Ok(()), Stage::end);
        self.at("the end of the renames in", ROOT, ended)
    }

    /// Returns the result of a change, with what it was if it failed.
    pub(crate) fn at<T>(&self, change: &str, path: &[u8], done: Result<T, Error>) -> Result<T, Error> {
        let kept = self.stage.as_ref().filter(|_| !self.waiting.is_empty()).map(|stage| stage.path.clone());
        done.map_err(|source| Error::Stopped {
            change: format!("{change} \"{}\"", path.escape_ascii()),
            source: Box::new(source),
            kept,
        })
    }
}

/// Checks that a tree has what changes are about, before the first of them is made.
pub(crate) fn check(plan: &Plan, tree: &Tree) -> Result<(), Error> {
    let there = plan.removed.iter().chain(plan.renamed.values().map(|(from, kind)| (from, kind)));
    for (path, kind) in there.chain(plan.changed.values().map(|changed| (&changed.was, &changed.kind))) {
        check_kind(tree, path, *kind)?;
    }
    for path in plan.new.keys().chain(plan.renamed.keys()).chain(plan.links.keys()) {
        let Some(dir) = parent(path) else { return Err(Error::differs(path, "is there already")) };
        match plan.new.get(dir) {
            Some(FileType::Directory) => continue,
            Some(_) => return Err(Error::differs(dir, "is no directory")),
            None => {}
        }
        let Some(was) = plan.old_path(dir) else { return Err(Error::differs(dir, "is not there")) };
        check_kind(tree, &was, FileType::Directory)?;
        if let Some(was) = plan.old_place(path)
            && !plan.is_gone(&was)
            && tree.look(&was)?.is_some()
        {
            return Err(Error::differs(path, "is there already"));
        }
    }
    for to in plan.links.values().filter(|to| !plan.new.contains_key(*to)) {
        let was = plan.old_path(to).ok_or_else(|| Error::differs(to, "is not there"))?;
        match tree.look(&was)? {
            Some(node) if node.kind() != FileType::Directory => {}
            _ => return Err(Error::differs(to, "is not there, and gets a further name")),
        }
    }
    Ok(())
}

/// Checks that there is a node of a type.
fn check_kind(tree: &Tree, path: &[u8], kind: FileType) -> Result<(), Error> {
    match tree.look(path)? {
        Some(node) if node.kind() == kind => Ok(()),
        Some(_) => Err(Error::differs(path, "is of another type")),
        None => Err(Error::differs(path, "is not there, or a link leads to it")),
    }
}
