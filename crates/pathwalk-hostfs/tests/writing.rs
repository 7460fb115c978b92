//! Tests of changes: what is done through a `Vfs` is done on the host, and nothing else is.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, FileType, LinkFlags, NewKind, OpenFlags, OpenOptions, RenameFlags,
};
use pathwalk::{SetTime, SpecialFiles, Timestamp, Vfs, XattrFlags};
use pathwalk_hostfs::{Coherence, HostFs, credentials};
use pathwalk_tests::skipped;

use common::{Who, as_user, assert_same, on_ext4, on_tmpfs};

/// Creates a directory with a `Vfs` that changes it, and returns the context of this process.
fn writable() -> (tempfile::TempDir, Context) {
    let dir = tempfile::tempdir().unwrap();
    let context = on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive));
    (dir, context)
}

fn on(fs: HostFs) -> Context {
    Vfs::builder().budget(16 << 20).build(fs).unwrap().context(credentials().unwrap())
}

/// Asserts that the engine has the attributes that the host has.
fn same(context: &Context, dir: &Path, path: &str) {
    assert_same(&dir.join(&path[1..]), &context.lstat(path).unwrap());
}

#[test]
fn a_frozen_tree_refuses_each_change() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let context = on(HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Frozen));
    let errnos = [
        context.mkdir("/new", 0o755),
        context.unlink("/file"),
        context.chmod("/file", 0o600),
        context.truncate("/file", 5),
        context.open("/file", OpenFlags::WRITE).map(drop),
        context.setxattr("/file", "user.a", "b", XattrFlags::empty()),
        context.set_acl("/file", AclKind::Access, Some(&Acl::from_mode(0o600))),
    ];
    assert!(errnos.iter().all(|errno| *errno == Err(Errno::EROFS)), "{errnos:?}");
    assert_eq!(context.rename("/file", "/other").unwrap_err().errno(), Errno::EROFS);
    assert_eq!(context.link("/file", "/other"), Err(Errno::EROFS));
}

