//! Tests of a mounted tree through the calls that any program makes.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::common::{Case, names, until};
use pathwalk::{Credentials, Vfs};
use pathwalk_fuse::{CacheTimes, Opens, Options, mount};
use pathwalk_memfs::MemFs;

/// Runs a test with and without times in the kernel's caches, and where it does not tell of opens.
fn each(test: impl Fn(&Case)) {
    let untold = (CacheTimes::FOREVER, Opens::Untold);
    for (times, opens) in [(CacheTimes::NONE, Opens::Told), (CacheTimes::FOREVER, Opens::Told), untold] {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        let Some(case) = Case::of(context, |options| (options.times, options.opens) = (times, opens)) else { return };
        test(&case);
    }
}

#[test]
fn files_are_written_and_read() {
    each(|case| {
        fs::write(case.at("a"), "some text").unwrap();
        assert_eq!(case.context.read("/a").unwrap(), b"some text");
        let mut file = OpenOptions::new().read(true).append(true).open(case.at("a")).unwrap();
        file.write_all(b", and more").unwrap();
        file.seek(SeekFrom::Start(5)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text, and more");
        file.set_len(4).unwrap();
        assert_eq!((fs::read(case.at("a")).unwrap(), file.metadata().unwrap().len()), (b"some".to_vec(), 4));
        file.sync_all().unwrap();
        fs::write(case.at("a"), "new").unwrap();
        assert_eq!(case.context.read("/a").unwrap(), b"new");
    });
}

/// The kernel may know an older end of the file than the file system.
#[test]
fn appends_of_both_sides_stay() {
    each(|case| {
        let mut file = OpenOptions::new().append(true).create(true).open(case.at("log")).unwrap();
        let own = case.context.open("/log", pathwalk::OpenFlags::WRITE | pathwalk::OpenFlags::APPEND).unwrap();
        for round in ["1", "2", "3"] {
            file.write_all(round.as_bytes()).unwrap();
            own.write_at(b"own", 0).unwrap();
        }
        assert_eq!(case.context.read("/log").unwrap(), b"1own2own3own");
    });
}

#[test]
fn much_data_comes_back_as_it_was() {
    each(|case| {
        let data: Vec<u8> = (0..5_000_003_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(case.at("big"), &data).unwrap();
        assert!(case.context.read("/big").unwrap() == data, "written");
        case.context.write("/other", &data).unwrap();
        assert!(fs::read(case.at("other")).unwrap() == data, "read");
        let file = File::options().read(true).write(true).open(case.at("big")).unwrap();
        file.write_all_at(b"xyz", 4_999_999).unwrap();
        let mut end = [0; 10];
        assert_eq!(file.read_at(&mut end, 4_999_999).unwrap(), 4);
        assert_eq!((&end[..3], end[3]), (&b"xyz"[..], data[5_000_002]));
    });
}

#[test]
fn names_are_made_moved_and_removed() {
    each(|case| {
        fs::create_dir_all(case.at("d/e")).unwrap();
        fs::write(case.at("d/e/f"), "f").unwrap();
        fs::rename(case.at("d/e"), case.at("moved")).unwrap();
        assert_eq!(fs::read(case.at("moved/f")).unwrap(), b"f");
        assert!(!case.at("d/e").exists());
        symlink("moved/f", case.at("link")).unwrap();
        assert_eq!(fs::read_link(case.at("link")).unwrap(), Path::new("moved/f"));
        assert_eq!(fs::read(case.at("link")).unwrap(), b"f");
        fs::hard_link(case.at("moved/f"), case.at("hard")).unwrap();
        let (one, other) = (fs::metadata(case.at("hard")).unwrap(), fs::metadata(case.at("moved/f")).unwrap());
        assert_eq!((one.ino(), one.nlink(), other.nlink()), (other.ino(), 2, 2));
        fs::remove_file(case.at("moved/f")).unwrap();
        assert_eq!(fs::metadata(case.at("hard")).unwrap().nlink(), 1);
        assert_eq!(fs::remove_dir(case.dir.path().join("hard")).unwrap_err().raw_os_error(), Some(20));
        fs::remove_dir(case.at("moved")).unwrap();
        assert_eq!(names(case.dir.path()), ["d", "hard", "link"]);
    });
}

#[test]
fn an_open_file_outlives_its_name() {
    each(|case| {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(case.at("a")).unwrap();
        file.write_all(b"text").unwrap();
        fs::remove_file(case.at("a")).unwrap();
        fs::write(case.at("a"), "another").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), file.metadata().unwrap().nlink()), ("text", 0));
        file.set_permissions(Permissions::from_mode(0o600)).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o600);
        assert_ne!(fs::metadata(case.at("a")).unwrap().mode() & 0o7777, 0o600);
    });
}

