//! Extended attributes: the answers of Linux 6.18 on a tmpfs, row by row; file capabilities, which
//! writes remove; and the calls of the file system that writes do not make.

use std::io::IoSlice;

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{
    Access, At, AtFlags, Capabilities, Context, Credentials, Errno, FallocateFlags, IdExtent, IdMap, MountAttributes, MountFlags,
    MoveFlags, Name, NewKind, OpenFlags, Recursion, RwFlags, Vfs, XattrFlags,
};
use pathwalk_memfs::{MemFs, Options};

const CAPABILITY: &str = "security.capability";

/// `security.capability` of revision 2, effective.
const REVISION_2: [u8; 20] = [1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The same of revision 3, for a user namespace whose root is the user 1000.
const REVISION_3: [u8; 24] = [1, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe8, 3, 0, 0];

/// Creates a tree with a node of each kind that matters, all of which belong to root.
fn world() -> (Vfs, MemFs) {
    let fs = MemFs::new();
    fs.file("/private", 0o600).unwrap();
    fs.file("/public", 0o666).unwrap();
    fs.mkdir("/dir", 0o777).unwrap();
    fs.mkdir("/sticky", 0o1777).unwrap();
    fs.symlink("public", "/link").unwrap();
    fs.mknod("/fifo", NewKind::Fifo, 0o666).unwrap();
    let behind = fs.alias();
    (Vfs::builder().build(fs).unwrap(), behind)
}

fn user(vfs: &Vfs) -> Context {
    vfs.context(Credentials::user(1000, 1000, &[]))
}

fn root(vfs: &Vfs) -> Context {
    vfs.context(Credentials::root())
}

fn set(by: &Context, path: &str, name: &str, value: &[u8]) -> Result<(), Errno> {
    by.setxattr(path, name, value, XattrFlags::empty())
}

/// Returns the errors with which root and a user set an attribute, and with which both get it.
fn answers(path: &str, name: &str, value: &[u8]) -> [Option<Errno>; 4] {
    let (vfs, _) = world();
    let set = [root(&vfs), user(&vfs)].map(|by| set(&by, path, name, value).err());
    let get = [root(&vfs), user(&vfs)].map(|by| by.getxattr(path, name).err());
    [set[0], set[1], get[0], get[1]]
}

/// Checks the rows that Linux 6.18 gave for a tmpfs.
#[test]
fn rights_depend_on_namespace_and_node() {
    const EPERM: Option<Errno> = Some(Errno::EPERM);
    const EACCES: Option<Errno> = Some(Errno::EACCES);
    const ENODATA: Option<Errno> = Some(Errno::ENODATA);
    const EINVAL: Option<Errno> = Some(Errno::EINVAL);
    const EOPNOTSUPP: Option<Errno> = Some(Errno::EOPNOTSUPP);
    #[rustfmt::skip]
    let rows = [
        ("/public",  "user.a",          [None, None, None, None]),
        ("/private", "user.a",          [None, EACCES, None, EACCES]),
        ("/dir",     "user.a",          [None, None, None, None]),
        ("/sticky",  "user.a",          [None, EPERM, None, None]),
        ("/fifo",    "user.a",          [EPERM, EPERM, ENODATA, ENODATA]),
        ("/private", "trusted.t",       [None, EPERM, None, ENODATA]),
        ("/fifo",    "trusted.t",       [None, EPERM, None, ENODATA]),
        ("/private", "security.x",      [None, EPERM, None, None]),
        ("/fifo",    "security.x",      [None, EPERM, None, None]),
        ("/private", "user.",           [EINVAL, EACCES, EINVAL, EACCES]),
        ("/private", "trusted.",        [EINVAL, EPERM, EINVAL, ENODATA]),
        ("/private", "security.",       [EINVAL, EPERM, EINVAL, EINVAL]),
        ("/private", "system.",         [EOPNOTSUPP; 4]),
        ("/private", "system.x",        [EOPNOTSUPP; 4]),
        // This value has another version than a list.
        ("/private", "system.posix_acl_access",  [EOPNOTSUPP, EOPNOTSUPP, ENODATA, ENODATA]),
        ("/private", "nope",            [EOPNOTSUPP, EACCES, EOPNOTSUPP, EACCES]),
        ("/public",  "nope",            [EOPNOTSUPP; 4]),
        ("/private", CAPABILITY,        [None, EPERM, None, None]),
    ];
    for (path, name, expected) in rows {
        assert_eq!(answers(path, name, &REVISION_2), expected, "{name} of {path}");
    }
    // Neither checks the right to set an empty capability, nor does one that is none have a form.
    assert_eq!(answers("/private", CAPABILITY, b""), [None, None, EINVAL, EINVAL]);
    assert_eq!(answers("/private", CAPABILITY, b"x"), [EINVAL, EINVAL, ENODATA, ENODATA]);
}

/// Checks that what Linux checks before the path comes first here, too.
#[test]
fn arguments_come_before_the_path() {
    let (vfs, _) = world();
    let context = root(&vfs);
    let long = format!("user.{}", "n".repeat(250));
    let unknown = XattrFlags::from_bits_retain(4);
    set(&context, "/dir", &long, b"").unwrap();
    for path in ["/public", "/absent"] {
        assert_eq!(context.setxattr(path, "", vec![0; 65_537], unknown), Err(Errno::EINVAL));
        assert_eq!(set(&context, path, "", &[0; 65_537]), Err(Errno::ERANGE));
        assert_eq!(set(&context, path, &format!("{long}n"), b""), Err(Errno::ERANGE));
        assert_eq!(set(&context, path, "user.a", &[0; 65_537]), Err(Errno::E2BIG));
        assert_eq!(context.getxattr(path, ""), Err(Errno::ERANGE));
        assert_eq!(context.removexattr(path, ""), Err(Errno::ERANGE));
        assert_eq!(context.getxattr(path, "user.\0"), Err(Errno::EINVAL));
        assert_eq!(context.getxattrat(context.root(), path, "", AtFlags::EACCESS), Err(Errno::EINVAL));
        assert_eq!(context.listxattrat(context.root(), path, AtFlags::EACCESS), Err(Errno::EINVAL));
    }
    assert_eq!(set(&context, "/absent", "user.a", b""), Err(Errno::ENOENT));
    assert_eq!(context.listxattrat(At::Cwd, "", AtFlags::EMPTY_PATH), Err(Errno::EBADF), "it is no descriptor");
    assert_eq!(context.listxattrat(At::Cwd, "", AtFlags::empty()), Err(Errno::ENOENT));
    set(&context, "/public", "user.a", &[7; 65_536]).unwrap();
    assert_eq!(context.getxattr("/public", "user.a").unwrap().len(), 65_536);
}

#[test]
fn flags_choose_between_new_and_old() {
    let (vfs, _) = world();
    let context = root(&vfs);
    let set = |how, value: &str| context.setxattr("/public", "user.a", value, how);
    let both = XattrFlags::CREATE | XattrFlags::REPLACE;
    assert_eq!((set(XattrFlags::REPLACE, "1"), set(both, "1")), (Err(Errno::ENODATA), Err(Errno::ENODATA)));
    assert_eq!((set(XattrFlags::CREATE, ""), set(XattrFlags::CREATE, "2")), (Ok(()), Err(Errno::EEXIST)));
    assert_eq!(context.getxattr("/public", "user.a"), Ok(Vec::new()), "an empty value is one");
    assert_eq!((set(both, "3"), set(XattrFlags::REPLACE, "4")), (Err(Errno::EEXIST), Ok(())));
    assert_eq!(context.getxattr("/public", "user.a"), Ok(b"4".to_vec()));
    assert_eq!(context.removexattr("/public", "user.a"), Ok(()));
    assert_eq!(context.removexattr("/public", "user.a"), Err(Errno::ENODATA));
}

#[test]
fn a_list_hides_what_is_trusted() {
    let (vfs, _) = world();
    let context = root(&vfs);
    for name in ["user.a", "trusted.t", "security.x"] {
        set(&context, "/private", name, b"").unwrap();
    }
    let names = |by: &Context| by.listxattr("/private").unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>();
    assert_eq!(names(&context), [&b"user.a"[..], b"trusted.t", b"security.x"]);
    assert_eq!(names(&user(&vfs)), [&b"user.a"[..], b"security.x"], "without any right to the file");
    assert!(context.listxattr("/dir").unwrap().is_empty());
}

/// The answers are those of Linux 6.18 on a tmpfs.
#[test]
fn access_control_lists_are_attributes() {
    let (vfs, _) = world();
    let (root, user) = (root(&vfs), user(&vfs));
    let [access, default] = [AclKind::Access, AclKind::Default].map(AclKind::xattr_name);
    let entry = |tag, grants| AclEntry { tag, grants };
    let [owner, group, other] = [AclTag::Owner, AclTag::Group, AclTag::Other].map(|tag| entry(tag, Access::READ));
    let [named, mask] = [AclTag::User(1000), AclTag::Mask].map(|tag| entry(tag, Access::READ));
    let list = Acl::new(vec![owner, named, group, mask, other]);
    let value = list.to_xattr();

    for how in [XattrFlags::REPLACE, XattrFlags::CREATE] {
        assert_eq!(root.setxattr("/private", access, &value, how), Ok(()), "the flags do not count");
    }
    assert_eq!(root.setxattr("/private", access, &value, XattrFlags::from_bits_retain(4)), Err(Errno::EINVAL));
    assert_eq!(root.stat("/private").unwrap().mode, 0o444);
    assert_eq!(root.acl("/private", AclKind::Access), Ok(Some(list)));
    assert_eq!(user.getxattr("/private", access), Ok(value.clone()));
    for name in ["user.a", "trusted.t"] {
        set(&root, "/private", name, b"").unwrap();
        set(&root, "/dir", name, b"").unwrap();
    }
    assert_eq!(user.listxattr("/private").unwrap().as_bytes(), b"system.posix_acl_access\0user.a\0");
    set(&root, "/dir", default, &value).unwrap();
    set(&root, "/dir", access, &value).unwrap();
    assert!(root.listxattr("/dir").unwrap().iter().take(2).eq([access.as_bytes(), default.as_bytes()]));

    // The form comes before the node, and the owner before what makes a list valid.
    let invalid = Acl::new(vec![owner]).to_xattr();
    assert_eq!(set(&user, "/private", access, b"xx"), Err(Errno::EINVAL));
    assert_eq!(set(&user, "/private", access, &invalid), Err(Errno::EPERM));
    assert_eq!(set(&user, "/private", default, &invalid), Err(Errno::EACCES));
    assert_eq!(set(&root, "/private", access, &invalid), Err(Errno::EINVAL));
    assert_eq!(set(&root, "/private", access, &vec![0; 65_537]), Err(Errno::E2BIG));

    // An open file, and a link.
    let file = root.open("/private", OpenFlags::READ).unwrap();
    assert_eq!(file.getxattr(access), Ok(value.clone()));
    assert_eq!(file.by(&Credentials::user(1000, 1000, &[])).removexattr(access), Err(Errno::EPERM));
    file.setxattr(access, "", XattrFlags::REPLACE).unwrap();
    assert_eq!((file.getxattr(access), file.removexattr(access)), (Err(Errno::ENODATA), Ok(())));
    assert_eq!((root.removexattr("/private", default), set(&root, "/private", default, b"")), (Ok(()), Ok(())));
    let (dir, nofollow) = (root.root(), AtFlags::SYMLINK_NOFOLLOW);
    let link = |value: &[u8]| root.setxattrat(dir, "link", access, value, XattrFlags::empty(), nofollow);
    assert_eq!((link(b"xx"), link(&value)), (Err(Errno::EINVAL), Err(Errno::EOPNOTSUPP)));
    assert_eq!(root.getxattrat(dir, "link", access, nofollow), Err(Errno::EOPNOTSUPP));
    assert_eq!(root.removexattrat(dir, "link", access, nofollow), Err(Errno::EOPNOTSUPP));
    assert!(root.listxattrat(dir, "link", nofollow).unwrap().is_empty());

    // A list that says no more than the mode is not kept.
    set(&root, "/dir", access, &Acl::from_mode(0o750).to_xattr()).unwrap();
    assert_eq!(root.getxattr("/dir", access), Err(Errno::ENODATA));
}

#[test]
fn a_link_has_attributes_of_its_own() {
    let (vfs, _) = world();
    let context = root(&vfs);
    let (dir, nofollow) = (context.root(), AtFlags::SYMLINK_NOFOLLOW);
    set(&context, "/link", "user.a", b"of the file").unwrap();
    assert_eq!(context.getxattr("/public", "user.a"), Ok(b"of the file".to_vec()));
    assert_eq!(context.getxattrat(dir, "link", "user.a", nofollow), Err(Errno::ENODATA));
    assert_eq!(context.setxattrat(dir, "link", "user.a", "", XattrFlags::empty(), nofollow), Err(Errno::EPERM));
    context.setxattrat(dir, "link", "trusted.t", "", XattrFlags::empty(), nofollow).unwrap();
    assert_eq!(context.listxattrat(dir, "link", nofollow).unwrap().as_bytes(), b"trusted.t\0");
    assert_eq!(context.listxattr("/public").unwrap().as_bytes(), b"user.a\0");
}

#[test]
fn nothing_is_set_where_nothing_changes() {
    let (vfs, behind) = world();
    let context = root(&vfs);
    behind.set_flags("/public", pathwalk::StatxFlags::APPEND).unwrap();
    behind.set_flags("/private", pathwalk::StatxFlags::IMMUTABLE).unwrap();
    for path in ["/public", "/private"] {
        assert_eq!(set(&context, path, "security.x", b""), Err(Errno::EPERM));
        assert_eq!(context.removexattr(path, CAPABILITY), Err(Errno::EPERM));
        assert_eq!(set(&context, path, CAPABILITY, b"x"), Err(Errno::EINVAL), "its form comes first");
    }
    let read_only = Vfs::builder().mount_flags(MountFlags::READ_ONLY).build(behind.alias()).unwrap();
    let context = root(&read_only);
    for name in ["user.a", "system.posix_acl_access", "nope", CAPABILITY] {
        assert_eq!(set(&context, "/dir", name, b"x"), Err(Errno::EROFS), "{name}");
        assert_eq!(context.removexattr("/dir", name), Err(Errno::EROFS), "{name}");
    }
    assert_eq!(context.getxattr("/dir", "user.a"), Err(Errno::ENODATA));
}

#[test]
fn a_change_moves_the_time_of_change() {
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let read = clock.clone();
    let next = move || read.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let options = Options::default().clock(move || pathwalk::Timestamp { seconds: next(), nanoseconds: 0 });
    let context = root(&Vfs::builder().build(MemFs::with(options)).unwrap());
    context.write("/file", "").unwrap();
    let times = || {
        let of = context.stat("/file").unwrap();
        (of.ctime, of.mtime)
    };
    let before = times();
    set(&context, "/file", "user.a", b"1").unwrap();
    let between = times();
    context.removexattr("/file", "user.a").unwrap();
    assert!(before.0 < between.0 && between.0 < times().0);
    assert_eq!(before.1, times().1);
    let last = times();
    assert_eq!(context.removexattr("/file", "user.a"), Err(Errno::ENODATA));
    assert_eq!(times(), last);
}

#[test]
fn an_open_file_has_them_by_the_rights_of_its_user() {
    let (vfs, _) = world();
    let context = root(&vfs);
    let file = context.open("/private", OpenFlags::READ).unwrap();
    file.setxattr("user.a", "1", XattrFlags::CREATE).unwrap();
    let other = Credentials::user(1000, 1000, &[]);
    assert_eq!(file.by(&other).getxattr("user.a"), Err(Errno::EACCES), "the open gave the right to the data alone");
    assert_eq!(file.by(&other).removexattr("trusted.t"), Err(Errno::EPERM));
    assert_eq!(file.listxattr().unwrap().as_bytes(), b"user.a\0");
    file.removexattr("user.a").unwrap();
    let place = context.open("/private", OpenFlags::PATH).unwrap();
    assert_eq!(place.getxattr("user.a"), Err(Errno::EBADF));
    assert_eq!(place.setxattr("", "", XattrFlags::empty()), Err(Errno::ERANGE), "before the descriptor");
    assert_eq!(place.listxattr(), Err(Errno::EBADF));
    assert_eq!(context.listxattrat(&place, "", AtFlags::EMPTY_PATH).map(|list| list.is_empty()), Ok(true));
    let elsewhere = root(&world().0);
    assert_eq!(elsewhere.listxattrat(&file, "", AtFlags::EMPTY_PATH), Err(Errno::EBADF));
}

#[test]
fn a_full_file_system_counts_them_as_a_tmpfs_does() {
    let vfs = Vfs::builder().build(MemFs::with(Options::default().max_nodes(3))).unwrap();
    let context = root(&vfs);
    context.write("/file", "").unwrap();
    assert_eq!(set(&context, "/file", "user.a", &[0; 979]), Err(Errno::ENOSPC), "40 and the name beside it");
    set(&context, "/file", "user.a", &[0; 978]).unwrap();
    assert_eq!(context.statfs("/").unwrap().files_free, 0);
    assert_eq!(context.setxattr("/file", "user.a", "x", XattrFlags::CREATE), Err(Errno::ENOSPC), "before it is looked for");
    assert_eq!(context.mkdir("/dir", 0o755), Err(Errno::ENOSPC));
    context.removexattr("/file", "user.a").unwrap();
    set(&context, "/file", "user.a", &[0; 900]).unwrap();
    context.unlink("/file").unwrap();
    assert_eq!(context.statfs("/").unwrap().files_free, 2);
}

/// The operations that remove a file's capability on Linux, by root.
#[test]
fn changes_of_a_file_remove_its_capability() {
    type Change = (&'static str, fn(&Context));
    let changes: [Change; 10] = [
        ("write", |by| _ = by.open("/public", OpenFlags::WRITE).unwrap().write(b"x").unwrap()),
        ("write at", |by| _ = by.open("/public", OpenFlags::WRITE).unwrap().write_at(b"x", 1).unwrap()),
        ("pwritev2", |by| {
            let file = by.open("/public", OpenFlags::WRITE).unwrap();
            assert_eq!(file.pwritev2(&[IoSlice::new(b"x")], Some(0), RwFlags::APPEND), Ok(1));
        }),
        ("fallocate", |by| {
            by.open("/public", OpenFlags::WRITE).unwrap().fallocate(FallocateFlags::KEEP_SIZE, 0, 1).unwrap();
        }),
        ("copy_file_range", |by| {
            by.write("/source", "data").unwrap();
            let [from, to] =
                [("/source", OpenFlags::READ), ("/public", OpenFlags::WRITE)].map(|(path, how)| by.open(path, how).unwrap());
            assert_eq!(from.copy_file_range(None, &to, None, 4), Ok(4));
        }),
        ("truncate to the same size", |by| by.truncate("/public", 0).unwrap()),
        ("ftruncate", |by| by.open("/public", OpenFlags::WRITE).unwrap().set_len(0).unwrap()),
        ("O_TRUNC", |by| _ = by.open("/public", OpenFlags::WRITE | OpenFlags::TRUNCATE).unwrap()),
        ("chown to nothing", |by| by.chown("/public", None, None).unwrap()),
        ("chown", |by| by.chown("/public", Some(7), Some(8)).unwrap()),
    ];
    for (what, change) in changes {
        for cold in [false, true] {
            let (vfs, behind) = world();
            match cold {
                true => behind.set_xattr("/public", CAPABILITY, &REVISION_2).unwrap(),
                false => set(&root(&vfs), "/public", CAPABILITY, &REVISION_2).unwrap(),
            }
            change(&root(&vfs));
            assert_eq!(root(&vfs).getxattr("/public", CAPABILITY), Err(Errno::ENODATA), "{what}");
            // Once it is known that there is none, a new one is removed as well.
            change(&root(&vfs));
            set(&root(&vfs), "/public", CAPABILITY, &REVISION_2).unwrap();
            change(&root(&vfs));
            assert_eq!(behind.xattr("/public", CAPABILITY).unwrap(), None, "{what}");
        }
    }
}

#[test]
fn other_changes_leave_the_capability() {
    let (vfs, _) = world();
    let context = root(&vfs);
    for path in ["/public", "/dir"] {
        set(&context, path, CAPABILITY, &REVISION_2).unwrap();
    }
    context.chmod("/public", 0o755).unwrap();
    context.link("/public", "/other").unwrap();
    assert_eq!(user(&vfs).chown("/public", Some(1000), None), Err(Errno::EPERM));
    assert_eq!(context.open("/public", OpenFlags::WRITE).unwrap().write(b""), Ok(0));
    context.chown("/dir", Some(1000), None).unwrap();
    for path in ["/other", "/dir"] {
        assert_eq!(context.getxattr(path, CAPABILITY), Ok(REVISION_2.to_vec()));
    }
    // Any user may call `chown` without a change, which removes it as on Linux.
    user(&vfs).chown("/public", None, None).unwrap();
    assert_eq!(context.getxattr("/public", CAPABILITY), Err(Errno::ENODATA));
    // An empty one stays.
    set(&context, "/public", CAPABILITY, b"").unwrap();
    context.open("/public", OpenFlags::WRITE).unwrap().write(b"x").unwrap();
    assert_eq!(context.listxattr("/public").unwrap().as_bytes(), b"security.capability\0");
}

#[test]
fn a_capability_needs_a_capability() {
    let (vfs, _) = world();
    let with = |caps| vfs.context(Credentials::user(1000, 1000, &[]).with_capabilities(caps));
    let (setfcap, admin) = (with(Capabilities::SETFCAP), with(Capabilities::SYS_ADMIN));
    assert_eq!(set(&admin, "/private", CAPABILITY, &REVISION_3), Err(Errno::EPERM));
    set(&setfcap, "/private", CAPABILITY, &REVISION_3).unwrap();
    assert_eq!(setfcap.getxattr("/private", CAPABILITY), Ok(REVISION_3.to_vec()));
    assert_eq!(admin.removexattr("/private", CAPABILITY), Err(Errno::EPERM));
    setfcap.removexattr("/private", CAPABILITY).unwrap();
    assert_eq!(set(&setfcap, "/private", "security.x", b""), Err(Errno::EPERM));
    assert_eq!(set(&setfcap, "/private", "trusted.t", b""), Err(Errno::EPERM));
    set(&admin, "/private", "trusted.t", b"").unwrap();
}

/// Counts the calls of the file system that repeated writes make for the sake of a capability that
/// is not there.
#[test]
fn the_absence_of_a_capability_is_asked_for_once() {
    let (vfs, behind) = world();
    let context = root(&vfs);
    let file = context.open("/public", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    let asked = |act: &dyn Fn()| {
        let before = behind.calls();
        act();
        behind.calls().since(&before).get_xattr
    };
    assert_eq!(asked(&|| _ = file.write(b"first").unwrap()), 1);
    let again = || {
        for _ in 0..10 {
            file.write(b"x").unwrap();
            file.by(&Credentials::user(1000, 1000, &[])).write_at(b"y", 1).unwrap();
            file.set_len(3).unwrap();
            context.truncate("/public", 2).unwrap();
            context.chown("/public", Some(0), None).unwrap();
            context.chmod("/public", 0o600).unwrap();
            // Attributes are read again after each change, which says nothing about the note.
            context.stat("/public").unwrap();
        }
    };
    assert_eq!(asked(&again), 0);

    // Of a file that was just made it is known.
    let made = context.open("/new", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(asked(&|| _ = made.write(b"first").unwrap()), 0);

    // What is set through the engine or reported to it is asked for again.
    set(&context, "/public", "user.a", b"").unwrap();
    assert_eq!(asked(&|| _ = file.write(b"x").unwrap()), 0, "another attribute");
    set(&context, "/public", CAPABILITY, &REVISION_2).unwrap();
    assert_eq!((asked(&|| _ = file.write(b"x").unwrap()), asked(&|| _ = file.write(b"x").unwrap())), (1, 1));
    assert_eq!(asked(&again), 0);
    for report in [0, 1] {
        behind.set_xattr("/public", CAPABILITY, &REVISION_2).unwrap();
        match report {
            0 => _ = vfs.refresh(file.handle()).unwrap(),
            _ => {
                vfs.invalidate(context.root(), Name::new(b"public").unwrap()).unwrap();
                vfs.invalidate_subtree(context.root()).unwrap();
            }
        }
        file.write(b"x").unwrap();
        assert_eq!(behind.xattr("/public", CAPABILITY).unwrap(), None, "{report}");
    }
}

/// Checks a write that fails before it has an effect: the capability stays.
#[test]
fn a_write_that_is_out_of_range_removes_nothing() {
    let (vfs, _) = world();
    let context = root(&vfs);
    set(&context, "/public", CAPABILITY, &REVISION_2).unwrap();
    let file = context.open("/public", OpenFlags::WRITE).unwrap();
    assert_eq!(file.write_at(b"xy", i64::MAX as u64 - 1), Err(Errno::EINVAL));
    assert_eq!(context.getxattr("/public", CAPABILITY), Ok(REVISION_2.to_vec()));
}

/// Checks an id-mapped mount: rights are those of the owners that it shows, and the user of a file
/// capability is shown as owners are.
#[test]
fn through_an_id_mapped_mount() {
    let (vfs, behind) = world();
    behind.chown("/private", 100, 100).unwrap();
    let context = root(&vfs);
    context.mkdir("/mapped", 0o755).unwrap();
    let ids = [IdExtent { inside: 100, outside: 0, length: 1 }, IdExtent { inside: 107, outside: 1000, length: 1 }];
    let map = IdMap::new(&ids, &ids).unwrap();
    let tree = context.open_tree_at(At::Cwd, "/", AtFlags::empty(), Recursion::Alone).unwrap();
    let (empty, attributes) = (AtFlags::EMPTY_PATH, MountAttributes::default().with_id_map(map));
    context.mount_setattr_at(tree.handle(), "", empty, &attributes, Recursion::Alone).unwrap();
    context.move_mount_at(tree.handle(), "", At::Cwd, "/mapped", MoveFlags::FROM_EMPTY_PATH).unwrap();
    assert_eq!(set(&context, "/mapped/public", "user.a", b""), Err(Errno::EPERM), "its owner is unmapped");
    set(&context, "/mapped/private", CAPABILITY, &REVISION_2).unwrap();
    let stored = behind.xattr("/private", CAPABILITY).unwrap().unwrap();
    assert_eq!((stored.len(), &stored[20..]), (24, &[100, 0, 0, 0][..]));
    assert_eq!(context.getxattr("/mapped/private", CAPABILITY), Ok(REVISION_2.to_vec()));
    set(&context, "/mapped/private", CAPABILITY, &REVISION_3).unwrap();
    assert_eq!(behind.xattr("/private", CAPABILITY).unwrap().unwrap()[20..], [107, 0, 0, 0]);
    assert_eq!(context.getxattr("/mapped/private", CAPABILITY), Ok(REVISION_3.to_vec()));
    behind.set_xattr("/private", CAPABILITY, &REVISION_2).unwrap();
    assert_eq!(context.getxattr("/mapped/private", CAPABILITY), Err(Errno::EOVERFLOW), "its user is unmapped");
}
