//! The three sources of answers: the kernel, the engine, the program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use pathwalk::{Access, At, AtFlags, Context, Credentials, Errno, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::place::{PROTECTED_SYMLINKS, Place};
use rustix::fs::{Access as KernelAccess, AtFlags as KernelFlags, CWD, accessat, statat};
use rustix::process::{Gid, Uid};
use rustix::thread;
use serde_json::Value;

use crate::cases::{AtEnd, Case};

/// A user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: &'static [u32],
}

/// The number of accesses: some of read, write and execute.
pub(crate) const WANTS: usize = 7;

/// The end of a walk, and the answers for accesses there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer<const N: usize> {
    Reached([Result<(), Errno>; N]),
    Failed(Errno),
}

/// The answers for each access: the one with the bits `n` is at `n - 1`.
pub(crate) type Whole = Answer<WANTS>;
/// The answers for read, write and execute.
pub(crate) type Singles = Answer<3>;

impl Whole {
    /// Returns the answers for read, write and execute.
    pub(crate) fn singles(self) -> Singles {
        match self {
            Answer::Reached(may) => Answer::Reached([Access::READ, Access::WRITE, Access::EXECUTE].map(|one| may[index(one)])),
            Answer::Failed(errno) => Answer::Failed(errno),
        }
    }

    /// Returns the answer for an access to the end, or the error on the way there.
    pub(crate) fn wanted(self, want: Access) -> Result<(), Errno> {
        match self {
            Answer::Reached(may) => may[index(want)],
            Answer::Failed(errno) => Err(errno),
        }
    }
}

fn index(want: Access) -> usize {
    usize::from(want.bits()) - 1
}

/// Returns the access at this place.
pub(crate) fn access(index: usize) -> Access {
    Access::from_bits_truncate(index as u8 + 1)
}

/// The kernel, asked in a thread that becomes the user.
pub(crate) struct Kernel;

impl Kernel {
    /// Returns all answers. The error says why no thread may become this user.
    pub(crate) fn answers(place: &Place, user: &User, cases: &[Case]) -> std::io::Result<Vec<Whole>> {
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

fn kernel_answer(case: &Case) -> Whole {
    let flags = match case.at_end {
        AtEnd::Follow => KernelFlags::empty(),
        AtEnd::Stay => KernelFlags::SYMLINK_NOFOLLOW,
    };
    let errno = |errno: rustix::io::Errno| Errno::from_raw(errno.raw_os_error());
    let asked = [
        (Access::READ, KernelAccess::READ_OK),
        (Access::WRITE, KernelAccess::WRITE_OK),
        (Access::EXECUTE, KernelAccess::EXEC_OK),
    ];
    let may = |i: usize| {
        let want = asked.iter().filter(|(ours, _)| access(i).contains(*ours)).map(|(_, theirs)| *theirs).collect();
        accessat(CWD, &*case.path, want, flags | KernelFlags::EACCESS).map_err(errno)
    };
    match statat(CWD, &*case.path, flags) {
        Ok(_) => Answer::Reached(std::array::from_fn(may)),
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
        let vfs = builder.build(HostFs::open(root).expect("the tree is there").with_coherence(Coherence::Frozen)).expect("a Vfs");
        Engine(vfs.context(Credentials::user(user.uid, user.gid, user.groups)))
    }

    pub(crate) fn answer(&self, case: &Case) -> Whole {
        let flags = match case.at_end {
            AtEnd::Follow => AtFlags::empty(),
            AtEnd::Stay => AtFlags::SYMLINK_NOFOLLOW,
        };
        let may = |end, want| self.0.faccessat(end, "", want, AtFlags::EACCESS | AtFlags::EMPTY_PATH);
        match self.0.steps_at(At::Cwd, &case.path, flags).answer {
            Ok(end) => Answer::Reached(std::array::from_fn(|i| may(&end, access(i)))),
            Err(errno) => Answer::Failed(errno),
        }
    }
}

/// The report of the program.
pub(crate) struct ToldBy {
    pub(crate) answer: Singles,
    /// The answer to `--want`, if it was given and the end is reached.
    pub(crate) wanted: Option<Result<(), Errno>>,
    /// The rule by which the walk failed, or `reached`.
    pub(crate) rule: String,
    /// The rules for read, write and execute.
    pub(crate) may: Vec<String>,
    pub(crate) code: i32,
}

/// Runs the program as root, for the user, with this value of `--want`.
pub(crate) fn program(root: &Path, user: &User, case: &Case, want: Option<Access>) -> ToldBy {
    let groups: Vec<String> = [user.gid].iter().chain(user.groups).map(u32::to_string).collect();
    let mut command = explain(root, case);
    command.args(["--as", &format!("{}:{}", user.uid, groups.join(","))]);
    if let Some(want) = want {
        let letters = [(Access::READ, "r"), (Access::WRITE, "w"), (Access::EXECUTE, "x")];
        let letters = letters.iter().filter(|(one, _)| want.contains(*one)).map(|(_, letter)| *letter);
        command.args(["--want", &letters.collect::<String>()]);
    }
    told(&command.output().expect("the program starts"))
}

/// Runs the program as the user. The error says why that is not possible.
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
    let wanted = value["want"].is_object().then(|| match (&value["want"]["granted"], errno(&value["want"]["errno"])) {
        (Value::Bool(true), None) => Ok(()),
        (Value::Bool(false), Some(refused)) => Err(refused),
        other => panic!("neither granted nor refused: {other:?}"),
    });
    ToldBy {
        answer,
        wanted,
        rule: if value["answer"] == "reached" { "reached".into() } else { text(&value["rule"]) },
        may: wants.map(|may| text(&may["rule"])).into(),
        code: output.status.code().unwrap_or(-1),
    }
}
