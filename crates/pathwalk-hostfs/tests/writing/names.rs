//! Nodes under several names, under none, and under names that move.

use std::fs;
use std::os::unix::fs::symlink;

use pathwalk::{At, AtFlags, Errno, FileType, LinkFlags, OpenFlags};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;

use crate::{common, on, same, writable};

#[test]
fn a_file_without_a_name_lives_while_it_is_open_whatever_the_bound_is() {
    for most in [1, 1000] {
        let dir = tempfile::tempdir().unwrap();
        let context =
            on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive).with_most_descriptors(most));
        let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
        let files: Vec<_> = (0..8).map(|i| context.open(format!("/{i}"), flags).unwrap()).collect();
        files.iter().enumerate().for_each(|(i, file)| assert_eq!(file.write_at(&[i as u8; 3], 0), Ok(3)));
        for i in 0..8 {
            context.unlink(format!("/{i}")).unwrap();
            // The host gives the number away at once, if it may.
            context.write(format!("/{i}"), "other").unwrap();
        }
        for (i, file) in files.iter().enumerate() {
            let mut buffer = [9; 8];
            assert_eq!((file.read_at(&mut buffer, 0), &buffer[..3]), (Ok(3), &[i as u8; 3][..]), "{most}");
            assert_eq!(file.handle().attributes().map(|found| (found.nlink, found.size)), Ok((0, 3)));
            file.set_len(1).unwrap();
            assert_eq!(file.handle().attributes().map(|found| found.size), Ok(1));
        }
        assert_eq!(context.read("/3").unwrap(), b"other");
    }
}

#[test]
fn a_removed_directory_answers_as_long_as_it_is_held() {
    let (_dir, context) = writable();
    context.create_dir("/d").unwrap();
    let handle = context.lookup("/d").unwrap();
    context.rmdir("/d").unwrap();
    assert_eq!(handle.attributes().map(|found| (found.kind, found.nlink)), Ok((FileType::Directory, 0)));
    context.fchmodat(At::Handle(&handle), "", 0o700, AtFlags::EMPTY_PATH).unwrap();
    assert_eq!(handle.attributes().map(|found| found.mode), Ok(0o700));
    assert_eq!(context.mkdirat(&handle, "x", 0o777), Err(Errno::ENOENT));
}

#[test]
fn a_name_that_goes_leaves_the_others() {
    let (_dir, context) = writable();
    context.write("/a", "data").unwrap();
    context.link("/a", "/b").unwrap();
    context.link("/b", "/c").unwrap();
    // Each name was found; the last one found goes first.
    for name in ["/c", "/b"] {
        context.unlink(name).unwrap();
        assert_eq!(context.read("/a").unwrap(), b"data");
    }
    context.link("/a", "/d").unwrap();
    context.rename("/d", "/e").unwrap();
    context.unlink("/a").unwrap();
    assert_eq!(context.stat("/e").map(|found| found.nlink), Ok(1));
    assert_eq!(context.read("/e").unwrap(), b"data");
    context.write("/f", "").unwrap();
    context.rename("/f", "/e").unwrap();
    assert_eq!(context.read("/e").unwrap(), b"");
}

#[test]
fn open_files_move_with_their_directories() {
    let dir = tempfile::tempdir().unwrap();
    let context = on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive).with_most_descriptors(1));
    context.create_dir_all("/a/b").unwrap();
    context.write("/a/b/one", "1").unwrap();
    context.write("/a/b/two", "2").unwrap();
    let files = ["/a/b/one", "/a/b/two"].map(|path| context.open(path, OpenFlags::READ).unwrap());
    context.rename("/a", "/c").unwrap();
    context.rename("/c/b", "/d").unwrap();
    context.rename("/d/two", "/three").unwrap();
    for (file, content) in files.iter().zip([b"1", b"2"]) {
        let mut buffer = [0];
        assert_eq!((file.read_at(&mut buffer, 0), &buffer), (Ok(1), content));
    }
}

#[test]
fn an_unnamed_file_may_get_a_name() {
    let (dir, context) = writable();
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TMPFILE;
    let file = match context.open("/", flags) {
        Err(Errno::EOPNOTSUPP) => return skipped("an_unnamed_file_may_get_a_name", "this file system makes no such files"),
        file => file.unwrap(),
    };
    file.write_at(b"text", 0).unwrap();
    assert_eq!(file.handle().attributes().map(|found| found.nlink), Ok(0));
    context.linkat(At::Handle(file.handle()), "", At::Cwd, "/named", LinkFlags::EMPTY_PATH).unwrap();
    assert_eq!(fs::read(dir.path().join("named")).unwrap(), b"text");
    drop(file);
    same(&context, dir.path(), "/named");
    drop(context.open("/", flags).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn changes_do_not_follow_links() {
    let (dir, root, outside) = common::root_and_outside();
    symlink(&outside, root.join("way")).unwrap();
    symlink(outside.join("secret"), root.join("file")).unwrap();
    let context = on(HostFs::open_writable(&root).unwrap().with_coherence(Coherence::Exclusive));
    assert_eq!(context.write("/way/new", "").unwrap_err().errno(), Errno::ENOENT);
    assert_eq!(context.write("/file", "").unwrap_err().errno(), Errno::ENOENT, "the absolute link leads to a path of the root");
    assert_eq!(context.chmod("/file", 0), Err(Errno::ENOENT));
    context.unlink("/file").unwrap();
    context.unlink("/way").unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    drop(dir);
}

/// A thread asks by the path that the table has while another one moves what is on it: each answer
/// is there, since both go through the `Vfs`.
#[test]
fn what_moves_through_the_vfs_is_found_meanwhile() {
    let (_dir, context) = writable();
    context.create_dir_all("/a/deep/er").unwrap();
    context.create_dir("/b").unwrap();
    context.write("/a/deep/er/file", "text").unwrap();
    let file = context.lookup("/a/deep/er/file").unwrap();
    let directory = context.lookup("/a/deep").unwrap();
    std::thread::scope(|scope| {
        let movers = [("/a/deep", "/b/deep"), ("/a/deep/er/file", "/b/file")].map(|(one, two)| {
            let context = &context;
            scope.spawn(move || {
                for _ in 0..1500 {
                    // One of them is not there, whenever the other thread has moved what is above.
                    let _ = context.rename(one, two).or_else(|_| context.rename(two, one));
                }
            })
        });
        while !movers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert_eq!(file.attributes().map(|found| (found.nlink, found.size)), Ok((1, 4)));
            assert_eq!(directory.attributes().map(|found| found.kind), Ok(FileType::Directory));
            context.vfs().invalidate_subtree(&context.lookup("/").unwrap()).unwrap();
            assert_eq!(context.fstatat(&directory, "er", AtFlags::empty()).map(|found| found.kind), Ok(FileType::Directory));
        }
    });
}
