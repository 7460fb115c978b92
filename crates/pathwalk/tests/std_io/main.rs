//! Files through the traits of the standard library, in generic code.

mod like_std;
mod stingy;

use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, IoSlice, IoSliceMut, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use pathwalk::{Context, Credentials, Errno, File, OpenFlags, OpenHow, Vfs};
use pathwalk_memfs::{MemFs, Options};

use stingy::Stingy;

const RW: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE);
const LOG: OpenFlags = OpenFlags::WRITE.union(OpenFlags::APPEND);

fn memfs() -> Context {
    Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap().context(Credentials::root())
}

fn open(context: &Context, path: &str, flags: OpenFlags) -> File {
    let how = OpenHow { flags: flags | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    context.open(path, how).unwrap()
}

/// Returns some text of so many bytes.
fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| if at % 41 == 40 { b'\n' } else { b'a' + (at % 23) as u8 }).collect()
}

/// Creates a file system whose reads and writes are of a few bytes, or interrupted.
fn stingy() -> (Stingy, Context) {
    let fs = Stingy::default();
    let context = Vfs::builder().budget(1 << 20).build(fs.clone()).unwrap().context(Credentials::root());
    (fs, context)
}

fn existing(context: &Context, flags: OpenFlags) -> File {
    context.open("/f", flags).unwrap()
}

#[test]
fn all_is_written_with_the_rights_of_another_user() {
    let (fs, context) = stingy();
    let (file, user, wanted) = (existing(&context, RW), Credentials::user(5, 5, &[]), text(1000));
    file.by(&user).write_all(&wanted[..500]).unwrap();
    io::copy(&mut &wanted[500..], &mut file.by(&user)).unwrap();
    assert!(fs.data() == wanted && fs.calls() > 200);

    let context = memfs();
    let file = open(&context, "/suid", RW);
    context.chmod("/suid", 0o6777).unwrap();
    file.by(&Credentials::root()).write_all(b"kept").unwrap();
    assert_eq!(context.stat("/suid").unwrap().mode, 0o6777);
    file.by(&user).write_all(b"cleared").unwrap();
    assert_eq!(context.stat("/suid").unwrap().mode, 0o777);
}

#[test]
fn all_is_written_and_read_where_the_file_system_takes_and_gives_little() {
    let (fs, context) = stingy();
    let (file, wanted) = (existing(&context, RW), text(1000));
    file.write_all(&wanted[..500]).unwrap();
    Write::write_all(&mut &file, &wanted[500..]).unwrap();
    assert!(fs.data() == wanted && fs.calls() > 200);
    assert_eq!(Seek::stream_position(&mut &file).unwrap(), 1000);

    file.rewind().unwrap();
    let mut read = Vec::new();
    assert_eq!((&file).read_to_end(&mut read).unwrap(), 1000);
    assert_eq!(read, wanted);
    let mut exact = [0; 100];
    FileExt::read_exact_at(&file, &mut exact, 700).unwrap();
    assert_eq!(exact, wanted[700..800]);
    assert_eq!(file.read_exact_at(&mut exact, 901).unwrap_err().kind(), ErrorKind::UnexpectedEof);

    file.write_all_at(&wanted[..100], 900).unwrap();
    FileExt::write_all_at(&file, &wanted[..100], 1000).unwrap();
    assert!(fs.data()[900..] == [&wanted[..100], &wanted[..100]].concat());
}

