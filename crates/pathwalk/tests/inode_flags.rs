//! The flags of nodes that users set. The rows were taken from Linux 6.18, on a tmpfs, by
//! `FS_IOC_SETFLAGS`, `file_getattr(2)` and `file_setattr(2)`.

use pathwalk::{
    At, AtFlags, Capabilities, Context, Credentials, Errno, FileType, InodeFlags, MountFlags, NewKind, OpenFlags, StatxFlags, Vfs,
};
use pathwalk_memfs::MemFs;

const NONE: InodeFlags = InodeFlags::empty();
const FIXED: InodeFlags = InodeFlags::IMMUTABLE;
const APPEND: InodeFlags = InodeFlags::APPEND;
const NODUMP: InodeFlags = InodeFlags::NODUMP;
const NOATIME: InodeFlags = InodeFlags::NOATIME;

fn root() -> Context {
    Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root())
}

#[test]
fn who_may_change_which_flags() {
    let refused = Err(Errno::EPERM);
    let unknown = Err(Errno::EOPNOTSUPP);
    let to = [NONE, FIXED, APPEND, NODUMP, NOATIME, FIXED | NODUMP, InodeFlags::from_bits_retain(1)];
    // For each set of flags before, the results of setting `to`.
    let unable = [
        (NONE, [Ok(()), refused, refused, Ok(()), Ok(()), refused, unknown]),
        (FIXED, [refused, Ok(()), refused, refused, refused, Ok(()), refused]),
        (APPEND, [refused, refused, Ok(()), refused, refused, refused, refused]),
        (NODUMP, [Ok(()), refused, refused, Ok(()), Ok(()), refused, unknown]),
        (FIXED | NODUMP, [refused, Ok(()), refused, refused, refused, Ok(()), refused]),
    ];
    let able = unable.map(|(before, _)| (before, [Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), unknown]));
    let stranger = unable.map(|(before, _)| (before, [refused; 7]));
    let immutable = Capabilities::LINUX_IMMUTABLE;
    let of = |uid, caps| Credentials::user(uid, uid, &[]).with_capabilities(caps);
    let rows = [
        (of(0, Capabilities::empty()), stranger),
        (of(0, immutable), stranger),
        (of(0, Capabilities::all() - Capabilities::FOWNER), stranger),
        (of(0, Capabilities::FOWNER), unable),
        (of(0, Capabilities::all() - immutable), unable),
        (of(1000, Capabilities::empty()), unable),
        (of(0, Capabilities::FOWNER | immutable), able),
        (of(1000, immutable), able),
    ];
    let context = root();
    context.write("/file", "").unwrap();
    context.chown("/file", Some(1000), Some(1000)).unwrap();
    let file = context.open("/file", OpenFlags::READ).unwrap();
    for (who, rows) in rows {
        let user = context.vfs().context(who.clone());
        for (before, results) in rows {
            for (to, result) in to.into_iter().zip(results) {
                context.set_inode_flags("/file", before).unwrap();
                assert_eq!(user.set_inode_flags("/file", to), result, "{who:?}: {before:?} to {to:?}");
                let after = if result.is_ok() { to } else { before };
                assert_eq!(user.inode_flags("/file"), Ok(after));
                context.set_inode_flags("/file", before).unwrap();
                assert_eq!(file.by(&who).set_inode_flags(to), result, "{who:?}: {before:?} to {to:?}");
                assert_eq!(file.by(&who).inode_flags(), Ok(after));
            }
        }
    }
}

