//! Tests of `pathwalk umount`, as its users run it. They are skipped where mounting is not
//! possible.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Output;

use crate::common::mounts::{Point, Served};
use crate::common::{pathwalk, refused};
use rustix::process::Signal;

fn umount(point: &Point, options: &[&str]) -> Output {
    pathwalk().arg("umount").args(options).arg(point.path()).output().unwrap()
}

/// Unmounts what this process does not use. A process that another test is just starting has all
/// files of this one for a moment, so a mount in use is tried again.
fn unmounted(point: &Point) {
    loop {
        let output = umount(point, &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if !errors.contains("is in use") {
            assert_eq!((output.status.code(), point.mounted()), (Some(0), None), "{errors}");
            return;
        }
    }
}

#[test]
fn it_waits_until_the_program_has_ended() {
    for _ in 0..5 {
        let point = Point::new();
        let Some(mut served) = Served::start("unmounting", "mem", &point, &[]) else { return };
        fs::write(point.at("file"), "text").unwrap();
        unmounted(&point);
        // What is left is the end of the process itself.
        assert_eq!(served.ended().code(), Some(0));
    }
}

#[test]
fn what_is_in_use_stays_or_goes() {
    let point = Point::new();
    let Some(mut served) = Served::start("unmounting in use", "mem", &point, &[]) else { return };
    fs::write(point.at("file"), "text").unwrap();
    let open = fs::File::open(point.at("file")).unwrap();
    let output = umount(&point, &[]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && errors.contains("--lazy"), "{errors}");
    assert!(point.mounted().is_some());
    assert_eq!(umount(&point, &["--lazy"]).status.code(), Some(0));
    assert_eq!((point.mounted(), open.metadata().unwrap().len()), (None, 4));
    drop(open);
    assert_eq!(served.ended().code(), Some(0));
}

#[test]
fn a_mount_whose_program_was_killed_is_removed() {
    let point = Point::new();
    let Some(mut served) = Served::start("removing a dead mount", "mem", &point, &[]) else { return };
    let device = fs::metadata(point.path()).unwrap().dev();
    let socket = format!("/run/pathwalk/{}-{}.sock", rustix::fs::major(device), rustix::fs::minor(device));
    let is_root = rustix::process::geteuid().is_root();
    served.signal(Signal::KILL);
    served.ended();
    assert_eq!(fs::exists(&socket).unwrap(), is_root);
    unmounted(&point);
    assert!(!fs::exists(&socket).unwrap(), "the socket of the killed program");
    let Some(mut again) = Served::start("removing a dead mount", "mem", &point, &[]) else { return };
    unmounted(&point);
    assert_eq!(again.ended().code(), Some(0));
}

#[test]
fn relative_places_and_links_are_found() {
    let point = Point::new();
    for at in ["x", "link", "x/", "./x"] {
        let inner = point.at("x");
        fs::create_dir_all(&inner).unwrap();
        let _ = std::os::unix::fs::symlink("x", point.at("link"));
        let mut command = pathwalk();
        command.args(["mount", "-f", "mem", "x"]).current_dir(point.path());
        let Some(mut served) = Served::run("a relative place", &mut command) else { return };
        let output = pathwalk().args(["umount", at]).current_dir(point.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{at}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(served.ended().code(), Some(0));
    }
}

#[test]
fn what_is_no_mount_of_pathwalk_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refused(&["umount".as_ref(), dir.path().as_ref()]).contains("nothing is mounted"));
    assert!(refused(&["umount".as_ref(), OsStr::new("/proc")]).contains("is proc, and no tree of pathwalk"));
    assert!(refused(&["umount".as_ref(), OsStr::new("/no/such/place")]).contains("nothing is mounted"));
}