#[test]
fn all_is_copied_and_read_by_lines() {
    let (fs, context) = stingy();
    let mut file = existing(&context, RW);
    let wanted = text(2000);
    assert_eq!(io::copy(&mut &wanted[..], &mut file).unwrap(), 2000);
    assert!(fs.data() == wanted);
    file.rewind().unwrap();
    let lines: Vec<String> = BufReader::with_capacity(7, &file).lines().collect::<Result<_, _>>().unwrap();
    assert_eq!(lines, str::from_utf8(&wanted).unwrap().lines().collect::<Vec<_>>());

    let other = memfs();
    let to = open(&other, "/g", RW);
    file.rewind().unwrap();
    let mut buffered = BufWriter::with_capacity(64, &to);
    assert_eq!(io::copy(&mut file, &mut buffered).unwrap(), 2000);
    buffered.flush().unwrap();
    drop(buffered);
    assert_eq!(other.stat("/g").unwrap().size, 2000);
    write!(&to, "{}-{}", 1, 2).unwrap();
    let mut end = [0; 3];
    to.read_exact_at(&mut end, 2000).unwrap();
    assert_eq!(&end, b"1-2");
}

#[test]
fn what_finds_no_room_is_an_error_and_what_did_stays() {
    let fs = MemFs::with(Options::default().max_bytes(8192));
    let context = Vfs::builder().budget(1 << 20).build(fs).unwrap().context(Credentials::root());
    let file = open(&context, "/f", RW);
    assert_eq!(file.write(&text(20_000)), Ok(8192));
    file.set_len(0).unwrap();
    file.rewind().unwrap();
    assert_eq!(file.write_all(&text(20_000)), Err(Errno::ENOSPC));
    assert_eq!(Write::write_all(&mut &file, b"x").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.write_all_at(&[0; 2], 8191), Err(Errno::ENOSPC));
    assert_eq!(file.stream_position().unwrap(), 8192);
    let mut read = Vec::new();
    file.rewind().unwrap();
    (&file).read_to_end(&mut read).unwrap();
    assert!(read.len() == 8192 && read[..8191] == text(20_000)[..8191]);
}

#[test]
fn errors_keep_their_numbers() {
    let context = memfs();
    let log = open(&context, "/f", LOG);
    let dir = context.open("/", OpenFlags::READ).unwrap();
    let place = context.open("/f", OpenFlags::PATH).unwrap();
    let number = |result: io::Result<usize>| Errno::from(result.unwrap_err());
    assert_eq!(number(Read::read(&mut &log, &mut [0])), Errno::EBADF);
    assert_eq!(number(Read::read_vectored(&mut &log, &mut [])), Errno::EBADF);
    assert_eq!(number((&dir).read_to_end(&mut Vec::new())), Errno::EISDIR);
    assert_eq!(number(Read::read_vectored(&mut &dir, &mut [IoSliceMut::new(&mut [0])])), Errno::EISDIR);
    assert_eq!(number(Write::write(&mut &dir, b"x")), Errno::EBADF);
    assert_eq!((place.rewind(), place.stream_position()), (Err(Errno::EBADF), Err(Errno::EBADF)));
    assert_eq!(Seek::stream_position(&mut &place).unwrap_err().raw_os_error(), Some(9));
    assert_eq!(number(FileExt::read_at(&dir, &mut [0], u64::MAX)), Errno::EINVAL);
    assert_eq!(dir.read_vectored_at(&mut [], u64::MAX), Err(Errno::EINVAL));
    (&log).flush().unwrap();
}

/// What is written by one call is asked for by one.
#[test]
fn buffers_are_written_as_one() {
    let (fs, context) = stingy();
    fs.be_generous();
    let (log, file) = (existing(&context, LOG), existing(&context, RW));
    let parts = [&b"one "[..], b"", b"two ", b"three"].map(IoSlice::new);
    assert_eq!((log.write_vectored(&parts), fs.calls()), (Ok(13), 1));
    assert_eq!((Write::write_vectored(&mut &log, &parts[..1]).unwrap(), fs.calls()), (4, 2));
    assert_eq!((log.write_vectored(&[]), log.write_vectored(&parts[1..2]), fs.calls()), (Ok(0), Ok(0), 2));
    assert_eq!((file.write_vectored_at(&parts, 1), fs.calls()), (Ok(13), 3));
    assert_eq!(fs.data(), b"oone two threene ");
}

