//! A branch in a store, of which what it was forked from is read after the store was opened again.

use std::io::Cursor;

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_branch::{Branch, Branches, DiskStore, Options};
use pathwalk_changes::{json, patch};
use pathwalk_memfs::MemFs;

fn context(branch: Branch) -> Context {
    Vfs::builder().build(branch).expect("there is a root").context(Credentials::root())
}

#[test]
fn a_stored_branch_is_written_and_applied() {
    let dir = tempfile::tempdir().expect("there is room");
    let base = Vfs::builder().build(MemFs::new()).expect("there is a root").context(Credentials::root());
    base.write("/kept", "of the base\n").expect("there is room");
    let open = || {
        let store = DiskStore::open(dir.path()).expect("it is a directory");
        Branches::open(base.clone(), Options::default(), store).expect("it is a base")
    };
    {
        let branches = open();
        let parent = context(branches.fork(None, "parent").expect("the name is free"));
        parent.write("/file", "one\ntwo\n").expect("there is room");
        let work = context(branches.fork(Some("parent"), "work").expect("the name is free"));
        work.write("/file", "one\n2\n").expect("there is room");
        work.rename("/kept", "/moved").expect("the name is free");
        // What it was forked from stays as it was then.
        parent.write("/file", "changed since").expect("there is room");
    }
    let branches = open();
    let changes = branches.diff("work").expect("it is there");
    let old = context(branches.before("work").expect("it is there"));
    let new = context(branches.get("work").expect("it is there"));
    branches.collect().expect("the store is there");
    assert_eq!(old.read_to_string("/file").expect("it is there"), "one\ntwo\n");
    let (mut as_json, mut as_patch) = (Vec::new(), Vec::new());
    json::write(&changes, &old, &new, &mut as_json).expect("it can be written");
    patch::write(&changes, &old, &new, &mut as_patch).expect("it can be written");
    assert!(String::from_utf8_lossy(&as_patch).contains("-two\n+2\n"));

    for apply in [
        &|to: &Context| json::apply(Cursor::new(&as_json), to),
        &(|to: &Context| patch::apply(&as_patch, to)) as &dyn Fn(&Context) -> _,
    ] {
        let other = Vfs::builder().build(MemFs::new()).expect("there is a root").context(Credentials::root());
        other.write("/kept", "of the base\n").expect("there is room");
        other.write("/file", "one\ntwo\n").expect("there is room");
        apply(&other).expect("it can be applied");
        assert_eq!(other.read_to_string("/file").expect("it is there"), "one\n2\n");
        assert_eq!(other.read_to_string("/moved").expect("it is there"), "of the base\n");
    }
    assert!(branches.before("none").is_err());

    // What is shown is not collected, whatever becomes of the branches.
    drop(new);
    branches.drop("work").expect("it has no forks");
    branches.drop("parent").expect("its fork is gone");
    branches.collect().expect("the store is there");
    let fresh = context(branches.fork(None, "more").expect("the name is free"));
    fresh.write("/more", vec![7; 100_000]).expect("there is room");
    assert_eq!(old.read_to_string("/file").expect("it is there"), "one\ntwo\n");
}
