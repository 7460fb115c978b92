//! Values out of range. The records cannot hold them: they are refused or replaced by the nearest
//! end of the range. An operation that fails has changed nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pathwalk::limits::RW_MAX;
use pathwalk::permission::NO_ID;
use pathwalk::{
    At, AtFlags, Attributes, Capabilities, Context, Credentials, Device, Directory, Errno, FileSystem, FileType, Name, NewKind,
    Node, NodeKey, OpenFile, OpenFlags, OpenFor, SetTime, Timestamp, Vfs, WriteAt, Written,
};
use pathwalk_memfs::{MemFs, Options};

const CWD: At<'static> = At::Cwd;
const NONE: AtFlags = AtFlags::empty();

fn context(fs: MemFs, credentials: Credentials) -> Context {
    Vfs::builder().budget(1 << 20).build(fs).unwrap().context(credentials)
}

fn time(seconds: i64, nanoseconds: u32) -> Timestamp {
    Timestamp { seconds, nanoseconds }
}

const FIRST: i64 = -(1 << 49);
const LAST: i64 = (1 << 49) - 1;

/// Times, and the times that are kept for them.
const TIMES: [(i64, i64); 9] = [
    (0, 0),
    (1 << 40, 1 << 40),
    (LAST - 1, LAST - 1),
    (LAST, LAST),
    (LAST + 1, LAST),
    (i64::MAX, LAST),
    (FIRST + 1, FIRST + 1),
    (FIRST - 1, FIRST),
    (i64::MIN, FIRST),
];

/// Returns the kept time. The ends themselves have no nanoseconds.
fn kept(seconds: i64, nanoseconds: u32) -> Timestamp {
    time(seconds, if matches!(seconds, FIRST | LAST) { 0 } else { nanoseconds })
}

#[test]
fn times_that_are_set_stay_within_what_is_kept() {
    let root = context(MemFs::new(), Credentials::root());
    root.mknod("/f", NewKind::Regular, 0o600).unwrap();
    for (set, found) in TIMES {
        root.utimensat(CWD, "/f", SetTime::To(time(set, 7)), SetTime::To(time(set, 8)), NONE).unwrap();
        let attributes = root.stat("/f").unwrap();
        assert_eq!((attributes.atime, attributes.mtime), (kept(found, 7), kept(found, 8)), "{set}");
    }
    assert_eq!((Timestamp::MIN, Timestamp::MAX), (time(FIRST, 0), time(LAST, 0)));
}

/// A directory of files whose names are their times, and a file that records the requested length.
struct Odd(Arc<AtomicUsize>);

struct OddFile(Arc<AtomicUsize>);

impl FileSystem for Odd {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), Attributes::new(FileType::Directory, 0o777)))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let seconds: i64 = String::from_utf8_lossy(name.bytes()).parse().unwrap_or(0);
        let key = NodeKey(u128::from(seconds as u64) << 8);
        Ok(Some(Node::new(key, self.attributes(key)?)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let time = time((node.0 >> 8) as i64, 9);
        let mut all = Attributes::new(FileType::Regular, 0o666);
        (all.atime, all.mtime, all.ctime, all.btime) = (time, time, time, Some(time));
        Ok(all)
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(OddFile(self.0.clone())))
    }
}

impl OpenFile for OddFile {
    fn read_at(&self, buffer: &mut [u8], _: u64) -> Result<usize, Errno> {
        self.0.store(buffer.len(), Relaxed);
        Ok(buffer.len())
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], _: WriteAt) -> Result<Written, Errno> {
        self.0.store(data.len(), Relaxed);
        Ok(Written { bytes: data.len(), end: data.len() as u64 })
    }
}

fn odd() -> (Arc<AtomicUsize>, Vfs) {
    let asked = Arc::new(AtomicUsize::new(0));
    let vfs = Vfs::builder().budget(1 << 20).build(Odd(asked.clone())).unwrap();
    (asked, vfs)
}

#[test]
fn times_that_a_file_system_tells_stay_within_what_is_kept() {
    let (_, vfs) = odd();
    let root = vfs.context(Credentials::root());
    for (told, found) in TIMES {
        let path = format!("/{told}");
        for how in ["looked up", "cached", "refreshed"] {
            if how == "refreshed" {
                vfs.refresh(&root.lookup(&path).unwrap()).unwrap();
            }
            let Attributes { atime, mtime, ctime, btime, .. } = root.stat(&path).unwrap();
            assert_eq!([Some(atime), Some(mtime), Some(ctime), btime], [Some(kept(found, 9)); 4], "{told}, {how}");
        }
    }
}

