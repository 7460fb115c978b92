//! Operations that open and change, one rule a test. `cargo xtask differential` compares every
//! answer with the kernel's.

use std::io::SeekFrom;

use pathwalk::{
    Access, At, AtFlags, Capabilities, Context, Credentials, Errno, File, FileType, LinkFlags, NewKind, OpenFlags, OpenHow,
    RenameFlags, Resolve, SetTime, StatxMask, Timestamp, Vfs,
};
use pathwalk_memfs::{MemFs, Options};

const CWD: At<'static> = At::Cwd;
const NONE: AtFlags = AtFlags::empty();
const RW: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE);

fn vfs() -> Vfs {
    let fs = MemFs::new();
    fs.mkdir("/tmp", 0o1777).unwrap();
    fs.mkdir("/shared", 0o2777).unwrap();
    fs.chown("/shared", 0, 50).unwrap();
    Vfs::builder().budget(1 << 20).protect_hardlinks().build(fs).unwrap()
}

fn root(vfs: &Vfs) -> Context {
    let mut context = vfs.context(Credentials::root());
    context.umask(0);
    context
}

fn user(vfs: &Vfs, uid: u32) -> Context {
    vfs.context(Credentials::user(uid, uid, &[]))
}

fn making(flags: OpenFlags, mode: u16) -> OpenHow {
    OpenHow { flags: flags | OpenFlags::CREATE, mode, ..OpenHow::default() }
}

fn names(dir: &File) -> Vec<String> {
    dir.getdents(usize::MAX).unwrap().into_iter().map(|entry| String::from_utf8(entry.name.into()).unwrap()).collect()
}

/// Checks that the names of a rename stay cached, so that no lookup asks the file system.
#[test]
fn both_names_of_a_rename_stay_cached() {
    let vfs = vfs();
    let context = root(&vfs);
    for name in ["/a", "/b"] {
        context.open(name, making(RW, 0o600)).unwrap();
    }
    let [a, b] = ["/a", "/b"].map(|name| context.stat(name).unwrap().ino);
    let ino = |name| context.stat(name).map(|found| found.ino);
    assert_eq!(ino("/c"), Err(Errno::ENOENT));
    let asked = vfs.stats().fs_lookups;
    context.renameat(CWD, "/a", CWD, "/b", RenameFlags::EXCHANGE).unwrap();
    assert_eq!([ino("/a"), ino("/b")], [Ok(b), Ok(a)]);
    context.renameat(CWD, "/a", CWD, "/c", RenameFlags::empty()).unwrap();
    assert_eq!([ino("/a"), ino("/c")], [Err(Errno::ENOENT), Ok(b)]);
    assert_eq!(vfs.stats().fs_lookups, asked);
}

