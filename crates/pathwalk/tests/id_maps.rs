//! Id-mapped mounts: the ids by which they show owners, and the effects on permission.

use pathwalk::permission::OVERFLOW_ID;
use pathwalk::{
    Access, At, AtFlags, Attributes, Capabilities, Context, Credentials, DetachedTree, Directory, Errno, FileSystem, IdExtent,
    IdMap, MountAttributes, MountFlags, MoveFlags, Name, NewKind, Node, NodeKey, OpenFlags, OpenHow, Propagation, Recursion,
    StatxMask, UmountFlags, Vfs,
};
use pathwalk_memfs::MemFs;

const CWD: At<'static> = At::Cwd;
const NONE: AtFlags = AtFlags::empty();

/// The id as which the stored id 0 is seen in `shifted`.
const SHIFTED_ROOT: u32 = 100_000;

fn map_of(extents: &[(u32, u32, u32)]) -> IdMap {
    let extent = |&(inside, outside, length)| IdExtent { inside, outside, length };
    let extents: Vec<IdExtent> = extents.iter().map(extent).collect();
    IdMap::new(&extents, &extents).unwrap()
}

fn shifted() -> IdMap {
    map_of(&[(0, SHIFTED_ROOT, 65_536)])
}

fn with_map(map: IdMap) -> MountAttributes {
    MountAttributes::default().with_id_map(map)
}

fn set(context: &Context, tree: &DetachedTree, attributes: &MountAttributes, how: Recursion) -> Result<(), Errno> {
    context.mount_setattr_at(tree.handle(), "", AtFlags::EMPTY_PATH, attributes, how)
}

fn attach(context: &Context, tree: &DetachedTree, path: &str) {
    context.move_mount_at(tree.handle(), "", CWD, path, MoveFlags::FROM_EMPTY_PATH).unwrap();
}

/// Shows `/d` at `/v` by a map.
fn view(context: &Context, map: IdMap) {
    let tree = context.open_tree_at(CWD, "/d", NONE, Recursion::Alone).unwrap();
    set(context, &tree, &with_map(map), Recursion::Alone).unwrap();
    attach(context, &tree, "/v");
}

/// Creates a context with directories `/d`, `/v` and `/w`, and files `/d/0`, `/d/1000` and
/// `/d/70000` that belong to these ids.
fn world() -> (MemFs, Context) {
    let fs = MemFs::new();
    for dir in ["/d", "/v", "/w"] {
        fs.mkdir(dir, 0o755).unwrap();
    }
    for id in [0, 1000, 70_000] {
        let path = format!("/d/{id}");
        fs.file(&path, 0o600).unwrap();
        fs.chown(&path, id, id).unwrap();
    }
    let context = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap().context(Credentials::root());
    (fs, context)
}

/// Returns the owners of a path, which all operations have to report alike.
fn owners(context: &Context, path: &str) -> (u32, u32) {
    let ids = |found: Attributes| (found.uid, found.gid);
    let cold = context.stat(path).map(ids).unwrap();
    let statx = |mask| ids(context.statx_at(CWD, path, NONE, mask).unwrap().attributes);
    let handle = context.lookup(path).unwrap();
    let empty = context.fstatat(&handle, "", AtFlags::EMPTY_PATH).map(ids).unwrap();
    let by_other_ways = [
        context.stat(path).map(ids).unwrap(),
        statx(StatxMask::BASIC_STATS),
        statx(StatxMask::UID | StatxMask::GID),
        context.cached().stat(path).map(ids).unwrap(),
        handle.attributes().map(ids).unwrap(),
        empty,
    ];
    assert_eq!(by_other_ways, [cold; 6], "{path}");
    cold
}

fn user(id: u32) -> Credentials {
    Credentials::user(id, id, &[])
}

fn open(context: &Context, path: &str, flags: OpenFlags) -> Result<(), Errno> {
    context.open(path, OpenHow { flags, ..OpenHow::default() }).map(drop)
}

#[test]
fn owners_are_shown_by_the_map_of_the_mount() {
    let (_, root) = world();
    view(&root, shifted());
    assert_eq!(owners(&root, "/v/0"), (100_000, 100_000));
    assert_eq!(owners(&root, "/v/1000"), (101_000, 101_000));
    assert_eq!(owners(&root, "/v/70000"), (OVERFLOW_ID, OVERFLOW_ID));
    assert_eq!(owners(&root, "/v"), (100_000, 100_000), "its root");
    assert_eq!(owners(&root, "/v/../d/1000"), (1000, 1000), "another mount of the same");
    assert_eq!(owners(&root, "/d/70000"), (70_000, 70_000));
}

