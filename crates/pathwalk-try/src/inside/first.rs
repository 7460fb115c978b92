//! The first process of the namespace: it starts the command, reaps, and ends with it.
//!
//! What always holds: when it ends, the kernel ends all other processes of the namespace.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Command;
use std::thread;

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;

use super::input::Input;
use crate::channel::{Channel, Message, Status};
use crate::error::{Failed, While};
use crate::plan::Plan;

/// Starts the command, and ends with it.
pub(super) fn run(plan: &Plan, channel: &Channel, input: Input) -> Result<(), Failed> {
    let [program, arguments @ ..] = &plan.command[..] else { return Err(Failed("there is no command".into())) };
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGCONT]).doing("handling signals")?;
    let mut command = Command::new(program);
    command.arg0(program).args(arguments).envs(plan.variables.iter().map(|(name, value)| (name, value)));
    if is_useless("TMPDIR") {
        command.env("TMPDIR", "/tmp");
    }
    let (tell, told) = std::sync::mpsc::channel();
    let pass = move || {
        let Ok(child) = told.recv() else { return };
        for signal in signals.forever() {
            // The command may have ended.
            let _ = Signal::from_named_raw(signal).map(|signal| kill_process(child, signal));
        }
    };
    // Before the command may have taken all threads that it is allowed.
    thread::Builder::new().name("signals".into()).spawn(pass).doing("starting a thread")?;
    let child = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => return end(channel, Status::NotRun(error.raw_os_error().unwrap_or(libc::ENOEXEC)), input),
    };
    tell.send(child).doing("passing signals on")?;
    loop {
        let Ok(Some((pid, status))) = wait(WaitOptions::UNTRACED) else { continue };
        if pid != child {
            continue;
        }
        if status.stopped() {
            channel.send(&Message::Stopped, None).doing("telling the caller")?;
        } else {
            let status = std::process::ExitStatus::from_raw(status.as_raw());
            let status = match (status.code(), status.signal()) {
                (Some(code), _) => Status::Exited(code as u8),
                (None, signal) => Status::Killed(signal.unwrap_or(libc::SIGKILL)),
            };
            return end(channel, status, input);
        }
    }
}

/// Returns whether a variable names a directory that the command cannot write to.
fn is_useless(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|dir| access(&*dir, Access::WRITE_OK).is_err())
}

fn end(channel: &Channel, status: Status, input: Input) -> Result<(), Failed> {
    channel.send(&Message::Ended(status, input.offset()), None).doing("telling the caller")?;
    std::process::exit(0)
}