#[test]
fn nodes_without_flags_and_odd_paths() {
    let context = root();
    context.write("/file", "").unwrap();
    context.symlink("file", "/link").unwrap();
    context.mknod("/pipe", NewKind::Fifo, 0o644).unwrap();
    context.set_inode_flags("/link", NODUMP).unwrap();
    assert_eq!(context.inode_flags("/file"), Ok(NODUMP));

    let user = context.vfs().context(Credentials::user(1000, 1000, &[]));
    let (at, nofollow) = (At::Cwd, AtFlags::SYMLINK_NOFOLLOW);
    for who in [&context, &user] {
        for path in ["/link", "/pipe"] {
            assert_eq!(who.inode_flags_at(at, path, nofollow), Err(Errno::EOPNOTSUPP));
            assert_eq!(who.set_inode_flags_at(at, path, NONE, nofollow), Err(Errno::EOPNOTSUPP), "before the owner");
        }
        assert_eq!(who.inode_flags("/absent"), Err(Errno::ENOENT));
        assert_eq!(who.inode_flags_at(at, "/absent", AtFlags::EACCESS), Err(Errno::EINVAL));
        assert_eq!(who.inode_flags(""), Err(Errno::ENOENT));
        assert_eq!(who.inode_flags_at(at, "", AtFlags::EMPTY_PATH), Ok(NONE));
    }
    context.chmod("/file", 0).unwrap();
    assert_eq!(user.inode_flags("/file"), Ok(NODUMP), "no right to the node is required");

    let pipe = context.open("/pipe", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    assert_eq!(pipe.inode_flags(), Err(Errno::ENOTTY));
    assert_eq!(pipe.set_inode_flags(NONE), Err(Errno::ENOTTY));
    let place = context.open("/file", OpenFlags::PATH).unwrap();
    assert_eq!(place.inode_flags(), Err(Errno::EBADF));
    assert_eq!(place.set_inode_flags(NONE), Err(Errno::EBADF));
}

#[test]
fn read_only_mounts() {
    let fs = MemFs::new();
    let behind = fs.alias();
    behind.file("/file", 0o644).unwrap();
    behind.symlink("file", "/link").unwrap();
    let vfs = Vfs::builder().mount_flags(MountFlags::READ_ONLY).build(fs).unwrap();
    let context = vfs.context(Credentials::root());
    assert_eq!(context.inode_flags("/file"), Ok(NONE));
    assert_eq!(context.set_inode_flags("/file", InodeFlags::COMPRESSED), Err(Errno::EROFS));
    let nofollow = AtFlags::SYMLINK_NOFOLLOW;
    assert_eq!(context.set_inode_flags_at(At::Cwd, "/link", NODUMP, nofollow), Err(Errno::EROFS), "before the kind");
    let file = context.open("/file", OpenFlags::READ).unwrap();
    assert_eq!(file.set_inode_flags(NODUMP), Err(Errno::EROFS));
}

#[test]
fn effects() {
    let context = root();
    context.mkdir("/dir", 0o755).unwrap();
    context.write("/dir/file", "data").unwrap();
    let before = context.stat("/dir/file").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    context.set_inode_flags("/dir/file", FIXED).unwrap();
    let after = context.stat("/dir/file").unwrap();
    assert!(after.ctime > before.ctime && after.mtime == before.mtime);
    assert!(after.flags.contains(StatxFlags::IMMUTABLE));
    assert_eq!(context.open("/dir/file", OpenFlags::WRITE).map(drop), Err(Errno::EPERM));
    std::thread::sleep(std::time::Duration::from_millis(20));
    context.set_inode_flags("/dir/file", FIXED).unwrap();
    assert!(context.stat("/dir/file").unwrap().ctime > after.ctime, "also if no flag changes");
    context.set_inode_flags("/dir/file", NONE).unwrap();
    context.open("/dir/file", OpenFlags::WRITE).unwrap();

    // New nodes inherit two of them.
    context.set_inode_flags("/dir", NODUMP | NOATIME).unwrap();
    context.write("/dir/new", "").unwrap();
    context.mkdir("/dir/below", 0o755).unwrap();
    for path in ["/dir/new", "/dir/below"] {
        assert_eq!(context.inode_flags(path), Ok(NODUMP | NOATIME));
    }
    context.set_inode_flags("/dir", APPEND).unwrap();
    context.write("/dir/newer", "").unwrap();
    assert_eq!(context.inode_flags("/dir/newer"), Ok(NONE));
    assert_eq!(context.unlink("/dir/newer"), Err(Errno::EPERM));
    assert_eq!(context.stat("/dir").unwrap().kind, FileType::Directory);
}

/// Checks what the flags of a node forbid to its data and its name, and those of a directory to the
/// names in it.
#[test]
fn data_and_names() {
    let context = root();
    context.mkdir("/dir", 0o755).unwrap();
    ["/file", "/dir/file"].into_iter().for_each(|path| context.write(path, "data").unwrap());
    let open = |flags| context.open("/file", flags).map(drop);
    context.set_inode_flags("/file", APPEND).unwrap();
    let to_append = OpenFlags::WRITE | OpenFlags::APPEND;
    assert_eq!(open(to_append), Ok(()));
    for flags in [OpenFlags::WRITE, to_append | OpenFlags::TRUNCATE, OpenFlags::READ | OpenFlags::TRUNCATE] {
        assert_eq!(open(flags), Err(Errno::EPERM), "{flags:?}");
    }
    for flags in [APPEND, FIXED] {
        context.set_inode_flags("/file", flags).unwrap();
        assert_eq!(context.unlink("/file"), Err(Errno::EPERM));
    }
    context.set_inode_flags("/dir", APPEND).unwrap();
    assert_eq!((context.unlink("/dir/file"), context.write("/dir/new", "").is_ok()), (Err(Errno::EPERM), true));
}
