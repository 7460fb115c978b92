//! Helpers that the tests of this crate share.

#![allow(dead_code)] // Each test uses some of the helpers.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pathwalk::{Access, Attributes, Context, Credentials, Errno, Timestamp, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use rustix::fs::{Access as HostAccess, AtFlags, CWD, Mode, OFlags, Statx, StatxFlags, StatxTimestamp, accessat, openat, statx};
use rustix::io;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::{self, Gid, Uid, UnshareFlags, unshare_unsafe};

/// Creates an engine on a directory of the host, and returns root's context in it.
pub(crate) fn walk(root: &Path) -> Context {
    let fs = HostFs::open(root).unwrap().with_coherence(Coherence::Frozen);
    Vfs::builder().budget(16 << 20).build(fs).unwrap().context(Credentials::root())
}

/// Opens a descriptor of a directory, as a place.
pub(crate) fn place(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Runs a program. The error says why it failed, for the message about a skipped test.
pub(crate) fn attempt(program: &str, arguments: &[&str], last: &Path) -> Result<(), String> {
    let output = Command::new(program).args(arguments).arg(last).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program} cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let failed = || format!("{program} {}: {}", arguments.join(" "), said.trim().replace('\n', "; "));
    output.status.success().then_some(()).ok_or_else(failed)
}

/// Unmounts what nothing uses. A child of another test has all open files of this process until
/// it executes its program; that is waited for.
pub(crate) fn unmount_unused(at: &Path) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match unmount(at, UnmountFlags::empty()) {
            Err(rustix::io::Errno::BUSY) if begun.elapsed() < Duration::from_secs(30) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other.map_err(|errno| format!("{} cannot be unmounted ({errno})", at.display())),
        }
    }
}

/// Changes the ACL of `path` as `setfacl` (of the package acl) does.
///
/// A list fails with `EINVAL` if it names a user that has no number in the user namespace. The
/// error then gives this reason.
pub(crate) fn set_list(arguments: &[&str], path: &Path, named: u32) -> Result<(), String> {
    attempt("setfacl", arguments, path).map_err(|error| match is_mapped(named) {
        true => format!("this needs setfacl (package acl) and a file system that keeps ACLs: {error}"),
        false => format!("user {named} is not mapped in this user namespace, so no list can name it: run it as the host's root"),
    })
}

/// Returns whether a user has a number in this process's user namespace. Returns true where the map
/// cannot be read.
fn is_mapped(uid: u32) -> bool {
    let Ok(map) = std::fs::read_to_string("/proc/self/uid_map") else { return true };
    map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if uid >= first && uid - first < count)
    })
}

/// The ids of a user to ask as.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
}

impl Who {
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::user(self.uid, self.gid, &self.groups)
    }
}

/// Runs `ask` as `who`, in a thread of its own, whose credentials alone are changed. The error says
/// why this process may not do that.
pub(crate) fn as_user<T: Send>(who: &Who, ask: impl FnOnce() -> T + Send) -> Result<T, String> {
    let refused = |errno: io::Errno| match is_mapped(who.uid) {
        true => format!("this process may not become user {} ({errno}): run it as root", who.uid),
        false => format!("user {} is not mapped in this user namespace: run it as the host's root", who.uid),
    };
    become_and_ask(who, ask).map_err(refused)
}

fn become_and_ask<T: Send>(who: &Who, ask: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let become_and_ask = || {
            let groups: Vec<Gid> = who.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
            let (gid, uid) = (Gid::from_raw(who.gid), Uid::from_raw(who.uid));
            thread::set_thread_groups(&groups)?;
            thread::set_thread_res_gid(gid, gid, gid)?;
            thread::set_thread_res_uid(uid, uid, uid)?;
            Ok(ask())
        };
        scope.spawn(become_and_ask).join().unwrap()
    })
}

/// Runs `body` in a thread with namespaces of its own. The error is that of `body`, or says why
/// this process may not have such namespaces.
pub(crate) fn apart(what: UnshareFlags, body: impl FnOnce() -> Result<(), String> + Send) -> Result<(), String> {
    std::thread::scope(|scope| {
        let apart = || {
            // SAFETY: no descriptor table is unshared, so every `OwnedFd` stays what it is.
            unsafe { unshare_unsafe(what) }.map_err(|errno| format!("this process may not unshare {what:?} ({errno})"))?;
            body()
        };
        scope.spawn(apart).join().unwrap()
    })
}

/// Runs `body` in a mount namespace of its own, or says that the test is skipped.
pub(crate) fn with_own_mounts(test: &str, body: impl FnOnce() -> Result<(), String> + Send) {
    let ran = apart(UnshareFlags::NEWNS | UnshareFlags::FS, || {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .map_err(|errno| format!("mounts cannot be made private ({errno})"))?;
        body()
    });
    if let Err(why) = ran {
        pathwalk_tests::skipped(test, &why);
    }
}

