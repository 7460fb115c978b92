//! Tests of creating and removing nodes: link counts, holds, memory, errors.

use pathwalk::permission::{AclEntry, AclTag};
use pathwalk::{Access, Device, Errno, FileSystem, FileType, NewKind, SetAttributes};

use super::{errno, key, links, name, new};
use crate::{MemFs, Options};

#[test]
fn every_kind_is_made_as_asked() {
    let fs = MemFs::new();
    let device = Device { major: 8, minor: 300 };
    let kinds = [
        (NewKind::Regular, FileType::Regular, 0),
        (NewKind::Directory, FileType::Directory, 40),
        (NewKind::Symlink(b"a/b"), FileType::Symlink, 3),
        (NewKind::Fifo, FileType::Fifo, 0),
        (NewKind::Socket, FileType::Socket, 0),
        (NewKind::CharDevice(device), FileType::CharDevice, 0),
        (NewKind::BlockDevice(device), FileType::BlockDevice, 0),
    ];
    for (i, (kind, file_type, size)) in kinds.into_iter().enumerate() {
        let node = fs.0.create(key(&fs, "/"), name(&i.to_string()), &new(kind)).unwrap().into_node();
        let found = node.attributes;
        assert_eq!((found.kind, found.mode, found.uid, found.gid, found.size), (file_type, 0o644, 1, 2, size));
        assert_eq!(found.nlink, if file_type == FileType::Directory { 2 } else { 1 });
        assert_eq!(found.device_node == device, matches!(file_type, FileType::CharDevice | FileType::BlockDevice));
        assert_eq!(fs.0.attributes(node.key), Ok(found));
        assert_eq!(fs.0.lookup(key(&fs, "/"), name(&i.to_string())).unwrap().unwrap().key(), node.key);
    }
    assert_eq!(links(&fs, ["/"]), [3]);
    assert_eq!((fs.usage().nodes, fs.usage().held), (8, 7));
}

#[test]
fn what_cannot_be_made() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    fs.symlink(".", "l").unwrap();
    assert_eq!(errno(fs.mkdir("f", 0o755)), Errno::EEXIST);
    assert_eq!(errno(fs.mkdir("f/x", 0o755)), Errno::ENOTDIR);
    assert_eq!(errno(fs.mkdir("l/x", 0o755)), Errno::ENOTDIR, "no link is followed");
    assert_eq!(errno(fs.mkdir("no/x", 0o755)), Errno::ENOENT);
    assert_eq!(errno(fs.mkdir("/", 0o755)), Errno::EBUSY);
    assert_eq!(errno(fs.mkdir("..", 0o755)), Errno::EINVAL);
    assert_eq!(errno(fs.mkdir("n".repeat(256), 0o755)), Errno::ENAMETOOLONG);
    assert_eq!(errno(fs.mkdir_all("f/a/b", 0o755)), Errno::ENOTDIR);
    assert_eq!(errno(fs.mkdir_all("f", 0o755)), Errno::ENOTDIR);
    assert_eq!(errno(fs.symlink("b".repeat(4096), "s")), Errno::ENAMETOOLONG);
    assert_eq!(errno(fs.symlink(b"a\0b", "s")), Errno::EINVAL);
    assert_eq!(fs.list("/").unwrap(), [b"f", b"l"]);
    let message = fs.mkdir("no/\n", 0o755).unwrap_err().to_string();
    assert!(message.starts_with("cannot make directory \"no/\\n\": ENOENT"), "{message}");
}

#[test]
fn a_directory_counts_its_directories() {
    let fs = MemFs::new();
    fs.mkdir_all("a/b/c", 0o755).unwrap();
    fs.mkdir("a/d", 0o700).unwrap();
    fs.mkdir_all("/a//./d/", 0o755).unwrap();
    fs.file("a/f", 0o644).unwrap();
    assert_eq!(links(&fs, ["/", "a", "a/b", "a/b/c", "a/d"]), [3, 4, 3, 2, 2]);
    assert_eq!((fs.stat("a").unwrap().size, fs.stat("a/d").unwrap().mode), (100, 0o700));
    assert_eq!(errno(fs.unlink("a")), Errno::ENOTEMPTY);
    fs.unlink("a/d").unwrap();
    assert_eq!(links(&fs, ["a"]), [3]);
    fs.remove("a").unwrap();
    assert_eq!((links(&fs, ["/"]), fs.usage().nodes), ([2], 1));
    assert_eq!(errno(fs.remove("a")), Errno::ENOENT);
}

#[test]
fn links_are_counted_and_limited() {
    let fs = MemFs::with(Options::default().max_links(3));
    fs.file("f", 0o644).unwrap();
    fs.link("f", "g").unwrap();
    fs.link("g", "h").unwrap();
    assert_eq!((links(&fs, ["f", "g", "h"]), key(&fs, "f")), ([3; 3], key(&fs, "h")));
    assert_eq!(errno(fs.link("f", "i")), Errno::EMLINK);
    assert_eq!(errno(fs.link("f", "g")), Errno::EEXIST);
    assert_eq!(errno(fs.link("/", "i")), Errno::EPERM);
    fs.mkdir("d", 0o755).unwrap();
    assert_eq!(errno(fs.mkdir("e", 0o755)), Errno::EMLINK);
    fs.unlink("g").unwrap();
    assert_eq!(links(&fs, ["f", "h"]), [2, 2]);
}

