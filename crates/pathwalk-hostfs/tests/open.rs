//! Tests that files and directories of the host, opened through the engine, have the contents that
//! the kernel reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::SeekFrom;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use pathwalk::{Context, Credentials, Errno, FallocateFlags, File, FileType, OpenFlags, OpenHow, Resolve, Vfs};
use pathwalk_hostfs::{Coherence, Descriptors, HostFs};

const READ: OpenHow = OpenHow { flags: OpenFlags::READ, mode: 0, resolve: Resolve::empty() };

fn context(root: &Path, descriptors: Descriptors) -> Context {
    let host = HostFs::open(root).unwrap().with_coherence(Coherence::Frozen).with_descriptors(descriptors);
    Vfs::builder().build(host).unwrap().context(Credentials::root())
}

fn open(context: &Context, path: &str) -> Result<File, Errno> {
    context.open(path, READ)
}

fn names(dir: &File) -> BTreeMap<String, (u64, FileType)> {
    let mut names = BTreeMap::new();
    for entry in dir.getdents(usize::MAX).unwrap() {
        let name = String::from_utf8(entry.name.into()).unwrap();
        assert!(names.insert(name, (entry.ino, entry.kind)).is_none(), "each once");
    }
    names
}

#[test]
fn a_file_is_read_as_the_kernel_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let text: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    fs::create_dir(dir.path().join("d")).unwrap();
    fs::write(dir.path().join("d/f"), &text).unwrap();
    symlink("d/f", dir.path().join("link")).unwrap();
    for descriptors in [Descriptors::AtOpen, Descriptors::AtFirstUse] {
        let context = context(dir.path(), descriptors);
        let file = open(&context, "/link").unwrap();
        let mut buffer = vec![0; 100_000];
        let mut read = Vec::new();
        while let length @ 1.. = file.read(&mut buffer).unwrap() {
            read.extend_from_slice(&buffer[..length]);
        }
        assert!(read == text, "{descriptors:?}");
        assert_eq!(file.read_at(&mut buffer, text.len() as u64 - 3), Ok(3));
        assert_eq!(file.read_at(&mut buffer, 1 << 40), Ok(0));
        let to_write = OpenHow { flags: OpenFlags::WRITE, ..READ };
        assert_eq!(context.open("/d/f", to_write).unwrap_err(), Errno::EROFS);
        assert_eq!(open(&context, "/d/none").unwrap_err(), Errno::ENOENT);
    }
}

#[test]
fn holes_are_where_the_host_has_them() {
    let dir = tempfile::tempdir().unwrap();
    let sparse = fs::File::create(dir.path().join("f")).unwrap();
    sparse.write_all_at(b"far", 1 << 20).unwrap();
    let context = context(dir.path(), Descriptors::AtFirstUse);
    let file = open(&context, "/f").unwrap();
    let host = |to| rustix::fs::seek(&sparse, to).map_err(|error| Errno::from_raw(error.raw_os_error()));
    for offset in [0, 5, 1 << 20, (1 << 20) + 2, (1 << 20) + 3, 1 << 40] {
        assert_eq!(file.seek_data(offset), host(rustix::fs::SeekFrom::Data(offset)), "{offset}");
        assert_eq!(file.seek_hole(offset), host(rustix::fs::SeekFrom::Hole(offset)), "{offset}");
    }
    assert_eq!(file.fallocate(FallocateFlags::empty(), 0, 1), Err(Errno::EBADF));
    let direct = OpenHow { flags: OpenFlags::READ | OpenFlags::DIRECT, ..READ };
    assert_eq!(context.open("/f", direct).unwrap_err(), Errno::EINVAL);
}

#[test]
fn what_the_kernel_has_at_hand_is_read_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "hello").unwrap();
    for descriptors in [Descriptors::AtOpen, Descriptors::AtFirstUse] {
        let file = open(&context(dir.path(), descriptors), "/f").unwrap();
        let mut buffer = [0; 9];
        match file.try_read_at(&mut buffer, 1) {
            Ok(4) => assert_eq!(&buffer[..4], b"ello"),
            // This file system does not support `RWF_NOWAIT`.
            Err(Errno::EAGAIN) => assert_eq!(file.read_at(&mut buffer, 1), Ok(4)),
            other => panic!("{descriptors:?}: {other:?}"),
        }
        assert!(matches!(file.try_read_at(&mut buffer, 5), Ok(0) | Err(Errno::EAGAIN)));
        assert_eq!(file.try_read_at(&mut buffer, u64::MAX), Err(Errno::EINVAL));
    }
}

