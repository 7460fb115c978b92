//! Tests of `pathwalk branch`, and of mounts of branches, as their users run them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::mounts::{Point, Served};
use crate::common::{json, pathwalk};
use rustix::process::Signal;
use tempfile::TempDir;

/// A base with some files, and the directory for the state of programs.
struct Ground {
    base: TempDir,
    state: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let (base, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(base.path().join("src")).unwrap();
        fs::write(base.path().join("notes"), "old").unwrap();
        fs::write(base.path().join("src/main"), "text").unwrap();
        Ground { base, state }
    }

    /// Returns the command `pathwalk branch`, started in the base.
    fn branch(&self, args: &[&str]) -> Command {
        let mut command = pathwalk();
        command.arg("branch").args(args).current_dir(self.base.path()).env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.branch(args).output().expect("the program starts")
    }

    /// Runs a command that prints nothing but what it was asked for.
    fn does(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(code), ""), "{args:?}");
        String::from_utf8(output.stdout).expect("it is text")
    }

    fn refuses(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).expect("it is text")
    }

    /// Serves the branch on a mount point; `None` where that is not possible.
    fn mount(&self, name: &str, point: &Point) -> Option<Served> {
        let mut command = pathwalk();
        command.args(["mount", "-f", &format!("branch:{name}")]).arg(point.path());
        command.current_dir(self.base.path()).env("XDG_STATE_HOME", self.state.path());
        Served::run("a mount of a branch", &mut command)
    }

    fn read(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(self.base.path().join(path)).unwrap()
    }
}

#[test]
fn branches_are_made_listed_and_dropped() {
    let ground = Ground::new();
    assert!(ground.refuses(&["list"]).contains("make one by: pathwalk branch fork NAME"));
    assert_eq!(ground.does(&["fork", "work", "--note", "by hand"], 0), "");
    ground.does(&["fork", "step", "--from", "work"], 0);
    ground.does(&["note", "step", "tries something"], 0);
    let list = ground.does(&["list"], 0);
    for says in ["work", "by hand", "the base", "step", "tries something"] {
        assert!(list.contains(says), "{list}");
    }
    let list = json(&mut ground.branch(&["list", "--json"]));
    assert_eq!((&list["branches"][0]["name"], &list["branches"][0]["parent"]), (&"step".into(), &"work".into()));
    assert_eq!((&list["branches"][1]["note"], &list["branches"][1]["parent"]), (&"by hand".into(), &serde_json::Value::Null));
    assert!(ground.refuses(&["fork", "work"]).contains("choose another name"));
    assert!(ground.refuses(&["fork", "x", "--from", "no"]).contains("there is no branch \"no\""));
    assert!(ground.refuses(&["drop", "work"]).contains("\"work\" has forks (step)"));
    assert!(ground.refuses(&["show", "no"]).contains("there is no branch \"no\""));
    assert_eq!(ground.does(&["diff", "step"], 0), "");
    assert_eq!(json(&mut ground.branch(&["show", "work", "--json"]))["changes"]["added"], 0);
    assert!(ground.does(&["check"], 0).contains("is there"));
    ground.does(&["drop", "step"], 0);
    ground.does(&["drop", "work"], 0);
    assert!(ground.does(&["gc"], 0).starts_with("removed: "));
    assert!(ground.does(&["list"], 0).contains("has no branches"));
}

#[test]
fn another_base_has_other_branches() {
    let (one, other) = (Ground::new(), Ground::new());
    one.does(&["fork", "work"], 0);
    let store = tempfile::tempdir().unwrap();
    let store = store.path().to_str().unwrap();
    one.does(&["fork", "here", "--store", store], 0);
    assert!(one.does(&["list", "--store", store], 0).contains("here"));
    assert!(!one.does(&["list"], 0).contains("here"));
    assert!(other.refuses(&["list", "--store", store]).contains("branches of another base"));
    assert!(other.refuses(&["list", "--base", "/no/such"]).contains("the base \"/no/such\""));
}

