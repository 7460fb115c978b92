//! What POSIX requires of a branch whose files are its base's: over a base in memory, and over a
//! directory of the host.

use std::io::SeekFrom;

use crate::common::{Ground, names};
use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, AtFlags, Errno, FallocateFlags, HandleFlags, LinkFlags, OpenFlags, RenameFlags, XattrFlags};

#[test]
fn hard_links_stay_one_inode_when_they_are_copied() {
    for ground in Ground::each(|base| {
        base.write("/one", "text").unwrap();
        base.hard_link("/one", "/two").unwrap();
        base.mkdir("/d", 0o755).unwrap();
        base.hard_link("/one", "/d/three").unwrap();
    }) {
        let work = ground.fork(None, "work");
        let before = work.stat("/one").unwrap();
        assert_eq!((before.nlink, before.ino), (3, ground.base.stat("/one").unwrap().ino));
        work.write("/two", "other").unwrap();
        work.hard_link("/d/three", "/four").unwrap();
        for path in ["/one", "/two", "/d/three", "/four"] {
            let now = work.stat(path).unwrap();
            assert_eq!((now.ino, now.nlink, now.size), (before.ino, 4, 5), "{path} on {}", ground.name);
            assert_eq!(work.read_to_string(path).unwrap(), "other");
        }
        work.remove_file("/one").unwrap();
        assert_eq!(work.stat("/two").unwrap().nlink, 3);
        // Caches that have seen nothing find the same.
        assert_eq!(ground.again("work").stat("/d/three").unwrap().ino, before.ino);
        assert_eq!(ground.base.read_to_string("/one").unwrap(), "text");
    }
}

