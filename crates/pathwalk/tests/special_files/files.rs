//! One pipe for all that lead to a node, for as long as it is open.

use pathwalk::{Context, Credentials, Errno, MountFlags, NewKind, OpenFlags, OpenHow, Recursion, Resolve, Vfs};
use pathwalk_memfs::MemFs;

const READ: OpenFlags = OpenFlags::READ.union(OpenFlags::NONBLOCK);
const WRITE: OpenFlags = OpenFlags::WRITE.union(OpenFlags::NONBLOCK);
const BOTH: OpenFlags = READ.union(WRITE);

fn root_of(flags: MountFlags) -> Context {
    let vfs = Vfs::builder().budget(1 << 20).mount_flags(flags).build(MemFs::new()).unwrap();
    vfs.context(Credentials::root())
}

fn with_pipe() -> Context {
    let context = root_of(MountFlags::empty());
    context.mknod("/pipe", NewKind::Fifo, 0o666).unwrap();
    context
}

fn read(file: &pathwalk::File) -> Result<Vec<u8>, Errno> {
    let mut buffer = [0; 100];
    file.read(&mut buffer).map(|length| buffer[..length].to_vec())
}

#[test]
fn all_ways_to_a_node_lead_to_its_pipe() {
    let context = with_pipe();
    context.mkdir("/mount", 0o755).unwrap();
    context.bind("/", "/mount", Recursion::Alone).unwrap();
    context.mkdir("/fresh", 0o755).unwrap();
    context.mount(MemFs::new(), "/fresh", MountFlags::empty()).unwrap();
    context.mknod("/fresh/pipe", NewKind::Fifo, 0o666).unwrap();
    let writer = context.open("/pipe", BOTH).unwrap();
    writer.write(b"data").unwrap();
    assert_eq!(context.open("/fresh/pipe", WRITE).unwrap_err(), Errno::ENXIO, "another node");
    context.rename("/pipe", "/moved").unwrap();
    let other = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
    assert_eq!(read(&other.open("/mount/moved", READ).unwrap()).unwrap(), b"data");
}

#[test]
fn it_works_without_a_name_and_ends_with_its_last_file() {
    let context = with_pipe();
    let (reader, writer) = (context.open("/pipe", READ).unwrap(), context.open("/pipe", WRITE).unwrap());
    context.unlink("/pipe").unwrap();
    context.mknod("/pipe", NewKind::Fifo, 0o666).unwrap();
    let new = context.open("/pipe", BOTH).unwrap();
    writer.write(b"old").unwrap();
    new.write(b"new").unwrap();
    assert_eq!((read(&reader), read(&new)), (Ok(b"old".to_vec()), Ok(b"new".to_vec())));
    // What is left is dropped with the last of its files.
    new.write(b"left").unwrap();
    let again = context.open("/pipe", READ).unwrap();
    drop(new);
    assert_eq!(read(&again).unwrap(), b"left");
    context.open("/pipe", WRITE).unwrap().write(b"left").unwrap();
    drop(again);
    assert_eq!(read(&context.open("/pipe", READ).unwrap()).unwrap(), b"");
}

#[test]
fn it_stays_in_the_caches_while_it_is_open() {
    let context = with_pipe();
    let writer = context.open("/pipe", BOTH).unwrap();
    writer.write(b"data").unwrap();
    for number in 0..5000 {
        context.write(format!("/{number}"), "").unwrap();
    }
    assert!(context.vfs().stats().evictions > 0);
    assert_eq!(read(&context.open("/pipe", READ).unwrap()).unwrap(), b"data");
}

#[test]
fn a_write_sets_the_time_of_the_node_where_it_may() {
    let context = with_pipe();
    context.utimes("/pipe", pathwalk::SetTime::Keep, pathwalk::SetTime::To(Default::default())).unwrap();
    let mtime = || context.stat("/pipe").unwrap().mtime;
    let file = context.open("/pipe", BOTH).unwrap();
    file.write(b"").unwrap();
    assert_eq!(mtime(), Default::default());
    context.remount("/", MountFlags::READ_ONLY).unwrap();
    assert_eq!(file.write(b"data"), Ok(4), "it is no change of the file system");
    assert!(context.open("/pipe", WRITE).is_ok());
    assert_eq!(mtime(), Default::default());
    context.remount("/", MountFlags::empty()).unwrap();
    file.write(b"data").unwrap();
    assert!(mtime() > Default::default());
}

#[test]
fn the_caches_alone_never_wait() {
    let context = with_pipe();
    context.stat("/pipe").unwrap();
    let cached = |flags: OpenFlags| context.cached().open("/pipe", flags).map(drop);
    let by_rule = |flags| context.open("/pipe", OpenHow { flags, resolve: Resolve::CACHED, ..OpenHow::default() }).map(drop);
    for open in [&cached as &dyn Fn(_) -> _, &by_rule] {
        assert_eq!((open(OpenFlags::READ), open(OpenFlags::WRITE)), (Err(Errno::EAGAIN), Err(Errno::EAGAIN)));
        assert_eq!((open(READ), open(WRITE), open(BOTH)), (Ok(()), Err(Errno::ENXIO), Ok(())));
        let _partner = context.open("/pipe", BOTH).unwrap();
        assert_eq!((open(OpenFlags::READ), open(OpenFlags::WRITE)), (Ok(()), Ok(())));
    }
}

#[test]
fn the_right_to_open_it_is_checked() {
    let context = with_pipe();
    context.chmod("/pipe", 0o640).unwrap();
    let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
    assert_eq!(user.open("/pipe", BOTH).unwrap_err(), Errno::EACCES);
    assert_eq!(context.open("/pipe", READ | OpenFlags::DIRECTORY).unwrap_err(), Errno::ENOTDIR);
    assert_eq!(context.open("/pipe/", READ).unwrap_err(), Errno::ENOTDIR);
}

/// Vectored reads take what is there, and wait for nothing more.
#[test]
fn a_vectored_read_waits_once() {
    let context = with_pipe();
    let file = context.open("/pipe", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    file.write(b"abcd").unwrap();
    let (mut one, mut two, mut three) = ([0; 2], [0; 2], [0; 2]);
    let mut buffers = [&mut one, &mut two, &mut three].map(|buffer| std::io::IoSliceMut::new(buffer));
    assert_eq!(file.read_vectored(&mut buffers), Ok(4));
    assert_eq!((one, two), (*b"ab", *b"cd"));
    assert_eq!(file.read_vectored_at(&mut [], 0), Err(Errno::ESPIPE));
    assert_eq!((file.rewind(), file.stream_position()), (Err(Errno::ESPIPE), Err(Errno::ESPIPE)));
}
