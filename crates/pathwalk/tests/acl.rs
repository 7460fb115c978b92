//! Access control lists through a context: the errors of a change and their order, what becomes of
//! the mode, what new nodes inherit, and how often the file system is asked.
//!
//! The differential (`cargo xtask differential`) compares the same with the kernel.

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{
    Access, AclState, At, AtFlags, Attributes, Capabilities, Context, Credentials, Directory, Errno, FileSystem, FileType,
    IdExtent, IdMap, MountAttributes, MountFlags, MoveFlags, Name, NewKind, Node, NodeKey, OpenFlags, OpenHow, Recursion,
    StatxFlags, Vfs,
};
use pathwalk_memfs::{MemFs, Options};

const OWNER: u32 = 1000;
const NAMED: u32 = 1001;

fn entry(tag: AclTag, bits: u8) -> AclEntry {
    AclEntry { tag, grants: Access::from_bits(bits).unwrap() }
}

/// Returns the list `u::rwx,u:1001:NAMED,g::r,m:MASK,o::-`.
fn list(named: u8, mask: u8) -> Acl {
    let [owner, user] = [entry(AclTag::Owner, 7), entry(AclTag::User(NAMED), named)];
    Acl::new(vec![owner, user, entry(AclTag::Group, 4), entry(AclTag::Mask, mask), entry(AclTag::Other, 0)])
}

fn user(uid: u32) -> Credentials {
    Credentials::user(uid, uid, &[])
}

/// Returns root's context, and the file system of the `Vfs`.
fn world(options: Options) -> (Context, MemFs) {
    let fs = MemFs::with(options);
    let behind = fs.alias();
    let mut context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    context.umask(0);
    context.chmod("/", 0o777).unwrap();
    (context, behind)
}

#[test]
fn a_change_fails_in_linuxs_order() {
    let (root, behind) = world(Options::default());
    let owner = root.clone().with_credentials(user(OWNER));
    let other = root.clone().with_credentials(user(NAMED));
    owner.write("/f", "").unwrap();
    owner.mkdir("/d", 0o755).unwrap();
    owner.symlink("f", "/l").unwrap();
    let (good, bad) = (list(6, 6), Acl::new(vec![entry(AclTag::Owner, 7)]));
    let set = |context: &Context, path: &str, kind, acl: Option<&Acl>| context.set_acl(path, kind, acl);
    let (access, default) = (AclKind::Access, AclKind::Default);

    assert_eq!(set(&owner, "/none", access, Some(&bad)), Err(Errno::ENOENT));
    assert_eq!(set(&owner, "/f", access, Some(&bad)), Err(Errno::EINVAL));
    assert_eq!(set(&other, "/f", access, Some(&bad)), Err(Errno::EPERM), "before the list is looked at");
    assert_eq!(set(&other, "/f", access, None), Err(Errno::EPERM), "also where there is nothing to remove");
    assert_eq!(set(&other, "/f", default, Some(&bad)), Err(Errno::EACCES), "before the owner");
    assert_eq!(set(&other, "/f", default, None), Ok(()));
    assert_eq!(set(&owner, "/d", default, Some(&bad)), Err(Errno::EINVAL));
    let nofollow = AtFlags::SYMLINK_NOFOLLOW;
    assert_eq!(other.set_acl_at(At::Cwd, "/l", default, Some(&bad), nofollow), Err(Errno::EOPNOTSUPP));
    assert_eq!(other.acl_at(At::Cwd, "/l", access, nofollow), Err(Errno::EOPNOTSUPP));
    assert_eq!(owner.acl_at(At::Cwd, "/f", access, AtFlags::EACCESS), Err(Errno::EINVAL));
    assert_eq!(set(&owner, "/f", access, None), Ok(()));

    let able = Credentials::user(NAMED, NAMED, &[]).with_capabilities(Capabilities::FOWNER);
    assert_eq!(set(&root.clone().with_credentials(able), "/f", access, Some(&good)), Ok(()));
    assert_eq!(other.acl("/f", access), Ok(Some(good.clone())), "any user may read it");

    let file = root.lookup("/f").unwrap();
    for flags in [StatxFlags::IMMUTABLE, StatxFlags::APPEND] {
        behind.set_flags_of(file.key(), flags).unwrap();
        root.vfs().refresh(&file).unwrap();
        assert_eq!(set(&root, "/f", default, None), Err(Errno::EPERM));
    }
}

