//! One branch: its tree, the nodes of it that are held, and the operations on them.
//!
//! # Locks
//!
//! From the outside in; a thread that holds one of them takes only those further down:
//!
//! 1. `tree`: shared by what reads, exclusive for changes. It is held while the base is asked, so
//!    an answer is put together of one state of the branch. The base calls nothing here.
//! 2. `live`: the nodes that are held. Nothing is asked under it.
//!
//! Reports to the caches go out under neither, but for those of a commit: it holds `tree` until all
//! are made, which is possible since a report waits for no lock that is held over a call of a file
//! system.
//!
//! # Life of a node
//!
//! A node with attributes in the tree lives as long as it has a name or is held. One that has lost
//! its last name is an *orphan* until it is forgotten; then its rows go. A fork does not get the
//! orphans of its parent.

mod attributes;
mod copy;
mod copy_up;
mod data;
mod find;
mod handles;
mod held;
mod listing;
mod live;
mod names;
mod remove;
mod rename;
mod space;
mod text;
mod xattr;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use pathwalk::{Device, Errno, FileType, Notifier, Timestamp};

use crate::base::Base;
use crate::blobs::BlobStore;
use crate::error::Error;
use crate::events::Pump;
use crate::extents::ExtentsMut;
use crate::options::{EqualChunks, Options};
use crate::rows::{self, Counted, Names, Record, Row, Tag};
use crate::spares::Spares;
use crate::stamp::Stamp;
use crate::stored::{Home, Stored};
use crate::tree::Tree;
use live::Live;
use siphasher::sip::SipHasher13;

pub(crate) use copy_up::{KEPT_INODE_FLAGS, copied_up, shows_base_alone};
pub(crate) use data::BaseFiles;
pub(crate) use find::{Found, number_of, shows_of_base};
pub(crate) use listing::BaseNames;
pub(crate) use live::Way;
pub(crate) use names::count_names;
pub(crate) use remove::has_one_name;
pub(crate) use rename::{Side, has_name, place};

/// The number of bits of a hash of a name. So cookies are far below the greatest offset.
const HASH_BITS: u32 = 61;

/// What all branches of one base share.
pub(crate) struct Shared {
    pub(crate) base: Base,
    pub(crate) store: Arc<dyn BlobStore>,
    pub(crate) options: Options,
    /// The hash of names, which other programs cannot predict: it is their place in listings.
    hasher: NameHash,
    /// The number of the root of the base, and of each branch.
    pub(crate) root: u64,
    pub(crate) pump: Pump,
    /// The store of the branches, if they outlive the process.
    pub(crate) stored: Option<Arc<Stored>>,
    /// The files that commits may use up.
    pub(crate) spares: Mutex<Option<Arc<dyn Spares>>>,
}

/// The hash of names. A store keeps its key.
#[derive(Clone)]
pub(crate) struct NameHash(SipHasher13);

impl NameHash {
    pub(crate) fn random() -> NameHash {
        let random = RandomState::new();
        NameHash::with_key(random.hash_one(1), random.hash_one(2))
    }

    pub(crate) fn with_key(one: u64, two: u64) -> NameHash {
        NameHash(SipHasher13::new_with_keys(one, two))
    }
}

impl BuildHasher for NameHash {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        self.0
    }
}

/// A branch, as its file systems and [`Branches`](crate::Branches) have it.
pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    tree: RwLock<Tree<Row>>,
    live: Mutex<Live>,
    notifiers: Mutex<Vec<Notifier>>,
    device: Device,
    /// Where it is stored, if it outlives the process.
    home: Option<Home>,
    /// A number that no other branch of the list ever has.
    number: u64,
    /// The number of changes, and of attempts at one.
    changes: AtomicU64,
    /// The store of the data that is written, while the branch is held. It is set under the lock of
    /// the tree.
    held: RwLock<Option<Arc<dyn BlobStore>>>,
}

/// What keeps the data of branches.
pub(crate) enum Data {
    /// A store of data alone: branches end with the process.
    Blobs(Arc<dyn BlobStore>),
    Stored(Arc<Stored>),
}

