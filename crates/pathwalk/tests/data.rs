//! The data of files: space, holes, copies, shared data, and reads and writes with flags.

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use pathwalk::{
    Context, Credentials, Errno, FallocateFlags, File, MountFlags, OpenFlags, RwFlags, StatxFlags, SyncFileRange, Timestamp, Vfs,
};
use pathwalk_memfs::{MemFs, Options};

const PAGE: u64 = 4096;
const MAX: u64 = i64::MAX as u64;

const ALLOCATE: FallocateFlags = FallocateFlags::empty();
const KEEP: FallocateFlags = FallocateFlags::KEEP_SIZE;
const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(KEEP);

const BOTH: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE);

fn root(fs: MemFs) -> Context {
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

fn open(context: &Context, path: &str, flags: OpenFlags) -> File {
    context.open(path, flags).unwrap()
}

/// Returns a file of pages, each filled with its number from 1 on.
fn numbered(context: &Context, path: &str, pages: u8) -> File {
    let data: Vec<u8> = (1..=pages).flat_map(|page| [page; PAGE as usize]).collect();
    context.write(path, data).unwrap();
    open(context, path, BOTH)
}

/// Returns the first byte of each page.
fn firsts(context: &Context, path: &str) -> Vec<u8> {
    context.read(path).unwrap().chunks(PAGE as usize).map(|page| page[0]).collect()
}

#[test]
fn fallocate_checks_as_linux_does() {
    let context = root(MemFs::new());
    context.write("/file", "data").unwrap();
    let write = open(&context, "/file", OpenFlags::WRITE);
    let read = open(&context, "/file", OpenFlags::READ);
    let place = open(&context, "/file", OpenFlags::PATH);
    let dir = open(&context, "/", OpenFlags::READ);
    let unknown = FallocateFlags::from_bits_retain(0x100);
    let rows = [
        (&place, ALLOCATE, 0, 0, Errno::EBADF),
        (&write, ALLOCATE, 0, 0, Errno::EINVAL),
        (&write, unknown, MAX + 1, 1, Errno::EINVAL),
        (&write, ALLOCATE, 0, MAX + 1, Errno::EINVAL),
        (&read, FallocateFlags::PUNCH_HOLE, 0, 1, Errno::EOPNOTSUPP),
        (&read, unknown, 0, 1, Errno::EOPNOTSUPP),
        (&read, ALLOCATE, MAX, 1, Errno::EBADF),
        (&dir, ALLOCATE, 0, 1, Errno::EBADF),
        (&write, FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE | KEEP, 0, 1, Errno::EOPNOTSUPP),
        (&write, FallocateFlags::COLLAPSE_RANGE | KEEP, 0, PAGE, Errno::EOPNOTSUPP),
        (&write, FallocateFlags::INSERT_RANGE | KEEP, 0, PAGE, Errno::EOPNOTSUPP),
        (&write, FallocateFlags::WRITE_ZEROES, 0, PAGE, Errno::EOPNOTSUPP),
        (&write, ALLOCATE, MAX, 1, Errno::EFBIG),
        (&write, PUNCH, MAX - 1, 2, Errno::EFBIG),
        (&write, FallocateFlags::COLLAPSE_RANGE, 0, PAGE, Errno::EINVAL),
        (&write, FallocateFlags::INSERT_RANGE, 1, PAGE, Errno::EINVAL),
        (&write, FallocateFlags::INSERT_RANGE, PAGE, PAGE, Errno::EINVAL),
    ];
    for (row, (file, mode, offset, length, errno)) in rows.into_iter().enumerate() {
        assert_eq!(file.fallocate(mode, offset, length), Err(errno), "row {row}");
    }
    assert_eq!(context.read("/file").unwrap(), b"data");
}

#[test]
fn attribute_bits_forbid_more_than_space() {
    let fs = MemFs::new();
    let behind = fs.alias();
    let context = root(fs);
    let file = numbered(&context, "/file", 1);
    for (bits, space, zero) in [
        (StatxFlags::APPEND, Ok(()), Err(Errno::EPERM)),
        (StatxFlags::IMMUTABLE, Err(Errno::EPERM), Err(Errno::EPERM)),
        (StatxFlags::empty(), Ok(()), Ok(())),
    ] {
        behind.set_flags("/file", bits).unwrap();
        context.vfs().refresh(file.handle()).unwrap();
        assert_eq!([file.fallocate(ALLOCATE, 0, 1), file.fallocate(KEEP, 0, 1)], [space; 2], "{bits:?}");
        assert_eq!(file.fallocate(FallocateFlags::ZERO_RANGE, 0, 1), zero, "{bits:?}");
        let source = open(&context, "/file", OpenFlags::READ);
        let immutable = if bits == StatxFlags::IMMUTABLE { Err(Errno::EPERM) } else { Ok(()) };
        assert_eq!(source.copy_file_range(Some(PAGE), &file, Some(0), 1).map(|_| ()), immutable);
    }
}

#[test]
fn suid_bits_go_with_a_change_of_space_alone() {
    let context = root(MemFs::with(Options::default().max_bytes(2 * PAGE)));
    context.write("/file", "data").unwrap();
    let user = Credentials::user(1000, 1000, &[]);
    let file = open(&context, "/file", BOTH);
    context.chmod("/file", 0o6777).unwrap();
    assert_eq!(file.by(&user).fallocate(ALLOCATE, 0, 3 * PAGE), Err(Errno::ENOSPC));
    assert_eq!(file.by(&user).fallocate(FallocateFlags::COLLAPSE_RANGE, 0, PAGE), Err(Errno::EINVAL));
    file.fallocate(ALLOCATE, 0, PAGE).unwrap();
    assert_eq!(context.stat("/file").unwrap().mode, 0o6777, "they failed, or root did it");
    file.by(&user).fallocate(ALLOCATE, 0, 1).unwrap();
    assert_eq!(context.stat("/file").unwrap().mode, 0o777);
}

#[test]
fn space_is_reserved_or_nothing_is() {
    let context = root(MemFs::with(Options::default().max_bytes(8 * PAGE)));
    let file = open(&context, "/file", BOTH | OpenFlags::CREATE);
    let other = open(&context, "/other", BOTH | OpenFlags::CREATE);
    let blocks = |path| context.stat(path).unwrap().blocks / 8;
    file.fallocate(KEEP, PAGE, 4 * PAGE).unwrap();
    assert_eq!((context.stat("/file").unwrap().size, blocks("/file")), (0, 4));
    assert_eq!(other.fallocate(ALLOCATE, 0, 5 * PAGE), Err(Errno::ENOSPC));
    assert_eq!((context.stat("/other").unwrap().size, blocks("/other")), (0, 0));
    other.fallocate(ALLOCATE, 1, 4 * PAGE - 1).unwrap();
    assert_eq!(file.write_at(&[1; 9 * PAGE as usize], 0), Err(Errno::ENOSPC), "the first page is not reserved");
    assert_eq!(file.write_at(&[1; 9 * PAGE as usize], PAGE), Ok(4 * PAGE as usize), "and these are");
    file.set_len(0).unwrap();
    assert_eq!(context.statfs("/").unwrap().blocks_free, 4);

    // What is reserved behind the end goes with a truncation, also to the same size.
    for truncate in [|context: &Context, _: &File| context.truncate("/file", 0), |_: &Context, file: &File| file.set_len(0)] {
        file.fallocate(KEEP, 0, PAGE).unwrap();
        let before = context.stat("/file").unwrap();
        truncate(&context, &file).unwrap();
        assert_eq!((before.blocks, blocks("/file")), (8, 0));
    }
    context.truncate("/file", 0).unwrap();
}

/// Checks what Linux 6.18 does on a tmpfs, row by row.
#[test]
fn a_truncation_to_the_same_size_frees_room_and_changes_times_if_there_are_pages() {
    type Prepare = fn(&File) -> Result<(), Errno>;
    let rows: [(&str, Prepare, u64, bool); 6] = [
        ("nothing", |_| Ok(()), 0, false),
        ("a hole", |file| file.set_len(5000), 0, false),
        ("data", |file| file.write_at(&[1; 5000], 0).map(drop), 16, true),
        ("data and room", |file| file.write_at(&[1; 5000], 0).and_then(|_| file.fallocate(KEEP, 2 * PAGE, 1)), 16, true),
        ("a hole and room", |file| file.fallocate(KEEP, PAGE, PAGE + 1).and_then(|()| file.set_len(5000)), 8, true),
        ("room", |file| file.fallocate(KEEP, 0, 1), 0, true),
    ];
    for (what, prepare, blocks, changes) in rows {
        let clock = Arc::new(AtomicI64::new(1));
        let now = Arc::clone(&clock);
        let time = move || Timestamp { seconds: now.load(Relaxed), nanoseconds: 0 };
        let context = root(MemFs::with(Options::default().clock(time)));
        prepare(&open(&context, "/f", BOTH | OpenFlags::CREATE)).unwrap();
        let size = context.stat("/f").unwrap().size;
        context.chmod("/f", 0o6777).unwrap();
        clock.store(2, Relaxed);
        let other = context.clone().with_credentials(Credentials::user(7, 7, &[]));
        other.truncate("/f", size).unwrap();
        let found = context.stat("/f").unwrap();
        let time = if changes { 2 } else { 1 };
        let times = [found.mtime, found.ctime].map(|time| time.seconds);
        assert_eq!((found.size, found.blocks, times), (size, blocks, [time; 2]), "{what}");
        assert_eq!(found.mode, 0o777, "{what}");
    }
}

#[test]
fn holes_are_found_by_pages() {
    let context = root(MemFs::new());
    let file = numbered(&context, "/file", 5);
    file.fallocate(PUNCH, PAGE, 2 * PAGE).unwrap();
    file.fallocate(KEEP, 2 * PAGE, PAGE).unwrap();
    assert_eq!([file.seek_data(0), file.seek_data(5), file.seek_data(PAGE)], [Ok(0), Ok(5), Ok(3 * PAGE)]);
    assert_eq!([file.seek_hole(0), file.seek_hole(PAGE + 1), file.seek_hole(4 * PAGE)], [Ok(PAGE), Ok(PAGE + 1), Ok(5 * PAGE)]);
    assert_eq!(file.stream_position(), Ok(5 * PAGE));
    for offset in [5 * PAGE, MAX, MAX + 1, u64::MAX] {
        assert_eq!([file.seek_data(offset), file.seek_hole(offset)], [Err(Errno::ENXIO); 2], "{offset}");
    }
    assert_eq!(file.stream_position(), Ok(5 * PAGE), "an error moves nothing");
    let dir = open(&context, "/", OpenFlags::READ);
    assert_eq!([dir.seek_data(0), dir.seek_hole(u64::MAX)], [Err(Errno::EINVAL); 2]);
    assert_eq!(open(&context, "/file", OpenFlags::PATH).seek_data(0), Err(Errno::EBADF));
    // Writing a byte into a reserved page makes it data.
    file.write_at(&[0], 2 * PAGE + 7).unwrap();
    assert_eq!(file.seek_data(PAGE), Ok(2 * PAGE));
}

#[test]
fn ranges_are_zeroed_taken_out_and_put_in() {
    let context = root(MemFs::new());
    let file = numbered(&context, "/file", 5);
    file.fallocate(FallocateFlags::COLLAPSE_RANGE, PAGE, 2 * PAGE).unwrap();
    assert_eq!(firsts(&context, "/file"), [1, 4, 5]);
    file.fallocate(FallocateFlags::INSERT_RANGE, PAGE, PAGE).unwrap();
    assert_eq!(firsts(&context, "/file"), [1, 0, 4, 5]);
    assert_eq!(context.stat("/file").unwrap().blocks, 24);
    file.fallocate(FallocateFlags::ZERO_RANGE, 1, 3 * PAGE).unwrap();
    let data = context.read("/file").unwrap();
    assert_eq!((data[0], data[3 * PAGE as usize], data[3 * PAGE as usize + 1]), (1, 0, 5));
    assert!(data[1..=3 * PAGE as usize].iter().all(|byte| *byte == 0));
    assert_eq!((context.stat("/file").unwrap().blocks, file.seek_hole(0)), (32, Ok(PAGE)));
    file.fallocate(FallocateFlags::ZERO_RANGE | KEEP, 4 * PAGE, PAGE).unwrap();
    assert_eq!(context.stat("/file").unwrap().size, 4 * PAGE);
    file.fallocate(FallocateFlags::ZERO_RANGE, 4 * PAGE, 5).unwrap();
    assert_eq!(context.stat("/file").unwrap().size, 4 * PAGE + 5);
    assert_eq!(file.fallocate(FallocateFlags::COLLAPSE_RANGE, 4 * PAGE, PAGE), Err(Errno::EINVAL), "it is the end");
    assert_eq!(file.fallocate(FallocateFlags::INSERT_RANGE, 0, MAX - MAX % PAGE), Err(Errno::EFBIG));
}

#[test]
fn copies_check_as_linux_does() {
    let context = root(MemFs::new());
    let file = numbered(&context, "/file", 3);
    let read = open(&context, "/file", OpenFlags::READ);
    let write = open(&context, "/file", OpenFlags::WRITE);
    let append = open(&context, "/file", OpenFlags::WRITE | OpenFlags::APPEND);
    let place = open(&context, "/file", OpenFlags::PATH);
    let dir = open(&context, "/", OpenFlags::READ);
    context.mkdir("/other", 0o755).unwrap();
    context.mount(MemFs::new(), "/other", MountFlags::empty()).unwrap();
    let elsewhere = open(&context, "/other/file", BOTH | OpenFlags::CREATE);
    let rows = [
        (&place, 0, &file, 0, 0, Err(Errno::EBADF)),
        (&file, 0, &place, 0, 0, Err(Errno::EBADF)),
        (&dir, 0, &file, 0, 0, Err(Errno::EISDIR)),
        (&file, 0, &dir, 0, 0, Err(Errno::EISDIR)),
        (&write, 0, &file, 0, 0, Err(Errno::EBADF)),
        (&file, 0, &read, 0, 0, Err(Errno::EBADF)),
        (&file, 0, &append, 0, 0, Err(Errno::EBADF)),
        (&file, 0, &elsewhere, 0, 0, Err(Errno::EXDEV)),
        (&file, 1, &file, 0, usize::MAX, Err(Errno::EOVERFLOW)),
        (&file, 3 * PAGE, &file, MAX, 0, Err(Errno::EFBIG)),
        (&file, MAX + 1, &file, 0, 1, Err(Errno::EINVAL)),
        (&file, 0, &file, MAX + 1, 1, Err(Errno::EINVAL)),
        (&file, 0, &file, 10, 11, Err(Errno::EINVAL)),
        (&file, 10, &file, 0, 11, Err(Errno::EINVAL)),
        (&file, 0, &file, 0, 1, Err(Errno::EINVAL)),
        (&file, 0, &file, 10, 10, Ok(10)),
        (&read, 3 * PAGE, &write, 0, 100, Ok(0)),
        (&read, 3 * PAGE - 5, &write, 0, 100, Ok(5)),
        (&read, MAX, &write, 0, 100, Ok(0)),
    ];
    for (row, (from, start, to, at, length, answer)) in rows.into_iter().enumerate() {
        assert_eq!(from.copy_file_range(Some(start), to, Some(at), length), answer, "row {row}");
    }
}

#[test]
fn copies_fill_holes_and_share_pages() {
    let fs = MemFs::with(Options::default().max_bytes(12 * PAGE));
    let context = root(fs);
    let file = numbered(&context, "/file", 4);
    file.fallocate(PUNCH, PAGE, PAGE).unwrap();
    let to = open(&context, "/to", BOTH | OpenFlags::CREATE);
    assert_eq!(file.copy_file_range(None, &to, None, usize::MAX >> 1), Ok(4 * PAGE as usize));
    assert_eq!((file.stream_position(), to.stream_position()), (Ok(4 * PAGE), Ok(4 * PAGE)));
    assert_eq!((context.stat("/to").unwrap().blocks, to.seek_hole(0)), (32, Ok(4 * PAGE)));
    to.write_at(b"new", 0).unwrap();
    file.write_at(b"old", 2 * PAGE).unwrap();
    assert_eq!(firsts(&context, "/file"), [1, 0, b'o', 4]);
    assert_eq!(firsts(&context, "/to"), [b'n', 0, 3, 4]);

    // Between offsets that differ within a page, and as far as there is room.
    assert_eq!(file.copy_file_range(Some(1), &to, Some(4 * PAGE), 4 * PAGE as usize), Ok(4 * PAGE as usize - 1));
    let data = context.read("/to").unwrap();
    assert_eq!(data[4 * PAGE as usize..], context.read("/file").unwrap()[1..]);
    let third = open(&context, "/third", BOTH | OpenFlags::CREATE);
    assert_eq!(to.copy_file_range(Some(10), &third, Some(0), 3 * PAGE as usize), Ok(PAGE as usize));
    assert_eq!(to.copy_file_range(Some(0), &third, Some(PAGE), 3 * PAGE as usize), Err(Errno::ENOSPC));
}

#[test]
fn clones_share_until_one_is_written() {
    let context = root(MemFs::with(Options::default().max_bytes(12 * PAGE)));
    let file = numbered(&context, "/file", 4);
    file.set_len(3 * PAGE + 100).unwrap();
    file.fallocate(PUNCH, PAGE, PAGE).unwrap();
    let clone = open(&context, "/clone", BOTH | OpenFlags::CREATE);
    clone.clone_from(&file).unwrap();
    assert_eq!(context.read("/clone").unwrap(), context.read("/file").unwrap());
    let (one, other) = (context.stat("/file").unwrap(), context.stat("/clone").unwrap());
    assert_eq!((one.size, one.blocks), (other.size, other.blocks), "each counts the pages that both have");
    assert_eq!(clone.seek_hole(0), Ok(PAGE));
    clone.write_at(b"x", 0).unwrap();
    file.write_at(b"y", 2 * PAGE).unwrap();
    assert_eq!((firsts(&context, "/file"), firsts(&context, "/clone")), (vec![1, 0, b'y', 4], vec![b'x', 0, 3, 4]));
    clone.fallocate(FallocateFlags::UNSHARE_RANGE | KEEP, 0, 4 * PAGE).unwrap();
    assert_eq!(firsts(&context, "/clone"), [b'x', 0, 3, 4]);
    assert_eq!(context.stat("/clone").unwrap().blocks, 32, "the hole is reserved");

    let rows = [
        (&file, 1, PAGE, 0, Err(Errno::EINVAL)),
        (&file, 0, PAGE, 1, Err(Errno::EINVAL)),
        (&file, 0, 100, 0, Err(Errno::EINVAL)),
        (&file, 0, 4 * PAGE, 0, Err(Errno::EINVAL)),
        (&file, 4 * PAGE, PAGE, 0, Err(Errno::EINVAL)),
        (&file, 3 * PAGE, 100, 0, Err(Errno::EINVAL)),
        (&file, 3 * PAGE, 100, 8 * PAGE, Ok(())),
        (&file, MAX, 1, 0, Err(Errno::EINVAL)),
        (&clone, 0, PAGE, 0, Err(Errno::EINVAL)),
        (&clone, 0, PAGE, PAGE, Ok(())),
        (&clone, 0, 0, 20 * PAGE, Err(Errno::ENOSPC)),
    ];
    for (row, (source, from, length, at, answer)) in rows.into_iter().enumerate() {
        assert_eq!(clone.clone_range(source, from, length, at), answer, "row {row}");
    }
    assert_eq!(context.stat("/clone").unwrap().size, 8 * PAGE + 100);
    assert_eq!(firsts(&context, "/clone"), [b'x', b'x', 3, 4, 0, 0, 0, 0, 4]);
}

#[test]
fn reads_and_writes_with_flags() {
    let fs = MemFs::new();
    let behind = fs.alias();
    let context = root(fs);
    context.write("/file", "hello").unwrap();
    let file = open(&context, "/file", BOTH);
    let append = open(&context, "/file", BOTH | OpenFlags::APPEND);
    let write = |file: &File, offset, flags| file.pwritev2(&[IoSlice::new(b"ab"), IoSlice::new(b"c")], offset, flags);
    let read = |file: &File, offset, flags| {
        let (mut one, mut two) = ([0; 2], [0; 2]);
        let length = file.preadv2(&mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)], offset, flags)?;
        Ok([one, two].concat()[..length].to_vec())
    };
    assert_eq!(read(&file, Some(1), RwFlags::HIPRI | RwFlags::SYNC | RwFlags::APPEND).unwrap(), b"ello");
    assert_eq!(read(&file, None, RwFlags::NOWAIT).unwrap(), b"hell");
    assert_eq!(write(&file, Some(0), RwFlags::APPEND), Ok(3));
    assert_eq!((context.read("/file").unwrap(), file.stream_position()), (b"helloabc".to_vec(), Ok(4)));
    assert_eq!(write(&file, None, RwFlags::SYNC), Ok(3));
    assert_eq!((context.read("/file").unwrap(), file.stream_position()), (b"hellabcc".to_vec(), Ok(7)));
    assert_eq!(write(&append, Some(1), RwFlags::NOAPPEND), Ok(3));
    assert_eq!(write(&append, None, RwFlags::empty()), Ok(3));
    assert_eq!((context.read("/file").unwrap(), append.stream_position()), (b"habcabccabc".to_vec(), Ok(11)));
    assert_eq!(behind.calls().sync, 1);

    let unknown = RwFlags::from_bits_retain(0x200);
    for (flags, errno) in [
        (RwFlags::ATOMIC, Errno::EOPNOTSUPP),
        (RwFlags::DONTCACHE, Errno::EOPNOTSUPP),
        (unknown, Errno::EOPNOTSUPP),
        (RwFlags::APPEND | RwFlags::NOAPPEND | RwFlags::ATOMIC, Errno::EINVAL),
    ] {
        assert_eq!((read(&file, None, flags), write(&file, None, flags)), (Err(errno), Err(errno)), "{flags:?}");
        assert_eq!(file.pwritev2(&[], Some(0), flags), Ok(0), "there is nothing to write");
    }
    assert_eq!(write(&file, None, RwFlags::NOWAIT), Err(Errno::EOPNOTSUPP));
    assert_eq!(read(&file, Some(MAX + 1), unknown), Err(Errno::EINVAL));
    assert_eq!(write(&file, Some(MAX), unknown), Err(Errno::EINVAL));
    let dir = open(&context, "/", OpenFlags::READ);
    assert_eq!(read(&dir, Some(0), RwFlags::HIPRI), Err(Errno::EISDIR));
    assert_eq!(read(&dir, Some(0), RwFlags::SYNC), Err(Errno::EOPNOTSUPP));
    assert_eq!(write(&dir, None, unknown), Err(Errno::EBADF));
    behind.set_flags("/file", StatxFlags::APPEND).unwrap();
    context.vfs().refresh(file.handle()).unwrap();
    assert_eq!(write(&append, Some(1), RwFlags::NOAPPEND), Err(Errno::EPERM));
    assert_eq!(read(&append, Some(1), RwFlags::NOAPPEND), Err(Errno::EPERM));
}

