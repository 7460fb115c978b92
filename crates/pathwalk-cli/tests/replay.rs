//! Tests of replays of recordings as strace writes them: the counts, the lookups left out and why,
//! and the files written beside the report.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{json, json_enclosed, open_to_all, pathwalk, place_for_all, refused, run};
use pathwalk_tests::skipped;
use pathwalk_tests::tree::{Tree, gcc_tree};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Makes the tree: `/work` with sources, and a directory for each kind of problem.
fn lay(root: &Path) {
    for dir in ["bin", "etc", "inc", "tmp", "work/src"] {
        std::fs::create_dir_all(root.join(dir)).unwrap();
    }
    for (file, text) in [("bin/tool", ""), ("inc/a.h", ""), ("work/src/main.c", "12345"), ("etc/hosts", "")] {
        std::fs::write(root.join(file), text).unwrap();
    }
    symlink("../inc", root.join("work/include")).unwrap();
    symlink("nowhere", root.join("work/dangling")).unwrap();
    for (name, mode) in [("bin/tool", 0o755), ("work/src/main.c", 0o640), ("etc/hosts", 0o644)] {
        std::fs::set_permissions(root.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    for dir in ["", "bin", "etc", "inc", "tmp", "work", "work/src"] {
        std::fs::set_permissions(root.join(dir), open_to_all()).unwrap();
    }
}

/// A recording with every call that is understood, repeats, absent names, and calls that only the
/// recording explains.
const BUILD: &str = r#"100   execve("/bin/tool", ["tool"], 0x7ffc /* 3 vars */) = 0
100   access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory)
100   access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory)
100   openat(AT_FDCWD</work>, "src/main.c", O_RDONLY|O_CLOEXEC) = 3</work/src/main.c>
100   newfstatat(3</work/src/main.c>, "", {st_mode=S_IFREG|0640, st_size=5, ...}, AT_EMPTY_PATH) = 0
100   stat("include/a.h", {st_mode=S_IFREG|0644, st_size=0, ...}) = 0
100   stat("include/b.h", 0x7ffc) = -1 ENOENT (No such file or directory)
100   stat("include/b.h", 0x7ffc) = -1 ENOENT (No such file or directory)
100   stat("include/c.h", 0x7ffc) = -1 ENOENT (No such file or directory)
100   lstat("include", {st_mode=S_IFLNK|0777, st_size=6, ...}) = 0
100   readlink("include", "../inc", 4095) = 6
100   readlink("src", 0x7ffc, 4095) = -1 EINVAL (Invalid argument)
100   openat(AT_FDCWD</work>, "src", O_RDONLY|O_DIRECTORY|O_CLOEXEC) = 4</work/src>
100   openat(AT_FDCWD</work>, "src/main.c", O_RDONLY|O_DIRECTORY) = -1 ENOTDIR (Not a directory)
100   statx(4</work/src>, "main.c", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, ...}) = 0
100   faccessat2(AT_FDCWD</work>, "dangling", F_OK, AT_SYMLINK_NOFOLLOW) = 0
100   faccessat2(AT_FDCWD</work>, "dangling", F_OK, AT_EACCESS) = -1 ENOENT (No such file or directory)
100   access("late", F_OK) = 0
100   openat(AT_FDCWD</work>, "out.o", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 5</work/out.o>
100   unlink("out.o") = 0
100   chdir("/work/src") = 0
100   open("main.c", O_RDONLY) = 6</work/src/main.c>
100   statfs("/work", {f_type=EXT2_SUPER_MAGIC, ...}) = 0
100   openat2(4</work/src>, "main.c", {flags=O_RDONLY, resolve=RESOLVE_BENEATH}, 24) = 7</work/src/main.c>
100   newfstatat(8</gone>, "x", {st_mode=S_IFREG|0644, ...}, 0) = 0
100   access(0x7ffcdeadbeef, F_OK) = -1 EFAULT (Bad address)
what the compiler says, written over the recording
100   +++ exited with 0 +++
"#;

fn recorded(dir: &TempDir, text: &[u8]) -> PathBuf {
    let path = dir.path().join("build.strace");
    std::fs::write(&path, text).unwrap();
    path
}

/// Replays `BUILD` below a root of its own, with additional arguments.
fn build(what: &str, more: &dyn Fn(&mut Command)) -> Option<(Value, TempDir)> {
    let Some((root, files)) = place_for_all().zip(place_for_all()) else {
        skipped(what, "no directory for temporary files is open to everyone");
        return None;
    };
    lay(root.path());
    let recording = recorded(&files, BUILD.as_bytes());
    let mut command = pathwalk();
    command.args(["replay", "--json", "--rounds", "1", "--cwd", "/work", "--root"]).arg(root.path()).arg(recording);
    more(&mut command);
    json_enclosed(&mut command, what).map(|value| (value, root))
}

#[test]
fn everything_is_counted() {
    let Some((value, _root)) = build("everything_is_counted", &|_| ()) else { return };
    assert_eq!((&value["kind"], &value["lines"], &value["processes"]), (&json!("recording"), &json!(28), &json!(1)));
    assert_eq!((&value["disagreements"], &value["disagreement_list"]), (&json!(0), &json!([])), "{value:#}");
    assert_eq!(value["answered"], 19, "{value:#}");
    let lost: u64 = value["left_out"].as_object().unwrap().values().map(|count| count["lookups"].as_u64().unwrap()).sum();
    assert_eq!(value["lookups"], 19 + lost);
    let share = value["answered_share"].as_f64().unwrap();
    let outside = value["outside"].as_u64().unwrap();
    assert!((share - 19.0 / (19 + lost - outside) as f64).abs() < 1e-12, "{share}");
    assert_eq!((&value["absent"], &value["repeats"], &value["distinct_lookups"]), (&json!(7), &json!(2), &json!(17)));
    // `main.c` from /work/src is the same name whether the start is a descriptor or the working
    // directory.
    assert_eq!(value["distinct"], 12, "{value:#}");
    assert_eq!(value["answers_changed"], 1, "only `late` came or went");
    let count = |lookups, absent, distinct| json!({ "lookups": lookups, "absent": absent, "distinct": distinct, "repeats": lookups - distinct });
    let calls = [
        ("access", count(3, 3, 2)),
        ("chdir", count(1, 0, 1)),
        ("execve", count(1, 0, 1)),
        ("faccessat2", count(2, 1, 2)),
        ("lstat", count(1, 0, 1)),
        ("open", count(1, 0, 1)),
        ("openat", count(3, 0, 3)),
        ("readlink", count(2, 0, 2)),
        ("stat", count(4, 3, 3)),
        ("statx", count(1, 0, 1)),
    ];
    assert_eq!(value["calls"], Value::Object(calls.map(|(name, count)| (name.to_owned(), count)).into_iter().collect()));
    assert_eq!((&value["no_name"], &value["unreadable"]), (&json!(1), &json!(1)));
    assert_eq!(value["changes"], json!({ "openat": 1, "unlink": 1 }));
    assert_eq!(value["first_unreadable"][0]["line"], 27, "{}", value["first_unreadable"]);
}

#[test]
fn every_reason_is_told() {
    let Some((value, _root)) = build("every_reason_is_told", &|_| ()) else { return };
    let mut reasons: Vec<_> =
        value["left_out"].as_object().unwrap().iter().map(|(name, count)| (name.as_str(), &count["lookups"])).collect();
    let one = &json!(1);
    let expected = [("directory_is_gone", one), ("other_call", one), ("resolve_flags", one), ("unknown_path", one)];
    reasons.sort_unstable_by_key(|(name, _)| *name);
    assert_eq!(reasons, expected, "{}", value["left_out"]);
    assert_eq!(value["left_out"]["directory_is_gone"]["examples"], json!(["/gone/x"]));
    assert_eq!(value["other_calls"], json!({ "statfs": 1 }));
}

#[test]
fn searches_in_vain_are_told_by_directory() {
    let Some((value, _root)) = build("searches_in_vain_are_told_by_directory", &|_| ()) else { return };
    let directory = |path, lookups, names| json!({ "path": path, "lookups": lookups, "names": names });
    // The names count for the directory behind the link `include`, and a link's missing target for
    // the directory that it would be in.
    let expected = json!([directory("/inc", 3, 2), directory("/etc", 2, 1), directory("/work", 2, 2)]);
    assert_eq!(value["absent_directories"], expected);
    assert_eq!(value["absent_directories_in_all"], 3);
}

#[test]
fn costs_are_told() {
    let Some((value, _root)) = build("costs_are_told", &|_| ()) else { return };
    for key in ["ours_ns", "kernel_ns", "ours_seconds", "kernel_seconds", "ratio"] {
        assert!(value[key].as_f64() > Some(0.0), "{key}: {}", value[key]);
    }
    let names = value["costliest"].as_array().unwrap();
    assert_eq!(names.len(), 12, "one for each name: {names:#?}");
    let cost: Vec<_> = names.iter().map(|name| name["kernel_us"].as_f64().unwrap()).collect();
    assert!(cost.is_sorted_by(|a, b| a >= b) && cost[0] > 0.0, "{cost:?}");
    let of = |path: &str| names.iter().find(|name| name["path"] == path).unwrap_or_else(|| panic!("{path}: {names:#?}"));
    assert_eq!((&of("/etc/ld.so.preload")["lookups"], &of("/etc/ld.so.preload")["answer"]), (&json!(2), &json!("ENOENT")));
    assert_eq!(of("/work/include")["lookups"], 2, "lstat and readlink");
}

#[test]
fn the_picture_shows_every_lookup() {
    let files = tempfile::tempdir().unwrap();
    let svg = files.path().join("picture.svg");
    let Some((value, _root)) = build("the_picture_shows_every_lookup", &|command| {
        command.arg("--svg").arg(&svg);
    }) else {
        return;
    };
    let text = std::fs::read_to_string(&svg).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let titles: Vec<_> =
        document.descendants().filter(|node| node.has_tag_name("title")).filter_map(|node| node.text()).collect();
    assert!(titles[0].starts_with("/\n19 lookups"), "{titles:?}");
    assert!(titles.contains(&"/inc/b.h\n2 lookups, 100.0% absent"), "{titles:?}");
    assert!(titles.contains(&"/inc\n4 lookups, 75.0% absent"), "{titles:?}");
    assert!(value["notes"][0].as_str().unwrap().contains("picture.svg"), "{}", value["notes"]);
}

#[test]
fn a_recording_can_be_replayed_on_its_tree() {
    let what = "a_recording_can_be_replayed_on_its_tree";
    let Some(files) = place_for_all() else { return skipped(what, "no directory for temporary files is open to everyone") };
    let file = files.path().join("build.tree");
    let Some((first, _root)) = build(what, &|command| {
        command.arg("--tree").arg(&file);
    }) else {
        return;
    };
    let written = std::fs::read(&file).unwrap();
    let lines: Vec<_> = written.split(|byte| *byte == b'\n').collect();
    for line in ["D\t/\t755\t", "F\t/work/src/main.c\t640\t", "L\t/work/include\t777\t../inc", "L\t/work/dangling\t777\tnowhere"]
    {
        assert!(lines.contains(&line.as_bytes()), "{line}: {}", written.escape_ascii());
    }
    let again = files.path().join("again");
    std::fs::create_dir(&again).unwrap();
    Tree::parse(&written).unwrap().lay_beneath(&again).unwrap();
    let mut command = pathwalk();
    command.args(["replay", "--json", "--rounds", "1", "--cwd", "/work", "--root"]).arg(&again);
    let Some(second) = json_enclosed(command.arg(recorded(&files, BUILD.as_bytes())), what) else { return };
    for key in ["lookups", "answered", "absent", "distinct", "calls", "absent_directories", "left_out", "disagreements"] {
        assert_eq!(first[key], second[key], "{key}");
    }
}

#[test]
fn a_tree_comes_back_as_it_was_laid() {
    let what = "a_tree_comes_back_as_it_was_laid";
    let (root, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (tree, file) = (gcc_tree().unwrap(), files.path().join("gcc.tree"));
    tree.lay_beneath(root.path()).unwrap();
    let mut command = pathwalk();
    command.args(["replay", "--json", "--rounds", "1", "--root"]).arg(root.path()).arg("--tree").arg(&file);
    if json_enclosed(&mut command, what).is_some() {
        assert_eq!(Tree::parse(&std::fs::read(&file).unwrap()).unwrap(), tree);
    }
}

#[test]
fn what_belongs_to_the_kernel_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"7 access("/proc/self/status", R_OK) = 0
7 readlink("/proc/self/exe", "/bin/x", 4096) = 6
7 openat(AT_FDCWD, "/proc/self/fd/0", O_RDONLY) = 3
7 stat("/proc/0/nothing", 0x7ffc) = -1 ENOENT (No such file or directory)
7 stat("/proc/self/nothing", 0x7ffc) = -1 ENOENT (No such file or directory)
7 open("/dev/null", O_RDWR) = 3
7 access("/", F_OK) = 0
"#;
    if !Path::new("/proc/self/mountinfo").exists() {
        return skipped("what_belongs_to_the_kernel_is_left_out", "/proc is not mounted");
    }
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(recorded(&dir, text.as_bytes())));
    assert_eq!((&value["lookups"], &value["answered"], &value["disagreements"]), (&json!(7), &json!(1), &json!(0)));
    let left_out = &value["left_out"];
    assert_eq!((&left_out["proc"]["lookups"], &left_out["magic_link"]["lookups"]), (&json!(3), &json!(2)), "{left_out:#}");
    let device = [&left_out["device"], &left_out["devtmpfs"]].map(|count| count["lookups"].as_u64().unwrap_or(0));
    assert_eq!(device.iter().sum::<u64>(), 1, "{left_out:#}");
    assert_eq!(left_out["magic_link"]["examples"], json!(["/proc/self/exe", "/proc/self/fd/0"]));
}

