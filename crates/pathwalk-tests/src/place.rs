//! The place of the kernel's side of a table: a tmpfs in its own mount namespace.
//!
//! A test re-executes itself as a child that enters the namespace before it has threads, so the
//! test process keeps its own mounts and user. As root a mount namespace is enough. Any other user
//! gets a user namespace with it, in which one user is mapped. Where neither is allowed, root uses
//! a temporary directory. A part that cannot be tested is reported as skipped.
//!
//! It does not clean up mounts: they go with the namespace, when the child ends.

use std::env;
use std::fs::File;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use rustix::fs::FlockOperation;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount};
use rustix::thread::UnshareFlags;

use crate::{SKIPPED, TOLD, skipped};

/// The environment variables that are set in the child: the kind of its namespace, and its own
/// directory.
const KIND: &str = "PATHWALK_TABLE_NAMESPACE";
const DIR: &str = "PATHWALK_TABLE_DIR";

/// The lock that is held while a child runs: `protected_symlinks` is a switch of the whole machine,
/// so tests of other programs wait as well.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The kernel's switch for links in sticky directories.
pub const PROTECTED_SYMLINKS: &str = "/proc/sys/fs/protected_symlinks";

/// The namespaces that the child enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Namespace {
    Mount,
    UserAndMount,
    None,
}

/// The users that may own files and make calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Users {
    /// All users.
    All,
    /// User 0 of a namespace that maps no other.
    OnlyRoot,
}

/// The file system of the directory: it determines whether the mount's switches may be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filesystem {
    /// A tmpfs of our own.
    OwnTmpfs,
    /// The file system that has the temporary files.
    Host,
}

/// A directory of the kernel's that belongs to one test.
#[derive(Debug)]
pub struct Place {
    /// The path of the directory.
    pub dir: PathBuf,
    /// The users that may own files in it and make calls.
    pub users: Users,
    /// The file system of the directory.
    pub filesystem: Filesystem,
}

/// Runs `body` in a child, in a place of its own. `test` is the full name of the calling test.
pub fn in_a_place(test: &str, body: impl FnOnce(&Place)) {
    if env::var_os(KIND).is_some() {
        match Place::enter() {
            Ok(place) => body(&place),
            Err(why) => skipped("all of it", &why),
        }
        return;
    }
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock lasts until the file is closed.
    let switch = File::open(PROTECTED_SYMLINKS).ok();
    let _one_of_all = switch.as_ref().and_then(|switch| rustix::fs::flock(switch, FlockOperation::LockExclusive).ok());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut refusals = String::new();
    for namespace in [Namespace::Mount, Namespace::UserAndMount, Namespace::None] {
        match child(test, namespace, dir.path()) {
            Ok(output) => return judge(test, &output),
            Err(error) => refusals.push_str(&format!("{namespace:?} ({error}); ")),
        }
    }
    panic!("{test}: no child could be started: {refusals}");
}

fn child(test: &str, namespace: Namespace, dir: &Path) -> io::Result<Output> {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {} 1", uid.as_raw())),
        ("/proc/self/gid_map", format!("0 {} 1", gid.as_raw())),
    ];
    let enter = move || {
        let flags = match namespace {
            Namespace::Mount => UnshareFlags::NEWNS,
            Namespace::UserAndMount => UnshareFlags::NEWNS | UnshareFlags::NEWUSER,
            Namespace::None => return Ok(()),
        };
        // SAFETY: the child has no other thread, and no descriptor table is unshared.
        unsafe { rustix::thread::unshare_unsafe(flags) }?;
        if namespace == Namespace::UserAndMount {
            maps.iter().try_for_each(|(file, line)| std::fs::write(file, line))?;
        }
        Ok(())
    };
    let mut command = Command::new(env::current_exe()?);
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(KIND, format!("{namespace:?}")).env(DIR, dir);
    // SAFETY: between fork and exec the closure makes system calls only; the text it writes was
    // made before.
    unsafe { command.pre_exec(enter) };
    command.output()
}

fn judge(test: &str, output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    for line in errors.lines().filter_map(|line| line.strip_prefix(SKIPPED)) {
        skipped(test, line);
    }
    for line in errors.lines().filter_map(|line| line.strip_prefix(TOLD)) {
        println!("{test}: {line}");
    }
    assert!(output.status.success(), "{test} failed in its child:\n{}\n{errors}", String::from_utf8_lossy(&output.stdout));
}

