//! Mounts: what they cover, what crosses them, and what becomes of them.

use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, MountFlags, MoveFlags, OpenFlags, OpenHow, Recursion, RenameFlags, Resolve,
    UmountFlags, Vfs,
};
use pathwalk_memfs::MemFs;

const CWD: At<'static> = At::Cwd;
const NOTHING: UmountFlags = UmountFlags::empty();

/// A file system with these names: directories end in a slash.
fn tree(names: &[&str]) -> MemFs {
    let fs = MemFs::new();
    for name in names {
        match name.strip_suffix('/') {
            Some(dir) => fs.mkdir(dir, 0o755).map(drop),
            None => fs.file(name, 0o644).map(drop),
        }
        .unwrap();
    }
    fs
}

fn root(names: &[&str]) -> Context {
    Vfs::builder().budget(1 << 20).build(tree(names)).unwrap().context(Credentials::root())
}

fn exists(context: &Context, path: &str) -> Result<(), Errno> {
    let cold = context.access(path, Access::empty());
    assert_eq!(context.access(path, Access::empty()), cold, "cold and warm: {path}");
    cold
}

#[test]
fn a_mount_covers_a_directory_until_it_is_unmounted() {
    let context = root(&["/d/", "/d/below"]);
    exists(&context, "/d/below").unwrap();
    context.mount(tree(&["/on", "/e/", "/e/f"]), CWD, "/d", MountFlags::empty()).unwrap();
    assert_eq!(exists(&context, "/d/on"), Ok(()));
    assert_eq!(exists(&context, "/d/e/f"), Ok(()));
    assert_eq!(exists(&context, "/d/below"), Err(Errno::ENOENT));
    assert_eq!(exists(&context, "/d/e/../../d/on"), Ok(()));
    assert_eq!(exists(&context, "/d/../d/../d/on"), Ok(()));
    context.umount(CWD, "/d", NOTHING).unwrap();
    assert_eq!(exists(&context, "/d/below"), Ok(()));
    assert_eq!(exists(&context, "/d/on"), Err(Errno::ENOENT));
    assert_eq!(context.umount(CWD, "/d", NOTHING), Err(Errno::EINVAL));
}

#[test]
fn mounts_are_stacked_and_nested() {
    let context = root(&["/d/"]);
    for at in 0..5 {
        let name = format!("/level{at}");
        context.mount(tree(&[&name, "/n/"]), CWD, "/d", MountFlags::empty()).unwrap();
        assert_eq!(exists(&context, &format!("/d{name}")), Ok(()));
    }
    let mut path = "/d".to_owned();
    for _ in 0..5 {
        path += "/n";
        context.mount(tree(&["/n/", "/f"]), CWD, &path, MountFlags::empty()).unwrap();
    }
    assert_eq!(exists(&context, &(path.clone() + "/f")), Ok(()));
    assert_eq!(exists(&context, &(path.clone() + "/../../../../../level4")), Ok(()));
    assert_eq!(context.mountinfo().len(), 11);
    assert_eq!(context.umount(CWD, "/d", NOTHING), Err(Errno::EBUSY), "with mounts below");
    context.umount(CWD, "/d", UmountFlags::DETACH).unwrap();
    assert_eq!(exists(&context, "/d/level3"), Ok(()));
    assert_eq!(context.mountinfo().len(), 5);
}

#[test]
fn a_bind_shows_a_directory_twice() {
    let context = root(&["/a/", "/a/b/", "/a/b/f", "/x/"]);
    context.bind(CWD, "/a/b", CWD, "/x", Recursion::Alone).unwrap();
    assert_eq!(exists(&context, "/x/f"), Ok(()));
    assert_eq!(exists(&context, "/x/../a/b/f"), Ok(()), "`..` leads to where it is mounted");
    let handle = context.lookup("/x/f").unwrap();
    assert_eq!(handle.path().unwrap(), b"/x/f");
    assert_eq!(context.lookup("/a/b/f").unwrap().path().unwrap(), b"/a/b/f");
    assert_eq!(context.rename(CWD, "/x/f", CWD, "/a/b/g", RenameFlags::empty()), Err(Errno::EXDEV));
    assert_eq!(context.link(CWD, "/x/f", CWD, "/a/b/g", pathwalk::LinkFlags::empty()), Err(Errno::EXDEV));
    assert_eq!(context.umount(CWD, "/x", NOTHING), Err(Errno::EBUSY), "a handle is on it");
    drop(handle);
    context.umount(CWD, "/x", NOTHING).unwrap();
}