#[test]
fn a_mounted_branch_is_changed_compared_and_committed() {
    let (ground, point) = (Ground::new(), Point::new());
    ground.does(&["fork", "work"], 0);
    let Some(mut served) = ground.mount("work", &point) else { return };
    fs::write(point.at("notes"), "new").unwrap();
    fs::create_dir(point.at("made")).unwrap();
    fs::rename(point.at("src"), point.at("source")).unwrap();
    fs::write(point.at("source/main"), "text, changed").unwrap();
    assert_eq!(ground.read("notes"), "old");
    assert!(ground.refuses(&["commit", "work"]).contains("pathwalk umount"), "it is in use");
    served.signal(Signal::TERM);
    assert_eq!(served.ended().code(), Some(0));

    let lines = "A /made/\nM /notes  (data)\nR /src -> /source/\nM /source/main  (data)\n";
    assert_eq!(ground.does(&["diff", "work"], 1), lines);
    let output = ground.run(&["diff", "work", "--as", "patch"]);
    let (patch, left_out) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.code() == Some(1) && left_out.contains("/made"), "{left_out}");
    assert!(ground.does(&["diff", "work", "--as", "summary"], 1).contains("/src/ -> /source/"));
    let output = ground.run(&["diff", "work", "--json"]);
    let changes: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &changes["changes"][2]["from"]), (Some(1), &"/src".into()));
    assert_eq!(ground.does(&["commit", "work"], 0), "");
    assert_eq!((&*ground.read("notes"), &*ground.read("source/main")), ("new", "text, changed"));
    assert!(ground.base.path().join("made").is_dir() && !ground.base.path().join("src").exists());
    assert!(ground.refuses(&["diff", "work"]).contains("there is no branch"));

    // The same on another copy, without branches, by the patch.
    let other = Ground::new();
    fs::write(other.state.path().join("patch"), patch).unwrap();
    other.does(&["apply", other.state.path().join("patch").to_str().unwrap()], 0);
    assert_eq!((&*other.read("notes"), &*other.read("source/main")), ("new", "text, changed"));
    assert!(other.refuses(&["apply", "--as", "json", "/no/such"]).contains("reading \"/no/such\""));
}

#[test]
fn what_a_killed_mount_had_synced_is_there() {
    let (ground, point) = (Ground::new(), Point::new());
    ground.does(&["fork", "work"], 0);
    let Some(mut served) = ground.mount("work", &point) else { return };
    fs::write(point.at("kept"), "synced").unwrap();
    fs::File::open(point.at("kept")).unwrap().sync_all().unwrap();
    served.process.kill().unwrap();
    served.ended();
    assert_eq!(ground.does(&["diff", "work"], 1), "A /kept\n");
    ground.does(&["commit", "work"], 0);
    assert_eq!(ground.read("kept"), "synced");
}

#[test]
fn a_conflict_is_told_and_nothing_is_done() {
    let (ground, point) = (Ground::new(), Point::new());
    ground.does(&["fork", "work"], 0);
    let Some(mut served) = ground.mount("work", &point) else { return };
    fs::write(point.at("notes"), "in the branch").unwrap();
    served.signal(Signal::TERM);
    served.ended();
    fs::write(ground.base.path().join("notes"), "in the base, of another length").unwrap();
    let told = ground.does(&["commit", "work"], 1);
    assert!(told.contains("/notes") && told.contains("changed in both"), "{told}");
    let output = ground.run(&["commit", "work", "--json"]);
    let conflicts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&conflicts["conflicts"][0]["path"], &conflicts["conflicts"][0]["what"][0]), (&"/notes".into(), &"data".into()));
    assert_eq!(ground.read("notes"), "in the base, of another length");
    assert!(told.contains("--resolve PATH=ours"), "{told}");
    assert!(ground.refuses(&["commit", "work", "--resolve", "/notes=mine"]).contains("ours, theirs, merge or left"));
    assert!(ground.refuses(&["rebase", "work", "--ours", "--theirs"]).contains("cannot be used with"));
    assert!(ground.does(&["rebase", "work"], 1).contains("/notes"));
    ground.does(&["rebase", "work", "--theirs", "--resolve", "notes=ours"], 0);
    assert_eq!(ground.does(&["diff", "work"], 1), "M /notes  (data)\n");
    ground.does(&["commit", "work"], 0);
    assert_eq!(ground.read("notes"), "in the branch");
}

