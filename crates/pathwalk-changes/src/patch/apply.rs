//! A patch, applied.
//!
//! What always holds: all new content is made, and compared with what the patch says of it, in a
//! directory that is set aside, before the first name changes. So a hunk that does not fit leaves
//! the tree as it was.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::{AtFlags, Context, Errno, FileType};
use pathwalk_branch::Aspects;

use super::Mode;
use super::content::Old;
use super::parse::{Content, FilePatch, parse};
use crate::apply::Stage;
use crate::bytes::Bytes;
use crate::data::Writer;
use crate::error::{Error, Position};
use crate::node::{Kind, Node};
use crate::path::{PathBytes, ROOT, upwards};
use crate::plan::walk;
use crate::tree::Tree;

/// Applies a patch in git's format to the tree below the root of a context, as `git apply` does: a
/// hunk may lie elsewhere than it says, directories are made where they are missing, and those that
/// become empty are removed. No link is followed, and nothing outside is touched.
///
/// A file whose content changes is a new node with the owner, mode, lists, flags and extended
/// attributes of the old one; of several names of a file, the others keep the old content.
///
/// The patch is checked as a whole, and all new content is made, before the first name changes.
///
/// [`patch`](crate::patch) has an example.
pub fn apply(patch: &[u8], onto: &Context) -> Result<(), Error> {
    let tree = Tree::of(onto)?;
    let files = parse(patch)?;
    check(&files, &tree)?;
    if files.is_empty() {
        return Ok(());
    }
    let mut staged = Staged { tree: &tree, stage: Stage::new(&tree)?, places: BTreeMap::new() };
    for (at, file) in files.iter().enumerate() {
        if let Err(error) = staged.make(at, file) {
            // The tree is as it was, but for this directory.
            tree.remove(&staged.stage.path)?;
            return Err(error);
        }
    }
    staged.change(&files)
}

/// Checks that a tree has the files of a patch, and the places for new ones.
fn check(files: &[FilePatch<'_>], tree: &Tree) -> Result<(), Error> {
    let (mut come, mut went, mut going) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for file in files {
        let twice = || Error::malformed(Position::Line(file.line), "a file is changed twice; apply the parts one after another");
        if let Some(old) = file.old.as_ref().filter(|_| !file.is_copy) {
            if !went.insert(old) {
                return Err(twice());
            }
            if file.new.as_ref() != Some(old) {
                going.insert(old);
            }
        }
        if !file.new.iter().all(|new| come.insert(new)) {
            return Err(twice());
        }
    }
    for file in files {
        if let Some(old) = &file.old {
            let node = tree.look(old)?.ok_or_else(|| Error::differs(old, "is not there, or a link leads to it"))?;
            let is_wanted = match file.old_mode {
                Some(mode) => node.kind() == mode.kind(),
                None => matches!(node.kind(), FileType::Regular | FileType::Symlink),
            };
            if !is_wanted {
                return Err(Error::differs(old, "is of another type"));
            }
        }
        if let Some(new) = &file.new {
            check_place(new, file, tree, &going, &come)?;
        }
    }
    Ok(())
}

/// Checks that a file can be made at a path.
fn check_place(
    new: &PathBytes,
    file: &FilePatch<'_>,
    tree: &Tree,
    going: &BTreeSet<&PathBytes>,
    come: &BTreeSet<&PathBytes>,
) -> Result<(), Error> {
    for above in upwards(new).skip(1).map(PathBytes::from) {
        if come.contains(&above) {
            return Err(Error::differs(&above, "is a file of the patch, and a directory of another one"));
        }
        match tree.look(&above)? {
            Some(node) if node.kind() != FileType::Directory && !going.contains(&above) => {
                return Err(Error::differs(&above, "is no directory"));
            }
            _ => {}
        }
    }
    let is_at_home = file.old.as_ref() == Some(new) && !file.is_copy;
    match tree.look(new)? {
        Some(node) if node.kind() == FileType::Directory => {
            let mut is_in_the_way = false;
            walk(tree, new, |path, kind, _| {
                is_in_the_way |= kind != FileType::Directory && !going.contains(&PathBytes::from(path));
                !is_in_the_way
            })?;
            if is_in_the_way { Err(Error::differs(new, "is a directory with files in it")) } else { Ok(()) }
        }
        Some(_) if !is_at_home && !going.contains(new) => Err(Error::differs(new, "is there already")),
        _ => Ok(()),
    }
}

/// The new content of files, on its way to them.
struct Staged<'t> {
    tree: &'t Tree,
    stage: Stage<'t>,
    /// Where the new content of a file is, by the number of the file. A file that is only renamed
    /// comes here later.
    places: BTreeMap<usize, PathBytes>,
}

