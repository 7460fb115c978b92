//! Commits that are taken back, onto the base and onto another branch: all is as it was.
//!
//! `PATHWALK_BRANCH_ROUNDS` is the number of rounds of random commits, on each kind of base.

use fastrand::Rng;
use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, AtFlags, Context, Device, Errno, FallocateFlags, InodeFlags, NewKind, OpenFlags, XattrFlags};
use pathwalk_branch::{Answer, Change, ConflictKind, Error, Resolution};

use crate::common::Ground;
use crate::common::trees::{change_more, differences, look_closely};
use crate::{fill, work};

/// What a branch is committed onto.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Onto {
    Base,
    Branch,
}

/// Returns a context on what is committed onto, and one on the branch that is.
fn forked(ground: &Ground, onto: Onto) -> (Context, Context) {
    match onto {
        Onto::Base => (ground.base.clone(), ground.fork(None, "step")),
        Onto::Branch => (ground.fork(None, "work"), ground.fork(Some("work"), "step")),
    }
}

fn commit(ground: &Ground, name: &str, undo: &str) {
    let committed = ground.branches.commit_undoable(name, &Resolution::default(), undo);
    committed.unwrap_or_else(|error| panic!("on {}: {error}", ground.name));
}

#[test]
fn a_commit_of_each_kind_of_change_is_taken_back_and_made_again() {
    for onto in [Onto::Base, Onto::Branch] {
        for ground in Ground::each(fill) {
            let what = format!("onto {onto:?}, {}", ground.name);
            let (context, step) = forked(&ground, onto);
            let before = look_closely(&context);
            work(&step);
            let after = look_closely(&step);
            commit(&ground, "step", "undo");
            let made = look_closely(&context);
            assert!(made == after, "{what}: {}", differences(&made, &after));
            let info = ground.branches.list().unwrap().into_iter().find(|branch| branch.name == "undo").unwrap();
            assert_eq!(info.note, "takes back the commit of \"step\"");
            let shown = look_closely(&ground.again("undo"));
            assert!(shown == before, "{what}, in the branch: {}", differences(&shown, &before));
            assert!(!ground.branches.diff("undo").unwrap().is_empty());
            commit(&ground, "undo", "redo");
            let undone = look_closely(&context);
            assert!(undone == before, "{what}: {}", differences(&undone, &before));
            commit(&ground, "redo", "undo");
            let made = look_closely(&context);
            assert!(made == after, "{what}, again: {}", differences(&made, &after));
            ground.branches.commit("undo").unwrap();
            let undone = look_closely(&context);
            assert!(undone == before, "{what}, again: {}", differences(&undone, &before));
        }
    }
}

#[test]
fn random_commits_are_taken_back() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(20, |rounds| rounds.parse().expect("it is a number"));
    let mut taken_back = 0;
    for round in 0..rounds {
        let (of_base, of_branch) = (random.u64(..), random.u64(..));
        let changes = |context: &Context, seed: u64, number: usize| {
            let mut random = Rng::with_seed(seed);
            (0..number).for_each(|_| change_more(context, &mut random));
        };
        for onto in [Onto::Base, Onto::Branch] {
            for mut ground in Ground::each(|base| changes(base, of_base, 60)) {
                let what = format!("seed {seed}, round {round}, onto {onto:?}, {}", ground.name);
                let (context, step) = forked(&ground, onto);
                if onto == Onto::Branch {
                    changes(&context, of_base ^ 1, 20);
                    ground.branches.rebase("step", &Resolution::default()).unwrap();
                }
                let before = look_closely(&context);
                changes(&step, of_branch, 40);
                let after = look_closely(&step);
                commit(&ground, "step", "undo");
                let made = look_closely(&context);
                assert!(made == after, "{what}: {}", differences(&made, &after));
                drop(step);
                let context = match onto {
                    Onto::Base if ground.is_stored() => {
                        ground.reopen();
                        context
                    }
                    _ => context,
                };
                ground.branches.commit("undo").unwrap_or_else(|error| panic!("{what}: {error}"));
                let undone = look_closely(&context);
                assert!(undone == before, "{what}, taken back: {}", differences(&undone, &before));
                taken_back += 1;
            }
        }
    }
    println!("{taken_back} taken back");
}