#[test]
fn a_read_only_mount_refuses_first() {
    let fs = MemFs::new();
    fs.file("/f", 0o644).unwrap();
    let vfs = Vfs::builder().mount_flags(MountFlags::READ_ONLY).build(fs).unwrap();
    let other = vfs.context(user(NAMED));
    assert_eq!(other.set_acl("/f", AclKind::Default, Some(&list(1, 1))), Err(Errno::EROFS));
    assert_eq!(other.acl("/f", AclKind::Default), Ok(None));
}

#[test]
fn the_mode_follows_the_list_and_the_list_the_mode() {
    let (root, _) = world(Options::default());
    let owner = root.clone().with_credentials(user(OWNER));
    owner.write("/f", "").unwrap();
    owner.set_acl("/f", AclKind::Access, Some(&list(7, 6))).unwrap();
    assert_eq!(owner.stat("/f").unwrap().mode, 0o760);
    owner.chmod("/f", 0o641).unwrap();
    let changed = owner.acl("/f", AclKind::Access).unwrap().unwrap();
    assert_eq!((changed.mask(), changed.mode()), (Access::READ, 0o641));
    assert_eq!(changed.entries()[1], entry(AclTag::User(NAMED), 7));

    owner.set_acl("/f", AclKind::Access, None).unwrap();
    assert_eq!((owner.stat("/f").unwrap().mode, owner.acl("/f", AclKind::Access)), (0o641, Ok(None)), "the mask stays");
    owner.set_acl("/f", AclKind::Access, Some(&list(7, 6))).unwrap();
    owner.set_acl("/f", AclKind::Access, Some(&Acl::from_mode(0o604))).unwrap();
    assert_eq!((owner.stat("/f").unwrap().mode, owner.acl("/f", AclKind::Access)), (0o604, Ok(None)), "a mode in disguise");

    // Another group's sgid bit.
    root.chown("/f", None, Some(7)).unwrap();
    root.chmod("/f", 0o6710).unwrap();
    root.set_acl("/f", AclKind::Access, Some(&list(7, 1))).unwrap();
    assert_eq!(root.stat("/f").unwrap().mode, 0o6710);
    owner.set_acl("/f", AclKind::Access, None).unwrap();
    assert_eq!(owner.stat("/f").unwrap().mode, 0o4710);
}

#[test]
fn new_nodes_inherit_in_place_of_the_umask() {
    let (mut root, _) = world(Options::default());
    root.mkdir("/d", 0o755).unwrap();
    root.umask(0o077);
    let default = list(6, 7);
    root.set_acl("/d", AclKind::Default, Some(&default)).unwrap();
    assert_eq!((root.stat("/d").unwrap().mode, root.acl("/d", AclKind::Access)), (0o755, Ok(None)));

    let file = OpenFlags::WRITE | OpenFlags::CREATE;
    root.openat(At::Cwd, "/d/file", OpenHow { mode: 0o666, ..OpenHow::from(file) }).unwrap();
    root.mknod("/d/fifo", NewKind::Fifo, 0o640).unwrap();
    root.mkdir("/d/dir", 0o2777).unwrap();
    root.symlink("to", "/d/link").unwrap();
    let unnamed = OpenHow { mode: 0o666, ..OpenHow::from(OpenFlags::WRITE | OpenFlags::TMPFILE) };
    let unnamed = root.openat(At::Cwd, "/d", unnamed).unwrap();

    let of = |path: &str| (root.stat(path).unwrap().mode, root.acl(path, AclKind::Access).unwrap());
    assert_eq!(of("/d/file"), (0o660, Some(default.for_new(0o666))));
    assert_eq!(of("/d/fifo"), (0o640, Some(default.for_new(0o640))));
    assert_eq!(of("/d/dir"), (0o770, Some(default.clone())));
    assert_eq!(root.acl("/d/dir", AclKind::Default), Ok(Some(default.clone())));
    assert_eq!(root.acl("/d/file", AclKind::Default), Ok(None));
    assert_eq!(root.lstat("/d/link").unwrap().mode, 0o777);
    let of_unnamed = root.acl_at(unnamed.handle(), "", AclKind::Access, AtFlags::EMPTY_PATH);
    assert_eq!((unnamed.handle().attributes().unwrap().mode, of_unnamed), (0o660, Ok(Some(default.for_new(0o666)))));

    // Where there is no list, and behind its removal, the umask counts.
    root.chmod("/d", 0o700).unwrap();
    assert_eq!(root.acl("/d", AclKind::Default), Ok(Some(default)), "chmod leaves it");
    root.set_acl("/d", AclKind::Default, None).unwrap();
    root.openat(At::Cwd, "/d/plain", OpenHow { mode: 0o666, ..OpenHow::from(file) }).unwrap();
    assert_eq!(of("/d/plain"), (0o600, None));
    root.mkdir("/d/dir/plain", 0o777).unwrap();
    assert_eq!(of("/d/dir/plain").0, 0o770, "the directory below kept its list");
}