#[test]
fn an_unknown_directory_is_not_guessed() {
    let dir = tempfile::tempdir().unwrap();
    let text = "7 access(\"here\", F_OK) = 0\n7 access(\"/\", F_OK) = 0\n7 openat(9, \"there\", O_RDONLY) = 3\n";
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(recorded(&dir, text.as_bytes())));
    assert_eq!((&value["answered"], &value["left_out"]["unknown_directory"]["lookups"]), (&json!(1), &json!(2)), "{value:#}");
    let known = json(
        pathwalk().args(["replay", "--json", "--rounds=1", "--cwd=."]).arg(dir.path().join("build.strace")).current_dir(&dir),
    );
    assert_eq!((&known["answered"], &known["absent"]), (&json!(2), &json!(1)), "{known:#}");
}

#[test]
fn more_start_directories_than_descriptors_are_joined() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    let base = dir.path().canonicalize().unwrap();
    for i in 0..200 {
        let at = base.join(format!("d{i}"));
        std::fs::create_dir(&at).unwrap();
        std::fs::write(at.join("x"), "").unwrap();
        text += &format!(
            "7 newfstatat(3<{0}>, \"x\", {{...}}, 0) = 0\n7 newfstatat(3<{0}>, \"y\", 0x7f, 0) = -1 ENOENT (No)\n",
            at.display()
        );
    }
    let program = env!("CARGO_BIN_EXE_pathwalk");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 100; exec \"$@\"", "sh", program, "replay", "--json", "--rounds", "1"]);
    let value = json(command.arg(recorded(&dir, text.as_bytes())).stdin(Stdio::null()));
    assert_eq!(
        (&value["answered"], &value["absent"], &value["disagreements"]),
        (&json!(400), &json!(200), &json!(0)),
        "{value:#}"
    );
}

