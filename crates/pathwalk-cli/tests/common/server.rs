//! A server of `pathwalk try`, and one client of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::{Value, json};

use super::trial::Ground;

/// A client on the standard streams of the server.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Box<dyn BufRead>,
    id: u64,
}

impl Server {
    /// Starts one, without reading its greeting.
    pub(crate) fn silent(ground: &Ground, options: &[&str]) -> Server {
        let mut command = ground.program(&["try"]);
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Server { child, input, output: Box::new(BufReader::new(output)), id: 0 }
    }

    /// Starts one, and returns it with its greeting.
    pub(crate) fn start(ground: &Ground, options: &[&str]) -> (Server, Value) {
        let mut server = Server::silent(ground, &[&["--server"], options].concat());
        let greeting = server.line();
        (server, greeting)
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("it is open"), "{line}").expect("the server reads");
    }

    /// Reads the next line.
    pub(crate) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Sends a request, and returns its id.
    pub(crate) fn begin(&mut self, what: &str, mut members: Value) -> u64 {
        self.id += 1;
        (members["id"], members["do"]) = (json!(self.id), json!(what));
        self.send(&members.to_string());
        self.id
    }

    /// Reads lines up to the reply to a request. Events are skipped.
    pub(crate) fn reply(&mut self, id: u64) -> Value {
        loop {
            let line = self.line();
            if line["id"] == id && line["event"].is_null() {
                return line;
            }
        }
    }

    /// Asks, and returns what the reply has.
    pub(crate) fn ask(&mut self, what: &str, members: Value) -> Value {
        let id = self.begin(what, members);
        let mut reply = self.reply(id);
        assert!(reply["error"].is_null(), "{what}: {reply}");
        reply["ok"].take()
    }

    /// Asks for what is refused, and returns the kind and the message.
    pub(crate) fn refused(&mut self, what: &str, members: Value) -> (String, String) {
        let id = self.begin(what, members);
        let reply = self.reply(id);
        let text = |member: &str| reply["error"][member].as_str().unwrap_or_else(|| panic!("{what}: {reply}")).to_owned();
        (text("kind"), text("message"))
    }

    /// Runs a text in a shell.
    pub(crate) fn run(&mut self, script: &str) -> Value {
        self.ask("run", json!({ "command": script }))
    }

    /// Ends the input, and returns the exit code and what is still written.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        self.input = None;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("the server writes text");
        (self.child.wait().expect("it is a child").code(), rest)
    }

    /// Sends it a signal, and returns its exit code.
    pub(crate) fn signal(mut self, signal: rustix::process::Signal) -> Option<i32> {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("it runs");
        self.child.wait().expect("it is a child").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.input = None;
        if std::thread::panicking() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
