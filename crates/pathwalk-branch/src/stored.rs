//! Branches in a store.
//!
//! The rows of the store are what counts: each operation on the list of branches is one batch. In
//! memory are the branches that this process uses, each under a lease, so that no other process
//! uses it; what others see of it is what was synced last.
//!
//! # Locks
//!
//! From the outside in: the table of open branches; `saving` of a branch, so that an older state
//! is not stored over a newer one; the tree of a branch; `saving` of the store. The base is asked
//! under all of them. `collecting` of the chunks is between the first two; a writer that holds the
//! tree of a branch does not wait for it, and a commit holds it only while it asks the base.

mod check;
mod chunks;
mod collect;
mod commit;
mod copy;
mod encoding;
mod keeper;
mod part;
mod restored;
mod table;
mod trees;
mod undo;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use pathwalk::{Errno, HandleFlags};

use crate::base::{Base, FIRST_NEW};
use crate::blobs::BlobStore;
use crate::branch::{Inner, NameHash, Shared};
use crate::branches::{Branch, BranchInfo};
use crate::error::Error;
use crate::numbers::Numbers;
use crate::rows::Row;
use crate::store::{Applied, Batch, Lease, Snapshot, Store};
use crate::tree::Tree;
use encoding::{OfBranch, OfRoot, OfStore, of_time, time};
use table::{OF_BRANCHES, RANGES, SHARED, Step, branch_key, counter, undo_key};

pub use check::Damage;
pub use collect::Collected;
pub(crate) use keeper::Keeper;

/// The numbers of a range.
const RANGE: u64 = 1 << 32;

/// The ranges of which numbers of new nodes are made.
const RANGES_OF_NODES: u64 = (u64::MAX - FIRST_NEW) / RANGE;

/// What is kept of a store in memory.
pub(crate) struct Stored {
    store: Arc<dyn Store>,
    blobs: Arc<dyn BlobStore>,
    known: trees::Known,
    chunks: chunks::Chunks,
    /// The counter of nodes of trees and origins.
    numbers: Numbers,
    saving: Mutex<()>,
    open: Mutex<Open>,
    /// All branches that are in memory, those that were dropped from the list included.
    used: Mutex<Vec<Weak<Inner>>>,
    /// What tells values that this process has set from those of others.
    random: u64,
    values: AtomicU64,
}

/// What becomes of the parent of a branch that is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Above {
    Stays,
    /// It gets another root, and new forks.
    Gets {
        root: u64,
        forks: u32,
    },
}

/// The branches that are open here, by their names.
type Open = BTreeMap<String, Branch>;

/// The place of an open branch in the store.
pub(crate) struct Home {
    name: String,
    id: u64,
    /// Held while the branch is stored. It has the number of changes that were stored last.
    saving: Mutex<u64>,
    /// Dropped with the branch.
    _lease: Lease,
}

impl Home {
    /// Returns the number of the branch, which no other branch of the store ever has.
    pub(crate) fn number(&self) -> u64 {
        self.id
    }
}

/// Returns what makes an error of the store of its errno.
fn store_error(action: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| Error::Store { action, errno }
}

/// Reserves ranges of numbers.
fn reserve(store: &dyn Store) -> Result<u64, Errno> {
    loop {
        let value = store.snapshot()?.get(RANGES)?;
        let next = counter(value.clone())?;
        let mut batch = Batch::default();
        batch.check(RANGES, value.as_deref());
        batch.put(RANGES, &(next + 1).to_be_bytes());
        if next >= RANGES_OF_NODES {
            return Err(Errno::ENOSPC);
        }
        if store.apply(&batch)? == Applied::Done {
            return Ok(next);
        }
    }
}

fn range(number: u64, from: u64) -> Range<u64> {
    // 0 is the number of what was not stored.
    let start = from + number * RANGE;
    start.max(1)..start + RANGE
}

/// Returns the counter of new nodes of a store's branches.
pub(crate) fn node_numbers(store: &Arc<dyn Store>) -> Numbers {
    let store = Arc::clone(store);
    Numbers::reserved(move || Ok(range(reserve(&*store)?, FIRST_NEW)))
}

