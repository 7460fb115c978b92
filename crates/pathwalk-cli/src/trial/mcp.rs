//! A server of the Model Context Protocol on standard input and standard output: what
//! [`server`](super::server) does, as tools of an agent.
//!
//! What always holds: a line that is no message gets an error, and the next one is read. A tool
//! that fails says so in its result, so that the agent can read why.
//!
//! Source: the specification of the protocol, <https://modelcontextprotocol.io/specification>,
//! version 2025-06-18, and JSON-RPC 2.0.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::client::{Line, read_line};
use super::server::message::{Action, Failure, Kind, Run};
use super::server::session::{Begun, Session, Silent};
use super::told;

/// The versions of the protocol that are spoken, the newest first. Of what differs between them,
/// nothing is used.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// What an agent is told of all tools.
const INSTRUCTIONS: &str = "\
Commands run on a copy-on-write branch of a directory, at the same path. The directory itself stays as it is until the branch is \
committed. Each command is a step, and the branch can go back to any step.";

/// The codes of JSON-RPC.
const NO_JSON: i64 = -32_700;
const NO_REQUEST: i64 = -32_600;
const NO_METHOD: i64 = -32_601;
const NO_PARAMETERS: i64 = -32_602;

/// A message of the client.
#[derive(Deserialize)]
struct Message {
    /// None in a notification.
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

/// The call of a tool.
#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default = "nothing")]
    arguments: Value,
}

fn nothing() -> Value {
    json!({})
}

/// The other side, and its commands that run: the branch of each, by the id of its message.
struct Client<W> {
    session: Arc<Session>,
    output: Mutex<W>,
    running: Mutex<BTreeMap<String, Value>>,
}

/// Serves until the end of the input, and of all commands.
pub(super) fn serve(session: &Arc<Session>, mut input: impl BufRead, output: impl Write + Send) -> anyhow::Result<()> {
    let client = Client { session: Arc::clone(session), output: Mutex::new(output), running: Mutex::default() };
    let client = &client;
    thread::scope(|scope| {
        loop {
            let line = match read_line(&mut input) {
                Line::Read(line) if line.is_empty() => continue,
                Line::Read(line) => line,
                Line::TooLong => {
                    client.fail(&Value::Null, NO_JSON, "the message is too long");
                    continue;
                }
                Line::End => break,
            };
            let message: Message = match serde_json::from_slice(&line) {
                Ok(message) => message,
                Err(error) if error.is_data() => {
                    client.fail(&Value::Null, NO_REQUEST, &error.to_string());
                    continue;
                }
                Err(error) => {
                    client.fail(&Value::Null, NO_JSON, &error.to_string());
                    continue;
                }
            };
            match (message.id, message.method.as_deref()) {
                (Some(id), Some("tools/call")) => match client.call(&id, message.params) {
                    Some(Ok(Action::Run(run))) => match client.begin(&id, &run) {
                        Ok(begun) => {
                            scope.spawn(move || {
                                let ran = client.session.run(&run, begun, &Silent);
                                client.running.lock().remove(&id.to_string());
                                client.tell(&id, ran.map(|ran| run_text(&ran)));
                            });
                        }
                        Err(failure) => client.tell(&id, Err(failure)),
                    },
                    Some(Ok(action)) => client.tell(&id, client.session.handle(&action).map(|value| value.to_string())),
                    Some(Err(failure)) => client.tell(&id, Err(failure)),
                    None => {}
                },
                (Some(id), Some(method)) => client.answer(&id, method, &message.params),
                (None, Some("notifications/cancelled")) => client.cancel(&message.params),
                // Other notifications, and answers to what was not asked.
                (_, _) => {}
            }
        }
    });
    Ok(())
}

impl<W: Write + Send> Client<W> {
    fn answer(&self, id: &Value, method: &str, params: &Value) {
        match method {
            "initialize" => {
                let wished = params["protocolVersion"].as_str();
                let version = VERSIONS.into_iter().find(|version| Some(*version) == wished).unwrap_or(VERSIONS[0]);
                let server = json!({ "name": "pathwalk", "version": env!("CARGO_PKG_VERSION") });
                let of = json!({
                    "protocolVersion": version,
                    "capabilities": { "tools": {} },
                    "serverInfo": server,
                    "instructions": INSTRUCTIONS,
                });
                self.result(id, of);
            }
            "ping" => self.result(id, json!({})),
            "tools/list" => self.result(id, json!({ "tools": tools(self.session.may_commit()) })),
            _ => self.fail(id, NO_METHOD, &format!("\"{method}\" is no method of this server")),
        }
    }

    /// Reads a call. `None` where there is no such tool, which is answered.
    fn call(&self, id: &Value, params: Value) -> Option<Result<Action, Failure>> {
        let call: Call = match serde_json::from_value(params) {
            Ok(call) => call,
            Err(error) => {
                self.fail(id, NO_PARAMETERS, &error.to_string());
                return None;
            }
        };
        let all = tools(self.session.may_commit());
        if !all.iter().any(|tool| tool["name"] == *call.name) {
            self.fail(id, NO_PARAMETERS, &format!("there is no tool \"{}\"", call.name));
            return None;
        }
        Some(Action::parse(&call.name, call.arguments))
    }

