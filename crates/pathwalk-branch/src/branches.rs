//! All branches of one base.
//!
//! What always holds: each branch but those of the base has a parent in the table, and the tree
//! that it had in common with the parent when it was forked. A fork is a clone of the parent's
//! tree, so its cost depends neither on the depth nor on what the parent has changed.
//!
//! Locks: the table's lock is taken before the lock of a branch's tree.

mod begun;
mod care;
mod commit;
mod copy;
mod part;
mod states;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use begun::Fork;
use commit::recover;
pub(crate) use commit::{no_conflicts, note_of_undo};
use parking_lot::Mutex;
pub(crate) use part::parts;
use pathwalk::{Context, Timestamp};

use crate::base::{Base, FIRST_NEW};
use crate::blobs::{BlobStore, MemoryBlobs};
use crate::branch::{Data, Inner, NameHash, Shared};
use crate::commit::onto_base::Done;
use crate::error::Error;
use crate::numbers::Numbers;
use crate::options::{Options, SyncEvery};
use crate::restored::{KeepStamps, Restored};
use crate::rows::Row;
use crate::store::Store;
use crate::stored::{self, Keeper, Stored};
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
    keeper: Option<Keeper>,
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
    /// The undo of its commit onto the base, which has failed and may be finished yet.
    undo: Option<Undo>,
    /// The rest of the branch of which this one is a part.
    rest: Option<Rest>,
}

/// The name of a branch, and its tree once a part of it is committed.
type Rest = (String, Tree<Row>);

