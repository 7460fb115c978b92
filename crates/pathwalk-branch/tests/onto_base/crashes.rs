//! Commits that end at any call of the base, as those of a process that is killed. The next process
//! finishes or undoes them.
//!
//! `PATHWALK_BRANCH_KILLS` is the number of random commits, each of which is killed at every call.
//! Without it, some calls are left out.

use std::sync::Arc;

use fastrand::Rng;
use pathwalk::{Context, Errno, OpenFlags};
use pathwalk_branch::{Branches, DiskStore, Error, Options};
use pathwalk_memfs::MemFs;
use pathwalk_tests::failing::{Failing, Fault, Plan};

use crate::common::root_on;
use crate::common::trees::{change_more, differences, look, look_closely};
use crate::{fill, work};

/// A base in memory whose calls can end as those of a process that is killed.
struct Mortal {
    fs: Arc<Failing<Arc<MemFs>>>,
    branches: Branches,
    context: Context,
}

impl Mortal {
    fn new(fill: impl Fn(&Context)) -> Mortal {
        let fs = Arc::new(Failing::new(Arc::new(MemFs::new())));
        let base = root_on(Arc::clone(&fs));
        fill(&base);
        let branches = Branches::new(base).unwrap();
        let context = root_on(branches.fork(None, "work").unwrap());
        Mortal { fs, branches, context }
    }

    /// Returns a context on the base in a process of its own.
    fn reborn(&self) -> Context {
        root_on(Arc::clone(self.fs.inner()))
    }

    /// Kills the commit at this call. Returns false if it ended before.
    fn kill_at(&self, call: u64) -> bool {
        self.fs.start(Plan::from(call, Fault::Error(Errno::EIO)));
        let committed = self.branches.commit("work");
        self.fs.stop().errors > 0 || committed.is_err()
    }
}

#[test]
fn a_commit_that_is_killed_at_any_call_is_whole_or_not_there() {
    let (mut undone, mut finished) = (0, 0);
    // All calls take a minute.
    let step = if std::env::var_os("PATHWALK_BRANCH_KILLS").is_some() { 1 } else { 4 };
    for call in (fastrand::usize(..step)..).step_by(step).map(|call| call as u64) {
        let mortal = Mortal::new(fill);
        let before = look_closely(&mortal.reborn());
        work(&mortal.context);
        let after = look_closely(&mortal.context);
        if !mortal.kill_at(call) {
            break;
        }
        // The first that comes mends it; a second finds nothing to do.
        let base = mortal.reborn();
        Branches::new(base.clone()).unwrap();
        assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "killed at {call}");
        let now = look_closely(&base);
        if now == after {
            finished += 1;
        } else {
            assert!(now == before, "killed at {call}: {}", differences(&now, &before));
            undone += 1;
        }
    }
    println!("{undone} undone, {finished} finished");
    assert!(undone > 10 && finished > 10);
}

#[test]
fn a_recovery_that_is_killed_is_repeated() {
    let calls = {
        let mortal = Mortal::new(fill);
        work(&mortal.context);
        mortal.fs.start(Plan::from(u64::MAX, Fault::Error(Errno::EIO)));
        mortal.branches.commit("work").unwrap();
        mortal.fs.stop().calls
    };
    let mut random = Rng::new();
    for _ in 0..30 {
        let mortal = Mortal::new(fill);
        let before = look(&mortal.reborn());
        work(&mortal.context);
        let after = look(&mortal.context);
        mortal.kill_at(random.u64(..calls));
        for _ in 0..random.usize(1..4) {
            let fs = Arc::new(Failing::new(Arc::clone(mortal.fs.inner())));
            let base = root_on(Arc::clone(&fs));
            fs.start(Plan::from(random.u64(..calls), Fault::Error(Errno::EIO)));
            _ = Branches::new(base);
        }
        let base = mortal.reborn();
        Branches::new(base.clone()).unwrap();
        let now = look(&base);
        assert!(now == after || now == before, "{}", differences(&now, &after));
        assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT));
    }
}