/// Fills a tree with what the other tests do not have.
fn fill_rarely(base: &Context) {
    base.mkdir("/d", 0o2755).unwrap();
    base.mknod("/d/device", NewKind::CharDevice(Device { major: 1, minor: 3 }), 0o640).unwrap();
    base.mknod("/d/pipe", NewKind::Fifo, 0o600).unwrap();
    base.chown("/d/pipe", Some(7), Some(8)).unwrap();
    for name in ["/d/sparse", "/sparse"] {
        let file = base.open(name, OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        file.write_at(b"begin", 0).unwrap();
        file.write_at(b"end", 1 << 20).unwrap();
        file.set_len(3 << 20).unwrap();
    }
    base.write("/d/list", "text").unwrap();
    base.set_acl("/d/list", AclKind::Access, Some(&list())).unwrap();
    base.set_acl("/d", AclKind::Default, Some(&list())).unwrap();
    base.write("/d/flags", "text").unwrap();
    base.chmod("/d/flags", 0o4755).unwrap();
    base.setxattr("/d/flags", "user.name", "value", XattrFlags::empty()).unwrap();
    base.write("/flags", "text").unwrap();
}

fn list() -> Acl {
    let of_mode = Acl::from_mode(0o750);
    let [user, group, other] = of_mode.entries() else { panic!("it has three entries") };
    let more = [AclTag::User(7), AclTag::Mask].map(|tag| AclEntry { tag, grants: Access::READ });
    Acl::new(vec![*user, more[0], *group, more[1], *other])
}

/// Returns what [`look_closely`] does not: devices, lists, and where data lies in sparse files.
fn rare(context: &Context) -> String {
    let device = context.stat("/d/device").unwrap().device_node;
    let lists = [("/d", AclKind::Default), ("/d/list", AclKind::Access)].map(|(path, kind)| context.acl(path, kind).unwrap());
    let holes = ["/d/sparse", "/sparse"].map(|path| {
        let file = context.open(path, OpenFlags::READ).unwrap();
        let hole = file.seek_hole(0).unwrap();
        let data = file.seek_data(hole).unwrap();
        (hole, data, file.seek_hole(data).unwrap(), file.handle().attributes().unwrap().size)
    });
    format!("{device:?} {lists:?} {holes:?} {:o}", context.stat("/d/flags").unwrap().mode)
}

#[test]
fn rare_nodes_and_attributes_come_back() {
    for onto in [Onto::Base, Onto::Branch] {
        for ground in Ground::each(fill_rarely) {
            let what = format!("onto {onto:?}, {}", ground.name);
            let (context, step) = forked(&ground, onto);
            let before = (look_closely(&context), rare(&context));
            step.remove_dir_all("/d").unwrap();
            let file = step.open("/sparse", OpenFlags::READ | OpenFlags::WRITE).unwrap();
            file.write_at(b"in a hole", 1 << 19).unwrap();
            file.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 1 << 20, 4096).unwrap();
            file.set_len(2 << 20).unwrap();
            commit(&ground, "step", "undo");
            ground.branches.commit("undo").unwrap_or_else(|error| panic!("{what}: {error}"));
            let undone = look_closely(&context);
            assert!(undone == before.0, "{what}: {}", differences(&undone, &before.0));
            assert_eq!(rare(&context), before.1, "{what}");
        }
    }
}

#[test]
fn flags_that_forbid_changes_come_back() {
    for onto in [Onto::Base, Onto::Branch] {
        for ground in Ground::each(fill_rarely).into_iter().filter(|ground| ground.name == "memory") {
            let (context, step) = forked(&ground, onto);
            let flags = |context: &Context| context.inode_flags_at(context.root(), "flags", AtFlags::empty()).unwrap();
            context.set_inode_flags("/flags", InodeFlags::IMMUTABLE).unwrap();
            if onto == Onto::Branch {
                ground.branches.rebase("step", &Resolution::default()).unwrap();
            }
            step.set_inode_flags("/flags", InodeFlags::NODUMP).unwrap();
            step.write("/flags", "other").unwrap();
            commit(&ground, "step", "undo");
            assert_eq!((flags(&context), &*context.read("/flags").unwrap()), (InodeFlags::NODUMP, &b"other"[..]));
            ground.branches.commit("undo").unwrap();
            assert_eq!((flags(&context), &*context.read("/flags").unwrap()), (InodeFlags::IMMUTABLE, &b"text"[..]));
        }
    }
}

