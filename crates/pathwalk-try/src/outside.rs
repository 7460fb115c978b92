//! The caller's side: it starts the inner process, serves the branch, and waits for the end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::Arc;

use pathwalk_fuse::{Ids, MountError};
use rustix::fs::{FileType, MemfdFlags, fstat, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};

use crate::channel::{Channel, Message, Status};
use crate::group::Group;
use crate::plan::{Engine, Mapping, Plan};
use crate::signals::Handled;
use crate::stopper::First;
use crate::terminal::Terminal;
use crate::{Caller, Ended, Error, Outcome, Streams, Trial};

/// What is done for a command in the caller's group.
struct Attached {
    signals: Handled,
    terminal: Option<Terminal>,
}

/// The inner process, which ends when this is dropped.
#[derive(Debug)]
struct Inner(Child);

/// An inner process that waits for what to do: a program takes some milliseconds to start. It ends
/// when this is dropped.
///
/// ```no_run
/// use pathwalk_try::{Started, Trial};
/// let program = ["/proc/self/exe".into(), "inside".into()];
/// let started = Started::new(&program)?;
/// // Something that takes time, and then:
/// let trial = Trial::new("/srv/www", ["true"]);
/// trial.run_in(started, |device, options| todo!("serve {device:?} by {options:?}"))?;
/// # Ok::<(), pathwalk_try::Error>(())
/// ```
#[derive(Debug)]
pub struct Started {
    inner: Inner,
    channel: Channel,
}

impl Started {
    /// Starts it, with the standard streams of this process. `program` is that of
    /// [`Trial::program`].
    pub fn new(program: &[OsString]) -> Result<Started, Error> {
        Started::with(program, &Streams::Callers)
    }

