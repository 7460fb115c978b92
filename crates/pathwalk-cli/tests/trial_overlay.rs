//! `pathwalk try` with the kernel's overlayfs in the place of FUSE.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::trial::{Ground, Who};
use pathwalk_tests::skipped;

/// Runs a test as each user on overlayfs.
fn as_all(what: &str, test: impl Fn(&Ground)) {
    for who in Who::all() {
        let Some(ground) = Ground::with(what, who, "fuse") else { continue };
        let output = ground.tried(&["--engine", "overlay", "--drop"], &["true"]);
        match output.status.success() {
            true => test(&ground),
            false => skipped(what, &format!("{who:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}

/// Returns the layers that are in the store, those that were taken included.
fn layers(ground: &Ground) -> Vec<PathBuf> {
    let layers = stores(ground).into_iter().flat_map(|store| ["layers", "layers.taken"].map(|name| store.join(name)));
    let layers = layers.flat_map(|layers| fs::read_dir(layers).into_iter().flatten());
    layers.map(|layer| layer.unwrap().path()).collect()
}

fn stores(ground: &Ground) -> Vec<PathBuf> {
    fs::read_dir(ground.at("state/pathwalk/branches")).unwrap().map(|store| store.unwrap().path()).collect()
}

/// Waits until something holds, for a minute at most.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_was_changed_is_in_the_branch() {
    as_all("a command on overlayfs", |ground| {
        let script = "grep -q ' overlay ' /proc/self/mountinfo || exit 9; echo new > file; rm sub/inner; mkdir made; ln -s ../file made/link";
        let (code, _, errors) = ground.script(&["--engine", "overlay", "-b", "work"], script);
        assert_eq!((code, &*ground.read("base/file")), (Some(0), "old\n"), "{errors}");
        for says in ["/file", "/sub/inner", "/made/", "kept as \"work\""] {
            assert!(errors.contains(says), "{errors}");
        }
        assert_eq!(layers(ground), [] as [PathBuf; 0]);
        let committed = ground.program(&["branch", "commit", "work"]).output().unwrap();
        assert!(committed.status.success(), "{}", String::from_utf8_lossy(&committed.stderr));
        assert_eq!((&*ground.read("base/made/link"), ground.at("base/sub/inner").exists()), ("new\n", false));
        let (_, _, errors) = ground.script(&["--engine", "overlay"], "cat file > /dev/null; : >> file");
        assert_eq!((ground.branches(), &*errors), (0, "nothing was changed\n"));
    });
}

#[test]
fn the_removal_of_a_layer_that_was_cut_off_is_done_by_the_next_command() {
    as_all("a layer that was taken", |ground| {
        let left = stores(ground)[0].join("layers.taken/work-1");
        fs::create_dir_all(left.join("upper/dir")).unwrap();
        fs::write(left.join("upper/dir/file"), "data").unwrap();
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&stores(ground)[0]).unwrap());
        let given = Command::new("chown").arg("-R").arg(owner.to_string()).arg(left.parent().unwrap()).status().unwrap();
        assert!(given.success() && layers(ground).len() == 1);
        let (code, _, errors) = ground.script(&["--engine", "overlay", "--drop"], "echo new > file");
        assert_eq!((code, layers(ground)), (Some(0), Vec::new()), "{errors}");
    });
}

#[test]
fn a_base_that_changes_is_told_and_nothing_is_committed() {
    as_all("a base that changes under overlayfs", |ground| {
        let mut command = ground.trying(&["--engine", "overlay", "--commit-if-ok"], &["sh", "-c", "echo here > file; sleep 2"]);
        let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        wait_for("the command writes", || layers(ground).iter().any(|layer| layer.join("upper/file").exists()));
        fs::write(ground.at("base/file"), "there\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("the base changed while the command ran: \"/file\""), "{errors}");
        assert_eq!((&*ground.read("base/file"), ground.branches()), ("there\n", 1), "{errors}");
    });
}

/// Kills a `try` in the branch "work" whose command has written a file and made another one.
/// Returns the layer that it leaves.
fn left_by_a_kill(ground: &Ground) -> PathBuf {
    let mut command =
        ground.trying(&["--engine", "overlay", "-b", "work"], &["sh", "-c", "echo new > file; touch made; sleep 60"]);
    let mut child = command.spawn().unwrap();
    wait_for("the command writes", || layers(ground).iter().any(|layer| layer.join("upper/made").exists()));
    child.kill().unwrap();
    child.wait().unwrap();
    layers(ground).remove(0)
}

#[test]
fn what_a_killed_try_has_changed_is_taken_by_the_next() {
    as_all("a try on overlayfs that is killed", |ground| {
        let layer = left_by_a_kill(ground);
        assert_eq!(&*ground.read("base/file"), "old\n");
        let copy = ground.at("copy");
        let copied = |from: &Path, to: &Path| Command::new("cp").arg("-a").args([from, to]).status().unwrap().success();
        assert!(copied(&layer, &copy));
        let (code, output, errors) = ground.script(&["-b", "work", "--keep"], "cat file; ls; rm made");
        assert_eq!((code, &*output), (Some(0), "new\nfile\nmade\nsub\n"), "{errors}");
        assert!(!errors.contains("the system stopped"), "{errors}");
        assert_eq!(layers(ground), [] as [PathBuf; 0]);
        // As if it had been killed when the layer was taken, and not yet removed.
        assert!(copied(&copy, &layer));
        let (code, output, errors) = ground.script(&["-b", "work", "--keep"], "ls");
        assert_eq!((code, &*output), (Some(0), "file\nsub\n"), "{errors}");
        assert_eq!(layers(ground), [] as [PathBuf; 0]);
    });
}

#[test]
fn what_may_lack_a_part_after_a_loss_of_power_is_told() {
    as_all("a try on overlayfs before a loss of power", |ground| {
        let about = left_by_a_kill(ground).join("layer");
        let text = fs::read_to_string(&about).unwrap();
        let (rest, _) = text.trim().rsplit_once(' ').unwrap();
        fs::write(&about, format!("{rest} another-boot\n")).unwrap();
        let (code, output, errors) = ground.script(&["-b", "work", "--keep"], "cat file");
        assert_eq!((code, &*output), (Some(0), "new\n"), "{errors}");
        assert!(errors.contains("the system stopped while a command ran in the branch \"work\""), "{errors}");
    });
}

#[test]
fn a_branch_with_changes_is_not_for_overlayfs() {
    as_all("a branch with changes and overlayfs", |ground| {
        ground.script(&["-b", "work"], "echo new > file");
        let (code, _, errors) = ground.script(&["-b", "work", "--engine", "overlay"], "true");
        assert!(code == Some(125) && errors.contains("has changes"), "{errors}");
        let (code, output, errors) = ground.script(&["-b", "work", "--engine", "auto", "--keep"], "cat file");
        assert_eq!((code, &*output), (Some(0), "new\n"), "{errors}");
    });
}

#[test]
fn a_store_in_the_base_is_none_of_the_changes() {
    as_all("a store in the base and overlayfs", |ground| {
        for engine in ["auto", "overlay"] {
            let options = ["--store", "sub/store", "--engine", engine, "-b", engine];
            let (code, output, errors) = ground.script(&options, "echo new > file; touch sub/made; cat file; ls -A sub/store");
            assert_eq!((code, &*output), (Some(0), "new\n"), "{errors}");
            assert!(errors.contains("1 added, 1 changed\n") && !errors.contains("the base changed"), "{errors}");
        }
    });
}

#[test]
fn a_commit_that_is_killed_at_any_time_is_whole_or_the_branch_is_kept() {
    as_all("a commit from overlayfs that is killed", |ground| {
        let script = "for n in 1 2 3 4 5 6 7 8; do echo $n > new$n; done; echo new > file; rm -r sub; touch made";
        let (mut kept, mut committed) = (0, 0);
        for round in 0..24 {
            let mut command = ground.trying(&["--engine", "overlay", "-b", "work", "--commit-if-ok"], &["sh", "-c", script]);
            let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
            wait_for("the command ends", || {
                let is_made = layers(ground).iter().any(|layer| layer.join("upper/made").exists());
                is_made || child.try_wait().unwrap().is_some()
            });
            std::thread::sleep(Duration::from_millis(round * 6));
            child.kill().unwrap();
            child.wait().unwrap();
            // The next one finishes it, or finds the branch.
            let (code, output, errors) = ground.script(&["-b", "work", "--keep"], "cat file; ls | tr '\\n' ' '");
            assert_eq!(code, Some(0), "{errors}");
            let is_committed = ground.at("base/made").exists();
            assert_eq!(ground.read("base/file"), if is_committed { "new\n" } else { "old\n" });
            assert_eq!(ground.at("base/sub").exists(), !is_committed);
            assert_eq!(output, "new\nfile made new1 new2 new3 new4 new5 new6 new7 new8 ", "{errors}");
            assert_eq!(layers(ground), [] as [PathBuf; 0]);
            let changes = ground.program(&["branch", "diff", "work"]).output().unwrap();
            assert_eq!(changes.stdout.is_empty(), is_committed, "{}", String::from_utf8_lossy(&changes.stdout));
            assert!(ground.program(&["branch", "drop", "work"]).output().unwrap().status.success());
            *(if is_committed { &mut committed } else { &mut kept }) += 1;
            if is_committed {
                let numbers = (1..9).map(|number| ground.at(&format!("base/new{number}")));
                for path in numbers.chain([ground.at("base/made")]) {
                    assert_eq!(std::os::unix::fs::MetadataExt::nlink(&fs::metadata(&path).unwrap()), 1);
                    fs::remove_file(path).unwrap();
                }
                fs::write(ground.at("base/file"), "old\n").unwrap();
                let made = ground.script(&["--engine", "fuse", "--commit-if-ok"], "mkdir sub; echo inner > sub/inner");
                assert_eq!(made.0, Some(0), "{}", made.2);
            }
        }
        println!("{kept} kept, {committed} committed");
    });
}

#[test]
fn a_layer_without_a_branch_is_removed_by_the_next_command() {
    as_all("a layer without a branch", |ground| {
        let mut command = ground.trying(&["--engine", "overlay", "-b", "work"], &["sh", "-c", "touch made; sleep 60"]);
        let mut child = command.spawn().unwrap();
        wait_for("the command writes", || layers(ground).iter().any(|layer| layer.join("upper/made").exists()));
        std::thread::sleep(Duration::from_millis(1100));
        let (code, _, errors) = ground.script(&["--engine", "overlay", "--drop"], "true");
        assert_eq!((code, layers(ground).len()), (Some(0), 1), "{errors}");
        child.kill().unwrap();
        child.wait().unwrap();
        // As after a commit that a process has finished which was none of `try`.
        assert!(ground.program(&["branch", "drop", "work"]).output().unwrap().status.success());
        assert_eq!(layers(ground).len(), 1);
        let (code, _, errors) = ground.script(&["--engine", "overlay", "--drop"], "true");
        assert_eq!((code, layers(ground)), (Some(0), Vec::new()), "{errors}");
    });
}
