//! The exit codes of every command, and that its helps tell them.

use std::process::Command;

use crate::common::pathwalk;
use pathwalk_tests::place::{Filesystem, Users, in_a_place};
use pathwalk_tests::skipped;
use rustix::mount::{MountFlags, mount, mount_remount};

/// A command, and arguments that lead to each of its exit codes. `{dir}` is an empty directory.
struct Row {
    command: &'static [&'static str],
    /// Arguments for 0, 1 and 2, where that code exists. The 1 of `replay` has a test of its own.
    codes: [Option<&'static [&'static str]>; 3],
}

const fn row(command: &'static [&'static str], codes: [Option<&'static [&'static str]>; 3]) -> Row {
    Row { command, codes }
}

const TABLE: &[Row] = &[
    row(&[], [Some(&["--version"]), None, Some(&["--no-such-option"])]),
    row(&["replay"], [Some(&["--rounds", "1"]), None, Some(&["/no/such/file"])]),
    row(&["explain"], [Some(&["/", "--want", "rx"]), Some(&["/no/such/file"]), Some(&["x", "--cwd", "/no/such/directory"])]),
    row(&["watch"], [Some(&["{dir}", "--events", "0"]), None, Some(&["/no/such/directory"])]),
    row(&["mount"], [None, None, Some(&["frob", "{dir}"])]),
    row(&["umount"], [None, None, Some(&["{dir}"])]),
    row(&["branch"], [None, None, None]),
    row(&["branch", "list"], [Some(&["--base", "{dir}", "--store", "{dir}"]), None, Some(&["--base", "/no/such"])]),
    row(&["branch", "fork"], [Some(&["one", "--base", "{dir}", "--store", "{dir}"]), None, Some(&["a/b", "--base", "{dir}"])]),
    row(&["branch", "note"], [Some(&["one", "text", "--base", "{dir}", "--store", "{dir}"]), None, Some(&["none", "text"])]),
    row(&["branch", "show"], [Some(&["one", "--base", "{dir}", "--store", "{dir}"]), None, Some(&["none"])]),
    row(&["branch", "apply"], [None, None, Some(&["/no/such/file"])]),
    row(&["branch", "drop"], [None, None, Some(&["none"])]),
    row(&["try"], [None, None, Some(&["--no-such-option"])]),
    row(&["stats"], [None, None, Some(&["{dir}"])]),
    row(&["bench"], [Some(&["crtends", "--rounds", "1"]), None, Some(&["nosuch"])]),
    row(
        &["bench", "open-cached"],
        [
            Some(&["--rounds", "1", "--opens", "5", "--hit", "50", "--depth", "1", "--dir", "{dir}"]),
            None,
            Some(&["--dir", "/no/such"]),
        ],
    ),
    row(&["bench", "walktrees"], [Some(&["--threads", "1", "--dirs", "1", "--files", "5"]), None, Some(&["--threads", "1,1"])]),
    row(&["bench", "pinned"], [Some(&["--unlink-all", "10"]), None, Some(&["--rounds", "0"])]),
    row(&["bench", "resolver"], [None, None, Some(&["/no/such"])]),
    row(
        &["bench", "wide"],
        [
            Some(&["--paths", "100", "--rounds", "1", "--turn", "1", "--on", "{dir}"]),
            None,
            Some(&["--paths", "1", "--on", "/no/such"]),
        ],
    ),
    row(&["completions"], [Some(&["zsh"]), None, Some(&["no-such-shell"])]),
    row(&["man"], [Some(&[]), None, Some(&["/dev/null/pages"])]),
];

fn code(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_command_has_its_codes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().expect("temporary files have names in UTF-8");
    for Row { command, codes } in TABLE {
        for (expected, args) in codes.iter().enumerate().filter_map(|(code, args)| Some((code as i32, (*args)?))) {
            let args: Vec<String> = args.iter().map(|arg| arg.replace("{dir}", dir)).collect();
            let (code, errors) = code(pathwalk().arg("--quiet").args(*command).args(&args));
            assert_eq!(code, Some(expected), "{command:?} {args:?}: {errors}");
            assert_eq!(errors.is_empty(), expected != 2, "only what could not be done is complained about: {errors}");
        }
    }
}

/// Tests the 1 of `replay` with a mount that follows no links, where the engine over the host's
/// file system answers otherwise than the kernel (see `pathwalk_hostfs`, "What it does not do").
#[test]
fn a_replay_that_differs_exits_with_1() {
    in_a_place("a_replay_that_differs_exits_with_1", |place| {
        let what = "a replay that differs";
        if place.users != Users::All || place.filesystem != Filesystem::OwnTmpfs {
            return skipped(what, "it needs a mount: run it as root");
        }
        let dir = place.dir.join("nosymfollow");
        std::fs::create_dir(&dir).unwrap();
        mount("exits", &dir, "tmpfs", MountFlags::empty(), c"mode=755").unwrap();
        std::os::unix::fs::symlink(".", dir.join("here")).unwrap();
        if let Err(error) = mount_remount(&dir, MountFlags::BIND | MountFlags::NOSYMFOLLOW, "") {
            return skipped(what, &format!("this kernel has no nosymfollow ({error})"));
        }
        let files = tempfile::tempdir().unwrap();
        let trace = crate::common::trace(&files, b"/nosymfollow/here\tR_OK\n");
        let output = pathwalk().args(["replay", "--rounds", "1", "--root"]).arg(&place.dir).arg(trace).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("Disagreements:"), "{text}");
    });
}

#[test]
fn every_help_tells_the_codes() {
    for Row { command, codes } in TABLE {
        let has_no = codes[1].is_some() || matches!(command, [] | ["replay"]);
        for flag in ["-h", "--help"] {
            let output = pathwalk().args(*command).arg(flag).output().expect("the program starts");
            let help = String::from_utf8(output.stdout).expect("text");
            let (_, told) = help.split_once("\nExit codes:\n").unwrap_or_else(|| panic!("{command:?} {flag}: {help}"));
            let told: Vec<&str> = told.lines().take_while(|line| !line.is_empty()).collect();
            for (code, is_there) in [("  0  ", true), ("  1  ", has_no), ("  2  ", true)] {
                assert_eq!(told.iter().any(|line| line.starts_with(code)), is_there, "{command:?} {flag} {code}: {told:?}");
            }
        }
    }
}
