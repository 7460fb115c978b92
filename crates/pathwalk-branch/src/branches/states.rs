//! What a branch was forked from, what it is now, and how the two differ.

use super::{Branch, Branches, find};
use crate::branch::Inner;
use crate::diff::{self, Change};
use crate::error::Error;
use crate::rows::Row;
use crate::tree::Tree;

impl Branches {
    /// Returns a view of what a branch was forked from, as that was then. The base shows through it
    /// as it is now. What is written to the view is in no branch, and ends with it.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/old", 0o644)?;
    /// let branches = Branches::new(Vfs::builder().build(fs)?.context(Credentials::root()))?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.rename("/old", "/new")?;
    /// let before = Vfs::builder().build(branches.before("work")?)?.context(Credentials::root());
    /// assert!(before.stat("/old").is_ok() && before.stat("/new").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn before(&self, name: &str) -> Result<Branch, Error> {
        self.views(name).map(|[before, _]| before)
    }

    /// Returns a view of a branch as it is now; of one that another process uses, as it was synced
    /// last. What is written to the view is in no branch, and ends with it.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let branches = Branches::new(Vfs::builder().build(fs)?.context(Credentials::root()))?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/file", "text")?;
    /// let after = Vfs::builder().build(branches.after("work")?)?.context(Credentials::root());
    /// work.remove_file("/file")?;
    /// assert_eq!(after.read_to_string("/file")?, "text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after(&self, name: &str) -> Result<Branch, Error> {
        self.views(name).map(|[_, after]| after)
    }

    fn views(&self, name: &str) -> Result<[Branch; 2], Error> {
        if let Some(stored) = self.in_store() {
            return stored.views(&self.shared, name);
        }
        let (old, new) = self.states(name)?;
        Ok([old, new].map(|tree| Branch(Inner::new(&self.shared, tree, None))))
    }

    /// Returns what a branch was forked from, and the branch as it is now.
    fn states(&self, name: &str) -> Result<(Tree<Row>, Tree<Row>), Error> {
        if let Some(stored) = self.in_store() {
            return stored.states(&self.shared, name);
        }
        let table = self.table.lock();
        let listed = find(&table, name)?;
        Ok((listed.forked.clone(), listed.branch.0.snapshot()))
    }

    /// Returns how a branch differs from what it was forked from, as that was then, sorted by the
    /// paths. Cost: what was changed, however large the tree is.
    ///
    /// A removed directory is one change, and what was below it is none. The times of a directory
    /// are no change, nor are the time of change and the number of links of any node.
    ///
    /// [`Change`] has an example.
    pub fn diff(&self, name: &str) -> Result<Vec<Change>, Error> {
        let (old, new) = self.states(name)?;
        Ok(diff::changes(&self.shared, &old, &new))
    }
}
