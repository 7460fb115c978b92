//! The place in which the kernel carries programs out: a tmpfs that is the root of a process of its
//! own, in its own mount namespace.
//!
//! The process is a child. Its parent only waits: however the child ends, the parent restores the
//! machine's switches. The mounts go with the namespace.

use std::env;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount};
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::mounts;
use super::switches::Saved;
use crate::program::MANY_PAGES;

/// The environment variable that is set in the child.
const CHILD: &str = "PATHWALK_DIFFERENTIAL_CHILD";

/// The interval at which the parent checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// The process that `supervise` returned in.
pub(crate) enum Supervised {
    /// The child, which does the work.
    Child,
    /// The parent, with the exit code of the child.
    Parent(ExitCode),
}

/// Starts this program once more with the same arguments, and waits for it.
pub(crate) fn supervise() -> Result<Supervised> {
    if env::var_os(CHILD).is_some() {
        return Ok(Supervised::Child);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("prepare for being interrupted")?;
    }
    let _saved = Saved::now().context("read the switches fs.protected_*")?;
    let program = env::current_exe().context("find this program")?;
    let mut child =
        Command::new(program).args(env::args_os().skip(1)).env(CHILD, "1").spawn().context("start this program again")?;
    loop {
        if let Some(status) = child.try_wait()? {
            if let Some(signal) = status.signal() {
                eprintln!("xtask: the process that did the work was ended by signal {signal}");
            }
            let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2);
            return Ok(Supervised::Parent(ExitCode::from(code)));
        }
        if stop.load(Ordering::Relaxed) {
            // If the terminal sent the signal, the child has ended already.
            let _ = child.kill();
        }
        std::thread::sleep(LOOK);
    }
}

/// Makes a fresh tmpfs, or what is mounted at `at`, the root and the working directory of this
/// process, which must have only one thread. Paths that are opened from now on are on it.
pub(super) fn enter(at: Option<&Path>) -> Result<OwnedFd> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).context("ask to end with the parent")?;
    // SAFETY: the mounts become the process's own; no descriptor is affected.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.context("enter a mount namespace")?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).context("keep mounts to ourselves")?;
    let point = at.map_or_else(env::temp_dir, Path::to_owned);
    if at.is_none() {
        // The tmpfs has limits from the beginning: one without limits cannot get them later.
        mount("pathwalk", &point, "tmpfs", MountFlags::NOATIME, c"mode=755,nr_inodes=1048576,size=1073741824")
            .context("mount a tmpfs")?;
    }
    rustix::process::chdir(&point)?;
    // The old root is now mounted over the new one, and is unmounted.
    rustix::process::pivot_root(".", ".").context("make the tmpfs the root")?;
    unmount(".", UnmountFlags::DETACH).context("leave the old root")?;
    rustix::process::chdir("/")?;
    open_root()
}

fn open_root() -> Result<OwnedFd> {
    openat(CWD, "/", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).context("open the tmpfs")
}

/// Opens the mount namespace of this process, which has `/proc` at its place.
pub(super) fn namespace_of_process() -> rustix::io::Result<OwnedFd> {
    openat(CWD, "/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens the mount namespace of this thread.
pub(super) fn own_namespace(proc: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    openat(proc, "thread-self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Enters a copy of this thread's mount namespace; returns the root in it.
pub(super) fn copy_namespace() -> Result<OwnedFd> {
    // SAFETY: mounts, root and working directory become the thread's own; no descriptor is
    // affected.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.context("copy the namespace")?;
    open_root()
}

/// Enters a mount namespace; its root becomes the thread's.
pub(super) fn enter_namespace(namespace: &OwnedFd) -> rustix::io::Result<()> {
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
}

/// Waits until ended threads have released their working directories, which takes a moment.
fn only_the_root_is_left(at: &Path) {
    for _ in 0..TRIES {
        match rustix::fs::statfs(at) {
            Ok(found) if found.f_files - found.f_ffree > 1 => std::thread::sleep(Duration::from_micros(100)),
            _ => return,
        }
    }
}

/// The number of checks whether they were released: one second in all.
const TRIES: u32 = 10_000;

/// Sets the limits of nodes and of pages of the tmpfs at `at`; large ones where there is no limit.
/// The mount has no switch afterwards but `NOATIME`.
pub(crate) fn set_limits(at: &Path, [nodes, pages]: [Option<u64>; 2]) -> rustix::io::Result<()> {
    if nodes.is_some() || pages.is_some() {
        only_the_root_is_left(at);
    }
    let (nodes, bytes) = (nodes.unwrap_or(1 << 20), pages.unwrap_or(MANY_PAGES) << 12);
    mount_remount(at, MountFlags::NOATIME, format!("nr_inodes={nodes},size={bytes}"))
}

/// Sets the switches of the mount, but not of the file system on it. Those that concern the times
/// of accesses are in `accesses`.
pub(super) fn set_mount(flags: pathwalk::MountFlags, accesses: pathwalk::MountFlags) -> rustix::io::Result<()> {
    let bits = mounts::bits(flags).chain(mounts::of_accesses(accesses)).fold(MountFlags::BIND, MountFlags::union);
    mount_remount("/", bits, "")
}
