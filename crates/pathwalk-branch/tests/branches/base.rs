//! A base that changes.

use pathwalk::{Errno, OpenFlags};
use pathwalk_branch::ConflictKind;

use crate::common::{Ground, names};
use crate::{conflicts, fill};

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