#[test]
fn rights_are_those_of_the_owner_that_is_seen() {
    let (_, root) = world();
    view(&root, shifted());
    let may = |who: Credentials, path: &str| {
        let context = root.clone().with_credentials(who);
        let cold = context.access(path, Access::READ);
        assert_eq!(context.access(path, Access::READ), cold);
        assert_eq!(context.cached().faccessat(CWD, path, Access::READ, NONE), cold);
        assert_eq!(open(&context, path, OpenFlags::READ), cold);
        cold
    };
    assert_eq!(may(user(101_000), "/v/1000"), Ok(()));
    assert_eq!(may(user(1000), "/v/1000"), Err(Errno::EACCES), "it is stored as his, and not seen so");
    assert_eq!(may(user(1000), "/d/1000"), Ok(()));
    assert_eq!(may(user(101_000), "/d/1000"), Err(Errno::EACCES));
    assert_eq!(may(user(SHIFTED_ROOT), "/v/0"), Ok(()));
    assert_eq!(may(user(SHIFTED_ROOT), "/v/1000"), Err(Errno::EACCES), "a user as any");
    assert_eq!(may(Credentials::root(), "/v/1000"), Ok(()), "by capabilities");
}

#[test]
fn capabilities_count_for_what_is_mapped() {
    let (fs, root) = world();
    fs.file("/d/read", 0o646).unwrap();
    fs.chown("/d/read", 70_000, 0).unwrap();
    view(&root, shifted());
    for want in [Access::READ, Access::WRITE, Access::READ | Access::WRITE] {
        assert_eq!(root.access("/v/70000", want), Err(Errno::EACCES));
        assert_eq!(root.access("/d/70000", want), Ok(()));
    }
    assert_eq!(root.access("/v/read", Access::READ), Ok(()), "everyone may");
    assert_eq!(root.access("/v/read", Access::WRITE), Err(Errno::EACCES), "everyone may, but for the owner");
    assert_eq!(root.cached().faccessat(CWD, "/v/read", Access::WRITE, NONE), Err(Errno::EACCES));
    assert_eq!(open(&root, "/v/read", OpenFlags::WRITE), Err(Errno::EACCES));
    assert_eq!(root.truncate("/v/read", 0), Err(Errno::EACCES));
    assert_eq!(root.fchmodat(CWD, "/v/70000", 0o777, NONE), Err(Errno::EOVERFLOW));
    assert_eq!(root.unlink("/v/70000"), Err(Errno::EOVERFLOW));
    assert_eq!(root.renameat(CWD, "/v/70000", CWD, "/v/other", Default::default()), Err(Errno::EOVERFLOW));
    assert_eq!(root.renameat(CWD, "/v/0", CWD, "/v/70000", Default::default()), Err(Errno::EOVERFLOW));
    assert_eq!(root.link("/v/70000", "/v/other"), Err(Errno::EOVERFLOW));
    assert_eq!(root.unlink("/d/70000"), Ok(()));
}

#[test]
fn what_is_made_belongs_to_the_id_that_is_stored() {
    let (fs, root) = world();
    fs.chmod("/d", 0o777).unwrap();
    view(&root, shifted());
    let make = |who: Credentials, name: &str| {
        let context = root.clone().with_credentials(who);
        context.mkdir(format!("/v/{name}"), 0o755)?;
        let how = OpenHow { flags: OpenFlags::TMPFILE | OpenFlags::WRITE, mode: 0o600, ..OpenHow::default() };
        let unnamed = context.open("/v", how)?;
        let attributes = unnamed.handle().attributes()?;
        context.symlink("body", format!("/v/{name}.link"))?;
        context.mknod(format!("/v/{name}.pipe"), NewKind::Fifo, 0o600)?;
        Ok((attributes.uid, attributes.gid))
    };
    assert_eq!(make(user(101_000), "his"), Ok((101_000, 101_000)));
    for name in ["his", "his.link", "his.pipe"] {
        let stored = fs.stat(format!("/d/{name}")).unwrap();
        assert_eq!((stored.uid, stored.gid), (1000, 1000), "{name}");
    }
    assert_eq!(owners(&root, "/v/his"), (101_000, 101_000));
    assert_eq!(make(user(1000), "lost"), Err(Errno::EOVERFLOW));
    assert_eq!(make(Credentials::root(), "lost"), Err(Errno::EOVERFLOW), "no capability helps");
    assert_eq!(make(Credentials::user(101_000, 5, &[]), "lost"), Err(Errno::EOVERFLOW), "nor does a user alone");
    assert_eq!(fs.stat("/d/lost").unwrap_err().errno(), Errno::ENOENT);
}

