//! Conflicts with answers, in commits onto a parent and in rebases onto it.

mod common;

use common::Ground;
use common::trees::{change_more, differences, look, look_closely};
use fastrand::Rng;
use pathwalk::{Context, OpenFlags, XattrFlags};
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

type Do = fn(&Context);

/// What both do, and what is there afterwards: with ours, with theirs, and with a merge. `None` for
/// a conflict that stays.
struct Case {
    what: &'static str,
    in_branch: Do,
    in_parent: Do,
    shown: fn(&Context) -> String,
    expected: [Option<&'static str>; 3],
    over: Over,
}

/// Where the answers are possible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Both,
    /// With ours, the base would have to give more than it still has.
    OursOverParent,
    /// With ours, what the base has moved to the name goes, and this is there.
    OursOverBase(&'static str),
}

fn text(context: &Context, path: &str) -> String {
    context.read_to_string(path).map_or_else(|_| "ENOENT".to_owned(), |text| text.replace('\n', " ").trim().to_owned())
}

fn has(context: &Context, paths: &[&str]) -> String {
    let has: Vec<_> = paths.iter().filter(|path| context.lstat(**path).is_ok()).copied().collect();
    has.join(" ")
}

const CASES: &[Case] = &[
    Case {
        what: "other lines of a text",
        in_branch: |b| b.write("/a", "one\n2\n3\n4\n5\n").unwrap(),
        in_parent: |b| b.write("/a", "1\n2\n3\n4\nfive\n").unwrap(),
        shown: |b| text(b, "/a"),
        expected: [Some("one 2 3 4 5"), Some("1 2 3 4 five"), Some("one 2 3 4 five")],
        over: Over::Both,
    },
    Case {
        what: "the same line of a text",
        in_branch: |b| b.write("/a", "one\n2\n3\n4\n5\n").unwrap(),
        in_parent: |b| b.write("/a", "eins\n2\n3\n4\n5\n").unwrap(),
        shown: |b| text(b, "/a"),
        expected: [Some("one 2 3 4 5"), Some("eins 2 3 4 5"), None],
        over: Over::Both,
    },
    Case {
        what: "no text",
        in_branch: |b| b.write("/binary", [0, 9]).unwrap(),
        in_parent: |b| b.write("/binary", [0, 8, 8]).unwrap(),
        shown: |b| b.stat("/binary").unwrap().size.to_string(),
        expected: [Some("2"), Some("3"), None],
        over: Over::Both,
    },
    Case {
        what: "a text that an editor saved by a new file, in the branch",
        in_branch: |b| {
            b.write("/new", "one\n2\n3\n4\n5\n").unwrap();
            b.rename("/new", "/a").unwrap();
        },
        in_parent: |b| b.write("/a", "1\n2\n3\n4\nfive\n").unwrap(),
        shown: |b| text(b, "/a"),
        expected: [Some("one 2 3 4 5"), Some("1 2 3 4 five"), Some("one 2 3 4 five")],
        over: Over::Both,
    },
    Case {
        what: "a text that an editor saved by a new file, in the parent",
        in_branch: |b| b.write("/a", "one\n2\n3\n4\n5\n").unwrap(),
        in_parent: |b| {
            b.write("/new", "1\n2\n3\n4\nfive\n").unwrap();
            b.rename("/new", "/a").unwrap();
        },
        shown: |b| text(b, "/a"),
        expected: [Some("one 2 3 4 5"), Some("1 2 3 4 five"), Some("one 2 3 4 five")],
        over: Over::Both,
    },
    Case {
        what: "modes, and data of one",
        in_branch: |b| b.chmod("/a", 0o600).unwrap(),
        in_parent: |b| {
            b.chmod("/a", 0o640).unwrap();
            b.write("/a", "parent").unwrap();
        },
        shown: |b| format!("{:o} {}", b.stat("/a").unwrap().mode, text(b, "/a")),
        expected: [Some("600 parent"), Some("640 parent"), None],
        over: Over::Both,
    },
    Case {
        what: "one extended attribute of two",
        in_branch: |b| {
            b.setxattr("/a", "user.same", "branch", XattrFlags::empty()).unwrap();
            b.setxattr("/a", "user.ours", "branch", XattrFlags::empty()).unwrap();
        },
        in_parent: |b| {
            b.setxattr("/a", "user.same", "parent", XattrFlags::empty()).unwrap();
            b.setxattr("/a", "user.theirs", "parent", XattrFlags::empty()).unwrap();
        },
        shown: |b| {
            let value = |name| b.getxattr("/a", name).map_or("-".into(), |value| String::from_utf8(value).unwrap());
            format!("{} {} {}", value("user.same"), value("user.ours"), value("user.theirs"))
        },
        expected: [Some("branch branch parent"), Some("parent branch parent"), None],
        over: Over::Both,
    },
    Case {
        what: "a new name in both",
        in_branch: |b| b.write("/n", "branch").unwrap(),
        in_parent: |b| b.write("/n", "parent").unwrap(),
        shown: |b| text(b, "/n"),
        expected: [Some("branch"), Some("parent"), None],
        over: Over::Both,
    },
    Case {
        what: "a new directory in both, with other files",
        in_branch: |b| {
            b.mkdir("/n", 0o755).unwrap();
            b.write("/n/branch", "").unwrap();
        },
        in_parent: |b| {
            b.mkdir("/n", 0o755).unwrap();
            b.write("/n/parent", "").unwrap();
        },
        shown: |b| has(b, &["/n/branch", "/n/parent"]),
        expected: [Some("/n/branch"), Some("/n/parent"), None],
        over: Over::Both,
    },
    Case {
        what: "moved to different places",
        in_branch: |b| b.rename("/d", "/one/d").unwrap(),
        in_parent: |b| b.rename("/d", "/two/d").unwrap(),
        shown: |b| has(b, &["/d", "/one/d/file", "/two/d/file"]),
        expected: [Some("/one/d/file"), Some("/two/d/file"), None],
        over: Over::OursOverParent,
    },
    Case {
        what: "moved below each other",
        in_branch: |b| b.rename("/one", "/two/one").unwrap(),
        in_parent: |b| b.rename("/two", "/one/two").unwrap(),
        shown: |b| has(b, &["/one/x", "/two", "/two/one/x", "/one/two"]),
        expected: [Some("/two /two/one/x"), Some("/one/x /one/two"), None],
        over: Over::OursOverParent,
    },
    Case {
        what: "removed, and changed in the parent",
        in_branch: |b| b.remove_file("/a").unwrap(),
        in_parent: |b| b.write("/a", "parent").unwrap(),
        shown: |b| text(b, "/a"),
        expected: [Some("ENOENT"), Some("parent"), None],
        over: Over::Both,
    },
    Case {
        what: "changed, and removed in the parent",
        in_branch: |b| b.write("/a", "branch").unwrap(),
        in_parent: |b| b.remove_file("/a").unwrap(),
        shown: |b| text(b, "/a"),
        expected: [Some("branch"), Some("ENOENT"), None],
        over: Over::Both,
    },
    Case {
        what: "a directory that was removed, and changed in the parent",
        in_branch: |b| b.remove_dir_all("/d").unwrap(),
        in_parent: |b| {
            b.write("/d/sub/file", "parent").unwrap();
            b.write("/d/sub/new", "parent").unwrap();
        },
        shown: |b| format!("{} {}", has(b, &["/d", "/d/file", "/d/sub/new"]), text(b, "/d/sub/file")),
        expected: [Some(" ENOENT"), Some("/d /d/file /d/sub/new parent"), None],
        over: Over::Both,
    },
    Case {
        what: "a directory that was changed, and removed in the parent",
        in_branch: |b| {
            b.write("/d/sub/file", "branch").unwrap();
            b.write("/d/sub/new", "branch").unwrap();
        },
        in_parent: |b| b.remove_dir_all("/d").unwrap(),
        shown: |b| format!("{} {}", has(b, &["/d", "/d/file", "/d/sub/new"]), text(b, "/d/sub/file")),
        expected: [Some("/d /d/file /d/sub/new branch"), Some(" ENOENT"), None],
        over: Over::OursOverParent,
    },
    Case {
        what: "a file that was moved out of a directory, which the parent changed and the branch removed",
        in_branch: |b| {
            b.rename("/d/sub/file", "/kept").unwrap();
            b.remove_dir_all("/d").unwrap();
        },
        in_parent: |b| b.write("/d/file", "parent").unwrap(),
        shown: |b| has(b, &["/d", "/d/file", "/d/sub/file", "/kept"]),
        expected: [Some("/kept"), Some("/d /d/file /d/sub/file"), None],
        over: Over::Both,
    },
    Case {
        what: "a name that each gave to another node of before",
        in_branch: |b| b.rename("/a", "/to").unwrap(),
        in_parent: |b| b.rename("/d/file", "/to").unwrap(),
        shown: |b| has(b, &["/a", "/d/file", "/to"]),
        expected: [Some("/d/file /to"), Some("/a /to"), None],
        over: Over::OursOverBase("/to"),
    },
];

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
fn random_conflicts_are_answered() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(8, |rounds| rounds.parse().expect("it is a number"));
    for parent in [Parent::Branch, Parent::Base] {
        let (mut answered, mut plain, mut open) = (0, 0, 0);
        for round in 0..rounds {
            for answer in [Answer::Ours, Answer::Theirs, Answer::Merge] {
                let seed = random.u64(..);
                for name in 0..3 {
                    let what = format!("round {round} ({seed}), {answer:?}, {parent:?}, ground {name}");
                    match answer_randomly(seed, parent, answer, name, &what) {
                        Some(true) => plain += 1,
                        Some(false) => answered += 1,
                        None => open += 1,
                    }
                }
            }
        }
        println!("{parent:?}: {plain} without conflicts, {answered} answered, {open} open");
        assert!(answered > 0);
    }
}

