//! Directories in which commands are tried, by root and by a user without privilege.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pathwalk_tests::skipped;
use rustix::fs::{CWD, FileType, Mode};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::UnshareFlags;
use tempfile::TempDir;

use super::{pathwalk, place_for_all};

/// The user without privilege.
const USER: u32 = 1234;

/// The user that tries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    Root,
    User,
}

impl Who {
    /// Returns those as which this process may run programs.
    pub(crate) fn all() -> Vec<Who> {
        if rustix::process::geteuid().is_root() { vec![Who::User, Who::Root] } else { vec![Who::User] }
    }
}

/// A base with some files, a directory beside it, and the directory for the state of programs.
pub(crate) struct Ground {
    pub(crate) dir: TempDir,
    pub(crate) who: Who,
    pub(crate) engine: &'static str,
}

impl Ground {
    /// Makes one for each user and each engine that is one of the user's.
    pub(crate) fn all(what: &str) -> impl Iterator<Item = Ground> {
        let engines = |who| if who == Who::Root { &["fuse", "auto"][..] } else { &["fuse"] };
        let all = Who::all().into_iter().flat_map(move |who| engines(who).iter().map(move |engine| (who, *engine)));
        all.filter_map(move |(who, engine)| Ground::with(what, who, engine))
    }

    /// Makes one; `None`, with a report, where commands cannot be tried on this machine.
    pub(crate) fn new(what: &str, who: Who) -> Option<Ground> {
        Ground::with(what, who, "fuse")
    }

    /// Makes one in which commands are tried with this engine.
    pub(crate) fn with(what: &str, who: Who, engine: &'static str) -> Option<Ground> {
        let Some(dir) = place_for_all() else {
            skipped(what, "there is no directory that all users can reach");
            return None;
        };
        let ground = Ground { dir, who, engine };
        for name in ["base", "base/sub", "state", "beside", "home"] {
            std::fs::create_dir(ground.at(name)).unwrap();
        }
        for (name, text) in [("base/file", "old\n"), ("base/sub/inner", "inner\n"), ("beside/outside", "untouched\n")] {
            std::fs::write(ground.at(name), text).unwrap();
        }
        ground.own("");
        let output = ground.tried(&["--drop"], &["true"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(125) && (errors.contains("user namespace") || errors.contains("/dev/fuse")) {
            skipped(what, errors.trim());
            return None;
        }
        assert!(output.status.success(), "{who:?}: {errors}");
        Some(ground)
    }

    /// Makes all below a path, which may be absolute, the user's.
    pub(crate) fn own(&self, path: &str) {
        if self.who == Who::User && rustix::process::geteuid().is_root() {
            give(&self.at(path));
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.at("base")
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap_or_else(|error| format!("{path}: {error}"))
    }

    /// Returns the program, as the user, in the base.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = pathwalk();
        command.args(args).current_dir(self.base());
        self.prepare(&mut command);
        command
    }

    /// Has a command run as the user, with the state and the home of this ground.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("XDG_STATE_HOME", self.at("state")).env("HOME", self.at("home"));
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env_remove("TMPDIR");
        command.stdin(Stdio::null());
        heed_signals(command);
        if self.who == Who::User && rustix::process::geteuid().is_root() {
            become_user(command);
        }
    }

    /// Returns the command that tries a command.
    pub(crate) fn trying<S: AsRef<OsStr>>(&self, options: &[&str], tried: &[S]) -> Command {
        let mut command = self.program(&["try"]);
        // A test may name another one.
        if !options.contains(&"--engine") {
            command.args(["--engine", self.engine]);
        }
        command.args(options).arg("--").args(tried);
        command
    }

    pub(crate) fn tried<S: AsRef<OsStr>>(&self, options: &[&str], tried: &[S]) -> Output {
        self.trying(options, tried).output().expect("the program starts")
    }

    /// Tries a script, and returns its exit code, its output, and what is told behind it.
    pub(crate) fn script(&self, options: &[&str], script: &str) -> (Option<i32>, String, String) {
        let output = self.tried(options, &["sh", "-c", script]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Returns the number of branches that are kept.
    pub(crate) fn branches(&self) -> usize {
        let value = super::json(&mut self.program(&["branch", "list", "--json"]));
        value["branches"].as_array().unwrap().len()
    }
}

/// Has a command begin with the default actions of the signals of a terminal, which it would else
/// ignore where this process does: under `nohup`, or in the background of a script.
fn heed_signals(command: &mut Command) {
    let heed = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: the default action runs no code of this process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only.
    unsafe { command.pre_exec(heed) };
}

fn give(path: &Path) {
    let metadata = path.symlink_metadata().unwrap();
    rustix::fs::chownat(
        CWD,
        path,
        Some(rustix::fs::Uid::from_raw(USER)),
        Some(rustix::fs::Gid::from_raw(USER)),
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .unwrap();
    if metadata.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// Has a command run as a user without privilege, for which `/dev/fuse` is open, as it is on most
/// systems.
fn become_user(command: &mut Command) {
    let become_it = move || {
        // SAFETY: the child has no other thread, and no descriptor table is unshared.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        // Over a directory that is seen by nothing else in this namespace.
        mount("try", "/mnt", "tmpfs", MountFlags::empty(), c"mode=755")?;
        let (mode, number) = (Mode::from_raw_mode(0o666), rustix::fs::makedev(10, 229));
        rustix::fs::mknodat(CWD, "/mnt/fuse", FileType::CharacterDevice, mode, number)?;
        rustix::fs::chmod("/mnt/fuse", mode)?;
        mount_bind("/mnt/fuse", "/dev/fuse")?;
        rustix::mount::unmount("/mnt", rustix::mount::UnmountFlags::DETACH)?;
        rustix::thread::set_thread_groups(&[])?;
        let gid = rustix::process::Gid::from_raw(USER);
        let uid = rustix::process::Uid::from_raw(USER);
        rustix::thread::set_thread_res_gid(gid, gid, gid)?;
        rustix::thread::set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only.
    unsafe { command.pre_exec(become_it) };
}
