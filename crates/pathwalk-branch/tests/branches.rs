//! Forks, comparisons, commits and their conflicts, and a base that changes.

mod common;

use common::{Ground, names};
use pathwalk::{At, AtFlags, Context, Errno, FileType, OpenFlags, SetTime, Timestamp, XattrFlags};
use pathwalk_branch::{Aspects, Change, ConflictKind, Error};

fn path(path: &str) -> Box<[u8]> {
    path.as_bytes().into()
}

fn conflicts(ground: &Ground, name: &str) -> Vec<(String, ConflictKind)> {
    match ground.branches.commit(name) {
        Err(Error::Conflicts { conflicts, .. }) => {
            let shown =
                |conflict: pathwalk_branch::Conflict| (String::from_utf8_lossy(&conflict.path).into_owned(), conflict.kind);
            conflicts.into_iter().map(shown).collect()
        }
        other => panic!("there are conflicts on {}: {other:?}", ground.name),
    }
}

fn fill(base: &Context) {
    base.create_dir_all("/d/sub").unwrap();
    base.create_dir_all("/e").unwrap();
    ["/a", "/b", "/d/file", "/d/sub/file"].into_iter().for_each(|name| base.write(name, name).unwrap());
}

#[test]
fn forks_do_not_see_each_other() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.write("/a", "of work").unwrap();
        let [one, two] = ["one", "two"].map(|name| ground.fork(Some("work"), name));
        one.write("/a", "of one").unwrap();
        one.remove_file("/b").unwrap();
        two.rename("/d", "/moved").unwrap();
        work.write("/later", "").unwrap();
        assert_eq!(names(&one, "/"), ["a", "d", "e"], "{}", ground.name);
        assert_eq!(names(&two, "/"), ["a", "b", "e", "moved"]);
        assert_eq!(names(&work, "/"), ["a", "b", "d", "e", "later"]);
        let texts = [&one, &two, &work, &ground.base].map(|context| context.read_to_string("/a").unwrap());
        assert_eq!(texts, ["of one", "of work", "of work", "/a"]);
        let names: Vec<_> = ground.branches.list().unwrap().into_iter().map(|info| (info.name, info.parent)).collect();
        let of_work = Some("work".to_owned());
        assert_eq!(names, [("one".into(), of_work.clone()), ("two".into(), of_work), ("work".into(), None)]);
        assert!(matches!(ground.branches.drop("work"), Err(Error::HasForks { forks, .. }) if forks == ["one", "two"]));
        assert!(matches!(ground.branches.commit("work"), Err(Error::HasForks { .. })));
        ground.branches.drop("one").unwrap();
        assert_eq!(one.read_to_string("/a").unwrap(), "of one", "its Vfs keeps it");
        assert!(matches!(ground.branches.get("one"), Err(Error::NoBranch(_))));
    }
}

#[test]
fn the_thousandth_fork_works_as_the_first() {
    let [ground, ..] = Ground::each(fill);
    ground.fork(None, "0").write("/d/own", "0").unwrap();
    for depth in 1..1000 {
        let parent = (depth - 1).to_string();
        let branch = ground.branches.fork(Some(&parent), &depth.to_string()).unwrap();
        if depth % 50 == 0 {
            let context = pathwalk::Vfs::builder().build(branch).unwrap().context(pathwalk::Credentials::root());
            assert_eq!(context.read_to_string("/d/own").unwrap(), (depth - depth.min(50)).to_string());
            context.write("/d/own", depth.to_string()).unwrap();
        }
    }
    assert_eq!(ground.again("999").read_to_string("/d/own").unwrap(), "950");
    assert_eq!(ground.again("0").read_to_string("/d/own").unwrap(), "0");
}

