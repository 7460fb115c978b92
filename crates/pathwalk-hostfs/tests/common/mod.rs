//! What the tests of this crate share.

#![allow(dead_code)] // Each test takes what it needs.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_hostfs::HostFs;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::thread::{self, Gid, Uid};

/// Says why a test did not run, in a form that can be searched for.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// An engine on a directory of the host, and root's context in it.
pub(crate) fn walk(root: &Path) -> Context {
    let fs = HostFs::open(root).unwrap();
    Vfs::builder().budget(16 << 20).build(fs).unwrap().context(Credentials::root())
}

/// A descriptor of a directory, as a place.
pub(crate) fn place(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Runs a program and tells whether it was there and succeeded.
pub(crate) fn succeeds(program: &str, arguments: &[&str], last: &Path) -> bool {
    let mut command = Command::new(program);
    let command = command.args(arguments).arg(last).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Somebody to ask as.
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

/// Runs `ask` as `who`, in a thread whose credentials alone are changed; `None` where this process may not do that.
pub(crate) fn as_user<T: Send>(who: &Who, ask: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let become_and_ask = || {
            let groups: Vec<Gid> = who.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
            let (gid, uid) = (Gid::from_raw(who.gid), Uid::from_raw(who.uid));
            thread::set_thread_groups(&groups).ok()?;
            thread::set_thread_res_gid(gid, gid, gid).ok()?;
            thread::set_thread_res_uid(uid, uid, uid).ok()?;
            Some(ask())
        };
        scope.spawn(become_and_ask).join().unwrap()
    })
}