/// Commits a branch with an answer, and rebases another like it before it is committed: the results
/// are equal. Returns whether there was no conflict; `None` if one stays.
fn answer_randomly(seed: u64, parent: Parent, answer: Answer, name: usize, what: &str) -> Option<bool> {
    let mut random = Rng::with_seed(seed);
    let [filled, of_parent, of_step] = [(); 3].map(|()| random.u64(..));
    let (count_parent, count_step) = (random.usize(10..50), random.usize(10..50));
    let changes = |context: &Context, seed: u64, count: usize| {
        let mut random = Rng::with_seed(seed);
        (0..count).for_each(|_| change_more(context, &mut random));
    };
    let ground = || Ground::each(|base| changes(base, filled, 60)).into_iter().nth(name).expect("there are three");
    let (one, other) = (ground(), ground());
    let both = [&one, &other].map(|ground| {
        let of_parent = |context: &Context| changes(context, of_parent, count_parent);
        parent.prepared(ground, of_parent, |context| changes(context, of_step, count_step))
    });
    let resolution = Resolution::all(answer);
    // A branch of a base that has changed need not show all of it: so its changes are compared.
    let before = other.branches.diff("step").unwrap();
    let is_plain = other.branches.rebase("step", &Resolution::default()).is_ok();
    if !is_plain {
        assert_eq!(other.branches.diff("step").unwrap(), before, "{what}: nothing was done");
    }
    if let Err(error) = one.branches.commit_with("step", &resolution) {
        println!("{what}: {error}");
        assert!(matches!(error, Error::Conflicts { .. }), "{what}");
        let rebased = other.branches.rebase("step", &resolution);
        assert!(matches!(rebased, Err(Error::Conflicts { .. })), "{what}");
        return None;
    }
    check_links(&both[0].0, Parent::Branch, what);
    other.branches.rebase("step", &resolution).unwrap_or_else(|error| panic!("{what}: {error}"));
    check_links(&both[1].1, parent, what);
    let rebased = look(&both[1].1);
    assert_eq!(rebased, look(&other.again("step")), "{what}: without caches");
    other.branches.diff("step").unwrap();
    other.branches.commit("step").unwrap_or_else(|error| panic!("{what}: {error}"));
    let (one, other) = (look(&both[0].0), look(&both[1].0));
    assert!(other == rebased, "{what}: {}", differences(&other, &rebased));
    assert!(one == other, "{what}: {}", differences(&one, &other));
    Some(is_plain)
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

#[test]
fn what_the_base_removed_comes_back_under_a_name_that_it_has() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.link("/a", "/z").unwrap();
        step.write("/a", "branch").unwrap();
        step.remove_file("/z").unwrap();
        ground.base.remove_file("/a").unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Ours)).unwrap();
        assert_eq!((text(&step, "/a"), step.stat("/z").is_err()), ("branch".to_owned(), true), "on {}", ground.name);
        assert_eq!(step.stat("/a").unwrap().nlink, 1);
        ground.branches.commit("step").unwrap();
        assert_eq!((text(&ground.base, "/a"), ground.base.stat("/z").is_err()), ("branch".to_owned(), true));
    }
}

