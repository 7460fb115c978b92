//! Data and sizes of files, and the rights and capabilities that a change of them removes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pathwalk::{At, AtFlags, Credentials, Errno, OpenFlags, OpenOptions, SetTime, XattrFlags};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;

use crate::common::{on_ext4, on_tmpfs};
use crate::{OpenWithMode, on, same, writable};

#[test]
fn data_goes_to_the_host() {
    let (dir, context) = writable();
    let at = dir.path().join("file");
    let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(file.write_at(b"hello", 2), Ok(5));
    assert_eq!(fs::read(&at).unwrap(), b"\0\0hello");
    let end = OpenOptions::new().append(true).open(&context, "/file").unwrap();
    fs::write(&at, "abc").unwrap();
    assert_eq!((end.write(b"def"), end.stream_position()), (Ok(3), Ok(6)));
    file.set_len(5).unwrap();
    assert_eq!(fs::read(&at).unwrap(), b"abcde");
    let copy = context.open("/copy", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    assert_eq!(file.copy_file_range(Some(1), &copy, Some(0), 3), Ok(3));
    assert_eq!(file.copy_file_range(Some(0), &file, Some(5), 2), Ok(2), "within a file");
    file.sync(pathwalk::SyncWhat::All).unwrap();
    assert_eq!(context.read("/copy").unwrap(), b"bcd");
    assert_eq!(context.read("/file").unwrap(), b"abcdeab");
    same(&context, dir.path(), "/file");
    // A write that is refused leaves the bits of the file.
    context.chmod("/copy", 0o6777).unwrap();
    let user = context.clone().with_credentials(Credentials::user(4, 5, &[]));
    let copy = user.open("/copy", OpenFlags::WRITE).unwrap();
    let refused = copy.write_at(b"x", 1 << 62);
    let mode = if refused.is_ok() { 0o777 } else { 0o6777 };
    assert_eq!((context.stat("/copy").unwrap().mode, refused.err().unwrap_or(Errno::EFBIG)), (mode, Errno::EFBIG));
    // A mode that permits nothing, and the file is open nevertheless.
    let closed = context.openat_mode("/closed", 0);
    assert_eq!(closed.write(b"x"), Ok(1));
}

#[test]
fn what_may_only_grow_grows_and_what_became_immutable_is_written_on() {
    let (dir, context) = writable();
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    let before = context.open("/file", flags).unwrap();
    if let Err(errno) = context.set_inode_flags("/file", pathwalk::InodeFlags::APPEND) {
        let why = format!("this file system keeps no flags, or this is not root ({errno})");
        return skipped("what_may_only_grow_grows_and_what_became_immutable_is_written_on", &why);
    }
    assert_eq!(before.write_at(b"12", 0), Ok(2));
    drop(before);
    assert_eq!(context.open("/file", OpenFlags::WRITE).unwrap_err(), Errno::EPERM);
    let file = OpenOptions::new().append(true).open(&context, "/file").unwrap();
    assert_eq!(file.write(b"3"), Ok(1));
    context.utimensat(At::Cwd, "/file", SetTime::Now, SetTime::Now, AtFlags::empty()).unwrap();
    context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
    // The descriptor that appends is not used for another open file.
    let other = context.open("/file", OpenFlags::WRITE).unwrap();
    assert_eq!(other.write_at(b"x", 0), Ok(1));
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"x23");

    context.chmod("/file", 0o2770).unwrap();
    let user = context.clone().with_credentials(Credentials::user(0, 5, &[]).with_capabilities(pathwalk::Capabilities::empty()));
    let held = user.open("/file", OpenFlags::WRITE).unwrap();
    context.set_inode_flags("/file", pathwalk::InodeFlags::IMMUTABLE).unwrap();
    // A tmpfs permits it to those that opened the file before, and ext4 does not.
    match held.set_len(1) {
        Err(errno) => assert_eq!(errno, Errno::EPERM),
        Ok(()) => {
            assert_eq!(held.write_at(b"yz", 0), Ok(2));
            assert_eq!(context.stat("/file").map(|found| (found.mode, found.size)), Ok((0o770, 2)));
        }
    }
    same(&context, dir.path(), "/file");
    assert_eq!(context.truncate("/file", 0), Err(Errno::EPERM));
    context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
}

