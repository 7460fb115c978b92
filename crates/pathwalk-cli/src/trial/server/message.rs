//! Requests, replies and events: one JSON object on each line.
//!
//! What always holds: a request with a member that is not known is refused, so that a misspelled
//! one is not left out in silence.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pathwalk_branch::{Answer, Conflict, Error, Resolution};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::branch::{answers, shown};
use crate::trial::options::Net;

/// The version of the protocol, which the greeting has.
pub(super) const VERSION: u32 = 1;

/// What is asked for.
#[derive(Debug)]
pub(in crate::trial) enum Action {
    Run(Box<Run>),
    Diff(Diff),
    Fork(Fork),
    Commit(Commit),
    Drop(Of),
    Steps(Of),
    Back(Back),
    Forget(Forget),
    Stop(Stop),
    Info(Nothing),
}

/// A command.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Run {
    pub(super) command: Command,
    /// The working directory: from the base on, if it is relative.
    pub(super) cwd: Option<PathBuf>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) timeout_ms: Option<u64>,
    /// The text of standard input, which is empty without.
    pub(super) stdin: Option<String>,
    pub(in crate::trial) branch: Option<String>,
    /// Which of the server's writable paths it gets; all without.
    pub(super) rw: Option<Vec<PathBuf>>,
    #[serde(default)]
    pub(super) ro: Vec<PathBuf>,
    #[serde(default)]
    pub(super) hide: Vec<PathBuf>,
    pub(super) net: Option<Net>,
    /// The most bytes of memory; no more than the server's own options allow.
    pub(super) memory_bytes: Option<u64>,
    /// The most processes and threads; no more than the server's own options allow.
    pub(super) pids: Option<u64>,
    /// The most bytes that are kept of each stream.
    pub(super) output_bytes: Option<usize>,
    /// Whether output is told as it comes, too.
    #[serde(default)]
    pub(super) stream: bool,
}

/// A command: a program and its arguments, or what a shell reads.
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
pub(super) enum Command {
    Words(Vec<String>),
    Script(String),
}

/// What was changed.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Diff {
    pub(super) branch: Option<String>,
    #[serde(default, rename = "as")]
    pub(super) form: Form,
    /// A path, from the base on: that and what is below it.
    pub(super) path: Option<String>,
    /// The most bytes of text.
    pub(super) output_bytes: Option<usize>,
}

/// The form of changes.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    #[default]
    Changes,
    Summary,
    Patch,
}

/// A new branch.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Fork {
    pub(super) name: String,
    pub(super) branch: Option<String>,
}

/// A commit.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Commit {
    pub(super) branch: Option<String>,
    /// Paths of which alone it is committed what was changed, there and below; all without.
    pub(super) paths: Option<Vec<String>>,
    /// The answer to all conflicts.
    pub(super) conflicts: Option<Chosen>,
    /// Answers for paths, and what is below them.
    #[serde(default)]
    pub(super) resolve: BTreeMap<String, Chosen>,
}

/// The answer to a conflict.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Chosen {
    Ours,
    Theirs,
    Merge,
    Left,
}

/// A branch.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Of {
    pub(super) branch: Option<String>,
}

/// The way back.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Back {
    pub(super) step: u64,
    pub(super) branch: Option<String>,
}

/// Steps that are not needed any more; all without a list.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Forget {
    pub(super) steps: Option<Vec<u64>>,
    pub(super) branch: Option<String>,
}

/// The end of the command that runs.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Stop {
    pub(super) branch: Option<String>,
    /// Whether it is not asked first.
    #[serde(default)]
    pub(super) kill: bool,
}

/// No members.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(in crate::trial) struct Nothing {}

impl Action {
    /// Reads what is asked for, by its name and its members.
    pub(in crate::trial) fn parse(name: &str, members: Value) -> Result<Action, Failure> {
        match name {
            "run" => read(name, members).map(|run| Action::Run(Box::new(run))),
            "diff" => read(name, members).map(Action::Diff),
            "fork" => read(name, members).map(Action::Fork),
            "commit" => read(name, members).map(Action::Commit),
            "drop" => read(name, members).map(Action::Drop),
            "steps" => read(name, members).map(Action::Steps),
            "back" => read(name, members).map(Action::Back),
            "forget" => read(name, members).map(Action::Forget),
            "stop" => read(name, members).map(Action::Stop),
            "info" => read(name, members).map(Action::Info),
            _ => Err(Failure::new(
                Kind::Malformed,
                format!("\"{name}\" cannot be done: take run, diff, fork, commit, drop, steps, back, forget, stop or info"),
            )),
        }
    }
}

fn read<T: DeserializeOwned>(name: &str, members: Value) -> Result<T, Failure> {
    serde_json::from_value(members).map_err(|error| Failure::new(Kind::Malformed, format!("{name}: {error}")))
}

/// Reads a request: its id, and what it asks for.
pub(super) fn request(line: &[u8]) -> (Value, Result<Action, Failure>) {
    let malformed = |why: String| Err(Failure::new(Kind::Malformed, why));
    let mut members: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(members) => members,
        Err(error) => return (Value::Null, malformed(format!("no JSON object on one line: {error}"))),
    };
    let id = match members.remove("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id,
        _ => return (Value::Null, malformed("\"id\" has to be a text or a number".to_owned())),
    };
    match members.remove("do") {
        Some(Value::String(name)) => (id, Action::parse(&name, members.into())),
        _ => (id, malformed("\"do\" has to say what is asked for".to_owned())),
    }
}

