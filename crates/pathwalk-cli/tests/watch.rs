//! The command `pathwalk watch`, as its users run it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::common::pathwalk;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The program at work, and its lines.
struct Running {
    process: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Running {
    fn start(args: &[&str]) -> Running {
        let mut process = pathwalk().arg("watch").args(args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = Box::new(BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok));
        Running { process, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("a line")
    }

    /// Interrupts it, and returns the lines that are left.
    fn interrupted(mut self) -> Vec<String> {
        kill_process(Pid::from_child(&self.process), Signal::INT).unwrap();
        let rest = self.lines.collect();
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        rest
    }
}

#[test]
fn changes_are_printed_as_they_happen() {
    for options in [&[][..], &["--inotify"]] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        let mut running = Running::start(&[&[path], options].concat());
        let first = running.line();
        assert!(first.starts_with("watching 2 nodes below"), "{first}");
        fs::write(dir.path().join("d/new"), "x").unwrap();
        let line = running.line();
        assert!(line.starts_with("created") && line.contains("d/new  drops name"), "{line}");
        fs::create_dir(dir.path().join("d/sub")).unwrap();
        while !running.line().contains("d/sub") {}
        fs::rename(dir.path().join("d/new"), dir.path().join("d/a\nb")).unwrap();
        let mut seen = Vec::new();
        while !seen.iter().any(|line: &String| line.contains("moved to")) {
            seen.push(running.line());
        }
        assert!(seen.iter().any(|line| line.contains("d/a\\nb")), "{seen:?}");
        let rest = running.interrupted();
        assert!(rest.last().unwrap().contains("the kernel reported"), "{rest:?}");
    }
}

#[test]
fn json_is_one_object_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut running = Running::start(&[dir.path().to_str().unwrap(), "--json", "--events", "1"]);
    let first: Value = serde_json::from_str(&running.line()).unwrap();
    assert_eq!((&first["event"], &first["nodes"]), (&"watching".into(), &1.into()));
    fs::create_dir(dir.path().join("new")).unwrap();
    let event: Value = serde_json::from_str(&running.line()).unwrap();
    assert_eq!(event, serde_json::json!({ "event": "changed", "path": "new", "changes": ["created"], "drops": "name" }));
    let last: Value = serde_json::from_str(&running.line()).unwrap();
    assert_eq!((&last["event"], &last["events"], &last["overflows"]), (&"end".into(), &1.into(), &0.into()));
    assert_eq!(running.process.wait().unwrap().code(), Some(0));
}
