//! What is converted from and to types of the standard library.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pathwalk::{AclState, Attributes, Context, Credentials, Device, FileType, SetTime, Timestamp, Vfs};
use pathwalk_memfs::MemFs;

const RANDOM_TIMES: usize = 100_000;

fn memfs() -> Context {
    Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap().context(Credentials::root())
}

/// Returns the moment as nanoseconds since the Epoch.
fn nanoseconds(time: Timestamp) -> i128 {
    i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds)
}

/// Converts by durations of the standard library, another way than the conversion goes.
fn nanoseconds_of(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(error) => -(error.duration().as_nanos() as i128),
    }
}

/// Checks a time there and back, and its place on the line of time.
fn goes_there_and_back(time: Timestamp) {
    let std = SystemTime::from(time);
    assert_eq!((Timestamp::from(std), nanoseconds_of(std)), (time, nanoseconds(time)), "{time:?}");
}

#[test]
fn times_go_there_and_back() {
    let (mut rng, seed) = (fastrand::Rng::new(), fastrand::u64(..));
    rng.seed(seed);
    println!("seed {seed}");
    for seconds in [i64::MIN, i64::MIN + 1, -2, -1, 0, 1, i64::MAX - 1, i64::MAX, -(1 << 49), (1 << 49) - 1] {
        for nanoseconds in [0, 1, 499_999_999, 999_999_999] {
            goes_there_and_back(Timestamp { seconds, nanoseconds });
        }
    }
    for _ in 0..RANDOM_TIMES {
        // Of every order of magnitude.
        let seconds = rng.i64(..) >> rng.u32(0..64);
        goes_there_and_back(Timestamp { seconds, nanoseconds: rng.u32(0..1_000_000_000) });
    }
    let odd = Timestamp { seconds: i64::MAX, nanoseconds: u32::MAX };
    assert_eq!(Timestamp::from(SystemTime::from(odd)), Timestamp { nanoseconds: 999_999_999, ..odd });
    assert!(SystemTime::from(Timestamp::now()).elapsed().unwrap() < Duration::from_secs(3600));
}

/// What the cache keeps of a time beyond its ends is the end.
#[test]
fn times_of_std_can_be_set() {
    let context = memfs();
    let set = |time: SystemTime| {
        let time = SetTime::To(time.into());
        context.utimes("/", time, time).unwrap();
        context.stat("/").unwrap().modified().unwrap()
    };
    let then = UNIX_EPOCH + Duration::new(1_000_000, 5);
    assert_eq!(set(then), then);
    let too_late = SystemTime::from(Timestamp { seconds: i64::MAX, nanoseconds: 0 });
    assert!(set(too_late) < too_late);
}

/// Attributes of a file of the host beside its metadata.
fn same(path: &std::path::Path, kind: FileType) {
    let of = fs::symlink_metadata(path).unwrap();
    let attributes = Attributes::from(&of);
    assert_eq!((attributes.kind, FileType::from(of.file_type()), attributes.file_type()), (kind, kind, kind), "{path:?}");
    assert_eq!(
        (attributes.is_dir(), attributes.is_file(), attributes.is_symlink()),
        (of.is_dir(), of.is_file(), of.is_symlink())
    );
    assert_eq!((attributes.st_mode(), attributes.permissions()), (of.mode(), of.permissions()));
    assert_eq!((attributes.len(), attributes.nlink.into(), attributes.ino), (of.len(), of.nlink(), of.ino()));
    assert_eq!((attributes.uid, attributes.gid, attributes.blocks), (of.uid(), of.gid(), of.blocks()));
    assert_eq!(u64::from(attributes.block_size), of.blksize());
    assert_eq!(
        (attributes.modified().unwrap(), attributes.accessed().unwrap()),
        (of.modified().unwrap(), of.accessed().unwrap())
    );
    assert_eq!(attributes.created().ok(), of.created().ok());
    assert_eq!((attributes.ctime.seconds, i64::from(attributes.ctime.nanoseconds)), (of.ctime(), of.ctime_nsec()));
    let devices = [attributes.device, attributes.device_node].map(|Device { major, minor }| libc::makedev(major, minor));
    assert_eq!(devices, [of.dev(), of.rdev()], "{path:?}");
    assert_eq!(attributes.acl == AclState::Absent, kind == FileType::Symlink);
}

#[test]
fn metadata_become_attributes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), vec![1; 5000]).unwrap();
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o4751)).unwrap();
    let before = UNIX_EPOCH - Duration::from_millis(1250);
    fs::File::options().write(true).open(at("file")).unwrap().set_times(fs::FileTimes::new().set_modified(before)).unwrap();
    symlink("target", at("link")).unwrap();
    fs::hard_link(at("file"), at("other")).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    same(&at("file"), FileType::Regular);
    same(&at("link"), FileType::Symlink);
    same(&at("socket"), FileType::Socket);
    same(dir.path(), FileType::Directory);
    same("/dev/null".as_ref(), FileType::CharDevice);
    let attributes = Attributes::from(&fs::metadata(at("file")).unwrap());
    assert_eq!((attributes.mode, attributes.nlink, attributes.size), (0o4751, 2, 5000));
    assert_eq!(Attributes::from(&fs::metadata("/dev/null").unwrap()).device_node, Device { major: 1, minor: 3 });
}

#[test]
fn each_type_is_one() {
    let kinds = (0..16).filter_map(|bits| FileType::from_mode(bits << 12));
    let told = kinds.map(|kind| {
        let all = [kind.is_dir(), kind.is_file(), kind.is_symlink(), kind.is_fifo(), kind.is_socket()];
        let is = [&all[..], &[kind.is_block_device(), kind.is_char_device()]].concat();
        is.iter().position(|is| *is).filter(|_| is.iter().filter(|is| **is).count() == 1)
    });
    // Fifo, character device, directory, block device, file, link, socket.
    assert_eq!(told.collect::<Vec<_>>(), [3, 6, 0, 5, 1, 2, 4].map(Some));
}