#[test]
fn each_kind_of_change_is_found() {
    for ground in Ground::each(|base| {
        fill(base);
        base.setxattr("/b", "user.x", "1", XattrFlags::empty()).unwrap();
    }) {
        let work = ground.fork(None, "work");
        assert_eq!(ground.branches.diff("work").unwrap(), [], "{}", ground.name);
        work.write("/a", "changed").unwrap();
        work.chmod("/a", 0o600).unwrap();
        work.setxattr("/b", "user.x", "2", XattrFlags::empty()).unwrap();
        work.rename("/d/sub", "/e/moved").unwrap();
        work.write("/e/moved/file", "below what moved").unwrap();
        work.remove_file("/d/file").unwrap();
        work.symlink("a", "/d/file").unwrap();
        work.create_dir_all("/new/below").unwrap();
        work.chmod("/d", 0o700).unwrap();
        work.write("/passing", "").unwrap();
        work.remove_file("/passing").unwrap();
        let (regular, directory) = (FileType::Regular, FileType::Directory);
        let expected = [
            Change::Changed { path: path("/a"), kind: regular, what: Aspects::DATA | Aspects::ATTRIBUTES },
            Change::Changed { path: path("/b"), kind: regular, what: Aspects::XATTRS },
            Change::Changed { path: path("/d"), kind: directory, what: Aspects::ATTRIBUTES },
            Change::TypeChanged { path: path("/d/file"), from: regular, kind: FileType::Symlink },
            Change::Renamed { from: path("/d/sub"), path: path("/e/moved"), kind: directory, what: Aspects::empty() },
            Change::Changed { path: path("/e/moved/file"), kind: regular, what: Aspects::DATA },
            Change::Added { path: path("/new"), kind: directory },
            Change::Added { path: path("/new/below"), kind: directory },
        ];
        assert_eq!(ground.branches.diff("work").unwrap(), expected, "{}", ground.name);

        let fork = ground.fork(Some("work"), "fork");
        assert_eq!(ground.branches.diff("fork").unwrap(), []);
        fork.remove_dir_all("/e").unwrap();
        fork.hard_link("/a", "/also").unwrap();
        fork.remove_file("/b").unwrap();
        fork.write("/b", "in its place").unwrap();
        fork.rename("/new/below", "/kept").unwrap();
        fork.rmdir("/new").unwrap();
        let expected = [
            Change::Added { path: path("/also"), kind: regular },
            Change::Changed { path: path("/b"), kind: regular, what: Aspects::DATA | Aspects::ATTRIBUTES },
            Change::Removed { path: path("/e"), kind: directory },
            Change::Renamed { from: path("/new/below"), path: path("/kept"), kind: directory, what: Aspects::empty() },
            Change::Removed { path: path("/new"), kind: directory },
        ];
        assert_eq!(ground.branches.diff("fork").unwrap(), expected, "{}", ground.name);
    }
}

#[test]
fn a_directory_that_was_replaced_below_one_that_moved_has_its_old_path() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.rename("/d", "/x").unwrap();
        work.remove_dir_all("/x/sub").unwrap();
        work.mkdir("/x/sub", 0o755).unwrap();
        let kind = FileType::Directory;
        let expected = [
            Change::Removed { path: path("/d/sub"), kind },
            Change::Renamed { from: path("/d"), path: path("/x"), kind, what: Aspects::empty() },
            Change::Added { path: path("/x/sub"), kind },
        ];
        assert_eq!(ground.branches.diff("work").unwrap(), expected, "{}", ground.name);
    }
}

