//! What a server does for its clients, whatever the protocol is.
//!
//! What always holds: what a client asks for shows and allows a command less than the server's own
//! options do, and never more: paths that are written for real, the network and the limits are the
//! server's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::Context as _;
use parking_lot::Mutex;
use pathwalk_branch::{Branches, Change, Error};
use pathwalk_changes::{patch, summary};
use pathwalk_hostfs::Coherence;
use serde::Serialize;
use serde_json::{Value, json};

use super::command::{self, Limits};
use super::line::{Ask, Line, Open, Turn, directory};
use super::message::{Action, Command, Commit, Diff, Failure, Form, Kind, Run, rooted};
use super::output::Kept;
use super::steps;
use crate::branch::place::{Missing, Place};
use crate::branch::{shown, written};
use crate::trial::chosen::{Chosen, Origin};
use crate::trial::notable::Notable;
use crate::trial::options::{Net, Sight, TryArgs};
use crate::trial::run;

/// The bytes that are kept of a stream, and of a diff as text, where a client does not say it.
const KEPT: usize = 256 << 10;

/// The most of them.
const MOST_KEPT: usize = 64 << 20;

/// The columns of a summary.
const COLUMNS: usize = 100;

/// What a client is told before the reply.
pub(in crate::trial) trait Events: Sync {
    fn tell(&self, event: &str, members: Value);
}

/// Whether commits are done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Commits {
    Done,
    Refused,
}

/// Nothing is told before the reply.
pub(in crate::trial) struct Silent;

impl Events for Silent {
    fn tell(&self, _: &str, _: Value) {}
}

/// A command that is about to run.
pub(in crate::trial) struct Begun {
    line: Arc<Line>,
    asks: Receiver<Ask>,
    _turn: Turn,
}

/// What all clients share.
pub(in crate::trial) struct Session {
    pub(super) place: Place,
    directory: PathBuf,
    sight: Sight,
    commits: Commits,
    /// Whether the branch is dropped at the end.
    is_dropped: bool,
    own: Chosen,
    lines: Mutex<BTreeMap<String, Arc<Line>>>,
}

impl Session {
    /// Begins with the branch that is there or was made.
    pub(super) fn begin(args: &TryArgs, place: &Place, directory: &Path, own: Chosen, sight: Sight) -> Session {
        let line = Arc::new(Line::own(&own.name, args.fork_of.clone()));
        Session {
            place: place.clone(),
            directory: directory.to_owned(),
            sight,
            commits: if args.no_commit { Commits::Refused } else { Commits::Done },
            is_dropped: args.drop,
            lines: Mutex::new([(own.name.clone(), line)].into()),
            own,
        }
    }

    /// Returns whether commits are done.
    pub(in crate::trial) fn may_commit(&self) -> bool {
        self.commits == Commits::Done
    }

    /// Does what is asked for. Commands are begun, and then run in a thread of their own.
    pub(in crate::trial) fn handle(&self, action: &Action) -> Result<Value, Failure> {
        match action {
            Action::Diff(diff) => self.diff(diff),
            Action::Fork(fork) => {
                let line = self.line(fork.branch.as_deref());
                line.open(&self.place)?.branches.sync()?;
                self.branches()?.fork_only(Some(&line.name), &fork.name)?;
                Ok(json!({ "branch": fork.name }))
            }
            Action::Commit(commit) => self.commit(commit),
            Action::Drop(of) => {
                let line = self.line(of.branch.as_deref());
                let _turn = line.turn("is dropped")?;
                let anew = line.anew(&self.place)?;
                anew.branches.drop(&line.name)?;
                steps::forget(&anew.branches, &line.name, None)?;
                Ok(json!({ "branch": line.name }))
            }
            Action::Steps(of) => {
                let line = self.line(of.branch.as_deref());
                let steps = steps::list(&line.open(&self.place)?.branches, &line.name)?;
                Ok(json!({ "branch": line.name, "steps": steps }))
            }
            Action::Back(back) => {
                let line = self.line(back.branch.as_deref());
                let _turn = line.turn("is put back")?;
                steps::back(&line.anew(&self.place)?.branches, &line.name, back.step)?;
                Ok(json!({ "branch": line.name, "step": back.step }))
            }
            Action::Forget(forget) => {
                let line = self.line(forget.branch.as_deref());
                let _turn = line.turn("is being changed")?;
                let open = line.open(&self.place)?;
                let count = steps::forget(&open.branches, &line.name, forget.steps.as_deref())?;
                Ok(json!({ "branch": line.name, "forgotten": count }))
            }
            Action::Stop(stop) => {
                let line = self.line(stop.branch.as_deref());
                line.ask(if stop.kill { Ask::Kill } else { Ask::End })?;
                Ok(json!({ "branch": line.name }))
            }
            Action::Info(_) => self.info(),
            Action::Run(run) => self.run(run, self.begin_run(run)?, &Silent),
        }
    }