#[test]
fn a_rebase_onto_a_changed_base_takes_over_what_it_changed() {
    for mut ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/d/new", "branch").unwrap();
        step.chmod("/a", 0o600).unwrap();
        step.rename("/one/x", "/one/y").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(12));
        ground.base.write("/a", "base").unwrap();
        ground.base.rename("/d", "/elsewhere").unwrap();
        ground.base.mkdir("/one/more", 0o755).unwrap();
        ground.branches.catch_up();
        let before = ground.branches.diff("step").unwrap().len();
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        let paths: Vec<_> = ground.branches.diff("step").unwrap().iter().map(|change| change.path().to_vec()).collect();
        assert_eq!(paths, [b"/a".to_vec(), b"/elsewhere/new".to_vec(), b"/one/y".to_vec()], "on {}", ground.name);
        assert_eq!((before, text(&step, "/a"), step.stat("/one").unwrap().nlink), (3, "base".to_owned(), 4));
        let rebased = look_closely(&step);
        drop(step);
        if ground.is_stored() {
            ground.reopen();
            assert!(look_closely(&ground.again("step")) == rebased, "it is stored");
        }
        ground.branches.commit("step").unwrap();
        assert!(look_closely(&ground.base) == rebased, "on {}", ground.name);
    }
}

#[test]
fn what_the_base_put_in_the_place_of_what_it_moved_is_shown_after_a_rebase() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/a", "branch").unwrap();
        ground.base.rename("/a", "/one/moved").unwrap();
        ground.base.write("/a", "another").unwrap();
        ground.branches.catch_up();
        // The second one finds what the first one has left.
        for _ in 0..2 {
            ground.branches.rebase("step", &Resolution::default()).unwrap();
            assert_eq!((&*text(&step, "/a"), &*text(&step, "/one/moved")), ("another", "branch"), "on {}", ground.name);
        }
        let rebased = look(&step);
        ground.branches.commit("step").unwrap();
        let found = look(&ground.base);
        assert!(found == rebased, "on {}: {}", ground.name, differences(&found, &rebased));
    }
}

