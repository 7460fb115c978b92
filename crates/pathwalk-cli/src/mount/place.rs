//! Mount points: which are refused, and how a mount is found again.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pathwalk_bench::machine::escaped;
use pathwalk_hostfs::mountinfo::{self, Line};
use rustix::io::Errno;

/// The type of the program's mounts.
const KIND: &[u8] = b"fuse.pathwalk";

/// Checks a mount point, and returns it without links. One whose program has died is taken as it
/// is.
pub(super) fn check(at: &Path) -> anyhow::Result<PathBuf> {
    let shown = escaped(at);
    let metadata = match at.metadata() {
        Err(error) if error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error()) => return Ok(at.to_owned()),
        metadata => metadata.with_context(|| format!("the mount point \"{shown}\"; make that directory, or name another"))?,
    };
    if !metadata.is_dir() {
        bail!("the mount point \"{shown}\" is no directory; name one");
    }
    let at = at.canonicalize().with_context(|| format!("the mount point \"{shown}\""))?;
    if find(&at).is_some_and(|line| line.kind == KIND) {
        bail!("a tree of pathwalk is mounted on \"{shown}\"; unmount it by pathwalk umount, or name another directory");
    }
    Ok(at)
}

/// Refuses a mount point in a directory that is in the tree. The mount would contain itself.
pub(super) fn check_outside(at: &Path, hosts: &[PathBuf]) -> anyhow::Result<()> {
    match hosts.iter().find(|host| at.starts_with(host)) {
        None => Ok(()),
        Some(host) => bail!(
            "the mount point \"{}\" is in \"{}\", which is mounted there: the mount would contain itself; name a directory outside",
            escaped(at),
            escaped(host)
        ),
    }
}

/// Refuses a mount that came into a directory of the tree by propagation to another mount.
pub(super) fn check_not_within(at: &Path, hosts: &[PathBuf]) -> anyhow::Result<()> {
    let Some(own) = find(at) else { return Ok(()) };
    let mut points = mountinfo::now().into_iter().filter(|line| line.device == own.device).map(|line| path(&line));
    points.try_for_each(|point| check_outside(&point, hosts))
}

/// Returns the topmost mount in a place. The mounted file system is not asked.
pub(crate) fn find(at: &Path) -> Option<Line> {
    mountinfo::now().into_iter().rfind(|line| line.point == at.as_os_str().as_bytes())
}

/// Returns the mount of this program in a place, and the place without links. A program that does
/// not answer is not waited for.
pub(crate) fn find_own(at: &Path) -> anyhow::Result<(Line, PathBuf)> {
    let shown = escaped(at);
    let absolute = std::path::absolute(at).with_context(|| format!("the mount point \"{shown}\""))?;
    // The last component is not followed where that needs the mount's program.
    let parent = absolute.parent().and_then(|parent| parent.canonicalize().ok());
    let direct = parent.zip(absolute.file_name()).map(|(parent, name)| parent.join(name)).unwrap_or(absolute);
    let place = match find(&direct) {
        Some(line) => Some((line, direct)),
        None => at.canonicalize().ok().and_then(|at| Some((find(&at)?, at))),
    };
    match place {
        Some((line, at)) if line.kind == KIND => Ok((line, at)),
        Some((line, _)) => bail!("what is mounted on \"{shown}\" is {}, and no tree of pathwalk", line.kind.escape_ascii()),
        None => bail!("nothing is mounted on \"{shown}\"; the trees of pathwalk are listed by: findmnt -t fuse.pathwalk"),
    }
}

fn path(line: &Line) -> PathBuf {
    std::ffi::OsStr::from_bytes(&line.point).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_within_themselves_are_refused() {
        let check = |at: &str, host: &str| check_outside(at.as_ref(), &[PathBuf::from("/other"), host.into()]).is_ok();
        assert!(check("/mnt", "/srv") && check("/srv2", "/srv") && check("/a", "/a/b"));
        assert!(!check("/srv/mnt", "/srv") && !check("/srv", "/srv") && !check("/mnt", "/"));
    }

    #[test]
    fn other_mounts_are_not_its_own() {
        let error = find_own("/proc".as_ref()).unwrap_err().to_string();
        assert!(error.contains("is proc, and no tree of pathwalk"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        assert!(find_own(dir.path()).unwrap_err().to_string().contains("nothing is mounted"));
        assert!(check(&dir.path().join("x")).unwrap_err().to_string().contains("make that directory"));
    }
}