/// Mounts a tmpfs with these options.
pub(crate) fn mount_tmpfs(at: &Path, options: &str) -> Result<(), String> {
    let options = std::ffi::CString::new(options).unwrap();
    mount("pathwalk", at, "tmpfs", MountFlags::empty(), &*options).map_err(|errno| format!("no tmpfs can be mounted ({errno})"))
}

/// Unmounts a file system, also one that is in use.
pub(crate) fn unmount_all(at: &Path) -> Result<(), String> {
    unmount(at, UnmountFlags::DETACH).map_err(|errno| format!("{} cannot be unmounted ({errno})", at.display()))
}

/// Runs `body` on a tmpfs with these options, in a namespace of its own.
pub(crate) fn on_tmpfs(test: &str, options: &str, body: impl FnOnce(&Path) + Send) {
    let dir = tempfile::tempdir().unwrap();
    with_own_mounts(test, || {
        mount_tmpfs(dir.path(), options)?;
        body(dir.path());
        unmount_all(dir.path())
    });
}

/// Runs `body` on ext4 in an image, in a namespace of its own.
pub(crate) fn on_ext4(test: &str, body: impl FnOnce(&Path) + Send) {
    let dir = tempfile::tempdir().unwrap();
    let (image, at) = (dir.path().join("image"), dir.path().join("at"));
    std::fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    std::fs::create_dir(&at).unwrap();
    with_own_mounts(test, || {
        attempt("mkfs.ext4", &["-q"], &image)?;
        attempt("mount", &["-o", "loop", image.to_str().unwrap()], &at)?;
        body(&at);
        unmount_all(&at)
    });
}

/// Returns mere existence, and every combination of read, write and execute.
pub(crate) fn wants() -> impl Iterator<Item = Access> {
    (0..8).filter_map(Access::from_bits)
}

/// Returns the kernel's answer to the user of this thread.
pub(crate) fn host_access(root: BorrowedFd<'_>, path: &str, want: Access, flags: AtFlags) -> Result<(), Errno> {
    let mut mode = HostAccess::EXISTS;
    mode.set(HostAccess::READ_OK, want.contains(Access::READ));
    mode.set(HostAccess::WRITE_OK, want.contains(Access::WRITE));
    mode.set(HostAccess::EXEC_OK, want.contains(Access::EXECUTE));
    accessat(root, path, mode, flags).map_err(|errno| Errno::from_raw(errno.raw_os_error()))
}

/// Creates `root` to be walked, and beside it `outside` with a file `secret`.
pub(crate) fn root_and_outside() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
    std::fs::create_dir_all(root.join("d/sub")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "").unwrap();
    (dir, root, outside)
}

/// Returns the kernel's attributes of a node. Links are not followed.
pub(crate) fn host(path: &Path) -> Statx {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, mask).unwrap()
}

/// Converts a time of the kernel's to the engine's type.
pub(crate) fn time(time: &StatxTimestamp) -> Timestamp {
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}

/// Asserts that all attributes are the kernel's, except the time of last access, which looking may
/// change.
pub(crate) fn assert_same(path: &Path, ours: &Attributes) {
    let host = host(path);
    assert_eq!(ours.st_mode(), u32::from(host.stx_mode), "{path:?}");
    assert_eq!((ours.nlink, ours.uid, ours.gid), (host.stx_nlink, host.stx_uid, host.stx_gid), "{path:?}");
    assert_eq!((ours.ino, ours.size, ours.blocks), (host.stx_ino, host.stx_size, host.stx_blocks), "{path:?}");
    assert_eq!(ours.block_size, host.stx_blksize, "{path:?}");
    let devices = [host.stx_dev_major, host.stx_dev_minor, host.stx_rdev_major, host.stx_rdev_minor];
    assert_eq!([ours.device.major, ours.device.minor, ours.device_node.major, ours.device_node.minor], devices, "{path:?}");
    assert_eq!((ours.mtime, ours.ctime), (time(&host.stx_mtime), time(&host.stx_ctime)), "{path:?}");
    let btime = (host.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| time(&host.stx_btime));
    assert_eq!(ours.btime, btime, "{path:?}");
    // Bits that the engine has no name for are dropped. The root of a mount is the mount's to say.
    let known = (pathwalk::StatxFlags::all() - pathwalk::StatxFlags::MOUNT_ROOT).to_kernel();
    assert_eq!(ours.flags.to_kernel(), host.stx_attributes.bits() & known, "{path:?}");
    assert_eq!(ours.flags_mask.to_kernel(), host.stx_attributes_mask.bits() & known, "{path:?}");
}