#[test]
fn a_named_user_is_let_in_and_out() {
    for options in [Options::default(), Options::default().acl(AclState::Unknown)] {
        let (root, _) = world(options);
        let named = root.clone().with_credentials(user(NAMED));
        root.mkdir("/d", 0o750).unwrap();
        root.write("/d/f", "").unwrap();
        let ask = || (named.access("/d/f", Access::empty()), named.stat("/d/f").map(drop));
        for _ in 0..3 {
            assert_eq!(ask(), (Err(Errno::EACCES), Err(Errno::EACCES)));
            root.set_acl("/d", AclKind::Access, Some(&list(1, 7))).unwrap();
            assert_eq!(ask(), (Ok(()), Ok(())));
            // The mode stays.
            root.set_acl("/d", AclKind::Access, Some(&list(4, 7))).unwrap();
            assert_eq!(ask(), (Err(Errno::EACCES), Err(Errno::EACCES)));
            root.set_acl("/d", AclKind::Access, Some(&Acl::from_mode(0o711))).unwrap();
            assert_eq!(ask(), (Ok(()), Ok(())));
            root.set_acl("/d", AclKind::Access, Some(&list(0, 7))).unwrap();
        }
    }
}

/// Checks that the file system is asked once whether a directory has a list, and not at all after
/// one was set or removed through the engine.
#[test]
fn the_file_system_is_asked_for_a_list_once() {
    let (root, behind) = world(Options::default().acl(AclState::Unknown));
    let stranger = root.clone().with_credentials(user(2000));
    root.mkdir("/d", 0o755).unwrap();
    root.write("/d/f", "").unwrap();
    let asked = |what: &dyn Fn()| {
        let before = behind.calls();
        what();
        behind.calls().since(&before).acl
    };
    let walk = || _ = stranger.stat("/d/f").unwrap();
    // Of the root and of the directory.
    assert_eq!(asked(&walk), 2);
    assert_eq!(asked(&walk), 0);
    let other_changes = || {
        root.write("/d/g", "").unwrap();
        root.stat("/d").unwrap();
        root.chmod("/d", 0o751).unwrap();
        root.chown("/d", Some(5), None).unwrap();
        root.unlink("/d/g").unwrap();
        assert_eq!(root.stat("/d").map(|dir| dir.acl), Ok(AclState::Absent), "what is kept is reported");
        root.set_acl("/d", AclKind::Default, Some(&list(1, 1))).unwrap();
        walk();
    };
    assert_eq!(asked(&other_changes), 0, "they change no access list");

    root.set_acl("/d", AclKind::Access, Some(&Acl::from_mode(0o755))).unwrap();
    assert_eq!(asked(&walk), 0);
    let present = || {
        root.set_acl("/d", AclKind::Access, Some(&list(7, 7))).unwrap();
        assert_eq!(stranger.stat("/d/f"), Err(Errno::EACCES));
    };
    assert_eq!(asked(&present), 0);
    let removed = || {
        root.set_acl("/d", AclKind::Access, None).unwrap();
        root.chmod("/d", 0o755).unwrap();
        walk();
    };
    assert_eq!(asked(&removed), 0);

    // A change behind the engine's back, which is told.
    let dir = root.lookup("/d").unwrap();
    behind.set_acl_of(dir.key(), list(7, 7).entries()).unwrap();
    root.vfs().refresh(&dir).unwrap();
    assert_eq!(asked(&|| assert_eq!(stranger.stat("/d/f"), Err(Errno::EACCES))), 1);
    assert_eq!(asked(&|| assert_eq!(stranger.stat("/d/f"), Err(Errno::EACCES))), 0);
}

