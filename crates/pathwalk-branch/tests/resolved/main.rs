//! Conflicts with answers, in commits onto a parent and in rebases onto it.

mod base;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod random;

use cases::{CASES, Case, Over, text};
use common::Ground;
use common::trees::{differences, look, look_closely};
use pathwalk::{Context, OpenFlags};
use pathwalk_branch::{Answer, Error, Resolution};

fn fill(base: &Context) {
    for dir in ["/d", "/d/sub", "/one", "/two", "/one/in"] {
        base.mkdir(dir, 0o755).unwrap();
    }
    for file in ["/a", "/d/file", "/d/sub/file", "/one/x"] {
        base.write(file, "1\n2\n3\n4\n5\n").unwrap();
    }
    base.write("/binary", [0, 1, 2]).unwrap();
    base.write("/large", vec![7; 100_000]).unwrap();
}

/// What a branch is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parent {
    Branch,
    Base,
}

impl Parent {
    /// Returns contexts on the parent and on a branch of it, in which both have done their part.
    fn prepared(self, ground: &Ground, of_parent: impl Fn(&Context), of_branch: impl Fn(&Context)) -> (Context, Context) {
        let (work, step) = match self {
            Parent::Branch => (ground.fork(None, "work"), ground.fork(Some("work"), "step")),
            Parent::Base => (ground.base.clone(), ground.fork(None, "step")),
        };
        of_branch(&step);
        if self == Parent::Base {
            // The clock of a host's file system ticks a few hundred times a second.
            std::thread::sleep(std::time::Duration::from_millis(12));
        }
        of_parent(&work);
        ground.branches.catch_up();
        (work, step)
    }
}

#[test]
fn each_kind_of_conflict_is_answered() {
    for (case, parent) in CASES.iter().flat_map(|case| [(case, Parent::Branch), (case, Parent::Base)]) {
        let answers = [Answer::Ours, Answer::Theirs, Answer::Merge];
        for (answer, expected) in answers.into_iter().zip(case.expected) {
            let expected = match (answer, case.over) {
                _ if parent == Parent::Branch => expected,
                (Answer::Ours, Over::OursOverParent) => None,
                (Answer::Ours, Over::OursOverBase(other)) => Some(other),
                _ => expected,
            };
            for ground in Ground::each(fill) {
                let what = format!("{}, {answer:?}, {parent:?} on {}", case.what, ground.name);
                rebase_then_commit(case, parent, &ground, (answer, expected), &what);
            }
            for ground in Ground::each(fill) {
                let what = format!("{}, {answer:?}, {parent:?} on {}", case.what, ground.name);
                commit(case, parent, &ground, (answer, expected), &what);
            }
        }
    }
}

fn rebase_then_commit(case: &Case, parent: Parent, ground: &Ground, (answer, expected): (Answer, Option<&str>), what: &str) {
    let (work, step) = parent.prepared(ground, case.in_parent, case.in_branch);
    assert!(matches!(ground.branches.rebase("step", &Resolution::default()), Err(Error::Conflicts { .. })), "{what}");
    let of_parent = look_closely(&work);
    let rebased = ground.branches.rebase("step", &Resolution::all(answer));
    let Some(expected) = expected else {
        assert!(matches!(rebased, Err(Error::Conflicts { .. })), "{what}: {rebased:?}");
        return;
    };
    rebased.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!((case.shown)(&step), expected, "{what}");
    assert!(look_closely(&work) == of_parent, "{what}: the parent is as it was");
    let rebased = look_closely(&step);
    let without_caches = look_closely(&ground.again("step"));
    assert!(rebased == without_caches, "{what}: {}", differences(&rebased, &without_caches));
    ground.branches.commit("step").unwrap_or_else(|error| panic!("{what}: {error}"));
    let committed = look_closely(&work);
    assert!(committed == rebased, "{what}: {}", differences(&committed, &rebased));
}