#[test]
fn groups_are_inherited_as_they_are_stored() {
    let (fs, root) = world();
    fs.chown("/d", 0, 70_000).unwrap();
    fs.chmod("/d", 0o2777).unwrap();
    view(&root, map_of(&[(0, 0, 5), (70_000, 5, 1)]));
    let alice = root.clone().with_credentials(Credentials::user(3, 3, &[5]));
    let how = OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o2755, ..OpenHow::default() };
    alice.open("/v/new", how).unwrap();
    let stored = fs.stat("/d/new").unwrap();
    assert_eq!((stored.uid, stored.gid, stored.mode), (3, 70_000, 0o2755), "group 5 is hers");
    assert_eq!(owners(&root, "/v/new"), (3, 5));
    let bob = root.clone().with_credentials(Credentials::user(4, 4, &[]));
    bob.open("/v/other", how).unwrap();
    assert_eq!(fs.stat("/d/other").unwrap().mode, 0o755, "and not his");
}

#[test]
fn owners_are_set_by_the_map() {
    let (fs, root) = world();
    view(&root, shifted());
    assert_eq!(root.fchownat(CWD, "/v/0", Some(100_005), None, NONE), Ok(()));
    assert_eq!(fs.stat("/d/0").unwrap().uid, 5);
    assert_eq!(owners(&root, "/v/0"), (100_005, 100_000));
    assert_eq!(root.fchownat(CWD, "/v/0", Some(5), None, NONE), Err(Errno::EOVERFLOW), "there is no such owner");
    assert_eq!(root.fchownat(CWD, "/v/0", None, Some(5), NONE), Err(Errno::EOVERFLOW));
    assert_eq!(root.fchownat(CWD, "/v/70000", Some(100_005), None, NONE), Err(Errno::EOVERFLOW), "the group stays lost");
    assert_eq!(root.fchownat(CWD, "/v/70000", Some(100_005), Some(100_006), NONE), Ok(()), "what is lost is mended");
    assert_eq!(owners(&root, "/d/70000"), (5, 6));
    let owner = root.clone().with_credentials(Credentials::user(101_000, 101_000, &[100_007, 7]));
    assert_eq!(owner.fchownat(CWD, "/v/1000", None, Some(100_007), NONE), Ok(()), "a group of the owner's");
    assert_eq!(owner.fchownat(CWD, "/v/1000", None, Some(100_008), NONE), Err(Errno::EPERM));
    assert_eq!(owner.fchownat(CWD, "/v/1000", None, Some(7), NONE), Err(Errno::EOVERFLOW));
    assert_eq!(fs.stat("/d/1000").unwrap().gid, 7);
}

#[test]
fn a_map_is_set_once_and_before_the_mount_is_seen() {
    let (_, root) = world();
    let attributes = with_map(shifted());
    let at = |path: &str| root.mount_setattr_at(CWD, path, NONE, &attributes, Recursion::Alone);
    assert_eq!(at("/"), Err(Errno::EINVAL), "it is seen");
    assert_eq!(at("/d"), Err(Errno::EINVAL), "no root of a mount");
    let tree = root.open_tree_at(CWD, "/d", NONE, Recursion::Alone).unwrap();
    let alice = root.clone().with_credentials(user(1));
    assert_eq!(set(&alice, &tree, &attributes, Recursion::Alone), Err(Errno::EPERM), "not without CAP_SYS_ADMIN");
    assert_eq!(set(&root, &tree, &attributes, Recursion::Alone), Ok(()));
    assert_eq!(set(&root, &tree, &attributes, Recursion::Alone), Err(Errno::EPERM), "it has one");
    let inside = root.lookup_at(tree.handle(), "1000", NONE).unwrap();
    assert_eq!(inside.attributes().unwrap().uid, 101_000, "also before it is anywhere");
    attach(&root, &tree, "/v");
    assert_eq!(at("/v"), Err(Errno::EPERM));
    let switches = MountAttributes::default().with_set(MountFlags::NODEV);
    root.mount_setattr_at(CWD, "/v", NONE, &switches, Recursion::Alone).unwrap();
    assert_eq!(owners(&root, "/v/1000"), (101_000, 101_000), "other switches leave it");
    let told: Vec<bool> = root.mountinfo().iter().map(|mount| mount.id_mapped).collect();
    assert_eq!(told, [false, true]);
    let new = root.new_tree(MemFs::new(), MountFlags::empty()).unwrap();
    assert_eq!(set(&root, &new, &attributes, Recursion::Alone), Ok(()));
}

