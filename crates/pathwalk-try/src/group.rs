//! The cgroup of a command with limits.
//!
//! The group is below one that the caller is in, or in that one itself. The kernel limits no group
//! beside processes of the group above it, so there is one with these properties:
//!
//! - it has no processes, or is the root of the hierarchy;
//! - it may be written to, and has the controllers.
//!
//! If only the caller is in the way, it goes into a group of its own.
//!
//! # What always holds
//!
//! - All limits are set before a process is in the group.
//! - A group is locked as long as its maker lives. One without a lock was left behind by a process
//!   that was killed, and the next process removes it.
//!
//! Source: `cgroups(7)`; "Control Group v2" of the kernel's documentation.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pathwalk_hostfs::mountinfo::{self, Line};
use rustix::fs::{Access, FlockOperation, Mode, OFlags, access, flock, fstat, open};

use crate::Error;
use crate::limits::{Limits, Met};

/// What the names of groups of commands begin with.
const OF_COMMANDS: &str = "pathwalk-try-";

/// What the names of groups begin with that callers went into.
const OF_CALLERS: &str = "pathwalk-caller-";

/// The processes and threads that are in the group beside the command: the inner process, the first
/// one, and its thread for signals.
const OWN: u64 = 3;

/// How long the end of the processes in a group is waited for.
const END: Duration = Duration::from_secs(5);

/// A group, which is removed when this is dropped, with all processes in it.
pub(crate) struct Group {
    dir: PathBuf,
    /// Holds the lock.
    _lock: OwnedFd,
}

impl Group {
    /// Makes one with these limits; `None` if there are none.
    pub(crate) fn make(limits: &Limits) -> Result<Option<Group>, Error> {
        let wanted = limits.controllers();
        if wanted.is_empty() {
            return Ok(None);
        }
        let text = fs::read("/proc/self/cgroup").map_err(|error| Error::Limits(format!("/proc/self/cgroup: {error}")))?;
        let (own, top) = place(&text, &mountinfo::now()).map_err(Error::Limits)?;
        let group = above(&own, &top, &wanted).or_else(|why| in_own(&own, &wanted).map_err(|_| why)).map_err(Error::Limits)?;
        group.limit(limits).map_err(|error| Error::Limits(shown(&group.dir, &error)))?;
        Ok(Some(group))
    }

    fn new(above: &Path) -> io::Result<Group> {
        remove_left(above);
        let (dir, lock) = make(above, OF_COMMANDS)?;
        Ok(Group { dir, _lock: lock })
    }

    fn limit(&self, limits: &Limits) -> io::Result<()> {
        if let Some(memory) = limits.memory {
            self.write("memory.max", memory)?;
            // Else the command would slow the whole machine down, and take its space for swapping,
            // before it is ended. A kernel without swapping does not have it.
            match self.write("memory.swap.max", 0) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                set => set?,
            }
            // A command of which a part is missing may do what nothing expects.
            self.write("memory.oom.group", 1)?;
        }
        limits.processes.map_or(Ok(()), |most| self.write("pids.max", most.saturating_add(OWN)))
    }

    /// Takes a process in, which has no child.
    pub(crate) fn take_in(&self, process: u32) -> io::Result<()> {
        self.write("cgroup.procs", process.into())
    }

    /// Returns the limits that were met.
    pub(crate) fn met(&self) -> Met {
        let count = |file: &str, event: &str| {
            let text = fs::read_to_string(self.dir.join(file)).unwrap_or_default();
            let count = text.lines().find_map(|line| line.strip_prefix(event)?.strip_prefix(' ')?.parse::<u64>().ok());
            count.is_some_and(|count| count > 0)
        };
        Met { memory: count("memory.events", "oom_kill"), processes: count("pids.events", "max") }
    }

    fn write(&self, file: &str, value: u64) -> io::Result<()> {
        fs::write(self.dir.join(file), value.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Of what is still there, the next process removes it.
        let _ = remove(&self.dir);
    }
}

/// Makes a group without limits, and locks it.
fn make(above: &Path, prefix: &str) -> io::Result<(PathBuf, OwnedFd)> {
    /// The number of the next name. Each name that a process gives is another one.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let dir = above.join(format!("{prefix}{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
    fs::create_dir(&dir)?;
    let locked = lock(&dir).and_then(|lock| match fs::metadata(&dir)?.ino() == fstat(&lock)?.st_ino {
        true => Ok(lock),
        // Before it was locked, it was removed as one that was left behind.
        false => Err(ErrorKind::NotFound.into()),
    });
    if locked.is_err() {
        let _ = fs::remove_dir(&dir);
    }
    Ok((dir, locked?))
}

/// Locks a group, unless another process has done so.
fn lock(dir: &Path) -> io::Result<OwnedFd> {
    let opened = open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

/// Ends all processes in a group, and removes it.
fn remove(dir: &Path) -> io::Result<()> {
    // A kernel before 5.14 does not have it. There, too, all processes of a command have ended by
    // now: with their namespace of processes.
    let _ = fs::write(dir.join("cgroup.kill"), "1");
    let until = Instant::now() + END;
    loop {
        match fs::remove_dir(dir) {
            // The last process is about to leave.
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < until => sleep(Duration::from_millis(1)),
            removed => return removed,
        }
    }
}

/// Removes groups that processes left behind when they ended.
fn remove_left(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let begins = |prefix: &str| name.as_bytes().starts_with(prefix.as_bytes());
        if begins(OF_COMMANDS)
            && let Ok(_lock) = lock(&path)
        {
            let _ = remove(&path);
        }
        if begins(OF_CALLERS)
            && let Ok(_lock) = lock(&path)
        {
            // What the caller has started may live on there.
            let _ = fs::remove_dir(&path);
        }
    }
}