impl Stored {
    pub(crate) fn new(store: Arc<dyn Store>) -> Stored {
        let of_numbers = Arc::clone(&store);
        Stored {
            blobs: Arc::clone(&store) as Arc<dyn BlobStore>,
            known: trees::Known::default(),
            chunks: chunks::Chunks::default(),
            numbers: Numbers::reserved(move || Ok(range(reserve(&*of_numbers)?, 0))),
            saving: Mutex::default(),
            open: Mutex::default(),
            used: Mutex::default(),
            random: RandomState::new().hash_one("random"),
            values: AtomicU64::new(0),
            store,
        }
    }

    pub(crate) fn blobs(&self) -> &Arc<dyn BlobStore> {
        &self.blobs
    }

    /// Returns a value that no other call returns.
    fn new_value(&self) -> [u8; 16] {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&self.random.to_be_bytes());
        value[8..].copy_from_slice(&self.values.fetch_add(1, Relaxed).to_be_bytes());
        value
    }

    /// Returns the hash of names that the store has, which gets one if it is new. Fails if the
    /// store is of another base, or of another version.
    pub(crate) fn hasher(&self, base: &Base) -> Result<NameHash, Error> {
        let failed = || store_error("read what the store is for");
        let root = root_of(base).map_err(Error::base("look at the base"))?;
        loop {
            if let Some(value) = self.snapshot()?.get(SHARED).map_err(failed())? {
                if encoding::is_other_version(&value) {
                    return Err(Error::OtherVersion);
                }
                let shared: OfStore = encoding::decode(&value).map_err(failed())?;
                let (one, two) = shared.hash_key;
                return if shared.root == root { Ok(NameHash::with_key(one, two)) } else { Err(Error::OtherBase) };
            }
            let random = RandomState::new();
            let hash_key = (random.hash_one(1), random.hash_one(2));
            let root = root_of(base).map_err(Error::base("look at the base"))?;
            let value = encoding::encode(&OfStore { hash_key, root }).map_err(failed())?;
            let mut batch = Batch::default();
            batch.check(SHARED, None);
            batch.put(SHARED, &value);
            self.store.apply(&batch).map_err(failed())?;
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, Error> {
        self.store.snapshot().map_err(store_error("read the store"))
    }

    fn row(&self, snapshot: &dyn Snapshot, name: &str) -> Result<OfBranch, Error> {
        let value = snapshot.get(&branch_key(name)).and_then(|value| value.map(|value| encoding::decode(&value)).transpose());
        value.map_err(store_error("read the store"))?.ok_or_else(|| Error::NoBranch(name.to_owned()))
    }

    /// Returns whether there is a branch of this name.
    pub(crate) fn has(&self, name: &str) -> Result<bool, Error> {
        let found = self.snapshot()?.get(&branch_key(name)).map_err(store_error("read the store"))?;
        Ok(found.is_some())
    }

    /// Forks a branch, or the base. The fork is not opened.
    pub(crate) fn fork(&self, shared: &Arc<Shared>, parent: Option<&str>, name: &str) -> Result<(), Error> {
        self.fork_and_tell(shared, parent, name, &mut || {})
    }

    /// Does the same, and calls `decided` once nothing but the disk is waited for.
    pub(crate) fn fork_and_tell(
        &self,
        shared: &Arc<Shared>,
        parent: Option<&str>,
        name: &str,
        decided: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let action = "store the fork";
        let failed = || store_error(action);
        // Of a branch that is open here, the fork gets the state of now.
        let open = parent.and_then(|parent| self.open.lock().get(parent).cloned());
        let tree = open.map(|branch| branch.0.snapshot());
        let fork = |step: &mut Step<'_>| {
            if step.branch(name).map_err(failed())?.is_some() {
                return Err(Error::Exists(name.to_owned()));
            }
            let mut root = 0;
            if let Some(parent) = parent {
                let mut row = step.branch(parent).map_err(failed())?.ok_or_else(|| Error::NoBranch(parent.to_owned()))?;
                row.forks += 1;
                step.put_branch(parent, &row).map_err(failed())?;
                root = row.root;
            }
            if let Some(tree) = &tree {
                root = step.save(tree).map_err(failed())?;
            }
            let (id, parent, created) = (step.new_branch().map_err(failed())?, parent.map(str::to_owned), shared.now());
            let row = OfBranch { id, parent, created: of_time(created), note: String::new(), root, forked: root, forks: 0 };
            step.put_branch(name, &row).map_err(failed())
        };
        self.change_and_tell(&shared.base, action, fork, decided)
    }

    /// Returns a branch, which is opened if it is not open here. `InUse` if another process has it
    /// open.
    pub(crate) fn get(&self, shared: &Arc<Shared>, name: &str) -> Result<Branch, Error> {
        let mut open = self.open.lock();
        if let Some(branch) = open.get(name) {
            return Ok(branch.clone());
        }
        let failed = || store_error("open the branch");
        let id = self.row(&*self.snapshot()?, name)?.id;
        let lease = self.store.lease(id).map_err(failed())?.ok_or_else(|| Error::InUse(name.to_owned()))?;
        // Another process may have stored it, or dropped it, before the lease.
        let snapshot = self.snapshot()?;
        let row = self.row(&*snapshot, name)?;
        let is_undo_to_be = snapshot.get(&undo_key(name)).map_err(failed())?.is_some();
        if row.id != id || is_undo_to_be {
            return Err(Error::InUse(name.to_owned()));
        }
        let tree = self.load(&shared.base, &*snapshot, row.root).map_err(failed())?;
        let home = Home { name: name.to_owned(), id, saving: Mutex::new(0), _lease: lease };
        let branch = Branch(Inner::new(shared, tree, Some(home)));
        self.note_used(&branch);
        open.insert(name.to_owned(), branch.clone());
        Ok(branch)
    }

    /// Returns views of what a branch was forked from, and of the branch: as it is now, if it is
    /// open here, else as it was synced last.
    pub(crate) fn views(&self, shared: &Arc<Shared>, name: &str) -> Result<[Branch; 2], Error> {
        // As for a branch that is opened: no data is collected meanwhile.
        let open = self.open.lock();
        let (old, new) = self.states_with(&open, shared, name)?;
        let views = [old, new].map(|tree| Branch(Inner::new(shared, tree, None)));
        views.iter().for_each(|view| self.note_used(view));
        Ok(views)
    }

    /// Keeps the data of a branch from being collected, as long as it is used.
    pub(crate) fn note_used(&self, branch: &Branch) {
        let mut used = self.used.lock();
        used.retain(|branch| branch.strong_count() > 0);
        used.push(Arc::downgrade(&branch.0));
    }

    /// Returns what is known of all branches, sorted by their names.
    pub(crate) fn list(&self) -> Result<Vec<BranchInfo>, Error> {
        let mut all = Vec::new();
        let mut each = |key: &[u8], value: &[u8]| {
            // A check finds those that cannot be read.
            if let Ok(OfBranch { parent, created, note, .. }) = encoding::decode(value) {
                let name = String::from_utf8_lossy(&key[OF_BRANCHES.len()..]).into_owned();
                all.push(BranchInfo { name, parent, created: time(created), note });
            }
            Ok(())
        };
        self.snapshot()?.scan(OF_BRANCHES, &mut each).map_err(store_error("list the branches"))?;
        Ok(all)
    }

    pub(crate) fn set_note(&self, base: &Base, name: &str, note: &str) -> Result<(), Error> {
        let action = "store the note";
        self.change(base, action, |step| {
            let row = step.branch(name).map_err(store_error(action))?;
            let mut row = row.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
            row.note = note.to_owned();
            step.put_branch(name, &row).map_err(store_error(action))
        })
    }

    /// Drops a branch, which has no forks. `InUse` if another process has it open.
    pub(crate) fn drop(&self, base: &Base, name: &str) -> Result<(), Error> {
        self.drop_with(base, (name, None), |step| step.take_part(name).map(drop).map_err(store_error("drop the branch")))
    }

    /// Drops a branch in one batch with another change. With a number, `NoBranch` if the name is
    /// that of another branch by now.
    fn drop_with<R: Default>(
        &self,
        base: &Base,
        (name, number): (&str, Option<u64>),
        change: impl Fn(&mut Step<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let action = "drop the branch";
        let mut open = self.open.lock();
        let mut lease = None;
        let result = self.change(base, action, |step| {
            let row = match step.branch(name) {
                // No more can be dropped of one whose row cannot be read.
                Err(Errno::EIO) if number.is_none() => {
                    step.delete_branch(name);
                    return Ok(R::default());
                }
                row => row.map_err(store_error(action))?,
            };
            let row = row.filter(|row| number.is_none_or(|number| number == row.id));
            let row = row.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
            if !open.contains_key(name) && lease.is_none() {
                let taken = self.store.lease(row.id).map_err(store_error(action))?;
                lease = Some(taken.ok_or_else(|| Error::InUse(name.to_owned()))?);
            }
            self.leave(step, name, &row, Above::Stays)?;
            change(step)
        })?;
        open.remove(name);
        Ok(result)
    }

    /// Drops a branch in a batch.
    fn leave(&self, step: &mut Step<'_>, name: &str, row: &OfBranch, gets: Above) -> Result<(), Error> {
        self.check_no_forks(step.snapshot, name, row)?;
        step.delete_branch(name);
        let failed = || store_error("drop the branch");
        if let Some(parent) = &row.parent
            && let Some(mut above) = step.branch(parent).map_err(failed())?
        {
            above.forks = above.forks.saturating_sub(1);
            if let Above::Gets { root, forks } = gets {
                (above.root, above.forks) = (root, above.forks + forks);
            }
            step.put_branch(parent, &above).map_err(failed())?;
        }
        Ok(())
    }

    fn check_no_forks(&self, snapshot: &dyn Snapshot, name: &str, row: &OfBranch) -> Result<(), Error> {
        if row.forks == 0 {
            return Ok(());
        }
        let mut forks = Vec::new();
        let mut each = |key: &[u8], value: &[u8]| {
            let row: OfBranch = encoding::decode(value)?;
            if row.parent.as_deref() == Some(name) {
                forks.push(String::from_utf8_lossy(&key[OF_BRANCHES.len()..]).into_owned());
            }
            Ok(())
        };
        snapshot.scan(OF_BRANCHES, &mut each).map_err(store_error("list the branches"))?;
        Err(Error::HasForks { name: name.to_owned(), forks })
    }

    /// Returns what a branch was forked from, and the branch as it is now, if it is open here, else
    /// as it was synced last.
    pub(crate) fn states(&self, shared: &Shared, name: &str) -> Result<(Tree<Row>, Tree<Row>), Error> {
        let open = self.open.lock();
        self.states_with(&open, shared, name)
    }

    fn states_with(&self, open: &Open, shared: &Shared, name: &str) -> Result<(Tree<Row>, Tree<Row>), Error> {
        let failed = || store_error("read the branch");
        let snapshot = self.snapshot()?;
        let row = self.row(&*snapshot, name)?;
        let old = self.load(&shared.base, &*snapshot, row.forked).map_err(failed())?;
        let new = match open.get(name) {
            Some(branch) => branch.0.snapshot(),
            None => self.load(&shared.base, &*snapshot, row.root).map_err(failed())?,
        };
        Ok((old, new))
    }

    /// Stores the state of an open branch. Returns at once if it is stored already, if the branch
    /// was dropped, and if it is held.
    pub(crate) fn sync(&self, branch: &Inner, home: &Home) -> Result<(), Error> {
        let action = "store the branch";
        let failed = || store_error(action);
        if branch.is_held_back() {
            return Ok(());
        }
        let mut saving = home.saving.lock();
        // Before the tree: a change in between is stored once more.
        let changes = branch.changes();
        if *saving == changes {
            return Ok(());
        }
        let tree = branch.snapshot();
        self.change(&branch.shared.base, action, |step| {
            let row = step.branch(&home.name).map_err(failed())?.filter(|row| row.id == home.id);
            let Some(mut row) = row else { return Ok(()) };
            row.root = step.save(&tree).map_err(failed())?;
            step.put_branch(&home.name, &row).map_err(failed())
        })?;
        *saving = changes;
        Ok(())
    }

    /// Closes all branches, but for those that are in use elsewhere.
    pub(crate) fn close(&self) {
        let open = std::mem::take(&mut *self.open.lock());
        // They end without the lock.
        drop(open);
    }

    /// Stores all branches that are open here. Returns the first error.
    pub(crate) fn sync_all(&self) -> Result<(), Error> {
        let open: Vec<_> = self.open.lock().values().cloned().collect();
        let results: Vec<_> = open.iter().map(|branch| branch.0.sync()).collect();
        results.into_iter().collect()
    }
}

/// Returns what tells the base from others.
fn root_of(base: &Base) -> Result<OfRoot, Errno> {
    let attributes = base.root().attributes()?;
    let handle = base.context().name_to_handle_at(base.root(), "", HandleFlags::EMPTY_PATH);
    let handle = handle.ok().map(|(handle, _)| handle.to_bytes());
    Ok(OfRoot { handle, ino: attributes.ino, btime: attributes.btime.map(of_time) })
}
