//! The start of the program in the background: by running itself again, as a child that reports on
//! its standard output when it is ready.
//!
//! What always holds: the command returns when the mount can be used, or with the child's exit code
//! after the child has said why it cannot.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, bail};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::exits::NOT_DONE;

/// The byte that the child sends when it is ready.
const READY: &[u8] = b"r";

/// Runs this program again with these arguments, and waits until it is ready.
pub(super) fn start<'a>(args: impl IntoIterator<Item = &'a OsStr>) -> anyhow::Result<ExitCode> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("pathwalk").args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("starting the program in the background (/proc/self/exe); use -f without /proc")?;
    let mut told = Vec::new();
    child.stdout.take().context("a pipe")?.read_to_end(&mut told).context("waiting for the mount")?;
    if told == READY {
        return Ok(ExitCode::SUCCESS);
    }
    let status = child.wait().context("waiting for the program in the background")?;
    match status.code() {
        // It has said why.
        Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(NOT_DONE))),
        None => bail!("the program in the background was killed before the mount was ready ({status})"),
    }
}

/// Leaves the session of the command that started this child.
pub(super) fn leave_session() -> anyhow::Result<()> {
    // A leader of a group, which a child of `start` is not, stays.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/").context("going to /")
}

/// Reports that the mount is ready, and lets go of the standard streams.
pub(super) fn report_ready() -> anyhow::Result<()> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).context("opening /dev/null")?;
    rustix::stdio::dup2_stderr(&null).context("leaving standard error")?;
    let told = rustix::io::write(rustix::stdio::stdout(), READY);
    rustix::stdio::dup2_stdout(&null).context("leaving standard output")?;
    told.context("reporting that the mount is ready").map(drop)
}
