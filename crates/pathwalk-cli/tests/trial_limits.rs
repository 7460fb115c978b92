//! `pathwalk try` with limits of memory and of processes.
//!
//! They need cgroups of version 2 with the controllers `memory` and `pids`, in which this process
//! may make groups.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::trial::{Ground, Who};
use pathwalk_hostfs::mountinfo;
use pathwalk_tests::skipped;

const MEMORY: &[&str] = &["--memory", "64M"];
const PIDS: &[&str] = &["--pids", "6"];

/// Needs more memory than there is.
const HOG: &str = "tail /dev/zero";

/// Needs more processes than `PIDS`.
const MANY: &str = "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait";

/// Runs a test as root with both engines, where commands can be limited so.
fn with(what: &str, limits: &[&str], test: impl Fn(&Ground)) {
    if !Who::all().contains(&Who::Root) {
        return skipped(what, "no cgroup is this user's for certain");
    }
    for engine in ["fuse", "auto"] {
        let Some(ground) = Ground::with(what, Who::Root, engine) else { continue };
        let (code, _, errors) = ground.script(&[limits, &["--drop"]].concat(), "exit 3");
        match code {
            Some(3) => test(&ground),
            _ => skipped(what, errors.trim()),
        }
    }
}

/// Returns the groups of commands.
fn groups() -> Vec<PathBuf> {
    let tops = mountinfo::now().into_iter().filter(|line| line.kind == b"cgroup2").map(|line| line.point);
    let mut open: Vec<PathBuf> = tops.map(|top| PathBuf::from(String::from_utf8(top).unwrap())).collect();
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let below: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()).collect();
        found.extend(below.iter().filter(|path| path.display().to_string().contains("pathwalk-try-")).cloned());
        open.extend(below);
    }
    found
}

/// Returns the groups that a process has made.
fn groups_of(process: u32) -> Vec<PathBuf> {
    let name = format!("pathwalk-try-{process}-");
    groups().into_iter().filter(|path| path.display().to_string().contains(&name)).collect()
}

#[test]
fn a_command_that_needs_more_memory_is_ended_as_a_whole() {
    with("limits of memory", MEMORY, |ground| {
        let (code, output, errors) =
            ground.script(&[MEMORY, &["-b", "work"]].concat(), &format!("echo new > new; {HOG}; echo on"));
        assert_eq!((code, &*output), (Some(137), ""), "{errors}");
        assert!(errors.contains("met --memory: it was ended") && errors.contains("kept as \"work\""), "{errors}");
        let (_, output, _) = ground.script(&["-b", "work", "--drop"], "cat new");
        assert_eq!(output, "new\n", "what it had written is there");
        let in_memory = "dd if=/dev/zero of=/dev/shm/file bs=1M count=200 2> /dev/null";
        let (code, output, errors) = ground.script(&[MEMORY, &["--drop", "--json"]].concat(), in_memory);
        let told: serde_json::Value = serde_json::from_str(output.lines().last().unwrap_or_default()).expect(&errors);
        assert_eq!((code, &told["limits_met"], &told["signal"]), (Some(137), &serde_json::json!(["memory"]), &9.into()));
        let (code, _, errors) = ground.script(&[MEMORY, &["--drop"]].concat(), "dd if=/dev/zero of=/tmp/file bs=1M count=20");
        assert!(code == Some(0) && !errors.contains("met --"), "{errors}");
    });
}

#[test]
fn a_command_has_as_many_processes_as_it_may_and_no_more() {
    with("limits of processes", PIDS, |ground| {
        let (_, _, errors) = ground.script(&[PIDS, &["--drop"]].concat(), MANY);
        assert!(errors.contains("met --pids: it was refused"), "{errors}");
        let (code, _, errors) = ground.script(&[PIDS, &["--drop"]].concat(), "for i in 1 2 3 4 5; do sleep 0.1 & done; wait");
        assert!(code == Some(0) && !errors.contains("met --"), "{errors}");
        let (code, output, errors) =
            ground.script(&[PIDS, &["--drop", "--json"]].concat(), &format!("{MANY} 2> /dev/null; exit 4"));
        let told: serde_json::Value = serde_json::from_str(output.lines().last().unwrap_or_default()).expect(&errors);
        // Some shells end when they cannot fork.
        assert!(code.is_some() && told["limits_met"] == serde_json::json!(["pids"]), "{told}");
    });
}

#[test]
fn no_command_leaves_its_group() {
    let limits = [MEMORY, PIDS].concat();
    with("commands that would leave their groups", &limits, |ground| {
        let script = "top=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \\([^ ]*\\) .* - cgroup2 .*/\\1/p' /proc/self/mountinfo | tail -n 1)
            own=$top$(sed -n 's/^0:://p' /proc/self/cgroup)
            cat $own/pids.max
            for file in $top/cgroup.procs $own/../cgroup.procs $own/cgroup.kill; do (echo 0 > $file) 2> /dev/null && echo $file; done
            for file in $own/pids.max $own/memory.max; do (echo max > $file) 2> /dev/null && echo $file; done
            mkdir $own/below 2> /dev/null && echo below
            cat $own/pids.max";
        let (_, output, errors) = ground.script(&[&*limits, &["--drop"]].concat(), script);
        assert_eq!(output, "9\n9\n", "with the three that start it: {errors}");
    });
}

#[test]
fn no_group_is_left() {
    with("groups of commands", PIDS, |ground| {
        let mut trying = ground.trying(&[PIDS, &["--drop"]].concat(), &["sleep", "1000"]);
        let mut program = trying.stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let is_running = || {
            groups_of(program.id())
                .iter()
                .any(|dir| fs::read_to_string(dir.join("cgroup.procs")).is_ok_and(|all| all.lines().count() > 2))
        };
        while !is_running() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the command starts");
            std::thread::sleep(Duration::from_millis(10));
        }
        // While it runs, another one leaves its group alone.
        assert_eq!(ground.script(&[PIDS, &["--drop"]].concat(), "exit 5").0, Some(5));
        assert_eq!(groups_of(program.id()).len(), 1);
        program.kill().unwrap();
        program.wait().unwrap();
        assert_eq!(ground.script(&[PIDS, &["--drop"]].concat(), "exit 5").0, Some(5));
        assert_eq!(groups_of(program.id()), [] as [PathBuf; 0]);
    });
}

#[test]
fn a_limit_that_cannot_be_had_is_an_error_before_the_command_runs() {
    let what = "limits that cannot be had";
    if !Who::all().contains(&Who::Root) {
        return skipped(what, "another user's cgroups are this one's, maybe");
    }
    let Some(ground) = Ground::new(what, Who::User) else { return };
    for limit in [MEMORY, PIDS] {
        let (code, output, errors) = ground.script(limit, "echo ran");
        let told = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((code, &*output, ground.branches()), (Some(125), "", 0), "{errors}");
        assert!(told.contains("cannot be limited") && told.contains("systemd-run --user --scope"), "{errors}");
    }
}
