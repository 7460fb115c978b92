//! Tests that a listing with attributes is as the kernel reports each name, that files cost no
//! lookup, and that what it hands out is given back.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use pathwalk::{Context, Credentials, EntryHandles, FileSystem, FileType, ListedNode, OpenFlags, Vfs, internals};
use pathwalk_hostfs::{Coherence, HostFs};

use crate::common::{assert_same, root_and_outside, walk};
use crate::given::{build, directory};
use crate::lookups;

/// Lists a directory from its beginning in pieces, without `.` and `..`.
fn list(context: &Context, dir: &str, at_most: usize) -> Vec<ListedNode> {
    let file = context.open(dir, OpenFlags::READ).unwrap();
    let mut all = Vec::new();
    loop {
        let piece = context.readdirplus(&file, at_most, EntryHandles::With).unwrap();
        if piece.is_empty() {
            break;
        }
        all.extend(piece);
    }
    all.retain(|of| !matches!(&*of.entry.name, b"." | b".."));
    all
}

#[test]
fn every_name_is_as_the_kernel_tells_it() {
    for at_most in [1, 7, 1000] {
        let (root, dir) = directory();
        build(&dir);
        fs::create_dir(dir.join("directory")).unwrap();
        symlink("nowhere", dir.join("link")).unwrap();
        let context = walk(root.path());
        context.stat("/d").unwrap();
        let names = fs::read_dir(&dir).unwrap().count();
        let (all, asked) = lookups(&context, || list(&context, "/d", at_most));
        assert_eq!(all.len(), names);
        assert_eq!(asked, 2, "of the directory and the link");
        for ListedNode { entry, attributes, handle } in &all {
            let name = std::ffi::OsStr::from_bytes(&entry.name);
            let attributes = attributes.unwrap();
            assert_same(&dir.join(name), &attributes);
            assert_eq!((attributes.ino, attributes.kind), (entry.ino, entry.kind));
            assert_eq!(handle.as_ref().unwrap().path().unwrap(), Path::new("/d").join(name).as_os_str().as_bytes());
        }
        let (again, asked) = lookups(&context, || list(&context, "/d", at_most));
        assert_eq!((again.len(), asked), (names, 0));
        assert!(context.stat("/d/none").is_err());
    }
}

#[test]
fn names_that_are_replaced_meanwhile_are_what_they_were_or_are() {
    let (_dir, root, _) = root_and_outside();
    let dir = root.join("d");
    fs::write(dir.join("stays"), "stays").unwrap();
    let context = walk(&root);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for i in 0..300 {
                let name = dir.join(format!("t{}", i % 4));
                fs::write(&name, "file").unwrap();
                fs::remove_file(&name).unwrap();
                symlink("stays", &name).unwrap();
                fs::remove_file(&name).unwrap();
            }
        });
        while !changes.is_finished() {
            let all = list(&context, "/d", 3);
            let stays: Vec<_> = all.iter().filter(|of| *of.entry.name == *b"stays").collect();
            assert_eq!(stays.len(), 1);
            assert_eq!(stays[0].attributes.unwrap().size, 5);
            for of in all.iter().filter(|of| *of.entry.name != *b"sub") {
                let is_sane = |kind| matches!(kind, FileType::Regular | FileType::Symlink);
                assert!(of.attributes.is_err() || of.attributes.is_ok_and(|found| is_sane(found.kind)), "{of:?}");
            }
        }
    });
}

/// A directory that is elsewhere by now hands out nothing under its old place: a name of it is what
/// a lookup finds there.
#[test]
fn a_directory_that_was_moved_hands_nothing_out() {
    let (_dir, root, _) = root_and_outside();
    let dir = root.join("d");
    fs::write(dir.join("file"), "one").unwrap();
    let context = walk(&root);
    let file = context.open("/d", OpenFlags::READ).unwrap();
    fs::rename(&dir, root.join("moved")).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("file"), "another").unwrap();
    let all = context.readdirplus(&file, 100, EntryHandles::Without).unwrap();
    let of_file = all.iter().find(|of| *of.entry.name == *b"file").unwrap();
    assert_eq!(of_file.attributes, context.stat("/d/file"), "{of_file:?}");
    assert_eq!(of_file.attributes.map(|found| found.size), Ok(7));
}

#[test]
fn what_was_listed_and_is_evicted_is_given_back() {
    let root = tempfile::tempdir().unwrap();
    for i in 0..200 {
        fs::write(root.path().join(format!("{i:060}")), "").unwrap();
    }
    let host = Arc::new(HostFs::open(root.path()).unwrap().with_coherence(Coherence::Frozen));
    let context = Vfs::builder().budget(4 << 20).build(Arc::clone(&host)).unwrap().context(Credentials::root());
    let mut left = Vec::new();
    for _ in 0..3 {
        assert_eq!(list(&context, "/", 30).len(), 200);
        while internals::evict(context.vfs(), 1000) > 0 {}
        assert_eq!(context.vfs().stats().inodes.used, 1, "the root");
        left.push(host.memory());
    }
    assert!(left.windows(2).all(|two| two[0] == two[1]), "{left:?}");
}
