//! The commit of some paths of a branch. The rest stays in it.

use std::collections::BTreeSet;

use pathwalk::{Errno, FileType};

use super::commit::recover;
use super::{Branch, Branches, Listed, Table, find};
use crate::branch::Inner;
use crate::commit::onto_base;
use crate::commit::resolution::Resolution;
use crate::commit::resolve::part::{Taken, take_back};
use crate::diff::{Change, Paths};
use crate::error::Error;
use crate::rows::{self, Extent, Row, What};
use crate::tree::Tree;

impl Branches {
    /// Commits what a branch changed at these paths and below them, as
    /// [`commit_with`](Self::commit_with) does all of it. The rest stays in the branch, which takes
    /// over what was committed; where that has conflicts, a [`rebase`](Self::rebase) is left to the
    /// caller. A `Vfs` that has the branch keeps what it was; [`get`](Self::get) returns the new
    /// one.
    ///
    /// Nothing is done where that would take apart what hangs together
    /// ([`Together`](Error::Together)): the two paths of a rename, all new names of a file, a new
    /// or removed directory and what is in it, a changed file of the base and a copy of what it was
    /// that is in the rest. A directory that was renamed and is not among the paths stays where it
    /// was, and what was changed in it is changed there.
    ///
    /// The commit, and the branch without what was committed, are durable together. Then the branch
    /// takes over what was committed; after a crash in between, a rebase does it.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, Error, Resolution};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/old", 0o644)?;
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::new(base.clone())?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/good", "text")?;
    /// work.write("/bad", "text")?;
    /// work.rename("/old", "/new")?;
    /// let answers = Resolution::default();
    /// branches.commit_paths("work", &[b"/good"], &answers)?;
    /// assert!(base.stat("/good").is_ok() && base.stat("/bad").is_err());
    /// assert_eq!(branches.diff("work")?.len(), 2);
    /// let refused = branches.commit_paths("work", &[b"/new"], &answers);
    /// assert!(matches!(refused, Err(Error::Together { .. })));
    /// branches.commit_paths("work", &[b"/new", b"/old"], &answers)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_paths(&self, name: &str, paths: &[impl AsRef<[u8]>], resolution: &Resolution) -> Result<(), Error> {
        let paths: Vec<&[u8]> = paths.iter().map(AsRef::as_ref).collect();
        let part = format!("{name}.part");
        super::check_name(&part)?;
        // What is left of one before is finished, or was not committed.
        self.recovered(recover(&self.shared.base)?)?;
        match self.drop(&part) {
            Ok(()) | Err(Error::NoBranch(_)) => {}
            Err(error) => return Err(error),
        }
        self.part(name, &part, &paths)?;
        if let Err(error) = self.commit_with(&part, resolution) {
            // What is left of it may be finished yet. What this fails with is less than what failed
            // before.
            if onto_base::is_under_way(self.shared.base.context()) == Ok(false) {
                let _ = self.drop(&part);
            }
            return Err(error);
        }
        match self.rebase(name, &Resolution::default()) {
            Err(Error::Conflicts { .. }) => Ok(()),
            rebased => rebased,
        }
    }

    /// Makes a branch of a part of another one.
    fn part(&self, name: &str, part: &str, paths: &[&[u8]]) -> Result<(), Error> {
        if let Some(stored) = self.in_store() {
            return stored.part(&self.shared, name, part, paths);
        }
        let mut table = self.table.lock();
        let of = find(&table, name)?;
        let (tree, rest) = parts(&of.branch.0, (of.parent.as_deref(), &of.forked), paths)?;
        let listed = Listed {
            branch: Branch(Inner::new(&self.shared, tree, None)),
            parent: of.parent.clone(),
            forked: of.forked.clone(),
            created: self.shared.now(),
            note: String::new(),
            undo: None,
            rest: Some((name.to_owned(), rest)),
        };
        table.insert(part.to_owned(), listed);
        Ok(())
    }

    /// Takes a part that is committed out of its branch.
    pub(super) fn take_from_branch(&self, table: &mut Table, part: Option<Listed>) {
        let Some((name, tree)) = part.and_then(|part| part.rest) else { return };
        if let Some(listed) = table.get_mut(&name) {
            listed.branch = Branch(Inner::new(&self.shared, tree, None));
        }
    }
}