#[test]
fn files_that_are_written_to_keep_a_map_out() {
    let (_, root) = world();
    let tree = root.open_tree_at(CWD, "/d", NONE, Recursion::Alone).unwrap();
    let file = root.openat(tree.handle(), "1000", OpenFlags::WRITE).unwrap();
    assert_eq!(set(&root, &tree, &with_map(shifted()), Recursion::Alone), Err(Errno::EBUSY));
    assert_eq!(tree.handle().attributes().unwrap().uid, 0);
    drop(file);
    assert_eq!(set(&root, &tree, &with_map(shifted()), Recursion::Alone), Ok(()));
    assert!(root.openat(tree.handle(), "1000", OpenFlags::WRITE).is_ok(), "they are taken again");
}

/// A file system that does not declare support for maps.
struct Silent;

impl FileSystem for Silent {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), Attributes::new(pathwalk::FileType::Directory, 0o755)))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(None)
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Ok(Attributes::new(pathwalk::FileType::Directory, 0o755))
    }
}

#[test]
fn a_tree_gets_a_map_as_a_whole_or_not() {
    let (fs, root) = world();
    fs.mkdir("/d/e", 0o755).unwrap();
    root.mount(Silent, "/w", MountFlags::empty()).unwrap();
    root.bind("/w", "/d/e", Recursion::Alone).unwrap();
    root.bind("/d", "/d", Recursion::Recursive).unwrap();
    let whole = || root.open_tree_at(CWD, "/d", NONE, Recursion::Recursive).unwrap();
    let tree = whole();
    assert_eq!(set(&root, &tree, &with_map(shifted()), Recursion::Recursive), Err(Errno::EINVAL), "one allows none");
    assert_eq!(tree.handle().attributes().unwrap().uid, 0, "so none has one");
    assert!(root.openat(tree.handle(), "1000", OpenFlags::WRITE).is_ok(), "and writers are taken");
    assert_eq!(set(&root, &tree, &with_map(shifted()), Recursion::Alone), Ok(()), "the others alone may");
    root.umount("/d/e", UmountFlags::empty()).unwrap();
    root.mount(MemFs::new(), "/d/e", MountFlags::empty()).unwrap();
    let tree = whole();
    assert_eq!(set(&root, &tree, &with_map(shifted()), Recursion::Recursive), Ok(()));
    attach(&root, &tree, "/v");
    assert_eq!((owners(&root, "/v"), owners(&root, "/v/e")), ((SHIFTED_ROOT, SHIFTED_ROOT), (SHIFTED_ROOT, SHIFTED_ROOT)));
}

#[test]
fn copies_of_a_mount_keep_its_map() {
    let (_, mut root) = world();
    view(&root, shifted());
    root.bind("/v", "/w", Recursion::Alone).unwrap();
    assert_eq!(owners(&root, "/w/1000"), (101_000, 101_000), "a bind");
    let tree = root.open_tree_at(CWD, "/v", NONE, Recursion::Alone).unwrap();
    assert_eq!(set(&root, &tree, &with_map(shifted()), Recursion::Alone), Err(Errno::EPERM), "a clone");
    root.umount("/w", UmountFlags::empty()).unwrap();
    let shared = MountAttributes::default().with_propagation(Propagation::Shared);
    root.bind("/w", "/w", Recursion::Alone).unwrap();
    root.mount_setattr_at(CWD, "/w", NONE, &shared, Recursion::Alone).unwrap();
    let peer = root.open_tree_at(CWD, "/w", NONE, Recursion::Alone).unwrap();
    attach(&root, &peer, "/d");
    attach(&root, &tree, "/w");
    assert_eq!(owners(&root, "/d/1000"), (101_000, 101_000), "what is propagated");
    root.unshare().unwrap();
    assert_eq!(owners(&root, "/v/1000"), (101_000, 101_000), "a namespace's copy");
    assert_eq!(root.mountinfo().iter().filter(|mount| mount.id_mapped).count(), 3);
}

