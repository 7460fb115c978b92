//! A run of one test program with one mutant.
//!
//! # What always holds
//!
//! - A program ends at its first failed test.
//! - A mutant is endless by the time that it takes of the processor, or because it takes none: it
//!   does not matter how many other programs run. Both limits grow with the usual time.
//! - The processes that the program started end with it, unless they left its process group.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use procfs_core::FromRead;
use procfs_core::process::Stat;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use super::bundle::Binary;
use super::schema::SELECTED;

/// The end of a test program.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum End {
    Passed,
    /// A test of this name failed, or the process ended otherwise.
    Failed(String),
    /// The program took too much time of the processor, or waited in vain.
    Endless,
}

/// The memory that a process may map, in bytes. A mutant that allocates without end must not take
/// that of the machine.
const MEMORY: u64 = 8 << 30;

/// The time of the processor that a process may take, in seconds, and what is added for each second
/// that the program usually takes.
const SECONDS: (u64, u64) = (3, 5);

/// The time that a program may wait while it takes next to none of the processor, in seconds, and
/// what is added for each second that it usually takes.
const IDLE: (u64, u64) = (20, 5);

/// The ticks of the processor in a second, and the most of them in a second that count as none.
const TICKS: (u64, u64) = (100, 1);

/// Runs a test program with its arguments, with the mutant of this number or with none. `usual` is
/// the time that it takes with none, if that is known.
pub(super) fn run(binary: &Binary, arguments: &[&str], mutant: Option<usize>, usual: Option<Duration>) -> Result<End> {
    let mut command = Command::new(&binary.program);
    command.args(arguments).current_dir(&binary.directory).env("CARGO_MANIFEST_DIR", &binary.directory);
    command.env_remove(SELECTED).envs(mutant.map(|number| (SELECTED, number.to_string())));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("run {}", binary.program.display()))?;
    let group = Pid::from_child(&child);
    let usual = usual.map(|usual| usual.as_secs() + 1);
    let limit = |resource, most| prlimit(Some(group), resource, Rlimit { current: Some(most), maximum: Some(most) });
    // Without effect where the process has ended by now.
    let _ = limit(Resource::As, MEMORY);
    let _ = limit(Resource::Core, 0);
    let _ = usual.map(|usual| limit(Resource::Cpu, SECONDS.0 + SECONDS.1 * usual));
    let idle = usual.map(|usual| Duration::from_secs(IDLE.0 + IDLE.1 * usual));
    let failures = failures(child.stdout.take().context("take the output of the tests")?);
    let end = watch(&mut child, group, &failures, idle);
    // Without effect where all of them have ended.
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    end
}

/// Reads the output of the tests; sends the name of each failed test, and is gone at the end.
fn failures(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if let Some(test) = line.strip_prefix("test ").and_then(|test| test.strip_suffix(" ... FAILED")) {
                // The receiver is gone after the first.
                let _ = sender.send(test.to_owned());
            }
        }
    });
    receiver
}

/// Waits until the program fails, ends, or has been idle for too long.
fn watch(child: &mut Child, group: Pid, failures: &Receiver<String>, idle: Option<Duration>) -> Result<End> {
    let mut busy = (Instant::now(), 0);
    loop {
        match failures.recv_timeout(Duration::from_secs(1)) {
            Ok(test) => return Ok(End::Failed(test)),
            Err(RecvTimeoutError::Disconnected) => return Ok(ended(child.wait()?)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        // A process that left the group may keep the output open.
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        let (since, ticks) = busy;
        let now = ticks_of(group);
        if now.saturating_sub(ticks) > TICKS.1 * since.elapsed().as_secs() {
            busy = (Instant::now(), now);
        } else if idle.is_some_and(|idle| since.elapsed() > idle) {
            return Ok(End::Endless);
        }
    }
}

fn ended(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) if signal == Signal::XCPU.as_raw() || signal == Signal::KILL.as_raw() => End::Endless,
        _ if status.success() => End::Passed,
        _ => End::Failed(status.to_string()),
    }
}

/// Returns the time of the processor that the processes of the group have taken, in ticks.
fn ticks_of(group: Pid) -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let stats = processes.filter_map(|process| Stat::from_file(process.path().join("stat")).ok());
    let of_group = stats.filter(|stat| stat.pgrp == group.as_raw_pid());
    of_group.map(|stat| stat.utime + stat.stime + (stat.cutime + stat.cstime) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, usual: Option<Duration>) -> End {
        let binary = Binary { name: String::new(), selection: String::new(), program: "/bin/sh".into(), directory: "/".into() };
        run(&binary, &["-c", script], Some(7), usual).expect("a shell")
    }

    #[test]
    fn a_program_passes_or_fails() {
        assert_eq!(shell("test $PATHWALK_MUTANT = 7", None), End::Passed);
        assert_eq!(shell("exit 3", None), End::Failed("exit status: 3".into()));
    }

    #[test]
    fn the_first_failed_test_ends_it() {
        let long = "echo 'test a::b ... ok'; echo 'test a::c ... FAILED'; sleep 1000";
        assert_eq!(shell(long, None), End::Failed("a::c".into()));
    }

    #[test]
    fn what_takes_no_time_of_the_processor_is_endless() {
        let binary = Binary { name: String::new(), selection: String::new(), program: "/bin/sh".into(), directory: "/".into() };
        let mut child = Command::new(&binary.program).args(["-c", "sleep 1000"]).process_group(0).spawn().expect("a shell");
        let (_sender, receiver) = mpsc::channel();
        let group = Pid::from_child(&child);
        let end = watch(&mut child, group, &receiver, Some(Duration::from_secs(2)));
        kill_process_group(group, Signal::KILL).expect("it runs");
        child.wait().expect("it was killed");
        assert_eq!(end.expect("it can be watched"), End::Endless);
    }
}