#[test]
fn data_are_read_where_they_were_written() {
    let vfs = vfs();
    let context = root(&vfs);
    let file = context.open("/f", making(RW, 0o600)).unwrap();
    assert_eq!((file.write(b"hello world"), file.seek(SeekFrom::Start(6))), (Ok(11), Ok(6)));
    let mut text = [0; 16];
    assert_eq!((file.read(&mut text), &text[..5]), (Ok(5), &b"world"[..]));
    assert_eq!(file.read(&mut text), Ok(0));
    assert_eq!((file.write_at(b"!", 20), context.stat("/f").unwrap().size), (Ok(1), 21));
    assert_eq!((file.read_at(&mut text, 11), &text[..10]), (Ok(10), &b"\0\0\0\0\0\0\0\0\0!"[..]));
    assert_eq!((file.set_len(3), file.seek(SeekFrom::End(-1)), file.read(&mut text), text[0]), (Ok(()), Ok(2), Ok(1), b'l'));
    assert_eq!((file.seek(SeekFrom::Current(-9)), file.read_at(&mut text, u64::MAX)), (Err(Errno::EINVAL), Err(Errno::EINVAL)));

    let log = context.open("/f", OpenFlags::WRITE | OpenFlags::APPEND).unwrap();
    assert_eq!((log.write(b"abc"), log.write_at(b"d", 0), context.stat("/f").unwrap().size), (Ok(3), Ok(1), 7));
    assert_eq!(log.read(&mut text), Err(Errno::EBADF));
    let dir = context.open("/", OpenFlags::READ).unwrap();
    assert_eq!((dir.read(&mut text), dir.write(b"x")), (Err(Errno::EISDIR), Err(Errno::EBADF)));
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let vfs = vfs();
    let context = root(&vfs);
    let invalid = [
        OpenHow::from(OpenFlags::empty()),
        OpenHow { mode: 0o600, ..OpenFlags::READ.into() },
        making(OpenFlags::READ, 0o10000),
        making(OpenFlags::READ | OpenFlags::DIRECTORY, 0o600),
        (OpenFlags::PATH | OpenFlags::WRITE).into(),
        (OpenFlags::READ | OpenFlags::TMPFILE).into(),
        OpenFlags::from_bits_retain(1 << 30 | 1).into(),
    ];
    for how in invalid {
        assert_eq!(context.open("/tmp", how).err(), Some(Errno::EINVAL), "{how:?}");
    }
    let cached = OpenHow { resolve: Resolve::CACHED, ..making(OpenFlags::READ, 0) };
    assert_eq!(context.open("/f", cached).err(), Some(Errno::EAGAIN));
}

#[test]
fn what_is_cached_opens_at_once_and_nothing_else_does() {
    let vfs = vfs();
    let context = root(&vfs);
    drop(context.open("/tmp/f", making(RW, 0o644)).unwrap());
    pathwalk::internals::evict(&vfs, usize::MAX);
    let cached = OpenHow { resolve: Resolve::CACHED, ..OpenFlags::READ.into() };
    assert_eq!(context.open("/tmp/f", cached).err(), Some(Errno::EAGAIN));
    assert_eq!(context.access("/tmp/f", Access::READ), Ok(()));
    assert!(context.open("/tmp/f", cached).is_ok());
    assert_eq!(context.stat("/tmp/none"), Err(Errno::ENOENT));
    assert_eq!(context.open("/tmp/none", cached).err(), Some(Errno::ENOENT), "a cached absence is an answer");
}

#[test]
fn a_link_that_leads_nowhere_is_created_through() {
    let vfs = vfs();
    let context = root(&vfs);
    context.symlink("made", "/tmp/link").unwrap();
    let exclusive = making(OpenFlags::WRITE | OpenFlags::EXCLUSIVE, 0o600);
    assert_eq!(context.open("/tmp/link", exclusive).err(), Some(Errno::EEXIST));
    assert_eq!(context.mkdir("/tmp/link/", 0o700), Err(Errno::EEXIST));
    let file = context.open("/tmp/link", making(OpenFlags::WRITE, 0o600)).unwrap();
    assert_eq!(file.handle().path().unwrap(), b"/tmp/made");
    assert_eq!(context.open("/tmp/other/", making(OpenFlags::WRITE, 0o600)).err(), Some(Errno::EISDIR));
    assert_eq!(context.open("/tmp", making(OpenFlags::WRITE, 0o600)).err(), Some(Errno::EISDIR));
}

#[test]
fn a_file_lives_as_long_as_it_is_open() {
    let fs = MemFs::with(Options::default());
    let vfs = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap();
    let context = root(&vfs);
    let file = context.open("/f", making(RW, 0o600)).unwrap();
    file.write(b"data").unwrap();
    context.unlink("/f").unwrap();
    let mut text = [0; 4];
    assert_eq!((file.read_at(&mut text, 0), &text), (Ok(4), b"data"));
    assert_eq!((file.handle().attributes().unwrap().nlink, file.handle().path()), (0, Err(Errno::ENOENT)));
    let before = fs.usage().nodes;
    drop(file);
    assert_eq!(fs.usage().nodes, before - 1, "closing it frees it");
}