/// Checks that the file system's word on a list counts where other attributes were asked for.
#[test]
fn a_list_is_noticed_with_other_attributes() {
    let (root, behind) = world(Options::default());
    root.mkdir("/d", 0o755).unwrap();
    let dir = root.lookup("/d").unwrap();
    assert_eq!(root.stat("/d").map(|dir| dir.acl), Ok(AclState::Absent));
    behind.set_acl_of(dir.key(), list(7, 7).entries()).unwrap();
    // The new name makes the directory's times stale.
    root.write("/d/f", "").unwrap();
    assert_eq!(root.stat("/d").map(|dir| dir.acl), Ok(AclState::Present));
    assert_eq!(root.with_credentials(user(2000)).stat("/d/f"), Err(Errno::EACCES));
}

/// A file system that takes each list, keeps none, and says so.
struct KeepsNone;

impl FileSystem for KeepsNone {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), self.attributes(NodeKey(1))?))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(None)
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Ok(Attributes::new(FileType::Directory, 0o777))
    }

    fn keeps_acls(&self) -> bool {
        true
    }

    fn set_acl(&self, node: NodeKey, _: AclKind, _: Option<&Acl>, _: Option<u16>) -> Result<Attributes, Errno> {
        self.attributes(node)
    }
}

#[test]
fn a_file_system_s_word_counts_more_than_what_was_set() {
    let root = Vfs::builder().build(KeepsNone).unwrap().context(Credentials::root());
    assert_eq!(root.stat("/").map(|found| found.acl), Ok(AclState::Absent));
    root.set_acl("/", AclKind::Access, Some(&list(7, 7))).unwrap();
    assert_eq!(root.stat("/").map(|found| found.acl), Ok(AclState::Absent));
}

/// Checks that lists name the users and groups that a mount shows.
#[test]
fn an_id_mapped_mount_maps_lists() {
    let (root, behind) = world(Options::default());
    root.write("/f", "").unwrap();
    root.mkdir("/mapped", 0o755).unwrap();
    let extents = [IdExtent { inside: 0, outside: 10_000, length: 5000 }];
    let id_map = IdMap::new(&extents, &extents).unwrap();
    let tree = root.new_tree(behind.alias(), MountFlags::empty()).unwrap();
    let (top, attributes) = (At::Handle(tree.handle()), MountAttributes::default().with_id_map(id_map));
    root.mount_setattr_at(top, "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone).unwrap();
    root.move_mount_at(top, "", At::Cwd, "/mapped", MoveFlags::FROM_EMPTY_PATH).unwrap();
    let stored = list(7, 7);
    let shown = stored.entries().iter().map(|entry| match entry.tag {
        AclTag::User(uid) => AclEntry { tag: AclTag::User(uid + 10_000), ..*entry },
        _ => *entry,
    });
    let shown = Acl::new(shown.collect());
    root.set_acl("/f", AclKind::Access, Some(&list(7, 7))).unwrap();
    assert_eq!(root.acl("/mapped/f", AclKind::Access), Ok(Some(shown.clone())));
    assert_eq!(root.set_acl("/mapped/f", AclKind::Access, Some(&list(7, 7))), Err(Errno::EINVAL), "1001 has no id there");
    root.set_acl("/mapped/f", AclKind::Access, Some(&shown)).unwrap();
    assert_eq!(root.acl("/f", AclKind::Access), Ok(Some(list(7, 7))));
}
