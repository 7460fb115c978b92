//! Runs a command in namespaces of its own, in which a branch is at the path of its base.
//!
//! [`Trial`] says what the command sees; [`Trial::run`] runs it. No privilege is needed: a user
//! namespace gives what it takes.
//!
//! # The processes
//!
//! | process | where | what it does |
//! |---|---|---|
//! | the caller | outside | serves the branch through FUSE, waits, passes signals on |
//! | the inner one | in the new user and mount namespace | mounts FUSE, and starts the next one |
//! | the first one | as process 1 of the new namespace of processes | sets up the mounts, starts the command, reaps, and ends with it |
//!
//! The inner process is this program again, which has to call [`inside`] when it is started with
//! the arguments of [`Trial::program`]: a process with threads may not enter a user namespace.
//!
//! # What always holds
//!
//! - All processes that the command has started end with it, and with the caller, however that
//!   ends. The mounts go with the last of them.
//! - The command is in the caller's process group, session and terminal, or in a session of its own
//!   without a terminal ([`Caller`]).
//! - A command with limits is in a cgroup of its own, which it cannot leave.
//! - The command has no capability in the caller's user namespace, and cannot get one.
//!
//! # What it does not do
//!
//! It makes, compares and commits no branches. It is no virtual machine: `docs/try.md` has the
//! threat model.
//!
//! Source: `user_namespaces(7)`, `mount_namespaces(7)`, `pid_namespaces(7)`, `landlock(7)`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use pathwalk_fuse::MountError;
use pathwalk_hostfs::mountinfo;

mod channel;
mod error;
mod group;
mod inside;
mod limits;
mod outside;
mod plan;
mod signals;
mod stopper;
mod streams;
mod terminal;

pub use error::Error;
pub use inside::inside;
pub use limits::{Limits, Met};
pub use outside::Started;
pub use plan::{Engine, Network};
pub use stopper::Stopper;
pub use streams::Streams;

/// What a command sees, and the command.
///
/// ```no_run
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_fuse::{Options, serve};
/// use pathwalk_try::{Ended, Trial};
///
/// // A program that is called so is the inner process.
/// if let Some(descriptor) = std::env::args().nth(1).filter(|_| std::env::args().len() == 2) {
///     pathwalk_try::inside(descriptor.parse()?);
/// }
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let mut trial = Trial::new("/srv/www", ["sh", "-c", "echo text > file"]);
/// trial.program = vec!["/proc/self/exe".into()];
/// let ended = trial.run(|device, options| serve(&context, device, options).map(drop))?;
/// assert_eq!(ended.how, Ended::Exited(0));
/// assert_eq!(context.read_to_string("/file")?, "text\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// The path at which the branch is, absolute and without links; `/` is one.
    pub base: PathBuf,
    /// The working directory of the command, if it is there for it; else it is the base.
    pub directory: PathBuf,
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Variables that the command has beside those of the caller.
    pub variables: Vec<(OsString, OsString)>,
    /// Paths that are written for real.
    pub writable: Vec<PathBuf>,
    /// Paths that are read-only and show what is there outside, also within the base.
    pub read_only: Vec<PathBuf>,
    /// Paths that are empty.
    pub hidden: Vec<PathBuf>,
    /// Directories that are private to the command, beside `/tmp` and the like: empty, writable,
    /// and gone with it.
    pub private: Vec<PathBuf>,
    /// The network of the command.
    pub network: Network,
    /// What it may take of the machine.
    pub limits: Limits,
    /// What shows the branch to it.
    pub engine: Engine,
    /// Its standard streams.
    pub streams: Streams,
    /// What it has in common with the caller.
    pub caller: Caller,
    /// The source that `mount(8)` shows.
    pub source: String,
    /// The program and its first arguments, behind which the number of a descriptor is given for
    /// [`inside`].
    pub program: Vec<OsString>,
}

