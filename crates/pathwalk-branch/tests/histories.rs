//! Processes that are killed in random histories: branches of a directory are changed, synced,
//! forked, rebased, committed as a whole or in part, also onto the directory, and dropped.
//!
//! `PATHWALK_STORE_KILLS` is the number of histories, each of which is killed once. What is found
//! then is the state after the last operation that was done, or after the one that was under way:
//! of all branches and of the directory together.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::root_on;
use common::trees::{Copied, change, differences, look};
use fastrand::Rng;
use pathwalk::Context;
use pathwalk_branch::{Branches, DiskStore, EqualChunks, Options, Resolution};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

/// What names the seed and the directories of a child.
const CHILD: &str = "PATHWALK_TEST_HISTORY";

/// The number of operations of a history.
const OPERATIONS: usize = 24;

/// The most branches at once.
const MOST: usize = 5;

/// The trees of all branches by their names, and that of the base under no name.
type State = BTreeMap<String, Copied>;

fn host(directory: &Path) -> Context {
    let host = HostFs::open_writable(directory).expect("it is there").with_coherence(Coherence::Exclusive);
    root_on(host)
}

fn open(base: &Path, store: &Path, chunks: EqualChunks) -> Branches {
    let store = DiskStore::open(store).expect("it can be opened");
    let options = Options::default().sync_every(None).equal_chunks(chunks);
    Branches::open(host(base), options, store).expect("it is of this base")
}

fn context(branches: &Branches, name: &str) -> Context {
    let branch = branches.get(name).expect("it is there, and free");
    root_on(branch)
}

fn fill(base: &Context) {
    base.mkdir("/a", 0o755).expect("there is room");
    base.mkdir("/a/b", 0o755).expect("there is room");
    ["/b", "/c", "/a/c", "/a/b/d"].into_iter().for_each(|path| base.write(path, vec![1; 9000]).expect("there is room"));
}

/// Does the operations of a history, each of which is durable when `done` is called.
fn happen(branches: &Branches, seed: u64, mut done: impl FnMut()) {
    let mut random = Rng::with_seed(seed);
    let mut parents: BTreeMap<String, Option<String>> = BTreeMap::new();
    for next in 0..OPERATIONS {
        let names: Vec<String> = parents.keys().cloned().collect();
        let (chosen, what) = (names.get(random.usize(..=names.len())), random.u8(..12));
        let has_forks = |name: &String| parents.values().any(|parent| parent.as_ref() == Some(name));
        // What the base changes below another branch of it may leave that with data that is gone.
        let of_base = parents.values().filter(|parent| parent.is_none()).count();
        let may_commit = |name: &String| !has_forks(name) && (of_base == 1 || parents[name].is_some());
        match chosen {
            Some(name) if what < 5 => {
                let branch = context(branches, name);
                (0..random.usize(1..6)).for_each(|_| _ = change(&branch, &mut random));
                branch.syncfs("/").expect("there is room");
            }
            // A conflict leaves all as it was.
            Some(name) if what < 6 => _ = branches.rebase(name, &Resolution::default()),
            Some(name) if what < 8 && may_commit(name) => {
                let path = ["/a", "/b", "/c", "/a/b"][random.usize(..4)];
                _ = branches.commit_paths(name, &[path], &Resolution::default());
            }
            Some(name) if what < 11 && may_commit(name) => {
                if branches.commit(name).is_ok() {
                    parents.remove(&name.clone());
                }
            }
            Some(name) if what < 12 && !has_forks(name) => {
                branches.drop(name).expect("it has no forks");
                parents.remove(&name.clone());
            }
            parent if names.len() < MOST => {
                let (name, parent) = (format!("branch {next}"), parent.cloned());
                branches.fork_only(parent.as_deref(), &name).expect("the name is free");
                parents.insert(name, parent);
            }
            _ => _ = branches.collect().expect("all of it can be read"),
        }
        done();
    }
}

