//! Tests of `pathwalk try` on a terminal: job control of shells around it and in it, signals, and
//! programs that take the whole screen.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::pty::Pty;
use crate::common::trial::{Ground, Who};
use pathwalk_tests::skipped;
use rustix::process::{Pid, Signal, kill_process};

/// A shell, its arguments for a session without the user's files, and what it says of a job that
/// was stopped.
struct Shell {
    path: &'static str,
    args: &'static [&'static str],
    stopped: &'static str,
    /// The word for the exit code of the last command.
    code: &'static str,
    /// What that is when a job that was brought to the foreground has been interrupted. Fish does
    /// not set it.
    interrupted: &'static str,
    /// What it is when the shell itself was to end with 7 in a `try`. Dash cannot give the terminal
    /// back to a group that it does not see, and ends with 2.
    ended: &'static str,
}

const SHELLS: [Shell; 4] = [
    Shell {
        path: "/bin/bash",
        args: &["--norc", "--noprofile", "-i"],
        stopped: "Stopped",
        code: "$?",
        interrupted: "130",
        ended: "7",
    },
    Shell { path: "/bin/dash", args: &["-i"], stopped: "Stopped", code: "$?", interrupted: "130", ended: "2" },
    Shell { path: "/bin/zsh", args: &["-f", "-i"], stopped: "suspended", code: "$?", interrupted: "130", ended: "7" },
    Shell {
        path: "/usr/bin/fish",
        args: &["--no-config", "-i"],
        stopped: "stopped",
        code: "$status",
        interrupted: "0",
        ended: "7",
    },
];

/// Runs a test in each shell that is installed.
fn in_shells(what: &str, test: impl Fn(&Ground, &Shell, &mut Pty)) {
    for shell in &SHELLS {
        if !Path::new(shell.path).exists() {
            skipped(what, &format!("{} is not installed", shell.path));
            continue;
        }
        let Some(ground) = Ground::new(what, Who::User) else { return };
        let mut pty = start(&ground, shell);
        test(&ground, shell, &mut pty);
    }
}

/// Starts a shell that is ready to read.
fn start(ground: &Ground, shell: &Shell) -> Pty {
    let mut command = Command::new(shell.path);
    command.args(shell.args).current_dir(ground.base());
    // Before the session is made: the user is changed first.
    ground.prepare(&mut command);
    command.env("TERM", "xterm").env("PS1", "ready> ").env("TRY", env!("CARGO_BIN_EXE_pathwalk"));
    let mut pty = Pty::start(&mut command);
    pty.line("echo begin-$PWD");
    pty.expect("begin-/");
    pty
}

#[test]
fn jobs_are_stopped_continued_and_interrupted() {
    in_shells("job control around a try", |_, shell, pty| {
        pty.line("$TRY try --drop -- sh -c 'echo run''ning; exec sleep 1000'");
        pty.expect("running");
        for _ in 0..2 {
            pty.send("\x1a");
            pty.expect(shell.stopped);
            pty.line("echo out''side");
            pty.expect("outside");
            pty.line("fg");
            // The command line is printed again.
            pty.expect("sleep 1000");
            std::thread::sleep(Duration::from_millis(300));
        }
        pty.send("\x03");
        pty.line(&format!("echo co''de-{}", shell.code));
        pty.expect(&format!("code-{}", shell.interrupted));
        pty.line("$TRY try -- sh -c 'exit 9'");
        pty.expect("nothing was changed");
        pty.line(&format!("echo mo''re-{}", shell.code));
        pty.expect("more-9");
    });
}

#[test]
fn a_shell_in_a_try_has_jobs_of_its_own() {
    in_shells("job control in a try", |ground, shell, pty| {
        pty.line(&format!("$TRY try --keep -- {} {}", shell.path, shell.args.join(" ")));
        pty.line("echo in''side > made; cat made");
        pty.expect("inside");
        pty.line("sleep 1000");
        std::thread::sleep(Duration::from_millis(1000));
        pty.send("\x1a");
        pty.expect(shell.stopped);
        pty.line("fg");
        pty.expect("sleep 1000");
        std::thread::sleep(Duration::from_millis(500));
        pty.send("\x03");
        std::thread::sleep(Duration::from_millis(500));
        pty.line("echo on''ward");
        pty.expect("onward");
        pty.line("exit 7");
        pty.expect("kept as");
        pty.line(&format!("echo co''de-{}", shell.code));
        pty.expect(&format!("code-{}", shell.ended));
        assert!(!ground.at("base/made").exists());
    });
}

#[test]
fn programs_that_take_the_whole_screen_work() {
    if !Path::new("/usr/bin/vim").exists() {
        return skipped("vim in a try", "it is not installed");
    }
    let Some(ground) = Ground::new("vim in a try", Who::User) else { return };
    let mut pty = start(&ground, &SHELLS[0]);
    pty.line("$TRY try --keep -- vim -u NONE file");
    pty.expect("\"file\"");
    pty.send("\x1a");
    pty.expect("Stopped");
    pty.line("fg");
    pty.send("ityped \x1b:wq\r");
    pty.expect("kept as");
    pty.line("echo co''de-$?");
    pty.expect("code-0");
    pty.line("$TRY try --drop -b vim-1 -- cat file");
    pty.expect("typed old");
}

