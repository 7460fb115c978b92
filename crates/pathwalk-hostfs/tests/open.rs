//! Files and directories of the host, opened through the engine: what is read is what the kernel reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::SeekFrom;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use pathwalk::{At, Context, Credentials, Errno, File, FileType, OpenFlags, OpenHow, Resolve, Vfs};
use pathwalk_hostfs::{Descriptors, HostFs};

const READ: OpenHow = OpenHow { flags: OpenFlags::READ, mode: 0, resolve: Resolve::empty() };

fn context(root: &Path, descriptors: Descriptors) -> Context {
    let host = HostFs::open(root).unwrap().with_descriptors(descriptors);
    Vfs::builder().build(host).unwrap().context(Credentials::root())
}

fn open(context: &Context, path: &str) -> Result<File, Errno> {
    context.open(At::Cwd, path, &READ)
}

fn names(dir: &File) -> BTreeMap<String, (u64, FileType)> {
    let mut names = BTreeMap::new();
    dir.read_dir(|entry| {
        let name = String::from_utf8(entry.name.to_vec()).unwrap();
        assert!(names.insert(name, (entry.ino, entry.kind)).is_none(), "each once");
        ControlFlow::Continue(())
    })
    .unwrap();
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
        assert_eq!(context.open(At::Cwd, "/d/f", &to_write).unwrap_err(), Errno::EROFS);
        assert_eq!(open(&context, "/d/none").unwrap_err(), Errno::ENOENT);
    }
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
            // Where the file system has no such thing.
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
    let mut all = Vec::new();
    whole
        .read_dir(|entry| {
            all.push((entry.name.to_vec(), entry.cookie));
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut one_by_one = Vec::new();
    while one_by_one.len() < all.len() {
        parts
            .read_dir(|entry| {
                one_by_one.push((entry.name.to_vec(), entry.cookie));
                ControlFlow::Break(())
            })
            .unwrap();
    }
    assert_eq!(one_by_one, all);
    whole.seek(SeekFrom::Start(all[50].1)).unwrap();
    let mut next = None;
    whole
        .read_dir(|entry| {
            next = Some(entry.name.to_vec());
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(next.as_ref(), Some(&all[51].0));
}

#[test]
fn another_file_in_its_place_is_never_read() {
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
                assert_eq!(again.unwrap_err(), Errno::ESTALE);
            }
            Descriptors::AtFirstUse => {
                assert_eq!(first, Err(Errno::ESTALE));
                assert_eq!(again.unwrap().read_at(&mut buffer, 0), Err(Errno::ESTALE));
            }
        }
        // A link out of the root in its place.
        fs::remove_file(&file).unwrap();
        symlink("/etc/passwd", &file).unwrap();
        let through = open(&context, "/file").and_then(|file| file.read_at(&mut buffer, 0));
        assert_eq!(through, Err(Errno::ESTALE));
    }
}

#[test]
fn what_is_only_tried_is_read_alike() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "text").unwrap();
    let context = context(dir.path(), Descriptors::AtOpen);
    let cached = OpenHow { resolve: Resolve::CACHED, ..READ };
    assert_eq!(context.open(At::Cwd, "/file", &cached).unwrap_err(), Errno::EAGAIN, "nothing is cached");
    context.stat("/file").unwrap();
    // The right to a file is known once its list was asked for.
    drop(open(&context, "/file").unwrap());
    match context.open(At::Cwd, "/file", &cached) {
        Ok(file) => assert_eq!(file.read(&mut [0; 9]), Ok(4)),
        // Before Linux 5.12.
        Err(errno) => assert_eq!(errno, Errno::EAGAIN),
    }
}