#[test]
fn what_is_made_is_on_the_host() {
    let (dir, mut context) = writable();
    let at = |path: &str| dir.path().join(path);
    context.umask(0o022);
    context.mkdir("/d", 0o777).unwrap();
    context.write("/d/file", "data").unwrap();
    context.symlink("file", "/d/link").unwrap();
    context.link("/d/file", "/d/second").unwrap();
    context.mknod("/d/pipe", NewKind::Fifo, 0o640).unwrap();
    context.mknod("/d/socket", NewKind::Socket, 0o600).unwrap();
    for path in ["/d", "/d/file", "/d/link", "/d/second", "/d/pipe", "/d/socket"] {
        same(&context, dir.path(), path);
    }
    assert_eq!(fs::read(at("d/second")).unwrap(), b"data");
    assert_eq!(fs::read_link(at("d/link")).unwrap(), Path::new("file"));
    assert_eq!(fs::metadata(at("d")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(context.mkdir("/d", 0o777), Err(Errno::EEXIST));

    context.rename("/d/file", "/moved").unwrap();
    context.renameat(At::Cwd, "/moved", At::Cwd, "/d/link", RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fs::read(at("d/link")).unwrap(), b"data");
    context.renameat(At::Cwd, "/d", At::Cwd, "/e", RenameFlags::NOREPLACE).unwrap();
    assert_eq!(context.read("/e/second").unwrap(), b"data");
    for path in ["/e", "/e/link", "/e/second", "/moved"] {
        same(&context, dir.path(), path);
    }
    assert_eq!(context.rmdir("/e"), Err(Errno::ENOTEMPTY));
    ["/e/link", "/e/second", "/e/pipe", "/e/socket"].into_iter().for_each(|path| context.unlink(path).unwrap());
    context.rmdir("/e").unwrap();
    assert!(!at("e").exists());
}

#[test]
fn attributes_are_set_on_the_host() {
    let (dir, context) = writable();
    context.write("/file", "0123456789").unwrap();
    context.symlink("file", "/link").unwrap();
    context.chmod("/file", 0o4711).unwrap();
    context.truncate("/file", 4).unwrap();
    let time = Timestamp { seconds: 1_000_000, nanoseconds: 7 };
    context.utimensat(At::Cwd, "/file", SetTime::Keep, SetTime::To(time), AtFlags::empty()).unwrap();
    context.utimensat(At::Cwd, "/link", SetTime::To(time), SetTime::To(time), AtFlags::SYMLINK_NOFOLLOW).unwrap();
    same(&context, dir.path(), "/file");
    same(&context, dir.path(), "/link");
    assert_eq!(context.stat("/file").unwrap().mtime, time);
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"0123");
    // Nothing is set, and the time of change moves.
    let before = context.stat("/file").unwrap().ctime;
    context.chown("/file", None, None).unwrap();
    assert!(context.stat("/file").unwrap().ctime > before);
    same(&context, dir.path(), "/file");
}

#[test]
fn data_goes_to_the_host() {
    let (dir, context) = writable();
    let at = dir.path().join("file");
    let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(file.write_at(b"hello", 2), Ok(5));
    assert_eq!(fs::read(&at).unwrap(), b"\0\0hello");
    let end = OpenOptions::new().append(true).open(&context, "/file").unwrap();
    fs::write(&at, "abc").unwrap();
    assert_eq!((end.write(b"def"), end.stream_position()), (Ok(3), Ok(6)));
    file.set_len(5).unwrap();
    assert_eq!(fs::read(&at).unwrap(), b"abcde");
    let copy = context.open("/copy", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(file.copy_file_range(Some(1), &copy, Some(0), 3), Ok(3));
    assert_eq!(file.copy_file_range(Some(0), &file, Some(5), 2), Ok(2), "within a file");
    file.sync(pathwalk::SyncWhat::All).unwrap();
    assert_eq!(context.read("/copy").unwrap(), b"bcd");
    assert_eq!(context.read("/file").unwrap(), b"abcdeab");
    same(&context, dir.path(), "/file");
    // A write that is refused leaves the bits of the file.
    context.chmod("/copy", 0o6777).unwrap();
    let user = context.clone().with_credentials(Credentials::user(4, 5, &[]));
    let copy = user.open("/copy", OpenFlags::WRITE).unwrap();
    let refused = copy.write_at(b"x", 1 << 62);
    let mode = if refused.is_ok() { 0o777 } else { 0o6777 };
    assert_eq!((context.stat("/copy").unwrap().mode, refused.err().unwrap_or(Errno::EFBIG)), (mode, Errno::EFBIG));
    // A mode that permits nothing, and the file is open nevertheless.
    let closed = context.openat_mode("/closed", 0);
    assert_eq!(closed.write(b"x"), Ok(1));
}

trait OpenWithMode {
    fn openat_mode(&self, path: &str, mode: u16) -> pathwalk::File;
}

impl OpenWithMode for Context {
    fn openat_mode(&self, path: &str, mode: u16) -> pathwalk::File {
        OpenOptions::new().write(true).create_new(true).mode(mode).open(self, path).unwrap()
    }
}

#[test]
fn a_file_without_a_name_lives_while_it_is_open_whatever_the_bound_is() {
    for most in [1, 1000] {
        let dir = tempfile::tempdir().unwrap();
        let context =
            on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive).with_most_descriptors(most));
        let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
        let files: Vec<_> = (0..8).map(|i| context.open(format!("/{i}"), flags).unwrap()).collect();
        files.iter().enumerate().for_each(|(i, file)| assert_eq!(file.write_at(&[i as u8; 3], 0), Ok(3)));
        for i in 0..8 {
            context.unlink(format!("/{i}")).unwrap();
            // The host gives the number away at once, if it may.
            context.write(format!("/{i}"), "other").unwrap();
        }
        for (i, file) in files.iter().enumerate() {
            let mut buffer = [9; 8];
            assert_eq!((file.read_at(&mut buffer, 0), &buffer[..3]), (Ok(3), &[i as u8; 3][..]), "{most}");
            assert_eq!(file.handle().attributes().map(|found| (found.nlink, found.size)), Ok((0, 3)));
            file.set_len(1).unwrap();
            assert_eq!(file.handle().attributes().map(|found| found.size), Ok(1));
        }
        assert_eq!(context.read("/3").unwrap(), b"other");
    }
}