#[test]
fn a_directory_is_listed_and_known_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..3000 {
        fs::write(dir.path().join(format!("file{number}")), "").unwrap();
    }
    fs::create_dir(dir.path().join("d")).unwrap();
    symlink("d", dir.path().join("l")).unwrap();
    for descriptors in [Descriptors::AtOpen, Descriptors::AtFirstUse] {
        let context = context(dir.path(), descriptors);
        let listed = names(&open(&context, "/").unwrap());
        assert_eq!(listed.len(), 3004);
        for (name, (ino, kind)) in listed.iter().filter(|(name, _)| *name != "..") {
            let metadata = dir.path().join(name).symlink_metadata().unwrap();
            assert_eq!((*ino, kind.mode_bits()), (metadata.ino(), (metadata.mode() & 0o170_000) as u16), "{name}");
        }
        assert_eq!(names(&open(&context, "/d").unwrap()).into_keys().collect::<Vec<_>>(), [".", ".."]);
    }
}

#[test]
fn a_listing_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..200 {
        fs::write(dir.path().join(format!("file{number}")), "").unwrap();
    }
    let context = context(dir.path(), Descriptors::AtOpen);
    let (whole, parts) = (open(&context, "/").unwrap(), open(&context, "/").unwrap());
    let all = whole.getdents(usize::MAX).unwrap();
    let mut one_by_one = Vec::new();
    while one_by_one.len() < all.len() {
        one_by_one.extend(parts.getdents(1).unwrap());
    }
    assert_eq!(one_by_one, all);
    whole.seek(SeekFrom::Start(all[50].cookie)).unwrap();
    assert_eq!(whole.getdents(1).unwrap(), all[51..52]);
}

#[test]
fn what_is_open_never_reads_another_file_in_its_place() {
    for descriptors in [Descriptors::AtOpen, Descriptors::AtFirstUse] {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("file"), dir.path().join("other"));
        fs::write(&file, "right").unwrap();
        fs::write(&other, "wrong").unwrap();
        let context = context(dir.path(), descriptors);
        context.stat("/file").unwrap();
        let held = open(&context, "/file").unwrap();
        fs::rename(&other, &file).unwrap();
        let mut buffer = [0; 5];
        let (first, again) = (held.read_at(&mut buffer, 0), open(&context, "/file"));
        match descriptors {
            Descriptors::AtOpen => {
                assert_eq!((first, &buffer), (Ok(5), b"right"), "it is open");
                let mut other = [0; 5];
                assert_eq!(again.unwrap().read_at(&mut other, 0), Ok(5), "the name is asked about again");
                assert_eq!(&other, b"wrong");
            }
            Descriptors::AtFirstUse => {
                assert_eq!(first, Err(Errno::ESTALE));
                assert_eq!(again.unwrap().read_at(&mut buffer, 0), Err(Errno::ESTALE));
            }
        }
        // A link out of the root replaces the file: it leads nowhere, or the old file is gone.
        fs::remove_file(&file).unwrap();
        symlink("/etc/passwd", &file).unwrap();
        let through = open(&context, "/file").and_then(|file| file.read_at(&mut buffer, 0));
        let gone = if descriptors == Descriptors::AtOpen { Errno::ENOENT } else { Errno::ESTALE };
        assert_eq!(through, Err(gone));
    }
}

#[test]
fn what_is_only_tried_is_read_alike() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "text").unwrap();
    let context = context(dir.path(), Descriptors::AtOpen);
    let cached = OpenHow { resolve: Resolve::CACHED, ..READ };
    assert_eq!(context.open("/file", cached).unwrap_err(), Errno::EAGAIN, "nothing is cached");
    context.stat("/file").unwrap();
    // The first `open` reads the file's list. After that its permissions are known.
    drop(open(&context, "/file").unwrap());
    match context.open("/file", cached) {
        Ok(file) => assert_eq!(file.read(&mut [0; 9]), Ok(4)),
        // Kernels before Linux 5.12 give this answer.
        Err(errno) => assert_eq!(errno, Errno::EAGAIN),
    }
}

/// Checks a walk that closes the directories above the deepest ones and opens them again: it goes
/// on at the cookie that another descriptor reported.
#[test]
fn a_walk_finds_all_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let (mut path, mut made) = (dir.path().to_path_buf(), BTreeSet::new());
    for level in 0..40 {
        for number in 0..20 {
            let file = path.join(format!("{level}-{number}"));
            fs::write(&file, "").unwrap();
            made.insert(file);
        }
        path.push("below");
        fs::create_dir(&path).unwrap();
        made.insert(path.clone());
    }
    let context = context(dir.path(), Descriptors::AtFirstUse);
    let walked: Vec<_> = context.walk("/").unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(walked.len(), made.len(), "each once");
    let here = |path: &PathBuf| dir.path().join(path.strip_prefix("/").unwrap());
    assert_eq!(walked.iter().map(here).collect::<BTreeSet<_>>(), made);
}

#[test]
fn a_file_that_does_not_tell_its_size_is_read_whole() {
    let context = context(Path::new("/proc"), Descriptors::AtFirstUse);
    for name in ["filesystems", "devices"] {
        assert_eq!(context.metadata(name).unwrap().size, 0);
        assert_eq!(context.read(name).unwrap(), fs::read(Path::new("/proc").join(name)).unwrap());
    }
}
