//! Commit and rebase of branches.

use pathwalk::Errno;

use super::{Branch, Branches, Listed, Table, Undo, check_name, check_no_forks, find};
use crate::base::Base;
use crate::branch::Inner;
use crate::commit::onto_base::{self, Done, Outcome};
use crate::commit::resolution::Resolution;
use crate::commit::{self, Conflict, Onto, undo};
use crate::error::Error;
use crate::rows::Row;
use crate::tree::Tree;

impl Branches {
    /// Applies what a branch changed to its parent, or to the base, and drops it from the list. If
    /// the other has changed the same things meanwhile, nothing is done, and the error has all
    /// conflicts. What another thread changes in the branch after the commit has begun is lost.
    ///
    /// # Onto another branch
    ///
    /// All observers of the parent see all of it or nothing: an operation that begins after another
    /// one has seen something of the commit sees all of it. Files that are open on the parent and
    /// were removed stay usable. Cost: what was changed in both since the fork.
    ///
    /// # Onto the base
    ///
    /// The base changes in steps, which other programs see. A crash leaves none of it: what is new
    /// is staged in `.pathwalk-commit`, a directory in the root of the base, and a journal there
    /// says what is to be done. The next [`Branches`] of this base finishes a commit that was
    /// decided, and undoes one that was not. If a step fails, because another program is in its
    /// way, all is undone. Files that stay keep their inodes, so hard links and open files stay.
    ///
    /// The context of the base does all of it: it needs the right to write into the root of the
    /// base, and to set what the branch has set (`EPERM` for owners and devices, as ever). `EXDEV`
    /// for changes below a mount in the base, `EBUSY` while another commit is under way, `ENOSPC`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, ConflictKind, Error};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/notes", 0o644)?;
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::new(base.clone())?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/notes", "changed")?;
    /// branches.commit("work")?;
    /// assert_eq!(base.read_to_string("/notes")?, "changed");
    ///
    /// // The base may change meanwhile: not the same.
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.remove_file("/notes")?;
    /// base.write("/notes", "by another program")?;
    /// let Err(Error::Conflicts { conflicts, .. }) = branches.commit("work") else { panic!() };
    /// assert_eq!(conflicts[0].kind, ConflictKind::RemovedInBranch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(&self, name: &str) -> Result<(), Error> {
        self.commit_with(name, &Resolution::default())
    }

    /// Does the same with answers to conflicts.
    ///
    /// [`Resolution`] has an example.
    pub fn commit_with(&self, name: &str, resolution: &Resolution) -> Result<(), Error> {
        self.commit_and_keep(name, resolution, None)
    }

    /// Does the same, and makes a branch that takes the commit back: [`diff`](Self::diff) of it
    /// says what that will change, and its [`commit`](Self::commit) is the undo, with conflicts for
    /// what was changed since. That commit can be undone in turn.
    ///
    /// Names, data, attributes, lists, extended attributes and hard links are as before, and so are
    /// times but those of the last change. On the base, what was removed comes back as new nodes,
    /// with other numbers. The branch is one as any other: drop it if the commit is to stay. Until
    /// then, a parent has it as a fork.
    ///
    /// Cost: on another branch, what was changed, and no data. On the base, all that the commit
    /// overwrites or removes is copied to the store before.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, Resolution};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/notes", 0o644)?;
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::new(base.clone())?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/new", "text")?;
    /// work.remove_file("/notes")?;
    /// branches.commit_undoable("work", &Resolution::default(), "before work")?;
    /// assert!(base.stat("/new").is_ok() && base.stat("/notes").is_err());
    /// branches.commit("before work")?;
    /// assert!(base.stat("/new").is_err() && base.stat("/notes").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_undoable(&self, name: &str, resolution: &Resolution, undo: &str) -> Result<(), Error> {
        check_name(undo)?;
        self.commit_and_keep(name, resolution, Some(undo))
    }

    fn commit_and_keep(&self, name: &str, resolution: &Resolution, undo: Option<&str>) -> Result<(), Error> {
        if let Some(stored) = self.in_store() {
            self.recovered(recover(&self.shared.base)?)?;
            return stored.commit(&self.shared, name, resolution, undo);
        }
        let mut table = self.table.lock();
        check_no_forks(&table, name)?;
        if let Some(undo) = undo.filter(|undo| table.contains_key(*undo)) {
            return Err(Error::Exists(undo.to_owned()));
        }
        let listed = find(&table, name)?;
        let Some(above) = listed.parent.clone() else { return self.commit_onto_base(&mut table, name, resolution, undo) };
        let parent = find(&table, &above)?.branch.clone();
        let (onto, mut kept) = ((&*parent.0, Onto::Theirs), None);
        let keep = |before: &Tree<Row>, after: &Tree<Row>| {
            if undo.is_some() {
                kept = Some((undo::of_parent(&self.shared, before, after)?, after.clone()));
            }
            Ok(())
        };
        let conflicts = commit::merge(&listed.forked, &listed.branch.0.snapshot(), onto, resolution, keep);
        no_conflicts(name, conflicts.map_err(Error::base("look at the base"))?)?;
        let listed = table.remove(name);
        self.take_from_branch(&mut table, listed);
        if let (Some(undo), Some((tree, forked))) = (undo, kept) {
            self.add_undo(&mut table, (undo, name), Some(above), (tree, forked));
        }
        Ok(())
    }

    /// Adds the branch that takes a commit back.
    fn add_undo(
        &self,
        table: &mut Table,
        (undo, of): (&str, &str),
        parent: Option<String>,
        (tree, forked): (Tree<Row>, Tree<Row>),
    ) {
        let (branch, created) = (Branch(Inner::new(&self.shared, tree, None)), self.shared.now());
        let listed = Listed { branch, parent, forked, created, note: note_of_undo(of), undo: None, rest: None };
        table.insert(undo.to_owned(), listed);
    }

    /// Drops a branch that was committed onto the base, and adds the one that takes that back.
    fn committed(&self, table: &mut Table, name: &str, done: Done, undo: Option<Undo>) -> Result<(), Error> {
        let listed = table.remove(name);
        self.take_from_branch(table, listed);
        done.clean();
        let Some((undo, tree)) = undo else { return Ok(()) };
        let tree = onto_base::over_committed(&Inner::new(&self.shared, tree, None));
        let tree = tree.map_err(Error::base("compare what the commit has changed with what was kept"))?;
        self.add_undo(table, (&undo, name), None, (tree, Tree::default()));
        Ok(())
    }

    /// Drops a branch that was committed, unless another one has its name by now.
    fn recovered_in_memory(&self, table: &mut Table, done: Done) -> Result<(), Error> {
        let is_here = done.list == self.shared.identity();
        let is_committed = |listed: &&mut Listed| is_here && listed.branch.0.branch_number() == done.number;
        let Some(listed) = table.get_mut(&done.branch).filter(is_committed) else {
            done.clean();
            return Ok(());
        };
        let (undo, name) = (listed.undo.take(), done.branch.clone());
        self.committed(table, &name, done, undo)
    }

    fn commit_onto_base(&self, table: &mut Table, name: &str, resolution: &Resolution, undo: Option<&str>) -> Result<(), Error> {
        if let Some(done) = recover(&self.shared.base)? {
            let committed = done.branch.clone();
            self.recovered_in_memory(table, done)?;
            if committed == name && !table.contains_key(name) {
                return Ok(());
            }
        }
        let (branch, mut kept) = (find(table, name)?.branch.clone(), None);
        let mut keep = |tree| {
            kept = undo.map(|undo| (undo.to_owned(), tree));
            Ok(())
        };
        let keep: Option<onto_base::Keep<'_>> = if undo.is_some() { Some(&mut keep) } else { None };
        match onto_base::commit(name, &branch.0, resolution, keep) {
            Ok(Outcome::Refused(conflicts)) => Err(Error::Conflicts { name: name.to_owned(), conflicts }),
            Ok(Outcome::Done(done)) => self.committed(table, name, *done, kept),
            Err(failure) => {
                // What is left of it may be finished yet.
                if let Some(listed) = table.get_mut(name) {
                    listed.undo = kept;
                }
                Err(Error::of_commit(name, failure))
            }
        }
    }

    /// Takes over what the parent of a branch, or the base, has changed since. Afterwards the
    /// branch is as if it had been forked now, and had then changed what it did:
    /// [`diff`](Self::diff) has its own changes alone, and [`commit`](Self::commit) has no
    /// conflict, unless something is changed again. If both have changed the same things, nothing
    /// is done, unless there are answers to all conflicts.
    ///
    /// All observers of the branch see all of it or nothing. Forks of the branch keep what they
    /// were forked from, and their own changes: a rebase of a fork takes over what this one
    /// brought. Cost: what was changed in both since the fork.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, Resolution};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let branches = Branches::new(Vfs::builder().build(fs)?.context(Credentials::root()))?;
    /// let context = |branch| Vfs::builder().build(branch).map(|vfs| vfs.context(Credentials::root()));
    /// let work = context(branches.fork(None, "work")?)?;
    /// let step = context(branches.fork(Some("work"), "step")?)?;
    /// work.write("/in-work", "text")?;
    /// step.write("/in-step", "text")?;
    /// branches.rebase("step", &Resolution::default())?;
    /// assert_eq!(step.read_to_string("/in-work")?, "text");
    /// let paths: Vec<_> = branches.diff("step")?.iter().map(|change| change.path().to_vec()).collect();
    /// assert_eq!(paths, [b"/in-step".to_vec()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rebase(&self, name: &str, resolution: &Resolution) -> Result<(), Error> {
        if let Some(stored) = self.in_store() {
            self.recovered(recover(&self.shared.base)?)?;
            return stored.rebase(&self.shared, name, resolution);
        }
        let mut table = self.table.lock();
        let listed = find(&table, name)?;
        let branch = listed.branch.clone();
        let refused = || Error::base("look at the base");
        let Some(parent) = listed.parent.as_deref() else {
            let conflicts = onto_base::rebase(&branch.0, resolution, |_| Ok(())).map_err(refused())?;
            return no_conflicts(name, conflicts);
        };
        let parent = find(&table, parent)?.branch.0.snapshot();
        let conflicts = commit::merge(&listed.forked, &parent, (&*branch.0, Onto::Ours), resolution, |_, _| Ok(()));
        no_conflicts(name, conflicts.map_err(refused())?)?;
        if let Some(listed) = table.get_mut(name) {
            listed.forked = parent;
        }
        Ok(())
    }

    /// Drops a branch whose commit onto the base was finished after a crash, and settles what is to
    /// take commits back.
    pub(super) fn recovered(&self, recovered: Option<Done>) -> Result<(), Error> {
        match (recovered, self.in_store()) {
            (Some(done), Some(stored)) if done.list == self.shared.identity() => stored.committed(&self.shared, done)?,
            (Some(done), None) => self.recovered_in_memory(&mut self.table.lock(), done)?,
            (Some(done), Some(_)) => done.clean(),
            (None, _) => {}
        }
        self.in_store().map_or(Ok(()), |stored| stored.settle(&self.shared))
    }
}

/// Finishes or undoes what a crash has left of a commit onto the base. One that is under way is
/// left alone. Returns a commit that was finished.
pub(super) fn recover(base: &Base) -> Result<Option<Done>, Error> {
    match onto_base::recover(base) {
        Err(failure) if failure.errno == Errno::EBUSY => Ok(None),
        recovered => recovered.map_err(|failure| Error::of_commit("", failure)),
    }
}

/// Returns the note of a branch that takes a commit back.
pub(crate) fn note_of_undo(committed: &str) -> String {
    format!("takes back the commit of \"{committed}\"")
}

/// Fails if there are conflicts.
pub(crate) fn no_conflicts(name: &str, conflicts: Vec<Conflict>) -> Result<(), Error> {
    if conflicts.is_empty() { Ok(()) } else { Err(Error::Conflicts { name: name.to_owned(), conflicts }) }
}