#[test]
fn what_was_changed_since_is_a_conflict() {
    for onto in [Onto::Base, Onto::Branch] {
        for ground in Ground::each(fill) {
            let what = format!("onto {onto:?}, {}", ground.name);
            let (context, step) = forked(&ground, onto);
            step.write("/a", "step").unwrap();
            step.write("/new", "step").unwrap();
            step.remove_file("/b").unwrap();
            commit(&ground, "step", "undo");
            std::thread::sleep(std::time::Duration::from_millis(12));
            context.write("/a", "since").unwrap();
            context.write("/new", "since").unwrap();
            context.write("/b", "since").unwrap();
            context.write("/large", "since").unwrap();
            ground.branches.catch_up();
            let Err(Error::Conflicts { conflicts, .. }) = ground.branches.commit("undo") else { panic!("{what}") };
            let found: Vec<_> = conflicts.iter().map(|found| (String::from_utf8_lossy(&found.path), found.kind)).collect();
            let paths: Vec<_> = found.iter().map(|(path, _)| &**path).collect();
            assert_eq!(paths, ["/a", "/b", "/new"], "{what}: {found:?}");
            assert!(matches!(found[0].1, ConflictKind::Changed(_)) && found[1].1 == ConflictKind::Named, "{what}: {found:?}");
            let answers = Resolution::all(Answer::Ours).at("/b", Answer::Theirs);
            ground.branches.commit_with("undo", &answers).unwrap_or_else(|error| panic!("{what}: {error}"));
            let text = |path: &str| context.read_to_string(path).unwrap();
            assert_eq!([text("/a"), text("/b"), text("/large")], ["/a", "since", "since"], "{what}");
            assert_eq!(context.stat("/new"), Err(Errno::ENOENT), "{what}");
        }
    }
}

#[test]
fn a_file_that_is_open_and_was_removed_has_its_name_again() {
    for ground in Ground::each(fill) {
        let (context, step) = forked(&ground, Onto::Branch);
        let (of_base, own) = (context.open("/a", OpenFlags::READ).unwrap(), "/own");
        context.write(own, "own").unwrap();
        ground.branches.rebase("step", &Resolution::default()).unwrap();
        let of_branch = context.open(own, OpenFlags::READ).unwrap();
        ["/a", "/d/of-a", own].into_iter().for_each(|path| step.remove_file(path).unwrap());
        commit(&ground, "step", "undo");
        assert_eq!(context.stat("/a"), Err(Errno::ENOENT));
        ground.branches.commit("undo").unwrap();
        drop((of_base, of_branch));
        for (path, text, links) in [("/a", "/a", 2), (own, "own", 1)] {
            let found = context.stat(path).unwrap();
            assert_eq!((context.read_to_string(path).unwrap(), found.nlink), (text.to_owned(), links), "on {}", ground.name);
        }
    }
}

#[test]
fn the_name_of_an_undo_is_free_and_it_goes_with_a_drop() {
    for onto in [Onto::Base, Onto::Branch] {
        for ground in Ground::each(fill) {
            let (context, step) = forked(&ground, onto);
            step.remove_file("/large").unwrap();
            let refused = |name: &str| ground.branches.commit_undoable("step", &Resolution::default(), name);
            assert!(matches!(refused("step"), Err(Error::Exists(_))), "onto {onto:?}, {}", ground.name);
            assert!(matches!(refused(""), Err(Error::Name(_))));
            assert!(context.stat("/large").is_ok(), "nothing was done");
            // A conflict leaves no undo behind.
            context.write("/large", "since").unwrap();
            ground.branches.catch_up();
            assert!(matches!(refused("undo"), Err(Error::Conflicts { .. })));
            let names = || ground.branches.list().unwrap().into_iter().map(|branch| branch.name).collect::<Vec<_>>();
            assert!(!names().contains(&"undo".to_owned()));
            ground.branches.commit_undoable("step", &Resolution::all(Answer::Ours), "undo").unwrap();
            let changes = ground.branches.diff("undo").unwrap();
            assert!(matches!(changes[..], [Change::Added { .. }]), "onto {onto:?}, {}: {changes:?}", ground.name);
            ground.branches.drop("undo").unwrap();
            assert_eq!(context.stat("/large"), Err(Errno::ENOENT));
            drop(step);
            if onto == Onto::Base {
                assert_eq!(names(), Vec::<String>::new());
                assert!(ground.has_stored(0), "{}", ground.name);
            }
        }
    }
}