#[test]
fn what_is_unlinked_lives_until_it_is_forgotten() {
    let fs = MemFs::new();
    let root = key(&fs, "/");
    let empty = fs.usage();
    let file = fs.0.create(root, name("f"), &new(NewKind::Regular)).unwrap().into_node().key;
    let again = fs.0.lookup(root, name("f")).unwrap().unwrap().into_node().key;
    assert_eq!(file, again);
    fs.0.unlink(root, name("f"), file).unwrap();
    assert_eq!((fs.usage().nodes, fs.usage().unlinked, fs.usage().held), (2, 1, 2));
    fs.forget(file);
    assert_eq!(fs.0.attributes(file).unwrap().nlink, 0);
    assert_eq!(fs.0.link(file, root, name("g")).err(), Some(Errno::ENOENT), "a lost node gets no name");
    fs.forget(file);
    assert_eq!(fs.0.attributes(file), Err(Errno::ESTALE));
    assert_eq!(fs.usage().nodes, empty.nodes);

    fs.forget(file);
    fs.forget(root);
    assert_eq!((fs.calls().forget, fs.calls().stray_forget), (2, 2));
    let next = (0..64).map(|i| {
        fs.file(format!("{i}"), 0).unwrap();
        key(&fs, &format!("{i}"))
    });
    let reused = next.filter(|key| key.0 >> 64 == file.0 >> 64).collect::<Vec<_>>();
    assert!(reused.len() == 1 && reused[0] != file, "the number is used again, the key is not");
}

#[test]
fn nothing_happens_in_a_removed_directory() {
    let fs = MemFs::new();
    fs.mkdir("d", 0o755).unwrap();
    fs.file("f", 0o644).unwrap();
    let (root, file) = (key(&fs, "/"), key(&fs, "f"));
    let dir = fs.0.lookup(root, name("d")).unwrap().unwrap();
    fs.unlink("d").unwrap();
    assert_eq!(fs.0.attributes(dir.key()).unwrap().nlink, 0);
    assert_eq!(fs.0.create(dir.key(), name("x"), &new(NewKind::Regular)).err(), Some(Errno::ENOENT));
    assert_eq!(fs.0.link(file, dir.key(), name("x")).err(), Some(Errno::ENOENT));
    assert!(fs.0.lookup(dir.key(), name("x")).unwrap().is_none());
    let to = (dir.key(), name("x"));
    assert_eq!(fs.0.rename((root, name("f")), to, Default::default()), Err(Errno::ENOENT));
    assert_eq!(fs.0.rename(to, (root, name("g")), Default::default()), Err(Errno::ENOENT));
    drop(dir);
    assert_eq!(fs.usage().nodes, 2);
}

#[test]
fn unlink_takes_only_the_node_it_was_told() {
    let fs = MemFs::new();
    for path in ["a", "b"] {
        fs.file(path, 0o644).unwrap();
    }
    let (root, a, b) = (key(&fs, "/"), key(&fs, "a"), key(&fs, "b"));
    assert_eq!(fs.0.unlink(root, name("a"), b), Err(Errno::ESTALE));
    assert_eq!(fs.0.unlink(root, name("c"), a), Err(Errno::ENOENT));
    assert_eq!(fs.0.unlink(a, name("c"), a), Err(Errno::ENOTDIR));
    assert_eq!(fs.list("/").unwrap().len(), 2);
}

#[test]
fn memory_comes_back() {
    let fs = MemFs::new();
    let build = || {
        fs.mkdir_all("a/b", 0o755).unwrap();
        for i in 0..511 {
            fs.file(format!("a/b/{i:0>100}"), 0o644).unwrap();
            fs.symlink("x".repeat(i + 1), format!("a/l{i}")).unwrap();
        }
        let mask = AclEntry { tag: AclTag::Mask, grants: Access::READ };
        fs.set_acl("a", &[mask]).unwrap();
        fs.chmod("a", 0o700).unwrap();
    };
    build();
    fs.remove("a").unwrap();
    // The table keeps its slots, so only the first build allocates slots.
    let empty = fs.memory();
    build();
    let full = fs.memory();
    // Names, link bodies of each length in 1..=500 bytes; and the nodes before.
    assert!(full - empty > 500 * 100 + 500 * 250 && empty > 1000 * 150, "{full} - {empty}");
    fs.remove("a").unwrap();
    assert_eq!(fs.memory(), empty);
}

#[test]
fn a_tree_deeper_than_the_stack_goes() {
    let fs = MemFs::new();
    let mut dir = key(&fs, "/");
    let d = new(NewKind::Directory);
    for _ in 0..100_000 {
        dir = fs.0.create(dir, name("d"), &d).unwrap().key();
    }
    fs.remove("d").unwrap();
    assert_eq!(fs.usage().nodes, 1);
    assert!(fs.0.set_attributes(dir, &SetAttributes::default()) == Err(Errno::ESTALE));
}