fn commit(case: &Case, parent: Parent, ground: &Ground, (answer, expected): (Answer, Option<&str>), what: &str) {
    let (work, _step) = parent.prepared(ground, case.in_parent, case.in_branch);
    let before = look_closely(&work);
    let committed = ground.branches.commit_with("step", &Resolution::all(answer));
    match expected {
        Some(expected) => {
            committed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!((case.shown)(&work), expected, "{what}");
            if parent == Parent::Branch {
                assert!(look_closely(&work) == look_closely(&ground.again("work")), "{what}");
            }
        }
        None => {
            assert!(matches!(committed, Err(Error::Conflicts { .. })), "{what}");
            assert!(look_closely(&work) == before, "{what}: nothing was done");
        }
    }
}

/// Checks that each file has as many links as names. Over a base, a file that the branch has not
/// touched has the links of the base, of which the branch may hide one.
fn check_links(context: &Context, parent: Parent, what: &str) {
    let all = look(context);
    let mut names = std::collections::BTreeMap::new();
    let of = |path: &Vec<u8>| context.lstat(path).expect("it is there");
    all.keys().for_each(|path| *names.entry(of(path).ino).or_insert(0) += 1);
    for (path, node) in &all {
        let found = of(path);
        let names = names[&found.ino];
        let is_right = names == found.nlink || parent == Parent::Base && names < found.nlink;
        let is_counted = node.kind == pathwalk::FileType::Directory || is_right;
        assert!(is_counted, "{what}: {} has {} links", path.escape_ascii(), found.nlink);
    }
}

#[test]
fn forks_of_a_rebased_branch_keep_their_own_changes() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        let step = ground.fork(Some("work"), "step");
        step.write("/a", "step").unwrap();
        let next = ground.fork(Some("step"), "next");
        next.write("/next", "next").unwrap();
        work.write("/in-work", "work").unwrap();
        let of_next = ground.branches.diff("next").unwrap();
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        assert_eq!(ground.branches.diff("next").unwrap(), of_next, "on {}", ground.name);
        assert!(next.stat("/in-work").is_err());
        ground.branches.rebase("next", &Resolution::default()).unwrap();
        assert_eq!((text(&next, "/in-work"), ground.branches.diff("next").unwrap()), ("work".to_owned(), of_next));
        ground.branches.commit("next").unwrap();
        ground.branches.commit("step").unwrap();
        assert_eq!([text(&work, "/a"), text(&work, "/next"), text(&work, "/in-work")], ["step", "next", "work"]);
    }
}

#[test]
fn open_files_stay_through_a_rebase() {
    for ground in Ground::each(fill) {
        let (work, step) = (ground.fork(None, "work"), ground.fork(Some("work"), "step"));
        let open = step.open("/a", OpenFlags::READ).unwrap();
        let other = step.open("/d/file", OpenFlags::READ).unwrap();
        work.remove_file("/a").unwrap();
        work.write("/d/file", "parent").unwrap();
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        assert!(step.stat("/a").is_err());
        let mut buffer = [0; 6];
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer), (6, b"1\n2\n3\n"), "on {}", ground.name);
        assert_eq!((other.read_at(&mut buffer, 0).unwrap(), &buffer), (6, b"parent"));
        ground.branches.commit("step").unwrap();
    }
}

#[test]
fn links_that_went_with_a_directory_are_counted_once() {
    for ground in Ground::each(fill) {
        ground.base.link("/a", "/d/of-a").unwrap();
        ground.base.link("/a", "/one/of-a").unwrap();
        let work = ground.fork(None, "work");
        let step = ground.fork(Some("work"), "step");
        step.remove_dir_all("/d").unwrap();
        work.chmod("/a", 0o600).unwrap();
        ground.branches.commit("step").unwrap();
        let found = work.stat("/a").unwrap();
        assert_eq!((found.nlink, found.mode), (2, 0o600), "on {}", ground.name);
    }
}
