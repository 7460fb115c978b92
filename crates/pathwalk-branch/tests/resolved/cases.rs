//! The kinds of conflicts, and what each answer makes of them.

use pathwalk::{Context, XattrFlags};

pub(crate) type Do = fn(&Context);

/// What both do, and what is there afterwards: with ours, with theirs, and with a merge. `None` for
/// a conflict that stays.
pub(crate) struct Case {
    pub(crate) what: &'static str,
    pub(crate) in_branch: Do,
    pub(crate) in_parent: Do,
    pub(crate) shown: fn(&Context) -> String,
    pub(crate) expected: [Option<&'static str>; 3],
    pub(crate) over: Over,
}

/// Where the answers are possible.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Both,
    /// With ours, the base would have to give more than it still has.
    OursOverParent,
    /// With ours, what the base has moved to the name goes, and this is there.
    OursOverBase(&'static str),
}

pub(crate) fn text(context: &Context, path: &str) -> String {
    context.read_to_string(path).map_or_else(|_| "ENOENT".to_owned(), |text| text.replace('\n', " ").trim().to_owned())
}

fn has(context: &Context, paths: &[&str]) -> String {
    let has: Vec<_> = paths.iter().filter(|path| context.lstat(**path).is_ok()).copied().collect();
    has.join(" ")
}

pub(crate) const CASES: &[Case] = &[
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