/// What a command has in common with the caller.
///
/// [`Stopper`] has an example.
#[derive(Clone, Debug)]
pub enum Caller {
    /// The process group, the session and the terminal. Signals are passed on.
    Shared,
    /// Nothing: a session of its own, without a terminal. It is ended by this.
    Apart(Stopper),
}

/// The end of a command.
///
/// [`Trial`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// It ended with this exit code.
    Exited(u8),
    /// It was ended by this signal.
    Killed(i32),
    /// It is not there.
    NotFound,
    /// It is there and cannot be run: the number of the error.
    NotRunnable(i32),
}

/// The end of a command, and what happened meanwhile.
///
/// [`Trial`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The end.
    pub how: Ended,
    /// The signal to end that was passed on: one that the caller was sent, or that of a
    /// [`Stopper`].
    pub asked_to_end: Option<i32>,
    /// The limits that it met.
    pub met: Met,
}

impl Trial {
    /// Returns one with these, in which all else is as it is outside, and cannot be changed.
    pub fn new(base: impl Into<PathBuf>, command: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Trial {
        let base = base.into();
        Trial {
            directory: base.clone(),
            base,
            command: command.into_iter().map(|word| word.as_ref().to_owned()).collect(),
            variables: Vec::new(),
            writable: Vec::new(),
            read_only: Vec::new(),
            hidden: Vec::new(),
            private: Vec::new(),
            network: Network::Shared,
            limits: Limits::default(),
            engine: Engine::Fuse,
            streams: Streams::Callers,
            caller: Caller::Shared,
            source: "pathwalk".to_owned(),
            program: Vec::new(),
        }
    }

    /// Runs the command, and returns its end. `serve` is given the descriptor of `/dev/fuse` and
    /// the options of its mount, for [`pathwalk_fuse::serve`]; when this returns, the mount has
    /// ended or is about to. With another [`engine`](Trial::engine) it is not called.
    ///
    /// Has to be called by a thread that stays until the end: when the thread ends, all ends.
    /// Signals are handled meanwhile, if the command is in the caller's group: `SIGINT` and
    /// `SIGQUIT` are left to the command, `SIGTERM` and `SIGHUP` are passed to it. When the command
    /// stops, so does the caller. With [`Caller::Apart`], several threads may run commands at once.
    pub fn run(&self, serve: impl FnOnce(OwnedFd, &pathwalk_fuse::Options) -> Result<(), MountError>) -> Result<Outcome, Error> {
        outside::run(self, None, serve)
    }

    /// Does the same in an inner process that was started before, with the standard streams of this
    /// one.
    pub fn run_in(
        &self,
        started: Started,
        serve: impl FnOnce(OwnedFd, &pathwalk_fuse::Options) -> Result<(), MountError>,
    ) -> Result<Outcome, Error> {
        outside::run(self, Some(started), serve)
    }

    /// Returns the options of the FUSE mount, with the ids that its namespace has.
    fn mounting(&self) -> pathwalk_fuse::Options {
        let mut options = mounting(&self.source);
        options.ids = outside::ids();
        options.covered = self.covered();
        options
    }

    /// Returns the paths from the base on at which something else is mounted.
    fn covered(&self) -> Vec<PathBuf> {
        let wanted = [&self.hidden, &self.read_only, &self.writable, &self.private].into_iter().flatten().cloned();
        let mounts = mountinfo::now().into_iter().map(|line| OsString::from_vec(line.point).into());
        let all = wanted.chain(inside::own_places()).chain(mounts);
        let below: BTreeSet<PathBuf> = all.filter_map(|path| Some(path.strip_prefix(&self.base).ok()?.to_owned())).collect();
        below.into_iter().filter(|path| !path.as_os_str().is_empty()).collect()
    }
}

/// Returns the options of the FUSE mount, as both sides have them.
fn mounting(source: &str) -> pathwalk_fuse::Options {
    let mut options = pathwalk_fuse::Options::default();
    options.source = source.to_owned();
    options.opens = pathwalk_fuse::Opens::Untold;
    options
}

/// Returns whether a path is at another one or below it.
fn is_within(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir)
}