#[test]
fn long_listings_are_whole_and_go_on_where_they_ended() {
    each(|case| {
        fs::create_dir(case.at("d")).unwrap();
        let mut made: Vec<String> = (0..3_000).map(|number| format!("name-of-file-{number}")).collect();
        for name in &made {
            fs::write(case.at("d").join(name), "").unwrap();
        }
        made.sort();
        assert_eq!(names(&case.at("d")), made);
        // The second time, half of it is in the kernel's caches.
        assert_eq!(names(&case.at("d")), made);
        let found = fs::read_dir(case.at("d")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>();
        assert_eq!(found, 0);
        fs::remove_dir_all(case.at("d")).unwrap();
        assert!(names(case.dir.path()).is_empty());
    });
}

#[test]
fn attributes_are_set_and_told() {
    each(|case| {
        fs::write(case.at("a"), "12345").unwrap();
        fs::set_permissions(case.at("a"), Permissions::from_mode(0o4711)).unwrap();
        std::os::unix::fs::chown(case.at("a"), Some(12), Some(34)).unwrap();
        let found = fs::metadata(case.at("a")).unwrap();
        assert_eq!((found.mode() & 0o7777, found.uid(), found.gid()), (0o711, 12, 34));
        let there = case.context.stat("/a").unwrap();
        assert_eq!((there.mode, there.uid, there.gid, there.ino), (0o711, 12, 34, found.ino()));
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 7);
        File::open(case.at("a")).unwrap().set_modified(then).unwrap();
        assert_eq!(fs::metadata(case.at("a")).unwrap().modified().unwrap(), then);
        assert!(fs::metadata(case.at("a")).unwrap().created().is_ok(), "the time of birth is told");
        let space = rustix::fs::statvfs(case.dir.path()).unwrap();
        assert_eq!(space.f_namemax, 255);
    });
}

#[test]
fn extended_attributes_and_inode_flags_are_kept() {
    use rustix::fs::{IFlags, XattrFlags, getxattr, ioctl_getflags, ioctl_setflags, listxattr, removexattr, setxattr};
    each(|case| {
        let path = case.at("a");
        fs::write(&path, "").unwrap();
        setxattr(&path, "user.key", b"value", XattrFlags::CREATE).unwrap();
        assert_eq!(setxattr(&path, "user.key", b"", XattrFlags::CREATE), Err(rustix::io::Errno::EXIST));
        let mut buffer = [0; 64];
        assert_eq!(getxattr(&path, "user.key", &mut buffer[..]), Ok(5));
        assert_eq!(listxattr(&path, &mut buffer[..]), Ok(9));
        assert_eq!(getxattr(&path, "user.key", &mut buffer[..2]), Err(rustix::io::Errno::RANGE));
        removexattr(&path, "user.key").unwrap();
        assert_eq!(getxattr(&path, "user.key", &mut buffer[..]), Err(rustix::io::Errno::NODATA));
        let file = File::open(&path).unwrap();
        ioctl_setflags(&file, IFlags::IMMUTABLE).unwrap();
        assert_eq!(ioctl_getflags(&file).unwrap() & IFlags::IMMUTABLE, IFlags::IMMUTABLE);
        assert_eq!(fs::write(&path, "x").unwrap_err().raw_os_error(), Some(1));
        ioctl_setflags(&file, IFlags::empty()).unwrap();
        fs::write(&path, "x").unwrap();
    });
}

#[test]
fn holes_and_copies_are_those_of_the_file_system() {
    use rustix::fs::{FallocateFlags, SeekFrom as Place, copy_file_range, fallocate, seek};
    each(|case| {
        let file = File::options().read(true).write(true).create_new(true).open(case.at("a")).unwrap();
        file.write_all_at(b"data", 1 << 20).unwrap();
        assert_eq!(seek(&file, Place::Data(0)), Ok(1 << 20));
        assert_eq!(seek(&file, Place::Hole(0)), Ok(0));
        fallocate(&file, FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE, 1 << 20, 4096).unwrap();
        assert_eq!(seek(&file, Place::Data(0)), Err(rustix::io::Errno::NXIO));
        file.write_all_at(b"data", 0).unwrap();
        let to = File::options().read(true).write(true).create_new(true).open(case.at("b")).unwrap();
        assert_eq!(copy_file_range(file.as_fd(), Some(&mut 0), to.as_fd(), Some(&mut 0), 4), Ok(4));
        assert_eq!(fs::read(case.at("b")).unwrap(), b"data");
    });
}

