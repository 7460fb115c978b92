//! Copies of a branch beside it, and the way back to one.
//!
//! A copy is made of what the branch is made of, so it does not keep the branch from being
//! committed or dropped, as a fork of it does.

use super::{Branch, Branches, Listed, check_name, find};
use crate::branch::Inner;
use crate::error::Error;

impl Branches {
    /// Makes a branch that has the parent of another one, and all that this changed. Its cost is
    /// that of a [fork](Self::fork), and it is durable when this returns.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let branches = Branches::new(Vfs::builder().build(fs)?.context(Credentials::root()))?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/one", "text")?;
    /// branches.copy("work", "step 1", "wrote a file")?;
    /// work.remove_file("/one")?;
    /// work.write("/two", "text")?;
    /// drop(work);
    ///
    /// // Back to where it was, by a branch of the same name.
    /// branches.reset("work", "step 1")?;
    /// let work = Vfs::builder().build(branches.get("work")?)?.context(Credentials::root());
    /// assert!(work.stat("/one").is_ok() && work.stat("/two").is_err());
    /// // The copy does not depend on it.
    /// branches.drop("work")?;
    /// assert_eq!(branches.diff("step 1")?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy(&self, name: &str, copy: &str, note: &str) -> Result<(), Error> {
        check_name(copy)?;
        if let Some(stored) = self.in_store() {
            return stored.copy(&self.shared, name, copy, note);
        }
        let mut table = self.table.lock();
        if table.contains_key(copy) {
            return Err(Error::Exists(copy.to_owned()));
        }
        let of = find(&table, name)?;
        let listed = Listed {
            branch: Branch(Inner::new(&self.shared, of.branch.0.snapshot(), None)),
            parent: of.parent.clone(),
            forked: of.forked.clone(),
            created: self.shared.now(),
            note: note.to_owned(),
            undo: None,
            rest: None,
        };
        table.insert(copy.to_owned(), listed);
        Ok(())
    }

    /// Puts a copy of a branch in the place of another one of the same parent, in one step. The
    /// note stays, and so do forks. A `Vfs` that has the branch keeps what it was;
    /// [`get`](Self::get) returns the new one.
    ///
    /// [`OtherParent`](Error::OtherParent) if their parents differ.
    ///
    /// [`copy`](Self::copy) has an example.
    pub fn reset(&self, name: &str, to: &str) -> Result<(), Error> {
        if let Some(stored) = self.in_store() {
            return stored.reset(&self.shared, name, to);
        }
        let mut table = self.table.lock();
        let of = find(&table, to)?;
        let (tree, forked, parent) = (of.branch.0.snapshot(), of.forked.clone(), of.parent.clone());
        if find(&table, name)?.parent != parent {
            return Err(Error::OtherParent { name: name.to_owned(), to: to.to_owned() });
        }
        if let Some(listed) = table.get_mut(name) {
            listed.branch = Branch(Inner::new(&self.shared, tree, None));
            listed.forked = forked;
        }
        Ok(())
    }
}
