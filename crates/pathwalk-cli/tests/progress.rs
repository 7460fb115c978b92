//! Tests of the progress of long work where standard error is no terminal: lines, unless `--quiet`.

use std::time::Instant;

use crate::common::{pathwalk, trace};

/// Rounds that take some four seconds: three turns of 20 ms each.
const ROUNDS: &str = "70";

fn stderr_of(args: &[&str]) -> String {
    let output = pathwalk().args(args).output().expect("the program starts");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{errors}");
    errors
}

#[test]
fn long_work_writes_lines() {
    let start = Instant::now();
    let errors = stderr_of(&["replay", "--rounds", ROUNDS]);
    let seconds = start.elapsed().as_secs() as usize;
    let lines: Vec<&str> = errors.lines().collect();
    assert!(!lines.is_empty(), "there was time for a line");
    assert!(lines.len() <= seconds, "not a line for each step: {errors}");
    let of_rounds = |line: &&&str| {
        let rounds = line.strip_prefix("pathwalk: timing all: ").and_then(|rest| rest.strip_suffix(" of 70 rounds"));
        rounds.is_some_and(|rounds| rounds.parse::<u32>().is_ok_and(|rounds| rounds <= 70))
    };
    assert!(lines.iter().find(of_rounds).is_some(), "{errors}");
    assert!(lines.iter().all(|line| line.starts_with("pathwalk: ") && !line.contains(['\x1b', '\r'])), "{errors:?}");
}

#[test]
fn quiet_work_writes_none() {
    for args in [["--quiet", "replay", "--rounds", ROUNDS], ["replay", "-q", "--rounds", ROUNDS]] {
        assert_eq!(stderr_of(&args), "");
    }
}

#[test]
fn short_work_writes_none() {
    let dir = tempfile::tempdir().unwrap();
    let trace = trace(&dir, b"/\tF_OK\n");
    assert_eq!(stderr_of(&["replay", "--rounds", "1", trace.to_str().expect("temporary files have names in UTF-8")]), "");
}

#[test]
fn every_command_can_be_quiet() {
    for args in [&["explain", "/", "--quiet"][..], &["-q", "bench", "pinned", "--unlink-all", "10"], &["man", "-q"]] {
        assert_eq!(stderr_of(args), "", "{args:?}");
    }
}
