//! Tests of reading and writing.

use pathwalk_model::{Errno, OpenFlags, OpenHow, Options, Resolve, Whence};

use crate::world::{AT, NOTHING, OK, World, fails};

#[test]
fn sparse_files_and_offsets() {
    let World { model, root } = &mut World::new();
    let file = model.open(root, AT, b"f", OpenFlags::RDWR, 0).unwrap();
    assert_eq!(model.write(root, file, b"ab"), Ok(2));
    assert_eq!(model.seek(root, file, 2, Whence::Current), Ok(4));
    assert_eq!(model.write(root, file, b"e"), Ok(1));
    assert_eq!(model.pread(root, file, 9, 0), Ok(b"ab\0\0e".to_vec()));
    assert_eq!(model.pread(root, file, 9, 7), Ok(Vec::new()));
    assert_eq!(model.seek(root, file, -2, Whence::End), Ok(3));
    assert_eq!(model.read(root, file, 1), Ok(b"\0".to_vec()));
    assert_eq!(model.read(root, file, 9), Ok(b"e".to_vec()));
    assert_eq!(model.ftruncate(root, file, 1), OK);
    assert_eq!(model.ftruncate(root, file, 3), OK);
    assert_eq!(model.pread(root, file, 9, 0), Ok(b"a\0\0".to_vec()));
}

#[test]
fn append() {
    let World { model, root } = &mut World::new();
    let file = model.open(root, AT, b"f", OpenFlags::RDWR | OpenFlags::APPEND, 0).unwrap();
    assert_eq!(model.write(root, file, b"ab"), Ok(2));
    assert_eq!(model.pwrite(root, file, b"c", 0), Ok(1));
    assert_eq!(model.seek(root, file, 0, Whence::Current), Ok(2), "pwrite leaves it");
    assert_eq!(model.pread(root, file, 9, 0), Ok(b"abc".to_vec()));
}

#[test]
fn access_modes() {
    let World { model, root } = &mut World::new();
    for (flags, readable, writable, cuttable) in [
        (OpenFlags::empty(), true, false, false),
        (OpenFlags::WRONLY, false, true, true),
        (OpenFlags::RDWR, true, true, true),
        (OpenFlags::WRONLY | OpenFlags::RDWR, false, false, false),
    ] {
        let file = model.open(root, AT, b"f", flags, 0).unwrap();
        assert_eq!(model.read(root, file, 0).map(|_| ()), if readable { OK } else { fails(Errno::EBADF) }, "{flags:?}");
        assert_eq!(model.write(root, file, b"").map(|_| ()), if writable { OK } else { fails(Errno::EBADF) }, "{flags:?}");
        assert_eq!(model.ftruncate(root, file, 0), if cuttable { OK } else { fails(Errno::EINVAL) }, "{flags:?}");
        assert_eq!(model.fsync(root, file), OK);
    }
    let place = model.open(root, AT, b"f", OpenFlags::PATH, 0).unwrap();
    assert_eq!(model.read(root, place, 0), Err(Errno::EBADF));
    assert_eq!(model.seek(root, place, 0, Whence::Set), Err(Errno::EBADF));
    assert_eq!(model.ftruncate(root, place, 0), Err(Errno::EBADF));
    assert!(model.fstat(root, place).is_ok() && model.fstatfs(root, place).is_ok());
}

#[test]
fn bad_offsets() {
    let World { model, root } = &mut World::new();
    let file = model.open(root, AT, b"f", OpenFlags::RDWR, 0).unwrap();
    assert_eq!(model.pread(root, 99, 0, -1), Err(Errno::EINVAL), "before the descriptor");
    assert_eq!(model.pwrite(root, 99, b"", -1), Err(Errno::EINVAL));
    assert_eq!(model.ftruncate(root, 99, -1), Err(Errno::EINVAL));
    assert_eq!(model.truncate(root, b"nope", -1), Err(Errno::EINVAL));
    assert_eq!(model.seek(root, file, -1, Whence::Set), Err(Errno::EINVAL));
    assert_eq!(model.seek(root, file, i64::MAX, Whence::Set), Ok(i64::MAX as u64));
    assert_eq!(model.seek(root, file, 1, Whence::Current), Err(Errno::EINVAL));
    assert_eq!(model.read(root, file, 4), Err(Errno::EINVAL));
    assert_eq!(model.write(root, file, b"abcd"), Err(Errno::EINVAL));
    assert_eq!(model.write(root, file, b""), Ok(0));
}

#[test]
fn the_largest_file() {
    let World { model, root } = &mut World::with(Options { largest_file: 10, ..Options::default() });
    let file = model.open(root, AT, b"f", OpenFlags::RDWR, 0).unwrap();
    assert_eq!(model.write(root, file, &[b'a'; 15]), Ok(10));
    assert_eq!(model.write(root, file, b"a"), Err(Errno::EFBIG));
    assert_eq!(model.pwrite(root, file, b"", 20), Ok(0));
    assert_eq!(model.ftruncate(root, file, 10), OK);
    assert_eq!(model.ftruncate(root, file, 11), fails(Errno::EFBIG));
    assert_eq!(model.truncate(root, b"f", 11), fails(Errno::EFBIG));
}