#[test]
fn a_commit_is_taken_back_where_that_was_asked_for() {
    let (ground, point) = (Ground::new(), Point::new());
    let change = |name: &str| {
        ground.does(&["fork", name], 0);
        let mut served = ground.mount(name, &point)?;
        fs::write(point.at("notes"), format!("of {name}")).unwrap();
        fs::remove_file(point.at("src/main")).unwrap();
        served.signal(Signal::TERM);
        served.ended();
        Some(())
    };
    let Some(()) = change("work") else { return };
    assert!(ground.refuses(&["undo", "work"]).contains("commit with --undoable"));
    ground.does(&["commit", "work", "--undoable"], 0);
    assert_eq!((ground.read("notes"), ground.base.path().join("src/main").exists()), ("of work".to_owned(), false));
    let told = ground.does(&["diff", "work.undo"], 1);
    assert!(told.starts_with("M /notes  (data") && told.ends_with("\nA /src/main\n"), "{told}");
    fs::write(ground.base.path().join("notes"), "changed since").unwrap();
    assert!(ground.does(&["undo", "work"], 1).contains("/notes"));
    ground.does(&["undo", "work", "--ours"], 0);
    assert_eq!((ground.read("notes"), ground.read("src/main")), ("old".to_owned(), "text".to_owned()));
    assert!(ground.refuses(&["undo", "work"]).contains("undo that once"));
    change("again").unwrap();
    ground.does(&["commit", "again", "--undoable=before again"], 0);
    ground.does(&["commit", "before again"], 0);
    assert_eq!(ground.read("notes"), "old");
}

#[test]
fn a_branch_takes_over_what_its_parent_has_got() {
    let (ground, point) = (Ground::new(), Point::new());
    ground.does(&["fork", "work"], 0);
    ground.does(&["fork", "step", "--from", "work"], 0);
    for (name, text) in [("work", "1\n2\n3\nfour\n"), ("step", "one\n2\n3\n4\n")] {
        let Some(mut served) = ground.mount(name, &point) else { return };
        fs::write(point.at("notes"), text).unwrap();
        fs::write(point.at(name), "").unwrap();
        served.signal(Signal::TERM);
        served.ended();
    }
    let output = ground.run(&["rebase", "step", "--merge", "--json"]);
    let conflicts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &conflicts["conflicts"][0]["path"]), (Some(1), &"/notes".into()));
    ground.does(&["rebase", "step", "--ours"], 0);
    assert_eq!(ground.does(&["diff", "step"], 1), "M /notes  (data)\nA /step\n");
    ground.does(&["commit", "step"], 0);
    ground.does(&["commit", "work"], 0);
    assert_eq!(ground.read("notes"), "one\n2\n3\n4\n");
    assert!(ground.base.path().join("work").exists() && ground.base.path().join("step").exists());
}

#[test]
fn some_paths_are_committed() {
    let (ground, point) = (Ground::new(), Point::new());
    ground.does(&["fork", "work"], 0);
    let Some(mut served) = ground.mount("work", &point) else { return };
    fs::write(point.at("notes"), "new").unwrap();
    fs::write(point.at("src/made"), "made").unwrap();
    fs::rename(point.at("src/main"), point.at("main")).unwrap();
    served.signal(Signal::TERM);
    served.ended();
    assert!(ground.refuses(&["commit", "work", "none"]).contains("nothing was changed at \"/none\""));
    assert!(ground.refuses(&["commit", "work", "main"]).contains("\"/main\" and \"/src/main\" hang together"));
    ground.does(&["commit", "work", "src", "/main"], 0);
    assert_eq!((&*ground.read("notes"), &*ground.read("src/made"), &*ground.read("main")), ("old", "made", "text"));
    assert_eq!(ground.does(&["diff", "work"], 1), "M /notes  (data)\n");
    ground.does(&["commit", "work"], 0);
    assert_eq!(ground.read("notes"), "new");
}