/// Checks a size that stays, for a caller whose change clears the bits: a tmpfs leaves all times.
#[test]
fn a_size_that_stays_leaves_the_times_and_takes_the_bits() {
    on_tmpfs("a_size_that_stays_leaves_the_times_and_takes_the_bits", "mode=755", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        context.write("/file", "").unwrap();
        context.chown("/file", Some(1000), Some(1000)).unwrap();
        context.chmod("/file", 0o4777).unwrap();
        let before = fs::metadata(dir.join("file")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        context.clone().with_credentials(Credentials::user(1000, 1000, &[])).truncate("/file", 0).unwrap();
        let after = fs::metadata(dir.join("file")).unwrap();
        assert_eq!(after.mode() & 0o7777, 0o777);
        assert_eq!((after.ctime(), after.ctime_nsec()), (before.ctime(), before.ctime_nsec()));
        same(&context, dir, "/file");
    });
}

/// Checks a write of nothing to a file that became immutable while it was open: ext4 refuses it, as
/// any other write.
#[test]
fn a_write_of_nothing_is_the_host_s() {
    on_ext4("a_write_of_nothing_is_the_host_s", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        assert_eq!((file.write(b""), file.write_at(b"", 7)), (Ok(0), Ok(0)));
        context.set_inode_flags("/file", pathwalk::InodeFlags::IMMUTABLE).unwrap();
        let refused = Err(Errno::EPERM);
        assert_eq!((file.write(b""), file.write_at(b"", 7), file.write(b"x")), (refused, refused, refused));
        context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
        assert_eq!(file.write(b""), Ok(0));
        assert_eq!(fs::metadata(dir.join("file")).unwrap().len(), 0);
    });
}

/// Checks a copy of nothing to a position behind the greatest size of a file of ext4.
#[test]
fn a_copy_of_nothing_has_the_host_s_limit() {
    on_ext4("a_copy_of_nothing_has_the_host_s_limit", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
        let [from, to] = ["/from", "/to"].map(|path| context.open(path, flags).unwrap());
        assert_eq!(from.copy_file_range(Some(100), &to, Some(1 << 40), 5), Ok(0));
        assert_eq!(from.copy_file_range(Some(100), &to, Some(1 << 62), 5), Err(Errno::EFBIG));
        assert_eq!(from.copy_file_range(Some(100), &to, Some(1 << 62), 0), Err(Errno::EFBIG));
    });
}

/// Changes the owner of a file that may only grow and is open for writing, and changes no id: the
/// kernel clears the suid and sgid bits, or refuses.
#[test]
fn a_change_of_no_owner_takes_the_bits_of_a_file_that_may_only_grow() {
    const TEST: &str = "a_change_of_no_owner_takes_the_bits_of_a_file_that_may_only_grow";
    let compare = |dir: &Path| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        // As the kernel does it, and as the engine does.
        let [first, second] = ["/kernel", "/engine"];
        for path in [first, second] {
            context.write(path, "").unwrap();
            context.chmod(path, 0o6777).unwrap();
        }
        let _writing = context.open(second, OpenFlags::WRITE).unwrap();
        for path in [first, second] {
            if let Err(errno) = context.set_inode_flags(path, pathwalk::InodeFlags::APPEND) {
                return skipped(TEST, &format!("this file system keeps no flags, or this is not root ({errno})"));
            }
        }
        let kernel = rustix::fs::chown(dir.join(&first[1..]), None, None).map_err(|errno| Errno::from_raw(errno.raw_os_error()));
        assert_eq!(context.chown(second, None, None), kernel);
        let mode = |path: &str| fs::metadata(dir.join(&path[1..])).unwrap().mode() & 0o7777;
        assert_eq!(mode(second), mode(first));
        same(&context, dir, second);
        for path in [first, second] {
            context.set_inode_flags(path, pathwalk::InodeFlags::empty()).unwrap();
        }
    };
    on_tmpfs(TEST, "mode=755", compare);
    on_ext4(TEST, compare);
}

