//! Losses of power at every write of random histories.
//!
//! `PATHWALK_STORE_HISTORIES` is the number of histories. In each, branches are changed, synced,
//! forked, committed and dropped, and the store is closed and opened. For each write, the store is
//! opened as a loss of power after it leaves it. It then has all branches as they were after the
//! last operation that was done, or after the one that was under way.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fastrand::Rng;
use pathwalk::{Context, Credentials, FileType, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;

use super::recorder::{Done, History, Loss, Recorded, cut};
use super::*;
use crate::{Branches, EqualChunks, Options};

/// The data of all files of a branch, by their paths.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// The content of all branches by their names.
type State = BTreeMap<String, Content>;

fn open(files: Arc<dyn Files>, directory: &Path, (base, chunks): (&Context, EqualChunks)) -> Branches {
    let store = DiskStore::over(files, directory).expect("it can be opened");
    let options = Options::default().sync_every(None).equal_chunks(chunks);
    Branches::open(base.clone(), options, store).expect("it is of this base")
}

fn context(branches: &Branches, name: &str) -> Context {
    let branch = branches.get(name).expect("it is there");
    Vfs::builder().build(branch).expect("there is a root").context(Credentials::root())
}

fn look(context: &Context) -> Content {
    let (mut all, mut open) = (Content::new(), vec![Vec::new()]);
    while let Some(dir) = open.pop() {
        let shown = if dir.is_empty() { b"/".to_vec() } else { dir.clone() };
        for entry in context.read_dir(&shown).expect("it is a directory") {
            let entry = entry.expect("it is listed");
            let path = [&dir, &b"/"[..], entry.name()].concat();
            let data = match context.lstat(&path).expect("it was listed").kind {
                FileType::Directory => {
                    open.push(path.clone());
                    Vec::new()
                }
                _ => context.read(&path).expect("all data is there"),
            };
            all.insert(path, data);
        }
    }
    all
}

fn look_at_all(branches: &Branches) -> State {
    let names = branches.list().expect("it can be read").into_iter().map(|info| info.name);
    names.map(|name| (name.clone(), look(&context(branches, &name)))).collect()
}

fn change(context: &Context, random: &mut Rng) {
    let path = |random: &mut Rng| format!("/{}", ["a", "b", "c", "d/a", "d/b", "d"][random.usize(..6)]);
    let (one, other) = (path(random), path(random));
    // Many are equal.
    let length = [2000, 9000, random.usize(..9000)][random.usize(..3)];
    let data = vec![random.u8(..4); length];
    // Many of these fail.
    _ = match random.u8(..8) {
        0..3 => context.write(&one, data).is_ok(),
        3 | 4 => context.open(&one, OpenFlags::WRITE).and_then(|file| file.write_at(&data, random.u64(..9000))).is_ok(),
        5 => context.rename(&one, &other).is_ok(),
        6 => context.remove_file(&one).is_ok(),
        _ => context.mkdir(&one, 0o755).is_ok(),
    };
}

/// What happened in a history: the state after each durable operation, with the number of records
/// in the history by then.
struct Happened {
    history: Vec<(String, Done)>,
    states: Vec<(usize, State)>,
}

fn happen(base: (&Context, EqualChunks), random: &mut Rng, operations: usize) -> Happened {
    let directory = tempfile::tempdir().expect("there is room");
    let history = History::default();
    let open = || open(Arc::new(Recorded::open(directory.path(), &history)), directory.path(), base);
    let mut branches = open();
    let (mut now, mut next) = (State::new(), 0);
    let mut states = vec![(history.lock().len(), now.clone())];
    let mut used: BTreeMap<String, (Context, Option<String>)> = BTreeMap::new();
    for _ in 0..operations {
        if random.u8(..4) == 0 {
            branches.collect().expect("all of it can be read");
        }
        if random.u8(..4) == 0 {
            // The store is closed, and opened again.
            let parents: Vec<_> = std::mem::take(&mut used).into_iter().map(|(name, (_, parent))| (name, parent)).collect();
            drop(branches);
            branches = open();
            used.extend(parents.into_iter().map(|(name, parent)| (name.clone(), (context(&branches, &name), parent))));
        }
        let names: Vec<_> = used.keys().cloned().collect();
        let parents = |name: &String| used.values().any(|(_, parent)| parent.as_ref() == Some(name));
        match names.get(random.usize(..=names.len())) {
            Some(name) if random.u8(..10) < 6 => {
                (0..random.usize(1..5)).for_each(|_| change(&used[name].0, random));
                used[name].0.syncfs("/").expect("there is room");
                now.insert(name.clone(), look(&used[name].0));
            }
            Some(name) if !parents(name) && random.bool() => {
                let (name, (fork, parent)) = (name.clone(), used[name].clone());
                drop(fork);
                used.remove(&name);
                // A branch of the base is dropped.
                match &parent {
                    Some(parent) if branches.commit(&name).is_ok() => _ = now.insert(parent.clone(), look(&used[parent].0)),
                    _ => branches.drop(&name).expect("it has no forks"),
                }
                now.remove(&name);
            }
            parent if names.len() < 4 => {
                let (name, parent) = (next.to_string(), parent.cloned());
                next += 1;
                branches.fork(parent.as_deref(), &name).expect("the name is free");
                let fork = context(&branches, &name);
                now.insert(name.clone(), look(&fork));
                used.insert(name, (fork, parent));
            }
            _ => {}
        }
        states.push((history.lock().len(), now.clone()));
    }
    let recorded = history.lock().clone();
    // What the end of the list writes is not part of it.
    drop((used, branches));
    Happened { history: recorded, states }
}

#[test]
fn a_loss_of_power_leaves_what_was_synced() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let histories = std::env::var("PATHWALK_STORE_HISTORIES").map_or(1, |number| number.parse().expect("it is a number"));
    let (mut cuts, mut operations, mut under_way) = (0, 0, 0);
    for _ in 0..histories {
        let base = Vfs::builder().build(MemFs::new()).expect("there is a root").context(Credentials::root());
        base.mkdir("/d", 0o755).expect("there is room");
        ["/a", "/d/b"].into_iter().for_each(|path| base.write(path, vec![1; 6000]).expect("there is room"));
        let chunks = if random.bool() { EqualChunks::StoredOnce } else { EqualChunks::StoredAgain };
        let Happened { history, states } = happen((&base, chunks), &mut random, 8);
        operations += states.len() - 1;
        for writes in states[0].0..=history.len() {
            let loss = if random.bool() { Loss::All } else { Loss::Some };
            let directory = tempfile::tempdir().expect("there is room");
            cut(&history[..writes], loss, &mut random, directory.path());
            let files = Arc::new(HostFiles::open(directory.path()).expect("it is there"));
            let branches = open(files, directory.path(), (&base, chunks));
            assert_eq!(branches.check().expect("it can be read"), [], "seed {seed}: after write {writes}");
            let found = look_at_all(&branches);
            let done = states.partition_point(|(by, _)| *by <= writes) - 1;
            let is_next = states.get(done + 1).is_some_and(|(_, next)| *next == found);
            under_way += usize::from(is_next && states[done].1 != found);
            cuts += 1;
            let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
            assert!(
                is_next || states[done].1 == found,
                "seed {seed}: after write {writes} of {}, operation {done} ({loss:?}): {:?} in place of {:?}",
                history.len(),
                names(&found),
                names(&states[done].1),
            );
        }
    }
    println!("{histories} histories, {operations} operations, {cuts} losses, {under_way} found the operation under way");
}