#[test]
fn a_node_that_lost_its_last_name_but_one_has_a_path() {
    for ground in Ground::each(|base| {
        ["/a", "/b", "/c", "/d", "/e"].into_iter().for_each(|name| base.write(name, "old").unwrap());
        base.mkdir("/dir", 0o755).unwrap();
        base.hard_link("/e", "/dir/e").unwrap();
    }) {
        let work = ground.fork(None, "work");
        // In a directory of the base, in one that is gone, and in one that stays.
        work.write("/a", "new").unwrap();
        work.hard_link("/a", "/z").unwrap();
        work.remove_file("/z").unwrap();
        work.mkdir("/gone", 0o755).unwrap();
        work.hard_link("/b", "/gone/z").unwrap();
        work.write("/b", "new").unwrap();
        work.remove_file("/gone/z").unwrap();
        work.rmdir("/gone").unwrap();
        work.mkdir("/stays", 0o755).unwrap();
        work.hard_link("/c", "/stays/z").unwrap();
        work.write("/c", "new").unwrap();
        work.remove_file("/stays/z").unwrap();
        // Under a name that stays, while the one of the base and the last one go.
        work.write("/d", "new").unwrap();
        work.hard_link("/d", "/stays/d").unwrap();
        work.hard_link("/d", "/z").unwrap();
        work.remove_file("/z").unwrap();
        work.remove_file("/d").unwrap();
        work.hard_link("/e", "/z").unwrap();
        work.write("/dir/e", "new").unwrap();
        work.remove_dir_all("/dir").unwrap();
        let (regular, directory, what) = (FileType::Regular, FileType::Directory, Aspects::DATA);
        let expected = [
            Change::Changed { path: path("/a"), kind: regular, what },
            Change::Changed { path: path("/b"), kind: regular, what },
            Change::Changed { path: path("/c"), kind: regular, what },
            Change::Removed { path: path("/dir"), kind: directory },
            Change::Added { path: path("/stays"), kind: directory },
            Change::Renamed { from: path("/d"), path: path("/stays/d"), kind: regular, what },
            Change::Added { path: path("/z"), kind: regular },
            Change::Changed { path: path("/z"), kind: regular, what },
        ];
        assert_eq!(ground.branches.diff("work").unwrap(), expected, "{}", ground.name);
        ground.branches.commit("work").unwrap();
        for name in ["/a", "/b", "/c", "/stays/d", "/e", "/z"] {
            assert_eq!(ground.base.read_to_string(name).unwrap(), "new", "{}: {name}", ground.name);
        }
    }
}

#[test]
fn a_conflict_is_told_under_a_name_that_is_there() {
    for ground in Ground::each(|base| {
        ["/a", "/b"].into_iter().for_each(|name| base.write(name, "old").unwrap());
    }) {
        let work = ground.fork(None, "work");
        let step = ground.fork(Some("work"), "step");
        for (context, name) in [(&work, "/b"), (&step, "/a")] {
            context.hard_link(name, "/z").unwrap();
            context.write("/a", "new").unwrap();
            context.remove_file("/z").unwrap();
        }
        step.remove_file("/b").unwrap();
        work.chmod("/b", 0o600).unwrap();
        let expected =
            [("/a".to_owned(), ConflictKind::Changed(Aspects::DATA)), ("/b".to_owned(), ConflictKind::RemovedInBranch)];
        assert_eq!(conflicts(&ground, "step"), expected, "{}", ground.name);
    }
}

#[test]
fn what_moved_out_of_a_directory_that_is_gone_is_found() {
    for ground in Ground::each(|base| {
        base.create_dir_all("/d/deep/sub").unwrap();
        base.write("/d/deep/sub/file", "text").unwrap();
        base.write("/d/deep/file", "text").unwrap();
        base.write("/linked", "").unwrap();
        base.hard_link("/linked", "/d/linked").unwrap();
    }) {
        let work = ground.fork(None, "work");
        let step = ground.fork(Some("work"), "step");
        work.rename("/d/deep/sub", "/sub").unwrap();
        step.rename("/d/deep/sub", "/moved").unwrap();
        step.rename("/d/deep/file", "/file").unwrap();
        step.remove_dir_all("/d").unwrap();
        step.hard_link("/linked", "/again").unwrap();
        let expected = [
            // One name of the file went, and another came.
            Change::Renamed { from: path("/d/linked"), path: path("/again"), kind: FileType::Regular, what: Aspects::empty() },
            Change::Removed { path: path("/d"), kind: FileType::Directory },
            Change::Renamed { from: path("/d/deep/file"), path: path("/file"), kind: FileType::Regular, what: Aspects::empty() },
            Change::Renamed {
                from: path("/d/deep/sub"),
                path: path("/moved"),
                kind: FileType::Directory,
                what: Aspects::empty(),
            },
        ];
        assert_eq!(ground.branches.diff("step").unwrap(), expected, "{}", ground.name);
        let found = conflicts(&ground, "step");
        assert!(found.contains(&("/moved".to_owned(), ConflictKind::Moved)), "{found:?}");
        let gone = ground.fork(Some("work"), "gone");
        work.rename("/sub", "/d/deep/sub").unwrap();
        gone.remove_dir_all("/d").unwrap();
        assert!(!conflicts(&ground, "gone").is_empty());
        // The same, where the common tree does not have what was moved.
        let fresh = ground.fork(None, "fresh");
        let gone = ground.fork(Some("fresh"), "of fresh");
        fresh.rename("/d/deep/sub", "/sub").unwrap();
        gone.remove_dir_all("/d").unwrap();
        let found = conflicts(&ground, "of fresh");
        assert!(found.contains(&("/sub".to_owned(), ConflictKind::RemovedInBranch)), "{found:?}");
    }
}

