//! Tests of the program as its users run it: output, exit codes and error messages.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{json, json_enclosed, open_to_all, pathwalk, place_for_all, refused, run, trace};
use pathwalk_tests::{skipped, tree::gcc_tree};
use serde_json::Value;

#[test]
fn bad_traces_are_refused_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[u8], &str); 5] = [
        (b"", "empty"),
        (b"/\tF_OK\n/etc\n", "line 2: no TAB in \"/etc\""),
        (b"/\tF_OK\n/etc\tREAD\n", "line 2: unknown mode \"READ\""),
        (b"/\tX\xff\n", "line 1: unknown mode \"X\\xff\""),
        (b"/\0\tF_OK\n", "line 1: the path has a NUL"),
    ];
    for (lines, says) in cases {
        let text = refused(&["replay".as_ref(), trace(&dir, lines).as_ref()]);
        assert!(text.contains(says) && text.contains("trace.tsv"), "{text}");
    }
    assert!(refused(&["replay".as_ref(), "/no/such/trace".as_ref()]).contains("/no/such/trace\": No such file"));
    assert!(refused(&["replay".as_ref(), dir.path().as_ref()]).contains("Is a directory"));
}

#[test]
fn bad_arguments_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().to_str().expect("temporary files have names in UTF-8");
    let cases: [(&[&str], &str); 7] = [
        (&["replay", "--root", "/no/such/root"], "/no/such/root"),
        (&["replay", "--root", file], "Not a directory"),
        (&["replay", "--threads", "0"], "threads"),
        (&["replay", "--rounds", "many"], "rounds"),
        (&["bench", "no-such-bench"], "gcc-trace"),
        (&["frobnicate"], "frobnicate"),
        (&[], "Usage"),
    ];
    for (args, says) in cases {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let text = refused(&args);
        assert!(text.contains(says), "{args:?}: {text}");
    }
}

#[test]
fn help_teaches_by_example() {
    for (args, says) in [
        (vec!["--help"], "pathwalk replay build.strace --cwd ."),
        (vec!["replay", "--help"], "R_OK|W_OK|X_OK"),
        (
            vec!["replay", "--help"],
            "strace -f -y -o build.strace \\\n    -e trace=%file,%process,fchdir,close,dup,dup2,dup3,fcntl make",
        ),
        (vec!["replay", "--help"], "pathwalk replay build.strace --cwd . --svg build.svg"),
        (vec!["bench", "--help"], "crtends"),
    ] {
        let output = pathwalk().args(&args).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains(says), "{args:?}");
    }
}

