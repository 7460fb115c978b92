//! Tests that all output fits into the columns of its terminal, or into those of `COLUMNS`: the
//! helps of all commands, and the reports.

use std::process::Command;

use crate::common::{on_a_terminal, pathwalk};
use pathwalk_tests::skipped;
use unicode_width::UnicodeWidthStr as _;

/// Runs the program in a pipe with this many columns. Returns its output.
fn in_a_pipe(args: &[&str], columns: u16) -> String {
    let output = pathwalk().args(args).env("COLUMNS", columns.to_string()).output().expect("the program starts");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the lines of a text that take more columns than these, or that were broken since a table
/// does.
fn too_long(text: &str, columns: u16) -> Vec<&str> {
    text.lines().filter(|line| line.width() > usize::from(columns) || line.starts_with("  ─")).collect()
}

/// Checks the output for these arguments, in a pipe and on a terminal of this many columns.
fn fits(args: &[&str], columns: u16) {
    let text = in_a_pipe(args, columns);
    assert!(!text.is_empty(), "{args:?}");
    assert_eq!(too_long(&text, columns), [""; 0], "{args:?} in a pipe:\n{text}");
    // What a terminal says comes before the variable.
    let mut command = pathwalk();
    command.args(args).env("COLUMNS", "200").env("TERM", "xterm").env("NO_COLOR", "1");
    match on_a_terminal(&mut command, columns) {
        Ok((_, text)) => assert_eq!(too_long(&text, columns), [""; 0], "{args:?} on a terminal:\n{text}"),
        Err(why) => skipped("output on a terminal", &why),
    }
}

/// Returns the commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Returns the words of all commands, those of the program itself first.
fn all_commands() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while let Some(command) = all.get(at).cloned() {
        let help = pathwalk().args(&command).arg("--help").output().expect("the program starts");
        let help = String::from_utf8(help.stdout).expect("text");
        all.extend(listed(&help).into_iter().map(|name| [&command[..], &[name]].concat()));
        at += 1;
    }
    all
}

#[test]
fn every_help_fits_into_80_columns() {
    let all = all_commands();
    let names: Vec<String> = all.iter().map(|command| command.join(" ")).collect();
    for name in ["", "replay", "explain", "bench", "bench walktrees", "completions", "man"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    for command in &all {
        for flag in ["-h", "--help"] {
            let args: Vec<&str> = command.iter().map(String::as_str).chain([flag]).collect();
            fits(&args, 80);
        }
    }
}

#[test]
fn a_replay_fits() {
    fits(&["replay", "--rounds", "1"], 80);
    fits(&["replay", "--rounds", "1"], 60);
}

#[test]
fn an_explanation_fits() {
    let dir = tempfile::tempdir().unwrap();
    let name = "a-directory-with-a-long-name".repeat(3);
    let deep = dir.path().join(&name).join(&name);
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("file"), "").unwrap();
    std::os::unix::fs::symlink(deep.join("nowhere"), dir.path().join("link")).unwrap();
    let at = |path: &str| dir.path().join(path).to_str().expect("temporary files have names in UTF-8").to_owned();
    let file = deep.join("file").to_str().expect("text").to_owned();
    for columns in [80, 50] {
        fits(&["explain", &at("link")], columns);
        fits(&["explain", &file, "--as", "65000:65000", "--want", "rw"], columns);
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let args = ["explain", &file, "--as", "65000:65000"];
        fits(&args, columns);
        let text = in_a_pipe(&args, columns);
        assert!(text.contains("<-- EACCES: may not be searched\n"), "a refusal is not cut: {text}");
        fits(&["explain", "/usr/bin/env"], columns);
        fits(&["explain", "/no/such/directory"], columns);
    }
}

#[test]
fn benches_fit() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().expect("temporary files have names in UTF-8");
    fits(&["bench", "--rounds", "1"], 80);
    fits(&["bench", "open-cached", "--rounds", "1", "--opens", "20", "--hit", "50", "--depth", "2", "--dir", dir], 80);
    fits(&["bench", "walktrees", "--threads", "2", "--dirs", "2", "--files", "20"], 80);
    fits(&["bench", "walktrees", "--threads", "1,2", "--dirs", "2", "--files", "20", "--beside", "dashmap"], 80);
    fits(&["bench", "pinned", "--slots", "1000", "--pinned", "50,99", "--rounds", "1"], 80);
    std::fs::write(format!("{dir}/module.js"), "require('./module')").unwrap();
    fits(&["bench", "resolver", dir, "--first-runs", "1", "--rounds", "1"], 80);
    fits(&["bench", "wide", "--paths", "1000", "--rounds", "1", "--turn", "1", "--on", dir], 80);
}

#[test]
fn a_wide_terminal_is_used() {
    let width = |columns| in_a_pipe(&["replay", "--rounds", "1"], columns).lines().map(str::len).max();
    assert!(width(300) > width(80));
    let text = in_a_pipe(&["bench", "--help"], 300);
    assert!(!too_long(&text, 80).is_empty(), "the options of a wide help are in one line each:\n{text}");
}

#[test]
fn without_a_terminal_and_a_variable_there_are_80_columns() {
    let output = |command: &mut Command| String::from_utf8(command.args(["bench", "--help"]).output().unwrap().stdout).unwrap();
    let usual = output(pathwalk().env_remove("COLUMNS"));
    assert_eq!(usual, in_a_pipe(&["bench", "--help"], 80));
}

#[test]
fn what_a_table_cuts_is_whole_in_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = format!("/{}/{}", "a".repeat(120), "b".repeat(120));
    let trace = crate::common::trace(&dir, format!("{path}\tF_OK\n").as_bytes());
    let trace = trace.to_str().expect("temporary files have names in UTF-8");
    fits(&["replay", trace, "--rounds", "1"], 80);
    let text = in_a_pipe(&["replay", trace, "--rounds", "1"], 80);
    assert!(text.contains('…'), "{text}");
    assert!(in_a_pipe(&["replay", trace, "--rounds", "1", "--json"], 80).contains(&path));
}