#[test]
fn a_commit_shows_in_the_parent_at_once() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        // What the parent's caches keep.
        assert_eq!(work.read_to_string("/a").unwrap(), "/a");
        assert_eq!(work.stat("/new"), Err(Errno::ENOENT));
        let open = work.open("/b", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        let before = names(&work, "/d");
        let step = ground.fork(Some("work"), "step");
        step.write("/a", "by step").unwrap();
        step.mkdir("/new", 0o755).unwrap();
        step.write("/new/file", "new").unwrap();
        step.remove_file("/b").unwrap();
        step.rename("/d/sub", "/d/renamed").unwrap();
        step.remove_dir_all("/e").unwrap();
        // What the parent changes meanwhile.
        work.write("/new2", "by work").unwrap();
        work.chmod("/d", 0o711).unwrap();
        work.write("/d/file", "by work").unwrap();
        assert_eq!(before, ["file", "sub"], "{}", ground.name);
        ground.branches.commit("step").unwrap();
        for context in [&work, &ground.again("work")] {
            assert_eq!(names(context, "/"), ["a", "d", "new", "new2"], "{}", ground.name);
            assert_eq!(names(context, "/d"), ["file", "renamed"]);
            let texts =
                ["/a", "/new/file", "/new2", "/d/file", "/d/renamed/file"].map(|path| context.read_to_string(path).unwrap());
            assert_eq!(texts, ["by step", "new", "by work", "by work", "/d/sub/file"]);
            assert_eq!((context.stat("/").unwrap().nlink, context.stat("/d").unwrap().nlink), (4, 3));
            assert_eq!(context.stat("/d").unwrap().mode, 0o711);
        }
        // A file that the step removed is open here.
        let mut buffer = [0; 2];
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer), (2, b"/b"));
        assert_eq!(open.handle().attributes().unwrap().nlink, 0);
        open.write_at(b"still", 0).unwrap();
        let stored = ground.branches.stored();
        drop((open, work));
        assert!(ground.has_stored(stored.wrapping_sub(5)), "no cache has it any more");
        assert!(matches!(ground.branches.commit("step"), Err(Error::NoBranch(_))));
    }
}

