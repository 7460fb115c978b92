//! Tests of the program `study` as its users run it: its helps, exit codes, tables and files.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use pathwalk_output::wrap::columns;

/// All commands, each with arguments for a quick run.
const COMMANDS: &[&[&str]] = &[
    &["policies", "--size", "5", "--policy", "fifo,sieve,hands-share"],
    &["storm", "1000"],
    &["whole-paths", "../traces/gcc.strace.gz"],
    &["save", "../traces/gcc.strace.gz", "/dev/null"],
];

fn study(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_study"));
    command.args(args).env("COLUMNS", "80").stdin(Stdio::null()).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().expect("the program starts")
}

/// Runs the program, and returns its standard output.
fn done(args: &[&str]) -> String {
    let output = study(args);
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs the program on bad input, and returns its error.
fn refused(args: &[&str]) -> String {
    let output = study(args);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn all_output_fits_into_80_columns() {
    let helps = COMMANDS.iter().map(|command| command[0]).flat_map(|name| [vec![name, "-h"], vec![name, "--help"]]);
    let runs = COMMANDS.iter().map(|command| command.to_vec());
    for args in helps.chain([vec!["-h"], vec!["--help"]]).chain(runs) {
        let text = done(&args);
        let wide: Vec<_> = text.lines().filter(|line| columns(line) > 80).collect();
        assert_eq!(wide, [""; 0], "{args:?}:\n{text}");
        let is_help = args.last().is_some_and(|last| last.starts_with('-') && last.contains('h'));
        assert_eq!(text.contains("Exit codes:\n  0  it is done\n  2  it could not be done"), is_help, "{args:?}:\n{text}");
    }
}

#[test]
fn the_help_names_all_commands_and_policies() {
    let help = done(&["--help"]);
    for command in COMMANDS {
        assert!(help.contains(command[0]), "{}: {help}", command[0]);
    }
    let help = done(&["policies", "--help"]);
    for entrant in pathwalk_study::ENTRANTS {
        assert!(help.contains(entrant.name) && help.contains(entrant.about), "{}: {help}", entrant.name);
    }
}

#[test]
fn quiet_stands_before_and_after_a_command() {
    for args in [["-q", "storm", "10"], ["storm", "10", "--quiet"]] {
        assert!(done(&args).contains("10 absent names"));
    }
}

#[test]
fn bad_input_is_refused() {
    for (args, says) in [
        (&["policies", "/no/such/file"][..], "reading walks from /no/such/file: No such file"),
        (&["policies", "Cargo.toml"], "neither what strace writes nor a file of walks"),
        (&["policies", "--cwd", "/"], "FILE"),
        (&["policies", "--policy", "best"], "s3-fifo"),
        (&["policies", "--size", "0"], "within 0.01 and 100"),
        (&["storm", "0"], "1..=100000000"),
        (&["save", "recordings/make.walks.gz", "/no/such/dir/x"], "# walks"),
        (&["save", "../traces/gcc.strace.gz", "/no/such/dir/x"], "saving the walks to /no/such/dir/x: No such file"),
        (&[], "Usage: study"),
    ] {
        let text = refused(args);
        assert!(text.contains(says), "{args:?}: {text}");
    }
}

#[test]
fn saved_walks_are_those_of_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("gcc.walks.gz");
    let saved = saved.to_str().expect("temporary files have names in UTF-8");
    let recording = ["../traces/gcc.strace.gz", "--cwd", "/home/user"];
    done(&["save", recording[0], saved, recording[1], recording[2]]);
    let results = |args: &[&str]| done(&[&["policies", "--json"], args].concat());
    let text = results(&recording);
    assert_eq!(results(&[saved]), text);
    assert!(text.contains("\"name\": \"gcc\""), "{text}");
}

#[test]
fn a_plot_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plot.svg");
    let write = |file: &Path| study(&["policies", "../traces/gcc.strace.gz", "--svg", file.to_str().expect("UTF-8")]);
    assert_eq!(write(&file).status.code(), Some(0));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg"));
    let error = write(Path::new("/no/such/plot.svg"));
    assert!(String::from_utf8_lossy(&error.stderr).contains("study: writing the plot to /no/such/plot.svg: No such file"));
}