/// Returns the directory of this process's group, and that of the highest one that is seen.
fn place(groups: &[u8], mounts: &[Line]) -> Result<(PathBuf, PathBuf), String> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let Some(own) = groups.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::")) else {
        return Err("the kernel has no cgroups of version 2".to_owned());
    };
    let own = path(own);
    if own.components().any(|name| name.as_os_str() == "..") {
        return Err("the cgroup of this process is outside of its namespace of cgroups".to_owned());
    }
    // The last mount at a path covers those before it.
    let mut seen = mounts.iter().rev().filter(|line| *line.kind == *b"cgroup2");
    let found = seen.find_map(|line| Some((own.strip_prefix(path(&line.root)).ok()?.to_owned(), path(&line.point))));
    let Some((below, top)) = found else {
        return Err("the hierarchy of cgroups of version 2 is not mounted".to_owned());
    };
    // Without a slash at its end.
    let own = top.join(below).components().collect();
    Ok((own, top))
}

/// Makes a group in the nearest one that allows it, from a process's own one upwards.
fn above(own: &Path, top: &Path, wanted: &[&str]) -> Result<Group, String> {
    let mut reasons = Vec::new();
    for dir in own.ancestors().take_while(|dir| dir.starts_with(top)) {
        match in_dir(dir, wanted) {
            Ok(group) => return Ok(group),
            Err(why) => reasons.push(shown(dir, &why)),
        }
    }
    Err(reasons.join("; "))
}

/// Makes a group in this one.
fn in_dir(dir: &Path, wanted: &[&str]) -> Result<Group, String> {
    let failed = |error: io::Error| error.to_string();
    if !is_root(dir) && !processes(dir).map_err(failed)?.is_empty() {
        return Err("it has processes, so that no group below it can be limited".to_owned());
    }
    let missing = |file: &str| -> Result<Vec<&str>, String> {
        let there = fs::read_to_string(dir.join(file)).map_err(failed)?;
        Ok(wanted.iter().copied().filter(|wanted| there.split_whitespace().all(|there| there != *wanted)).collect())
    };
    match missing("cgroup.controllers")?[..] {
        [] => {}
        [first, ..] => return Err(format!("the controller \"{first}\" is not there")),
    }
    // By this file, the kernel checks who may move processes within the group.
    access(dir.join("cgroup.procs"), Access::WRITE_OK).map_err(|errno| failed(errno.into()))?;
    let off: Vec<String> = missing("cgroup.subtree_control")?.iter().map(|name| format!("+{name}")).collect();
    if !off.is_empty() {
        fs::write(dir.join("cgroup.subtree_control"), off.join(" ")).map_err(failed)?;
    }
    Group::new(dir).map_err(failed)
}

/// Makes a group in the caller's own, where the caller is alone, after it has gone into another one
/// there, for as long as it lives.
fn in_own(own: &Path, wanted: &[&str]) -> Result<Group, String> {
    let failed = |error: io::Error| error.to_string();
    let alone = [std::process::id()];
    if is_root(own) || processes(own).map_err(failed)? != alone {
        return Err("others are there".to_owned());
    }
    let (dir, lock) = make(own, OF_CALLERS).map_err(failed)?;
    let enter = |dir: &Path| fs::write(dir.join("cgroup.procs"), alone[0].to_string());
    let made = enter(&dir).map_err(failed).and_then(|()| in_dir(own, wanted));
    if made.is_ok() {
        // It is locked until this process ends.
        std::mem::forget(lock);
    } else {
        // As it was.
        let _ = enter(own).and_then(|()| fs::remove_dir(&dir));
    }
    made
}

/// Returns whether a group is the root of the hierarchy.
fn is_root(dir: &Path) -> bool {
    !dir.join("cgroup.type").exists()
}

fn processes(dir: &Path) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(dir.join("cgroup.procs"))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

fn shown(dir: &Path, why: &impl std::fmt::Display) -> String {
    format!("\"{}\": {why}", dir.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(text: &str) -> Vec<Line> {
        mountinfo::parse(text.as_bytes())
    }

    #[test]
    fn the_own_group_is_found_in_what_is_mounted() {
        let unified = mounts("30 20 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let found = place(b"0::/user.slice/a.scope\n", &unified);
        assert_eq!(found, Ok(("/sys/fs/cgroup/user.slice/a.scope".into(), "/sys/fs/cgroup".into())));
        let hybrid = "31 20 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      32 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = place(b"8:pids:/x\n0::/\n", &mounts(hybrid));
        assert_eq!(found, Ok(("/sys/fs/cgroup/unified".into(), "/sys/fs/cgroup/unified".into())));
        let part = mounts("30 20 0:25 /docker/c1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_eq!(place(b"0::/docker/c1/b\n", &part).unwrap().0, Path::new("/sys/fs/cgroup/b"));
    }

    #[test]
    fn a_group_that_is_not_seen_is_an_error() {
        let unified = mounts("30 20 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let part = mounts("30 20 0:25 /docker/c1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let cases: [(&[u8], &[Line], &str); 4] = [
            (b"4:memory:/\n", &unified, "no cgroups of version 2"),
            (b"0::/../a\n", &unified, "outside of its namespace"),
            (b"0::/a\n", &part, "not mounted"),
            (b"0::/a\n", &[], "not mounted"),
        ];
        for (groups, mounts, says) in cases {
            let why = place(groups, mounts).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }
}