/// Checks a size past ext4's largest: as on Linux, it is refused before the capability is removed.
#[test]
fn a_size_that_is_too_large_removes_no_capability() {
    const CAPABILITY: &str = "security.capability";
    on_ext4("a_size_that_is_too_large_removes_no_capability", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        let mut capability = [7; 20];
        capability[..4].copy_from_slice(&[1, 0, 0, 2]);
        context.setxattr("/file", CAPABILITY, capability, XattrFlags::empty()).unwrap();
        let before = context.stat("/file").unwrap();
        for size in [1 << 44, i64::MAX as u64] {
            assert_eq!(context.truncate("/file", size), Err(Errno::EFBIG));
            assert_eq!(file.set_len(size), Err(Errno::EFBIG));
        }
        assert_eq!(context.getxattr("/file", CAPABILITY), Ok(capability.to_vec()));
        assert_eq!(context.stat("/file").unwrap().ctime, before.ctime);
        file.set_len(1 << 40).unwrap();
        assert_eq!(context.getxattr("/file", CAPABILITY), Err(Errno::ENODATA));
    });
}

/// Checks a size past ext4's largest for a file that became immutable while it was open: as on
/// Linux, ext4 refuses the change before it looks at the size.
#[test]
fn a_size_that_is_too_large_for_an_immutable_file_is_not_permitted() {
    on_ext4("a_size_that_is_too_large_for_an_immutable_file_is_not_permitted", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Strict));
        let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        context.set_inode_flags("/file", pathwalk::InodeFlags::IMMUTABLE).unwrap();
        for size in [3, 1 << 44, i64::MAX as u64 - 1] {
            assert_eq!(file.set_len(size), Err(Errno::EPERM), "{size}");
        }
        context.set_inode_flags("/file", pathwalk::InodeFlags::empty()).unwrap();
        assert_eq!(file.set_len(1 << 44), Err(Errno::EFBIG));
    });
}

/// Checks a file with a capability that became immutable while it was open: as on Linux, what a
/// tmpfs still allows removes the capability. (ext4 allows nothing.)
#[test]
fn a_change_of_an_immutable_file_removes_its_capability() {
    const TEST: &str = "a_change_of_an_immutable_file_removes_its_capability";
    const CAPABILITY: &str = "security.capability";
    on_tmpfs(TEST, "mode=755", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let mut capability = [7; 20];
        capability[..4].copy_from_slice(&[1, 0, 0, 2]);
        for change in 0..3 {
            let path = format!("/file{change}");
            let file = context.open(&path, OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
            context.setxattr(&path, CAPABILITY, capability, XattrFlags::empty()).unwrap();
            if let Err(errno) = context.set_inode_flags(&path, pathwalk::InodeFlags::IMMUTABLE) {
                return skipped(TEST, &format!("this file system keeps no flags, or this is not root ({errno})"));
            }
            assert_eq!(context.removexattr(&path, CAPABILITY), Err(Errno::EPERM));
            match change {
                0 => context.chown(&path, None, None).unwrap(),
                1 => file.set_len(3).unwrap(),
                _ => assert_eq!(file.write(b"text"), Ok(4)),
            }
            assert_eq!(context.getxattr(&path, CAPABILITY), Err(Errno::ENODATA), "change {change}");
            same(&context, dir, &path);
            context.set_inode_flags(&path, pathwalk::InodeFlags::empty()).unwrap();
        }
    });
}

#[test]
fn an_append_at_the_largest_size_is_too_large() {
    on_tmpfs("an_append_at_the_largest_size_is_too_large", "mode=755", |dir| {
        let context = on(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive));
        let file = context.open("/file", OpenFlags::WRITE | OpenFlags::APPEND | OpenFlags::CREATE).unwrap();
        file.set_len(i64::MAX as u64 - 1).unwrap();
        assert_eq!(file.write(b"two"), Ok(1), "as much as there is room for");
        assert_eq!(file.write_at(b"two", 0), Err(Errno::EFBIG));
        assert_eq!(file.write(b"two"), Err(Errno::EINVAL), "Linux adds the length to the position first");
        file.set_len(0).unwrap();
        assert_eq!(file.write_at(b"two", 0), Ok(3));
    });
}