    /// Returns what is known of a branch, or of the server's own.
    fn line(&self, name: Option<&str>) -> Arc<Line> {
        let name = name.unwrap_or(&self.own.name);
        let mut lines = self.lines.lock();
        Arc::clone(lines.entry(name.to_owned()).or_insert_with(|| Arc::new(Line::named(name))))
    }

    fn branches(&self) -> anyhow::Result<Branches> {
        self.place.open(Coherence::Exclusive, None, Missing::Make)
    }

    /// Begins a command: from now on it can be stopped, and the branch is busy.
    pub(in crate::trial) fn begin_run(&self, wished: &Run) -> Result<Begun, Failure> {
        let line = self.line(wished.branch.as_deref());
        let turn = line.turn("runs a command")?;
        let asks = line.asks();
        Ok(Begun { line, asks, _turn: turn })
    }

    /// Runs a command that was begun, and waits for its end.
    pub(in crate::trial) fn run(&self, wished: &Run, begun: Begun, events: &dyn Events) -> Result<Value, Failure> {
        let Begun { line, asks, _turn } = begun;
        let sight = self.narrowed(wished)?;
        let words = match &wished.command {
            Command::Words(words) => words.clone(),
            Command::Script(text) => ["/bin/sh", "-c", text].map(str::to_owned).into(),
        };
        if words.is_empty() {
            return Err(Failure::new(Kind::Malformed, "run: the command has no words"));
        }
        let words: Vec<_> = words.into_iter().map(Into::into).collect();
        let mut trial = run::trial(&sight, &self.place, &line.name, &words)?;
        trial.directory = directory(&self.place.base, &self.directory, wished.cwd.as_deref());
        trial.variables.extend(wished.env.iter().map(|(name, value)| (name.into(), value.into())));
        let limits = Limits {
            timeout: wished.timeout_ms.map(Duration::from_millis),
            output: wished.output_bytes.unwrap_or(KEPT).min(MOST_KEPT),
            is_streamed: wished.stream,
        };
        let open = line.open(&self.place)?;
        steps::begin(&open.branches, &line.name)?;
        let ran = command::carry_out(&line, &open, (trial, asks), (wished.stdin.as_deref(), &limits), events);
        // What it did is there, also if its end is not known.
        open.branches.sync()?;
        let mut ran = ran?;
        let told = match &wished.command {
            Command::Words(words) => json!(words),
            Command::Script(text) => json!(text),
        };
        ran.step = steps::add(&open.branches, &line.name, told, Some(ran.exit_code))?;
        value(&ran)
    }

    /// Returns what a command sees. A client cannot have it see more than the server was told.
    fn narrowed(&self, wished: &Run) -> Result<Sight, Failure> {
        let mut sight = self.sight.clone();
        if let Some(rw) = &wished.rw {
            let is_allowed = |path: &PathBuf| {
                let real = path.canonicalize().ok();
                let of_server = self.sight.rw.iter().filter_map(|of_server| of_server.canonicalize().ok());
                real.is_some_and(|real| of_server.into_iter().any(|of_server| real.starts_with(of_server)))
            };
            if let Some(path) = rw.iter().find(|path| !is_allowed(path)) {
                let message = format!("rw: \"{}\" is not in what the server was started with (--rw)", path.display());
                return Err(Failure::new(Kind::Refused, message));
            }
            sight.rw.clone_from(rw);
        }
        let at_base = |paths: &[PathBuf]| paths.iter().map(|path| self.place.base.join(path)).collect::<Vec<_>>();
        sight.ro.extend(at_base(&wished.ro));
        sight.hide.extend(at_base(&wished.hide));
        match wished.net {
            Some(Net::Host) if sight.net == Net::None => {
                return Err(Failure::new(Kind::Refused, "net: the server was started without a network (--net none)"));
            }
            Some(net) => sight.net = net,
            None => {}
        }
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        sight.memory = least(sight.memory, wished.memory_bytes);
        sight.pids = least(sight.pids, wished.pids);
        Ok(sight)
    }

    fn diff(&self, wished: &Diff) -> Result<Value, Failure> {
        let line = self.line(wished.branch.as_deref());
        let open = line.open(&self.place)?;
        open.branches.catch_up();
        let mut changes = open.branches.diff(&line.name)?;
        if let Some(path) = wished.path.as_deref().map(rooted) {
            changes.retain(|change| touches(change, &path));
        }
        let most = wished.output_bytes.unwrap_or(KEPT).min(MOST_KEPT);
        match wished.form {
            Form::Changes => self.listed(&line, &open, &changes),
            Form::Summary => {
                let (old, new) = written::states(&open.branches, &line.name)?;
                text(most, |out| Ok(summary::write(&changes, &old, &new, COLUMNS, out)?))
            }
            Form::Patch => {
                let (old, new) = written::states(&open.branches, &line.name)?;
                text(most, |out| Ok(patch::write(&changes, &old, &new, out)?))
            }
        }
    }