#[test]
fn a_removed_directory_answers_as_long_as_it_is_held() {
    let (_dir, context) = writable();
    context.create_dir("/d").unwrap();
    let handle = context.lookup("/d").unwrap();
    context.rmdir("/d").unwrap();
    assert_eq!(handle.attributes().map(|found| (found.kind, found.nlink)), Ok((FileType::Directory, 0)));
    context.fchmodat(At::Handle(&handle), "", 0o700, AtFlags::EMPTY_PATH).unwrap();
    assert_eq!(handle.attributes().map(|found| found.mode), Ok(0o700));
    assert_eq!(context.mkdirat(&handle, "x", 0o777), Err(Errno::ENOENT));
}

#[test]
fn a_name_that_goes_leaves_the_others() {
    let (_dir, context) = writable();
    context.write("/a", "data").unwrap();
    context.link("/a", "/b").unwrap();
    context.link("/b", "/c").unwrap();
    // Each name was found; the last one found goes first.
    for name in ["/c", "/b"] {
        context.unlink(name).unwrap();
        assert_eq!(context.read("/a").unwrap(), b"data");
    }
    context.link("/a", "/d").unwrap();
    context.rename("/d", "/e").unwrap();
    context.unlink("/a").unwrap();
    assert_eq!(context.stat("/e").map(|found| found.nlink), Ok(1));
    assert_eq!(context.read("/e").unwrap(), b"data");
    context.write("/f", "").unwrap();
    context.rename("/f", "/e").unwrap();
    assert_eq!(context.read("/e").unwrap(), b"");
}

#[test]
fn open_files_move_with_their_directories() {
    let dir = tempfile::tempdir().unwrap();
    let context = on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive).with_most_descriptors(1));
    context.create_dir_all("/a/b").unwrap();
    context.write("/a/b/one", "1").unwrap();
    context.write("/a/b/two", "2").unwrap();
    let files = ["/a/b/one", "/a/b/two"].map(|path| context.open(path, OpenFlags::READ).unwrap());
    context.rename("/a", "/c").unwrap();
    context.rename("/c/b", "/d").unwrap();
    context.rename("/d/two", "/three").unwrap();
    for (file, content) in files.iter().zip([b"1", b"2"]) {
        let mut buffer = [0];
        assert_eq!((file.read_at(&mut buffer, 0), &buffer), (Ok(1), content));
    }
}