#[test]
fn what_both_changed_is_a_conflict_and_nothing_is_done() {
    type Do = fn(&Context);
    let file = "/d/file";
    let cases: [(&str, Do, Do, &str, ConflictKind); 9] = [
        (
            "data",
            |it| it.write("/a", "1").unwrap(),
            |it| it.write("/a", "2").unwrap(),
            "/a",
            ConflictKind::Changed(Aspects::DATA),
        ),
        (
            "modes",
            |it| it.chmod("/a", 0o600).unwrap(),
            |it| it.chmod("/a", 0o640).unwrap(),
            "/a",
            ConflictKind::Changed(Aspects::ATTRIBUTES),
        ),
        (
            "attributes",
            |it| it.setxattr("/a", "user.x", "1", XattrFlags::empty()).unwrap(),
            |it| it.setxattr("/a", "user.x", "2", XattrFlags::empty()).unwrap(),
            "/a",
            ConflictKind::Changed(Aspects::XATTRS),
        ),
        ("names", |it| it.write("/x", "1").unwrap(), |it| it.write("/x", "2").unwrap(), "/x", ConflictKind::Named),
        ("moves", |it| it.rename("/a", "/x").unwrap(), |it| it.rename("/a", "/y").unwrap(), "/x", ConflictKind::Moved),
        (
            "a removal in the parent",
            |it| it.chmod("/d/file", 0o600).unwrap(),
            |it| it.remove_dir_all("/d").unwrap(),
            file,
            ConflictKind::RemovedInParent,
        ),
        (
            "a new name",
            |it| it.write("/d/sub/new", "").unwrap(),
            |it| it.remove_dir_all("/d").unwrap(),
            "/d/sub",
            ConflictKind::RemovedInParent,
        ),
        (
            "a removal in the branch",
            |it| it.remove_dir_all("/d").unwrap(),
            |it| it.write("/d/file", "2").unwrap(),
            file,
            ConflictKind::RemovedInBranch,
        ),
        ("a circle", |it| it.rename("/d", "/e/d").unwrap(), |it| it.rename("/e", "/d/e").unwrap(), "/e/d", ConflictKind::Moved),
    ];
    for (what, of_branch, of_parent, path, kind) in cases {
        for ground in Ground::each(fill) {
            let work = ground.fork(None, "work");
            let step = ground.fork(Some("work"), "step");
            of_branch(&step);
            of_parent(&work);
            let before = ground.branches.diff("work").unwrap();
            let found = conflicts(&ground, "step");
            assert!(found.contains(&(path.to_owned(), kind)), "{what} on {}: {found:?}", ground.name);
            assert_eq!(ground.branches.diff("work").unwrap(), before, "nothing was done");
            assert!(ground.branches.get("step").is_ok());
        }
    }
}

#[test]
fn what_both_changed_alike_or_apart_is_none() {
    type Do = fn(&Context);
    let cases: [(&str, Do, Do, Do); 6] = [
        (
            "the same",
            |it| it.chmod("/a", 0o600).unwrap(),
            |it| it.chmod("/a", 0o600).unwrap(),
            |it| assert_eq!(it.stat("/a").unwrap().mode, 0o600),
        ),
        (
            "both removed it",
            |it| it.remove_file("/a").unwrap(),
            |it| it.remove_file("/a").unwrap(),
            |it| assert!(it.stat("/a").is_err()),
        ),
        (
            "mode and owner",
            |it| it.chmod("/a", 0o600).unwrap(),
            |it| it.chown("/a", Some(7), None).unwrap(),
            |it| {
                let found = it.stat("/a").unwrap();
                assert_eq!((found.mode, found.uid), (0o600, 7));
            },
        ),
        (
            "data and a name",
            |it| it.write("/a", "1").unwrap(),
            |it| it.rename("/a", "/e/x").unwrap(),
            |it| {
                assert_eq!(it.read_to_string("/e/x").unwrap(), "1");
                assert!(it.stat("/a").is_err());
            },
        ),
        (
            "two attributes",
            |it| it.setxattr("/a", "user.x", "1", XattrFlags::empty()).unwrap(),
            |it| it.setxattr("/a", "user.y", "2", XattrFlags::empty()).unwrap(),
            |it| {
                assert_eq!((it.getxattr("/a", "user.x"), it.getxattr("/a", "user.y")), (Ok(b"1".to_vec()), Ok(b"2".to_vec())));
            },
        ),
        (
            "names in one directory",
            |it| it.mkdir("/d/one", 0o755).unwrap(),
            |it| it.mkdir("/d/two", 0o755).unwrap(),
            |it| {
                assert_eq!(names(it, "/d"), ["file", "one", "sub", "two"]);
                assert_eq!(it.stat("/d").unwrap().nlink, 5);
            },
        ),
    ];
    for (what, of_branch, of_parent, check) in cases {
        for ground in Ground::each(fill) {
            let work = ground.fork(None, "work");
            let step = ground.fork(Some("work"), "step");
            of_branch(&step);
            of_parent(&work);
            let name = ground.name;
            ground.branches.commit("step").unwrap_or_else(|error| panic!("{what} on {name}: {error}"));
            check(&work);
            check(&ground.again("work"));
        }
    }
}