#[test]
fn a_file_without_a_name_may_get_one() {
    let vfs = vfs();
    let context = root(&vfs);
    let unnamed = |flags| OpenHow { flags: RW | OpenFlags::TMPFILE | flags, mode: 0o640, ..OpenHow::default() };
    let file = context.open("/tmp", unnamed(OpenFlags::empty())).unwrap();
    let give = |file: &File, name: &str| context.linkat(file.handle(), "", CWD, name, LinkFlags::EMPTY_PATH);
    assert_eq!((file.handle().attributes().unwrap().nlink, give(&file, "/tmp/now")), (0, Ok(())));
    assert_eq!(context.stat("/tmp/now").unwrap().nlink, 1);
    context.unlink("/tmp/now").unwrap();
    assert_eq!(give(&file, "/tmp/again"), Err(Errno::ENOENT));
    let never = context.open("/tmp", unnamed(OpenFlags::EXCLUSIVE)).unwrap();
    assert_eq!(give(&never, "/tmp/never"), Err(Errno::ENOENT));
    let stranger = user(&vfs, 7);
    assert_eq!(stranger.linkat(never.handle(), "", CWD, "/tmp/x", LinkFlags::EMPTY_PATH), Err(Errno::ENOENT));
}

#[test]
fn listings_go_on_while_names_come_and_go() {
    let vfs = vfs();
    let context = root(&vfs);
    for name in ["/tmp/c", "/tmp/b", "/tmp/a"] {
        context.mknod(name, NewKind::Regular, 0o600).unwrap();
    }
    let dir = context.open("/tmp", OpenFlags::READ).unwrap();
    let first = dir.getdents(3).unwrap();
    assert_eq!((&*first[0].name, &*first[1].name, first[2].kind), (&b"."[..], &b".."[..], FileType::Regular));
    context.unlink("/tmp/a").unwrap();
    context.mknod("/tmp/d", NewKind::Fifo, 0o600).unwrap();
    assert_eq!(names(&dir), ["b", "c"], "each once, and what is made meanwhile is not listed");
    dir.seek(SeekFrom::Start(first[2].cookie)).unwrap();
    assert_eq!(names(&dir), ["b", "c"]);
    dir.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(names(&dir), [".", "..", "d", "b", "c"]);
    context.mkdir("/gone", 0o700).unwrap();
    let gone = context.open("/gone", OpenFlags::READ).unwrap();
    context.rmdir("/gone").unwrap();
    assert_eq!(gone.getdents(usize::MAX), Err(Errno::ENOENT));
}

#[test]
fn directories_pass_on_their_group_and_umasks_take_bits() {
    let vfs = vfs();
    let mut context = user(&vfs, 7);
    assert_eq!(context.umask(0o027), 0o022);
    context.mkdir("/shared/dir", 0o777).unwrap();
    context.mknod("/shared/f", NewKind::Regular, 0o6777).unwrap();
    let (dir, file) = (context.stat("/shared/dir").unwrap(), context.stat("/shared/f").unwrap());
    assert_eq!((dir.mode, dir.uid, dir.gid), (0o2750, 7, 50));
    assert_eq!((file.mode, file.gid), (0o4750, 50), "no sgid for who is not in the group");
    assert_eq!(context.mknod("/tmp/dev", NewKind::CharDevice(pathwalk::Device { major: 1, minor: 3 }), 0o600), Err(Errno::EPERM));
}