/// The name of the branch that takes a commit back, and its tree.
type Undo = (String, Tree<Row>);

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
        let numbers = Numbers::within(FIRST_NEW..u64::MAX);
        let base = Base::new(base, numbers, Restored::default()).map_err(refused())?;
        let recovered = recover(&base)?;
        let shared = Shared::new(base, Data::Blobs(Arc::new(store)), options, NameHash::random()).map_err(refused())?;
        recovered.into_iter().for_each(Done::clean);
        Ok(Branches { shared: Arc::new(shared), table: Mutex::default(), keeper: None })
    }

    /// Opens the branches of a base that are in a store, where they outlive the process.
    ///
    /// A branch is durable as it was when it was last synced: by `fsync` of any file in it, by a
    /// `sync` of the `Vfs` that shows it, by [`sync`](Self::sync), every five seconds
    /// ([`Options::sync_every`]), and when this list is dropped. Each of them stores all of the
    /// branch, as a commit of a journal does. After a crash, the branch is as one of them has left
    /// it. [`fork`](Self::fork), [`drop`](Self::drop), [`commit`](Self::commit) and
    /// [`set_note`](Self::set_note) are durable when they return, each as a whole.
    ///
    /// Several processes may open one store. A branch is used by one of them at a time, from its
    /// first use until the list is dropped and no `Vfs` has the branch any more. Meanwhile the
    /// others may list and compare it, and fork it, as it was synced last; all else of it is
    /// [`InUse`](Error::InUse). The rows of a branch are in memory while it is used, those that it
    /// shares with other branches once.
    ///
    /// A store is for one base. [`OtherBase`](Error::OtherBase) if the root of this one is another
    /// node than that of the branches in it.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, DiskStore, Options};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::open(base.clone(), Options::default(), DiskStore::open(dir)?)?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/file", "text")?;
    /// drop((branches, work));
    ///
    /// let branches = Branches::open(base, Options::default(), DiskStore::open(dir)?)?;
    /// let work = Vfs::builder().build(branches.get("work")?)?.context(Credentials::root());
    /// assert_eq!(work.read_to_string("/file")?, "text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(base: Context, options: Options, store: impl Store + 'static) -> Result<Branches, Error> {
        let refused = || Error::base("use this tree as a base");
        let store: Arc<dyn Store> = Arc::new(store);
        let (numbers, stored) = (stored::node_numbers(&store), Arc::new(Stored::new(store)));
        let restored = Restored::kept(Arc::clone(&stored) as Arc<dyn KeepStamps>);
        let base = Base::new(base, numbers, restored).map_err(refused())?;
        let hasher = stored.hasher(&base)?;
        base.read_restored().map_err(refused())?;
        let recovered = recover(&base)?;
        let SyncEvery(every) = options.sync_every;
        let keeper = every.map(|every| Keeper::new(&stored, every)).transpose();
        let keeper = keeper.map_err(Error::base("start the thread that syncs branches"))?;
        let shared = Shared::new(base, Data::Stored(stored), options, hasher).map_err(refused())?;
        let branches = Branches { shared: Arc::new(shared), table: Mutex::default(), keeper };
        branches.recovered(recovered)?;
        Ok(branches)
    }

    fn in_store(&self) -> Option<&Stored> {
        self.shared.stored.as_deref()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Makes a branch of another one as that is now, or of the base. Cost: constant, and one step
    /// for each open file of the parent that has no name any more; those are not in the fork.
    pub fn fork(&self, parent: Option<&str>, name: &str) -> Result<Branch, Error> {
        check_name(name)?;
        if let Some(stored) = self.in_store() {
            stored.fork(&self.shared, parent, name)?;
            return stored.get(&self.shared, name);
        }
        let mut table = self.table.lock();
        if table.contains_key(name) {
            return Err(Error::Exists(name.to_owned()));
        }
        let forked = match parent {
            Some(parent) => find(&table, parent)?.branch.0.snapshot(),
            None => Tree::default(),
        };
        let branch = Branch(Inner::new(&self.shared, forked.clone(), None));
        let (parent, created) = (parent.map(str::to_owned), self.shared.now());
        let (note, branch_listed) = (String::new(), branch.clone());
        let listed = Listed { branch: branch_listed, parent, forked, created, note, undo: None, rest: None };
        table.insert(name.to_owned(), listed);
        Ok(branch)
    }

    /// Does the same, and does not use the branch: of a store, nothing is loaded, and the branch is
    /// left for any process to use.
    pub fn fork_only(&self, parent: Option<&str>, name: &str) -> Result<(), Error> {
        check_name(name)?;
        match self.in_store() {
            Some(stored) => stored.fork(&self.shared, parent, name),
            None => self.fork(parent, name).map(drop),
        }
    }

    /// Returns a branch.
    ///
    /// [`Branches::list`] has an example.
    pub fn get(&self, name: &str) -> Result<Branch, Error> {
        if let Some(stored) = self.in_store() {
            return stored.get(&self.shared, name);
        }
        Ok(find(&self.table.lock(), name)?.branch.clone())
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
    /// let [step, work] = &branches.list()?[..] else { panic!() };
    /// assert_eq!((&*step.name, step.parent.as_deref()), ("step", Some("work")));
    /// assert_eq!(step.note, "removes the build directory");
    /// assert_eq!((&*work.name, &work.parent), ("work", &None));
    /// assert!(branches.get("step").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self) -> Result<Vec<BranchInfo>, Error> {
        if let Some(stored) = self.in_store() {
            return stored.list();
        }
        let info = |(name, listed): (&String, &Listed)| BranchInfo {
            name: name.clone(),
            parent: listed.parent.clone(),
            created: listed.created,
            note: listed.note.clone(),
        };
        Ok(self.table.lock().iter().map(info).collect())
    }

    /// Sets the note of a branch.
    ///
    /// [`Branches::list`] has an example.
    pub fn set_note(&self, name: &str, note: &str) -> Result<(), Error> {
        if let Some(stored) = self.in_store() {
            return stored.set_note(&self.shared.base, name, note);
        }
        let mut table = self.table.lock();
        let listed = table.get_mut(name).ok_or_else(|| Error::NoBranch(name.to_owned()))?;
        listed.note = note.to_owned();
        Ok(())
    }

    /// Drops a branch, which has no forks, with all that it changed. A `Vfs` that has it keeps it.
    pub fn drop(&self, name: &str) -> Result<(), Error> {
        if let Some(stored) = self.in_store() {
            return stored.drop(&self.shared.base, name);
        }
        let mut table = self.table.lock();
        check_no_forks(&table, name)?;
        table.remove(name);
        Ok(())
    }
}

impl std::fmt::Debug for Branches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Branches").field("list", &self.list()).finish_non_exhaustive()
    }
}

impl Drop for Branches {
    /// Makes all branches durable, and leaves them to other processes. [`sync`](Self::sync) reports
    /// errors; this does not.
    fn drop(&mut self) {
        self.keeper = None;
        if let Some(stored) = self.in_store() {
            _ = stored.sync_all();
            stored.close();
        }
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