#[test]
fn what_was_not_touched_shows_the_living_base() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.write("/d/own", "").unwrap();
        assert_eq!((names(&work, "/d").len(), work.stat("/later").is_ok()), (3, false));
        assert_eq!(work.read_to_string("/a").unwrap(), "/a");
        ground.base.write("/a", "changed below").unwrap();
        ground.base.write("/later", "").unwrap();
        ground.base.write("/d/later", "").unwrap();
        ground.base.remove_file("/b").unwrap();
        ground.branches.catch_up();
        assert_eq!(work.read_to_string("/a").unwrap(), "changed below", "{}", ground.name);
        assert_eq!(work.stat("/a").unwrap().size, 13);
        assert_eq!(names(&work, "/d"), ["file", "later", "own", "sub"]);
        assert_eq!((work.stat("/later").is_ok(), work.stat("/b")), (true, Err(Errno::ENOENT)));
        // Its own names stay its own.
        work.remove_file("/later").unwrap();
        ground.base.write("/later", "again").unwrap();
        ground.base.write("/d/own", "of the base").unwrap();
        ground.branches.catch_up();
        assert_eq!(work.stat("/later"), Err(Errno::ENOENT));
        assert_eq!(work.read_to_string("/d/own").unwrap(), "");
    }
}

#[test]
fn a_file_of_two_versions_is_not_shown() {
    for ground in Ground::each(|base| base.write("/file", "one version").unwrap()) {
        let work = ground.fork(None, "work");
        let step = ground.fork(Some("work"), "step");
        let whole = ground.fork(Some("work"), "whole");
        for context in [&step, &whole] {
            context.open("/file", OpenFlags::WRITE).unwrap().write_at(b"ONE", 0).unwrap();
        }
        whole.write("/file", "all of it").unwrap();
        assert_eq!(step.read_to_string("/file").unwrap(), "ONE version");
        ground.base.write("/file", "another one").unwrap();
        ground.branches.catch_up();
        assert_eq!(step.read_to_string("/file").map_err(|error| error.errno()), Err(Errno::ESTALE), "{}", ground.name);
        let file = step.open("/file", OpenFlags::READ).unwrap();
        let mut buffer = [0; 3];
        assert_eq!((file.read_at(&mut buffer, 0), &buffer), (Ok(3), b"ONE"), "what was written is there");
        assert_eq!(file.read_at(&mut buffer, 1), Err(Errno::ESTALE));
        assert_eq!(work.read_to_string("/file").unwrap(), "another one");
        assert_eq!(conflicts(&ground, "step"), [("/file".to_owned(), ConflictKind::BaseChanged)]);
        ground.branches.commit("whole").unwrap();
        assert_eq!(work.read_to_string("/file").unwrap(), "all of it");
    }
}

#[test]
fn data_is_freed_with_the_last_branch_that_shows_it() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.write("/new", vec![1; 1000]).unwrap();
        let step = ground.fork(Some("work"), "step");
        step.write("/new", vec![2; 500]).unwrap();
        assert!(ground.has_stored(1500), "{}", ground.name);
        work.remove_file("/new").unwrap();
        assert!(ground.has_stored(1500), "the fork was made of it");
        drop(step);
        ground.branches.drop("step").unwrap();
        assert!(ground.has_stored(0));
    }
}

#[test]
fn names_of_branches_are_checked() {
    let [ground, ..] = Ground::each(|_| ());
    for name in ["", "a/b", "line\n", &"x".repeat(256)] {
        assert!(matches!(ground.branches.fork(None, name), Err(Error::Name(_))), "{name:?}");
    }
    assert!(matches!(ground.branches.fork(Some("none"), "a"), Err(Error::NoBranch(_))));
    assert!(matches!(ground.branches.set_note("none", ""), Err(Error::NoBranch(_))));
    ground.branches.fork(None, "one with spaces").unwrap();
}

