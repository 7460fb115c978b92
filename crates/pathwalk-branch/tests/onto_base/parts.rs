//! Commits of some paths that end at any call of the base, or of the store: the commit and the
//! branch without what was committed are there together, or neither is.
//!
//! With `PATHWALK_BRANCH_KILLS` they end at every call, and without it at some.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use pathwalk::{Context, Errno};
use pathwalk_branch::{
    Applied, Batch, BlobId, BlobStore, Branches, Change, DiskStore, Lease, Options, Resolution, Snapshot, Store,
};
use pathwalk_memfs::MemFs;
use pathwalk_tests::failing::{Failing, Fault, Plan};
use tempfile::TempDir;

use crate::common::root_on;
use crate::common::trees::{differences, look};
use crate::{fill, work};

/// What is committed, of all that [`work`] changes.
const CHOSEN: [&str; 4] = ["/new/file", "/new", "/moved", "/large"];

/// A store whose calls fail from a number on.
struct Mortal {
    store: DiskStore,
    left: Arc<AtomicU64>,
}

impl Mortal {
    fn call(&self) -> Result<(), Errno> {
        let taken = self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        taken.map(drop).map_err(|_| Errno::EIO)
    }
}

impl BlobStore for Mortal {
    fn put(&self, data: &[u8]) -> Result<BlobId, Errno> {
        self.call()?;
        self.store.put(data)
    }

    fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno> {
        self.call()?;
        self.store.append(blob, at, data)
    }

    fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.call()?;
        self.store.read(blob, offset, buffer)
    }

    fn remove(&self, blob: BlobId, length: u64) {
        if self.call().is_ok() {
            self.store.remove(blob, length);
        }
    }

    fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    fn sync(&self) -> Result<(), Errno> {
        self.call()?;
        self.store.sync()
    }
}

impl Store for Mortal {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, Errno> {
        self.call()?;
        self.store.snapshot()
    }

    fn apply(&self, batch: &Batch) -> Result<Applied, Errno> {
        self.call()?;
        self.store.apply(batch)
    }

    fn lease(&self, number: u64) -> Result<Option<Lease>, Errno> {
        self.call()?;
        self.store.lease(number)
    }

    fn alone(&self) -> Result<Option<Lease>, Errno> {
        self.call()?;
        self.store.alone()
    }

    fn retain(&self, live: &[(BlobId, u64)]) -> Result<u64, Errno> {
        self.call()?;
        self.store.retain(live)
    }
}

/// A base in memory, and the branches of it in a store.
struct Ground {
    fs: Arc<Failing<Arc<MemFs>>>,
    store: TempDir,
    left: Arc<AtomicU64>,
}

/// What the branch is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Onto {
    Base,
    Branch,
}

impl Ground {
    /// Makes a branch "work", of the base or of a branch "main".
    fn new(onto: Onto) -> (Ground, Branches) {
        let (fs, left) = (Arc::new(Failing::new(Arc::new(MemFs::new()))), Arc::new(AtomicU64::new(u64::MAX)));
        let ground = Ground { fs, store: tempfile::tempdir().unwrap(), left };
        let base = root_on(Arc::clone(&ground.fs));
        fill(&base);
        let branches = ground.open(base);
        let parent = (onto == Onto::Branch).then_some("main");
        if let Some(parent) = parent {
            branches.fork_only(None, parent).unwrap();
        }
        branches.fork_only(parent, "work").unwrap();
        work(&context(&branches, "work"));
        branches.sync().unwrap();
        (ground, branches)
    }

    /// Returns a context on the base in a process of its own.
    fn reborn(&self) -> Context {
        root_on(Arc::clone(self.fs.inner()))
    }

    fn open(&self, base: Context) -> Branches {
        let store = Mortal { store: DiskStore::open(self.store.path()).unwrap(), left: Arc::clone(&self.left) };
        Branches::open(base, Options::default().sync_every(None), store).unwrap()
    }
}

fn context(branches: &Branches, name: &str) -> Context {
    root_on(branches.get(name).unwrap())
}

fn names(branches: &Branches) -> Vec<String> {
    branches.list().unwrap().into_iter().map(|branch| branch.name).collect()
}

/// Returns the paths that a branch has changed.
fn paths(branches: &Branches) -> Vec<String> {
    let changes = branches.diff("work").unwrap();
    changes.iter().map(Change::path).map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

fn commit_chosen(branches: &Branches) -> Result<(), pathwalk_branch::Error> {
    branches.commit_paths("work", &CHOSEN, &Resolution::default())
}

/// What ends at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Killed {
    Base,
    Store,
}

#[test]
fn a_commit_of_some_paths_is_whole_or_not_there() {
    let step = if std::env::var_os("PATHWALK_BRANCH_KILLS").is_some() { 1 } else { 17 };
    for (onto, killed) in [(Onto::Base, Killed::Base), (Onto::Base, Killed::Store), (Onto::Branch, Killed::Store)] {
        // What it comes to, if nothing fails: the other paths stay, and all is the whole.
        let (rest, part, whole) = {
            let (ground, branches) = Ground::new(onto);
            let whole = look(&context(&branches, "work"));
            commit_chosen(&branches).unwrap();
            let part = match onto {
                Onto::Base => look(&ground.reborn()),
                Onto::Branch => look(&context(&branches, "main")),
            };
            (paths(&branches), part, whole)
        };
        let (mut undone, mut done) = (0, 0);
        for call in (fastrand::usize(..step)..).step_by(step).map(|call| call as u64) {
            let what = format!("onto {onto:?}, {killed:?} killed at {call}");
            let (ground, branches) = Ground::new(onto);
            let of_base = look(&ground.reborn());
            let all = paths(&branches);
            match killed {
                Killed::Base => ground.fs.start(Plan::from(call, Fault::Error(Errno::EIO))),
                Killed::Store => ground.left.store(call, SeqCst),
            }
            let ended = commit_chosen(&branches);
            // What a process that is killed does not do.
            ground.left.store(0, SeqCst);
            drop(branches);
            ground.left.store(u64::MAX, SeqCst);
            let is_killed = ground.fs.stop().errors > 0 || ended.is_err();
            let branches = ground.open(ground.reborn());
            let expected: &[&str] = if onto == Onto::Base { &["work"] } else { &["main", "work"] };
            assert_eq!(names(&branches), expected, "{what}");
            assert_eq!(branches.check().unwrap(), [], "{what}");
            assert_eq!(ground.reborn().lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "{what}");
            let onto_now = || match onto {
                Onto::Base => look(&ground.reborn()),
                Onto::Branch => look(&context(&branches, "main")),
            };
            let now = onto_now();
            let is_done = now != of_base;
            assert!(!is_done || now == part, "{what}: {} and {}", differences(&now, &part), differences(&now, &of_base));
            assert_eq!(paths(&branches), if is_done { &rest[..] } else { &all[..] }, "{what}");
            let shown = look(&context(&branches, "work"));
            assert!(shown == whole, "{what}: {}", differences(&shown, &whole));
            branches.commit("work").unwrap_or_else(|error| panic!("{what}: {error}"));
            let now = onto_now();
            assert!(now == whole, "{what}: {}", differences(&now, &whole));
            if is_done {
                done += 1
            } else {
                undone += 1
            }
            if !is_killed {
                break;
            }
        }
        println!("onto {onto:?}, {killed:?} killed: {undone} not there, {done} whole");
        assert!(undone > 0 && done > 0);
    }
}
