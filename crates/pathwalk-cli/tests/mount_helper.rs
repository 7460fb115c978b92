//! Tests of the program under the name `mount.fuse.pathwalk`: called as `mount(8)` does, and by
//! `mount(8)`. They are skipped where mounting is not possible.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::mounts::{Point, is_possible};
use pathwalk_tests::skipped;

/// The place where `mount(8)` searches.
const LINK: &str = "/sbin/mount.fuse.pathwalk";

fn helper(dir: &Path, args: &[&str], point: &Point) -> Output {
    let link = dir.join("mount.fuse.pathwalk");
    let _ = symlink(env!("CARGO_BIN_EXE_pathwalk"), &link);
    Command::new(link).arg("mem").arg(point.path()).args(args).env("PATH", "").output().unwrap()
}

#[test]
fn arguments_are_those_of_mount() {
    let (dir, point) = (tempfile::tempdir().unwrap(), Point::new());
    let output = helper(dir.path(), &["-o", "rw,frob"], &point);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && errors.contains("there is no option \"frob\""), "{errors}");
    let output = helper(dir.path(), &["-f", "-o", "rw,frob"], &point);
    assert_eq!((output.status.code(), point.mounted()), (Some(2), None));
    let output = helper(dir.path(), &["-f", "-o", "rw"], &point);
    assert_eq!((output.status.code(), point.mounted()), (Some(0), None));
    let output = helper(dir.path(), &["-svn", "-o", "rw,frob,size=1M"], &point);
    if !is_possible("mounting as mount(8) does", &output) {
        return;
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("mem is mounted on {}\n", point.path().display()));
    assert!(point.mounted().unwrap().starts_with("rw,"));
}

/// The link in /sbin, which is removed at the end.
struct Link;

impl Drop for Link {
    fn drop(&mut self) {
        let _ = fs::remove_file(LINK);
    }
}

#[test]
fn mount_and_fstab_find_the_program() {
    let what = "mount(8) and fstab(5)";
    if !rustix::process::geteuid().is_root() {
        return skipped(what, "it needs root");
    }
    if let Err(error) = symlink(env!("CARGO_BIN_EXE_pathwalk"), LINK) {
        return skipped(what, &format!("{LINK}: {error}"));
    }
    let _link = Link;
    let (host, point) = (tempfile::tempdir().unwrap(), Point::new());
    fs::write(host.path().join("file"), "text").unwrap();
    let output =
        Command::new("mount").args(["-t", "fuse.pathwalk", "mem"]).arg(point.path()).args(["-o", "noexec,size=1M"]).output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return skipped(what, &format!("mount: {error}")),
    };
    if !is_possible(what, &output) {
        return;
    }
    assert!(point.mounted().unwrap().contains("noexec"));
    assert!(Command::new("umount").arg(point.path()).status().unwrap().success());
    let fstab = host.path().join("fstab");
    let line = format!(
        "host:{} {} fuse.pathwalk ro,noauto,nofail,allow_other,x-test.note=1,user 0 0\n",
        host.path().display(),
        point.path().display()
    );
    fs::write(&fstab, line).unwrap();
    let output = Command::new("mount").arg("--fstab").arg(&fstab).arg(point.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(point.at("file")).unwrap(), b"text");
    let options = point.mounted().unwrap();
    assert!(options.starts_with("ro,nosuid,nodev,noexec") && options.contains("allow_other"), "{options}");
    let output =
        Command::new("mount").args(["-t", "fuse.pathwalk", "mem"]).arg(point.path()).args(["-o", "frob"]).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("frob"));
}
