//! Changes of attributes that the kernel does not see, or for which it has no words.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::time::Duration;

use crate::common::Case;
use pathwalk_fuse::CacheTimes;
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// Returns the time of change of an open file.
fn ctime(of: &File) -> (i64, i64) {
    let of = of.metadata().unwrap();
    (of.ctime(), of.ctime_nsec())
}

#[test]
fn flags_that_are_set_are_a_change_that_is_seen_at_once() {
    let Some(case) = Case::new(CacheTimes::FOREVER) else { return };
    let file = File::create(case.at("f")).unwrap();
    for _ in 0..20 {
        let before = ctime(&file);
        // The clock of the file system is as coarse as the kernel's.
        std::thread::sleep(Duration::from_millis(15));
        ioctl_setflags(&file, ioctl_getflags(&file).unwrap() ^ IFlags::NODUMP).unwrap();
        assert!(ctime(&file) > before);
    }
}

#[test]
fn a_chown_without_ids_takes_suid_and_sgid_bits() {
    let Some(case) = Case::new(CacheTimes::FOREVER) else { return };
    fs::create_dir(case.at("d")).unwrap();
    for (name, set, left) in [("f", 0o6755, 0o755), ("g", 0o2745, 0o2745), ("d", 0o6755, 0o6755)] {
        let path = case.at(name);
        if name != "d" {
            fs::write(&path, "text").unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(set)).unwrap();
        let before = ctime(&File::open(&path).unwrap());
        std::thread::sleep(Duration::from_millis(15));
        chown(&path, None, None).unwrap();
        let of = fs::metadata(&path).unwrap();
        assert_eq!(of.mode() & 0o7777, left, "{name}");
        assert!((of.ctime(), of.ctime_nsec()) > before, "{name}");
    }
}

#[test]
fn a_directory_that_was_moved_lists_its_new_parent() {
    let Some(case) = Case::new(CacheTimes::FOREVER) else { return };
    let parent = |path: &str| {
        let dir = rustix::fs::Dir::read_from(File::open(case.at(path)).unwrap()).unwrap();
        // The kernel keeps a listing that was read to its end.
        let all: Vec<_> = dir.map(Result::unwrap).collect();
        all.iter().find(|entry| entry.file_name() == c"..").unwrap().ino()
    };
    for dir in ["a", "b", "a/d", "b/e"] {
        fs::create_dir(case.at(dir)).unwrap();
    }
    let [a, b] = ["a", "b"].map(|path| fs::metadata(case.at(path)).unwrap().ino());
    for _ in 0..20 {
        assert_eq!((parent("a/d"), parent("a/d")), (a, a));
        fs::rename(case.at("a/d"), case.at("b/d")).unwrap();
        assert_eq!((parent("b/d"), parent("b/e")), (b, b));
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        fs::create_dir(case.at("a/d")).unwrap();
        assert_eq!(parent("a/d"), a);
        rustix::fs::renameat_with(rustix::fs::CWD, case.at("a/d"), rustix::fs::CWD, case.at("b/e"), flags).unwrap();
        assert_eq!((parent("a/d"), parent("b/e")), (a, b));
        fs::remove_dir(case.at("a/d")).unwrap();
        fs::rename(case.at("b/d"), case.at("a/d")).unwrap();
    }
}