    fn with(program: &[OsString], streams: &Streams) -> Result<Started, Error> {
        let [name, arguments @ ..] = program else { return Err(Error::Unnamed("program")) };
        let (channel, theirs) = Channel::pair().map_err(Error::outside("making a channel"))?;
        const DOING: &str = "starting the inner process";
        fcntl_setfd(&theirs, FdFlags::empty()).map_err(Error::outside(DOING))?;
        let mut command = Command::new(name);
        command.args(arguments).arg(theirs.as_raw_fd().to_string());
        streams.give(&mut command).map_err(Error::outside(DOING))?;
        Ok(Started { inner: Inner(command.spawn().map_err(Error::outside(DOING))?), channel })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn run(
    trial: &Trial,
    started: Option<Started>,
    serve: impl FnOnce(OwnedFd, &pathwalk_fuse::Options) -> Result<(), MountError>,
) -> Result<Outcome, Error> {
    check(trial)?;
    let group = Group::make(&trial.limits)?;
    let (first, attached) = match &trial.caller {
        Caller::Shared => {
            let first = Arc::new(First::default());
            let (of_signals, terminal) = (Arc::clone(&first), Terminal::of_caller());
            let signals = Handled::begin(move |signal| of_signals.pass(signal)).map_err(Error::outside("handling signals"))?;
            (first, Some(Attached { signals, terminal }))
        }
        Caller::Apart(stopper) => (Arc::clone(stopper.first()), None),
    };
    let plan = Plan::of(trial, mapping());
    let started = started.map_or_else(|| Started::with(&trial.program, &trial.streams), Ok);
    let Started { inner, channel } = started?;
    if let Some(group) = &group {
        // It waits for what to do, and has started nothing.
        group.take_in(inner.0.id()).map_err(|error| Error::Limits(error.to_string()))?;
    }
    send(&plan, &channel)?;
    let status = follow(&channel, &inner, trial, serve, &first, attached.as_ref());
    let asked = first.asked();
    first.end();
    drop(inner);
    if let Some(Attached { signals, terminal }) = attached {
        drop(signals);
        if let Some(terminal) = terminal {
            terminal.restore();
        }
    }
    let met = group.as_ref().map(Group::met).unwrap_or_default();
    let how = match status {
        // With the first process ends what would have told.
        Err(Error::Lost) if asked == Some(libc::SIGKILL) || met.memory => Ended::Killed(libc::SIGKILL),
        status => ended(status?),
    };
    Ok(Outcome { how, asked_to_end: asked, met })
}

fn ended(status: Status) -> Ended {
    match status {
        Status::Exited(code) => Ended::Exited(code),
        Status::Killed(signal) => Ended::Killed(signal),
        Status::NotRun(libc::ENOENT) => Ended::NotFound,
        Status::NotRun(error) => Ended::NotRunnable(error),
    }
}

/// Answers the processes inside until the command has ended.
fn follow(
    channel: &Channel,
    inner: &Inner,
    trial: &Trial,
    serve: impl FnOnce(OwnedFd, &pathwalk_fuse::Options) -> Result<(), MountError>,
    first: &First,
    attached: Option<&Attached>,
) -> Result<Status, Error> {
    let mut serve = Some(serve);
    while let Some((message, with)) = channel.receive() {
        match (message, with) {
            (Message::Unshared, _) => {
                map_all(inner.0.id()).map_err(Error::outside("mapping users and groups into the user namespace"))?;
                channel.send(&Message::Mapped, None).map_err(Error::outside("answering the inner process"))?;
            }
            (Message::Device, Some(device)) => {
                if let Some(serve) = serve.take() {
                    serve(device, &trial.mounting())?;
                }
            }
            (Message::Mount, None) => {
                let Engine::Mounted(mount) = &trial.engine else { break };
                let sent = channel.send(&Message::Mount, Some(mount.as_fd()));
                sent.map_err(Error::outside("passing on the mount of the branch"))?;
            }
            (Message::First, Some(process)) => first.is(process),
            (Message::Stopped, _) => {
                if let Some(Attached { signals, terminal }) = attached {
                    if let Some(terminal) = terminal {
                        terminal.take_back();
                    }
                    signals.stop();
                }
                // Apart, nothing else would continue it.
                first.send(signal_hook::consts::SIGCONT);
            }
            (Message::Ended(status, offset), _) => {
                if matches!(trial.streams, Streams::Callers) {
                    leave_input_at(offset);
                }
                return Ok(status);
            }
            (Message::Failed(why), _) => return Err(Error::Inside(why)),
            (Message::Plan | Message::Mapped | Message::Device | Message::Mount | Message::First, _) => break,
        }
    }
    Err(Error::Lost)
}

/// Checks what the command would get from outside.
fn check(trial: &Trial) -> Result<(), Error> {
    if trial.command.is_empty() {
        return Err(Error::Unnamed("command"));
    }
    let is_directory =
        |stream: BorrowedFd<'_>| fstat(stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let names = ["standard input", "standard output", "standard error"];
    match trial.streams.all().into_iter().zip(names).find(|(stream, _)| is_directory(*stream)) {
        Some((_, name)) => Err(Error::Directory(name)),
        None => Ok(()),
    }
}

/// Returns whether this process may map all its ids.
fn mapping() -> Mapping {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::SETFCAP;
    match capabilities(None) {
        Ok(sets) if sets.effective.contains(needed) => Mapping::All,
        _ => Mapping::Own,
    }
}

/// Returns the users and groups that the user namespace has.
pub(crate) fn ids() -> Ids {
    match mapping() {
        Mapping::All => Ids::All,
        Mapping::Own => Ids::Only { user: geteuid().as_raw(), group: getegid().as_raw() },
    }
}

/// Sends a plan in a file, since it may be longer than a message.
fn send(plan: &Plan, channel: &Channel) -> Result<(), Error> {
    let bytes = postcard::to_stdvec(plan)
        .map_err(|error| Error::Outside { doing: "writing down what to do", error: std::io::Error::other(error) })?;
    const DOING: &str = "telling the inner process what to do";
    let mut file = File::from(memfd_create("plan", MemfdFlags::CLOEXEC).map_err(Error::outside(DOING))?);
    file.write_all(&bytes).and_then(|()| file.seek(SeekFrom::Start(0)).map(drop)).map_err(Error::outside(DOING))?;
    channel.send(&Message::Plan, Some(file.as_fd())).map_err(Error::outside(DOING))
}

/// Maps each id that this process has to itself.
fn map_all(inner: u32) -> std::io::Result<()> {
    for map in ["uid_map", "gid_map"] {
        let own = std::fs::read_to_string(format!("/proc/self/{map}"))?;
        std::fs::write(format!("/proc/{inner}/{map}"), identical(&own))?;
    }
    Ok(())
}

/// Returns a map in which each id inside of another one leads to itself.
fn identical(map: &str) -> String {
    let lines = map.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (inside, length) = (words.next()?, words.nth(1)?);
        Some(format!("{inside} {inside} {length}\n"))
    });
    lines.collect()
}

/// Sets where the next reader of standard input begins, if it is a file.
fn leave_input_at(offset: Option<u64>) {
    if let Some(offset) = offset {
        let _ = rustix::fs::seek(rustix::stdio::stdin(), rustix::fs::SeekFrom::Start(offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_numbers() {
        assert_eq!(identical("         0       1000          1\n 1 100000 65536\n"), "0 0 1\n1 1 65536\n");
        assert_eq!(identical("0 0 4294967295"), "0 0 4294967295\n");
    }
}