fn look_at_all(branches: &Branches, base: &Context) -> State {
    let names = branches.list().expect("it can be read").into_iter().map(|info| info.name);
    let mut all: State = names.map(|name| (name.clone(), look(&context(branches, &name)))).collect();
    all.insert(String::new(), look(base));
    all
}

/// Returns the states of a history: before it, and after each operation.
fn states(seed: u64) -> Vec<State> {
    let base = root_on(MemFs::new());
    fill(&base);
    let branches = Branches::new(base.clone()).expect("it is a base");
    let mut states = vec![look_at_all(&branches, &base)];
    happen(&branches, seed, || states.push(look_at_all(&branches, &base)));
    states
}

/// Does a history, and says which operations are done. It is no test of its own.
#[test]
fn child() {
    let Ok(given) = std::env::var(CHILD) else { return };
    let [seed, base, store] = given.splitn(3, ':').collect::<Vec<_>>()[..] else { panic!("{given}") };
    let seed: u64 = seed.parse().expect("it is a number");
    let chunks = if seed.is_multiple_of(2) { EqualChunks::StoredOnce } else { EqualChunks::StoredAgain };
    let branches = open(Path::new(base), Path::new(store), chunks);
    println!("begins");
    happen(&branches, seed, || println!("done"));
    println!("ends");
    // It is killed at the latest now, so it leaves nothing that the end of the list writes.
    std::thread::park();
}

fn spawn(seed: u64, base: &Path, store: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("it is known"));
    command.args(["child", "--exact", "--nocapture"]).stdout(Stdio::piped());
    command.env(CHILD, format!("{seed}:{}:{}", base.display(), store.display()));
    command.spawn().expect("it can be run")
}

/// Runs a history, and kills it some time after so many operations. Returns how many were done.
fn killed(mut child: Child, operations: usize, after: Duration) -> usize {
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let (mut done, mut is_killed) = (0, false);
    let mut kill_at = |done: usize, child: &mut Child| {
        if done >= operations && !std::mem::replace(&mut is_killed, true) {
            std::thread::sleep(after);
            child.kill().expect("it is not waited for yet");
        }
    };
    for line in lines.by_ref() {
        match &*line {
            "done" => done += 1,
            "begins" | "ends" => {}
            _ => continue,
        }
        kill_at(if line == "ends" { operations } else { done }, &mut child);
    }
    child.wait().expect("it has ended");
    done
}

#[test]
fn a_history_that_is_killed_leaves_what_was_done() {
    if std::env::var(CHILD).is_ok() {
        return;
    }
    let histories = std::env::var("PATHWALK_STORE_KILLS").map_or(4, |number| number.parse().expect("it is a number"));
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let (mut random, mut all, mut under_way) = (Rng::with_seed(seed), 0, 0);
    for history in 0..histories {
        let [base, store] = [(); 2].map(|()| tempfile::tempdir().expect("there is room"));
        fill(&host(base.path()));
        let of_history = random.u64(..);
        let states = states(of_history);
        let (operations, after) = (random.usize(..OPERATIONS), Duration::from_micros(random.u64(..20_000)));
        let done = killed(spawn(of_history, base.path(), store.path()), operations, after);
        let branches = open(base.path(), store.path(), EqualChunks::StoredAgain);
        let what = format!("history {history} ({of_history}), {done} operations");
        assert_eq!(branches.check().expect("it can be read"), [], "{what}");
        let found = look_at_all(&branches, &host(base.path()));
        let is_next = states.get(done + 1) == Some(&found);
        if !is_next && states[done] != found {
            let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
            for (name, tree) in &found {
                let expected = states[done].get(name).cloned().unwrap_or_default();
                println!("\"{name}\": {}", differences(tree, &expected));
            }
            panic!("{what}: {:?} in place of {:?}", names(&found), names(&states[done]));
        }
        under_way += usize::from(is_next && states[done] != found);
        all += done;
    }
    println!("{histories} kills, {all} operations, {under_way} found the operation under way");
}
