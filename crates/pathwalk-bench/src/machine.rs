//! This process and this machine: credentials, and the engine over its files.

use std::path::Path;

use pathwalk::permission::Ids;
use pathwalk::{Capabilities, Context, Credentials, FileSystem, Vfs};
use pathwalk_hostfs::HostFs;
use rustix::fs::{Mode, OFlags};
use rustix::thread::CapabilitySet;

/// What the engine gets for its caches: room for some 260,000 files.
///
/// Not more, since the name table is spread over all of its room, and so the budget decides how many pages a walk touches.
pub const BUDGET: u64 = 64 << 20;

/// The id that stands for every id that a user namespace does not map. Source: `/proc/sys/kernel/overflowgid`.
pub const OVERFLOW_ID: u32 = 65_534;

/// What the engine of a bench stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// The files of this machine.
    Machine,
    /// The [listing](crate::listing) of a compiler's files, in memory: for counting instructions in a simulator that does not
    /// know all system calls.
    Listing,
}

/// Something that had to be made ready could not be.
#[derive(Debug, thiserror::Error)]
#[error("{doing}")]
pub struct SetUpError {
    doing: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// Says what was being done when an error came.
pub trait Doing<T> {
    /// `doing` in words, as "opening /".
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, SetUpError>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, SetUpError> {
        self.map_err(|error| SetUpError { doing: doing(), source: error.into() })
    }
}

/// Whose rights this process has: real and effective ids, groups, and the capabilities that the engine looks at.
///
/// The group that stands for all unmapped ones is left out: in a user namespace everything that belongs to an unmapped
/// group seems to belong to it, mostly wrongly.
pub fn credentials() -> Result<Credentials, SetUpError> {
    use rustix::process::{getegid, geteuid, getgid, getgroups, getuid};
    let groups = getgroups().doing(|| "asking for the groups of this process".into())?;
    let groups: Vec<u32> = groups.iter().map(|gid| gid.as_raw()).filter(|gid| *gid != OVERFLOW_ID).collect();
    let sets = rustix::thread::capabilities(None).doing(|| "asking for the capabilities of this process".into())?;
    Ok(Credentials::user(geteuid().as_raw(), getegid().as_raw(), &groups)
        .with_real(Ids { uid: getuid().as_raw(), gid: getgid().as_raw() })
        .with_capability_sets(known(sets.permitted), known(sets.effective)))
}

fn known(set: CapabilitySet) -> Capabilities {
    let pairs = [
        (CapabilitySet::DAC_OVERRIDE, Capabilities::DAC_OVERRIDE),
        (CapabilitySet::DAC_READ_SEARCH, Capabilities::DAC_READ_SEARCH),
        (CapabilitySet::FOWNER, Capabilities::FOWNER),
        (CapabilitySet::CHOWN, Capabilities::CHOWN),
        (CapabilitySet::FSETID, Capabilities::FSETID),
        (CapabilitySet::MKNOD, Capabilities::MKNOD),
        (CapabilitySet::SYS_ADMIN, Capabilities::SYS_ADMIN),
    ];
    pairs.iter().filter(|(theirs, _)| set.contains(*theirs)).map(|(_, ours)| *ours).collect()
}

/// Which links in the last component are followed. Source: `fs.protected_symlinks` in `proc(5)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastLinks {
    /// All.
    Any,
    /// In sticky directories that everyone may write, only one's own and those of the directory's owner.
    Protected,
}

impl LastLinks {
    /// What this machine's kernel does. To be asked before leaving `/proc` behind; where it cannot be, what
    /// distributions set is assumed.
    pub fn of_this_machine() -> LastLinks {
        match std::fs::read("/proc/sys/fs/protected_symlinks").as_deref() {
            Ok(b"0\n") => LastLinks::Any,
            _ => LastLinks::Protected,
        }
    }
}

/// The engine over all files that this process sees, under the same rules: its credentials, its working directory, and what
/// [`HostFs`] leaves to the engine of the root's mount.
pub fn host(links: LastLinks) -> Result<Context, SetUpError> {
    let fs = HostFs::open(Path::new("/")).doing(|| "opening \"/\" as the root".into())?;
    let builder = Vfs::builder().budget(BUDGET).mount_flags(fs.mount_flags());
    let builder = if links == LastLinks::Protected { builder.protect_symlinks() } else { builder };
    let vfs = builder.build(fs).doing(|| format!("building a Vfs of {BUDGET} bytes over \"/\""))?;
    let mut context = vfs.context(credentials()?);
    let cwd = std::env::current_dir().doing(|| "asking for the working directory".into())?;
    context.chdir(&cwd).doing(|| format!("changing to \"{}\"", escaped(&cwd)))?;
    Ok(context)
}

/// The engine over any file system.
pub fn over(fs: impl FileSystem + 'static, who: Credentials) -> Result<Context, SetUpError> {
    let vfs = Vfs::builder().budget(BUDGET).build(fs).doing(|| format!("building a Vfs of {BUDGET} bytes"))?;
    Ok(vfs.context(who))
}

/// Returns what the kernel calls the file system that a directory is on, by its mount; none where it does
/// not tell.
pub fn file_system_at(dir: &Path) -> Option<String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(dir, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let device = format!("{}:{}", rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        (mount.split(' ').nth(2) == Some(device.as_str())).then(|| kind.split(' ').next().map(str::to_owned))?
    })
}

/// A path for messages.
pub fn escaped(path: &Path) -> impl std::fmt::Display {
    path.as_os_str().as_encoded_bytes().escape_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_taken_over_one_by_one() {
        assert_eq!(known(CapabilitySet::all()), Capabilities::all());
        assert_eq!(known(CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_CHROOT), Capabilities::DAC_READ_SEARCH);
        assert_eq!(known(CapabilitySet::empty()), Capabilities::empty());
    }

    #[test]
    fn the_process_is_known() {
        assert_eq!(credentials().unwrap().effective().uid(), rustix::process::geteuid().as_raw());
    }
}
