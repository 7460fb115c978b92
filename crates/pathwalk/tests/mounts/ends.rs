//! The uses that keep a mount, and the ways in which it ends.

use pathwalk::{Errno, MountFlags, Recursion, RenameFlags, UmountFlags};

use super::{CWD, NOTHING, exists, root, tree};

#[test]
fn a_mount_point_is_busy_where_it_is_seen() {
    let context = root(&["/d/", "/e/", "/f"]);
    context.mount(tree(&[]), "/d", MountFlags::empty()).unwrap();
    assert_eq!(context.rmdir("/d"), Err(Errno::EBUSY));
    assert_eq!(context.renameat(CWD, "/d", CWD, "/g", RenameFlags::empty()), Err(Errno::EBUSY));
    assert_eq!(context.renameat(CWD, "/e", CWD, "/d", RenameFlags::empty()), Err(Errno::EBUSY));
    context.bind("/f", "/f", Recursion::Alone).unwrap();
    assert_eq!(context.unlink("/f"), Err(Errno::EBUSY));
    let mut other = context.clone();
    other.unshare().unwrap();
    context.umount("/d", NOTHING).unwrap();
    context.umount("/f", NOTHING).unwrap();
    assert_eq!(other.mountinfo().len(), 3);
    context.rmdir("/d").unwrap();
    context.unlink("/f").unwrap();
    assert_eq!(other.mountinfo().len(), 1, "what was removed elsewhere is unmounted");
}

#[test]
fn lazily_unmounted_is_what_is_in_use_until_it_is_not() {
    let context = root(&["/d/"]);
    let fs = tree(&["/e/", "/e/f"]);
    context.mount(fs.alias(), "/d", MountFlags::empty()).unwrap();
    let mut inside = context.clone();
    inside.chdir("/d/e").unwrap();
    assert_eq!(context.umount("/d", NOTHING), Err(Errno::EBUSY));
    context.umount("/d", UmountFlags::DETACH).unwrap();
    assert_eq!(exists(&context, "/d/e"), Err(Errno::ENOENT));
    assert_eq!(exists(&inside, "f"), Ok(()));
    assert_eq!(exists(&inside, "../../../e/f"), Ok(()), "`..` ends at the root of the mount");
    drop(inside);
}

#[test]
fn what_is_invalidated_is_unmounted() {
    let context = root(&["/d/", "/d/e/"]);
    let mounted = tree(&["/on"]);
    context.mount(mounted, "/d/e", MountFlags::empty()).unwrap();
    context.vfs().invalidate_subtree(context.root()).unwrap();
    assert_eq!((context.mountinfo().len(), exists(&context, "/d/e/on")), (1, Err(Errno::ENOENT)));
    assert_eq!(context.rmdir("/d/e"), Ok(()), "nothing is left on it");
}

#[test]
fn an_unused_mount_expires() {
    let context = root(&["/d/"]);
    context.mount(tree(&["/f"]), "/d", MountFlags::empty()).unwrap();
    let expire = || context.umount("/d", UmountFlags::EXPIRE);
    // All names are cached, so the use is that of a walk without locks.
    exists(&context, "/d/f").unwrap();
    assert_eq!(expire(), Err(Errno::EAGAIN));
    exists(&context, "/d/f").unwrap();
    assert_eq!(expire(), Err(Errno::EAGAIN), "it was used");
    assert_eq!(expire(), Ok(()));
    assert_eq!(context.umount("/d", UmountFlags::EXPIRE | UmountFlags::DETACH), Err(Errno::EINVAL));
}

/// Checks that the lookup of a mount that is to be unmounted does not count as a use of it, under
/// any rules of the caller.
#[test]
fn an_unused_mount_expires_for_a_confined_caller() {
    let context = root(&["/jail/", "/jail/d/"]);
    context.mount(tree(&["/f"]), "/jail/d", MountFlags::empty()).unwrap();
    let jail = context.confined(&context.lookup("/jail").unwrap()).unwrap();
    let expire = || jail.umount("/d", UmountFlags::EXPIRE);
    assert_eq!([expire(), expire()], [Err(Errno::EAGAIN), Ok(())]);
}

#[test]
fn each_file_system_is_counted_alone_and_goes_with_its_last_mount() {
    let context = root(&["/d/"]);
    let vfs = context.vfs().clone();
    context.mount(tree(&["/a", "/b"]), "/d", MountFlags::empty()).unwrap();
    for path in ["/d/a", "/d/b", "/d/c"] {
        _ = exists(&context, path);
    }
    let counted = |at: usize| vfs.file_systems()[at];
    assert_eq!((counted(0).lookups, counted(1).lookups), (1, 3));
    assert_eq!((counted(0).nodes, counted(1).nodes, counted(1).mounts), (2, 3, 1));
    context.umount("/d", NOTHING).unwrap();
    assert_eq!((vfs.file_systems().len(), counted(0).nodes), (1, 2));
    context.mount(tree(&[]), "/d", MountFlags::empty()).unwrap();
    assert_eq!((counted(1).file_system, counted(1).lookups), (1, 0), "another, under the number that is free");
}