/// Returns what a branch changed at these paths, and what it changed elsewhere, both since this
/// state of its parent, or of the base.
pub(crate) fn parts(
    branch: &Inner,
    (parent, forked): (Option<&str>, &Tree<Row>),
    paths: &[&[u8]],
) -> Result<(Tree<Row>, Tree<Row>), Error> {
    let ours = branch.without_orphans(branch.snapshot(), &BTreeSet::new());
    let changes = crate::diff::changes(&branch.shared, forked, &ours);
    for path in paths {
        if !changes.iter().any(|change| change.paths().any(|of| is_within(of, path))) {
            return Err(Error::Unchanged((*path).into()));
        }
    }
    let is_chosen = |of: &[u8]| paths.iter().any(|path| is_within(of, path));
    // What was moved into a new directory is there with that alone.
    let is_new = |change: &&Change| matches!(change, Change::Added { kind: FileType::Directory, .. });
    let new: BTreeSet<&[u8]> = changes.iter().filter(is_new).map(Change::path).collect();
    for path in changes.iter().flat_map(Change::paths).filter(|path| is_chosen(path)) {
        let above = (1..path.len()).filter(|end| path[*end] == b'/').map(|end| &path[..end]);
        if let Some(dir) = above.into_iter().find(|dir| new.contains(dir) && !is_chosen(dir)) {
            return Err(Error::Together { path: path.into(), with: dir.into() });
        }
    }
    let onto = Inner::new(&branch.shared, forked.clone(), None);
    let without = |is_taken: &dyn Fn(&[u8]) -> bool| {
        let (path, with) = match take_back(&onto, (forked, &ours), is_taken).map_err(Error::base("look at the base"))? {
            Taken::Done(tree) => return Ok(tree),
            Taken::Together([path, with]) => (path, with),
            // A removed directory had another name of a file that was changed, say.
            Taken::Conflicts(conflicts) => {
                let with = conflicts.into_iter().next().map_or_else(|| b"/"[..].into(), |conflict| conflict.path);
                (paths.first().copied().unwrap_or(b"/").into(), with)
            }
        };
        Err(Error::Together { path, with })
    };
    let (part, rest) = (without(&|of| !is_chosen(of))?, without(&is_chosen)?);
    if parent.is_none()
        && let Some((changed, shown)) = shown_of_changed(branch, &part, &rest).map_err(Error::base("look at the base"))?
    {
        let path_of = |number| Paths::new(&branch.shared, &ours).of(number);
        // A file that was removed has none.
        let path = path_of(changed).unwrap_or_else(|| paths.first().copied().unwrap_or(b"/").into());
        return Err(Error::Together { path, with: path_of(shown).unwrap_or_default() });
    }
    Ok((part, rest))
}

/// Returns a file of the base that a part changes, and another file, in the rest, that shows data
/// of it: a copy, say. That data is gone once the part is committed onto the base.
fn shown_of_changed(branch: &Inner, part: &Tree<Row>, rest: &Tree<Row>) -> Result<Option<(u64, u64)>, Errno> {
    let mut touched = BTreeSet::new();
    for (key, row) in part.range(b"") {
        match row {
            Row::Entry(entry) => {
                touched.extend(entry.target.into_iter().chain(entry.hides.map(|hidden| hidden.target)).map(|to| to.number));
            }
            Row::Record(_) => touched.extend(rows::parts(key).map(|(number, ..)| number)),
            _ => {}
        }
    }
    for (key, row) in rest.range(b"") {
        let (Some((number, ..)), Row::Extent(Extent { what: What::Base(origin, _), .. })) = (rows::parts(key), row) else {
            continue;
        };
        let node = match origin.handle(&branch.shared.base) {
            // What the base has no longer shows nothing, whatever is committed.
            Err(Errno::ESTALE) => continue,
            found => found?,
        };
        let of = branch.number(rest, &node)?;
        if of != number && touched.contains(&of) {
            return Ok(Some((of, number)));
        }
    }
    Ok(None)
}

/// Returns whether a path is another one, or below it.
fn is_within(of: &[u8], path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    of.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