#[test]
fn files_that_are_open_outlive_their_names() {
    for ground in Ground::each(|base| base.write("/file", "text").unwrap()) {
        let work = ground.fork(None, "work");
        let file = work.open("/file", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        let unread = work.open("/file", OpenFlags::READ).unwrap();
        work.remove_file("/file").unwrap();
        assert_eq!(work.stat("/file"), Err(Errno::ENOENT));
        work.write("/file", "another").unwrap();
        let mut buffer = [0; 9];
        assert_eq!((unread.read_at(&mut buffer, 0).unwrap(), &buffer[..4]), (4, &b"text"[..]), "{}", ground.name);
        file.write_at(b" lives", 4).unwrap();
        assert_eq!((unread.read_at(&mut buffer, 1).unwrap(), &buffer), (9, b"ext lives"));
        assert_eq!(file.handle().attributes().unwrap().nlink, 0);
        let fork = ground.fork(Some("work"), "fork");
        assert_eq!(fork.read_to_string("/file").unwrap(), "another");
        assert!(ground.has_stored(7 + 6));
        drop((file, unread));
        assert!(ground.has_stored(7), "what has no name is gone");
        // A file that never had a name, and gets one.
        let unnamed = work.open("/", OpenFlags::WRITE | OpenFlags::TMPFILE).unwrap();
        unnamed.write(b"late").unwrap();
        work.linkat(unnamed.handle(), "", pathwalk::At::Cwd, "/late", LinkFlags::EMPTY_PATH).unwrap();
        drop(unnamed);
        assert_eq!(work.read_to_string("/late").unwrap(), "late");
    }
}

#[test]
fn a_directory_of_the_base_moves_without_what_is_below() {
    for ground in Ground::each(|base| {
        base.create_dir_all("/src/deep/er").unwrap();
        base.write("/src/deep/er/file", "text").unwrap();
        base.mkdir("/to", 0o755).unwrap();
    }) {
        let work = ground.fork(None, "work");
        let before = [work.stat("/src").unwrap().ino, work.stat("/src/deep/er/file").unwrap().ino];
        work.rename("/src", "/to/moved").unwrap();
        let after = [work.stat("/to/moved").unwrap().ino, work.stat("/to/moved/deep/er/file").unwrap().ino];
        assert_eq!(before, after, "{}", ground.name);
        assert_eq!(work.read_to_string("/to/moved/deep/er/file").unwrap(), "text");
        assert_eq!((names(&work, "/"), names(&work, "/to")), (vec!["to".to_owned()], vec!["moved".to_owned()]));
        assert_eq!((work.stat("/to").unwrap().nlink, work.stat("/").unwrap().nlink), (3, 3));
        assert_eq!(ground.branches.diff("work").unwrap().len(), 1, "it is one change");
        assert!(ground.has_stored(0));
        // Below it, and back.
        work.write("/to/moved/deep/new", "more").unwrap();
        work.rename("/to/moved/deep", "/src").unwrap();
        assert_eq!((names(&work, "/src"), names(&work, "/to/moved")), (vec!["er".to_owned(), "new".to_owned()], vec![]));
        assert_eq!(ground.again("work").read_to_string("/src/er/file").unwrap(), "text");
    }
}

#[test]
fn removed_names_are_nowhere_to_be_seen() {
    for ground in Ground::each(|base| {
        base.create_dir_all("/d/sub").unwrap();
        ["a", "b", "c"].into_iter().for_each(|name| base.write(format!("/d/{name}"), name).unwrap());
    }) {
        let work = ground.fork(None, "work");
        let handle = work.name_to_handle("/d/a", HandleFlags::empty());
        work.remove_file("/d/a").unwrap();
        work.rename("/d/b", "/d/e").unwrap();
        assert_eq!(names(&work, "/d"), ["c", "e", "sub"], "{}", ground.name);
        assert_eq!(names(&ground.again("work"), "/d"), ["c", "e", "sub"]);
        for name in ["/d/a", "/d/b"] {
            assert_eq!(work.lstat(name), Err(Errno::ENOENT));
            work.symlink("nowhere", name).unwrap();
            assert_eq!(work.lstat(name).unwrap().size, 7);
            work.remove_file(name).unwrap();
        }
        if let Ok((handle, _)) = handle {
            assert_eq!(work.lookup_by_handle(work.root(), &handle).unwrap_err(), Errno::ESTALE);
        }
        assert_eq!(work.rmdir("/d"), Err(Errno::ENOTEMPTY));
        ["/d/c", "/d/e"].into_iter().for_each(|name| work.remove_file(name).unwrap());
        work.rmdir("/d/sub").unwrap();
        work.rmdir("/d").unwrap();
        assert_eq!(work.stat("/d"), Err(Errno::ENOENT));
        assert_eq!(names(&ground.base, "/d"), ["a", "b", "c", "sub"]);
    }
}

#[test]
fn a_directory_that_was_removed_and_made_again_is_empty() {
    for ground in Ground::each(|base| {
        base.create_dir_all("/d/sub").unwrap();
        base.write("/d/file", "text").unwrap();
    }) {
        let work = ground.fork(None, "work");
        let old = work.stat("/d").unwrap().ino;
        let held = work.lookup("/d").unwrap();
        work.remove_dir_all("/d").unwrap();
        work.mkdir("/d", 0o755).unwrap();
        assert_eq!((names(&work, "/d"), work.stat("/d/file")), (vec![], Err(Errno::ENOENT)), "{}", ground.name);
        assert_ne!(work.stat("/d").unwrap().ino, old);
        assert_eq!(work.stat("/d").unwrap().nlink, 2);
        assert_eq!(work.lookup_at(&held, "file", AtFlags::empty()).unwrap_err(), Errno::ENOENT);
        assert_eq!(work.mkdirat(&held, "new", 0o755), Err(Errno::ENOENT));
        drop(held);
        let fork = ground.fork(Some("work"), "fork");
        assert_eq!(names(&fork, "/d"), Vec::<String>::new());
        // A directory that takes the place of one of the base shows its own names.
        fork.mkdir("/e", 0o755).unwrap();
        fork.write("/e/own", "").unwrap();
        fork.rename("/e", "/d").unwrap();
        assert_eq!(names(&fork, "/d"), ["own"]);
    }
}

#[test]
fn one_byte_at_the_end_of_a_huge_file_copies_nothing() {
    const SIZE: u64 = 10 << 30;
    for ground in Ground::each(|base| {
        base.write("/huge", "begin").unwrap();
        base.truncate("/huge", SIZE).unwrap();
    }) {
        let work = ground.fork(None, "work");
        let file = work.open("/huge", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::APPEND).unwrap();
        file.write(b"!").unwrap();
        assert_eq!(work.stat("/huge").unwrap().size, SIZE + 1, "{}", ground.name);
        assert!(ground.has_stored(1));
        let mut buffer = [7; 8];
        file.read_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"begin\0\0\0");
        assert_eq!((file.read_at(&mut buffer, SIZE - 1).unwrap(), &buffer[..2]), (2, &b"\0!"[..]));
        // Holes of the base are holes.
        assert_eq!(file.seek_hole(0).unwrap(), 4096);
        assert_eq!(file.seek_data(4096).unwrap(), SIZE);
        let blocks = work.stat("/huge").unwrap().blocks;
        assert!(blocks <= 24, "{blocks} blocks");
        // Data in the middle of the base's, and around it.
        work.open("/huge", OpenFlags::WRITE).unwrap().write_at(b"GI", 2).unwrap();
        file.read_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"beGIn\0\0\0");
        assert!(ground.has_stored(3));
        file.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 3).unwrap();
        file.read_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"\0\0\0In\0\0\0");
        // What was cut off does not come back.
        file.set_len(3).unwrap();
        file.set_len(6).unwrap();
        assert_eq!((file.read_at(&mut buffer, 0).unwrap(), &buffer[..6]), (6, &[0; 6][..]));
    }
}