#[test]
fn privileges_go_by_the_map_of_the_mount_that_is_written_through() {
    let (fs, root) = world();
    fs.file("/d/suid", 0o6767).unwrap();
    view(&root, shifted());
    let alice = root.clone().with_credentials(user(101_000));
    let write = || alice.open("/v/suid", OpenFlags::WRITE);
    let file = write().unwrap();
    assert_eq!(file.write(b"x"), Ok(1));
    assert_eq!(fs.stat("/d/suid").unwrap().mode, 0o767);
    root.fchmodat(CWD, "/d/suid", 0o4767, NONE).unwrap();
    root.fchownat(CWD, "/d/suid", Some(70_000), None, NONE).unwrap();
    assert_eq!(file.write(b"x"), Ok(1), "there is nothing to take away: chown did");
    root.fchmodat(CWD, "/d/suid", 0o4767, NONE).unwrap();
    assert_eq!(file.write(b"x"), Err(Errno::EOVERFLOW), "the mode of a file whose owner is lost cannot be set");
    assert_eq!(file.set_len(0), Err(Errno::EOVERFLOW));
    assert_eq!(fs.stat("/d/suid").unwrap().mode, 0o4767);
    assert_eq!(write().err(), Some(Errno::EACCES));
}

#[test]
fn sticky_directories_go_by_the_owners_that_are_seen() {
    let (fs, root) = world();
    fs.chmod("/d", 0o1777).unwrap();
    view(&root, map_of(&[(1000, 5, 1), (0, 1000, 1), (7, 7, 1)]));
    let unlink =
        |id: u32, caps: Capabilities, path: &str| root.clone().with_credentials(user(id).with_capabilities(caps)).unlink(path);
    let none = Capabilities::empty();
    assert_eq!(unlink(7, none, "/v/1000"), Err(Errno::EPERM));
    assert_eq!(unlink(7, Capabilities::FOWNER, "/v/70000"), Err(Errno::EOVERFLOW));
    assert_eq!(unlink(5, none, "/v/1000"), Ok(()), "the owner of the file");
    assert_eq!(unlink(1000, none, "/v/0"), Ok(()), "the owner of both");
    assert_eq!(unlink(7, Capabilities::FOWNER, "/d/70000"), Ok(()));
}

/// Checks `protected_symlinks` through an id map. Linux: `may_follow_link`.
#[test]
fn links_are_protected_by_the_owners_that_are_seen() {
    let fs = MemFs::new();
    fs.mkdir("/d", 0o1777).unwrap();
    fs.mkdir("/v", 0o755).unwrap();
    fs.symlink("/target", "/d/link").unwrap();
    fs.file("/target", 0o644).unwrap();
    fs.chown("/d/link", 1000, 1000).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).protect_symlinks().build(fs.alias()).unwrap();
    let root = vfs.context(Credentials::root());
    view(&root, map_of(&[(1000, 5, 1), (0, 0, 1)]));
    let follow = |id: u32| {
        let context = root.clone().with_credentials(user(id));
        let cold = context.access("/v/link", Access::READ);
        assert_eq!(context.access("/v/link", Access::READ), cold);
        cold
    };
    assert_eq!((follow(5), follow(1000), follow(0)), (Ok(()), Err(Errno::EACCES), Err(Errno::EACCES)));
    root.fchownat(CWD, "/d", Some(1000), None, NONE).unwrap();
    assert_eq!(follow(7), Ok(()), "the directory's owner has the link");
    let lost = |path| root.fchownat(CWD, path, Some(2000), None, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    lost("/d");
    lost("/d/link");
    assert_eq!(follow(7), Err(Errno::EACCES), "owners that are lost are not the same");
}

/// Checks `protected_hardlinks` through an id map. Linux: `may_linkat`.
#[test]
fn names_are_given_by_the_owners_that_are_seen() {
    let fs = MemFs::new();
    fs.mkdir("/d", 0o777).unwrap();
    fs.mkdir("/v", 0o755).unwrap();
    fs.file("/d/file", 0o600).unwrap();
    fs.chown("/d/file", 1000, 1000).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).protect_hardlinks().build(fs).unwrap();
    let root = vfs.context(Credentials::root());
    view(&root, shifted());
    let link = |id: u32, caps: Capabilities, new: &str| {
        let context = root.clone().with_credentials(user(id).with_capabilities(caps));
        context.link("/v/file", format!("/v/{new}"))
    };
    let none = Capabilities::empty();
    assert_eq!(link(101_000, none, "own"), Ok(()));
    assert_eq!(link(100_005, none, "other"), Err(Errno::EPERM));
    assert_eq!(link(1000, none, "stored"), Err(Errno::EPERM), "it is stored as his, and not seen so");
    assert_eq!(link(1000, Capabilities::FOWNER, "stored"), Err(Errno::EOVERFLOW), "and an unmapped user makes no name");
    assert_eq!(link(100_005, Capabilities::FOWNER, "capable"), Ok(()));
}
