//! Bases for the tests: one in memory, and one on a directory of the host.

#[allow(dead_code, reason = "not every test uses all of it")]
pub(crate) mod trees;

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_branch::{Branches, Options};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

/// A base, and what keeps it.
#[allow(dead_code, reason = "not every test uses all of it")]
pub(crate) struct Ground {
    pub(crate) base: Context,
    pub(crate) branches: Branches,
    pub(crate) name: &'static str,
    directory: Option<tempfile::TempDir>,
}

#[allow(dead_code, reason = "not every test uses all of it")]
impl Ground {
    /// Makes one of each kind, filled by `fill`, before there is a branch.
    pub(crate) fn each(fill: impl Fn(&Context)) -> [Ground; 2] {
        let mem = Vfs::builder().build(MemFs::new()).expect("there is a root");
        let directory = tempfile::tempdir().expect("there is room");
        let host = HostFs::open_writable(directory.path()).expect("it is there").with_coherence(Coherence::Exclusive);
        let host = Vfs::builder().build(host).expect("there is a root");
        [("memory", mem, None), ("host", host, Some(directory))].map(|(name, vfs, directory)| {
            let base = vfs.context(Credentials::root());
            fill(&base);
            let branches = Branches::with(base.clone(), Options::default()).expect("it is a base");
            Ground { base, branches, name, directory }
        })
    }

    /// Forks a branch, and returns a context on it.
    pub(crate) fn fork(&self, parent: Option<&str>, name: &str) -> Context {
        let branch = self.branches.fork(parent, name).expect("the name is free");
        Vfs::builder().build(branch).expect("there is a root").context(Credentials::root())
    }

    /// Returns a further context on a branch, with caches of its own.
    pub(crate) fn again(&self, name: &str) -> Context {
        let branch = self.branches.get(name).expect("there is one");
        Vfs::builder().build(branch).expect("there is a root").context(Credentials::root())
    }
}

/// Returns the names in a directory, sorted.
#[allow(dead_code, reason = "not every test uses all of it")]
pub(crate) fn names(context: &Context, path: &str) -> Vec<String> {
    let name = |entry: Result<pathwalk::DirEntry, _>| String::from_utf8_lossy(entry.expect("it is listed").name()).into_owned();
    let mut names: Vec<_> = context.read_dir(path).expect("it is a directory").map(name).collect();
    names.sort();
    names
}
