//! Forks: what they show, what they take, and their names.

mod base;
mod commits;
#[path = "../common/mod.rs"]
mod common;
mod diff;

use common::{Ground, names};
use pathwalk::{Context, Errno};
use pathwalk_branch::{ConflictKind, Error};

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