    /// Begins a command. The next message may cancel it.
    fn begin(&self, id: &Value, run: &Run) -> Result<Begun, Failure> {
        let begun = self.session.begin_run(run)?;
        self.running.lock().insert(id.to_string(), json!({ "branch": run.branch, "kill": true }));
        Ok(begun)
    }

    fn tell(&self, id: &Value, result: Result<String, Failure>) {
        let (text, is_error) = match result {
            Ok(text) => (text, false),
            Err(failure) if failure.kind == Kind::Conflicts => (json!(failure).to_string(), true),
            Err(failure) => (failure.message, true),
        };
        self.result(id, json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }));
    }

    /// Ends the command of a call. Its result is told nevertheless, and a client skips that.
    fn cancel(&self, params: &Value) {
        let stop = self.running.lock().get(&params["requestId"].to_string()).cloned();
        if let Some(Ok(stop)) = stop.map(|stop| Action::parse("stop", stop)) {
            // It may have ended.
            let _ = self.session.handle(&stop);
        }
    }

    fn result(&self, id: &Value, result: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn fail(&self, id: &Value, code: i64, why: &str) {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } }));
    }

    fn write(&self, message: &Value) {
        let mut output = self.output.lock();
        // A client that is gone misses it, and the input ends.
        let _ = writeln!(output, "{message}").and_then(|()| output.flush());
    }
}

/// Returns the end and the output of a command as an agent reads it.
fn run_text(ran: &Value) -> String {
    let mut text = format!("exit code {}, step {}", ran["exit_code"], ran["step"]);
    for (member, says) in [("timed_out", "; it had no time left"), ("stopped", "; it was stopped")] {
        text += if ran[member] == true { says } else { "" };
    }
    for limit in ran["limits_met"].as_array().into_iter().flatten() {
        text += &format!("; {}", told::of_limit(limit.as_str().unwrap_or_default()));
    }
    if let Some(error) = ran["error"].as_str() {
        text += &format!("; it was not run: {error}");
    }
    for stream in ["stdout", "stderr"] {
        let of = &ran[stream];
        let begin = of["text"].as_str().unwrap_or_default();
        if let Some(left_out) = of["left_out"].as_u64() {
            let end = of["end"].as_str().unwrap_or_default();
            text += &format!("\n{stream}:\n{begin}\n[{left_out} bytes left out]\n{end}");
        } else if !begin.is_empty() {
            text += &format!("\n{stream}:\n{begin}");
        }
    }
    text
}

/// Returns the tools with their schemas.
fn tools(may_commit: bool) -> Vec<Value> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let answer = json!({
        "type": "string", "enum": ["ours", "theirs", "merge"],
        "description": "What is taken where the branch and the directory changed the same: ours is what the branch has",
    });
    let of = |name: &str, about: &str, members: Value, required: &[&str]| {
        let (is_read_only, is_destructive) = (["diff", "steps"].contains(&name), ["commit", "drop"].contains(&name));
        json!({
            "name": name,
            "description": about,
            "inputSchema": { "type": "object", "properties": members, "required": required, "additionalProperties": false },
            "annotations": { "readOnlyHint": is_read_only, "destructiveHint": is_destructive },
        })
    };
    let mut all = vec![
        of(
            "run",
            "Run a shell command on the branch. Returns its exit code, its output and the number of the step.",
            json!({
                "command": text("The text for /bin/sh"),
                "cwd": text("Working directory, from the root of the branch on if it is relative"),
                "env": { "type": "object", "additionalProperties": { "type": "string" } },
                "stdin": text("Text of standard input"),
                "timeout_ms": number("Milliseconds after which it is ended"),
                "memory_bytes": number("The most bytes of memory; it is ended if it needs more"),
                "pids": number("The most processes and threads at once"),
                "output_bytes": number("The most bytes of each stream; 262144 if it is left out"),
            }),
            &["command"],
        ),
        of(
            "diff",
            "Show what the branch changed: a list, a summary, or a patch.",
            json!({
                "as": { "type": "string", "enum": ["changes", "summary", "patch"] },
                "path": text("A path: that and what is below it"),
                "output_bytes": number("The most bytes of a summary or a patch; 262144 if it is left out"),
            }),
            &[],
        ),
        of("steps", "List the steps: the branch as each command has left it.", json!({}), &[]),
        of(
            "back",
            "Make the branch what it was after a step. Step 0 is the beginning. Later steps stay.",
            json!({ "step": number("The number of the step") }),
            &["step"],
        ),
        of("drop", "Drop all that was changed, and all steps.", json!({}), &[]),
    ];
    if may_commit {
        let paths = json!({
            "type": "array", "items": { "type": "string" },
            "description": "Paths that are committed, with what is below them; the rest stays. All if it is left out",
        });
        let members =
            json!({ "paths": paths, "conflicts": answer, "resolve": { "type": "object", "additionalProperties": answer } });
        all.push(of("commit", "Apply what was changed to the directory itself. Steps are gone then.", members, &[]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_as_text() {
        let output = json!({ "text": "a\n", "left_out": 7, "end": "z" });
        let ran =
            json!({ "exit_code": 1, "step": 2, "timed_out": true, "stopped": false, "stdout": output, "stderr": { "text": "" } });
        assert_eq!(run_text(&ran), "exit code 1, step 2; it had no time left\nstdout:\na\n\n[7 bytes left out]\nz");
    }
}
