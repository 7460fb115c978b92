//! This process and this machine: credentials, and the engine over its files.

use std::path::Path;

use pathwalk::{Context, Credentials, Device, FileSystem, Vfs, VfsBuilder};
use pathwalk_hostfs::{Coherence, HostFs, mountinfo};
use rustix::fs::{Mode, OFlags};

/// The budget of the engine's caches: room for some 260,000 files.
///
/// It is not larger, because the name table is spread over all of its room, and so the budget
/// decides how many pages a walk touches.
pub const BUDGET: u64 = 64 << 20;

/// The file system below the engine of a bench.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// The files of this machine.
    Machine,
    /// The [listing](pathwalk_trace::listing) of a compiler's files, in memory. It is for counting
    /// instructions in a simulator that does not support all system calls.
    Listing,
}

/// An error of preparing a bench.
#[derive(Debug, thiserror::Error)]
#[error("{doing}")]
pub struct SetUpError {
    doing: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// The addition of a description to an error: what was being done when it occurred.
pub trait Doing<T> {
    /// Adds `doing` in words, such as "opening /", to an error.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, SetUpError>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, SetUpError> {
        self.map_err(|error| SetUpError { doing: doing(), source: error.into() })
    }
}

/// Returns the credentials of this process, as [`pathwalk_hostfs::credentials`] does.
pub fn credentials() -> Result<Credentials, SetUpError> {
    pathwalk_hostfs::credentials().doing(|| "asking for the groups and capabilities of this process".into())
}

/// The links in the last component that are followed. Source: `fs.protected_symlinks` in `proc(5)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastLinks {
    /// All links.
    Any,
    /// In sticky directories that all users may write to, only the user's own links and those of
    /// the directory's owner.
    Protected,
}

impl LastLinks {
    /// Returns the setting of this machine's kernel. It has to be called before the root is
    /// changed, while `/proc` is reachable. Where it cannot be read, the usual setting of
    /// distributions is assumed.
    pub fn of_this_machine() -> LastLinks {
        match std::fs::read("/proc/sys/fs/protected_symlinks").as_deref() {
            Ok(b"0\n") => LastLinks::Any,
            _ => LastLinks::Protected,
        }
    }
}

/// Creates the engine over all files that this process sees, under the same rules: with its
/// credentials, its working directory, and the flags of the root's mount that [`HostFs`] leaves to
/// the engine.
pub fn host(links: LastLinks) -> Result<Context, SetUpError> {
    host_in(links, Coherence::Frozen)
}

/// Returns the same engine with another promise about changes by others.
pub fn host_in(links: LastLinks, coherence: Coherence) -> Result<Context, SetUpError> {
    host_built(links, coherence, |builder| builder)
}

/// Returns the same engine without the memo of whole paths: it walks each path.
pub fn walking_host(links: LastLinks, coherence: Coherence) -> Result<Context, SetUpError> {
    host_built(links, coherence, |builder| builder.whole_paths(0))
}

fn host_built(
    links: LastLinks,
    coherence: Coherence,
    with: impl FnOnce(VfsBuilder) -> VfsBuilder,
) -> Result<Context, SetUpError> {
    let fs = HostFs::open(Path::new("/")).doing(|| "opening \"/\" as the root".into())?.with_coherence(coherence);
    let builder = with(Vfs::builder().budget(BUDGET).mount_flags(fs.mount_flags()));
    let builder = if links == LastLinks::Protected { builder.protect_symlinks() } else { builder };
    let vfs = builder.build(fs).doing(|| format!("building a Vfs of {BUDGET} bytes over \"/\""))?;
    let mut context = vfs.context(credentials()?);
    let cwd = std::env::current_dir().doing(|| "asking for the working directory".into())?;
    context.chdir(&cwd).doing(|| format!("changing to \"{}\"", escaped(&cwd)))?;
    Ok(context)
}

/// Creates the engine over any file system.
pub fn over(fs: impl FileSystem + 'static, who: Credentials) -> Result<Context, SetUpError> {
    let vfs = Vfs::builder().budget(BUDGET).build(fs).doing(|| format!("building a Vfs of {BUDGET} bytes"))?;
    Ok(vfs.context(who))
}

/// Returns the kernel's name of the file system that a directory is on, from its mount. Returns
/// `None` where the kernel does not list the mount.
pub fn file_system_at(dir: &Path) -> Option<String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(dir, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let device = Device { major: rustix::fs::major(stat.st_dev), minor: rustix::fs::minor(stat.st_dev) };
    let mount = mountinfo::now().into_iter().find(|mount| mount.device == device)?;
    String::from_utf8(mount.kind).ok()
}

/// Returns a path for messages.
pub fn escaped(path: &Path) -> impl std::fmt::Display {
    path.as_os_str().as_encoded_bytes().escape_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_known() {
        assert_eq!(credentials().unwrap().effective().uid(), rustix::process::geteuid().as_raw());
    }
}