#[test]
fn an_unnamed_file_may_get_a_name() {
    let (dir, context) = writable();
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TMPFILE;
    let file = match context.open("/", flags) {
        Err(Errno::EOPNOTSUPP) => return skipped("an_unnamed_file_may_get_a_name", "this file system makes no such files"),
        file => file.unwrap(),
    };
    file.write_at(b"text", 0).unwrap();
    assert_eq!(file.handle().attributes().map(|found| found.nlink), Ok(0));
    context.linkat(At::Handle(file.handle()), "", At::Cwd, "/named", LinkFlags::EMPTY_PATH).unwrap();
    assert_eq!(fs::read(dir.path().join("named")).unwrap(), b"text");
    drop(file);
    same(&context, dir.path(), "/named");
    drop(context.open("/", flags).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

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

#[test]
fn extended_attributes_and_flags_are_the_hosts() {
    let (dir, context) = writable();
    context.write("/file", "").unwrap();
    context.symlink("file", "/link").unwrap();
    let set = context.setxattr("/file", "user.colour", "red", XattrFlags::CREATE);
    if set == Err(Errno::EOPNOTSUPP) {
        return skipped("extended_attributes_and_flags_are_the_hosts", "this file system keeps none");
    }
    set.unwrap();
    assert_eq!(context.setxattr("/file", "user.colour", "blue", XattrFlags::CREATE), Err(Errno::EEXIST));
    let mut value = [0; 8];
    assert_eq!(rustix::fs::getxattr(dir.path().join("file"), "user.colour", &mut value[..]), Ok(3));
    let file = context.open("/file", OpenFlags::READ).unwrap();
    context.unlink("/file").unwrap();
    assert_eq!(file.getxattr("user.colour").as_deref(), Ok(&b"red"[..]), "without a name, too");
    file.removexattr("user.colour").unwrap();
    assert_eq!(file.getxattr("user.colour"), Err(Errno::ENODATA));
    if rustix::process::geteuid().is_root() {
        context.setxattrat(At::Cwd, "/link", "trusted.a", "b", XattrFlags::empty(), AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(rustix::fs::lgetxattr(dir.path().join("link"), "trusted.a", &mut value[..]), Ok(1));
    }
}

#[test]
fn pipes_are_the_engines_only_where_that_is_said() {
    let (dir, context) = writable();
    context.mknod("/pipe", NewKind::Fifo, 0o600).unwrap();
    let flags = OpenFlags::READ | OpenFlags::NONBLOCK;
    assert_eq!(context.open("/pipe", flags).unwrap_err(), Errno::ENXIO);
    let context = on(HostFs::open_writable(dir.path())
        .unwrap()
        .with_coherence(Coherence::Exclusive)
        .with_special_files(SpecialFiles::OfEngine));
    let reader = context.open("/pipe", flags).unwrap();
    let writer = context.open("/pipe", OpenFlags::WRITE).unwrap();
    assert_eq!(writer.write(b"through the engine"), Ok(18));
    assert_eq!(reader.read(&mut [0; 64]), Ok(18));
    let context = on(HostFs::open_writable(dir.path())
        .unwrap()
        .with_coherence(Coherence::Exclusive)
        .with_special_files(SpecialFiles::OfFileSystem));
    assert_eq!(context.open("/pipe", flags).unwrap_err(), Errno::ENXIO);
}

#[test]
fn changes_do_not_follow_links() {
    let (dir, root, outside) = common::root_and_outside();
    symlink(&outside, root.join("way")).unwrap();
    symlink(outside.join("secret"), root.join("file")).unwrap();
    let context = on(HostFs::open_writable(&root).unwrap().with_coherence(Coherence::Exclusive));
    assert_eq!(context.write("/way/new", "").unwrap_err().errno(), Errno::ENOENT);
    assert_eq!(context.write("/file", "").unwrap_err().errno(), Errno::ENOENT, "the absolute link leads to a path of the root");
    assert_eq!(context.chmod("/file", 0), Err(Errno::ENOENT));
    context.unlink("/file").unwrap();
    context.unlink("/way").unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    drop(dir);
}

#[test]
fn what_may_only_grow_grows_and_what_became_immutable_is_written_on() {
    let (dir, context) = writable();
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    let before = context.open("/file", flags).unwrap();
    if let Err(errno) = context.set_inode_flags("/file", pathwalk::InodeFlags::APPEND) {
        let why = format!("this file system keeps no flags, or this is not root ({errno})");
        return skipped("what_may_only_grow_grows_and_what_became_immutable_is_written_on", &why);
    }
    assert_eq!(before.write_at(b"12", 0), Ok(2));
    drop(before);
    assert_eq!(context.open("/file", OpenFlags::WRITE).unwrap_err(), Errno::EPERM);
    let file = OpenOptions::new().append(true).open(&context, "/file").unwrap();
    assert_eq!(file.write(b"3"), Ok(1));
    context.utimensat(At::Cwd, "/file", SetTime::Now, SetTime::Now, AtFlags::empty()).unwrap();
    context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
    // The descriptor that appends is not used for another open file.
    let other = context.open("/file", OpenFlags::WRITE).unwrap();
    assert_eq!(other.write_at(b"x", 0), Ok(1));
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"x23");

    context.chmod("/file", 0o2770).unwrap();
    let user = context.clone().with_credentials(Credentials::user(0, 5, &[]).with_capabilities(pathwalk::Capabilities::empty()));
    let held = user.open("/file", OpenFlags::WRITE).unwrap();
    context.set_inode_flags("/file", pathwalk::InodeFlags::IMMUTABLE).unwrap();
    // A tmpfs permits it to those that opened the file before, and ext4 does not.
    match held.set_len(1) {
        Err(errno) => assert_eq!(errno, Errno::EPERM),
        Ok(()) => {
            assert_eq!(held.write_at(b"yz", 0), Ok(2));
            assert_eq!(context.stat("/file").map(|found| (found.mode, found.size)), Ok((0o770, 2)));
        }
    }
    same(&context, dir.path(), "/file");
    assert_eq!(context.truncate("/file", 0), Err(Errno::EPERM));
    context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
}

/// A thread asks by the path that the table has while another one moves what is on it: each answer
/// is there, since both go through the `Vfs`.
#[test]
fn what_moves_through_the_vfs_is_found_meanwhile() {
    let (_dir, context) = writable();
    context.create_dir_all("/a/deep/er").unwrap();
    context.create_dir("/b").unwrap();
    context.write("/a/deep/er/file", "text").unwrap();
    let file = context.lookup("/a/deep/er/file").unwrap();
    let directory = context.lookup("/a/deep").unwrap();
    std::thread::scope(|scope| {
        let movers = [("/a/deep", "/b/deep"), ("/a/deep/er/file", "/b/file")].map(|(one, two)| {
            let context = &context;
            scope.spawn(move || {
                for _ in 0..1500 {
                    // One of them is not there, whenever the other thread has moved what is above.
                    let _ = context.rename(one, two).or_else(|_| context.rename(two, one));
                }
            })
        });
        while !movers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert_eq!(file.attributes().map(|found| (found.nlink, found.size)), Ok((1, 4)));
            assert_eq!(directory.attributes().map(|found| found.kind), Ok(FileType::Directory));
            context.vfs().invalidate_subtree(&context.lookup("/").unwrap()).unwrap();
            assert_eq!(context.fstatat(&directory, "er", AtFlags::empty()).map(|found| found.kind), Ok(FileType::Directory));
        }
    });
}

/// Checks a size that stays, for a caller whose change clears the bits: a tmpfs leaves all times.
#[test]
fn a_size_that_stays_leaves_the_times_and_takes_the_bits() {
    on_tmpfs("a_size_that_stays_leaves_the_times_and_takes_the_bits", "mode=755", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        context.write("/file", "").unwrap();
        context.chown("/file", Some(1000), Some(1000)).unwrap();
        context.chmod("/file", 0o4777).unwrap();
        let before = fs::metadata(dir.join("file")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        context.clone().with_credentials(Credentials::user(1000, 1000, &[])).truncate("/file", 0).unwrap();
        let after = fs::metadata(dir.join("file")).unwrap();
        assert_eq!(after.mode() & 0o7777, 0o777);
        assert_eq!((after.ctime(), after.ctime_nsec()), (before.ctime(), before.ctime_nsec()));
        same(&context, dir, "/file");
    });
}

/// Checks a write of nothing to a file that became immutable while it was open: ext4 refuses it, as
/// any other write.
#[test]
fn a_write_of_nothing_is_the_host_s() {
    on_ext4("a_write_of_nothing_is_the_host_s", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        assert_eq!((file.write(b""), file.write_at(b"", 7)), (Ok(0), Ok(0)));
        context.set_inode_flags("/file", pathwalk::InodeFlags::IMMUTABLE).unwrap();
        let refused = Err(Errno::EPERM);
        assert_eq!((file.write(b""), file.write_at(b"", 7), file.write(b"x")), (refused, refused, refused));
        context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
        assert_eq!(file.write(b""), Ok(0));
        assert_eq!(fs::metadata(dir.join("file")).unwrap().len(), 0);
    });
}

