//! The three who answer: the kernel, the engine, the program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pathwalk::{Access, At, AtFlags, Context, Credentials, Errno, Vfs};
use pathwalk_hostfs::HostFs;
use pathwalk_tests::place::{PROTECTED_SYMLINKS, Place};
use rustix::fs::{Access as KernelAccess, AtFlags as KernelFlags, CWD, accessat, statat};
use rustix::process::{Gid, Uid};
use rustix::thread;
use serde_json::Value;

use crate::cases::{AtEnd, Case};

/// Somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: &'static [u32],
}

/// What a path comes to, and what may be done there: to read, to write, to execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Reached([Result<(), Errno>; 3]),
    Failed(Errno),
}

/// The kernel, asked in a thread that becomes the user.
pub(crate) struct Kernel;

impl Kernel {
    /// All answers; the error says why no thread may become this user.
    pub(crate) fn answers(place: &Place, user: &User, cases: &[Case]) -> std::io::Result<Vec<Answer>> {
        std::thread::scope(|scope| {
            let ask = || {
                place.become_root()?;
                let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
                let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
                thread::set_thread_groups(&groups)?;
                thread::set_thread_res_gid(gid, gid, gid)?;
                thread::set_thread_res_uid(uid, uid, uid)?;
                Ok(cases.iter().map(kernel_answer).collect())
            };
            scope.spawn(ask).join().expect("asking does not panic")
        })
    }
}

fn kernel_answer(case: &Case) -> Answer {
    let flags = match case.at_end {
        AtEnd::Follow => KernelFlags::empty(),
        AtEnd::Stay => KernelFlags::SYMLINK_NOFOLLOW,
    };
    let errno = |errno: rustix::io::Errno| Errno::from_raw(errno.raw_os_error());
    let may = |want| accessat(CWD, &*case.path, want, flags | KernelFlags::EACCESS).map_err(errno);
    match statat(CWD, &*case.path, flags) {
        Ok(_) => Answer::Reached([KernelAccess::READ_OK, KernelAccess::WRITE_OK, KernelAccess::EXEC_OK].map(may)),
        Err(failed) => Answer::Failed(errno(failed)),
    }
}

/// The engine over the host's file system.
pub(crate) struct Engine(Context);

impl Engine {
    pub(crate) fn over(root: &Path, user: &User) -> Engine {
        let builder = Vfs::builder().budget(16 << 20);
        let protects = std::fs::read_to_string(PROTECTED_SYMLINKS).is_ok_and(|value| value.trim() != "0");
        let builder = if protects { builder.protect_symlinks() } else { builder };
        let vfs = builder.build(HostFs::open(root).expect("the tree is there")).expect("a Vfs");
        Engine(vfs.context(Credentials::user(user.uid, user.gid, user.groups)))
    }

    pub(crate) fn answer(&self, case: &Case) -> Answer {
        let flags = match case.at_end {
            AtEnd::Follow => AtFlags::empty(),
            AtEnd::Stay => AtFlags::SYMLINK_NOFOLLOW,
        };
        let may = |end, want| self.0.faccessat(At::Handle(end), "", want, AtFlags::EACCESS | AtFlags::EMPTY_PATH);
        match self.0.steps(At::Cwd, &case.path, flags).answer {
            Ok(end) => Answer::Reached([Access::READ, Access::WRITE, Access::EXECUTE].map(|want| may(&end, want))),
            Err(errno) => Answer::Failed(errno),
        }
    }
}

/// What the program told.
pub(crate) struct ToldBy {
    pub(crate) answer: Answer,
    /// Why the walk failed, or `reached`.
    pub(crate) rule: String,
    /// By which rules one may read, write and execute.
    pub(crate) may: Vec<String>,
    pub(crate) code: i32,
}

/// The program, run by root for the user.
pub(crate) fn program(root: &Path, user: &User, case: &Case) -> ToldBy {
    let groups: Vec<String> = [user.gid].iter().chain(user.groups).map(u32::to_string).collect();
    let mut command = explain(root, case);
    command.args(["--as", &format!("{}:{}", user.uid, groups.join(","))]);
    told(&command.output().expect("the program starts"))
}

/// The program, run by the user himself; the error is why he cannot.
pub(crate) fn as_himself(root: &Path, user: &User, case: &Case) -> Result<ToldBy, String> {
    let mut command = explain(root, case);
    let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let enter = move || {
        thread::set_thread_groups(&groups)?;
        thread::set_thread_res_gid(gid, gid, gid)?;
        Ok(thread::set_thread_res_uid(uid, uid, uid)?)
    };
    // SAFETY: between fork and exec it makes system calls only.
    unsafe { command.pre_exec(enter) };
    Ok(told(&command.output().map_err(|error| format!("others may not run it where it lies ({error})"))?))
}

fn explain(root: &Path, case: &Case) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwalk"));
    command.args(["explain", "--json", "--root"]).arg(root).stdin(Stdio::null());
    if case.at_end == AtEnd::Stay {
        command.arg("--nofollow");
    }
    command.arg(OsStr::from_bytes(&case.path));
    command
}

fn told(output: &Output) -> ToldBy {
    let errors = String::from_utf8_lossy(&output.stderr);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let errno = |of: &Value| of["number"].as_i64().map(|number| Errno::from_raw(number as i32));
    let wants = ["read", "write", "execute"].map(|want| &value["may"][want]);
    let answer = match errno(&value["errno"]) {
        Some(failed) => Answer::Failed(failed),
        None => Answer::Reached(wants.map(|may| errno(&may["errno"]).map_or(Ok(()), Err))),
    };
    let text = |of: &Value| of.as_str().unwrap_or("none").to_owned();
    ToldBy {
        answer,
        rule: if value["answer"] == "reached" { "reached".into() } else { text(&value["rule"]) },
        may: wants.map(|may| text(&may["rule"])).into(),
        code: output.status.code().unwrap_or(-1),
    }
}