#[test]
fn copies_share_the_data_of_the_base() {
    for ground in Ground::each(|base| base.write("/file", vec![7; 100_000]).unwrap()) {
        let work = ground.fork(None, "work");
        let source = work.open("/file", OpenFlags::READ).unwrap();
        let target = work.open("/copy", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        assert_eq!(source.copy_file_range(Some(5), &target, Some(1), 99_000).unwrap(), 99_000);
        assert!(ground.has_stored(0), "{}", ground.name);
        let copy = work.read("/copy").unwrap();
        assert!(copy.len() == 99_001 && copy[0] == 0 && copy[1..].iter().all(|byte| *byte == 7));
        let clone = work.open("/clone", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        clone.clone_from(&source).unwrap();
        clone.write_at(b"x", 50_000).unwrap();
        assert_eq!(work.read("/file").unwrap(), vec![7; 100_000]);
        assert_eq!(work.read("/clone").unwrap()[50_000], b'x');
        assert!(ground.has_stored(1));
    }
}

#[test]
fn lists_and_extended_attributes_are_copied_with_the_node() {
    for ground in Ground::each(|base| {
        base.write("/file", "").unwrap();
        base.mkdir("/d", 0o755).unwrap();
        base.setxattr("/file", "user.colour", "red", XattrFlags::empty()).unwrap();
        let entry = |tag, grants| AclEntry { tag, grants };
        let list = Acl::new(vec![
            entry(AclTag::Owner, Access::all()),
            entry(AclTag::User(11), Access::READ),
            entry(AclTag::Group, Access::READ),
            entry(AclTag::Mask, Access::READ),
            entry(AclTag::Other, Access::empty()),
        ]);
        // A host's file system may keep no lists.
        _ = base.set_acl("/d", AclKind::Default, Some(&list));
        _ = base.set_acl("/file", AclKind::Access, Some(&list));
    }) {
        let work = ground.fork(None, "work");
        let of_base = |kind, path: &str| ground.base.acl(path, kind).unwrap_or(None);
        for _ in 0..2 {
            assert_eq!(work.getxattr("/file", "user.colour").unwrap(), b"red", "{}", ground.name);
            assert_eq!(work.acl("/file", AclKind::Access).unwrap(), of_base(AclKind::Access, "/file"));
            assert_eq!(work.acl("/d", AclKind::Default).unwrap(), of_base(AclKind::Default, "/d"));
            work.chown("/file", Some(0), Some(5)).unwrap();
            work.write("/d/new", "").unwrap();
        }
        let inherited = work.acl("/d/new", AclKind::Access).unwrap().is_some();
        assert_eq!(inherited, of_base(AclKind::Default, "/d").is_some());
        work.removexattr("/file", "user.colour").unwrap();
        assert_eq!(work.getxattr("/file", "user.colour"), Err(Errno::ENODATA));
        assert_eq!(ground.base.getxattr("/file", "user.colour").unwrap(), b"red");
    }
}

#[test]
fn a_listing_goes_on_at_its_cookies_while_names_come_and_go() {
    for ground in Ground::each(|base| {
        base.mkdir("/d", 0o755).unwrap();
        (0..300).for_each(|at| base.write(format!("/d/base{at}"), "").unwrap());
    }) {
        let work = ground.fork(None, "work");
        (0..300).for_each(|at| work.write(format!("/d/own{at}"), "").unwrap());
        (0..100).for_each(|at| work.remove_file(format!("/d/base{at}")).unwrap());
        let dir = work.open("/d", OpenFlags::READ).unwrap();
        let (mut seen, mut last, mut turn) = (Vec::new(), 0, 0);
        loop {
            // Half of the parts by an open directory of their own, as clients of a server come
            // back.
            let fresh = work.open("/d", OpenFlags::READ).unwrap();
            let dir = if turn % 2 == 0 { &dir } else { &fresh };
            dir.seek(SeekFrom::Start(last)).unwrap();
            let part = dir.getdents(37).unwrap();
            let Some(end) = part.last() else { break };
            last = end.cookie;
            seen.extend(part.into_iter().map(|entry| entry.name));
            work.write(format!("/d/late{turn}"), "").unwrap();
            work.remove_file(format!("/d/base{}", 100 + turn)).unwrap();
            turn += 1;
        }
        let count = |name: String| seen.iter().filter(|seen| ***seen == *name.as_bytes()).count();
        for at in 0..300 {
            assert_eq!(count(format!("own{at}")), 1, "own{at} on {}", ground.name);
            let times = count(format!("base{at}"));
            let expected = if at < 100 {
                0..=0
            } else if at < 100 + turn {
                0..=1
            } else {
                1..=1
            };
            assert!(expected.contains(&times), "base{at} came {times} times");
        }
    }
}

#[test]
fn names_are_exchanged_and_refused_as_the_flags_say() {
    for ground in Ground::each(|base| {
        base.create_dir_all("/d/sub").unwrap();
        base.write("/file", "text").unwrap();
    }) {
        let work = ground.fork(None, "work");
        let rename = |from: &str, to: &str, flags| work.renameat(pathwalk::At::Cwd, from, pathwalk::At::Cwd, to, flags);
        assert_eq!(rename("/file", "/d", RenameFlags::NOREPLACE), Err(Errno::EEXIST), "{}", ground.name);
        rename("/file", "/d/sub", RenameFlags::EXCHANGE).unwrap();
        assert_eq!(work.read_to_string("/d/sub").unwrap(), "text");
        assert_eq!((work.stat("/d").unwrap().nlink, names(&work, "/file").len()), (2, 0));
        assert_eq!(rename("/d", "/file", RenameFlags::empty()), Ok(()), "an empty directory is replaced");
        assert_eq!(names(&ground.again("work"), "/"), ["file"]);
    }
}

#[test]
fn a_handle_is_the_same_before_and_after_the_first_change() {
    for ground in Ground::each(|base| {
        base.mkdir("/d", 0o755).unwrap();
        base.write("/d/file", "text").unwrap();
    }) {
        let work = ground.fork(None, "work");
        let Ok((before, _)) = work.name_to_handle("/d/file", HandleFlags::empty()) else {
            pathwalk_tests::skipped("handles of a branch", "the base has none");
            continue;
        };
        work.rename("/d", "/e").unwrap();
        assert_eq!(ground.again("work").lookup_by_handle(work.root(), &before).map(drop), Err(Errno::EBADF));
        let again = ground.again("work");
        let file = again.open_by_handle(again.root(), &before, OpenFlags::WRITE).unwrap();
        assert_eq!(file.handle().path().unwrap(), b"/e/file", "{}", ground.name);
        file.write(b"more").unwrap();
        assert_eq!(work.name_to_handle("/e/file", HandleFlags::empty()).unwrap().0, before);
        work.write("/new", "").unwrap();
        let (new, _) = work.name_to_handle("/new", HandleFlags::empty()).unwrap();
        let found = again.lookup_by_handle(again.root(), &new).unwrap();
        assert_eq!(found.attributes().unwrap().ino, work.stat("/new").unwrap().ino);
        let paths: Vec<_> = ground.branches.diff("work").unwrap().iter().map(|change| change.path().to_vec()).collect();
        assert_eq!(paths, [&b"/e"[..], b"/e/file", b"/new"]);
    }
}

#[test]
fn a_copy_changes_no_attribute_that_was_not_set() {
    for ground in Ground::each(|base| {
        base.write("/file", "text").unwrap();
        base.mkdir("/d", 0o755).unwrap();
    }) {
        let work = ground.fork(None, "work");
        for path in ["/file", "/d"] {
            let mut before = work.stat(path).unwrap();
            work.chmod(path, 0o700).unwrap();
            let after = work.stat(path).unwrap();
            (before.mode, before.ctime, before.acl) = (0o700, after.ctime, after.acl);
            assert_eq!(after, before, "{path} on {}", ground.name);
        }
    }
}

#[test]
fn a_handle_leads_to_a_directory_that_no_cache_has() {
    for ground in Ground::each(|base| base.create_dir_all("/a/b/c").unwrap()) {
        let work = ground.fork(None, "work");
        let Ok((handle, _)) = work.name_to_handle("/a/b/c", HandleFlags::empty()) else {
            pathwalk_tests::skipped("handles of a branch", "the base has none");
            continue;
        };
        drop(work);
        let work = ground.again("work");
        assert_eq!(work.lookup_by_handle(work.root(), &handle).unwrap().path().unwrap(), b"/a/b/c", "{}", ground.name);
        work.rename("/a/b", "/moved").unwrap();
        let again = ground.again("work");
        assert_eq!(again.lookup_by_handle(again.root(), &handle).unwrap().path().unwrap(), b"/moved/c");
        work.remove_dir_all("/moved").unwrap();
        let again = ground.again("work");
        assert_eq!(again.lookup_by_handle(again.root(), &handle).unwrap_err(), Errno::ESTALE);
    }
}

#[test]
fn a_copy_of_a_hole_of_the_base_is_written() {
    for ground in Ground::each(|base| {
        base.write("/sparse", "").unwrap();
        base.truncate("/sparse", 5000).unwrap();
    }) {
        let work = ground.fork(None, "work");
        let file = work.open("/sparse", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        assert_eq!(file.copy_file_range(Some(4097), &file, Some(0), 4095).unwrap(), 903, "on {}", ground.name);
        assert_eq!(file.seek_hole(0).unwrap(), 4096, "on {}", ground.name);
    }
}
