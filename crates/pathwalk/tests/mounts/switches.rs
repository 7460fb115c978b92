//! Flags of mounts and file systems: what they forbid, and how they are changed.

use pathwalk::{Access, Errno, MountAttributes, MountFlags, OpenFlags, Recursion};

use super::{root, tree};

#[test]
fn switches_are_the_mounts_own() {
    let context = root(&["/a/", "/a/f", "/x/"]);
    context.bind("/a", "/x", Recursion::Alone).unwrap();
    let read_only = MountAttributes::default().with_set(MountFlags::READ_ONLY);
    context.mount_setattr("/x", &read_only, Recursion::Alone).unwrap();
    assert_eq!(context.statfs("/x/f").map(|told| told.flags), Ok(MountFlags::READ_ONLY));
    assert_eq!(context.statfs("/a/f").map(|told| told.flags), Ok(MountFlags::empty()));
    assert_eq!(context.access("/a/f", Access::WRITE), Ok(()));
    assert_eq!(context.access("/x/f", Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.access("/x/f", Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.unlink("/x/f"), Err(Errno::EROFS));
    assert_eq!(context.mkdir("/x/d", 0o755), Err(Errno::EROFS));
    context.mkdir("/a/d", 0o755).unwrap();
    assert_eq!(context.open("/x/f", OpenFlags::WRITE).err(), Some(Errno::EROFS));
}

#[test]
fn files_that_are_written_to_keep_a_mount_writable() {
    let context = root(&["/d/", "/d/f"]);
    context.bind("/d", "/d", Recursion::Alone).unwrap();
    let file = context.open("/d/f", OpenFlags::WRITE).unwrap();
    let read_only = MountAttributes::default().with_set(MountFlags::READ_ONLY);
    let set = || context.mount_setattr("/d", &read_only, Recursion::Alone);
    assert_eq!(set(), Err(Errno::EBUSY));
    drop(file);
    assert_eq!(set(), Ok(()));
    assert_eq!(context.open("/d/f", OpenFlags::WRITE).err(), Some(Errno::EROFS));
    let again = MountAttributes::default().with_clear(MountFlags::READ_ONLY);
    context.mount_setattr("/d", &again, Recursion::Alone).unwrap();
    assert!(context.open("/d/f", OpenFlags::WRITE).is_ok());
}

#[test]
fn files_are_not_executed_where_the_mount_forbids_it() {
    let context = root(&["/d/", "/d/f", "/d/below/"]);
    context.chmod("/d/f", 0o755).unwrap();
    context.bind("/d", "/d", Recursion::Alone).unwrap();
    let may = |path| [Access::EXECUTE, Access::READ].map(|want| context.access(path, want));
    assert_eq!((may("/d/f"), may("/d/below")), ([Ok(()); 2], [Ok(()); 2]));
    let no_programs = MountAttributes::default().with_set(MountFlags::NOEXEC);
    context.mount_setattr("/d", &no_programs, Recursion::Alone).unwrap();
    assert_eq!((may("/d/f"), may("/d/below")), ([Err(Errno::EACCES), Ok(())], [Ok(()); 2]));
}

#[test]
fn devices_are_closed_where_the_mount_says_so() {
    let context = root(&["/d/"]);
    let null = pathwalk::NewKind::CharDevice(pathwalk::Device { major: 1, minor: 3 });
    context.mknod("/d/null", null, 0o666).unwrap();
    context.bind("/d", "/d", Recursion::Alone).unwrap();
    let open = || context.open("/d/null", OpenFlags::READ).err();
    assert_eq!(open(), Some(Errno::ENXIO));
    let no_devices = MountAttributes::default().with_set(MountFlags::NODEV);
    context.mount_setattr("/d", &no_devices, Recursion::Alone).unwrap();
    assert_eq!(open(), Some(Errno::EACCES));
}

#[test]
fn switches_are_set_of_one_mount_or_of_all_below() {
    let context = root(&["/a/"]);
    context.mount(tree(&["/b/"]), "/a", MountFlags::empty()).unwrap();
    context.mount(tree(&[]), "/a/b", MountFlags::empty()).unwrap();
    let set = |switch, how| {
        let to = MountAttributes::default().with_set(switch);
        context.mount_setattr("/a", &to, how).unwrap();
    };
    let told = || ["/", "/a", "/a/b"].map(|path| context.statfs(path).unwrap().flags);
    set(MountFlags::NOEXEC, Recursion::Alone);
    assert_eq!(told(), [MountFlags::empty(), MountFlags::NOEXEC, MountFlags::empty()]);
    set(MountFlags::NODEV, Recursion::Recursive);
    assert_eq!(told(), [MountFlags::empty(), MountFlags::NOEXEC | MountFlags::NODEV, MountFlags::NODEV]);
}

/// Checks that a directory that is held and was removed keeps its file system writable, and that
/// one does not whose name only left the cache.
#[test]
fn a_removed_directory_that_is_held_keeps_a_file_system_writable() {
    let context = root(&["/a/"]);
    context.mount(tree(&["/d/", "/gone/"]), "/a", MountFlags::empty()).unwrap();
    let remount = || context.remount("/a", MountFlags::READ_ONLY);
    let held = ["/a/d", "/a/gone"].map(|path| context.lookup(path).unwrap());
    context.rmdir("/a/gone").unwrap();
    assert_eq!(remount(), Err(Errno::EBUSY));
    let [d, gone] = held;
    drop(gone);
    context.vfs().invalidate_subtree(&context.lookup("/a").unwrap()).unwrap();
    assert_eq!(remount(), Ok(()));
    drop(d);
}

/// Checks that removed directories do not keep a file system writable once the file in them is
/// closed, which had held them. Linux: `dput` goes on with the parent.
#[test]
fn directories_that_a_removed_file_held_are_gone_with_it() {
    let context = root(&["/a/"]);
    context.mount(tree(&["/d/", "/d/e/", "/d/e/f"]), "/a", MountFlags::empty()).unwrap();
    let remount = || context.remount("/a", MountFlags::READ_ONLY);
    let file = context.open("/a/d/e/f", OpenFlags::READ).unwrap();
    context.unlink("/a/d/e/f").unwrap();
    ["/a/d/e", "/a/d"].iter().for_each(|path| context.rmdir(path).unwrap());
    assert_eq!(remount(), Err(Errno::EBUSY));
    drop(file);
    assert_eq!(remount(), Ok(()));
}

/// Checks that a change that is refused because a file is open for writing, through any mount,
/// leaves the flags and the writers of all mounts as they were.
#[test]
fn a_remount_that_is_refused_changes_nothing() {
    let context = root(&["/a/", "/b/", "/c/"]);
    context.mount(tree(&["/f", "/g", "/gone"]), "/a", MountFlags::NODEV).unwrap();
    context.bind("/a", "/b", Recursion::Alone).unwrap();
    context.bind("/a", "/c", Recursion::Alone).unwrap();
    let read_only = MountAttributes::default().with_set(MountFlags::READ_ONLY);
    context.mount_setattr("/c", &read_only, Recursion::Alone).unwrap();
    let remount = |path| context.remount(path, MountFlags::READ_ONLY | MountFlags::NOEXEC);
    let open = |path| context.open(path, OpenFlags::WRITE);
    let before = context.mountinfo();
    let is_as_it_was = || {
        assert_eq!(context.mountinfo(), before);
        for path in ["/a/g", "/b/g"] {
            let another = open(path).unwrap();
            assert_eq!(another.write_at(b"another", 0), Ok(7));
            assert_eq!(context.truncate(path, 0), Ok(()));
        }
        assert_eq!(open("/c/g").err(), Some(Errno::EROFS), "it was so before");
        assert_eq!(context.mkdir("/c/d", 0o755), Err(Errno::EROFS));
        context.mkdir("/a/d", 0o755).unwrap();
        context.rmdir("/b/d").unwrap();
    };
    for writes_to in ["/a/f", "/b/f"] {
        let file = open(writes_to).unwrap();
        for path in ["/a", "/b", "/c"] {
            assert_eq!(remount(path), Err(Errno::EBUSY), "{path}");
            is_as_it_was();
        }
        assert_eq!(file.write_at(b"on", 0), Ok(2));
    }
    let held = context.open("/a/gone", OpenFlags::READ).unwrap();
    context.unlink("/b/gone").unwrap();
    assert_eq!(remount("/b"), Err(Errno::EBUSY), "what has no name is held, and would have to be freed");
    is_as_it_was();
    drop(held);
    assert_eq!(remount("/a"), Ok(()));
    assert_eq!(["/a/g", "/b/g"].map(|path| open(path).err()), [Some(Errno::EROFS); 2]);
}
