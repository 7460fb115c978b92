//! Commits that can be taken back and end at any call of the base, as those of a process that is
//! killed.
//!
//! `PATHWALK_BRANCH_KILLS` is the number of random commits, each of which is killed at each of its
//! last calls. Without it, some calls are left out.

use std::sync::Arc;

use fastrand::Rng;
use pathwalk::{Capabilities, Context, Credentials, Errno, FileSystem, OpenFlags, Vfs};
use pathwalk_branch::Resolution;
use pathwalk_memfs::MemFs;
use pathwalk_tests::failing::{Failing, Fault, Plan};

use crate::common::trees::{change_more, differences, look_closely};
use crate::common::{BUDGET, root_on};
use crate::crashes::open;
use crate::{fill, work};

/// Commits a branch so that it can be taken back, or takes it back, and is killed at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Killed {
    Commit,
    Undo,
}

#[test]
fn a_commit_that_can_be_undone_and_its_undo_are_killed_at_any_call() {
    let step = if std::env::var_os("PATHWALK_BRANCH_KILLS").is_some() { 1 } else { 23 };
    for killed in [Killed::Commit, Killed::Undo] {
        let (mut not_there, mut whole) = (0, 0);
        for call in (fastrand::usize(..step)..).step_by(step).map(|call| call as u64) {
            let (store, what) = (tempfile::tempdir().unwrap(), format!("{killed:?} killed at {call}"));
            let fs = Arc::new(Failing::new(Arc::new(MemFs::new())));
            let context = |fs: &Arc<Failing<Arc<MemFs>>>| root_on(Arc::clone(fs));
            let reborn = || root_on(Arc::clone(fs.inner()));
            fill(&reborn());
            let before = look_closely(&reborn());
            let branches = open(context(&fs), &store);
            let step = root_on(branches.fork(None, "step").unwrap());
            work(&step);
            let after = look_closely(&step);
            branches.sync().unwrap();
            drop(step);
            let commit = || branches.commit_undoable("step", &Resolution::default(), "undo");
            let start = || fs.start(Plan::from(call, Fault::Error(Errno::EIO)));
            let ended = match killed {
                Killed::Commit => {
                    start();
                    commit()
                }
                Killed::Undo => {
                    commit().unwrap();
                    start();
                    branches.commit("undo")
                }
            };
            drop(branches);
            let is_killed = fs.stop().errors > 0 || ended.is_err();
            let branches = open(reborn(), &store);
            let (now, base) = (look_closely(&reborn()), reborn());
            let names: Vec<_> = branches.list().unwrap().into_iter().map(|branch| branch.name).collect();
            assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "{what}");
            assert_eq!(branches.check().unwrap(), [], "{what}");
            let is_before = now == before;
            assert!(is_before || now == after, "{what}: {}", differences(&now, &after));
            match (killed, is_before) {
                (Killed::Commit, true) => assert_eq!(names, ["step"], "{what}"),
                (Killed::Commit, false) | (Killed::Undo, false) => {
                    assert_eq!(names, ["undo"], "{what}");
                    // Until a commit is decided, it has given files second names, which moves their
                    // times of change. One that the branch has changed in part is not stale then.
                    branches.commit("undo").unwrap_or_else(|error| panic!("{what}: {error}"));
                    let undone = look_closely(&reborn());
                    assert!(undone == before, "{what}: {}", differences(&undone, &before));
                }
                (Killed::Undo, true) => assert_eq!(names, Vec::<String>::new(), "{what}"),
            }
            if is_before == (killed == Killed::Commit) {
                not_there += 1
            } else {
                whole += 1
            }
            if !is_killed {
                break;
            }
        }
        println!("{killed:?}: {not_there} not there, {whole} whole");
        assert!(not_there > 3 && whole > 3);
    }
}

/// What fills a base, and what changes a branch.
type Changes<'a> = &'a dyn Fn(&Context);