/// Checks a copy of nothing to a position behind the greatest size of a file of ext4.
#[test]
fn a_copy_of_nothing_has_the_host_s_limit() {
    on_ext4("a_copy_of_nothing_has_the_host_s_limit", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
        let [from, to] = ["/from", "/to"].map(|path| context.open(path, flags).unwrap());
        assert_eq!(from.copy_file_range(Some(100), &to, Some(1 << 40), 5), Ok(0));
        assert_eq!(from.copy_file_range(Some(100), &to, Some(1 << 62), 5), Err(Errno::EFBIG));
        assert_eq!(from.copy_file_range(Some(100), &to, Some(1 << 62), 0), Err(Errno::EFBIG));
    });
}

/// Changes the owner of a file that may only grow and is open for writing, and changes no id: the
/// kernel clears the suid and sgid bits, or refuses.
#[test]
fn a_change_of_no_owner_takes_the_bits_of_a_file_that_may_only_grow() {
    const TEST: &str = "a_change_of_no_owner_takes_the_bits_of_a_file_that_may_only_grow";
    let compare = |dir: &Path| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        // As the kernel does it, and as the engine does.
        let [first, second] = ["/kernel", "/engine"];
        for path in [first, second] {
            context.write(path, "").unwrap();
            context.chmod(path, 0o6777).unwrap();
        }
        let _writing = context.open(second, OpenFlags::WRITE).unwrap();
        for path in [first, second] {
            if let Err(errno) = context.set_inode_flags(path, pathwalk::InodeFlags::APPEND) {
                return skipped(TEST, &format!("this file system keeps no flags, or this is not root ({errno})"));
            }
        }
        let kernel = rustix::fs::chown(dir.join(&first[1..]), None, None).map_err(|errno| Errno::from_raw(errno.raw_os_error()));
        assert_eq!(context.chown(second, None, None), kernel);
        let mode = |path: &str| fs::metadata(dir.join(&path[1..])).unwrap().mode() & 0o7777;
        assert_eq!(mode(second), mode(first));
        same(&context, dir, second);
        for path in [first, second] {
            context.set_inode_flags(path, pathwalk::InodeFlags::empty()).unwrap();
        }
    };
    on_tmpfs(TEST, "mode=755", compare);
    on_ext4(TEST, compare);
}