#[test]
fn sticky_directories_keep_names() {
    let vfs = vfs();
    let (owner, other) = (user(&vfs, 7), user(&vfs, 8));
    owner.mknod("/tmp/f", NewKind::Regular, 0o666).unwrap();
    assert_eq!(other.unlink("/tmp/f"), Err(Errno::EPERM));
    assert_eq!(other.renameat(CWD, "/tmp/f", CWD, "/tmp/g", RenameFlags::empty()), Err(Errno::EPERM));
    let capable = vfs.context(Credentials::user(8, 8, &[]).with_capabilities(Capabilities::FOWNER));
    assert_eq!(capable.renameat(CWD, "/tmp/f", CWD, "/tmp/g", RenameFlags::empty()), Ok(()));
    assert_eq!(other.link("/tmp/g", "/tmp/h"), Err(Errno::EPERM), "it may not be written");
    owner.fchmodat(CWD, "/tmp/g", 0o666, NONE).unwrap();
    assert_eq!(other.link("/tmp/g", "/tmp/h"), Ok(()), "it may be read and written");
    owner.fchmodat(CWD, "/tmp/g", 0o4666, NONE).unwrap();
    assert_eq!(other.link("/tmp/g", "/tmp/i"), Err(Errno::EPERM), "suid");
    owner.fchmodat(CWD, "/tmp/g", 0o2676, NONE).unwrap();
    assert_eq!(other.link("/tmp/g", "/tmp/i"), Err(Errno::EPERM), "sgid that is executable");
    owner.fchmodat(CWD, "/tmp/g", 0o2666, NONE).unwrap();
    assert_eq!(other.link("/tmp/g", "/tmp/i"), Ok(()), "sgid that is not");
    assert_eq!(owner.unlink("/tmp/g"), Ok(()));
}

#[test]
fn privileges_are_taken_where_others_write() {
    let vfs = vfs();
    let (owner, other) = (user(&vfs, 7), user(&vfs, 8));
    owner.mknod("/tmp/f", NewKind::Regular, 0o777).unwrap();
    let mode = || owner.stat("/tmp/f").unwrap().mode;
    owner.fchmodat(CWD, "/tmp/f", 0o6777, NONE).unwrap();
    assert_eq!(mode(), 0o6777);
    let file = other.open("/tmp/f", OpenFlags::WRITE).unwrap();
    assert_eq!((file.write(b""), mode()), (Ok(0), 0o6777), "nothing was written");
    assert_eq!((file.write(b"x"), mode()), (Ok(1), 0o777));
    owner.fchmodat(CWD, "/tmp/f", 0o4777, NONE).unwrap();
    assert_eq!((other.truncate("/tmp/f", 0), mode()), (Ok(()), 0o777));
    owner.fchmodat(CWD, "/tmp/f", 0o4777, NONE).unwrap();
    assert_eq!((owner.fchownat(CWD, "/tmp/f", None, Some(7), NONE), mode()), (Ok(()), 0o777));
    assert_eq!(owner.fchownat(CWD, "/tmp/f", Some(8), None, NONE), Err(Errno::EPERM));
    assert_eq!(other.fchmodat(CWD, "/tmp/f", 0o600, NONE), Err(Errno::EPERM));
    assert_eq!(root(&vfs).fchownat(CWD, "/tmp/f", Some(8), None, NONE), Ok(()));
    assert_eq!(other.fchmodat(CWD, "/tmp/f", 0o600, NONE), Ok(()));
}

#[test]
fn times_are_set_by_owners_or_made_now_by_writers() {
    let vfs = vfs();
    let (owner, other) = (user(&vfs, 7), user(&vfs, 8));
    owner.mknod("/tmp/f", NewKind::Regular, 0o666).unwrap();
    owner.fchmodat(CWD, "/tmp/f", 0o666, NONE).unwrap();
    let then = SetTime::To(Timestamp { seconds: 1, nanoseconds: 2 });
    assert_eq!(owner.utimensat(CWD, "/tmp/f", then, SetTime::Keep, NONE), Ok(()));
    assert_eq!(owner.stat("/tmp/f").unwrap().atime, Timestamp { seconds: 1, nanoseconds: 2 });
    assert_eq!(other.utimensat(CWD, "/tmp/f", then, then, NONE), Err(Errno::EPERM));
    assert_eq!(other.utimensat(CWD, "/tmp/f", SetTime::Now, SetTime::Now, NONE), Ok(()));
    assert_eq!(other.utimensat(CWD, "/nowhere", SetTime::Keep, SetTime::Keep, NONE), Ok(()), "it is not even looked at");
    let never = SetTime::To(Timestamp { seconds: 1, nanoseconds: 1_000_000_000 });
    assert_eq!(owner.utimensat(CWD, "/tmp/f", never, SetTime::Keep, NONE), Err(Errno::EINVAL));
}