#[test]
fn buffers_are_filled_until_a_read_is_short() {
    let (fs, context) = stingy();
    fs.be_generous();
    let file = existing(&context, RW);
    file.write_all(b"0123456789").unwrap();
    let (mut a, mut b, mut c) = ([0; 3], [0; 4], [0; 5]);
    let mut buffers = [&mut a[..], &mut [], &mut b, &mut c].map(IoSliceMut::new);
    file.seek(io::SeekFrom::Start(1)).unwrap();
    assert_eq!((file.read_vectored(&mut buffers), file.stream_position()), (Ok(9), Ok(10)));
    assert_eq!((&a, &b, &c), (b"123", b"4567", b"89\0\0\0"));
    let mut buffers = [&mut a[..], &mut b].map(IoSliceMut::new);
    assert_eq!((file.read_vectored_at(&mut buffers, 8), &a), (Ok(2), b"893"));

    fs.be_stingy();
    let mut buffers = [&mut b[..], &mut c].map(IoSliceMut::new);
    let read = loop {
        match file.read_vectored_at(&mut buffers, 0) {
            Err(Errno::EINTR) => {}
            read => break read,
        }
    };
    assert_eq!((read, b[..3].as_ref(), c[0]), (Ok(3), &b"012"[..], b'8'), "a short read ends it");
}

/// Readers of the standard library panic where more is said to be read than there is room.
#[test]
fn more_than_was_asked_for_is_eio() {
    let (fs, context) = stingy();
    let file = existing(&context, RW);
    fs.lie();
    let mut room = [0; 4];
    assert_eq!((file.read(&mut room), file.read_at(&mut room, 0)), (Err(Errno::EIO), Err(Errno::EIO)));
    assert_eq!(file.try_read_at(&mut room, 0), Err(Errno::EIO));
    assert_eq!((file.write(b"four"), file.write_at(b"four", 0)), (Err(Errno::EIO), Err(Errno::EIO)));
    assert_eq!(file.read_vectored_at(&mut [IoSliceMut::new(&mut room)], 0), Err(Errno::EIO));
    assert!((&file).read_to_end(&mut Vec::new()).is_err() && BufReader::new(&file).lines().next().unwrap().is_err());
    assert_eq!(file.stream_position(), Ok(0));
}

#[test]
fn a_file_system_that_takes_nothing_is_no_endless_loop() {
    let (fs, context) = stingy();
    fs.take_nothing();
    let file = existing(&context, RW);
    assert_eq!((file.write_all(b"x"), file.write_all_at(b"x", 0)), (Err(Errno::EIO), Err(Errno::EIO)));
    assert_eq!(Write::write_all(&mut &file, b"x").unwrap_err().kind(), ErrorKind::WriteZero);
}

/// To ask for the position moves nothing: the listing is still one from the beginning to the end.
#[test]
fn a_listing_goes_on_when_its_position_was_asked_for() {
    let fs = MemFs::new();
    fs.mkdir("/d", 0o755).unwrap();
    fs.file("/d/a", 0o644).unwrap();
    fs.file("/d/b", 0o644).unwrap();
    let context = Vfs::builder().budget(1 << 20).build(fs).unwrap().context(Credentials::root());
    let dir = context.open("/d", OpenFlags::READ).unwrap();
    let list = |at_most| dir.getdents(at_most).unwrap().last().map(|entry| entry.cookie);
    assert_eq!((dir.stream_position(), list(1)), (Ok(0), Some(1)));
    for _ in 0..2 {
        let behind = list(1);
        assert_eq!(dir.stream_position().ok(), behind);
        assert_eq!(Seek::stream_position(&mut &dir).ok(), behind);
    }
    list(usize::MAX);
    let asked = context.vfs().stats().fs_lookups;
    assert_eq!((context.stat("/d/c"), context.vfs().stats().fs_lookups), (Err(Errno::ENOENT), asked), "all names are known");
}
