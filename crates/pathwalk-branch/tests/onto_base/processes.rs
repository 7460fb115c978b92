//! Commits onto a directory of the host in a process that is killed.
//!
//! `PATHWALK_BRANCH_KILLS` is the number of kills.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use fastrand::Rng;
use pathwalk::Context;
use pathwalk_branch::Branches;
use pathwalk_hostfs::{Coherence, HostFs};

use crate::common::root_on;
use crate::common::trees::{differences, look};
use crate::{fill, work};

const DIRECTORY: &str = "PATHWALK_TEST_COMMITS_IN";

fn base(directory: &std::path::Path) -> Context {
    let fs = HostFs::open_writable(directory).unwrap().with_coherence(Coherence::Exclusive);
    root_on(fs)
}

/// Runs in the child: commits, and says when it begins.
#[test]
fn child() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let branches = Branches::new(base(directory.as_ref())).unwrap();
    let context = root_on(branches.fork(None, "work").unwrap());
    work(&context);
    println!("begins");
    branches.commit("work").unwrap();
}

#[test]
fn a_commit_onto_a_directory_is_whole_or_not_there() {
    let rounds = std::env::var("PATHWALK_BRANCH_KILLS").map_or(8, |rounds| rounds.parse().expect("it is a number"));
    let (mut random, mut undone, mut finished) = (Rng::new(), 0, 0);
    let whole = tempfile::tempdir().unwrap();
    fill(&base(whole.path()));
    let before = look(&base(whole.path()));
    run(whole.path(), None);
    let after = look(&base(whole.path()));
    assert!(before != after);
    for round in 0..rounds {
        let directory = tempfile::tempdir().unwrap();
        fill(&base(directory.path()));
        run(directory.path(), Some(Duration::from_micros(random.u64(..60_000))));
        let base = base(directory.path());
        Branches::new(base.clone()).unwrap();
        let now = look(&base);
        assert!(now == after || now == before, "round {round}: {}", differences(&now, &after));
        if now == after { finished += 1 } else { undone += 1 }
    }
    println!("{undone} undone, {finished} finished");
}

/// Runs the child, and kills it so long after its commit has begun.
fn run(directory: &std::path::Path, killed_after: Option<Duration>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut output, mut seen) = (child.stdout.take().unwrap(), Vec::new());
    let mut byte = [0];
    while !seen.ends_with(b"begins\n") && output.read(&mut byte).unwrap() > 0 {
        seen.push(byte[0]);
    }
    if let Some(after) = killed_after {
        std::thread::sleep(after);
        _ = child.kill();
    }
    _ = std::io::copy(&mut output, &mut std::io::sink());
    child.wait().unwrap();
}
