//! Equal chunks of data that are stored once.
//!
//! `PATHWALK_BRANCH_ROUNDS` is the number of rounds of random writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use pathwalk::{Context, Credentials, Errno, OpenFlags, Vfs};
use pathwalk_branch::{
    Applied, Batch, BlobId, BlobStore, Branches, DiskStore, EqualChunks, Lease, Options, Resolution, Snapshot, Store,
};
use pathwalk_memfs::MemFs;

/// The size of the pieces that are compared.
const PIECE: usize = 64 << 10;

fn base() -> Context {
    Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root())
}

fn open(base: &Context, store: &tempfile::TempDir) -> Branches {
    open_in(base, DiskStore::open(store.path()).unwrap())
}

fn open_in(base: &Context, store: impl Store + 'static) -> Branches {
    let options = Options::default().sync_every(None).equal_chunks(EqualChunks::StoredOnce);
    Branches::open(base.clone(), options, store).unwrap()
}

fn context(branches: &Branches, name: &str) -> Context {
    let branch = branches.get(name).or_else(|_| branches.fork(None, name)).unwrap();
    Vfs::builder().build(branch).unwrap().context(Credentials::root())
}

fn data(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Rng::with_seed(seed);
    (0..length).map(|_| random.u8(..)).collect()
}

#[test]
fn equal_data_takes_space_once_in_all_branches_and_processes() {
    let (base, store, text) = (base(), tempfile::tempdir().unwrap(), data(1, 10 * PIECE + 5000));
    let branches = open(&base, &store);
    let one = context(&branches, "one");
    one.write("/file", &text).unwrap();
    one.write("/second", &text).unwrap();
    let once = branches.stored();
    assert!(once < text.len() as u64 + 8192, "{once}");
    branches.sync().unwrap();
    // Other branches of this process and of another one.
    context(&branches, "two").write("/file", &text).unwrap();
    let beside = open(&base, &store);
    let three = context(&beside, "three");
    three.write("/file", &text).unwrap();
    beside.sync().unwrap();
    assert_eq!(branches.stored(), once);
    // What differs in one piece takes that piece.
    let mut other = text.clone();
    other[5 * PIECE + 7] ^= 1;
    three.write("/other", &other).unwrap();
    assert!(beside.stored() < once + PIECE as u64 + 8192, "{}", beside.stored());
    assert!(three.read("/other").unwrap() == other && three.read("/file").unwrap() == text);
    beside.sync().unwrap();
    drop((beside, three, one));
    // It stays as long as one branch shows it.
    for name in ["one", "two"] {
        branches.drop(name).unwrap();
        branches.collect().unwrap();
    }
    drop(branches);
    let branches = open(&base, &store);
    assert_eq!(branches.check().unwrap(), []);
    let three = context(&branches, "three");
    assert!(three.read("/other").unwrap() == other && three.read("/file").unwrap() == text);
    // What is collected is stored again, and not looked for where it was.
    drop(three);
    branches.drop("three").unwrap();
    branches.collect().unwrap();
    assert_eq!(branches.collect().unwrap().rows, 0, "no row of a chunk is left");
    let four = context(&branches, "four");
    four.write("/file", &text).unwrap();
    branches.sync().unwrap();
    assert!(four.read("/file").unwrap() == text);
    assert_eq!(branches.check().unwrap(), []);
}

