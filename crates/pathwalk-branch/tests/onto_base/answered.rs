//! Rebases, and commits with answers to conflicts, that end at any call of the base.
//!
//! With `PATHWALK_BRANCH_KILLS` they end at every call, and without it at some.

use std::sync::Arc;

use pathwalk::{Context, Errno, XattrFlags};
use pathwalk_branch::{Answer, Branches, DiskStore, Options, Resolution};
use pathwalk_memfs::MemFs;
use pathwalk_tests::failing::{Failing, Fault, Plan};

use crate::common::root_on;
use crate::common::trees::{differences, look_closely};
use crate::{fill, work};

/// What ends at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Killed {
    Commit,
    Rebase,
}

/// Changes the base, also where [`work`] changes the branch. It changes no file of which the branch
/// shows a part.
fn change_base(base: &Context) {
    base.write("/gone/file", "of the base").unwrap();
    base.write("/in-base", "of the base").unwrap();
    base.setxattr("/moved", "user.of", "the base", XattrFlags::empty()).unwrap();
    base.remove_file("/link").unwrap();
    base.symlink("b", "/link").unwrap();
}

/// A base in memory, and the branches of it in a store.
struct Ground {
    fs: Arc<Failing<Arc<MemFs>>>,
    store: tempfile::TempDir,
}

impl Ground {
    /// Makes a branch "step" that does not agree with its base.
    fn new() -> (Ground, Branches) {
        let fs = Arc::new(Failing::new(Arc::new(MemFs::new())));
        let ground = Ground { fs, store: tempfile::tempdir().unwrap() };
        let base = root_on(Arc::clone(&ground.fs));
        fill(&base);
        let branches = ground.open(base.clone());
        work(&context(&branches, "step", true));
        change_base(&base);
        branches.catch_up();
        branches.sync().unwrap();
        (ground, branches)
    }

    /// Returns a context on the base in a process of its own.
    fn reborn(&self) -> Context {
        root_on(Arc::clone(self.fs.inner()))
    }

    fn open(&self, base: Context) -> Branches {
        let store = DiskStore::open(self.store.path()).unwrap();
        Branches::open(base, Options::default().sync_every(None), store).unwrap()
    }
}

fn context(branches: &Branches, name: &str, is_new: bool) -> Context {
    let branch = if is_new { branches.fork(None, name) } else { branches.get(name) };
    root_on(branch.unwrap())
}

#[test]
fn a_rebase_and_a_commit_with_answers_are_whole_or_not_there() {
    let step = if std::env::var_os("PATHWALK_BRANCH_KILLS").is_some() { 1 } else { 41 };
    for (killed, answer) in [
        (Killed::Rebase, Answer::Ours),
        (Killed::Rebase, Answer::Theirs),
        (Killed::Commit, Answer::Ours),
        (Killed::Commit, Answer::Theirs),
    ] {
        let resolution = Resolution::all(answer);
        // What it comes to, if nothing fails.
        let rebased = {
            let (_ground, branches) = Ground::new();
            branches.rebase("step", &resolution).unwrap();
            paths(&context(&branches, "step", false))
        };
        let (mut not_there, mut whole) = (0, 0);
        for call in (fastrand::usize(..step)..).step_by(step).map(|call| call as u64) {
            let what = format!("{killed:?} with {answer:?} killed at {call}");
            let (ground, branches) = Ground::new();
            let of_base = look_closely(&ground.reborn());
            let before = paths(&context(&branches, "step", false));
            ground.fs.start(Plan::from(call, Fault::Error(Errno::EIO)));
            let ended = match killed {
                Killed::Commit => branches.commit_with("step", &resolution),
                Killed::Rebase => branches.rebase("step", &resolution),
            };
            drop(branches);
            let is_killed = ground.fs.stop().errors > 0 || ended.is_err();
            let branches = ground.open(ground.reborn());
            assert_eq!(branches.check().unwrap(), [], "{what}");
            let base = ground.reborn();
            assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "{what}");
            let now = look_closely(&base);
            let is_whole = match (killed, branches.list().unwrap().len()) {
                (Killed::Commit, 0) => true,
                (Killed::Commit, 1) => {
                    assert!(now == of_base, "{what}: {}", differences(&now, &of_base));
                    // It has moved times of change, and no file is stale then.
                    branches.commit_with("step", &resolution).unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(paths(&ground.reborn()), rebased, "{what}, again");
                    false
                }
                (Killed::Rebase, 1) => {
                    assert!(now == of_base, "{what}: {}", differences(&now, &of_base));
                    // One that is rebased agrees with the base.
                    let is_rebased = branches.rebase("step", &Resolution::default()).is_ok();
                    let shown = paths(&context(&branches, "step", false));
                    assert_eq!(&shown, if is_rebased { &rebased } else { &before }, "{what}");
                    branches.rebase("step", &resolution).unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(paths(&context(&branches, "step", false)), rebased, "{what}, again");
                    is_rebased
                }
                (_, other) => panic!("{what}: {other} branches"),
            };
            if killed == Killed::Commit && is_whole {
                assert_eq!(paths(&base), rebased, "{what}");
            }
            if is_whole {
                whole += 1
            } else {
                not_there += 1
            }
            if !is_killed {
                break;
            }
        }
        println!("{killed:?} with {answer:?}: {not_there} not there, {whole} whole");
        assert!(not_there > 0 && whole > 0);
    }
}

/// Returns all paths, with the data and modes.
fn paths(context: &Context) -> String {
    let all = look_closely(context).into_iter();
    all.map(|(path, (node, _))| format!("{} {node:?} {:x?}\n", path.escape_ascii(), node.data.len())).collect()
}