impl Commit {
    pub(super) fn resolution(&self) -> Resolution {
        let otherwise = self.conflicts.map_or(Answer::Left, Chosen::answer);
        self.resolve.iter().fold(Resolution::all(otherwise), |all, (path, chosen)| all.at(rooted(path), chosen.answer()))
    }
}

impl Chosen {
    fn answer(self) -> Answer {
        match self {
            Chosen::Ours => Answer::Ours,
            Chosen::Theirs => Answer::Theirs,
            Chosen::Merge => Answer::Merge,
            Chosen::Left => Answer::Left,
        }
    }
}

/// Returns a path that begins at the root of the branch.
pub(super) fn rooted(path: &str) -> Vec<u8> {
    answers::rooted(path.trim_end_matches('/').as_bytes())
}

/// The end of a command.
#[derive(Serialize, Debug)]
pub(in crate::trial) struct Ran {
    pub(super) step: u64,
    /// As shells have it: 128 and the number of the signal that ended it.
    pub(super) exit_code: u8,
    pub(super) signal: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) stopped: bool,
    /// The limits that it met: `memory`, `pids`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) limits_met: Vec<&'static str>,
    pub(super) ms: u64,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
    /// The reason that it could not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// Text of which the middle may be left out.
#[derive(Serialize, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Output {
    /// The text, or its beginning.
    pub(super) text: String,
    /// The bytes that were left out behind it.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) left_out: u64,
    /// The end of the text, behind what was left out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) end: String,
    /// Whether bytes that are no UTF-8 were replaced.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) replaced: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(is: &bool) -> bool {
    !*is
}

/// A step: the branch as one command has left it.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) step: u64,
    /// What was run: a text for a shell, or a list of words.
    pub(super) command: Value,
    pub(super) exit_code: Option<u8>,
}

/// The kind of a failure.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(in crate::trial) enum Kind {
    /// The request cannot be read.
    Malformed,
    /// A command runs in the branch, or it is being committed.
    Busy,
    /// No such branch, step or command.
    NotThere,
    /// The server was started so that it refuses this.
    Refused,
    /// Nothing was done, since the branch and its base do not agree.
    Conflicts,
    /// It failed.
    Failed,
}

/// The reason that something was not done.
#[derive(Serialize, Debug)]
pub(in crate::trial) struct Failure {
    pub(in crate::trial) kind: Kind,
    pub(in crate::trial) message: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) conflicts: Value,
}

impl Failure {
    pub(in crate::trial) fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), conflicts: Value::Null }
    }

    fn of_conflicts(conflicts: &[Conflict]) -> Failure {
        let message = "nothing was done: the branch and its base do not agree; answer by \"conflicts\" or \"resolve\"";
        let conflicts = shown::conflicts_json(conflicts)["conflicts"].take();
        Failure { conflicts, ..Failure::new(Kind::Conflicts, message) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match &error {
            Error::Conflicts { conflicts, .. } => Failure::of_conflicts(conflicts),
            Error::NoBranch(_) => Failure::new(Kind::NotThere, error.to_string()),
            Error::InUse(_) => Failure::new(Kind::Busy, error.to_string()),
            _ => Failure::new(Kind::Failed, error.to_string()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        match error.downcast::<Error>() {
            Ok(error) => error.into(),
            Err(error) => Failure::new(Kind::Failed, format!("{error:#}")),
        }
    }
}

/// Returns the line for a reply.
pub(super) fn reply(id: &Value, result: Result<Value, Failure>) -> Value {
    match result {
        Ok(value) => json!({ "id": id, "ok": value }),
        Err(failure) => json!({ "id": id, "error": failure }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_or_refused() {
        let (id, action) = request(br#"{"id": 1, "do": "run", "command": "ls"}"#);
        assert!(
            id == 1 && matches!(action, Ok(Action::Run(run)) if matches!(&run.command, Command::Script(text) if text == "ls"))
        );
        let (_, action) = request(br#"{"id": "a", "do": "diff", "as": "patch"}"#);
        assert!(matches!(action, Ok(Action::Diff(Diff { form: Form::Patch, .. }))));
        for (line, says) in [
            (r#"{"id": 1, "do": "run", "comand": "ls"}"#, "comand"),
            (r#"{"id": 1, "do": "run", "command": 7}"#, "run: "),
            (r#"{"id": 1, "do": "frob"}"#, "cannot be done"),
            (r#"{"id": 1}"#, "\"do\""),
            (r#"{"do": "info"}"#, "\"id\""),
            (r#"{"id": [], "do": "info"}"#, "\"id\""),
            ("[]", "no JSON object"),
            ("", "no JSON object"),
            (r#"{"id": 1, "do": "back", "step": -1}"#, "back: "),
        ] {
            let failure = request(line.as_bytes()).1.unwrap_err();
            assert!(failure.kind == Kind::Malformed && failure.message.contains(says), "{line}: {failure:?}");
        }
    }

    #[test]
    fn paths_begin_at_the_root_of_the_branch() {
        assert_eq!(["a/b", "/a/b/", "./a", "", "/"].map(rooted), [&b"/a/b"[..], b"/a/b", b"/a", b"/", b"/"].map(Vec::from));
    }
}
