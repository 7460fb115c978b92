//! All branches of one base.
//!
//! What always holds: each branch but those of the base has a parent in the table, and the tree
//! that it had in common with the parent when it was forked. A fork is a clone of the parent's
//! tree, so its cost depends neither on the depth nor on what the parent has changed.
//!
//! Locks: the table's lock is taken before the lock of a branch's tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pathwalk::{Context, Timestamp};

use crate::base::Base;
use crate::blobs::{BlobStore, MemoryBlobs};
use crate::branch::{Inner, Shared};
use crate::commit;
use crate::diff::{self, Change};
use crate::error::Error;
use crate::options::Options;
use crate::rows::Row;
use crate::tree::Tree;

/// The longest name of a branch, in bytes.
const LONGEST_NAME: usize = 255;

/// A writable view of the base: a [`FileSystem`](pathwalk::FileSystem), to be given to a `Vfs`.
///
/// A clone is the same branch. It stays usable when it is dropped from the list, until the last
/// clone goes.
///
/// [`Branches`] has an example.
#[derive(Clone)]
pub struct Branch(pub(crate) Arc<Inner>);

impl std::fmt::Debug for Branch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Branch").finish_non_exhaustive()
    }
}

/// All branches of one base.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::{Branches, Change};
/// # let fs = pathwalk_memfs::MemFs::new();
/// # fs.file("/notes", 0o644)?;
/// let base = Vfs::builder().build(fs)?.context(Credentials::root());
/// let branches = Branches::new(base.clone())?;
/// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
///
/// // Try something in a fork, look at what it did, and keep it.
/// let step = Vfs::builder().build(branches.fork(Some("work"), "step")?)?.context(Credentials::root());
/// step.write("/notes", "changed")?;
/// step.mkdir("/new", 0o755)?;
/// let paths: Vec<_> = branches.diff("step")?.iter().map(Change::path).map(<[u8]>::to_vec).collect();
/// assert_eq!(paths, [b"/new".to_vec(), b"/notes".to_vec()]);
/// branches.commit("step")?;
/// assert_eq!(work.read_to_string("/notes")?, "changed");
///
/// // Try something else, and drop it.
/// let step = Vfs::builder().build(branches.fork(Some("work"), "step")?)?.context(Credentials::root());
/// step.remove_file("/notes")?;
/// branches.drop("step")?;
/// assert_eq!(work.read_to_string("/notes")?, "changed");
/// assert_eq!(base.read_to_string("/notes")?, "", "the base is as it was");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Branches {
    shared: Arc<Shared>,
    table: Mutex<Table>,
}

/// The branches by their names.
type Table = BTreeMap<String, Listed>;

/// A branch in the table.
struct Listed {
    branch: Branch,
    parent: Option<String>,
    /// What it had in common with its parent when it was forked.
    forked: Tree<Row>,
    created: Timestamp,
    note: String,
}

/// What is known of a branch.
///
/// [`Branches::list`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BranchInfo {
    /// Its name.
    pub name: String,
    /// The branch from which it was forked; `None` for the base.
    pub parent: Option<String>,
    /// The time at which it was forked.
    pub created: Timestamp,
    /// What [`Branches::set_note`] has set.
    pub note: String,
}

impl Branches {
    /// Creates an empty list of branches of the tree that a context sees, with the default options,
    /// and a store in memory. The base is asked with the rights of the context, so it is best one
    /// of root.
    ///
    /// The caches of the base's `Vfs` hold each node that a branch holds, so its budget must have
    /// room for those of all branches together.
    pub fn new(base: Context) -> Result<Branches, Error> {
        Branches::with(base, Options::default())
    }

    /// Does the same with options.
    ///
    /// [`Options`] has an example.
    pub fn with(base: Context, options: Options) -> Result<Branches, Error> {
        Branches::with_store(base, options, MemoryBlobs::default())
    }