/// Checks a size past ext4's largest: as on Linux, it is refused before the capability is removed.
#[test]
fn a_size_that_is_too_large_removes_no_capability() {
    const CAPABILITY: &str = "security.capability";
    on_ext4("a_size_that_is_too_large_removes_no_capability", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        let mut capability = [7; 20];
        capability[..4].copy_from_slice(&[1, 0, 0, 2]);
        context.setxattr("/file", CAPABILITY, capability, XattrFlags::empty()).unwrap();
        let before = context.stat("/file").unwrap();
        for size in [1 << 44, i64::MAX as u64] {
            assert_eq!(context.truncate("/file", size), Err(Errno::EFBIG));
            assert_eq!(file.set_len(size), Err(Errno::EFBIG));
        }
        assert_eq!(context.getxattr("/file", CAPABILITY), Ok(capability.to_vec()));
        assert_eq!(context.stat("/file").unwrap().ctime, before.ctime);
        file.set_len(1 << 40).unwrap();
        assert_eq!(context.getxattr("/file", CAPABILITY), Err(Errno::ENODATA));
    });
}

/// Checks a file with a capability that became immutable while it was open: as on Linux, what a
/// tmpfs still allows removes the capability. (ext4 allows nothing.)
#[test]
fn a_change_of_an_immutable_file_removes_its_capability() {
    const TEST: &str = "a_change_of_an_immutable_file_removes_its_capability";
    const CAPABILITY: &str = "security.capability";
    on_tmpfs(TEST, "mode=755", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let mut capability = [7; 20];
        capability[..4].copy_from_slice(&[1, 0, 0, 2]);
        for change in 0..3 {
            let path = format!("/file{change}");
            let file = context.open(&path, OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
            context.setxattr(&path, CAPABILITY, capability, XattrFlags::empty()).unwrap();
            if let Err(errno) = context.set_inode_flags(&path, pathwalk::InodeFlags::IMMUTABLE) {
                return skipped(TEST, &format!("this file system keeps no flags, or this is not root ({errno})"));
            }
            assert_eq!(context.removexattr(&path, CAPABILITY), Err(Errno::EPERM));
            match change {
                0 => context.chown(&path, None, None).unwrap(),
                1 => file.set_len(3).unwrap(),
                _ => assert_eq!(file.write(b"text"), Ok(4)),
            }
            assert_eq!(context.getxattr(&path, CAPABILITY), Err(Errno::ENODATA), "change {change}");
            same(&context, dir, &path);
            context.set_inode_flags(&path, pathwalk::InodeFlags::empty()).unwrap();
        }
    });
}

#[test]
fn an_append_at_the_largest_size_is_too_large() {
    on_tmpfs("an_append_at_the_largest_size_is_too_large", "mode=755", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let file = context.open("/file", OpenFlags::WRITE | OpenFlags::APPEND | OpenFlags::CREATE).unwrap();
        file.set_len(i64::MAX as u64 - 1).unwrap();
        assert_eq!(file.write(b"two"), Ok(1), "as much as there is room for");
        assert_eq!(file.write_at(b"two", 0), Err(Errno::EFBIG));
        assert_eq!(file.write(b"two"), Err(Errno::EINVAL), "Linux adds the length to the position first");
        file.set_len(0).unwrap();
        assert_eq!(file.write_at(b"two", 0), Ok(3));
    });
}
