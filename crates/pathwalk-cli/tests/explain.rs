//! Tests of `pathwalk explain` as its users run it: options, forms, exit codes and error messages.
//!
//! The contents of its reports are compared with the kernel in `explain_table`.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::on_a_terminal;
use pathwalk_tests::skipped;
use serde_json::Value;
use tempfile::TempDir;

fn explain(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwalk"));
    command.arg("explain").args(args).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    // Sentences are looked for as a whole; tests/columns.rs has those that are broken.
    command.env("COLUMNS", "1000");
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    (status.code(), String::from_utf8(stdout).expect("text"), String::from_utf8(stderr).expect("text"))
}

fn json(command: &mut Command) -> Value {
    let (_, stdout, stderr) = output(command.arg("--json"));
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
}

/// Makes a tree with users of its own: `d/f`, links to it, and a directory that only user 1000 may
/// search.
fn tree() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for name in ["etc", "d", "guarded", "guarded/sub"] {
        fs::create_dir(at(name)).unwrap();
        fs::set_permissions(at(name), Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(at("etc/passwd"), "root:x:0:0::/:/bin/sh\nann:x:1000:100::/:/bin/sh\n").unwrap();
    fs::write(at("etc/group"), "users:x:100:\nstaff:x:50:ann,bob\n").unwrap();
    for file in ["d/f", "guarded/f"] {
        fs::write(at(file), "").unwrap();
        fs::set_permissions(at(file), Permissions::from_mode(0o644)).unwrap();
    }
    symlink("/d/f", at("absolute")).unwrap();
    symlink("nope", at("dangling")).unwrap();
    fs::set_permissions(at("guarded"), Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    dir
}

fn in_tree<'a>(dir: &'a TempDir, args: &[&'a str]) -> Command {
    let mut all = vec!["--root", dir.path().to_str().expect("temporary files have names in UTF-8")];
    all.extend(args);
    explain(&all)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn the_walk_is_told_line_by_line() {
    let dir = tree();
    let (code, text, errors) = output(&mut in_tree(&dir, &["absolute"]));
    assert_eq!((code, &*errors), (Some(0), ""), "{text}");
    let names: Vec<&str> = text.lines().skip(2).take_while(|line| !line.is_empty()).map(|line| line.trim_end()).collect();
    assert_eq!(names.len(), 5, "{text}");
    let column = names[0].find("name").expect("a header");
    let told: Vec<String> =
        names.iter().map(|line| line[column..].split("  [").next().unwrap_or_default().trim_end().to_owned()).collect();
    assert_eq!(told, ["name", "/", "absolute -> /d/f", "  d", "  f"], "{text}");
    for words in ["lrwxrwxrwx", "drwxr-xr-x", "reached: /d/f, a regular file", "read     yes", "execute  no"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn exit_codes_tell_what_came_of_it() {
    let dir = tree();
    for (args, expected, says) in [
        (&["d/f"][..], 0, "reached"),
        (&["dangling"], 1, "ENOENT (No such file or directory): the link /dangling leads to \"nope\""),
        (&["dangling", "--nofollow"], 0, "a symbolic link"),
        (&["d/f/"], 1, "remove the trailing slash"),
        (&["d/F"], 1, "did you mean \"f\"?"),
        (&[""], 1, "the path is empty"),
        (&["../../d/../d/f"], 0, "reached: /d/f"),
    ] {
        let (code, text, errors) = output(&mut in_tree(&dir, args));
        assert_eq!((code, &*errors), (Some(expected), ""), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?}: {text}");
    }
}

#[test]
fn bad_arguments_are_refused_with_a_reason() {
    let dir = tree();
    for (args, says) in [
        (&["x", "--as", "carol"][..], "no user is called \"carol\""),
        (&["x", "--as", "1000:"], "a user or a group is missing"),
        (&["x", "--as", "1000:wheels"], "no group is called \"wheels\""),
        (&["x", "--as", "4294967295"], "is no id"),
        (&["x", "--as", ""], "UID[:GID[,GID…]]"),
        (&[], "PATH"),
        (&["x", "y"], "unexpected argument"),
        (&["x", "--want", "rq"], "no 'q'"),
        (&["x", "--want", ""], "name one of r, w and x"),
        (&["x", "--want", "---"], "name one of r, w and x"),
    ] {
        let (code, text, errors) = output(&mut in_tree(&dir, args));
        assert_eq!((code, &*text), (Some(2), ""), "{args:?}: {errors}");
        assert!(errors.contains(says), "{args:?}: {errors}");
    }
    for (root, says) in [("/no/such/root", "No such file"), ("/dev/null", "Not a directory"), ("", "a value is required")] {
        let (code, _, errors) = output(&mut explain(&["x", "--root", root]));
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(says), "{root}: {errors}");
    }
}

#[test]
fn users_and_groups_are_those_of_the_root() {
    let dir = tree();
    let value = json(&mut in_tree(&dir, &["d/f", "--as", "ann"]));
    assert_eq!((&value["as"]["uid"], &value["as"]["gid"]), (&Value::from(1000), &Value::from(100)));
    assert_eq!(value["as"]["groups"], serde_json::json!([50]));
    let (_, text, _) = output(&mut in_tree(&dir, &["d/f", "--as", "ann:0,staff"]));
    assert!(text.starts_with("d/f, as ann (uid 1000), of group 0, and of staff\n"), "{text}");
    let (_, text, _) = output(&mut in_tree(&dir, &["d/f", "--as", "77"]));
    assert!(text.contains("note: no user has the number 77 here, so group 77"), "{text}");
}

#[test]
fn json_has_all_of_it() {
    let dir = tree();
    let value = json(&mut in_tree(&dir, &["/absolute"]));
    assert_eq!((&value["answer"], &value["certain"]), (&Value::from("reached"), &Value::from(true)));
    let steps = value["steps"].as_array().expect("steps");
    let names: Vec<_> = steps.iter().map(|step| (step["name"].as_str().unwrap(), step["depth"].as_u64().unwrap())).collect();
    assert_eq!(names, [("/", 0), ("absolute", 0), ("d", 1), ("f", 1)]);
    assert_eq!((&steps[1]["link"], &steps[1]["type"]), (&Value::from("/d/f"), &Value::from("link")));
    assert_eq!((&steps[3]["mode"], &steps[3]["mode_text"]), (&Value::from("0644"), &Value::from("-rw-r--r--")));
    assert!(steps[0]["mount"]["id"].is_u64());
    assert_eq!(value["may"]["read"]["granted"], true);
    let value = json(&mut in_tree(&dir, &["dangling"]));
    assert_eq!((&value["answer"], &value["rule"]), (&Value::from("failed"), &Value::from("dangling-link")));
    assert_eq!((&value["errno"]["name"], &value["errno"]["number"]), (&Value::from("ENOENT"), &Value::from(2)));
    assert!(value["advice"][0]["command"].as_str().expect("a command").starts_with("ln -sfn TARGET "));
}

#[test]
fn names_that_are_no_text_are_shown_and_kept() {
    let dir = tree();
    fs::write(dir.path().join(OsStr::from_bytes(b"a\xff\x1b")), "").unwrap();
    let path = OsStr::from_bytes(b"a\xff\x1b");
    let (code, text, _) = output(in_tree(&dir, &[]).arg(path));
    assert_eq!(code, Some(0));
    assert!(text.contains("a\\xff\\u{1b}") && !text.contains('\x1b'), "{text}");
    let value = json(in_tree(&dir, &[]).arg(path));
    assert_eq!(value["path_bytes"], serde_json::json!([97, 255, 27]));
}

#[test]
fn a_relative_path_starts_where_we_are() {
    let dir = tree();
    let here = dir.path().join("d");
    let (code, text, _) = output(explain(&["../d/f"]).current_dir(&here));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("  .  ") && text.contains("  ..\n") && text.contains("/d/f, a regular file"), "{text}");
    let gone = dir.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = explain(&["f"]);
    let path = gone.clone();
    command.current_dir(&gone);
    // SAFETY: between fork and exec it makes one system call.
    unsafe { command.pre_exec(move || Ok(rustix::fs::rmdir(&path)?)) };
    let (code, _, errors) = output(&mut command);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("working directory") && errors.contains("change to another"), "{errors}");
}

#[test]
fn what_is_advised_helps() {
    if !is_root() {
        return skipped("advice that is followed", "it asks as others; run it as root");
    }
    let dir = tree();
    let at = |path: &str| dir.path().join(path);
    let owned = [("by-owner", 0o077, 1000), ("by-group", 0o707, 7), ("by-other", 0o770, 7)];
    for (name, mode, uid) in owned {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("f"), "").unwrap();
        chown(at(name), Some(uid), Some(100)).unwrap();
        fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
    }
    symlink("round", at("round")).unwrap();
    for (path, asker) in [
        ("by-owner/f", "1000:1"),
        ("by-group/f", "5:100"),
        ("by-other/f", "5:5"),
        ("guarded/sub", "5:5"),
        ("round", "0"),
        ("dangling", "0"),
    ] {
        let asked = || json(&mut in_tree(&dir, &[path, "--as", asker]));
        let before = asked();
        assert_eq!(before["answer"], "failed", "{path}");
        let advice = before["advice"][0]["command"].as_str().expect("a command").replace("TARGET", "d/f");
        let status = Command::new("sh").args(["-c", &advice]).status().expect("a shell");
        assert!(status.success(), "{advice}");
        assert_eq!(asked()["answer"], "reached", "{path}: {advice}");
    }
}

#[test]
fn what_is_wanted_decides_the_exit_code() {
    let dir = tree();
    fs::set_permissions(dir.path().join("etc/group"), Permissions::from_mode(0o600)).unwrap();
    for (args, expected, says) in [
        (&["d/f", "--as", "ann", "--want", "r"][..], 0, "wanted r: yes"),
        (&["d/f", "--as", "ann", "--want=r--"], 0, "wanted r: yes"),
        (&["d/f", "--as", "ann", "--want", "wr"], 1, "wanted rw: no: EACCES (Permission denied)"),
        (&["d/f", "--as", "ann", "--want", "x"], 1, "chmod o+x"),
        (&["d", "--as", "ann", "--want", "rx"], 0, "wanted rx: yes"),
        (&["etc/group", "--as", "ann", "--want", "r"], 1, "lets all users read it"),
        (&["dangling", "--want", "r"], 1, "No such file"),
        (&["dangling", "--nofollow", "--want", "r"], 0, "wanted r: yes"),
        (&["d/f", "--as", "ann"], 0, "reached"),
    ] {
        let (code, text, errors) = output(&mut in_tree(&dir, args));
        assert_eq!((code, &*errors), (Some(expected), ""), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?}: {text}");
        assert_eq!(
            text.contains("wanted"),
            says.contains("wanted") || args.contains(&"x") || args.contains(&"etc/group"),
            "{text}"
        );
    }
    let value = json(&mut in_tree(&dir, &["d/f", "--as", "ann", "--want", "rw"]));
    assert_eq!((&value["want"]["access"], &value["want"]["granted"]), (&Value::from("rw"), &Value::from(false)));
    assert_eq!(value["want"]["errno"]["name"], "EACCES");
    assert_eq!(json(&mut in_tree(&dir, &["d/f"]))["want"], Value::Null);
}

#[test]
fn a_file_that_refuses_itself_comes_with_advice() {
    let dir = tree();
    let file = dir.path().join("d/f");
    let advised = |mode: u32, args: &[&str]| -> Vec<String> {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let (_, text, _) = output(&mut in_tree(&dir, &[&["d/f", "--as", "ann"], args].concat()));
        text.lines().filter_map(|line| line.trim().split_once("  # ")).map(|(command, _)| command.trim_end().to_owned()).collect()
    };
    let at = file.to_str().expect("temporary files have names in UTF-8");
    let commands = |all: [&str; 2]| all.map(|command| format!("{command} {at}"));
    let one: Vec<String> = advised(0o600, &["--want", "r"]);
    assert_eq!(one, commands(["chmod o+r", "setfacl -m u:1000:r"]));
    let both: Vec<String> = advised(0o600, &[]);
    assert_eq!(both, [commands(["chmod o+r", "setfacl -m u:1000:r"]), commands(["chmod o+w", "setfacl -m u:1000:w"])].concat());
    let program: Vec<String> = advised(0o744, &[]);
    assert!(program.contains(&format!("chmod o+x {at}")), "a program: {program:?}");
    assert_eq!(advised(0o644, &["--want", "r"]), [""; 0], "nothing is refused that is asked for");
}

#[test]
fn the_mask_is_named_where_it_refuses() {
    let dir = tree();
    let file = dir.path().join("d/f");
    let set = |list: &str| Command::new("setfacl").args(["-m", list]).arg(&file).output().is_ok_and(|done| done.status.success());
    if !set("u:1000:rw,m::r") {
        return skipped("the mask of a list", "there is no setfacl here, or no such lists");
    }
    let (code, text, _) = output(&mut in_tree(&dir, &["d/f", "--as", "ann", "--want", "w"]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("EACCES: the mask r-- of its ACL cuts w off the entry user:ann:rw-"), "{text}");
    let value = json(&mut in_tree(&dir, &["d/f", "--as", "ann", "--want", "w"]));
    assert_eq!(value["want"]["rule"], "acl-mask", "{value:#}");
    let advice = value["want"]["advice"][0]["command"].as_str().expect("a command").to_owned();
    assert!(advice.starts_with("setfacl -m m::rw "), "{advice}");
    assert!(Command::new("sh").args(["-c", &advice]).status().expect("a shell").success());
    let (code, text, _) = output(&mut in_tree(&dir, &["d/f", "--as", "ann", "--want", "w"]));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_relative_path_starts_in_cwd() {
    let dir = tree();
    let (code, text, _) = output(&mut in_tree(&dir, &["f", "--cwd", "/d"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("reached: /d/f"), "{text}");
    let (code, text, _) = output(&mut in_tree(&dir, &["/absolute", "--cwd", "d"]));
    assert_eq!(code, Some(0), "{text}");
    let mut command = explain(&["f", "--cwd", "d"]);
    let (code, text, _) = output(command.current_dir(dir.path()));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("/d/f, a regular file"), "{text}");
    for (cwd, says) in [("/nonexist", "No such file"), ("/d/f", "Not a directory"), ("/absolute", "Not a directory")] {
        for path in ["f", "/d/f"] {
            let (code, text, errors) = output(&mut in_tree(&dir, &[path, "--cwd", cwd]));
            assert_eq!((code, &*text), (Some(2), ""), "{cwd}: {errors}");
            assert!(errors.contains(says) && errors.contains(cwd) && errors.contains("name a directory"), "{errors}");
        }
    }
    let (code, _, errors) = output(&mut explain(&["f", "--cwd", "/nonexist"]));
    assert_eq!(code, Some(2));
    assert!(errors.contains("name a directory that is there"), "{errors}");
}

/// Runs the program as user 1002. Returns `None`, and reports a skipped test, where that is not
/// possible.
fn as_somebody(command: &mut Command, test: &str) -> Option<(Option<i32>, String, String)> {
    if !is_root() {
        skipped(test, "it runs the program as another user; run it as root");
        return None;
    }
    match command.uid(1002).gid(1002).output() {
        Ok(done) => Some((done.status.code(), String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())),
        Err(error) => {
            skipped(test, &format!("others may not run it where it lies ({error})"));
            None
        }
    }
}

#[test]
fn that_we_may_not_look_is_said() {
    let dir = tree();
    if is_root() {
        chown(dir.path().join("guarded"), Some(1000), Some(100)).unwrap();
    }
    let test = "that_we_may_not_look_is_said";
    let Some((code, text, _)) = as_somebody(&mut in_tree(&dir, &["guarded/f", "--as", "ann"]), test) else { return };
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("not known: this process may not look into /guarded itself, so it cannot tell what ann would find"),
        "{text}"
    );
    let Some((code, text, _)) = as_somebody(&mut in_tree(&dir, &["guarded/f"]), test) else { return };
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("EACCES (Permission denied): 1002 may not search /guarded: others have ---"), "{text}");
    let Some((code, text, _)) = as_somebody(&mut in_tree(&dir, &["guarded/f", "--as", "77:77"]), test) else { return };
    assert_eq!(code, Some(1), "that others may not is plain to see: {text}");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
    let Some((code, _, errors)) = as_somebody(&mut in_tree(&dir, &["d/f"]), test) else { return };
    assert_eq!(code, Some(2));
    assert!(errors.contains("who may search it"), "{errors}");
}

#[test]
fn a_terminal_gets_colours_unless_they_are_unwanted() {
    let dir = tree();
    let on = match on_a_terminal(in_tree(&dir, &["d/f"]).env("TERM", "xterm"), 80) {
        Ok((_, text)) => text,
        Err(why) => return skipped("colours on a terminal", &why),
    };
    assert!(on.contains("\x1b["), "{on:?}");
    let (_, off) =
        on_a_terminal(in_tree(&dir, &["d/f"]).env("TERM", "xterm").env("NO_COLOR", "1"), 80).expect("it worked before");
    assert!(!off.contains('\x1b') && off.contains("reached"), "{off:?}");
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let dir = tree();
    let mut child = in_tree(&dir, &["d/f"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn help_teaches_by_example() {
    let (code, text, _) = output(&mut explain(&["--help"]));
    assert_eq!(code, Some(0));
    for words in ["--as www-data", "chmod o+x", "may not be searched", "Exit codes", "NO_COLOR"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (_, text, _) = output(Command::new(env!("CARGO_BIN_EXE_pathwalk")).arg("--help"));
    assert!(text.contains("explain"), "{text}");
}

#[test]
fn it_tells_of_this_machine() {
    let (code, text, _) = output(&mut explain(&["/"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("reached: /, a directory"), "{text}");
    if Path::new("/proc/self/fd").exists() {
        let (code, text, _) = output(&mut explain(&["/proc/self/fd/0/x"]));
        assert_ne!(code, Some(0));
        assert!(text.contains("the kernel jumps through /proc/"), "{text}");
        assert_eq!(code, Some(2), "what cannot be followed is not told as an answer: {text}");
    }
}
