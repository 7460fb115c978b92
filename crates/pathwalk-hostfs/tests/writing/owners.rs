//! Whose a new node is, and with what rights.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, Credentials, Errno, NewKind};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;

use crate::common::{Who, as_user};
use crate::{OpenWithMode, on, same, writable};

#[test]
fn a_default_list_replaces_the_umask_once() {
    let (dir, mut context) = writable();
    let entry = |tag, grants| AclEntry { tag, grants };
    let list = Acl::new(vec![
        entry(AclTag::Owner, Access::all()),
        entry(AclTag::User(11), Access::READ | Access::WRITE),
        entry(AclTag::Group, Access::READ),
        entry(AclTag::Mask, Access::READ | Access::WRITE),
        entry(AclTag::Other, Access::empty()),
    ]);
    context.umask(0o077);
    context.create_dir("/d").unwrap();
    match context.set_acl("/d", AclKind::Default, Some(&list)) {
        Err(Errno::EOPNOTSUPP) => return skipped("a_default_list_replaces_the_umask_once", "no lists on this file system"),
        set => set.unwrap(),
    }
    context.mkdir("/d/sub", 0o777).unwrap();
    context.mknod("/d/file", NewKind::Regular, 0o666).unwrap();
    context.mknod("/file", NewKind::Regular, 0o666).unwrap();
    let mode = |path: &str| fs::symlink_metadata(dir.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("d/sub"), mode("d/file"), mode("file")), (0o760, 0o660, 0o600));
    assert_eq!(context.acl("/d/sub", AclKind::Default).unwrap().as_ref(), Some(&list));
    assert_eq!(context.acl("/d/file", AclKind::Access).unwrap().map(|list| list.mask()), Some(Access::READ | Access::WRITE));
    // The list goes, and the bits stay as they are said to be.
    context.set_acl("/d/file", AclKind::Access, None).unwrap();
    assert_eq!(context.acl("/d/file", AclKind::Access).unwrap(), None);
    context.set_acl("/d", AclKind::Default, None).unwrap();
    assert_eq!(context.acl("/d", AclKind::Default).unwrap(), None);
    ["/d/sub", "/d/file", "/file"].into_iter().for_each(|path| same(&context, dir.path(), path));
}

#[test]
fn what_root_makes_for_a_user_is_the_users() {
    let (dir, context) = writable();
    if !rustix::process::geteuid().is_root() {
        return skipped("what_root_makes_for_a_user_is_the_users", "only root makes nodes of others");
    }
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    std::os::unix::fs::chown(&shared, Some(0), Some(3000)).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o2777)).unwrap();
    let user = context.clone().with_credentials(Credentials::user(1000, 2000, &[]));
    let root = context.with_credentials(Credentials::root());
    root.vfs().refresh(&root.lookup("/").unwrap()).unwrap();
    user.create_dir("/own").unwrap();
    user.write("/own/file", "x").unwrap();
    user.symlink("file", "/own/link").unwrap();
    user.mknod("/own/pipe", NewKind::Fifo, 0o600).unwrap();
    user.create_dir("/shared/sub").unwrap();
    user.write("/shared/file", "x").unwrap();
    root.write("/roots", "x").unwrap();
    let owner = |path: &str| {
        let found = fs::symlink_metadata(dir.path().join(path)).unwrap();
        (found.uid(), found.gid())
    };
    for path in ["own", "own/file", "own/link", "own/pipe"] {
        assert_eq!(owner(path), (1000, 2000), "{path}");
    }
    assert_eq!([owner("shared/sub"), owner("shared/file"), owner("roots")], [(1000, 3000), (1000, 3000), (0, 0)]);
    assert_eq!(fs::metadata(shared.join("sub")).unwrap().mode() & 0o7777, 0o2755);
    // What is made is the thread's own again.
    fs::write(dir.path().join("after"), "").unwrap();
    assert_eq!(owner("after"), (0, 0));
}

#[test]
fn a_user_makes_nothing_of_others() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let who = Who { uid: 1000, gid: 2000, groups: vec![2000, 3000] };
    let asked = as_user(&who, || {
        let context = on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive));
        context.write("/own", "x").unwrap();
        let other = context.clone().with_credentials(Credentials::user(1001, 2000, &[]));
        assert_eq!(other.mkdir("/others", 0o755), Err(Errno::EPERM));
        let in_group = context.clone().with_credentials(Credentials::user(1000, 3000, &[]));
        in_group.write("/grouped", "x").unwrap();
        let elsewhere = context.clone().with_credentials(Credentials::user(1000, 4000, &[]));
        assert_eq!(elsewhere.mkdir("/nothing", 0o755), Err(Errno::EPERM));
        assert_eq!(elsewhere.write("/nothing", "").unwrap_err().errno(), Errno::EPERM);
        // A mode that permits nothing, and a file that was opened before it did.
        let closed = context.openat_mode("/closed", 0);
        assert_eq!(closed.write(b"x"), Ok(1));
        closed.set_len(0).unwrap();
        let whole = context.clone().with_credentials(Credentials::root());
        assert_eq!(whole.chown("/own", Some(5), None), Err(Errno::EPERM), "the host's word");
    });
    if let Err(why) = asked {
        return skipped("a_user_makes_nothing_of_others", &why);
    }
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["closed", "grouped", "own"], "what could not be made is gone");
    assert_eq!(fs::metadata(dir.path().join("grouped")).unwrap().gid(), 3000);
}