#[test]
fn a_command_behind_a_pipe_and_without_a_terminal_works() {
    let Some(ground) = Ground::new("pipes", Who::User) else { return };
    let mut pty = start(&ground, &SHELLS[0]);
    pty.line("echo fed | $TRY try --drop -- tr a-z A-Z | cat -n");
    pty.expect("1\tFED");
    pty.line("$TRY try --drop -- sh -c 'cat file' <&- | cat; echo clo''sed");
    pty.expect("closed");
    // As in a service: no session, no terminal.
    let mut command = ground.trying(&["--drop"], &["sh", "-c", "cat; tty; echo end"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "not a tty\nend\n");
}

#[test]
fn signals_to_the_program_end_the_command() {
    let Some(ground) = Ground::new("signals", Who::User) else { return };
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut command = ground.trying(&["--keep"], &["sh", "-c", "echo partly > file; echo ready; exec sleep 1000"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert!(errors.contains("kept as"), "{errors}");
    }
    assert_eq!((ground.branches(), &*ground.read("base/file")), (2, "old\n"));
}

#[test]
fn a_kill_at_any_time_ends_all_and_keeps_the_branch() {
    for who in Who::all() {
        let Some(ground) = Ground::new("kills", who) else { return };
        let mark = format!("pathwalk-try-mark-{}-{who:?}", std::process::id());
        for round in 0..25_u64 {
            let script = format!("while :; do echo {mark} | dd of=file conv=fsync,notrunc 2>/dev/null; sleep 0.01; done");
            let mut command = ground.trying(&["-b", "work"], &["sh", "-c", &script]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(round * 40));
            child.kill().unwrap();
            child.wait().unwrap();
            let begun = Instant::now();
            while processes_with(&mark) > 0 {
                assert!(begun.elapsed() < Duration::from_secs(30), "a process has outlived the program");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        assert_eq!(ground.read("base/file"), "old\n");
        let (code, output, errors) = ground.script(&["-b", "work", "--keep"], "cat file");
        assert_eq!(code, Some(0), "{errors}");
        assert!(output.starts_with(&mark), "{output}");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(ground.dir.path().to_str().unwrap()), "{mounts}");
    }
}

/// Returns the number of processes that have this in their command line.
fn processes_with(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let own = std::process::id().to_string();
    let others = all.filter(|entry| entry.file_name().to_str() != Some(&own));
    let lines = others.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[test]
fn what_the_base_changes_while_a_person_is_asked_is_a_conflict() {
    let Some(ground) = Ground::new("a base that changes during the question", Who::User) else { return };
    let mut pty = start(&ground, &SHELLS[0]);
    for (engine, answer) in [("fuse", "c"), ("fuse", "some"), ("overlay", "c"), ("overlay", "some")] {
        pty.line(&format!("echo before > file; $TRY try --engine {engine} -- sh -c 'echo mine > file'"));
        pty.expect("[d]rop or [l]ook? ");
        std::fs::write(ground.at("base/file"), "of another program\n").unwrap();
        pty.line(answer);
        if answer == "some" {
            pty.expect("[y/N] ");
            pty.line("y");
        }
        pty.expect("changed in both");
        assert_eq!(ground.read("base/file"), "of another program\n");
    }
}

#[test]
fn a_person_is_asked_what_becomes_of_the_changes() {
    let Some(ground) = Ground::new("the question", Who::User) else { return };
    let mut pty = start(&ground, &SHELLS[0]);
    let question = "[k]eep, [c]ommit, [s]ome, [d]rop or [l]ook? ";
    pty.line("export PAGER=cat; $TRY try -- sh -c 'echo new > file; echo x > .dot; cp /bin/true run'");
    pty.expect("program          /run");
    pty.expect("dotfile          /.dot");
    pty.expect(question);
    pty.line("");
    pty.expect(question);
    pty.line("look");
    pty.expect("+new");
    pty.expect(question);
    pty.line("c");
    pty.expect("committed");
    assert_eq!(ground.read("base/file"), "new\n");
    // Some of it; what is in a new directory is no question of its own.
    pty.line("$TRY try -b some -- sh -c 'echo a > file; mkdir made; touch made/a made/b; rm run'");
    pty.expect(question);
    pty.line("some");
    for (says, answer) in [("M /file", "n"), ("A /made/", "y"), ("D /run", "")] {
        pty.expect(says);
        pty.expect("[y/N] ");
        pty.line(answer);
    }
    pty.expect("committed what was chosen");
    pty.expect("kept as \"some\"");
    assert!(ground.at("base/made/b").exists() && ground.at("base/run").exists());
    assert_eq!(ground.read("base/file"), "new\n");
    pty.line("$TRY try -- rm file");
    pty.expect(question);
    pty.line("d");
    pty.expect("dropped");
    pty.line("$TRY try -- rm file");
    pty.expect(question);
    pty.send("\x03");
    // What is typed before the shell has the terminal again may be flushed.
    std::thread::sleep(Duration::from_millis(500));
    pty.line("echo co''de-$?");
    pty.expect("code-130");
    pty.line("$TRY try -- rm file");
    pty.expect(question);
    pty.send("\x04");
    pty.expect("kept as \"rm-2\"");
    assert_eq!(ground.read("base/file"), "new\n");
}