#[test]
fn a_file_without_a_name_gets_one() {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    each(|case| {
        let file = open(case.dir.path(), OFlags::TMPFILE | OFlags::RDWR, Mode::from_raw_mode(0o644)).unwrap();
        rustix::io::write(&file, b"text").unwrap();
        assert!(names(case.dir.path()).is_empty());
        linkat(&file, "", CWD, case.at("named"), AtFlags::EMPTY_PATH).unwrap();
        assert_eq!(case.context.read("/named").unwrap(), b"text");
    });
}

#[test]
fn all_lookups_are_forgotten_at_the_end() {
    each(|case| {
        for number in 0..500 {
            fs::write(case.at(&format!("f{number}")), "").unwrap();
        }
        let held = case.mounted().pinned();
        assert!(held.nodes >= 400 && held.lookups >= held.nodes, "{held:?}");
        for number in 0..500 {
            fs::remove_file(case.at(&format!("f{number}"))).unwrap();
        }
        // What was removed is forgotten behind the answer.
        until(0, || case.mounted().pinned().nodes);
        let held = case.mounted().pinned();
        assert_eq!((held.nodes, held.lookups, held.open_files), (0, 0, 0));
    });
}

#[test]
fn a_mount_goes_when_it_is_dropped_and_can_be_made_again() {
    let Some(mut case) = Case::new(CacheTimes::FOREVER) else { return };
    fs::write(case.at("a"), "kept").unwrap();
    let open = File::open(case.at("a")).unwrap();
    drop(case.mounted.take());
    assert!(names(case.dir.path()).is_empty());
    let mut text = String::new();
    (&open).read_to_string(&mut text).unwrap();
    assert_eq!(text, "kept", "in use, it goes on");
    drop(open);
    let again = mount(&case.context, case.dir.path(), &Options::default()).unwrap();
    assert_eq!(fs::read(case.at("a")).unwrap(), b"kept");
    again.unmount().unwrap();
    assert!(names(case.dir.path()).is_empty());
}

#[test]
fn what_is_mounted_within_is_there_with_inode_numbers_of_its_own() {
    use pathwalk::MountFlags;
    each(|case| {
        case.context.create_dir("/inner").unwrap();
        case.context.mount(MemFs::new(), "/inner", MountFlags::empty()).unwrap();
        fs::write(case.at("outer-file"), "").unwrap();
        fs::write(case.at("inner/file"), "").unwrap();
        assert_eq!(names(&case.at("inner")), ["file"]);
        let (outer, inner) = (fs::metadata(case.at("outer-file")).unwrap(), fs::metadata(case.at("inner/file")).unwrap());
        assert_ne!(outer.ino(), inner.ino());
        assert_eq!(fs::rename(case.at("outer-file"), case.at("inner/x")).unwrap_err().raw_os_error(), Some(18));
    });
}

#[test]
fn many_threads_at_once() {
    each(|case| {
        std::thread::scope(|scope| {
            for thread in 0..16 {
                scope.spawn(move || {
                    let dir = case.at(&format!("t{thread}"));
                    for round in 0..30 {
                        fs::create_dir(&dir).unwrap();
                        fs::write(dir.join("f"), format!("{thread} {round}")).unwrap();
                        fs::rename(dir.join("f"), dir.join("g")).unwrap();
                        assert_eq!(fs::read_to_string(dir.join("g")).unwrap(), format!("{thread} {round}"));
                        fs::remove_dir_all(&dir).unwrap();
                    }
                });
            }
        });
        assert!(names(case.dir.path()).is_empty());
    });
}

#[test]
fn a_program_that_runs_is_not_taken_its_contents() {
    use rustix::fs::{Mode, OFlags, open};
    each(|case| {
        let program = case.at("sleep");
        fs::copy("/bin/sleep", &program).unwrap();
        let length = fs::metadata(&program).unwrap().len();
        let mut running = std::process::Command::new(&program).arg("30").spawn().unwrap();
        for flags in [OFlags::RDONLY | OFlags::TRUNC, OFlags::WRONLY | OFlags::TRUNC, OFlags::RDWR] {
            assert_eq!(open(&program, flags, Mode::empty()).unwrap_err(), rustix::io::Errno::TXTBSY);
        }
        assert_eq!(case.context.stat("/sleep").unwrap().size, length);
        assert!(running.try_wait().unwrap().is_none(), "it goes on");
        running.kill().unwrap();
        running.wait().unwrap();
    });
}
