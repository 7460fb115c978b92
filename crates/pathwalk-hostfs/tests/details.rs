//! What the host has of a node beside its attributes: change cookies and generations.

use std::os::fd::AsRawFd;
use std::path::Path;

use pathwalk::{At, Errno, OpenFlags, StatxMask, Vfs};
use pathwalk_hostfs::{Coherence, HostFs, credentials};
use pathwalk_tests::skipped;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// Checks that each change on the host, also within one tick of its clock, moves the cookie, and
/// that a file system without such times has none.
#[test]
fn a_cookie_is_the_time_of_change_where_the_host_moves_it_each_time() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let context = Vfs::builder()
        .build(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive))
        .unwrap()
        .context(credentials().unwrap());
    let cookie = || context.details("/file", StatxMask::CHANGE_COOKIE | StatxMask::SUBVOL).unwrap();
    let (first, details) = cookie();
    let kind_alone = statx(CWD, dir.path(), AtFlags::empty(), StatxFlags::TYPE).unwrap().stx_mask;
    if kind_alone & StatxFlags::CTIME.bits() != 0 {
        assert_eq!(details.change, None);
        return skipped("a change cookie of the host", "its file system has no times of several grains");
    }
    assert!(details.change.is_some());
    assert_eq!(first.mask.contains(StatxMask::SUBVOL), details.subvolume.is_some());
    assert_eq!(cookie().1, details, "nothing has changed");
    let mut last = details.change;
    for round in 0..1000 {
        match round % 2 {
            0 => std::fs::write(dir.path().join("file"), format!("{round}")).unwrap(),
            _ => context.write("/file", format!("{round}")).unwrap(),
        }
        let (found, details) = cookie();
        assert_ne!(details.change, last, "round {round}");
        assert_eq!(found.attributes.size, format!("{round}").len() as u64, "the attributes are no older than the cookie");
        last = details.change;
    }
    let proc = Vfs::builder()
        .build(HostFs::open(Path::new("/proc/self")).unwrap().with_coherence(Coherence::Frozen))
        .unwrap()
        .context(credentials().unwrap());
    assert_eq!(proc.details("/status", StatxMask::CHANGE_COOKIE).unwrap().1.change, None);
}

/// Checks generations beside the host's, on whatever the directory for temporary files is on.
#[test]
fn generations_are_those_of_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "").unwrap();
    let context = Vfs::builder()
        .build(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive))
        .unwrap()
        .context(credentials().unwrap());
    let host = std::fs::File::open(&path).unwrap();
    let mut word = [0u32; 2];
    // SAFETY: `FS_IOC_GETVERSION` writes at most eight bytes, for which there is room.
    let result = unsafe { libc::ioctl(host.as_raw_fd(), 0x8008_7601, &raw mut word) };
    let expected = if result == 0 { Ok(word[0]) } else { Err(Errno::ENOTTY) };
    assert_eq!(context.generation("/file"), expected);
    let file = context.open("/file", OpenFlags::READ).unwrap();
    assert_eq!(file.generation(), expected);
    assert_eq!(file.set_generation(77), Err(Errno::ENOTTY), "nodes are told apart by it");
    assert_eq!(file.generation(), expected);
    std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
    assert_eq!(context.generation_at(At::Cwd, "/link", pathwalk::AtFlags::SYMLINK_NOFOLLOW), Err(Errno::ENOTTY));
}