#[test]
fn the_default_trace_agrees_with_the_kernel() {
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "2", "--threads", "2"]));
    assert_eq!(value["lookups"], 205);
    assert_eq!(value["distinct"], 39);
    assert_eq!(value["disagreements"], 0, "{value:#}");
    assert_eq!(value["disagreement_list"].as_array().map(Vec::len), Some(0));
    assert_eq!((&value["threads"], &value["rounds"]), (&Value::from(2), &Value::from(2)));
    assert!(value["absent"].is_u64() && value["changed"].is_u64());
    let positive = ["ours_ns", "kernel_ns", "ours_per_second", "kernel_per_second", "ratio", "ceiling", "scaling"];
    for key in positive {
        assert!(value[key].as_f64().is_some_and(|figure| figure > 0.0), "{key}: {}", value[key]);
    }
    // The share depends on the machine: lists and read-only mounts need the locked walk.
    assert!(value["fast_share"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{}", value["fast_share"]);
}

#[test]
fn once_cached_the_fast_walk_answers_alone() {
    let dir = tempfile::tempdir().unwrap();
    gcc_tree().unwrap().lay_beneath(dir.path()).unwrap();
    let mut command = pathwalk();
    command.args(["replay", "--json", "--rounds", "2", "--root"]).arg(dir.path());
    let Some(value) = json_enclosed(&mut command, "once_cached_the_fast_walk_answers_alone") else { return };
    assert_eq!((&value["lookups"], &value["absent"]), (&Value::from(205), &Value::from(118)));
    assert_eq!(value["disagreements"], 0, "{value:#}");
    assert_eq!(value["fast_share"], 1.0, "{}", value["hand_overs"]);
}

#[test]
fn the_table_tells_the_same() {
    let output = run(&["replay".as_ref(), "--rounds=1".as_ref()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for word in ["205", "distinct paths", "39", "ratio", "fast share", "hand-overs", "access(2)", "agree on every lookup"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn odd_paths_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = vec![b'a'; 5000];
    lines.extend(b"\tF_OK\n/");
    lines.extend([b'b'; 4999]);
    lines.extend(b"\tR_OK\n\tF_OK\n/tmp/\xff\xfe\tW_OK|R_OK\n/tmp/a\tb\tF_OK\n");
    lines.extend([b'c'; 256]);
    lines.extend(b"\tX_OK\n.\tX_OK\n../.\tF_OK");
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(trace(&dir, &lines)).current_dir(dir.path()));
    assert_eq!(value["lookups"], 8);
    assert_eq!(value["disagreements"], 0, "{value:#}");
    assert_eq!(value["absent"], 3, "the empty path and the two that are not there");
}

#[test]
fn names_that_are_no_text_are_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsString::from_vec(b"t\xff\"\n".to_vec()));
    std::fs::write(&path, "/\tF_OK\n").unwrap();
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(&path));
    assert!(value["trace"].as_str().unwrap().ends_with("t\\xff\\\"\\n"), "{value:#}");
    let text = refused(&["replay".as_ref(), "--root".as_ref(), OsStr::from_bytes(b"/no\xff\n")]);
    assert!(text.contains("/no\\xff\\n"), "{text}");
}

