//! Copies of a branch beside it, and the way back to one, in memory and in a store.

use crate::common::{Ground, names};
use pathwalk_branch::Error;

#[test]
fn a_copy_is_beside_the_branch_and_stays_as_it_was() {
    for mut ground in Ground::each(|base| base.write("/old", "old").unwrap()) {
        let work = ground.fork(None, "work");
        work.write("/one", "1").unwrap();
        ground.branches.copy("work", "copy", "after one").unwrap();
        work.write("/two", "2").unwrap();
        work.write("/one", "changed").unwrap();
        assert_eq!(names(&ground.again("copy"), "/"), ["old", "one"], "{}", ground.name);
        let of = ground.branches.list().unwrap().into_iter().find(|branch| branch.name == "copy").unwrap();
        assert_eq!((of.parent, &*of.note), (None, "after one"));
        assert!(matches!(ground.branches.copy("work", "copy", ""), Err(Error::Exists(_))));
        assert!(matches!(ground.branches.copy("none", "other", ""), Err(Error::NoBranch(_))));
        // It keeps neither the branch from being committed, nor its own changes from being told.
        ground.branches.commit("work").unwrap();
        drop(work);
        if ground.is_stored() {
            ground.reopen();
        }
        assert_eq!(ground.base.read_to_string("/one").unwrap(), "changed");
        let changed: Vec<_> = ground.branches.diff("copy").unwrap().iter().map(|change| change.path().to_vec()).collect();
        assert_eq!(changed, [b"/one".to_vec()], "{}", ground.name);
    }
}

#[test]
fn a_copy_of_a_fork_is_a_fork_of_the_same_branch() {
    for ground in Ground::each(|_| {}) {
        let work = ground.fork(None, "work");
        let step = ground.fork(Some("work"), "step");
        step.write("/file", "step").unwrap();
        ground.branches.copy("step", "copy", "").unwrap();
        ground.branches.commit("step").unwrap();
        assert!(matches!(ground.branches.drop("work"), Err(Error::HasForks { forks, .. }) if forks == ["copy"]));
        ground.branches.drop("copy").unwrap();
        assert_eq!(work.read_to_string("/file").unwrap(), "step");
        ground.branches.drop("work").unwrap();
    }
}

#[test]
fn a_branch_goes_back_to_a_copy_as_a_whole() {
    for mut ground in Ground::each(|base| base.write("/old", "old").unwrap()) {
        let work = ground.fork(None, "work");
        work.write("/one", "1").unwrap();
        ground.branches.copy("work", "copy", "").unwrap();
        work.remove_file("/old").unwrap();
        work.write("/two", "2").unwrap();
        ground.branches.set_note("work", "note").unwrap();
        ground.branches.fork(Some("work"), "fork").unwrap();
        ground.branches.reset("work", "copy").unwrap();
        // What is open stays what it was, and is stored no more.
        work.write("/three", "3").unwrap();
        ground.branches.sync().unwrap();
        let shown = |ground: &Ground, name| names(&ground.again(name), "/");
        assert_eq!(shown(&ground, "work"), ["old", "one"], "{}", ground.name);
        drop(work);
        if ground.is_stored() {
            ground.reopen();
        }
        assert_eq!(
            (shown(&ground, "work"), shown(&ground, "fork")),
            (["old", "one"].map(String::from).into(), ["one", "two"].map(String::from).into())
        );
        let list = ground.branches.list().unwrap();
        assert!(list.iter().any(|branch| branch.name == "work" && branch.note == "note"), "{list:?}");
        // The copy stays, and what is written now is the branch's own.
        ground.again("work").write("/four", "4").unwrap();
        assert_eq!(shown(&ground, "copy"), ["old", "one"]);
        assert!(matches!(ground.branches.reset("fork", "copy"), Err(Error::OtherParent { .. })));
        assert!(matches!(ground.branches.reset("work", "none"), Err(Error::NoBranch(_))));
    }
}

#[test]
fn what_another_process_uses_is_not_put_back() {
    for ground in Ground::each(|_| {}) {
        if !ground.is_stored() {
            continue;
        }
        let work = ground.fork(None, "work");
        ground.branches.copy("work", "copy", "").unwrap();
        let other = ground.beside();
        assert!(matches!(other.reset("work", "copy"), Err(Error::InUse(_))));
        // What is copied of it is what was synced.
        work.write("/file", "text").unwrap();
        other.copy("work", "other", "").unwrap();
        assert_eq!(other.diff("other").unwrap(), []);
    }
}
