//! Bases for the tests: one in memory, and two on a directory of the host, of which one has its
//! branches in a store on the disk.

#[allow(dead_code, reason = "not every test uses all of it")]
pub(crate) mod trees;

use pathwalk::{Context, Credentials, FileSystem, Vfs};
use pathwalk_branch::{Branches, DiskStore, Options};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

/// Bytes of each tree's caches: there are many trees, with few nodes.
pub(crate) const BUDGET: u64 = 2 << 20;

/// Returns a context of root on a tree, with small caches.
#[allow(dead_code, reason = "not every test has trees of its own")]
pub(crate) fn root_on(fs: impl FileSystem + 'static) -> Context {
    Vfs::builder().budget(BUDGET).build(fs).expect("there is a root").context(Credentials::root())
}

/// A base, and what keeps it.
#[allow(dead_code, reason = "not every test uses all of it")]
pub(crate) struct Ground {
    pub(crate) base: Context,
    pub(crate) branches: Branches,
    pub(crate) name: &'static str,
    directory: Option<tempfile::TempDir>,
    store: Option<tempfile::TempDir>,
}

#[allow(dead_code, reason = "not every test uses all of it")]
impl Ground {
    /// Makes one of each kind, filled by `fill`, before there is a branch.
    pub(crate) fn each(fill: impl Fn(&Context)) -> [Ground; 3] {
        ["memory", "host", "host, stored"].map(|name| Ground::new(name, &fill))
    }

    fn new(name: &'static str, fill: impl Fn(&Context)) -> Ground {
        let new_directory = || tempfile::tempdir().expect("there is room");
        let (directory, store) = ((name != "memory").then(new_directory), (name == "host, stored").then(new_directory));
        let base = match &directory {
            None => Vfs::builder().budget(BUDGET).build(MemFs::new()),
            Some(directory) => {
                let host = HostFs::open_writable(directory.path()).expect("it is there");
                Vfs::builder().budget(BUDGET).build(host.with_coherence(Coherence::Exclusive))
            }
        };
        let base = base.expect("there is a root").context(Credentials::root());
        fill(&base);
        let branches = match &store {
            None => Branches::with(base.clone(), Options::default()).expect("it is a base"),
            Some(store) => open(&base, store),
        };
        Ground { base, branches, name, directory, store }
    }

    /// Returns whether the branches outlive [`reopen`](Self::reopen).
    pub(crate) fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// Closes the store, and opens it again. No branch may be in use.
    pub(crate) fn reopen(&mut self) {
        let store = self.store.as_ref().expect("it has a store");
        self.branches = Branches::new(self.base.clone()).expect("it is a base");
        self.branches = open(&self.base, store);
    }

    /// Opens the store once more, as another process does.
    pub(crate) fn beside(&self) -> Branches {
        open(&self.base, self.store.as_ref().expect("it has a store"))
    }

    /// Returns whether so many bytes of data are stored. On a disk it is not known, since it keeps
    /// what branches are synced with.
    pub(crate) fn has_stored(&self, bytes: u64) -> bool {
        self.is_stored() || self.branches.stored() == bytes
    }

    /// Forks a branch, and returns a context on it.
    pub(crate) fn fork(&self, parent: Option<&str>, name: &str) -> Context {
        let branch = self.branches.fork(parent, name).expect("the name is free");
        root_on(branch)
    }

    /// Returns a further context on a branch, with caches of its own.
    pub(crate) fn again(&self, name: &str) -> Context {
        let branch = self.branches.get(name).expect("there is one");
        root_on(branch)
    }
}

fn open(base: &Context, store: &tempfile::TempDir) -> Branches {
    let store = DiskStore::open(store.path()).expect("it can be opened");
    Branches::open(base.clone(), Options::default(), store).expect("it is of this base")
}

/// Returns the names in a directory, sorted.
#[allow(dead_code, reason = "not every test uses all of it")]
pub(crate) fn names(context: &Context, path: &str) -> Vec<String> {
    let name = |entry: Result<pathwalk::DirEntry, _>| String::from_utf8_lossy(entry.expect("it is listed").name()).into_owned();
    let mut names: Vec<_> = context.read_dir(path).expect("it is a directory").map(name).collect();
    names.sort();
    names
}
