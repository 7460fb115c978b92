//! Calls on data and attributes that few programs make, on a mounted tree in memory and on a tmpfs:
//! all answers are equal.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Case;
use pathwalk::{Credentials, Vfs};
use pathwalk_fuse::Opens;
use pathwalk_memfs::MemFs;
use rustix::fs::{
    AtFlags, FallocateFlags, SeekFrom, StatxFlags, StatxTimestamp, Timespec, Timestamps, copy_file_range, fallocate, futimens,
    seek, statx,
};
use rustix::mount::{MountFlags, UnmountFlags};
use tempfile::TempDir;

/// A directory on a tmpfs of its own.
struct Tmpfs(TempDir);

impl Tmpfs {
    /// Mounts one; `None` where that is not allowed.
    fn new() -> Option<Tmpfs> {
        let dir = TempDir::new().unwrap();
        match rustix::mount::mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), c"huge=never") {
            Ok(()) => Some(Tmpfs(dir)),
            Err(error) => {
                eprintln!("skipped: mounting a tmpfs: {error}");
                None
            }
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), UnmountFlags::DETACH);
    }
}

/// Compares the answers on a tmpfs with those on mounted trees.
#[track_caller]
fn compare(ask: fn(&Path) -> Vec<String>) {
    let Some(tmpfs) = Tmpfs::new() else { return };
    let wanted = ask(tmpfs.0.path());
    for opens in [Opens::Told, Opens::Untold] {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        let Some(case) = Case::of(context, |options| options.opens = opens) else { return };
        assert_eq!(ask(case.dir.path()), wanted, "{opens:?}");
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// Returns a file with data, a hole, data, and a hole at the end.
fn with_holes(path: &Path) -> File {
    let file = open(path);
    file.write_all_at(&[1; 9000], 0).unwrap();
    file.write_all_at(&[2; 100], 1 << 20).unwrap();
    file.set_len((1 << 20) + 50_000).unwrap();
    file
}

#[test]
fn data_and_holes_are_found() {
    compare(|dir| {
        let file = with_holes(&dir.join("a"));
        let end = file.metadata().unwrap().len();
        let mut answers = Vec::new();
        for at in
            [0, 1, 4095, 8999, 9000, 12_288, 500_000, (1 << 20) - 1, 1 << 20, (1 << 20) + 5000, end - 1, end, end + 1, u64::MAX]
        {
            answers.push(format!("{at}: {:?} {:?}", seek(&file, SeekFrom::Data(at)), seek(&file, SeekFrom::Hole(at))));
        }
        answers.push(format!("{:?}", seek(open(&dir.join("empty")), SeekFrom::Hole(0))));
        answers.push(format!("{:?}", seek(open(&dir.join("empty")), SeekFrom::Data(0))));
        answers
    });
}

#[test]
fn ranges_are_allocated_and_punched() {
    compare(|dir| {
        let file = with_holes(&dir.join("a"));
        let (keep, punch) = (FallocateFlags::KEEP_SIZE, FallocateFlags::PUNCH_HOLE);
        let mut answers = Vec::new();
        let rows = [
            (FallocateFlags::empty(), 0, 20_000),
            (FallocateFlags::empty(), 3 << 20, 10),
            (keep, 4 << 20, 8192),
            (punch, 0, 4096),
            (punch | keep, 100, 200),
            (punch | keep, 0, 8192),
            (punch | keep, 5000, 1 << 30),
            (FallocateFlags::COLLAPSE_RANGE, 0, 4096),
            (FallocateFlags::INSERT_RANGE, 0, 4096),
            (keep, 0, 0),
            (keep, i64::MAX as u64, 1),
        ];
        for (mode, offset, length) in rows {
            let result = fallocate(&file, mode, offset, length);
            let mut text = vec![9; 10_000];
            let read = file.read_at(&mut text, 0).unwrap();
            let sum: u64 = text[..read].iter().map(|byte| u64::from(*byte)).sum();
            let of = rustix::fs::fstat(&file).unwrap();
            answers.push(format!("{mode:?} {offset} {length}: {result:?}, {} bytes, {} blocks, {sum}", of.st_size, of.st_blocks));
        }
        let reader = File::open(dir.join("a")).unwrap();
        answers.push(format!("{:?}", fallocate(&reader, keep, 0, 1)));
        answers.push(format!("{:?}", fallocate(File::open(dir).unwrap(), keep, 0, 1)));
        answers
    });
}

#[test]
fn ranges_are_copied() {
    compare(|dir| {
        let (from, to) = (with_holes(&dir.join("a")), open(&dir.join("b")));
        let mut answers = Vec::new();
        let mut copy = |from: &File, to: &File, (mut at, mut behind), length| {
            let result = copy_file_range(from, Some(&mut at), to, Some(&mut behind), length);
            let text = fs::read(dir.join("b")).unwrap();
            let sum: u64 = text.iter().map(|byte| u64::from(*byte)).sum();
            answers.push(format!("{result:?}, then {at} and {behind}, {} bytes, {sum}", text.len()));
        };
        let appending = OpenOptions::new().append(true).open(dir.join("b")).unwrap();
        let reader = File::open(dir.join("b")).unwrap();
        copy(&from, &to, (0, 0), 100);
        copy(&from, &to, (8_990, 50), 100);
        copy(&from, &to, (1 << 20, 5000), 60_000);
        copy(&from, &to, (2 << 20, 0), 10);
        copy(&from, &to, (0, 100_000), 0);
        copy(&from, &appending, (0, 0), 10);
        copy(&from, &reader, (0, 0), 10);
        copy(&to, &to, (0, 10), 100);
        copy(&to, &to, (0, 200_000), 100);
        copy(&File::open(dir).unwrap(), &to, (0, 0), 10);
        answers
    });
}

#[test]
fn statx_has_a_time_of_birth_and_says_what_it_knows() {
    compare(|dir| {
        let before = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let file = with_holes(&dir.join("a"));
        fs::create_dir(dir.join("d")).unwrap();
        let all = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let ask = |name: &str, mask| statx(rustix::fs::CWD, dir.join(name), AtFlags::SYMLINK_NOFOLLOW, mask).unwrap();
        let born = |of: StatxTimestamp| (of.tv_sec, i64::from(of.tv_nsec));
        let (birth, now) = (born(ask("a", all).stx_btime), rustix::time::clock_gettime(rustix::time::ClockId::Realtime));
        let mut answers = vec![format!("{}", birth >= (before.tv_sec, before.tv_nsec) && birth <= (now.tv_sec, now.tv_nsec))];
        let long_ago = Timespec { tv_sec: 5, tv_nsec: 6 };
        futimens(&file, &Timestamps { last_access: long_ago, last_modification: long_ago }).unwrap();
        for mask in [all, StatxFlags::BASIC_STATS, StatxFlags::BTIME, StatxFlags::MTIME, StatxFlags::empty()] {
            for name in ["a", "d"] {
                let of = ask(name, mask);
                let known = StatxFlags::from_bits_retain(of.stx_mask) & all;
                let has_birth = known.contains(StatxFlags::BTIME);
                let mtime =
                    (name == "a" && mask.contains(StatxFlags::MTIME)).then_some((of.stx_mtime.tv_sec, of.stx_mtime.tv_nsec));
                answers.push(format!(
                    "{mask:?} of {name}: {:?}, mode {:o}, {} links, {mtime:?}, {} blocks, birth {}",
                    known & mask,
                    of.stx_mode,
                    of.stx_nlink,
                    of.stx_blocks,
                    !mask.contains(StatxFlags::BTIME) || (has_birth && born(of.stx_btime) >= birth),
                ));
            }
        }
        assert_eq!(born(ask("a", all).stx_btime), birth, "it does not move");
        answers
    });
}

/// A sgid bit without a right to execute is not taken from a file by a member of its group. A
/// request does not tell the groups of its caller.
#[test]
fn the_bit_of_a_group_stays_for_its_members() {
    compare(|dir| {
        let mut answers = Vec::new();
        for groups in ["1000", "1005,1000,7", "1001"] {
            let changes = ["truncate -s 5 a", "cp /etc/hostname a", "dd if=/dev/zero of=a bs=1 count=1", "fallocate -l 99 a"];
            for change in changes.into_iter().chain(["truncate -s 5 a x-group", "chgrp 1001 a"]) {
                let (change, mode) = change.strip_suffix(" x-group").map_or((change, 0o2767), |change| (change, 0o2777));
                let path = dir.join("a");
                fs::write(&path, "some text").unwrap();
                chown(&path, Some(1000), Some(1000)).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                // The owner changes the group, to one that it is a member of.
                let user = if change.starts_with("chgrp") { "1000" } else { "1002" };
                let ids = [format!("--reuid={user}"), "--regid=1001".into(), format!("--groups={groups}")];
                let command =
                    Command::new("setpriv").args(ids).args(change.split(' ')).current_dir(dir).stdin(Stdio::null()).output();
                let command = command.unwrap();
                let after = fs::metadata(&path).unwrap().mode();
                answers.push(format!("{groups}, {change}, {mode:o}: {} {after:o}", command.status));
            }
        }
        answers
    });
}

/// Names of attributes that only an administrator sees. A request does not tell the capabilities of
/// its caller.
#[test]
fn trusted_attributes_are_listed_for_administrators() {
    use rustix::fs::{XattrFlags, setxattr};
    compare(|dir| {
        fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
        open(&dir.join("a"));
        for name in ["trusted.b", "security.c", "trusted.d"] {
            setxattr(dir.join("a"), name, b"", XattrFlags::CREATE).unwrap();
        }
        let without = "--inh-caps=-sys_admin --bounding-set=-sys_admin";
        let list = |ids: &str| {
            let ids = ids.split_ascii_whitespace();
            let told = Command::new("setpriv").args(ids).args(["getfattr", "-m", "-", "a"]).current_dir(dir).output().unwrap();
            format!("{} {}", told.status, String::from_utf8_lossy(&told.stdout))
        };
        ["", "--reuid=1000 --clear-groups", without].into_iter().map(list).collect()
    });
}
