//! Devices: the driver, and the order of the checks before it is asked.

use std::io::SeekFrom;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use pathwalk::{
    Attributes, Context, Credentials, Device, Directory, Entry, Errno, FileSystem, FileType, MountFlags, Name, NewKind, Node,
    NodeKey, OpenFile, OpenFlags, OpenFor, Seeking, SpecialFiles, Vfs, WriteAt, Written,
};
use pathwalk_memfs::MemFs;

const NUMBER: Device = Device { major: 240, minor: 7 };

/// A device that counts in its one byte.
struct Counter(Seeking, Mutex<u8>);

impl OpenFile for Counter {
    fn seeking(&self) -> Seeking {
        self.0
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let count = *self.1.lock().unwrap();
        buffer.fill(count + offset as u8);
        Ok(buffer.len())
    }

    fn write_at(&self, data: &[u8], _: WriteAt) -> Result<Written, Errno> {
        *self.1.lock().unwrap() += data.len() as u8;
        Ok(Written { bytes: data.len(), end: 1 })
    }
}

fn context_with(seeking: Seeking, flags: MountFlags) -> Context {
    let driver = move |device, kind, what_for: OpenFor| -> Result<Box<dyn OpenFile>, Errno> {
        if (device, kind) != (NUMBER, FileType::CharDevice) || what_for.contains(OpenFor::NONBLOCK) {
            return Err(Errno::ENXIO);
        }
        Ok(Box::new(Counter(seeking, Mutex::default())))
    };
    let vfs = Vfs::builder().budget(1 << 20).driver(driver).mount_flags(flags).build(MemFs::new()).unwrap();
    let context = vfs.context(Credentials::root());
    context.mknod("/char", NewKind::CharDevice(NUMBER), 0o640).unwrap();
    context.mknod("/block", NewKind::BlockDevice(NUMBER), 0o640).unwrap();
    context
}

#[test]
fn a_driver_opens_its_devices() {
    let context = context_with(Seeking::Nowhere, MountFlags::empty());
    let both = OpenFlags::READ | OpenFlags::WRITE;
    let file = context.open("/char", both | OpenFlags::TRUNCATE | OpenFlags::CREATE).unwrap();
    assert_eq!((file.write(b"abc"), file.seek(SeekFrom::Current(5))), (Ok(3), Ok(0)));
    let mut buffer = [0; 2];
    assert_eq!((file.read(&mut buffer), buffer), (Ok(2), [3, 3]));
    assert_eq!((file.read_at(&mut buffer, 4), buffer, file.stream_position()), (Ok(2), [7, 7], Ok(0)));
    assert_eq!((file.set_len(1), file.getdents(1).unwrap_err()), (Err(Errno::EINVAL), Errno::ENOTDIR));
    assert_eq!(context.open("/block", both).unwrap_err(), Errno::ENXIO);
    assert_eq!(context.open("/char", both | OpenFlags::NONBLOCK).unwrap_err(), Errno::ENXIO, "the driver sees it");
    assert_eq!(context.cached().open("/char", both).unwrap_err(), Errno::EAGAIN, "a driver may wait");
}

#[test]
fn a_device_has_offsets_if_its_driver_says_so() {
    let both = OpenFlags::READ | OpenFlags::WRITE;
    let open = |seeking| context_with(seeking, MountFlags::empty()).open("/char", both).unwrap();
    let (disk, terminal) = (open(Seeking::Offsets), open(Seeking::Stream));
    let mut buffer = [0; 2];
    assert_eq!((disk.read(&mut buffer), disk.stream_position()), (Ok(2), Ok(2)));
    assert_eq!((disk.seek(SeekFrom::Start(9)), disk.write(b"x"), disk.stream_position()), (Ok(9), Ok(1), Ok(1)));
    assert_eq!((terminal.seek(SeekFrom::Start(0)), terminal.read_at(&mut buffer, 0)), (Err(Errno::ESPIPE), Err(Errno::ESPIPE)));
    assert_eq!((terminal.write_at(b"x", 0), terminal.write(b"x")), (Err(Errno::ESPIPE), Ok(1)));
}

#[test]
fn the_mount_and_the_mode_come_before_the_driver() {
    let context = context_with(Seeking::Nowhere, MountFlags::NODEV);
    assert_eq!(context.open("/char", OpenFlags::READ).unwrap_err(), Errno::EACCES);
    let context = context_with(Seeking::Nowhere, MountFlags::empty());
    let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
    assert_eq!(user.open("/char", OpenFlags::READ).unwrap_err(), Errno::EACCES);
    // A read-only mount forbids changes of the file system, not of what is behind a device.
    context.remount("/", MountFlags::READ_ONLY).unwrap();
    assert_eq!(context.open("/char", OpenFlags::WRITE).map(|file| file.write(b"x")), Ok(Ok(1)));
    let bare = Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap().context(Credentials::root());
    bare.mknod("/char", NewKind::CharDevice(NUMBER), 0o600).unwrap();
    assert_eq!(bare.open("/char", OpenFlags::READ).unwrap_err(), Errno::ENXIO);
    assert_eq!(bare.cached().open("/char", OpenFlags::READ).unwrap_err(), Errno::ENXIO);
}

/// A file system with one pipe, `pipe`, and its own idea of who opens it.
struct Own(SpecialFiles);

struct Hello(OpenFor);

impl OpenFile for Hello {
    fn seeking(&self) -> Seeking {
        Seeking::Stream
    }

    fn read_at(&self, buffer: &mut [u8], _: u64) -> Result<usize, Errno> {
        buffer[0] = self.0.bits();
        Ok(1)
    }

    fn read_dir(&self, _: u64, _: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        Err(Errno::ENOTDIR)
    }
}

impl FileSystem for Own {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), self.attributes(NodeKey(1))?))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        (name.bytes() == b"pipe").then(|| Ok(Node::new(NodeKey(2), self.attributes(NodeKey(2))?))).transpose()
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let kind = if node == NodeKey(1) { FileType::Directory } else { FileType::Fifo };
        Ok(Attributes::new(kind, 0o755).with_ino(node.0 as u64))
    }

    fn special_files(&self) -> SpecialFiles {
        self.0
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        assert_eq!(node, NodeKey(2));
        Ok(Box::new(Hello(what_for)))
    }
}

#[test]
fn a_file_system_may_open_its_own_or_refuse_them() {
    let open = |who, flags| {
        let vfs = Vfs::builder().budget(1 << 20).build(Arc::new(Own(who))).unwrap();
        vfs.context(Credentials::root()).open("/pipe", flags)
    };
    let nonblocking = OpenFlags::READ | OpenFlags::NONBLOCK;
    let mut buffer = [0; 9];
    let own = open(SpecialFiles::OfFileSystem, nonblocking).unwrap();
    assert_eq!((own.read(&mut buffer), buffer[0]), (Ok(1), (OpenFor::READ | OpenFor::NONBLOCK).bits()));
    assert_eq!(own.read_at(&mut buffer, 0), Err(Errno::ESPIPE));
    assert_eq!(open(SpecialFiles::Refused, nonblocking).unwrap_err(), Errno::ENXIO);
    assert_eq!(open(SpecialFiles::OfEngine, nonblocking).unwrap().read(&mut buffer), Ok(0));
}