/// Moves a buffer that is never touched, so it costs no memory.
#[test]
fn one_call_moves_no_more_than_linux_lets_it() {
    if usize::BITS < 64 {
        return;
    }
    let (asked, vfs) = odd();
    let file = vfs.context(Credentials::root()).open("/0", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    let mut buffer = vec![0; (1 << 31) + 10];
    let took = |answer: Result<usize, Errno>| (answer, asked.swap(0, Relaxed));
    const MOST: usize = 0x7fff_f000;
    assert_eq!(RW_MAX, MOST);
    assert_eq!(took(file.read(&mut buffer)), (Ok(MOST), MOST));
    assert_eq!(took(file.read_at(&mut buffer, 5)), (Ok(MOST), MOST));
    assert_eq!(took(file.try_read_at(&mut buffer, 5)), (Ok(MOST), MOST));
    assert_eq!(took(file.write(&buffer)), (Ok(MOST), MOST));
    assert_eq!(took(file.write_at(&buffer, 5)), (Ok(MOST), MOST));
    assert_eq!(took(file.write_at(&buffer[..MOST], 5)), (Ok(MOST), MOST));
    assert_eq!(took(file.write_at(&buffer[..MOST - 1], 5)), (Ok(MOST - 1), MOST - 1));
    // The range is that of the whole buffer.
    let last = i64::MAX as u64 - MOST as u64;
    assert_eq!(took(file.read_at(&mut buffer, last)), (Err(Errno::EINVAL), 0));
    assert_eq!(took(file.write_at(&buffer, last)), (Err(Errno::EINVAL), 0));
}

#[test]
fn what_is_no_id_and_no_device_is_refused() {
    let fs = MemFs::new();
    let root = context(fs.alias(), Credentials::root());
    root.mknod("/f", NewKind::Regular, 0o600).unwrap();
    root.fchownat(CWD, "/f", Some(3), Some(4), NONE).unwrap();
    for (uid, gid) in [(Some(NO_ID), None), (None, Some(NO_ID)), (Some(1), Some(NO_ID)), (Some(NO_ID), Some(1))] {
        assert_eq!(root.fchownat(CWD, "/f", uid, gid, NONE), Err(Errno::EINVAL), "{uid:?}:{gid:?}");
    }
    let found = root.stat("/f").unwrap();
    assert_eq!((found.uid, found.gid), (3, 4));
    assert_eq!(root.fchownat(CWD, "/f", Some(NO_ID - 1), Some(NO_ID - 1), NONE), Ok(()));
    assert_eq!(root.fchownat(CWD, "/nowhere", Some(NO_ID), None, NONE), Err(Errno::ENOENT));
    assert_eq!(fs.chown("/f", NO_ID, 0).unwrap_err().errno(), Errno::EINVAL);

    let device = |major, minor| Device { major, minor };
    for kind in [NewKind::CharDevice, NewKind::BlockDevice] {
        for beyond in [device(4096, 0), device(0, 0x10_0000), device(u32::MAX, u32::MAX)] {
            assert_eq!(root.mknod("/d", kind(beyond), 0o600), Err(Errno::EINVAL), "{beyond:?}");
            assert_eq!(fs.mknod("/d", kind(beyond), 0o600).unwrap_err().errno(), Errno::EINVAL);
        }
        assert_eq!(root.mknod("/d", kind(device(4095, 0xf_ffff)), 0o600), Ok(()));
        assert_eq!(root.stat("/d").unwrap().device_node, device(4095, 0xf_ffff));
        root.unlink("/d").unwrap();
    }
}

#[test]
fn nothing_is_made_that_would_have_no_owner() {
    let fs = MemFs::new();
    fs.mkdir("/tmp", 0o777).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).build(fs).unwrap();
    vfs.context(Credentials::root()).mknod("/tmp/there", NewKind::Regular, 0o666).unwrap();
    for credentials in [Credentials::user(NO_ID, 5, &[]), Credentials::user(5, NO_ID, &[])] {
        let lost = vfs.context(credentials.with_capabilities(Capabilities::all()));
        assert_eq!(lost.mknod("/tmp/f", NewKind::Regular, 0o600), Err(Errno::EOVERFLOW));
        assert_eq!(lost.mkdir("/tmp/d", 0o700), Err(Errno::EOVERFLOW));
        assert_eq!(lost.mkdir("/tmp/there", 0o700), Err(Errno::EEXIST));
        assert_eq!(lost.stat("/tmp/there").map(|found| found.uid), Ok(0));
    }
}

/// Checks that a file of the greatest length is unchanged. A file that finds no room has been
/// touched, as on Linux.
#[test]
fn a_write_that_is_too_far_leaves_the_file_as_it_was() {
    let fs = MemFs::with(Options::default().max_bytes(4096));
    fs.chmod("/", 0o777).unwrap();
    let owner = context(fs.alias(), Credentials::user(7, 7, &[]));
    for (name, size) in [("long", i64::MAX as u64), ("full", 0)] {
        let path = format!("/{name}");
        owner.mknod(&path, NewKind::Regular, 0o777).unwrap();
        owner.truncate(&path, size).unwrap();
        owner.fchmodat(CWD, &path, 0o6777, NONE).unwrap();
    }
    fs.file("/filler", 0o600).unwrap();
    fs.write("/filler", 0, &[1; 4096]).unwrap();
    let then = SetTime::To(time(1, 2));
    for (path, wanted) in [("/long", Errno::EFBIG), ("/full", Errno::ENOSPC)] {
        owner.utimensat(CWD, path, then, then, NONE).unwrap();
        let before = owner.stat(path).unwrap();
        let file = owner.open(path, OpenFlags::WRITE | OpenFlags::APPEND).unwrap();
        assert_eq!((file.write(b"x"), file.write_at(b"xyz", 0)), (Err(wanted), Err(wanted)), "{path}");
        assert_eq!(file.set_len(u64::MAX), Err(Errno::EINVAL));
        assert_eq!(owner.truncate(path, 1 << 63), Err(Errno::EINVAL));
        let after = owner.stat(path).unwrap();
        assert_eq!(after, fs.stat(path).unwrap(), "{path}");
        match wanted {
            Errno::EFBIG => assert_eq!(after, before),
            _ => assert_eq!((after.mode, after.size, after.mtime > before.mtime), (0o777, 0, true)),
        }
    }
    fs.unlink("/filler").unwrap();
    let file = owner.open("/full", OpenFlags::WRITE).unwrap();
    assert_eq!(file.write(b"x"), Ok(1));
}