#[test]
fn directories() {
    let World { model, root } = &mut World::new();
    let directory = model.open(root, AT, b"d", OpenFlags::DIRECTORY, 0).unwrap();
    assert_eq!(model.read(root, directory, 0), Err(Errno::EISDIR));
    assert_eq!(model.write(root, directory, b""), Err(Errno::EBADF));
    assert_eq!(model.ftruncate(root, directory, 0), fails(Errno::EINVAL));
    assert_eq!(model.truncate(root, b"d", 0), fails(Errno::EISDIR));
    assert_eq!(model.seek(root, directory, 0, Whence::End), Err(Errno::EINVAL));
    assert_eq!(model.seek(root, directory, 5, Whence::Set), Ok(5));
    let entries = model.readdir(root, directory).unwrap();
    assert_eq!(
        entries.iter().map(|entry| (&entry.name[..], entry.file_type)).collect::<Vec<_>>(),
        [(&b"sub"[..], libc::S_IFDIR)]
    );
    let file = model.open(root, AT, b"f", OpenFlags::empty(), 0).unwrap();
    assert_eq!(model.readdir(root, file), Err(Errno::ENOTDIR));
    let place = model.open(root, AT, b"d", OpenFlags::PATH, 0).unwrap();
    assert_eq!(model.readdir(root, place), Err(Errno::EBADF));
}

#[test]
fn unlinked_files_live_until_closed() {
    let World { model, root } = &mut World::new();
    let file = model.open(root, AT, b"f", OpenFlags::RDWR, 0).unwrap();
    let again = 7;
    model.dup2(root, file, again).unwrap();
    model.unlink(root, AT, b"f").unwrap();
    assert_eq!(model.fstat(root, file).unwrap().nlink, 0);
    model.close(root, file).unwrap();
    assert_eq!(model.write(root, again, b"x"), Ok(1));
    assert_eq!(model.open(root, AT, b"d", OpenFlags::empty(), 0), Ok(0), "the lowest free number");
    assert_eq!(model.dup2(root, 99, 1), fails(Errno::EBADF));
    assert_eq!(model.dup2(root, again, -1), fails(Errno::EBADF));
    model.dup2(root, 0, again).unwrap();
    assert_eq!(model.read(root, again, 1), Err(Errno::EISDIR));
    assert_eq!(model.close(root, file), OK);
    assert_eq!(model.close(root, file), fails(Errno::EBADF));
}

#[test]
fn openat2_refuses_what_makes_no_sense() {
    let (tmpfile, tmpfile_bit) = (OpenFlags::TMPFILE, OpenFlags::TMPFILE_BIT);
    let World { model, root } = &mut World::new();
    let none = Resolve::empty();
    for (flags, mode, resolve, expected) in [
        (OpenFlags::CREAT | OpenFlags::DIRECTORY, 0, none, Errno::EINVAL),
        (OpenFlags::empty(), 1, none, Errno::EINVAL),
        (OpenFlags::CREAT, 0o10000, none, Errno::EINVAL),
        (OpenFlags::PATH | OpenFlags::WRONLY, 0, none, Errno::EINVAL),
        (OpenFlags::PATH | OpenFlags::CREAT, 0, none, Errno::EINVAL),
        (tmpfile_bit | OpenFlags::RDWR, 0, none, Errno::EINVAL),
        (tmpfile, 0, none, Errno::EINVAL),
        (tmpfile | OpenFlags::CREAT | OpenFlags::RDWR, 0, none, Errno::EINVAL),
        (OpenFlags::from_bits_retain(1 << 30), 0, none, Errno::EINVAL),
        (OpenFlags::empty(), 0, Resolve::from_bits_retain(0x40), Errno::EINVAL),
        (OpenFlags::CREAT, 0, Resolve::CACHED, Errno::EAGAIN),
        (OpenFlags::TRUNC, 0, Resolve::CACHED, Errno::EAGAIN),
        (tmpfile | OpenFlags::RDWR, 0, Resolve::CACHED, Errno::EAGAIN),
        (OpenFlags::CREAT | OpenFlags::DIRECTORY, 0, Resolve::CACHED, Errno::EINVAL),
        (OpenFlags::empty(), 0, none, Errno::ENAMETOOLONG),
    ] {
        let how = OpenHow { flags, mode, resolve };
        assert_eq!(model.open2(root, AT, &[b'x'; 5000], how), Err(expected), "{how:?}");
    }
    let how = OpenHow { flags: OpenFlags::PATH | OpenFlags::CLOEXEC, ..OpenHow::default() };
    assert!(model.open2(root, AT, b"f", how).is_ok());
    assert!(model.open(root, AT, b"f", OpenFlags::PATH | OpenFlags::WRONLY, 0).is_ok(), "open passes over it");
    assert!(model.stat(root, AT, b"f", NOTHING).is_ok());
}
