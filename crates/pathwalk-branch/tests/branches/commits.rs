//! Commits, and their conflicts.

use pathwalk::{Context, Errno, FileType, OpenFlags, XattrFlags};
use pathwalk_branch::{Aspects, Change, ConflictKind, Error};

use crate::common::{Ground, names};
use crate::{conflicts, fill, path};

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