#[test]
fn opening_for_direct_access() {
    let context = root(MemFs::new());
    open(&context, "/file", BOTH | OpenFlags::CREATE | OpenFlags::DIRECT).write(b"odd").unwrap();
    assert_eq!(context.open("/", OpenFlags::READ | OpenFlags::DIRECT).unwrap_err(), Errno::EINVAL);
    assert_eq!(context.open("/file", OpenFlags::PATH | OpenFlags::DIRECT).unwrap_err(), Errno::EINVAL);
    assert_eq!(context.read("/file").unwrap(), b"odd");
}

#[test]
fn ranges_and_file_systems_are_put_on_storage() {
    let context = root(MemFs::new());
    let file = open(&context, "/file", BOTH | OpenFlags::CREATE);
    let place = open(&context, "/file", OpenFlags::PATH);
    let all = SyncFileRange::all();
    assert_eq!(place.sync_file_range(0, 0, all), Err(Errno::EBADF));
    assert_eq!(place.syncfs(), Err(Errno::EBADF));
    assert_eq!(file.sync_file_range(MAX, 1, all), Err(Errno::EINVAL));
    assert_eq!(file.sync_file_range(0, 0, SyncFileRange::from_bits_retain(8)), Err(Errno::EINVAL));
    assert_eq!([file.sync_file_range(0, MAX, all), file.syncfs(), context.syncfs("/file")], [Ok(()); 3]);
    assert_eq!(context.syncfs("/absent"), Err(Errno::ENOENT));
}