    fn listed(&self, line: &Line, open: &Open, changes: &[Change]) -> Result<Value, Failure> {
        let (_, new) = written::states(&open.branches, &line.name)?;
        let mut listed = shown::changes_json(changes);
        listed["branch"] = json!(line.name);
        listed["look_first"] = Notable::of(changes, &new, &self.place.base).json();
        Ok(listed)
    }

    fn commit(&self, wished: &Commit) -> Result<Value, Failure> {
        if !self.may_commit() {
            return Err(Failure::new(Kind::Refused, "commit: the server was started so that it commits nothing (--no-commit)"));
        }
        let line = self.line(wished.branch.as_deref());
        let _turn = line.turn("is committed")?;
        let anew = line.anew(&self.place)?;
        let resolution = wished.resolution();
        match &wished.paths {
            None => anew.branches.commit_with(&line.name, &resolution)?,
            Some(paths) => {
                let paths: Vec<_> = paths.iter().map(|path| rooted(path)).collect();
                anew.branches.commit_paths(&line.name, &paths, &resolution)?;
            }
        }
        // They belong to what the base was.
        steps::forget(&anew.branches, &line.name, None)?;
        Ok(json!({ "branch": line.name }))
    }

    fn info(&self) -> Result<Value, Failure> {
        let all = self.branches()?.list()?;
        let is_branch = |name: &str| all.iter().any(|branch| branch.name == name);
        let named: Vec<_> = all.iter().filter(|branch| !steps::is_step(&branch.name, is_branch)).cloned().collect();
        let mut told = shown::branches_json(&named);
        let lines = self.lines.lock();
        let busy = lines.values().filter_map(|line| Some((line.name.clone(), json!(line.doing()?))));
        told["busy"] = busy.collect::<serde_json::Map<_, _>>().into();
        told["base"] = json!(self.place.base.to_string_lossy());
        told["branch"] = json!(self.own.name);
        Ok(told)
    }

    /// Returns the greeting.
    pub(super) fn greeting(&self) -> Value {
        json!({
            "pathwalk": super::message::VERSION,
            "version": env!("CARGO_PKG_VERSION"),
            "base": self.place.base.to_string_lossy(),
            "branch": self.own.name,
        })
    }

    /// Ends all commands that run.
    pub(super) fn kill(&self) {
        let lines: Vec<_> = self.lines.lock().values().cloned().collect();
        for line in lines {
            // One in which nothing runs has nothing to end.
            let _ = line.ask(Ask::Kill);
        }
    }

    /// Ends, once no command runs: forgets all steps, and drops the branch if that was wished, or
    /// if it was made for this and has no changes.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        let lines: Vec<_> = std::mem::take(&mut *self.lines.lock()).into_values().collect();
        for line in &lines {
            let done = line.anew(&self.place).and_then(|anew| {
                steps::forget(&anew.branches, &line.name, None)?;
                if line.name == self.own.name {
                    self.settle(&anew.branches)?;
                }
                Ok(())
            });
            done.map_err(|failure| anyhow::anyhow!(failure.message)).with_context(|| format!("closing \"{}\"", line.name))?;
        }
        Ok(())
    }

    fn settle(&self, branches: &Branches) -> Result<(), Error> {
        let name = &self.own.name;
        let dropped = match branches.diff(name) {
            Ok(changes) if self.is_dropped || (self.own.origin == Origin::New && changes.is_empty()) => branches.drop(name),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        };
        match dropped {
            // It was committed or dropped, or has forks that a client made.
            Err(Error::NoBranch(_) | Error::HasForks { .. }) => Ok(()),
            dropped => dropped,
        }
    }
}

/// Returns whether a change is of a path, or of what is below it.
fn touches(change: &Change, path: &[u8]) -> bool {
    let is_within =
        |of: &[u8]| path == b"/" || of.strip_prefix(path).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'));
    let from = match change {
        Change::Renamed { from, .. } => is_within(from),
        _ => false,
    };
    from || is_within(change.path())
}

fn text(most: usize, write: impl FnOnce(&mut Vec<u8>) -> anyhow::Result<()>) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    let mut kept = Kept::new(most);
    kept.add(&bytes);
    value(&kept.text())
}

fn value(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|error| Failure::new(Kind::Failed, error.to_string()))
}