impl Shared {
    pub(crate) fn new(base: Base, data: Data, options: Options, hasher: NameHash) -> Result<Shared, Errno> {
        let root = base.number(base.root(), &base.root().attributes()?)?;
        let pump = Pump::new(&base, options.base_changes)?;
        let (store, stored) = match data {
            Data::Blobs(store) => (store, None),
            Data::Stored(stored) => (Arc::clone(stored.blobs()), Some(stored)),
        };
        Ok(Shared { base, store, options, hasher, root, pump, stored, spares: Mutex::default() })
    }

    /// Returns the store, if equal chunks are stored once.
    fn store_of_chunks(&self) -> Option<&Stored> {
        self.stored.as_deref().filter(|_| self.options.equal_chunks == EqualChunks::StoredOnce)
    }

    /// Writes data to a file's extents, in the store of the branches.
    fn write(&self, extents: &mut ExtentsMut<'_>, data: &[u8], offset: u64) -> Result<(), Errno> {
        match self.store_of_chunks() {
            Some(stored) => stored.write_chunks(extents, data, offset),
            None => extents.write(data, offset, &self.store),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.options.now()
    }

    /// Returns a number that tells these branches from others.
    pub(crate) fn identity(&self) -> u64 {
        self.hasher.hash_one("identity")
    }

    pub(crate) fn hash(&self, name: &[u8]) -> u64 {
        self.hasher.hash_one(name) >> (u64::BITS - HASH_BITS)
    }

    /// Returns the key of an entry.
    pub(crate) fn entry_key(&self, dir: u64, name: &[u8]) -> rows::KeyBytes {
        rows::entry(dir, self.hash(name), name)
    }
}

impl Inner {
    /// Creates a branch with this tree.
    pub(crate) fn new(shared: &Arc<Shared>, tree: Tree<Row>, home: Option<Home>) -> Arc<Inner> {
        // As the kernel numbers file systems without a device. The numbers are above those of
        // `pathwalk-memfs`, as far as there are fewer than half a million file systems of each.
        static NEXT_DEVICE: AtomicU32 = AtomicU32::new(0);
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
        let minor = 0x8_0000 | NEXT_DEVICE.fetch_add(1, Relaxed) & 0x7_ffff;
        // Relaxed: the numbers only have to differ.
        let number = home.as_ref().map_or_else(|| NEXT_NUMBER.fetch_add(1, Relaxed), Home::number);
        let branch = Arc::new(Inner {
            shared: Arc::clone(shared),
            tree: RwLock::new(tree),
            live: Mutex::default(),
            notifiers: Mutex::default(),
            device: Device { major: 0, minor },
            home,
            number,
            changes: AtomicU64::new(0),
            held: RwLock::default(),
        });
        shared.pump.add(&branch);
        branch
    }

    /// Returns the tree as it is now, without the nodes that have no name: constant time, and one
    /// step for each of those.
    pub(crate) fn snapshot(&self) -> Tree<Row> {
        let (tree, orphans) = {
            let tree = self.tree.read();
            (tree.clone(), self.live.lock().orphans())
        };
        without(tree, orphans)
    }

    /// Gives the nodes without a name, which one tree of this branch has, to another. Those that
    /// have names there are as they are there.
    pub(crate) fn keep_orphans(&self, from: &Tree<Row>, to: &mut Tree<Row>) {
        let mut live = self.live.lock();
        for number in live.orphans() {
            let origin = record(from, number).and_then(|record| record.origin.as_ref());
            let shows = origin.is_some_and(|origin| find::shows_of_base(&self.shared, to, number, origin) == Some(true));
            if shows || record(to, number).is_some_and(|record| record.attributes.nlink > 0) {
                live.named(number);
                continue;
            }
            from.with_prefix(&number.to_be_bytes()).for_each(|(key, row)| _ = to.insert(key, row.clone()));
        }
    }

    /// Returns a tree of this branch without the nodes that have no name, and without these.
    pub(crate) fn without_orphans(&self, tree: Tree<Row>, more: &BTreeSet<u64>) -> Tree<Row> {
        let orphans = self.live.lock().orphans();
        // One may have got a name in this tree.
        let is_unnamed = |number: &u64| record(&tree, *number).is_some_and(|record| record.attributes.nlink == 0);
        let unnamed: Vec<u64> = orphans.into_iter().filter(is_unnamed).collect();
        without(tree, unnamed.into_iter().chain(more.iter().copied()))
    }

