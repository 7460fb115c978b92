//! Extended attributes: memory, room, and the end of their node.

use pathwalk::{Errno, FileSystem, XattrFlags, XattrName};

use crate::{MemFs, Options};

fn name(name: &str) -> XattrName<'_> {
    XattrName::new(name.as_bytes()).unwrap()
}

#[test]
fn memory_and_room_come_back() {
    let fs = MemFs::with(Options::default().max_nodes(10));
    fs.file("/file", 0o644).unwrap();
    let (before, free) = (fs.usage().bytes, fs.statfs().unwrap().files_free);
    for (attribute, length) in [("user.a", 100), ("user.b", 3000), ("user.a", 2000), ("trusted.c", 0)] {
        fs.set_xattr("/file", attribute, &vec![1; length]).unwrap();
    }
    assert!(fs.usage().bytes > before + 5000 && fs.usage().bytes < before + 6000);
    assert_eq!(fs.statfs().unwrap().files_free, free - 6, "5141 bytes");
    let key = fs.key("/file").unwrap();
    for attribute in ["user.a", "trusted.c", "user.b"] {
        FileSystem::remove_xattr(&fs, key, name(attribute)).unwrap();
    }
    assert_eq!((fs.usage().bytes, fs.statfs().unwrap().files_free), (before, free));
    assert_eq!(FileSystem::remove_xattr(&fs, key, name("user.a")), Err(Errno::ENODATA));
    assert_eq!(fs.usage().bytes, before);
}

/// Checks that the node that gets the slot of one with attributes has none.
#[test]
fn they_go_with_their_node() {
    let fs = MemFs::with(Options::default().max_nodes(3));
    for round in 0..3 {
        fs.file("/file", 0o644).unwrap();
        assert_eq!(fs.xattr("/file", "user.a").unwrap(), None, "round {round}");
        fs.set_xattr("/file", "user.a", &[1; 900]).unwrap();
        assert_eq!(fs.set_xattr("/file", "user.b", &[1; 900]).unwrap_err().errno(), Errno::ENOSPC);
        fs.unlink("/file").unwrap();
        assert_eq!(fs.statfs().unwrap().files_free, 2);
    }
}

#[test]
fn what_fails_changes_nothing() {
    let fs = MemFs::new();
    fs.mkdir("/dir", 0o755).unwrap();
    let (key, before) = (fs.key("/dir").unwrap(), fs.usage().bytes);
    let set = |flags| FileSystem::set_xattr(&fs, key, name("user.a"), b"1", flags);
    assert_eq!(set(XattrFlags::REPLACE), Err(Errno::ENODATA));
    assert_eq!(fs.usage().bytes, before);
    set(XattrFlags::CREATE).unwrap();
    assert_eq!(set(XattrFlags::CREATE), Err(Errno::EEXIST));
    assert_eq!(FileSystem::get_xattr(&fs, key, name("system.x")), Err(Errno::EOPNOTSUPP));
    let mut listed = Vec::new();
    fs.list_xattrs(key, &mut |name| listed.push(name.to_vec())).unwrap();
    assert_eq!(listed, [b"user.a"]);
}

#[test]
fn attribute_bits_and_lists_stay_beside_them() {
    let fs = MemFs::new();
    fs.file("/file", 0o640).unwrap();
    fs.set_flags("/file", pathwalk::StatxFlags::APPEND).unwrap();
    fs.set_xattr("/file", "user.a", b"1").unwrap();
    assert_eq!(fs.stat("/file").unwrap().flags, pathwalk::StatxFlags::APPEND);
    fs.set_flags("/file", pathwalk::StatxFlags::NODUMP).unwrap();
    assert_eq!(fs.xattr("/file", "user.a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(fs.stat("/file").unwrap().acl, pathwalk::AclState::Absent);
}