/// Commits a branch, is killed so many calls before the end of that, and takes the commit back in
/// another process.
fn take_back(
    credentials: &Credentials,
    (fill, work): (Changes<'_>, Changes<'_>),
    (all_calls, before_end): (&mut Option<u64>, u64),
    what: &str,
) {
    let (fs, store) = (Arc::new(Failing::new(Arc::new(MemFs::new()))), tempfile::tempdir().unwrap());
    let context = |fs: Arc<dyn FileSystem>| Vfs::builder().budget(BUDGET).build(fs).unwrap().context(credentials.clone());
    let reborn = || context(Arc::<MemFs>::clone(fs.inner()));
    fill(&reborn());
    let before = look_closely(&reborn());
    let branches = open(context(fs.clone()), &store);
    work(&root_on(branches.fork(None, "work").unwrap()));
    branches.sync().unwrap();
    let last = all_calls.map_or(u64::MAX, |calls| calls.saturating_sub(before_end));
    fs.start(Plan::from(last, Fault::Error(Errno::EIO)));
    _ = branches.commit_undoable("work", &Resolution::default(), "undo");
    drop(branches);
    let calls = fs.stop().calls;
    all_calls.get_or_insert(calls);
    let (branches, what) = (open(reborn(), &store), format!("{what}, killed {before_end} calls before its end"));
    assert_eq!(branches.check().unwrap(), [], "{what}");
    branches.commit("undo").unwrap_or_else(|error| panic!("{what}: {error}"));
    let undone = look_closely(&reborn());
    assert!(undone == before, "{what}: {}", differences(&undone, &before));
}

/// Returns the credentials of a process that finds files by their paths alone, as any process does
/// after a start of the system.
fn without_handles() -> Credentials {
    Credentials::root().with_capabilities(Capabilities::all() - Capabilities::DAC_READ_SEARCH)
}

#[test]
fn what_a_killed_commit_has_moved_and_changed_is_found_without_handles() {
    let fill = |base: &Context| {
        for dir in ["/d", "/d/in", "/e"] {
            base.mkdir(dir, 0o755).unwrap();
        }
        ["/moved", "/two", "/d/in/file", "/e/two"].into_iter().for_each(|file| base.write(file, vec![7; 9000]).unwrap());
        base.link("/two", "/d/two").unwrap();
        base.link("/e/two", "/other").unwrap();
    };
    let work = |work: &Context| {
        let change = |path: &str| work.open(path, OpenFlags::WRITE).unwrap().write_at(b"changed", 5000).map(drop).unwrap();
        work.rename("/moved", "/d/here").unwrap();
        work.rename("/d", "/new").unwrap();
        work.remove_file("/two").unwrap();
        work.remove_dir_all("/e").unwrap();
        ["/new/here", "/new/in/file", "/new/two", "/other"].into_iter().for_each(change);
    };
    for credentials in [Credentials::root(), without_handles()] {
        let mut calls = None;
        (0..40).for_each(|before_end| {
            take_back(&credentials, (&fill, &work), (&mut calls, before_end), &format!("{credentials:?}"))
        });
    }
}

#[test]
fn random_commits_that_are_killed_at_their_ends_are_taken_back() {
    let seed = std::env::var("PATHWALK_BRANCH_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let (rounds, step) = match std::env::var("PATHWALK_BRANCH_KILLS") {
        Ok(rounds) => (rounds.parse().expect("it is a number"), 1),
        Err(_) => (4, 30),
    };
    for round in 0..rounds {
        let (of_base, of_branch) = (random.u64(..), random.u64(..));
        let changes = |seed: u64| {
            move |context: &Context| {
                let mut random = Rng::with_seed(seed);
                (0..60).for_each(|_| change_more(context, &mut random));
            }
        };
        for credentials in [Credentials::root(), without_handles()] {
            let (mut calls, what) = (None, format!("seed {seed}, round {round}, {credentials:?}"));
            let both = (changes(of_base), changes(of_branch));
            for before_end in (0..40).step_by(step) {
                take_back(&credentials, (&both.0, &both.1), (&mut calls, before_end), &what);
            }
        }
    }
}