    /// Does the same with a store of data.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, MemoryBlobs, Options};
    /// let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let branches = Branches::with_store(base, Options::default(), MemoryBlobs::default())?;
    /// let context = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// context.write("/file", "text")?;
    /// assert_eq!(branches.stored(), 4);
    /// context.remove_file("/file")?;
    /// assert_eq!(branches.stored(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_store(base: Context, options: Options, store: impl BlobStore + 'static) -> Result<Branches, Error> {
        let refused = || Error::base("use this tree as a base");
        let base = Base::new(base).map_err(refused())?;
        let shared = Arc::new(Shared::new(base, Arc::new(store), options).map_err(refused())?);
        Ok(Branches { shared, table: Mutex::default() })
    }

    /// Makes a branch of another one as that is now, or of the base. Cost: constant, and one step
    /// for each open file of the parent that has no name any more; those are not in the fork.
    pub fn fork(&self, parent: Option<&str>, name: &str) -> Result<Branch, Error> {
        check_name(name)?;
        let mut table = self.table.lock();
        if table.contains_key(name) {
            return Err(Error::Exists(name.to_owned()));
        }
        let forked = match parent {
            Some(parent) => find(&table, parent)?.branch.0.snapshot(),
            None => Tree::default(),
        };
        let branch = Branch(Inner::new(&self.shared, forked.clone()));
        let (parent, created) = (parent.map(str::to_owned), self.shared.now());
        let listed = Listed { branch: branch.clone(), parent, forked, created, note: String::new() };
        table.insert(name.to_owned(), listed);
        Ok(branch)
    }

    /// Returns a branch.
    ///
    /// [`Branches::list`] has an example.
    pub fn get(&self, name: &str) -> Result<Branch, Error> {
        Ok(find(&self.table.lock(), name)?.branch.clone())
    }

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
        let forked = find(&self.table.lock(), name)?.forked.clone();
        Ok(Branch(Inner::new(&self.shared, forked)))
    }

    /// Returns what is known of all branches, sorted by their names.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let branches = Branches::new(Vfs::builder().build(fs)?.context(Credentials::root()))?;
    /// branches.fork(None, "work")?;
    /// branches.fork(Some("work"), "step")?;
    /// branches.set_note("step", "removes the build directory")?;
    /// let [step, work] = &branches.list()[..] else { panic!() };
    /// assert_eq!((&*step.name, step.parent.as_deref()), ("step", Some("work")));
    /// assert_eq!(step.note, "removes the build directory");
    /// assert_eq!((&*work.name, &work.parent), ("work", &None));
    /// assert!(branches.get("step").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self) -> Vec<BranchInfo> {
        let info = |(name, listed): (&String, &Listed)| BranchInfo {
            name: name.clone(),
            parent: listed.parent.clone(),
            created: listed.created,
            note: listed.note.clone(),
        };
        self.table.lock().iter().map(info).collect()
    }

    /// Sets the note of a branch.
    ///
    /// [`Branches::list`] has an example.
    pub fn set_note(&self, name: &str, note: &str) -> Result<(), Error> {
        let mut table = self.table.lock();
        let listed = table.get_mut(name).ok_or_else(|| Error::NoBranch(name.to_owned()))?;
        listed.note = note.to_owned();
        Ok(())
    }

    /// Drops a branch, which has no forks, with all that it changed. A `Vfs` that has it keeps it.
    pub fn drop(&self, name: &str) -> Result<(), Error> {
        let mut table = self.table.lock();
        check_no_forks(&table, name)?;
        table.remove(name);
        Ok(())
    }

    /// Returns how a branch differs from what it was forked from, as that was then, sorted by the
    /// paths. Cost: what was changed, however large the tree is.
    ///
    /// A removed directory is one change, and what was below it is none. The times of a directory
    /// are no change, nor are the time of change and the number of links of any node.
    ///
    /// [`Change`] has an example.
    pub fn diff(&self, name: &str) -> Result<Vec<Change>, Error> {
        let table = self.table.lock();
        let listed = find(&table, name)?;
        let (old, new) = (listed.forked.clone(), listed.branch.0.snapshot());
        drop(table);
        Ok(diff::changes(&old, &new, self.shared.root))
    }

    /// Applies what a branch changed to its parent, and drops it from the list. If the parent
    /// changed the same things since the fork, nothing is done, and the error has all conflicts.
    /// What another thread changes in the branch after the commit has begun is lost.
    ///
    /// All observers of the parent see all of it or nothing: an operation that begins after another
    /// one has seen something of the commit sees all of it. Files that are open on the parent and
    /// were removed stay usable. Cost: what was changed in both since the fork.
    pub fn commit(&self, name: &str) -> Result<(), Error> {
        let mut table = self.table.lock();
        check_no_forks(&table, name)?;
        let listed = find(&table, name)?;
        let parent = listed.parent.as_deref().ok_or_else(|| Error::OfBase(name.to_owned()))?;
        let parent = find(&table, parent)?.branch.clone();
        let conflicts = commit::commit(&listed.forked, &listed.branch.0.snapshot(), &parent.0);
        let conflicts = conflicts.map_err(Error::base("look at the base"))?;
        if !conflicts.is_empty() {
            return Err(Error::Conflicts { name: name.to_owned(), conflicts });
        }
        table.remove(name);
        Ok(())
    }

    /// Waits until the caches of all branches were told of each change of the base that was made
    /// before. Without it, they are told soon after the change.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::new(base.clone())?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// assert!(work.stat("/new").is_err());
    /// base.write("/new", "text")?;
    /// branches.catch_up();
    /// assert_eq!(work.read_to_string("/new")?, "text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn catch_up(&self) {
        self.shared.pump.catch_up();
    }

    /// Returns the number of bytes that all branches have stored.
    ///
    /// [`Branches::with_store`] has an example.
    pub fn stored(&self) -> u64 {
        self.shared.store.bytes()
    }
}

impl std::fmt::Debug for Branches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Branches").field("list", &self.list()).finish_non_exhaustive()
    }
}

fn find<'a>(table: &'a Table, name: &str) -> Result<&'a Listed, Error> {
    table.get(name).ok_or_else(|| Error::NoBranch(name.to_owned()))
}

/// Checks that a branch is there, and has no forks.
fn check_no_forks(table: &Table, name: &str) -> Result<(), Error> {
    find(table, name)?;
    let of_it = table.iter().filter(|(_, listed)| listed.parent.as_deref() == Some(name));
    let forks: Vec<_> = of_it.map(|(fork, _)| fork.clone()).collect();
    if forks.is_empty() { Ok(()) } else { Err(Error::HasForks { name: name.to_owned(), forks }) }
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_name = (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(|char: char| char == '/' || char.is_control());
    if is_name { Ok(()) } else { Err(Error::Name(name.to_owned())) }
}
