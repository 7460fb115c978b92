//! Tests of `pathwalk try --server` as programs use it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::server::Server;
use crate::common::trial::{Ground, Who};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Runs a test as each user.
fn as_all(what: &str, test: impl Fn(&Ground)) {
    Who::all().into_iter().filter_map(|who| Ground::new(what, who)).for_each(|ground| test(&ground));
}

fn text(value: &Value) -> &str {
    value["text"].as_str().unwrap_or_default()
}

#[test]
fn commands_run_and_the_base_stays_until_a_commit() {
    as_all("a server", |ground| {
        let (mut server, greeting) = Server::start(ground, &["-b", "work"]);
        assert_eq!((&greeting["pathwalk"], &greeting["branch"]), (&json!(1), &json!("work")));
        let ran = server.run("cat file; echo new > file; echo err >&2; touch .dot; exit 3");
        assert_eq!((text(&ran["stdout"]), text(&ran["stderr"])), ("old\n", "err\n"));
        assert_eq!((&ran["exit_code"], &ran["step"], &ran["signal"]), (&json!(3), &json!(1), &Value::Null));
        assert_eq!(ground.read("base/file"), "old\n");
        let diff = server.ask("diff", json!({}));
        assert_eq!((&diff["changes"][1]["path"], &diff["look_first"]["dotfiles"]), (&json!("/file"), &json!(["/.dot"])));
        let diff = server.ask("diff", json!({ "as": "patch", "path": "file" }));
        assert!(text(&diff).contains("-old\n+new") && !text(&diff).contains(".dot"), "{diff}");
        assert!(text(&server.ask("diff", json!({ "as": "summary" }))).contains("/.dot"));
        assert_eq!(server.ask("commit", json!({}))["branch"], "work");
        assert_eq!(ground.read("base/file"), "new\n");
        // And goes on with a branch of what the base is now.
        assert_eq!(text(&server.run("cat file")["stdout"]), "new\n");
        assert_eq!(server.ask("diff", json!({}))["changes"], json!([]));
        assert_eq!(server.end(), (Some(0), String::new()));
        assert_eq!(ground.branches(), 0, "it was made for this, and has no changes");
    });
}