#[test]
fn the_row_of_a_chunk_is_small() {
    let bytes_of_rows = |chunks| {
        let (base, store) = (base(), tempfile::tempdir().unwrap());
        let options = Options::default().sync_every(None).equal_chunks(chunks);
        let branches = Branches::open(base, options, DiskStore::open(store.path()).unwrap()).unwrap();
        let work = context(&branches, "work");
        let file = work.open("/file", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        (0..1024).for_each(|at| file.write_all_at(&data(at, 4096), at * PIECE as u64).unwrap());
        branches.sync().unwrap();
        std::fs::metadata(store.path().join("rows")).unwrap().len()
    };
    let [without, with] = [EqualChunks::StoredAgain, EqualChunks::StoredOnce].map(bytes_of_rows);
    println!("a row of a chunk takes {} bytes", with.saturating_sub(without) / 1024);
    assert!(with < without + 1024 * 256, "{without}, {with}");
}

#[test]
fn what_a_damaged_store_has_is_not_shared() {
    let (base, store, text) = (base(), tempfile::tempdir().unwrap(), data(2, 2 * PIECE));
    {
        let branches = open(&base, &store);
        context(&branches, "work").write("/file", &text).unwrap();
        branches.sync().unwrap();
    }
    for segment in std::fs::read_dir(store.path().join("segments")).unwrap() {
        let path = segment.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[PIECE + 100] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let branches = open(&base, &store);
    let work = context(&branches, "work");
    work.write("/other", &text).unwrap();
    branches.sync().unwrap();
    assert!(work.read("/file").unwrap() != text && work.read("/other").unwrap() == text);
}

/// What is done meanwhile, once.
type Meanwhile = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// The time at which something is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// In a collection, when that has looked at the branches that are open.
    InCollection,
    /// When so many blobs were put.
    Put(u64),
}

/// A store in which something is done meanwhile.
struct Interrupted {
    store: DiskStore,
    when: When,
    is_alone: AtomicBool,
    puts: AtomicU64,
    meanwhile: Meanwhile,
}

impl Interrupted {
    fn new(directory: &tempfile::TempDir, when: When) -> (Interrupted, Meanwhile) {
        let (store, meanwhile) = (DiskStore::open(directory.path()).unwrap(), Meanwhile::default());
        let (is_alone, puts) = (AtomicBool::new(false), AtomicU64::new(0));
        (Interrupted { store, when, is_alone, puts, meanwhile: Arc::clone(&meanwhile) }, meanwhile)
    }

    fn interrupt(&self, is_now: bool) {
        let meanwhile = if is_now { self.meanwhile.lock().unwrap().take() } else { None };
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
    }
}

impl BlobStore for Interrupted {
    fn put(&self, data: &[u8]) -> Result<BlobId, Errno> {
        let put = self.puts.fetch_add(1, Relaxed);
        self.interrupt(self.when == When::Put(put));
        self.store.put(data)
    }

    fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno> {
        self.store.append(blob, at, data)
    }

    fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.store.read(blob, offset, buffer)
    }

    fn remove(&self, blob: BlobId, length: u64) {
        self.store.remove(blob, length);
    }

    fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    fn sync(&self) -> Result<(), Errno> {
        self.store.sync()
    }
}

impl Store for Interrupted {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, Errno> {
        self.interrupt(self.when == When::InCollection && self.is_alone.load(Relaxed));
        self.store.snapshot()
    }

    fn apply(&self, batch: &Batch) -> Result<Applied, Errno> {
        self.store.apply(batch)
    }

    fn lease(&self, number: u64) -> Result<Option<Lease>, Errno> {
        self.store.lease(number)
    }

    fn alone(&self) -> Result<Option<Lease>, Errno> {
        self.is_alone.store(true, Relaxed);
        self.store.alone()
    }

    fn retain(&self, live: &[(BlobId, u64)]) -> Result<u64, Errno> {
        self.store.retain(live)
    }
}

#[test]
fn what_a_collection_is_about_to_free_is_not_shared() {
    let (base, directory, text) = (base(), tempfile::tempdir().unwrap(), data(3, 3 * PIECE));
    {
        let branches = open(&base, &directory);
        context(&branches, "one").write("/file", &text).unwrap();
        context(&branches, "two");
        branches.sync().unwrap();
        branches.drop("one").unwrap();
    }
    let (store, meanwhile) = Interrupted::new(&directory, When::InCollection);
    let branches = open_in(&base, store);
    let two = context(&branches, "two");
    let (work, written) = (two.clone(), text.clone());
    *meanwhile.lock().unwrap() = Some(Box::new(move || work.write("/file", written).unwrap()));
    branches.collect().unwrap();
    assert!(meanwhile.lock().unwrap().is_none(), "it was written");
    assert!(two.read("/file").unwrap() == text);
    branches.sync().unwrap();
    assert_eq!(branches.check().unwrap(), []);
}