#[test]
fn what_is_no_recording_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[u8], &str); 5] = [
        (b"", "it is empty"),
        (b"\x7fELF\x02\x01\0\0\0\0\0\0", "NUL"),
        (b"some text\nand more\n", "some text"),
        (b"7 close(3) = 0\n7 +++ exited with 0 +++\n", "no lookup"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03damaged", "strace"),
    ];
    for (bytes, says) in cases {
        let text = refused(&["replay".as_ref(), recorded(&dir, bytes).as_ref()]);
        assert!(text.contains(says) && text.contains("build.strace") && text.contains("strace"), "{says}: {text}");
    }
}

#[test]
fn garbage_is_skipped_and_shown() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = Vec::new();
    for i in 0..15 {
        text.extend(format!("7 access(\"/\", F_OK) = 0\ngarbage {i} \x07").into_bytes());
        text.extend(b"\xff\n");
    }
    text.extend(b"7 access(\"/etc");
    let path = recorded(&dir, &text);
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(&path));
    assert_eq!((&value["answered"], &value["unreadable"]), (&json!(15), &json!(16)), "{value:#}");
    let first = value["first_unreadable"].as_array().unwrap();
    let lines: Vec<_> = first.iter().map(|line| line["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, (1..=10).map(|i| 2 * i).collect::<Vec<_>>());
    let output = run(&["replay".as_ref(), "--rounds=1".as_ref(), path.as_ref()]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("16 lines could not be read") && shown.contains("line 20: "), "{shown}");
    assert!(shown.contains("\\x07\\xff"), "nothing reaches the terminal as it is: {shown}");
}

#[test]
fn a_packed_recording_that_ends_early_counts_as_far_as_it_goes() {
    let dir = tempfile::tempdir().unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    for i in 0..2000 {
        writeln!(packed, "7 access(\"/{i}\", F_OK) = -1 ENOENT (No such file or directory)").unwrap();
    }
    let packed = packed.finish().unwrap();
    let whole = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(recorded(&dir, &packed)));
    assert_eq!((&whole["answered"], &whole["cut_short"]), (&json!(2000), &Value::Null));
    let path = recorded(&dir, &packed[..packed.len() / 2]);
    let half = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(&path));
    let answered = half["answered"].as_u64().unwrap();
    assert!((900..1100).contains(&answered) && half["cut_short"].is_string(), "{answered}, {}", half["cut_short"]);
    assert!(half["notes"][0].as_str().unwrap().contains("ends early"), "{}", half["notes"]);
}