#[test]
fn a_command_is_what_the_request_says() {
    as_all("requests of commands", |ground| {
        let (mut server, _) = Server::start(ground, &[]);
        let ran = server.ask(
            "run",
            json!({
                "command": ["sh", "-c", "pwd; echo $A; cat; echo $PATHWALK_TRY; tty", "-"],
                "cwd": "sub", "env": { "A": "b c" }, "stdin": "in",
            }),
        );
        let expected = format!("{}\nb c\ninserved-1\nnot a tty\n", ground.at("base/sub").canonicalize().unwrap().display());
        assert_eq!(text(&ran["stdout"]), expected);
        let ran = server.ask("run", json!({ "command": ["no-such-command"] }));
        assert_eq!((&ran["exit_code"], &ran["error"]), (&json!(127), &json!("the command is not there")));
        let ran = server.run("kill -9 $$");
        assert_eq!((&ran["exit_code"], &ran["signal"]), (&json!(137), &json!(9)));
        // What is left behind ends with it.
        let begun = Instant::now();
        assert_eq!(server.run("sleep 1000 & echo done")["exit_code"], 0);
        assert!(begun.elapsed() < Duration::from_secs(60));
        let ran = server.ask("run", json!({ "command": "seq 100000", "output_bytes": 10 }));
        assert_eq!((text(&ran["stdout"]), &ran["stdout"]["end"]), ("1\n2\n3", &json!("0000\n")));
        assert_eq!(ran["stdout"]["left_out"], 588_895 - 10);
        let ran = server.ask("run", json!({ "command": "cat file; ls sub", "hide": ["file", "sub"] }));
        assert_eq!(text(&ran["stdout"]), "");
        let ran = server.ask("run", json!({ "command": "echo x > sub/inner", "ro": ["sub"] }));
        assert_ne!(ran["exit_code"], 0);
        let ran = server.ask("run", json!({ "command": "ls /sys/class/net", "net": "none" }));
        assert_eq!(ran["exit_code"], 0);
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn a_request_cannot_open_more_than_the_server_has() {
    as_all("requests of more", |ground| {
        let (beside, home) = (ground.at("beside"), ground.at("home"));
        let beside = beside.to_str().unwrap();
        let (mut server, _) = Server::start(ground, &["--rw", beside, "--net", "none", "--no-commit"]);
        let script = format!("echo x > {beside}/new; echo x > {}/new", home.display());
        server.run(&script);
        assert!(ground.at("beside/new").exists() && !ground.at("home/new").exists());
        let ran = server.ask("run", json!({ "command": format!("echo x > {beside}/other"), "rw": [] }));
        assert!(ran["exit_code"] != 0 && !ground.at("beside/other").exists());
        let (kind, message) = server.refused("run", json!({ "command": script, "rw": [home] }));
        assert!(kind == "refused" && message.contains("--rw"), "{message}");
        let (kind, _) = server.refused("run", json!({ "command": script, "rw": [format!("{beside}/../home")] }));
        assert_eq!(kind, "refused");
        assert_eq!(server.refused("run", json!({ "command": "true", "net": "host" })).0, "refused");
        server.run("echo new > file");
        assert_eq!(server.refused("commit", json!({})).0, "refused");
        assert_eq!(ground.read("base/file"), "old\n");
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn a_branch_goes_back_to_any_step() {
    as_all("steps", |ground| {
        let (mut server, _) = Server::start(ground, &["-b", "work"]);
        for number in 1..=3 {
            assert_eq!(server.run(&format!("echo {number} > file; touch made-{number}"))["step"], number);
        }
        let steps = server.ask("steps", json!({}));
        let numbers: Vec<_> = steps["steps"].as_array().unwrap().iter().map(|step| step["step"].as_u64().unwrap()).collect();
        assert_eq!((&*numbers, &steps["steps"][2]["command"]), (&[0, 1, 2, 3][..], &json!("echo 2 > file; touch made-2")));
        let shown = |server: &mut Server| text(&server.run("cat file; ls")["stdout"]).replace('\n', " ");
        server.ask("back", json!({ "step": 1 }));
        assert_eq!(shown(&mut server), "1 file made-1 sub ");
        server.ask("back", json!({ "step": 3 }));
        assert_eq!(shown(&mut server), "3 file made-1 made-2 made-3 sub ");
        server.ask("back", json!({ "step": 0 }));
        assert_eq!(server.ask("diff", json!({}))["changes"], json!([]));
        assert_eq!(shown(&mut server), "old file sub ");
        let (kind, message) = server.refused("back", json!({ "step": 77 }));
        assert!(kind == "not_there" && message.contains("no step 77"), "{message}");
        assert_eq!(server.ask("forget", json!({ "steps": [1, 2] }))["forgotten"], 2);
        assert_eq!(server.refused("back", json!({ "step": 1 })).0, "not_there");
        server.ask("back", json!({ "step": 3 }));
        // Steps are no branches of their own, and go at the end.
        let info = server.ask("info", json!({}));
        assert_eq!(info["branches"].as_array().unwrap().len(), 1, "{info}");
        assert_eq!(server.end().0, Some(0));
        assert_eq!(ground.branches(), 1);
        let (_, output, _) = ground.script(&["-b", "work", "--keep"], "cat file");
        assert_eq!(output, "3\n");
    });
}

#[test]
fn steps_outlive_a_server_that_is_killed() {
    as_all("a server that is killed", |ground| {
        let (mut server, _) = Server::start(ground, &["-b", "work"]);
        server.run("echo 1 > file");
        server.run("echo 2 > file");
        assert_eq!(server.signal(Signal::KILL), None);
        let (mut server, _) = Server::start(ground, &["-b", "work"]);
        server.ask("back", json!({ "step": 1 }));
        let ran = server.run("cat file");
        assert_eq!((text(&ran["stdout"]), &ran["step"]), ("1\n", &json!(3)));
        assert_eq!(server.signal(Signal::TERM), Some(143));
        assert_eq!(ground.branches(), 1);
    });
}

#[test]
fn one_command_runs_in_a_branch_at_a_time() {
    as_all("two commands", |ground| {
        let (mut server, _) = Server::start(ground, &["-b", "work"]);
        server.run("echo work > file");
        assert_eq!(server.ask("fork", json!({ "name": "other" }))["branch"], "other");
        let long = server.begin("run", json!({ "command": "echo begun; sleep 1000", "stream": true }));
        loop {
            let line = server.line();
            if line["event"] == "stdout" {
                assert_eq!((&line["id"], &line["text"]), (&json!(long), &json!("begun\n")));
                break;
            }
        }
        for (what, members) in [("run", json!({ "command": "true" })), ("commit", json!({})), ("back", json!({ "step": 0 }))] {
            let (kind, message) = server.refused(what, members);
            assert!(kind == "busy" && message.contains("runs a command"), "{message}");
        }
        assert_eq!(server.ask("info", json!({}))["busy"], json!({ "work": "runs a command" }));
        // But it can be looked at, and others may run.
        assert_eq!(server.ask("diff", json!({}))["changes"][0]["path"], "/file");
        let other = server.ask("run", json!({ "command": "cat file; echo other > file", "branch": "other" }));
        assert_eq!(text(&other["stdout"]), "work\n");
        server.ask("stop", json!({}));
        let reply = server.reply(long);
        assert_eq!((&reply["ok"]["stopped"], &reply["ok"]["signal"]), (&json!(true), &json!(15)), "{reply}");
        // One that has hardly begun is stopped, too.
        let short = server.begin("run", json!({ "command": "sleep 1000" }));
        server.ask("stop", json!({ "kill": true }));
        assert_eq!(server.reply(short)["ok"]["stopped"], true);
        assert_eq!(server.refused("stop", json!({})).0, "not_there");
        assert_eq!(server.refused("drop", json!({})).0, "failed");
        server.ask("commit", json!({ "branch": "other" }));
        assert_eq!(text(&server.run("cat file")["stdout"]), "other\n");
        server.ask("drop", json!({}));
        assert_eq!(text(&server.run("cat file")["stdout"]), "old\n");
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn time_is_limited() {
    as_all("a time limit", |ground| {
        let (mut server, _) = Server::start(ground, &[]);
        let ran = server.ask("run", json!({ "command": "echo a > made; sleep 1000", "timeout_ms": 200 }));
        assert_eq!((&ran["timed_out"], &ran["signal"]), (&json!(true), &json!(15)), "{ran}");
        // One that does not end by itself is ended.
        let ran = server.ask("run", json!({ "command": "trap '' TERM; sleep 1000 & wait; sleep 1000", "timeout_ms": 200 }));
        assert_eq!((&ran["timed_out"], &ran["signal"]), (&json!(true), &json!(9)), "{ran}");
        assert_eq!(text(&server.run("cat made")["stdout"]), "a\n");
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn conflicts_are_told_and_answered() {
    as_all("conflicts of a server", |ground| {
        let (mut server, _) = Server::start(ground, &["-b", "work"]);
        server.run("echo branch > file; touch made");
        fs::write(ground.at("base/file"), "by another\n").unwrap();
        let id = server.begin("commit", json!({}));
        let reply = server.reply(id);
        assert_eq!((&reply["error"]["kind"], &reply["error"]["conflicts"][0]["path"]), (&json!("conflicts"), &json!("/file")));
        assert!(!ground.at("base/made").exists());
        // Steps are there still.
        assert_eq!(server.ask("steps", json!({}))["steps"].as_array().unwrap().len(), 2);
        server.ask("commit", json!({ "resolve": { "file": "theirs" } }));
        assert_eq!((ground.read("base/file"), ground.at("base/made").exists()), ("by another\n".to_owned(), true));
        assert_eq!(server.ask("steps", json!({}))["steps"], json!([]));
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn some_paths_are_committed() {
    as_all("a commit of some paths", |ground| {
        let (mut server, _) = Server::start(ground, &["-b", "work"]);
        server.run("echo new > file; rm sub/inner; mkdir made; touch made/a; mv made/a made/b");
        let (kind, message) = server.refused("commit", json!({ "paths": ["made/b"] }));
        assert!(kind == "failed" && message.contains("hang together"), "{message}");
        assert_eq!(server.refused("commit", json!({ "paths": ["none"] })).0, "failed");
        server.ask("commit", json!({ "paths": ["made/", "/sub"] }));
        assert!(ground.at("base/made/b").exists() && !ground.at("base/sub/inner").exists());
        assert_eq!(ground.read("base/file"), "old\n");
        let diff = server.ask("diff", json!({}));
        assert_eq!((diff["changes"].as_array().unwrap().len(), &diff["changes"][0]["path"]), (1, &json!("/file")));
        assert_eq!(text(&server.run("cat file; ls . made sub")["stdout"]), "new\n.:\nfile\nmade\nsub\n\nmade:\nb\n\nsub:\n");
        assert_eq!(server.end().0, Some(0));
    });
}

#[test]
fn what_is_no_request_gets_an_error() {
    as_all("lines that are no requests", |ground| {
        let (mut server, _) = Server::start(ground, &["--drop"]);
        for line in ["{", "7", "\"text\"", "{\"id\": 1}", "{\"id\": 1, \"do\": \"frob\"}", "{\"id\": 1, \"do\": \"run\"}"] {
            server.send(line);
            let reply = server.line();
            assert_eq!(reply["error"]["kind"], "malformed", "{line}: {reply}");
        }
        server.send("");
        assert_eq!(server.refused("run", json!({ "command": [] })).0, "malformed");
        assert_eq!(server.refused("diff", json!({ "branch": "none" })).0, "not_there");
        assert_eq!(server.refused("fork", json!({ "name": "a/b" })).0, "failed");
        server.run("touch made");
        assert_eq!(server.end().0, Some(0));
        assert_eq!(ground.branches(), 0, "it is dropped");
    });
}

#[test]
fn nothing_is_left_of_what_changed_nothing() {
    as_all("a server that changed nothing", |ground| {
        let (mut server, _) = Server::start(ground, &[]);
        server.run("cat file");
        // A command that runs at the end is waited for.
        server.begin("run", json!({ "command": "sleep 0.3; echo done" }));
        let (code, rest) = server.end();
        assert!(code == Some(0) && rest.contains("done"), "{rest}");
        assert_eq!(ground.branches(), 0);
    });
}

/// Connects a client to a socket.
fn connect(path: &Path) -> (UnixStream, BufReader<UnixStream>) {
    let until = Instant::now() + Duration::from_secs(30);
    let stream = loop {
        match UnixStream::connect(path) {
            Ok(stream) => break stream,
            Err(error) if Instant::now() > until => panic!("{}: {error}", path.display()),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    assert_eq!(read(&mut reader)["pathwalk"], 1);
    (stream, reader)
}

fn read(reader: &mut BufReader<UnixStream>) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

#[test]
fn a_socket_is_for_several_clients_and_for_no_command() {
    as_all("a socket", |ground| {
        // In the base, and where it would be seen from inside.
        for place in ["base/socket", "home/socket"] {
            let path = ground.at(place);
            let home = ground.at("home");
            let options = ["--server", "--socket", path.to_str().unwrap(), "-b", "work", "--rw", home.to_str().unwrap()];
            let server = Server::silent(ground, &options);
            let (mut one, mut from_one) = connect(&path);
            let (mut other, mut from_other) = connect(&path);
            let mode = path.symlink_metadata().unwrap();
            assert!(mode.file_type().is_socket() && mode.permissions().mode() & 0o777 == 0o600);
            // A command that reaches the socket could ask for a commit.
            let script = format!(
                "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n  s.connect({:?})\n  print(s.recv(99))\n\
                 except OSError as error:\n  print('refused')",
                path.to_str().unwrap()
            );
            writeln!(one, "{}", json!({ "id": 1, "do": "run", "command": ["python3", "-c", script] })).unwrap();
            assert_eq!(read(&mut from_one)["event"], "started");
            let ran = read(&mut from_one);
            assert_eq!(text(&ran["ok"]["stdout"]), "refused\n", "{ran}");
            writeln!(other, "{}", json!({ "id": "x", "do": "steps" })).unwrap();
            let steps = read(&mut from_other);
            assert_eq!((&steps["id"], steps["ok"]["steps"].as_array().map(Vec::len)), (&json!("x"), Some(2)));
            assert_eq!(server.signal(Signal::TERM), Some(143));
            assert!(!path.exists());
        }
    });
}