#[test]
fn statx_asks_for_no_more_than_is_wanted() {
    let fs = MemFs::new();
    let vfs = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap();
    let context = root(&vfs);
    let file = context.open("/f", making(RW, 0o604)).unwrap();
    file.write(b"x").unwrap();
    let asked = fs.calls().attributes;
    let few = context.statx_at(CWD, "/f", NONE, StatxMask::MODE | StatxMask::UID).unwrap();
    assert_eq!((few.attributes.mode, few.mask.contains(StatxMask::SIZE), fs.calls().attributes), (0o604, false, asked));
    let all = context.statx_at(CWD, "/f", NONE, StatxMask::BASIC_STATS).unwrap();
    assert_eq!((all.attributes.size, all.mask.contains(StatxMask::BASIC_STATS)), (1, true));
    assert!(fs.calls().attributes > asked);
    assert_eq!(context.statx_at(CWD, "/f", NONE, StatxMask::from_bits_retain(1 << 31)), Err(Errno::EINVAL));
}

#[test]
fn room_is_found_where_removed_nodes_are_idle() {
    let vfs = Vfs::builder().budget(1 << 20).build(MemFs::with(Options::default().max_nodes(3))).unwrap();
    let context = root(&vfs);
    for _ in 0..20 {
        context.mknod("/f", NewKind::Regular, 0o600).unwrap();
        let held = context.lookup("/f").unwrap();
        context.unlink("/f").unwrap();
        drop(held);
    }
}

#[test]
fn room_is_found_where_a_removed_directory_was_held_by_what_was_removed_in_it() {
    let vfs = Vfs::builder().budget(1 << 20).build(MemFs::with(Options::default().max_nodes(4))).unwrap();
    let context = root(&vfs);
    for _ in 0..20 {
        context.mkdir("/d", 0o700).unwrap();
        context.mknod("/d/f", NewKind::Regular, 0o600).unwrap();
        context.link("/d/f", "/g").unwrap();
        let held = context.lookup("/d/f").unwrap();
        context.unlink("/d/f").unwrap();
        context.mknod("/x", NewKind::Regular, 0o600).unwrap();
        context.rmdir("/d").unwrap();
        drop(held);
        // The node that the handle held still has a name. The directory above it makes room.
        context.mknod("/y", NewKind::Regular, 0o600).unwrap();
        for path in ["/g", "/x", "/y"] {
            context.unlink(path).unwrap();
        }
    }
}

#[test]
fn a_file_without_a_name_that_found_no_room_holds_no_directory() {
    let vfs = Vfs::builder().budget(1 << 20).build(MemFs::with(Options::default().max_nodes(2))).unwrap();
    let context = root(&vfs);
    for _ in 0..20 {
        context.mkdir("/d", 0o700).unwrap();
        let no_room = context.open("/d", OpenHow { flags: RW | OpenFlags::TMPFILE, mode: 0o600, ..OpenHow::default() });
        assert_eq!(no_room.err(), Some(Errno::ENOSPC));
        context.rmdir("/d").unwrap();
        context.mknod("/f", NewKind::Regular, 0o600).unwrap();
        context.unlink("/f").unwrap();
    }
}

#[test]
fn mknod_makes_neither_directories_nor_links() {
    let context = root(&vfs());
    assert_eq!(context.mknod("/new", NewKind::Directory, 0o755), Err(Errno::EPERM));
    assert_eq!(context.mknod("/new", NewKind::Symlink(b"tmp"), 0o777), Err(Errno::EINVAL));
    assert_eq!(context.stat("/new").map(drop), Err(Errno::ENOENT));
}
