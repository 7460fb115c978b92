//! Extended attributes of the host, as this process may read them.

use std::path::Path;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AtFlags, Errno, XattrFlags};
use pathwalk_tests::skipped;
use rustix::fs::{self, XattrFlags as HostFlags};

use crate::common::walk;

/// Makes a file and a directory with attributes, and a link. The error is the reason why there can
/// be none here.
fn build(root: &Path) -> Result<(), String> {
    std::fs::write(root.join("file"), "data").unwrap();
    std::fs::create_dir(root.join("dir")).unwrap();
    std::os::unix::fs::symlink("file", root.join("link")).unwrap();
    let set = |path: &str, name: &str, value: &[u8]| {
        let set = fs::setxattr(root.join(path), name, value, HostFlags::empty());
        set.map_err(|error| format!("this needs a file system that keeps extended attributes: {error}"))
    };
    set("file", "user.colour", b"red")?;
    set("file", "user.empty", b"")?;
    set("file", "user.long", &[7; 1000])?;
    set("dir", "user.colour", b"blue")
}

#[test]
#[cfg_attr(miri, ignore = "it asks the host's file system")]
fn the_hosts_attributes_are_there() {
    let tree = tempfile::tempdir().unwrap();
    if let Err(why) = build(tree.path()) {
        return skipped("the_hosts_attributes_are_there", &why);
    }
    let context = walk(tree.path());
    for (path, value) in [("/file", &b"red"[..]), ("/link", b"red"), ("/dir", b"blue")] {
        assert_eq!(context.getxattr(path, "user.colour").as_deref(), Ok(value), "{path}");
    }
    assert_eq!(context.getxattr("/file", "user.empty"), Ok(Vec::new()));
    assert_eq!(context.getxattr("/file", "user.long"), Ok(vec![7; 1000]));
    assert_eq!(context.getxattr("/dir", "user.empty"), Err(Errno::ENODATA));
    assert_eq!(context.getxattr("/", "user.none"), Err(Errno::ENODATA));
    let mut names: Vec<_> = context.listxattr("/file").unwrap().iter().map(<[u8]>::to_vec).collect();
    names.retain(|name| name.starts_with(b"user."));
    names.sort();
    assert_eq!(names, [&b"user.colour"[..], b"user.empty", b"user.long"]);
    let nofollow = AtFlags::SYMLINK_NOFOLLOW;
    assert_eq!(context.getxattrat(context.root(), "link", "user.colour", nofollow), Err(Errno::ENODATA));
    assert_eq!(context.getxattrat(context.root(), "link", "security.none", nofollow), Err(Errno::ENODATA));
    assert!(context.listxattrat(context.root(), "link", nofollow).is_ok());

    assert!(context.setxattr("/file", "user.colour", "green", XattrFlags::empty()).is_err());
    assert!(context.removexattr("/file", "user.colour").is_err());
    assert_eq!(context.getxattr("/file", "user.colour"), Ok(b"red".to_vec()));
}

#[test]
#[cfg_attr(miri, ignore = "it asks the host's file system")]
fn the_hosts_access_control_lists_are_named_once() {
    let tree = tempfile::tempdir().unwrap();
    let (name, value) = (AclKind::Default.xattr_name(), Acl::from_mode(0o750).to_xattr());
    std::fs::create_dir(tree.path().join("dir")).unwrap();
    if let Err(error) = fs::setxattr(tree.path().join("dir"), name, &value, HostFlags::empty()) {
        let why = format!("this needs a file system that keeps access control lists: {error}");
        return skipped("the_hosts_access_control_lists_are_named_once", &why);
    }
    let context = walk(tree.path());
    assert_eq!(context.getxattr("/dir", name), Ok(value.clone()));
    assert_eq!(context.getxattr("/dir", AclKind::Access.xattr_name()), Err(Errno::ENODATA));
    assert_eq!(context.listxattr("/dir").unwrap().iter().filter(|found| found.starts_with(b"system.posix_acl_")).count(), 1);
    assert_eq!(context.setxattr("/dir", name, value, XattrFlags::empty()), Err(Errno::EROFS));
    assert_eq!(context.removexattr("/dir", name), Err(Errno::EROFS));
}
