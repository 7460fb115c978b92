//! Tests of `pathwalk try --mcp`: the protocol as agents speak it.

use crate::common::server::Server;
use crate::common::trial::{Ground, Who};
use serde_json::{Value, json};

/// Runs a test as each user, with a server that has been greeted.
fn as_all(what: &str, options: &[&str], test: impl Fn(&Ground, &mut Server)) {
    for ground in Who::all().into_iter().filter_map(|who| Ground::new(what, who)) {
        let mut server = Server::silent(&ground, &[&["--mcp"], options].concat());
        let client = json!({ "name": "test", "version": "0" });
        let params = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client });
        let of = asked(&mut server, "initialize", params);
        assert_eq!((&of["protocolVersion"], &of["serverInfo"]["name"]), (&json!("2025-03-26"), &json!("pathwalk")));
        assert!(of["capabilities"]["tools"].is_object() && of["instructions"].is_string());
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        test(&ground, &mut server);
        assert_eq!(server.end(), (Some(0), String::new()));
    }
}

fn begin(server: &mut Server, id: u64, method: &str, params: Value) {
    server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
}

fn asked(server: &mut Server, method: &str, params: Value) -> Value {
    begin(server, 1, method, params);
    let mut line = server.line();
    assert_eq!((&line["id"], &line["jsonrpc"]), (&json!(1), &json!("2.0")), "{line}");
    line["result"].take()
}

/// Calls a tool. Returns its text, and whether that is an error.
fn call(server: &mut Server, tool: &str, arguments: Value) -> (String, bool) {
    let result = asked(server, "tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
}

#[test]
fn an_agent_runs_looks_goes_back_and_commits() {
    as_all("a server of the Model Context Protocol", &["-b", "work"], |ground, server| {
        assert_eq!(asked(server, "ping", json!({})), json!({}));
        let tools = asked(server, "tools/list", json!({}));
        let tools = tools["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["run", "diff", "steps", "back", "drop", "commit"]);
        assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object" && tool["description"].is_string()));

        let (ran, is_error) = call(server, "run", json!({ "command": "cat file; echo 1 > file; echo err >&2; exit 3" }));
        assert_eq!((&*ran, is_error), ("exit code 3, step 1\nstdout:\nold\n\nstderr:\nerr\n", false));
        call(server, "run", json!({ "command": "echo 2 > file" }));
        let (diff, _) = call(server, "diff", json!({ "as": "patch" }));
        assert!(diff.contains("-old\\n+2"), "{diff}");
        assert!(!call(server, "back", json!({ "step": 1 })).1);
        assert!(call(server, "steps", json!({})).0.contains("echo 2 > file"));
        assert_eq!(ground.read("base/file"), "old\n");
        assert!(!call(server, "commit", json!({})).1);
        assert_eq!(ground.read("base/file"), "1\n");
        call(server, "run", json!({ "command": "rm file" }));
        assert!(!call(server, "drop", json!({})).1);
        assert!(call(server, "run", json!({ "command": "cat file" })).0.contains("1\n"));
    });
}

#[test]
fn what_fails_is_told_to_the_agent() {
    as_all("tools that fail", &["--no-commit"], |ground, server| {
        for (tool, arguments, says) in [
            ("back", json!({ "step": 9 }), "no step 9"),
            ("run", json!({}), "command"),
            ("run", json!({ "command": "true", "frob": 1 }), "frob"),
            ("run", json!({ "command": "true", "rw": ["/"] }), "--rw"),
        ] {
            let (text, is_error) = call(server, tool, arguments);
            assert!(is_error && text.contains(says), "{tool}: {text}");
        }
        for (line, code) in [
            ("{", -32700),
            ("[1]", -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"frob"}"#, -32601),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"commit"}}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fork","arguments":{"name":"x"}}}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}"#, -32602),
        ] {
            server.send(line);
            let answer = server.line();
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        }
        assert_eq!(ground.read("base/file"), "old\n");
    });
}

#[test]
fn the_page_shows_a_configuration_that_works() {
    let snippet: Value = serde_json::from_str(&block("json")).unwrap();
    let of = &snippet["mcpServers"]["pathwalk"];
    assert_eq!((&of["command"], &of["args"][1]), (&json!("pathwalk"), &json!("--mcp")));
    let Some(ground) = Ground::new("the configuration of an agent", Who::User) else { return };
    let (base, home) = (ground.base(), ground.at("home"));
    let place = |arg: &Value| match arg.as_str().unwrap() {
        "/home/me/project" => base.display().to_string(),
        "/home/me/.ssh" => home.display().to_string(),
        other => other.to_owned(),
    };
    let args: Vec<_> = of["args"].as_array().unwrap().iter().skip(1).map(place).collect();
    let mut server = Server::silent(&ground, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let tools = asked(&mut server, "tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 5);
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn the_page_shows_a_program_that_works() {
    let Some(ground) = Ground::new("the program that wraps a shell tool", Who::User) else { return };
    let program = ground.at("home/tool.py");
    std::fs::write(&program, block("python")).unwrap();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_pathwalk")).parent().unwrap();
    let mut command = std::process::Command::new("python3");
    command.arg(&program).current_dir(ground.base());
    ground.prepare(&mut command);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return pathwalk_tests::skipped("the program that wraps a shell tool", &error.to_string()),
    };
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"cat file; echo new > file\ncat file; exit 3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(output.status.success() && lines.len() == 3, "{told}");
    assert_eq!((&lines[0]["stdout"]["text"], &lines[1]["stdout"]["text"]), (&json!("old\n"), &json!("new\n")));
    assert_eq!((&lines[1]["exit_code"], &lines[2]["changes"][0]["path"]), (&json!(3), &json!("/file")));
    assert_eq!(ground.read("base/file"), "old\n");
}

/// Returns the first block of a language in the page for agents.
fn block(language: &str) -> String {
    let page = include_str!("../../../docs/agents.md");
    let (_, block) = page.split_once(&format!("```{language}\n")).expect("there is one");
    block.split_once("```").expect("it ends").0.to_owned()
}

#[test]
fn a_call_is_cancelled() {
    as_all("a call that is cancelled", &[], |_, server| {
        begin(server, 7, "tools/call", json!({ "name": "run", "arguments": { "command": "sleep 1000" } }));
        // Another call is answered meanwhile.
        assert_eq!(asked(server, "ping", json!({})), json!({}));
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
        let line = server.line();
        assert!(line["id"] == 7 && line.to_string().contains("it was stopped"), "{line}");
    });
}
