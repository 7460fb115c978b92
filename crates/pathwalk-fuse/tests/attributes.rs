//! Changes of attributes that the kernel does not see, or for which it has no words.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::time::Duration;

use common::Case;
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
