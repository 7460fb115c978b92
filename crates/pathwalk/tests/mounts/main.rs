//! Mounts: what they cover, how walks cross them, and how they end.

use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, MountFlags, MoveFlags, OpenFlags, OpenHow, Recursion, RenameFlags, Resolve,
    UmountFlags, Vfs,
};
use pathwalk_memfs::MemFs;

mod ends;
mod switches;

const CWD: At<'static> = At::Cwd;
const NOTHING: UmountFlags = UmountFlags::empty();

/// Creates a file system with these names. Directories end in a slash.
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
    context.mount(tree(&["/on", "/e/", "/e/f"]), "/d", MountFlags::empty()).unwrap();
    assert_eq!(exists(&context, "/d/on"), Ok(()));
    assert_eq!(exists(&context, "/d/e/f"), Ok(()));
    assert_eq!(exists(&context, "/d/below"), Err(Errno::ENOENT));
    assert_eq!(exists(&context, "/d/e/../../d/on"), Ok(()));
    assert_eq!(exists(&context, "/d/../d/../d/on"), Ok(()));
    context.umount("/d", NOTHING).unwrap();
    assert_eq!(exists(&context, "/d/below"), Ok(()));
    assert_eq!(exists(&context, "/d/on"), Err(Errno::ENOENT));
    assert_eq!(context.umount("/d", NOTHING), Err(Errno::EINVAL));
}

#[test]
fn mounts_are_stacked_and_nested() {
    let context = root(&["/d/"]);
    for at in 0..5 {
        let name = format!("/level{at}");
        context.mount(tree(&[&name, "/n/"]), "/d", MountFlags::empty()).unwrap();
        assert_eq!(exists(&context, &format!("/d{name}")), Ok(()));
    }
    let mut path = "/d".to_owned();
    for _ in 0..5 {
        path += "/n";
        context.mount(tree(&["/n/", "/f"]), &path, MountFlags::empty()).unwrap();
    }
    assert_eq!(exists(&context, &(path.clone() + "/f")), Ok(()));
    assert_eq!(exists(&context, &(path.clone() + "/../../../../../level4")), Ok(()));
    assert_eq!(context.mountinfo().len(), 11);
    assert_eq!(context.umount("/d", NOTHING), Err(Errno::EBUSY), "with mounts below");
    context.umount("/d", UmountFlags::DETACH).unwrap();
    assert_eq!(exists(&context, "/d/level3"), Ok(()));
    assert_eq!(context.mountinfo().len(), 5);
}

#[test]
fn a_bind_shows_a_directory_twice() {
    let context = root(&["/a/", "/a/b/", "/a/b/f", "/x/"]);
    context.bind("/a/b", "/x", Recursion::Alone).unwrap();
    assert_eq!(exists(&context, "/x/f"), Ok(()));
    assert_eq!(exists(&context, "/x/../a/b/f"), Ok(()), "`..` leads to where it is mounted");
    let handle = context.lookup("/x/f").unwrap();
    assert_eq!(handle.path().unwrap(), b"/x/f");
    assert_eq!(context.lookup("/a/b/f").unwrap().path().unwrap(), b"/a/b/f");
    assert_eq!(context.renameat(CWD, "/x/f", CWD, "/a/b/g", RenameFlags::empty()), Err(Errno::EXDEV));
    assert_eq!(context.link("/x/f", "/a/b/g"), Err(Errno::EXDEV));
    assert_eq!(context.umount("/x", NOTHING), Err(Errno::EBUSY), "a handle is on it");
    drop(handle);
    context.umount("/x", NOTHING).unwrap();
}