#[test]
fn standard_input_is_a_file_too() {
    let mut child = pathwalk()
        .args(["replay", "-", "--json", "--rounds", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().unwrap().write_all(b"7 access(\"/\", F_OK) = 0\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["answered"], &value["trace"]), (&json!(1), &json!("-")));
}

#[test]
fn nothing_to_answer_is_told_and_not_timed() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(&dir, b"7 statfs(\"/\", {f_type=0}) = 0\n");
    let value = json(pathwalk().args(["replay", "--json", "--rounds", "1"]).arg(&path));
    assert_eq!((&value["lookups"], &value["answered"], &value["ratio"]), (&json!(1), &json!(0), &Value::Null));
    let output = run(&["replay".as_ref(), "--rounds=1".as_ref(), path.as_ref()]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("nothing was timed"));
}

#[test]
fn bad_places_are_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(&dir, b"7 access(\"/\", F_OK) = 0\n");
    let says = |args: &[&str]| {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([path.as_os_str()]).collect();
        refused(&args)
    };
    assert!(says(&["replay", "--root", "/tmp", "--cwd", "here"]).contains("has to be absolute"));
    assert!(says(&["replay", "--svg", "/no/such/dir/x.svg"]).contains("cannot create \"/no/such/dir/x.svg\""));
    assert!(says(&["replay", "--tree", "/no/such/dir/x.tree"]).contains("name a file in a directory"));
}

#[test]
fn the_tables_tell_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(&dir, BUILD.as_bytes());
    // Cells are looked for as a whole.
    let mut command = pathwalk();
    command.env("COLUMNS", "200").args(["replay", "--rounds=1", "--cwd=/no/such/place"]).arg(path);
    let output = command.output().expect("the program starts");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let words = [
        "recording",
        "28 lines, 1 process",
        "answered",
        "absent, sought in",
        "repeats",
        "time in the kernel now",
        "time with the cache",
        "costliest names",
        "left out",
        "directory is gone",
        "/gone/x",
        "not lookups",
        "unlink",
        "without a name",
        "1 line could not be read",
        "line 27",
        "by call",
        "the kernel",
        "agree on every lookup",
    ];
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}