#[test]
fn a_name_that_another_program_takes_meanwhile_is_left_and_all_is_undone() {
    let mut stood_in_the_way = 0;
    for call in (0..).step_by(9) {
        let mortal = Mortal::new(fill);
        let before = look(&mortal.reborn());
        work(&mortal.context);
        if !mortal.kill_at(call) {
            break;
        }
        let base = mortal.reborn();
        // It takes a name that the commit was to add, and one that it may have taken away.
        let taken = base.mkdir("/new", 0o700).is_ok();
        match Branches::new(base.clone()) {
            Ok(_) => {}
            Err(Error::NotCommitted { .. }) => {
                assert!(taken);
                stood_in_the_way += 1;
                let mut now = look(&base);
                assert!(now.remove(&b"/new"[..]).is_some(), "it is the other's");
                assert_eq!(now, before, "killed at {call}");
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "killed at {call}");
    }
    println!("it stood in the way {stood_in_the_way} times");
    assert!(stood_in_the_way > 2);
}

#[test]
fn random_commits_that_are_killed_are_whole_or_not_there() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    // Of each commit, every call is one at which it is killed, or every 17th.
    let (rounds, step) = match std::env::var("PATHWALK_BRANCH_KILLS") {
        Ok(rounds) => (rounds.parse().expect("it is a number"), 1),
        Err(_) => (2, 17),
    };
    let (mut kills, mut again) = (0, 0);
    for round in 0..rounds {
        let (of_base, of_branch) = (random.u64(..), random.u64(..));
        let changes = |context: &Context, seed: u64, number: usize| {
            let mut random = Rng::with_seed(seed);
            (0..number).for_each(|_| change_more(context, &mut random));
        };
        for call in (random.u64(..step)..).step_by(step as usize) {
            let (fs, store) = (Arc::new(Failing::new(Arc::new(MemFs::new()))), tempfile::tempdir().unwrap());
            let reborn = || root_on(Arc::clone(fs.inner()));
            changes(&reborn(), of_base, 60);
            let before = look(&reborn());
            let branches = open(root_on(Arc::clone(&fs)), &store);
            let work = root_on(branches.fork(None, "work").unwrap());
            changes(&work, of_branch, 60);
            let after = look(&work);
            branches.sync().unwrap();
            drop(work);
            fs.start(Plan::from(call, Fault::Error(Errno::EIO)));
            let committed = branches.commit("work");
            drop(branches);
            if fs.stop().errors == 0 && committed.is_ok() {
                break;
            }
            kills += 1;
            let (branches, what) = (open(reborn(), &store), format!("round {round}, killed at {call}"));
            let now = look(&reborn());
            assert!(now == after || now == before, "{what}: {}", differences(&now, &after));
            // One that was not made is made again.
            if branches.list().unwrap().is_empty() {
                continue;
            }
            branches.commit("work").unwrap_or_else(|error| panic!("{what}: {error}"));
            let now = look(&reborn());
            assert!(now == after, "{what}, again: {}", differences(&now, &after));
            again += 1;
        }
    }
    println!("{kills} kills, {again} commits again");
}

#[test]
fn a_commit_that_failed_at_any_call_is_made_again() {
    let mut again = 0;
    for call in 0.. {
        let mortal = Mortal::new(|base| {
            base.write("/large", vec![7; 50_000]).unwrap();
            base.mkdir("/gone", 0o755).unwrap();
            base.write("/gone/file", "text").unwrap();
        });
        mortal.context.open("/large", OpenFlags::WRITE).unwrap().write_at(b"in the middle", 20_000).unwrap();
        mortal.context.remove_dir_all("/gone").unwrap();
        let after = look(&mortal.context);
        if !mortal.kill_at(call) {
            break;
        }
        match mortal.branches.commit("work") {
            Ok(()) => again += 1,
            // All but the staging directory was done.
            Err(Error::NoBranch(_)) => {}
            Err(error) => panic!("failed at {call}: {error}"),
        }
        let now = look(&mortal.reborn());
        let left: Vec<_> = now.keys().filter(|path| !path.starts_with(b"/.pathwalk-commit")).collect();
        assert_eq!(left, after.keys().collect::<Vec<_>>(), "failed at {call}");
        assert!(now[&b"/large"[..]] == after[&b"/large"[..]], "failed at {call}");
    }
    println!("{again} commits again");
    assert!(again > 10);
}

#[test]
fn what_a_commit_has_left_does_not_drop_a_new_branch_of_its_name() {
    let calls = {
        let mortal = Mortal::new(|_| ());
        mortal.context.write("/first", "first").unwrap();
        mortal.fs.start(Plan::from(u64::MAX, Fault::Error(Errno::EIO)));
        mortal.branches.commit("work").unwrap();
        mortal.fs.stop().calls
    };
    let mut left = 0;
    for is_stored in [false, true] {
        for call in calls - 12.. {
            let (fs, store) = (Arc::new(Failing::new(Arc::new(MemFs::new()))), tempfile::tempdir().unwrap());
            let base = root_on(Arc::clone(&fs));
            let branches = if is_stored { open(base.clone(), &store) } else { Branches::new(base.clone()).unwrap() };
            let fork = || root_on(branches.fork(None, "work").unwrap());
            fork().write("/first", "first").unwrap();
            fs.start(Plan::from(call, Fault::Error(Errno::EIO)));
            let committed = branches.commit("work");
            if fs.stop().errors == 0 {
                break;
            }
            // The end of its staging directory failed.
            if committed.is_err() || base.lstat("/.pathwalk-commit").is_err() {
                continue;
            }
            left += 1;
            fork().write("/second", "second").unwrap();
            branches.commit("work").unwrap_or_else(|error| panic!("stored: {is_stored}, failed at {call}: {error}"));
            assert_eq!(base.read_to_string("/second").unwrap(), "second", "stored: {is_stored}, failed at {call}");
            assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT));
        }
    }
    assert!(left > 2, "{left}");
}

/// Opens the branches of a base that are in a store.
pub(crate) fn open(base: Context, store: &tempfile::TempDir) -> Branches {
    let store = DiskStore::open(store.path()).unwrap();
    Branches::open(base, Options::default().sync_every(None), store).unwrap()
}