#[test]
fn what_is_kept_for_an_undo_is_not_collected_meanwhile() {
    let (base, directory, text) = (base(), tempfile::tempdir().unwrap(), data(4, 1 << 20));
    // More than a segment has, of which the last is never collected.
    let file = base.open("/file", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    (0..70).for_each(|at| file.write_all_at(&text, at << 20).unwrap());
    let (store, meanwhile) = Interrupted::new(&directory, When::Put(68));
    let branches = Arc::new(open_in(&base, store));
    context(&branches, "work").remove_file("/file").unwrap();
    let (sender, collected) = std::sync::mpsc::channel();
    let collecting = Arc::clone(&branches);
    *meanwhile.lock().unwrap() = Some(Box::new(move || {
        let thread = std::thread::spawn(move || collecting.collect().map(drop));
        // It is over by then, unless it waits.
        std::thread::sleep(Duration::from_millis(500));
        sender.send(thread).unwrap();
    }));
    branches.commit_undoable("work", &Resolution::default(), "undo").unwrap();
    collected.recv().unwrap().join().unwrap().unwrap();
    branches.commit("undo").unwrap();
    let there = base.read("/file").unwrap();
    assert!(there.len() == 70 << 20 && there.chunks(text.len()).all(|part| part == text));
}

/// Does a random change of a branch, and the same of a copy of its files.
fn change(work: &Context, files: &mut [Vec<u8>; 3], random: &mut Rng) {
    let (file, of) = (random.usize(..3), random.u64(..3));
    let at = [0, PIECE, 2 * PIECE, random.usize(..3 * PIECE)][random.usize(..4)];
    let length = [PIECE, 3 * PIECE, 5000, random.usize(1..4 * PIECE)][random.usize(..4)];
    let text = data(of, length);
    let opened = work.open(format!("/{file}"), OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    let copy = &mut files[file];
    if random.u8(..8) == 0 {
        opened.set_len(at as u64).unwrap();
        copy.resize(at, 0);
    } else {
        opened.write_all_at(&text, at as u64).unwrap();
        copy.resize(copy.len().max(at + length), 0);
        copy[at..at + length].copy_from_slice(&text);
    }
}

#[test]
fn random_writes_beside_collections_show_what_was_written() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(1, |rounds| rounds.parse().expect("it is a number"));
    for round in 0..rounds {
        let (base, store, is_over) = (base(), tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let mut branches = open(&base, &store);
        let mut all: [[Vec<u8>; 3]; 3] = Default::default();
        for part in 0..4 {
            std::thread::scope(|scope| {
                let (branches, is_over) = (&branches, &is_over);
                let works: Vec<_> = all
                    .iter_mut()
                    .zip(0u64..)
                    .map(|(files, number)| {
                        scope.spawn(move || {
                            let mut random = Rng::with_seed(seed ^ round << 8 ^ part << 4 ^ number);
                            let work = context(branches, &number.to_string());
                            for _ in 0..60 {
                                change(&work, files, &mut random);
                                if random.u8(..8) == 0 {
                                    work.syncfs("/").unwrap();
                                }
                            }
                        })
                    })
                    .collect();
                let collections = scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        branches.collect().unwrap();
                    }
                });
                works.into_iter().for_each(|work| work.join().unwrap());
                is_over.store(true, Relaxed);
                collections.join().unwrap();
            });
            is_over.store(false, Relaxed);
            branches.sync().unwrap();
            if part % 2 == 1 {
                drop(branches);
                branches = open(&base, &store);
            }
            assert_eq!(branches.check().unwrap(), [], "seed {seed}, round {round}");
            for (number, files) in all.iter().enumerate() {
                let work = context(&branches, &number.to_string());
                for (name, copy) in files.iter().enumerate().filter(|(_, copy)| !copy.is_empty()) {
                    assert!(work.read(format!("/{name}")).unwrap() == *copy, "seed {seed}, round {round}: {number}, {name}");
                }
            }
        }
    }
}