/// Makes a small tree with links that would lead out of it if it were not the root.
fn small_tree(dir: &Path) {
    std::fs::create_dir_all(dir.join("usr/bin")).unwrap();
    std::fs::create_dir(dir.join("locked")).unwrap();
    std::fs::write(dir.join("usr/bin/cc"), "").unwrap();
    symlink("/usr/bin", dir.join("bin")).unwrap();
    symlink("../../../../bin/cc", dir.join("usr/up")).unwrap();
    for (name, mode) in [("", 0o755), ("usr", 0o755), ("usr/bin", 0o755), ("usr/bin/cc", 0o755), ("locked", 0o000)] {
        std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

const SMALL_TRACE: &[u8] =
    b"/bin/cc\tX_OK\n/usr/up\tR_OK\n/../bin\tX_OK\n/locked\tR_OK\n/locked/x\tF_OK\n/etc/passwd\tF_OK\nusr\tW_OK\n";

fn replays_in_a_small_root(command: &mut Command, what: &str) {
    let Some((dir, files)) = place_for_all().zip(place_for_all()) else {
        return skipped(what, "no directory for temporary files is open to everyone");
    };
    small_tree(dir.path());
    let trace = trace(&files, SMALL_TRACE);
    let value = json_enclosed(command.args(["replay", "--json", "--rounds", "1", "--root"]).arg(dir.path()).arg(trace), what);
    // The process that removes the directory has to be able to list it.
    std::fs::set_permissions(dir.path().join("locked"), open_to_all()).unwrap();
    let Some(value) = value else { return };
    assert_eq!(value["lookups"], 7, "{value:#}");
    assert_eq!(value["disagreements"], 0, "{value:#}");
    assert_eq!(value["enclosure"].as_str().map(|name| name != "none"), Some(true));
    let absent = value["absent"].as_u64().unwrap();
    assert!(absent == 1 || absent == 2, "/etc/passwd, and /locked/x for a user that may look: {value:#}");
}

#[test]
fn another_root_confines_both_sides() {
    replays_in_a_small_root(&mut pathwalk(), "another_root_confines_both_sides");
}

#[test]
fn another_root_needs_no_privilege() {
    // Only root can become another user. For any other user, the test above already covers this.
    let mut command = pathwalk();
    command.uid(65_534).gid(65_534).current_dir("/");
    replays_in_a_small_root(&mut command, "another_root_needs_no_privilege");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = pathwalk().args(["replay", "--rounds", "1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn benches_have_a_row_for_each_entrant() {
    let value = json(pathwalk().args(["bench", "--json", "--rounds", "1"]));
    let names: Vec<_> = value.as_array().unwrap().iter().map(|bench| bench["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["gcc-trace", "crtends", "readlink", "living"]);
    for bench in value.as_array().unwrap() {
        let rows = bench["rows"].as_array().unwrap();
        assert!(rows.len() >= 10, "{bench:#}");
        for row in rows {
            assert!(row["what"].is_string() && matches!(row["threads"].as_u64(), Some(1 | 2)), "{row:#}");
            assert!(row["ns"].as_f64() > Some(0.0) && row["per_second"].as_f64() > Some(0.0), "{row:#}");
        }
        let peers = rows.iter().filter(|row| row["gets_wrong"].is_string()).count();
        let wanted = if bench["name"] == "living" { 0 } else { 6 };
        assert_eq!(peers, wanted, "three peers, each in one thread and in two, or modes alone: {bench:#}");
        assert!(bench["gains"].as_array().is_some_and(|gains| !gains.is_empty()));
    }
}

#[test]
fn open_cached_has_a_row_for_each_share_and_depth() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = pathwalk();
    command.args(["bench", "open-cached", "--json", "--rounds", "2", "--opens", "40", "--delay", "1", "--dir"]).arg(dir.path());
    let value = json(&mut command);
    assert_eq!((&value["opens"], &value["delay_us"], &value["workers"]), (&Value::from(40), &Value::from(1), &Value::from(1)));
    assert_eq!(value["holds_descriptor"], false);
    assert!(value["file_system"].as_str().is_some_and(|name| !name.is_empty()), "{value:#}");
    let rows = value["rows"].as_array().unwrap();
    let cases: Vec<_> = rows.iter().map(|row| (row["depth"].as_u64().unwrap(), row["hit"].as_u64().unwrap())).collect();
    assert_eq!(cases, [(1, 33), (1, 89), (1, 100), (32, 33), (32, 89), (32, 100)]);
    for row in rows {
        for key in ["always_punt", "cached_first", "speedup", "bound", "of_bound", "linux"] {
            assert!(row[key].as_f64().is_some_and(|figure| figure > 0.0), "{key}: {row:#}");
        }
        for (way, percentile) in [("always_punt", "p50"), ("cached_first", "p99"), ("cached_first", "p99.9")] {
            assert!(row["single"][way][percentile].as_u64().is_some_and(|ns| ns > 0), "{row:#}");
        }
        assert_eq!(row["costs"]["miss"].as_f64() > Some(1000.0), row["hit"] != 100, "a miss takes 1 µs at least: {row:#}");
    }
    let peers = value["peers"].as_array().unwrap();
    for name in ["tokio::fs::metadata", "tokio::fs::File::open", "pathwalk's async stat", "pathwalk's async open"] {
        assert_eq!(peers.iter().filter(|peer| peer["what"] == name).count(), 2, "{name}: {value:#}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "what was made is removed");
}

#[test]
fn open_cached_tells_people_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let line =
        ["bench", "open-cached", "--rounds", "1", "--opens", "20", "--hit", "50", "--depth", "2", "--descriptors", "at-open"];
    let output = pathwalk().env("COLUMNS", "200").args(line).arg("--dir").arg(dir.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for word in ["holds a descriptor", "speedup", "of bound", "p99.9", "tokio::fs::metadata", "cached first"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = refused(&["bench".as_ref(), "open-cached".as_ref(), "--dir".as_ref(), "/no/such/dir".as_ref()]);
    assert!(text.contains("/no/such/dir"), "{text}");
}
