//! Tests of nodes without names.

use pathwalk::{Errno, FileSystem, NewKind, OpenFor, WriteAt};

use super::{key, links, name, new};
use crate::MemFs;

#[test]
fn one_gets_its_first_name() {
    let fs = MemFs::new();
    let root = key(&fs, "/");
    let made = fs.0.create_unnamed(key(&fs, "/"), &new(NewKind::Regular)).unwrap().into_node();
    assert_eq!((made.attributes.nlink, made.attributes.mode, fs.usage().unlinked), (0, 0o644, 1));
    assert!(fs.list("/").unwrap().is_empty());
    fs.open(made.key, OpenFor::WRITE).unwrap().write_at(b"abc", WriteAt::End).unwrap();
    let again = fs.0.link(made.key, root, name("f")).unwrap();
    assert_eq!((again.key(), links(&fs, ["f"]), fs.read("f").unwrap()), (made.key, [1], b"abc".to_vec()));
    drop(again);
    fs.link("f", "g").unwrap();
    fs.forget(made.key);
    assert_eq!((links(&fs, ["g"]), fs.usage().held, fs.usage().unlinked), ([2], 0, 0));
}

#[test]
fn one_that_lost_its_first_name_gets_no_other() {
    let fs = MemFs::new();
    let root = key(&fs, "/");
    let made = fs.0.create_unnamed(key(&fs, "/"), &new(NewKind::Regular)).unwrap();
    drop(fs.0.link(made.key(), root, name("f")).unwrap());
    fs.unlink("f").unwrap();
    assert_eq!(fs.0.link(made.key(), root, name("g")).err(), Some(Errno::ENOENT));
}

#[test]
fn one_goes_when_it_is_forgotten() {
    let fs = MemFs::new();
    let empty = fs.usage();
    let made = fs.0.create_unnamed(key(&fs, "/"), &new(NewKind::Regular)).unwrap().into_node();
    let file = fs.open(made.key, OpenFor::WRITE).unwrap();
    file.write_at(&[1; 10_000], WriteAt::End).unwrap();
    fs.forget(made.key);
    assert_eq!((fs.usage().pages, fs.usage().held), (3, 1), "it is open");
    drop(file);
    assert_eq!((fs.usage().nodes, fs.usage().pages), (empty.nodes, 0));
    assert_eq!(fs.0.link(made.key, key(&fs, "/"), name("f")).err(), Some(Errno::ESTALE));
}

#[test]
fn only_files_are_made_so() {
    let fs = MemFs::new();
    for kind in [NewKind::Directory, NewKind::Fifo, NewKind::Symlink(b"x")] {
        assert_eq!(fs.0.create_unnamed(key(&fs, "/"), &new(kind)).err(), Some(Errno::EINVAL));
    }
    assert_eq!(fs.usage().nodes, 1);
}