#[test]
fn switches_are_the_mounts_own() {
    let context = root(&["/a/", "/a/f", "/x/"]);
    context.bind(CWD, "/a", CWD, "/x", Recursion::Alone).unwrap();
    let read_only = pathwalk::MountAttributes { set: MountFlags::READ_ONLY, ..Default::default() };
    context.mount_setattr(CWD, "/x", AtFlags::empty(), &read_only, Recursion::Alone).unwrap();
    assert_eq!(context.statfs(CWD, "/x/f").map(|told| told.flags), Ok(MountFlags::READ_ONLY));
    assert_eq!(context.statfs(CWD, "/a/f").map(|told| told.flags), Ok(MountFlags::empty()));
    assert_eq!(context.access("/a/f", Access::WRITE), Ok(()));
    assert_eq!(context.access("/x/f", Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.access("/x/f", Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.unlink(CWD, "/x/f"), Err(Errno::EROFS));
    assert_eq!(context.mkdir(CWD, "/x/d", 0o755), Err(Errno::EROFS));
    context.mkdir(CWD, "/a/d", 0o755).unwrap();
    assert_eq!(context.open(CWD, "/x/f", &OpenHow::from(OpenFlags::WRITE)).err(), Some(Errno::EROFS));
}

#[test]
fn a_mount_point_is_busy_where_it_is_seen() {
    let context = root(&["/d/", "/e/", "/f"]);
    context.mount(tree(&[]), CWD, "/d", MountFlags::empty()).unwrap();
    assert_eq!(context.rmdir(CWD, "/d"), Err(Errno::EBUSY));
    assert_eq!(context.rename(CWD, "/d", CWD, "/g", RenameFlags::empty()), Err(Errno::EBUSY));
    assert_eq!(context.rename(CWD, "/e", CWD, "/d", RenameFlags::empty()), Err(Errno::EBUSY));
    context.bind(CWD, "/f", CWD, "/f", Recursion::Alone).unwrap();
    assert_eq!(context.unlink(CWD, "/f"), Err(Errno::EBUSY));
    let mut other = context.clone();
    other.unshare().unwrap();
    context.umount(CWD, "/d", NOTHING).unwrap();
    context.umount(CWD, "/f", NOTHING).unwrap();
    assert_eq!(other.mountinfo().len(), 3);
    context.rmdir(CWD, "/d").unwrap();
    context.unlink(CWD, "/f").unwrap();
    assert_eq!(other.mountinfo().len(), 1, "what was removed elsewhere is unmounted");
}

#[test]
fn lazily_unmounted_is_what_is_in_use_until_it_is_not() {
    let context = root(&["/d/"]);
    let fs = tree(&["/e/", "/e/f"]);
    context.mount(fs.clone(), CWD, "/d", MountFlags::empty()).unwrap();
    let mut inside = context.clone();
    inside.chdir("/d/e").unwrap();
    assert_eq!(context.umount(CWD, "/d", NOTHING), Err(Errno::EBUSY));
    context.umount(CWD, "/d", UmountFlags::DETACH).unwrap();
    assert_eq!(exists(&context, "/d/e"), Err(Errno::ENOENT));
    assert_eq!(exists(&inside, "f"), Ok(()));
    assert_eq!(exists(&inside, "../../../e/f"), Ok(()), "`..` ends at the root of the mount");
    drop(inside);
}

#[test]
fn no_crossing_where_that_is_forbidden() {
    let context = root(&["/d/", "/e/"]);
    context.mount(tree(&["/f"]), CWD, "/d", MountFlags::empty()).unwrap();
    let within = context.clone().with_resolve(Resolve::NO_XDEV).unwrap();
    assert_eq!(exists(&within, "/d/f"), Err(Errno::EXDEV));
    assert_eq!(exists(&within, "/e"), Ok(()));
    assert_eq!(exists(&within, "/d"), Err(Errno::EXDEV));
    let mut inside = context.clone();
    inside.chdir("/d").unwrap();
    let inside = inside.with_resolve(Resolve::NO_XDEV).unwrap();
    assert_eq!(exists(&inside, "f"), Ok(()));
    assert_eq!(exists(&inside, "../e"), Err(Errno::EXDEV));
}

/// What is there under a mount cannot be created; but first, the mount is crossed to.
#[test]
fn what_cannot_be_created_is_crossed_to_by_the_rules() {
    let context = root(&["/f", "/covered"]);
    context.bind(CWD, "/f", CWD, "/covered", Recursion::Alone).unwrap();
    let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    let create = |resolve| context.open(CWD, "covered", &OpenHow { flags, mode: 0o600, resolve }).map(drop);
    assert_eq!(create(Resolve::empty()), Err(Errno::EEXIST));
    assert_eq!(create(Resolve::NO_XDEV), Err(Errno::EXDEV));
}

#[test]
fn a_covered_place_is_still_where_one_stands() {
    let mut context = root(&["/d/", "/d/below", "/d/e/"]);
    context.chdir("/d").unwrap();
    context.mount(tree(&["/on"]), CWD, "/d", MountFlags::empty()).unwrap();
    assert_eq!(exists(&context, "below"), Ok(()));
    assert_eq!(exists(&context, "./below"), Ok(()));
    assert_eq!(exists(&context, "./././below"), Ok(()));
    assert_eq!(exists(&context, "e/../on"), Ok(()), "`..` arrives, and crosses");
    assert_eq!(exists(&context, "../d/on"), Ok(()));
    assert_eq!(exists(&context, "on"), Err(Errno::ENOENT));
}

#[test]
fn trees_are_moved() {
    let context = root(&["/a/", "/b/"]);
    let detached = context.new_tree(tree(&["/f"]), MountFlags::empty()).unwrap();
    assert_eq!(context.faccessat(At::Handle(detached.handle()), "f", Access::empty(), AtFlags::empty()), Ok(()));
    context.move_mount(At::Handle(detached.handle()), "", CWD, "/a", MoveFlags::FROM_EMPTY_PATH).unwrap();
    drop(detached);
    assert_eq!(exists(&context, "/a/f"), Ok(()));
    context.move_mount(CWD, "/a", CWD, "/b", MoveFlags::empty()).unwrap();
    assert_eq!((exists(&context, "/a/f"), exists(&context, "/b/f")), (Err(Errno::ENOENT), Ok(())));
    assert_eq!(context.lookup("/b/f").unwrap().path().unwrap(), b"/b/f");
}

#[test]
fn what_is_invalidated_is_unmounted() {
    let context = root(&["/d/", "/d/e/"]);
    let mounted = tree(&["/on"]);
    context.mount(mounted, CWD, "/d/e", MountFlags::empty()).unwrap();
    context.vfs().invalidate_subtree(context.root()).unwrap();
    assert_eq!((context.mountinfo().len(), exists(&context, "/d/e/on")), (1, Err(Errno::ENOENT)));
    assert_eq!(context.rmdir(CWD, "/d/e"), Ok(()), "nothing is left on it");
}

#[test]
fn files_that_are_written_to_keep_a_mount_writable() {
    let context = root(&["/d/", "/d/f"]);
    context.bind(CWD, "/d", CWD, "/d", Recursion::Alone).unwrap();
    let file = context.open(CWD, "/d/f", &OpenHow::from(OpenFlags::WRITE)).unwrap();
    let read_only = pathwalk::MountAttributes { set: MountFlags::READ_ONLY, ..Default::default() };
    let set = || context.mount_setattr(CWD, "/d", AtFlags::empty(), &read_only, Recursion::Alone);
    assert_eq!(set(), Err(Errno::EBUSY));
    drop(file);
    assert_eq!(set(), Ok(()));
    assert_eq!(context.open(CWD, "/d/f", &OpenHow::from(OpenFlags::WRITE)).err(), Some(Errno::EROFS));
    let again = pathwalk::MountAttributes { clear: MountFlags::READ_ONLY, ..Default::default() };
    context.mount_setattr(CWD, "/d", AtFlags::empty(), &again, Recursion::Alone).unwrap();
    assert!(context.open(CWD, "/d/f", &OpenHow::from(OpenFlags::WRITE)).is_ok());
}

#[test]
fn devices_are_closed_where_the_mount_says_so() {
    let context = root(&["/d/"]);
    let null = pathwalk::NewKind::CharDevice(pathwalk::Device { major: 1, minor: 3 });
    context.mknod(CWD, "/d/null", null, 0o666).unwrap();
    context.bind(CWD, "/d", CWD, "/d", Recursion::Alone).unwrap();
    let open = || context.open(CWD, "/d/null", &OpenHow::from(OpenFlags::READ)).err();
    assert_eq!(open(), Some(Errno::ENXIO));
    let no_devices = pathwalk::MountAttributes { set: MountFlags::NODEV, ..Default::default() };
    context.mount_setattr(CWD, "/d", AtFlags::empty(), &no_devices, Recursion::Alone).unwrap();
    assert_eq!(open(), Some(Errno::EACCES));
}

#[test]
fn an_unused_mount_expires() {
    let context = root(&["/d/"]);
    context.mount(tree(&["/f"]), CWD, "/d", MountFlags::empty()).unwrap();
    let expire = || context.umount(CWD, "/d", UmountFlags::EXPIRE);
    assert_eq!(expire(), Err(Errno::EAGAIN));
    exists(&context, "/d/f").unwrap();
    assert_eq!(expire(), Err(Errno::EAGAIN), "it was used");
    assert_eq!(expire(), Ok(()));
    assert_eq!(context.umount(CWD, "/d", UmountFlags::EXPIRE | UmountFlags::DETACH), Err(Errno::EINVAL));
}

#[test]
fn the_mount_is_told_by_its_number() {
    let context = root(&["/d/", "/d/f"]);
    context.bind(CWD, "/d", CWD, "/d", Recursion::Alone).unwrap();
    let seen = |path: &str| {
        let statx = context.statx(CWD, path, AtFlags::empty(), pathwalk::StatxMask::MNT_ID).unwrap();
        (statx.mount_id, statx.attributes.flags.contains(pathwalk::StatxFlags::MOUNT_ROOT))
    };
    let listed = context.mountinfo();
    assert_eq!((seen("/"), seen("/d"), seen("/d/f")), ((listed[0].id, true), (listed[1].id, true), (listed[1].id, false)));
    assert_eq!((&listed[1].root[..], &listed[1].mount_point[..], listed[1].parent), (&b"/d"[..], &b"/d"[..], listed[0].id));
}

#[test]
fn only_the_capable_mount() {
    let context = root(&["/d/"]).with_credentials(Credentials::user(1000, 1000, &[]));
    assert_eq!(context.mount(tree(&[]), CWD, "/d", MountFlags::empty()), Err(Errno::EPERM));
    assert_eq!(context.umount(CWD, "/d", NOTHING), Err(Errno::EPERM));
    assert_eq!(context.new_tree(tree(&[]), MountFlags::empty()).err(), Some(Errno::EPERM));
    assert_eq!(context.clone().unshare(), Err(Errno::EPERM));
    // Also where nothing would change.
    let nothing = context.mount_setattr(CWD, "/d", AtFlags::empty(), &Default::default(), Recursion::Alone);
    assert_eq!(nothing, Err(Errno::EPERM));
}

#[test]
fn a_confined_context_stays_below_its_root_across_mounts() {
    let context = root(&["/jail/", "/jail/d/", "/secret"]);
    context.mount(tree(&["/e/", "/f"]), CWD, "/jail/d", MountFlags::empty()).unwrap();
    let jail = context.confined(&context.lookup("/jail").unwrap()).unwrap();
    assert_eq!((exists(&jail, "/d/f"), exists(&jail, "/d/e/../../../secret")), (Ok(()), Err(Errno::ENOENT)));
    let inner = context.confined(&context.lookup("/jail/d").unwrap()).unwrap();
    assert_eq!((exists(&inner, "/../f"), exists(&inner, "/../../secret")), (Ok(()), Err(Errno::ENOENT)));
    let outside = context.lookup("/jail").unwrap();
    assert_eq!(inner.fstatat(At::Handle(&outside), "", AtFlags::EMPTY_PATH), Err(Errno::EXDEV));
    let within = context.lookup("/jail/d/e").unwrap();
    assert!(jail.fstatat(At::Handle(&within), "", AtFlags::EMPTY_PATH).is_ok(), "below, through a mount");
    let mut inner = inner;
    assert_eq!(inner.setns(&context.namespace()), Err(Errno::EPERM), "its root would be another");
    inner.unshare().unwrap();
    assert_eq!(exists(&inner, "/../../secret"), Err(Errno::ENOENT));
    assert_eq!(inner.mountinfo().iter().map(|mount| &mount.mount_point[..]).collect::<Vec<_>>(), [b"/"]);
}

#[test]
fn each_file_system_is_counted_alone_and_goes_with_its_last_mount() {
    let context = root(&["/d/"]);
    let vfs = context.vfs().clone();
    context.mount(tree(&["/a", "/b"]), CWD, "/d", MountFlags::empty()).unwrap();
    for path in ["/d/a", "/d/b", "/d/c"] {
        _ = exists(&context, path);
    }
    let counted = |at: usize| vfs.file_systems()[at];
    assert_eq!((counted(0).lookups, counted(1).lookups), (1, 3));
    assert_eq!((counted(0).nodes, counted(1).nodes, counted(1).mounts), (2, 3, 1));
    context.umount(CWD, "/d", NOTHING).unwrap();
    assert_eq!((vfs.file_systems().len(), counted(0).nodes), (1, 2));
    context.mount(tree(&[]), CWD, "/d", MountFlags::empty()).unwrap();
    assert_eq!((counted(1).file_system, counted(1).lookups), (1, 0), "another, under the number that is free");
}

#[test]
fn a_removed_directory_has_no_path_where_it_is_mounted() {
    let context = root(&["/a/", "/a/b/", "/x/"]);
    context.bind(CWD, "/a", CWD, "/x", Recursion::Alone).unwrap();
    context.bind(CWD, "/a/b", CWD, "/a", Recursion::Alone).unwrap();
    let bound = context.lookup("/a").unwrap();
    assert_eq!(bound.path().unwrap(), b"/a");
    context.rmdir(CWD, "/x/b").unwrap();
    assert_eq!(bound.path(), Err(Errno::ENOENT));
    let points: Vec<Vec<u8>> = context.mountinfo().into_iter().map(|mount| mount.mount_point).collect();
    assert_eq!(points, [&b"/"[..], b"/x", b"/a"]);
}

#[test]
fn a_way_out_is_refused_before_what_it_would_create() {
    let context = root(&["/a/"]);
    let beneath = OpenHow { flags: OpenFlags::CREATE | OpenFlags::WRITE, mode: 0o644, resolve: Resolve::BENEATH };
    for path in ["..", "../", "a/../.."] {
        assert_eq!(context.open(CWD, path, &beneath).err(), Some(Errno::EXDEV), "{path}");
    }
    assert_eq!(context.open(CWD, "a/..", &beneath).err(), Some(Errno::EISDIR));
    let exclusive = OpenHow { flags: beneath.flags | OpenFlags::EXCLUSIVE, ..beneath };
    assert_eq!(context.open(CWD, "..", &exclusive).err(), Some(Errno::EXDEV));
    assert_eq!(context.open(CWD, "a/.", &exclusive).err(), Some(Errno::EEXIST));
    context.mount(tree(&[]), CWD, "a", MountFlags::empty()).unwrap();
    let within = OpenHow { resolve: Resolve::NO_XDEV, ..exclusive };
    assert_eq!(context.open(CWD, "a", &within).err(), Some(Errno::EXDEV));
    assert_eq!(context.open(CWD, "a", &exclusive).err(), Some(Errno::EEXIST));
}

#[test]
fn the_target_of_a_move_is_looked_for_first() {
    let context = root(&["/f", "/d/"]);
    let moved = |from: &str, to: &str| context.move_mount(CWD, from, CWD, to, MoveFlags::empty());
    assert_eq!(moved("/f/x", "/absent"), Err(Errno::ENOENT));
    assert_eq!(moved("/f/x", "/d"), Err(Errno::ENOTDIR));
}

/// A bind shows a part of its file system. What is moved out of that part may be stood in still, but
/// `..` leads nowhere: neither out of the part, nor to what is above it. Linux: `path_connected`.
#[test]
fn what_is_moved_out_of_a_bind_has_nothing_above() {
    let context = root(&["/part/", "/part/d/", "/part/d/e/", "/out/", "/out/secret", "/shown/"]);
    context.bind(CWD, "/part", CWD, "/shown", Recursion::Alone).unwrap();
    let inside = context.lookup("/shown/d").unwrap();
    let deeper = context.lookup("/shown/d/e").unwrap();
    let plain = context.lookup("/part/d").unwrap();
    let seen = |from, path| {
        let look = || context.lookupat(At::Handle(from), path, AtFlags::empty()).and_then(|found| found.path());
        let cold = look();
        let cached = context.cached().lookup(At::Handle(from), path, AtFlags::empty()).and_then(|found| found.path());
        assert!(cached == look() || cached == Err(Errno::EAGAIN), "{path}: {cached:?}");
        assert_eq!(cold, look(), "cold and warm: {path}");
        cold
    };
    assert_eq!(seen(&inside, "../d"), Ok(b"/shown/d".to_vec()));
    context.rename(CWD, "/part/d", CWD, "/out/d", RenameFlags::empty()).unwrap();
    for path in ["..", "../secret", "../../out", "e/.."] {
        assert_eq!(seen(&inside, path), Err(Errno::ENOENT), "{path}");
    }
    assert_eq!(seen(&deeper, ".."), Err(Errno::ENOENT));
    assert_eq!(seen(&plain, "../secret"), Ok(b"/out/secret".to_vec()), "its mount shows all");
    assert_eq!(deeper.path(), Ok(b"/".to_vec()), "there is no way to it");
    context.mount(tree(&[]), At::Handle(&deeper), ".", MountFlags::empty()).unwrap();
    assert_eq!(context.mountinfo().len(), 2, "what has no way up is not listed");
    context.umount(At::Handle(&deeper), ".", NOTHING).unwrap();
    let mut stray = context.clone();
    stray.fchdir(&inside).unwrap();
    stray.chroot("/shown").unwrap();
    assert_eq!(exists(&stray, "../secret"), Err(Errno::ENOENT), "out of a changed root, too");
    context.rename(CWD, "/out/d", CWD, "/part/d", RenameFlags::empty()).unwrap();
    assert_eq!(seen(&inside, "../d/e"), Ok(b"/shown/d/e".to_vec()), "moved back");
}

/// A link that is the root of a mount leads on from the directory where it is mounted.
#[test]
fn a_link_that_is_mounted_is_followed_from_where_it_is_mounted() {
    let context = root(&["/d/", "/d/f", "/e/", "/e/f", "/e/covered"]);
    context.symlink("f", CWD, "/d/link").unwrap();
    let link = context.lookupat(CWD, "/d/link", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    let tree = context.open_tree(At::Handle(&link), "", AtFlags::EMPTY_PATH, Recursion::Alone).unwrap();
    context.move_mount(At::Handle(tree.handle()), "", CWD, "/e/covered", MoveFlags::FROM_EMPTY_PATH).unwrap();
    for _ in ["cold", "warm"] {
        assert_eq!(context.lookup("/e/covered").and_then(|found| found.path()), Ok(b"/e/f".to_vec()));
        assert_eq!(context.lookup("/d/link").and_then(|found| found.path()), Ok(b"/d/f".to_vec()));
        let itself = context.lookupat(CWD, "/e/covered", AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(itself.key(), link.key());
    }
}

#[test]
fn switches_are_set_of_one_mount_or_of_all_below() {
    let context = root(&["/a/"]);
    context.mount(tree(&["/b/"]), CWD, "/a", MountFlags::empty()).unwrap();
    context.mount(tree(&[]), CWD, "/a/b", MountFlags::empty()).unwrap();
    let set = |switch, how| {
        let to = pathwalk::MountAttributes { set: switch, ..Default::default() };
        context.mount_setattr(CWD, "/a", AtFlags::empty(), &to, how).unwrap();
    };
    let told = || ["/", "/a", "/a/b"].map(|path| context.statfs(CWD, path).unwrap().flags);
    set(MountFlags::NOEXEC, Recursion::Alone);
    assert_eq!(told(), [MountFlags::empty(), MountFlags::NOEXEC, MountFlags::empty()]);
    set(MountFlags::NODEV, Recursion::Recursive);
    assert_eq!(told(), [MountFlags::empty(), MountFlags::NOEXEC | MountFlags::NODEV, MountFlags::NODEV]);
}

/// To look for a mount that is to be unmounted is no use of it, whatever rules the caller is under.
#[test]
fn an_unused_mount_expires_for_a_confined_caller() {
    let context = root(&["/jail/", "/jail/d/"]);
    context.mount(tree(&["/f"]), CWD, "/jail/d", MountFlags::empty()).unwrap();
    let jail = context.confined(&context.lookup("/jail").unwrap()).unwrap();
    let expire = || jail.umount(CWD, "/d", UmountFlags::EXPIRE);
    assert_eq!([expire(), expire()], [Err(Errno::EAGAIN), Ok(())]);
}