impl Place {
    /// Takes over the directory, in the child.
    fn enter() -> Result<Place, String> {
        let dir = PathBuf::from(env::var_os(DIR).ok_or("the child was given no directory")?);
        let filesystem = if env::var(KIND).is_ok_and(|kind| kind == format!("{:?}", Namespace::None)) {
            skipped("mount switches", "no namespace may be entered here; a temporary directory has to do");
            Filesystem::Host
        } else {
            match mount_tmpfs(&dir, MountFlags::empty()) {
                Ok(()) => Filesystem::OwnTmpfs,
                Err(error) => {
                    skipped("mount switches", &format!("no tmpfs could be mounted ({error}); a temporary directory has to do"));
                    Filesystem::Host
                }
            }
        };
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).map_err(|e| format!("chmod: {e}"))?;
        let place = Place { users: users(&dir), dir, filesystem };
        // The thread has its own root and working directory, so its changes do not affect other
        // threads.
        std::thread::scope(|scope| scope.spawn(|| place.become_root()).join())
            .map_err(|_| "the probing thread panicked".to_owned())?
            .map_err(|error| format!("no thread may change its root here ({error}), so absolute links would lead out"))?;
        if place.users == Users::OnlyRoot {
            skipped("askers other than user 0", "only one user is mapped here; run as root to ask as others");
        }
        Ok(place)
    }

    /// Makes the place the root and the working directory of this thread and of no other.
    ///
    /// A tmpfs becomes the root of a namespace, so that `..` ends there even for a walk that starts
    /// outside of a changed root.
    pub fn become_root(&self) -> io::Result<()> {
        self.leave_others()?;
        self.enter_root()
    }

    /// Makes a fresh, empty tmpfs the root and the working directory of this thread and of no
    /// other. The place must be a tmpfs. The mount updates no access times, so that lock-free walks
    /// follow its links.
    pub fn become_root_of_its_own(&self) -> io::Result<()> {
        self.leave_others()?;
        mount_tmpfs(&self.dir, MountFlags::NOATIME)?;
        self.enter_root()
    }

    fn leave_others(&self) -> io::Result<()> {
        let namespace = match self.filesystem {
            Filesystem::OwnTmpfs => UnshareFlags::NEWNS,
            Filesystem::Host => UnshareFlags::empty(),
        };
        // SAFETY: root, working directory, umask and mounts become the thread's own; no descriptor
        // is affected.
        Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS | namespace) }?)
    }

    fn enter_root(&self) -> io::Result<()> {
        rustix::process::chdir(&self.dir)?;
        match self.filesystem {
            Filesystem::OwnTmpfs => {
                // The old root is now mounted over the new one, and is unmounted.
                rustix::process::pivot_root(".", ".")?;
                unmount(".", UnmountFlags::DETACH)?;
            }
            Filesystem::Host => rustix::process::chroot(".")?,
        }
        Ok(rustix::process::chdir("/")?)
    }

    /// Sets the switches of the mount, but not of the file system on it.
    pub fn remount(&self, flags: MountFlags) -> io::Result<()> {
        Ok(mount_remount(&self.dir, MountFlags::BIND | flags, "")?)
    }
}

fn mount_tmpfs(dir: &Path, flags: MountFlags) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount("pathwalk", dir, "tmpfs", flags, c"mode=755")?;
    Ok(())
}

fn users(dir: &Path) -> Users {
    let probe = dir.join("probe");
    let owned = std::fs::write(&probe, "").and_then(|()| chown(&probe, Some(1000), Some(1000)));
    let _ = std::fs::remove_file(&probe);
    if owned.is_ok() { Users::All } else { Users::OnlyRoot }
}

/// The kernel's switch for links in sticky directories, set, and restored on drop.
#[derive(Debug)]
pub struct Protection(String);

impl Protection {
    /// Sets the switch. Fails if this process may not.
    pub fn set(value: &str) -> io::Result<Protection> {
        let before = std::fs::read_to_string(PROTECTED_SYMLINKS)?;
        std::fs::write(PROTECTED_SYMLINKS, value)?;
        Ok(Protection(before))
    }
}

impl Drop for Protection {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(PROTECTED_SYMLINKS, &self.0) {
            eprintln!("{PROTECTED_SYMLINKS} could not be set back to {}: {error}", self.0);
        }
    }
}
