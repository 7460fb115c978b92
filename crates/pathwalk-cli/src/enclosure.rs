//! The change of the root for the whole process, done before any thread starts.
//!
//! With CAP_SYS_CHROOT that is `chroot(2)`. Without it, the process first enters a user namespace,
//! in which it keeps its own user and group. Once the root is changed, it gives up the capabilities
//! that the namespace gave it, so that `access(2)` answers as it would have answered outside.
//!
//! What it cannot do: distinguish groups that the namespace does not map. There, supplementary
//! groups count for nothing on pathwalk's side (see
//! [`credentials`](pathwalk_bench::machine::credentials)), while the kernel still uses them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pathwalk::permission::OVERFLOW_ID;
use pathwalk_bench::machine::escaped;
use rustix::io::Errno;
use rustix::process::{chroot, getegid, geteuid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags, set_capabilities, unshare_unsafe};

/// The way in which the root was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Enclosure {
    /// No change: the root is `/`.
    None,
    /// A change by privilege.
    Chroot,
    /// A change in a user namespace.
    UserNamespace,
}

impl Enclosure {
    /// Returns the name for JSON and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Enclosure::None => "none",
            Enclosure::Chroot => "chroot",
            Enclosure::UserNamespace => "user namespace",
        }
    }
}

/// Makes `root` the root and the working directory of this process.
pub(crate) fn enter(root: &Path) -> anyhow::Result<Enclosure> {
    let shown = escaped(root).to_string();
    let dir = directory(root)
        .with_context(|| format!("cannot use \"{shown}\" as the root, which has to be a directory that you may search"))?;
    if dir == Path::new("/") {
        return Ok(Enclosure::None);
    }
    let enclosure = match chroot(&dir) {
        Ok(()) => Enclosure::Chroot,
        Err(Errno::PERM) => {
            enter_user_namespace().with_context(|| {
                format!("cannot use \"{shown}\" as the root: without CAP_SYS_CHROOT this needs a user namespace; run as root, or allow \
                         user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)")
            })?;
            chroot(&dir).with_context(|| format!("chroot to \"{shown}\" in a user namespace"))?;
            Enclosure::UserNamespace
        }
        Err(errno) => return Err(errno).with_context(|| format!("chroot to \"{shown}\"")),
    };
    std::env::set_current_dir("/").with_context(|| format!("may not search the root \"{shown}\""))?;
    if enclosure == Enclosure::UserNamespace {
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).context("giving up the capabilities of the user namespace")?;
    }
    Ok(enclosure)
}

/// Returns the path of the directory, without links. Fails if it is not a directory or may not be
/// searched.
fn directory(root: &Path) -> std::io::Result<PathBuf> {
    let dir = root.canonicalize()?;
    dir.join(".").metadata()?;
    Ok(dir)
}

fn enter_user_namespace() -> anyhow::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: only the user namespace is unshared; descriptors stay shared, and there is one
    // thread.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.context("unshare(CLONE_NEWUSER)")?;
    // A user may map a group only after giving up setgroups(2).
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{} {uid} 1", inside(uid)))?;
    write("/proc/self/gid_map", &format!("{} {gid} 1", inside(gid)))
}

/// Returns an id's number inside the namespace. It is the same number, except that the overflow id,
/// which stands for all unmapped ids, is replaced.
fn inside(id: u32) -> u32 {
    if id == OVERFLOW_ID { OVERFLOW_ID - 1 } else { id }
}

fn write(path: &str, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing \"{text}\" to {path}"))
}
