//! Tests of `pathwalk stats`, as its users run it. They are skipped where mounting is not possible.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;

use crate::common::mounts::{Point, Served};
use crate::common::{json, pathwalk, refused};
use pathwalk_tests::skipped;
use serde_json::Value;

fn stats(point: &Point) -> Value {
    json(pathwalk().args(["stats", "--json"]).arg(point.path()))
}

fn kind<'a>(stats: &'a Value, name: &str) -> &'a Value {
    stats["operations"].as_array().unwrap().iter().find(|of| of["kind"] == name).unwrap_or(&Value::Null)
}

#[test]
fn requests_are_counted_by_kind() {
    let point = Point::new();
    let Some(served) = Served::start("statistics", "mem", &point, &["-o", "kernel_nodes=1K,open"]) else { return };
    for number in 0..50 {
        fs::write(point.at(&format!("f{number}")), "text").unwrap();
    }
    assert!(fs::read(point.at("absent")).is_err());
    fs::create_dir_all(point.at("dir/sub")).unwrap();
    assert!(fs::remove_dir(point.at("dir")).is_err());
    let open = fs::File::open(point.at("f0")).unwrap();
    let found = stats(&point);
    assert_eq!((&found["source"], &found["pid"]), (&"mem".into(), &served.process.id().into()));
    assert_eq!(found["mount_point"], point.path().to_str().unwrap());
    assert_eq!(kind(&found, "create")["count"], 50, "{found:#}");
    assert_eq!(kind(&found, "write")["count"], 50);
    let lookups = kind(&found, "lookup");
    assert!(lookups["count"].as_u64().unwrap() >= 51, "{lookups}");
    assert_eq!(kind(&found, "rmdir")["errors"], 1);
    let sum: u64 = lookups["latencies"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(lookups["count"], sum);
    assert!(lookups["nanoseconds"].as_u64().unwrap() >= sum);
    let (memory, kernel) = (&found["memory"], &found["kernel"]);
    assert!(memory["budget"] == 64 << 20 && memory["used"].as_u64().unwrap() < 64 << 20, "{memory}");
    assert!(memory["names"].as_u64().unwrap() >= 50 && memory["file_systems"].as_u64().unwrap() > 200, "{memory}");
    assert!(kernel["nodes"].as_u64().unwrap() >= 50 && kernel["open_files"] == 1, "{kernel}");
    assert!(kernel["most_nodes"] == 1024 && kernel["notices"].is_u64(), "{kernel}");
    assert!(found["caches"]["hand_overs"]["miss"].is_u64() && found["caches"]["hits"].is_u64());
    drop(open);
}

#[test]
fn opens_are_told_where_they_have_to_be() {
    let host = tempfile::tempdir().unwrap();
    let source = format!("host:{}", host.path().display());
    let untold_host = if rustix::process::geteuid().is_root() { 0 } else { 10 };
    for (source, options, least) in [
        ("mem", "size=1M", 0),
        ("mem", "open", 10),
        ("mem", "attr_timeout=1", 10),
        (&source, "coherence=exclusive", untold_host),
        (&source, "coherence=watch", 10),
    ] {
        let point = Point::new();
        let Some(_served) = Served::start("opens", source, &point, &["-o", options]) else { return };
        for number in 0..10 {
            fs::write(point.at(&format!("f{number}")), "text").unwrap();
            assert_eq!(fs::read(point.at(&format!("f{number}"))).unwrap(), b"text");
        }
        let found = stats(&point);
        let told = ["open", "release"].map(|name| kind(&found, name)["count"].as_u64().unwrap_or(0));
        assert!(if least == 0 { told[0] <= 1 && told[1] == 0 } else { told[0] >= least }, "{source}, {options}: {told:?}");
    }
}

#[test]
fn each_form_has_the_same() {
    let point = Point::new();
    let Some(_served) = Served::start("forms of statistics", "mem", &point, &[]) else { return };
    fs::write(point.at("file"), "text").unwrap();
    let output = |form: &[&str]| {
        let output = pathwalk().arg("stats").args(form).arg(point.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = output(&[]);
    for words in ["mem on ", "requests", "hits", "of 64.0 MiB", "the kernel holds: nodes", "create"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let metrics = output(&["--prometheus"]);
    let labels = format!("source=\"mem\",mount_point=\"{}\"", point.path().display());
    for line in [
        format!("pathwalk_request_duration_seconds_count{{{labels},kind=\"create\"}} 1\n"),
        format!("pathwalk_cache_budget_bytes{{{labels}}} 67108864\n"),
        "# TYPE pathwalk_request_duration_seconds histogram\n".into(),
    ] {
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    let both = refused(&["stats".as_ref(), "--prometheus".as_ref(), "--json".as_ref(), point.path().as_ref()]);
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn a_watch_ends_with_the_mount() {
    for form in [&["--watch"][..], &["--watch", "--json"]] {
        let point = Point::new();
        let Some(mut served) = Served::start("watching statistics", "mem", &point, &[]) else { return };
        let mut command = pathwalk();
        let mut watch = command.arg("stats").args(form).arg(point.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        if form.len() == 1 {
            assert!(first.contains("requests/s") && first.contains("of 64.0 MiB"), "{first}");
        } else {
            assert!(serde_json::from_str::<Value>(&first).unwrap()["operations"].is_array(), "{first}");
        }
        point.unmount();
        assert_eq!(served.ended().code(), Some(0));
        assert_eq!(watch.wait().unwrap().code(), Some(0), "{form:?}");
    }
}

#[test]
fn without_a_program_there_are_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refused(&["stats".as_ref(), dir.path().as_ref()]).contains("nothing is mounted"));
    let point = Point::new();
    let Some(mut served) = Served::start("statistics of a dead mount", "mem", &point, &[]) else { return };
    served.signal(rustix::process::Signal::KILL);
    served.ended();
    assert!(refused(&["stats".as_ref(), point.path().as_ref()]).contains("has ended; unmount it by pathwalk umount"));
}

/// Returns the socket of a mount.
fn socket(point: &Point) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let at = format!(" {} ", point.path().display());
    let device = mounts.lines().find(|line| line.contains(&at))?.split(' ').nth(2)?.replace(':', "-");
    let path = PathBuf::from(format!("/run/pathwalk/{device}.sock"));
    path.exists().then_some(path)
}

#[test]
fn bad_requests_and_silent_clients_hold_up_none() {
    let point = Point::new();
    let Some(mut served) = Served::start("clients of statistics", "mem", &point, &[]) else { return };
    let Some(path) = socket(&point) else { return skipped("clients of statistics", "the socket is elsewhere") };
    let _silent: Vec<_> = (0..20).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"frob\n\xff\n").unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("no answer to \\\"frob\\\""), "{answer}");
    // A line that is no text ends the connection.
    assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
    assert!(stats(&point)["pid"].is_u64());
    point.unmount();
    assert_eq!((served.ended().code(), path.exists()), (Some(0), false));
}

#[test]
fn other_users_get_no_answer() {
    let what = "statistics for other users";
    let point = Point::new();
    let Some(_served) = Served::start(what, "mem", &point, &[]) else { return };
    let Some(path) = socket(&point).filter(|_| rustix::process::geteuid().is_root()) else {
        return skipped(what, "it needs root");
    };
    let dir = crate::common::place_for_all().unwrap();
    let program = dir.path().join("pathwalk");
    fs::copy(env!("CARGO_BIN_EXE_pathwalk"), &program).unwrap();
    let as_user = || {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]).arg(&program).arg("stats").arg(point.path());
        command.output()
    };
    let refused_as_user = |says: &str| match as_user() {
        Err(error) => skipped(what, &format!("setpriv: {error}")),
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(2) && errors.contains(says), "{errors}");
        }
    };
    refused_as_user("the user that mounted and root alone");
    // Also where the socket can be reached.
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    refused_as_user("for the user that mounted, and for root");
}