#[test]
fn a_base_that_tells_nothing_is_asked_each_time() {
    use pathwalk::{Credentials, Freshness, Vfs};
    use pathwalk_branch::{BaseChanges, Branches, Options};

    let asked = Freshness::AskEachTime;
    let options = pathwalk_memfs::Options::default().freshness(asked).absence(asked).attributes(asked);
    let fs = pathwalk_memfs::MemFs::with(options);
    let behind = Vfs::builder().build(fs.alias()).unwrap().context(Credentials::root());
    fill(&behind);
    let base = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    let branches = Branches::with(base, Options::default().base_changes(BaseChanges::AskEachTime)).unwrap();
    let work = Vfs::builder().build(branches.fork(None, "work").unwrap()).unwrap().context(Credentials::root());
    work.write("/d/own", "").unwrap();
    assert_eq!((work.stat("/a").unwrap().mode, work.stat("/new")), (0o644, Err(Errno::ENOENT)));
    assert_eq!(names(&work, "/d"), ["file", "own", "sub"]);
    behind.chmod("/a", 0o600).unwrap();
    behind.write("/new", "").unwrap();
    behind.rename("/d/file", "/d/renamed").unwrap();
    assert_eq!(work.stat("/a").unwrap().mode, 0o600);
    assert!(work.stat("/new").is_ok() && work.stat("/d/file").is_err());
    assert_eq!(names(&work, "/d"), ["own", "renamed", "sub"]);
}

#[test]
fn a_commit_beside_readers_and_writers_is_whole() {
    use std::sync::atomic::{AtomicBool, Ordering};

    const COMMITS: u32 = 60;
    for ground in Ground::each(|base| ["/one", "/two"].into_iter().for_each(|name| base.write(name, "0").unwrap())) {
        let work = ground.fork(None, "work");
        let is_over = AtomicBool::new(false);
        let number = |context: &Context, path: &str| -> u32 { context.read_to_string(path).unwrap().parse().unwrap() };
        // What is committed later is never seen before what was committed with it.
        let reader = &|context: Context| {
            while !is_over.load(Ordering::Relaxed) {
                let first = number(&context, "/one");
                assert!(number(&context, "/two") >= first, "on {}", ground.name);
            }
        };
        std::thread::scope(|scope| {
            let [one, other] = [work.clone(), ground.again("work")];
            scope.spawn(move || reader(one));
            scope.spawn(move || reader(other));
            scope.spawn(|| {
                for at in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    work.write(format!("/busy{}", at % 7), at.to_string()).unwrap();
                }
            });
            for at in 1..=COMMITS {
                let step = ground.fork(Some("work"), "step");
                // Replaced as a whole, as a careful program does.
                for name in ["/two", "/one"] {
                    step.write("/draft", at.to_string()).unwrap();
                    step.rename("/draft", name).unwrap();
                }
                ground.branches.commit("step").unwrap();
                assert_eq!([number(&work, "/one"), number(&work, "/two")], [at, at]);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_branch_is_told_without_the_list_and_the_base_ends_with_it() {
    use pathwalk::{Credentials, Vfs};

    let fs = std::sync::Arc::new(pathwalk_memfs::MemFs::new());
    let base = Vfs::builder().build(fs.clone()).unwrap().context(Credentials::root());
    let branches = pathwalk_branch::Branches::new(base.clone()).unwrap();
    let work = Vfs::builder().build(branches.fork(None, "work").unwrap()).unwrap().context(Credentials::root());
    drop(branches);
    assert_eq!(work.stat("/new"), Err(Errno::ENOENT));
    base.write("/new", "").unwrap();
    while work.stat("/new").is_err() {
        std::thread::yield_now();
    }
    drop((work, base));
    // The thread that passes reports on has the base until it ends.
    while std::sync::Arc::strong_count(&fs) > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn times_of_a_link_are_attributes() {
    for ground in Ground::each(|base| base.symlink("to", "/link").unwrap()) {
        let context = ground.fork(None, "work");
        let early = SetTime::To(Timestamp { seconds: 5, nanoseconds: 0 });
        context.utimensat(At::Cwd, "/link", SetTime::Keep, early, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let changes = ground.branches.diff("work").unwrap();
        let path = Box::from(&b"/link"[..]);
        assert_eq!(changes, [Change::Changed { path, kind: FileType::Symlink, what: Aspects::ATTRIBUTES }], "{}", ground.name);
    }
}