#[test]
fn a_second_name_that_went_with_its_directory_is_no_conflict() {
    let each = ["/a", "/d/of-a"].into_iter().flat_map(|path| Ground::each(fill).map(|ground| (ground, path)));
    for (ground, looked_at) in each {
        ground.base.link("/a", "/d/of-a").unwrap();
        let step = ground.fork(None, "step");
        step.stat(looked_at).unwrap();
        step.remove_dir_all("/d").unwrap();
        let before = look(&step);
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        assert_eq!(look(&step), before, "{looked_at} on {}", ground.name);
        ground.branches.commit("step").unwrap();
        assert_eq!(look(&ground.base), before, "{looked_at} on {}", ground.name);
    }
}

#[test]
fn what_the_base_linked_into_a_directory_goes_with_it_alone() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/a", "branch").unwrap();
        step.remove_dir_all("/d").unwrap();
        ground.base.link("/a", "/d/of-a").unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Ours)).unwrap();
        assert_eq!((text(&step, "/a"), step.stat("/d").is_err()), ("branch".to_owned(), true), "on {}", ground.name);
        assert_eq!(step.stat("/a").unwrap().nlink, 1, "on {}", ground.name);
        ground.branches.commit("step").unwrap();
        assert_eq!((text(&ground.base, "/a"), ground.base.stat("/d").is_err()), ("branch".to_owned(), true));
    }
}

#[test]
fn what_the_base_made_with_a_number_that_it_reused_is_shown() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.remove_dir_all("/two").unwrap();
        step.mkdir("/two", 0o755).unwrap();
        step.write("/one/x", "branch").unwrap();
        ground.base.remove_dir_all("/two").unwrap();
        ground.base.mkdir("/two", 0o700).unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Theirs)).unwrap();
        assert_eq!(step.stat("/two").unwrap().mode & 0o777, 0o700, "on {}", ground.name);
        ground.branches.commit("step").unwrap();
        assert_eq!(text(&ground.base, "/one/x"), "branch", "on {}", ground.name);
    }
}

#[test]
fn open_files_stay_through_a_rebase_onto_the_base() {
    for ground in Ground::each(fill) {
        let step = ground.fork(None, "step");
        step.write("/a", "branch").unwrap();
        let open = step.open("/a", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        ground.base.remove_file("/a").unwrap();
        ground.branches.catch_up();
        ground.branches.rebase("step", &Resolution::all(Answer::Theirs)).unwrap();
        assert!(step.stat("/a").is_err(), "on {}", ground.name);
        let mut buffer = [0; 6];
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer), (6, b"branch"), "on {}", ground.name);
        assert_eq!(open.handle().attributes().unwrap().nlink, 0);
        open.write_at(b"B", 0).unwrap();
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer), (6, b"Branch"), "on {}", ground.name);
        ground.branches.commit("step").unwrap();
    }
}
