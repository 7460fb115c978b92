//! A command of a client: its streams, its time, and its end.

use std::fs::File;
use std::io::{PipeReader, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use pathwalk_try::{Caller, Ended, Outcome, Stopper, Streams, Trial};
use rustix::fs::MemfdFlags;
use serde_json::json;

use super::line::{Ask, Line, Open};
use super::message::{Output, Ran};
use super::output::{Kept, lossy, whole};
use super::session::Events;
use crate::exits::{NOT_FOUND, NOT_RUNNABLE, NOT_TRIED};
use crate::trial::{run, told};

/// How long a command that is asked to end has for that.
const GRACE: Duration = Duration::from_secs(2);

/// What a client says about the command's streams and time.
pub(super) struct Limits {
    pub(super) timeout: Option<Duration>,
    pub(super) output: usize,
    pub(super) is_streamed: bool,
}

/// The reason that a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    ByItself,
    Stopped,
    TimedOut,
}

/// Runs a command, and waits for its end. The step is to be filled in.
pub(super) fn carry_out(
    line: &Line,
    open: &Open,
    (mut trial, asks): (Trial, Receiver<Ask>),
    (input, limits): (Option<&str>, &Limits),
    events: &dyn Events,
) -> anyhow::Result<Ran> {
    let stopper = Stopper::default();
    let (output, to_output) = std::io::pipe().context("making a pipe")?;
    let (errors, to_errors) = std::io::pipe().context("making a pipe")?;
    trial.caller = Caller::Apart(stopper.clone());
    let streams: [OwnedFd; 3] = [standard_input(input)?, to_output.into(), to_errors.into()];
    trial.streams = Streams::Own(streams.map(Arc::new));
    events.tell("started", json!({ "branch": line.name }));
    let begun = Instant::now();
    let (outcome, why, [stdout, stderr]) = thread::scope(|scope| {
        let watch = scope.spawn(|| watch(asks, limits.timeout, &stopper));
        let readers =
            [(output, "stdout"), (errors, "stderr")].map(|(pipe, name)| scope.spawn(move || read(pipe, name, limits, events)));
        let outcome = run::serve(&trial, None, || Ok(open.context.clone()));
        // The readers and the watch end with what they wait for.
        drop(trial);
        *line.running.lock() = None;
        let texts = readers.map(|reader| reader.join().unwrap_or_default());
        (outcome, watch.join().unwrap_or(Why::ByItself), texts)
    });
    let ms = begun.elapsed().as_millis() as u64;
    let outcome = outcome?;
    let (exit_code, signal, error) = ended(&outcome);
    let limits_met = told::limits(outcome.met);
    let (timed_out, stopped) = (why == Why::TimedOut, why == Why::Stopped);
    Ok(Ran { step: 0, exit_code, signal, timed_out, stopped, limits_met, ms, stdout, stderr, error })
}

/// Returns the code, the signal, and why it was not run.
fn ended(outcome: &Outcome) -> (u8, Option<i32>, Option<String>) {
    match outcome.how {
        Ended::Exited(code) => (code, None, None),
        Ended::Killed(signal) => (128 + signal as u8, Some(signal), None),
        Ended::NotFound => (NOT_FOUND, None, Some("the command is not there".to_owned())),
        Ended::NotRunnable(errno) => (NOT_RUNNABLE, None, Some(std::io::Error::from_raw_os_error(errno).to_string())),
        _ => (NOT_TRIED, None, None),
    }
}

/// Returns a file in memory with a text, or nothing to read.
fn standard_input(text: Option<&str>) -> anyhow::Result<OwnedFd> {
    let Some(text) = text else { return Ok(File::open("/dev/null").context("opening /dev/null")?.into()) };
    let memory = || -> std::io::Result<File> {
        let mut file = File::from(rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?);
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    Ok(memory().context("making standard input")?.into())
}

/// Waits until the command has ended, is to be ended, or has no time left. Then it is asked to end,
/// and ended after a while.
fn watch(asks: Receiver<Ask>, timeout: Option<Duration>, stopper: &Stopper) -> Why {
    let asked = timeout.map_or_else(|| asks.recv().map_err(RecvTimeoutError::from), |timeout| asks.recv_timeout(timeout));
    let why = match asked {
        Err(RecvTimeoutError::Disconnected) => return Why::ByItself,
        Err(RecvTimeoutError::Timeout) => Why::TimedOut,
        Ok(_) => Why::Stopped,
    };
    if asked != Ok(Ask::Kill) {
        stopper.end();
        let until = Instant::now() + GRACE;
        loop {
            match asks.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Disconnected) => return why,
                Ok(Ask::End) => stopper.end(),
                Ok(Ask::Kill) | Err(RecvTimeoutError::Timeout) => break,
            }
        }
    }
    stopper.kill();
    why
}

/// Reads a stream to its end. What is told meanwhile is cut between characters.
fn read(mut pipe: PipeReader, name: &str, limits: &Limits, events: &dyn Events) -> Output {
    let (mut kept, mut part, mut untold) = (Kept::new(limits.output), vec![0; 64 << 10], Vec::new());
    loop {
        let length = match pipe.read(&mut part) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(length @ 1..) => length,
            _ => break,
        };
        kept.add(&part[..length]);
        if limits.is_streamed {
            untold.extend_from_slice(&part[..length]);
            let rest = untold.split_off(whole(&untold));
            tell(name, &std::mem::replace(&mut untold, rest), events);
        }
    }
    tell(name, &untold, events);
    kept.text()
}

fn tell(name: &str, bytes: &[u8], events: &dyn Events) {
    if !bytes.is_empty() {
        events.tell(name, json!({ "text": lossy(bytes).0 }));
    }
}