#[test]
fn no_crossing_where_that_is_forbidden() {
    let context = root(&["/d/", "/e/"]);
    context.mount(tree(&["/f"]), "/d", MountFlags::empty()).unwrap();
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

/// Checks absolute links within a mount: Linux follows them once it has looked the root up, which
/// an absolute path and `..` make it do.
#[test]
fn no_absolute_link_is_followed_before_the_root_is_known() {
    let context = root(&["/e/"]);
    context.symlink("/e", "/l").unwrap();
    let within = context.with_resolve(Resolve::NO_XDEV).unwrap();
    let answers = ["/l", "l", "./l", "e/../l", "/e/../l"].map(|path| exists(&within, path));
    assert_eq!(answers, [Ok(()), Err(Errno::EXDEV), Err(Errno::EXDEV), Ok(()), Ok(())]);
}

/// Checks the rules for the crossing to a mount before the error that the node exists already.
#[test]
fn what_cannot_be_created_is_crossed_to_by_the_rules() {
    let context = root(&["/f", "/covered"]);
    context.bind("/f", "/covered", Recursion::Alone).unwrap();
    let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    let create = |resolve| context.open("covered", OpenHow { flags, mode: 0o600, resolve }).map(drop);
    assert_eq!(create(Resolve::empty()), Err(Errno::EEXIST));
    assert_eq!(create(Resolve::NO_XDEV), Err(Errno::EXDEV));
}

#[test]
fn a_covered_place_is_still_where_one_stands() {
    let mut context = root(&["/d/", "/d/below", "/d/e/"]);
    context.chdir("/d").unwrap();
    context.mount(tree(&["/on"]), "/d", MountFlags::empty()).unwrap();
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
    assert_eq!(context.faccessat(detached.handle(), "f", Access::empty(), AtFlags::empty()), Ok(()));
    context.move_mount_at(detached.handle(), "", CWD, "/a", MoveFlags::FROM_EMPTY_PATH).unwrap();
    drop(detached);
    assert_eq!(exists(&context, "/a/f"), Ok(()));
    context.move_mount("/a", "/b").unwrap();
    assert_eq!((exists(&context, "/a/f"), exists(&context, "/b/f")), (Err(Errno::ENOENT), Ok(())));
    assert_eq!(context.lookup("/b/f").unwrap().path().unwrap(), b"/b/f");
}

#[test]
fn the_mount_is_told_by_its_number() {
    let context = root(&["/d/", "/d/f"]);
    context.bind("/d", "/d", Recursion::Alone).unwrap();
    let seen = |path: &str| {
        let statx = context.statx(path, pathwalk::StatxMask::MNT_ID).unwrap();
        (statx.mount_id, statx.attributes.flags.contains(pathwalk::StatxFlags::MOUNT_ROOT))
    };
    let listed = context.mountinfo();
    assert_eq!((seen("/"), seen("/d"), seen("/d/f")), ((listed[0].id, true), (listed[1].id, true), (listed[1].id, false)));
    assert_eq!((&listed[1].root[..], &listed[1].mount_point[..], listed[1].parent), (&b"/d"[..], &b"/d"[..], listed[0].id));
}

#[test]
fn only_the_capable_mount() {
    let context = root(&["/d/"]).with_credentials(Credentials::user(1000, 1000, &[]));
    assert_eq!(context.mount(tree(&[]), "/d", MountFlags::empty()), Err(Errno::EPERM));
    assert_eq!(context.umount("/d", NOTHING), Err(Errno::EPERM));
    assert_eq!(context.new_tree(tree(&[]), MountFlags::empty()).err(), Some(Errno::EPERM));
    assert_eq!(context.clone().unshare(), Err(Errno::EPERM));
    // Also where nothing would change.
    let nothing = context.mount_setattr("/d", &Default::default(), Recursion::Alone);
    assert_eq!(nothing, Err(Errno::EPERM));
}

#[test]
fn a_confined_context_stays_below_its_root_across_mounts() {
    let context = root(&["/jail/", "/jail/d/", "/secret"]);
    context.mount(tree(&["/e/", "/f"]), "/jail/d", MountFlags::empty()).unwrap();
    let jail = context.confined(&context.lookup("/jail").unwrap()).unwrap();
    assert_eq!((exists(&jail, "/d/f"), exists(&jail, "/d/e/../../../secret")), (Ok(()), Err(Errno::ENOENT)));
    let inner = context.confined(&context.lookup("/jail/d").unwrap()).unwrap();
    assert_eq!((exists(&inner, "/../f"), exists(&inner, "/../../secret")), (Ok(()), Err(Errno::ENOENT)));
    let outside = context.lookup("/jail").unwrap();
    assert_eq!(inner.fstatat(&outside, "", AtFlags::EMPTY_PATH), Err(Errno::EXDEV));
    let within = context.lookup("/jail/d/e").unwrap();
    assert!(jail.fstatat(&within, "", AtFlags::EMPTY_PATH).is_ok(), "below, through a mount");
    let mut inner = inner;
    assert_eq!(inner.setns(&context.namespace()), Err(Errno::EPERM), "its root would be another");
    inner.unshare().unwrap();
    assert_eq!(exists(&inner, "/../../secret"), Err(Errno::ENOENT));
    assert_eq!(inner.mountinfo().iter().map(|mount| &mount.mount_point[..]).collect::<Vec<_>>(), [b"/"]);
}

#[test]
fn a_removed_directory_has_no_path_where_it_is_mounted() {
    let context = root(&["/a/", "/a/b/", "/x/"]);
    context.bind("/a", "/x", Recursion::Alone).unwrap();
    context.bind("/a/b", "/a", Recursion::Alone).unwrap();
    let bound = context.lookup("/a").unwrap();
    assert_eq!(bound.path().unwrap(), b"/a");
    context.rmdir("/x/b").unwrap();
    assert_eq!(bound.path(), Err(Errno::ENOENT));
    let points: Vec<Vec<u8>> = context.mountinfo().into_iter().map(|mount| mount.mount_point).collect();
    assert_eq!(points, [&b"/"[..], b"/x", b"/a"]);
}

#[test]
fn a_way_out_is_refused_before_what_it_would_create() {
    let context = root(&["/a/"]);
    let beneath = OpenHow { flags: OpenFlags::CREATE | OpenFlags::WRITE, mode: 0o644, resolve: Resolve::BENEATH };
    for path in ["..", "../", "a/../.."] {
        assert_eq!(context.open(path, beneath).err(), Some(Errno::EXDEV), "{path}");
    }
    assert_eq!(context.open("a/..", beneath).err(), Some(Errno::EISDIR));
    let exclusive = OpenHow { flags: beneath.flags | OpenFlags::EXCLUSIVE, ..beneath };
    assert_eq!(context.open("..", exclusive).err(), Some(Errno::EXDEV));
    assert_eq!(context.open("a/.", exclusive).err(), Some(Errno::EEXIST));
    context.mount(tree(&[]), "a", MountFlags::empty()).unwrap();
    let within = OpenHow { resolve: Resolve::NO_XDEV, ..exclusive };
    assert_eq!(context.open("a", within).err(), Some(Errno::EXDEV));
    assert_eq!(context.open("a", exclusive).err(), Some(Errno::EEXIST));
}

#[test]
fn the_target_of_a_move_is_looked_for_first() {
    let context = root(&["/f", "/d/"]);
    let moved = |from: &str, to: &str| context.move_mount(from, to);
    assert_eq!(moved("/f/x", "/absent"), Err(Errno::ENOENT));
    assert_eq!(moved("/f/x", "/d"), Err(Errno::ENOTDIR));
}

/// Moves a directory out of the part of its file system that a bind mount shows. The directory
/// stays usable, but `..` leads nowhere: neither out of the part, nor to what is above it. Linux:
/// `path_connected`.
#[test]
fn what_is_moved_out_of_a_bind_has_nothing_above() {
    let context = root(&["/part/", "/part/d/", "/part/d/e/", "/out/", "/out/secret", "/shown/"]);
    context.bind("/part", "/shown", Recursion::Alone).unwrap();
    let inside = context.lookup("/shown/d").unwrap();
    let deeper = context.lookup("/shown/d/e").unwrap();
    let plain = context.lookup("/part/d").unwrap();
    let seen = |from, path| {
        let look = || context.lookup_at(from, path, AtFlags::empty()).and_then(|found| found.path());
        let cold = look();
        let cached = context.cached().lookup_at(from, path, AtFlags::empty()).and_then(|found| found.path());
        assert!(cached == look() || cached == Err(Errno::EAGAIN), "{path}: {cached:?}");
        assert_eq!(cold, look(), "cold and warm: {path}");
        cold
    };
    assert_eq!(seen(&inside, "../d"), Ok(b"/shown/d".to_vec()));
    context.renameat(CWD, "/part/d", CWD, "/out/d", RenameFlags::empty()).unwrap();
    for path in ["..", "../secret", "../../out", "e/.."] {
        assert_eq!(seen(&inside, path), Err(Errno::ENOENT), "{path}");
    }
    assert_eq!(seen(&deeper, ".."), Err(Errno::ENOENT));
    assert_eq!(seen(&plain, "../secret"), Ok(b"/out/secret".to_vec()), "its mount shows all");
    assert_eq!(deeper.path(), Ok(b"/".to_vec()), "there is no way to it");
    context.mount_at(tree(&[]), &deeper, ".", MountFlags::empty()).unwrap();
    assert_eq!(context.mountinfo().len(), 2, "what has no way up is not listed");
    context.umount_at(&deeper, ".", NOTHING).unwrap();
    let mut stray = context.clone();
    stray.fchdir(&inside).unwrap();
    stray.chroot("/shown").unwrap();
    assert_eq!(exists(&stray, "../secret"), Err(Errno::ENOENT), "out of a changed root, too");
    context.renameat(CWD, "/out/d", CWD, "/part/d", RenameFlags::empty()).unwrap();
    assert_eq!(seen(&inside, "../d/e"), Ok(b"/shown/d/e".to_vec()), "moved back");
}

/// Checks that a link that is the root of a mount is followed from the directory where it is
/// mounted.
#[test]
fn a_link_that_is_mounted_is_followed_from_where_it_is_mounted() {
    let context = root(&["/d/", "/d/f", "/e/", "/e/f", "/e/covered"]);
    context.symlink("f", "/d/link").unwrap();
    let link = context.lookup_at(CWD, "/d/link", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    let tree = context.open_tree_at(&link, "", AtFlags::EMPTY_PATH, Recursion::Alone).unwrap();
    context.move_mount_at(tree.handle(), "", CWD, "/e/covered", MoveFlags::FROM_EMPTY_PATH).unwrap();
    for _ in ["cold", "warm"] {
        assert_eq!(context.lookup("/e/covered").and_then(|found| found.path()), Ok(b"/e/f".to_vec()));
        assert_eq!(context.lookup("/d/link").and_then(|found| found.path()), Ok(b"/d/f".to_vec()));
        let itself = context.lookup_at(CWD, "/e/covered", AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(itself.key(), link.key());
    }
}