    /// Locks the tree for a change.
    pub(crate) fn lock(&self) -> RwLockWriteGuard<'_, Tree<Row>> {
        let tree = self.tree.write();
        // Relaxed: it is read by a thread that then locks the tree, or finds an older number.
        self.changes.fetch_add(1, Relaxed);
        tree
    }

    /// Returns a number that grows with each change. All changes up to it show in a tree that is
    /// read afterwards.
    pub(crate) fn changes(&self) -> u64 {
        let _tree = self.tree.read();
        self.changes.load(Relaxed)
    }

    /// Passes all rows to `each`.
    pub(crate) fn each_row(&self, each: impl FnMut(&Row)) {
        self.tree.read().range(b"").map(|(_, row)| row).for_each(each);
    }

    /// Returns a number that no other branch of the list ever has.
    pub(crate) fn branch_number(&self) -> u64 {
        self.number
    }

    pub(crate) fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// Makes the branch durable as it is now, if it outlives the process.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        match (&self.shared.stored, &self.home) {
            (Some(stored), Some(home)) => stored.sync(self, home),
            _ => Ok(()),
        }
    }

    pub(crate) fn attach(&self, notifier: Notifier) {
        self.notifiers.lock().push(notifier);
    }

    /// Passes each handle for reports to `report`.
    pub(crate) fn notify(&self, report: impl Fn(&Notifier)) {
        let notifiers = self.notifiers.lock().clone();
        notifiers.iter().for_each(report);
    }
}

/// Returns the attributes of a node that the tree has.
pub(crate) fn record(tree: &Tree<Row>, number: u64) -> Option<&Record> {
    match tree.get(&rows::of(number, Tag::Record)) {
        Some(Row::Record(record)) => Some(record),
        _ => None,
    }
}

/// Returns the attributes of a node that the tree has, for a change.
pub(crate) fn record_mut(tree: &mut Tree<Row>, number: u64) -> Result<&mut Record, Errno> {
    match tree.get_mut(&rows::of(number, Tag::Record)) {
        Some(Row::Record(record)) => Ok(Arc::make_mut(record)),
        _ => Err(Errno::ESTALE),
    }
}

/// Returns a tree without some nodes.
fn without(mut tree: Tree<Row>, numbers: impl IntoIterator<Item = u64>) -> Tree<Row> {
    numbers.into_iter().for_each(|number| free(&mut tree, number));
    tree
}

/// Removes all rows of a node, but for what it was, if no entry says it, and the text that is kept
/// of it: another file may have taken its name.
pub(crate) fn free(tree: &mut Tree<Row>, number: u64) {
    let prefix = number.to_be_bytes();
    let removed = removed(tree, number);
    let is_text = |key: &[u8]| matches!(rows::parts(key), Some((_, Tag::Text, _)));
    let keys: Vec<_> = tree.with_prefix(&prefix).map(|(key, _)| key.clone()).filter(|key| !is_text(key)).collect();
    keys.iter().for_each(|key| _ = tree.remove(key));
    if let Some(stamp) = removed {
        tree.insert(&rows::of(number, Tag::Removed), Row::Removed(stamp));
    }
}

/// Returns the stamp of a node of the base that is removed, if no entry has it.
fn removed(tree: &Tree<Row>, number: u64) -> Option<Stamp> {
    if let Some(Row::Removed(stamp)) = tree.get(&rows::of(number, Tag::Removed)) {
        return Some(*stamp);
    }
    match record(tree, number)? {
        Record { counted: Counted::Alone, origin: Some(origin), names, .. } => Some(match names {
            Names::Merged => origin.stamp().with(names::contents(tree, number).0),
            Names::Own => origin.stamp(),
        }),
        _ => None,
    }
}

impl Record {
    pub(crate) fn kind(&self) -> FileType {
        self.attributes.kind
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// Notes a change of the attributes.
    pub(crate) fn touch_ctime(&mut self, now: Timestamp) {
        self.attributes.ctime = now;
    }

    /// Notes a change of the data or the names.
    pub(crate) fn touch(&mut self, now: Timestamp) {
        self.attributes.mtime = now;
        self.touch_ctime(now);
    }
}