impl Staged<'_> {
    /// Makes the new content of a file.
    fn make(&mut self, at: usize, file: &FilePatch<'_>) -> Result<(), Error> {
        let Some(new) = &file.new else { return self.check_removed(file) };
        let is_same = matches!(file.content, Content::Same) && !file.is_copy;
        if is_same && file.old.is_some() {
            return Ok(());
        }
        let place = self.stage.path_of(at);
        let before = file.old.as_ref().map(|old| Node::read(self.tree, old)).transpose()?;
        let mode = file.new_mode.or(file.old_mode);
        let kind = mode.map(Mode::kind).or(before.as_ref().map(|node| node.kind.file_type()));
        let mut node = before.unwrap_or_default();
        node.kind = kind.unwrap_or(FileType::Regular).into();
        if node.kind == Kind::Link {
            let mut body = Vec::new();
            Old(self.tree).content(file, new, &mut |part| {
                body.extend_from_slice(part);
                Ok(())
            })?;
            node.body = Some(Bytes(body));
            if let Some(fault) = node.fault() {
                return Err(Error::malformed(Position::Line(file.line), fault));
            }
            node.make(self.tree, &place)?;
        } else {
            node.make(self.tree, &place)?;
            let (writer, mut end) = (Writer::begin(self.tree, &place, 0)?, 0);
            Old(self.tree).content(file, new, &mut |part| {
                writer.write(end, part)?;
                end += part.len() as u64;
                Ok(())
            })?;
        }
        self.attributes(file, &node, &place)?;
        self.places.insert(at, place);
        Ok(())
    }

    /// Gives new content what the old file had, or what a new file has.
    fn attributes(&self, file: &FilePatch<'_>, node: &Node, place: &[u8]) -> Result<(), Error> {
        let mode = file.new_mode.or(file.old_mode);
        let mut now = Node::read(self.tree, place)?;
        if file.old.is_some() {
            (now.uid, now.gid, now.mode) = (node.uid, node.gid, mode.map_or(node.mode, |mode| mode.applied(node.mode)));
            (now.xattrs, now.acl, now.default_acl) = (node.xattrs.clone(), node.acl.clone(), Vec::new());
            (now.atime, now.flags) = (None, node.flags);
            return now.set(self.tree, place, Aspects::ATTRIBUTES | Aspects::XATTRS);
        }
        match mode {
            Some(Mode::Link) | None => Ok(()),
            Some(mode) => self.chmod(place, if mode == Mode::Executable { 0o777 } else { 0o666 } & !self.tree.umask),
        }
    }

    fn chmod(&self, path: &[u8], mode: u16) -> Result<(), Error> {
        let set = |node: pathwalk::Handle| self.tree.context.fchmodat(&node, "", mode, AtFlags::EMPTY_PATH);
        self.tree.find(path).and_then(set).map_err(Error::tree("set the mode of", path))
    }

    /// Checks that nothing is left of a file that is removed.
    fn check_removed(&self, file: &FilePatch<'_>) -> Result<(), Error> {
        let Some(old) = &file.old else { return Ok(()) };
        let mut left = 0;
        Old(self.tree).content(file, old, &mut |part| {
            left += part.len();
            Ok(())
        })?;
        let is_whole = left == 0 || matches!(file.content, Content::Same);
        if is_whole { Ok(()) } else { Err(Error::differs(old, "has more in it than the patch removes")) }
    }

    /// Changes the names: what goes first, and then what comes.
    fn change(mut self, files: &[FilePatch<'_>]) -> Result<(), Error> {
        let mut going: Vec<_> = files.iter().enumerate().filter(|(_, file)| file.old.is_some() && !file.is_copy).collect();
        going.retain(|(_, file)| file.old != file.new);
        going.sort_by(|one, other| other.1.old.cmp(&one.1.old));
        for (at, file) in &going {
            let old = file.old.as_ref().expect("it has a name");
            let done = self.go(*at, file, old);
            self.at(file, done)?;
        }
        let mut coming: Vec<_> = files.iter().enumerate().filter(|(_, file)| file.new.is_some()).collect();
        coming.sort_by(|one, other| one.1.new.cmp(&other.1.new));
        for (at, file) in coming {
            let new = file.new.as_ref().expect("it has a name");
            let done = self.come(at, file, new);
            self.at(file, done)?;
        }
        // Not before: a directory into which another file comes stays what it is.
        for (_, file) in going {
            let done = file.old.as_ref().map_or(Ok(()), |old| self.remove_emptied(old));
            self.at(file, done)?;
        }
        self.stage.end()
    }

    fn go(&mut self, at: usize, file: &FilePatch<'_>, old: &PathBytes) -> Result<(), Error> {
        if file.new.is_some() && !self.places.contains_key(&at) {
            let place = self.stage.path_of(at);
            self.tree.rename(old, &place)?;
            self.places.insert(at, place);
        } else {
            self.tree.remove(old)?;
        }
        Ok(())
    }

    /// Removes the directories above a path that became empty, as git does.
    fn remove_emptied(&self, path: &[u8]) -> Result<(), Error> {
        for dir in upwards(path).skip(1) {
            match self.tree.remove_directory(dir) {
                // One that went with those above it, or in whose place a file came.
                Ok(()) | Err(Errno::ENOENT | Errno::ENOTDIR) => {}
                Err(Errno::ENOTEMPTY | Errno::EEXIST | Errno::EBUSY) => break,
                Err(errno) => return Err(Error::tree("remove", dir)(errno)),
            }
        }
        Ok(())
    }

    fn come(&mut self, at: usize, file: &FilePatch<'_>, new: &PathBytes) -> Result<(), Error> {
        if let Some(place) = self.places.get(&at) {
            self.tree.make_directories(0o777 & !self.tree.umask, new)?;
            match self.tree.look(new)? {
                // One with nothing but directories in it, of which git does not know.
                Some(node) if node.kind() == FileType::Directory => {
                    self.tree.remove(new)?;
                    self.tree.rename(place, new)?;
                }
                Some(_) => self.tree.replace(place, new)?,
                None => self.tree.rename(place, new)?,
            }
            self.places.remove(&at);
        }
        if let (Some(mode), true) = (file.new_mode, file.old.is_some() && matches!(file.content, Content::Same)) {
            let before = self.tree.attributes(new)?;
            if before.kind == FileType::Regular && mode.applied(before.mode) != before.mode {
                self.chmod(new, mode.applied(before.mode))?;
            }
        }
        Ok(())
    }

    /// Returns the result of a change, with the file that it was about if it failed.
    fn at<T>(&self, file: &FilePatch<'_>, done: Result<T, Error>) -> Result<T, Error> {
        let path = file.new.as_ref().or(file.old.as_ref()).map_or(ROOT, |path| path);
        done.map_err(|source| Error::Stopped {
            change: format!("the patch of \"{}\" in line {}", path.escape_ascii(), file.line),
            source: Box::new(source),
            kept: Some(self.stage.path.clone()),
        })
    }
}
