//! Tests of `pathwalk try` as its users run it: what a command sees and changes, and what becomes
//! of the changes.

use std::fs;
use std::io::BufRead as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::json;
use crate::common::trial::{Ground, Who};
use pathwalk_tests::skipped;

/// Runs a test as each user, with each engine.
fn as_all(what: &str, test: impl Fn(&Ground)) {
    Ground::all(what).for_each(|ground| test(&ground));
}

#[test]
fn changes_are_kept_and_the_base_stays() {
    as_all("a command that is tried", |ground| {
        let (code, output, errors) = ground.script(&[], "echo new > file; rm -r sub; touch made; cat file; exit 3");
        assert_eq!((code, &*output), (Some(3), "new\n"), "{errors}");
        assert_eq!((&*ground.read("base/file"), &*ground.read("base/sub/inner")), ("old\n", "inner\n"));
        assert!(!ground.at("base/made").exists());
        for says in ["/file", "removed", "/made", "kept as \"sh-1\"", "pathwalk branch commit sh-1"] {
            assert!(errors.contains(says), "{errors}");
        }
        let (code, output, _) = ground.script(&["-b", "sh-1", "--keep"], "cat file; ls");
        assert_eq!((code, &*output), (Some(0), "new\nfile\nmade\n"));
        let committed = ground.program(&["branch", "commit", "sh-1"]).output().unwrap();
        assert!(committed.status.success(), "{}", String::from_utf8_lossy(&committed.stderr));
        assert_eq!((&*ground.read("base/file"), &*ground.read("base/made")), ("new\n", ""));
        assert!(!ground.at("base/sub").exists());
    });
}

#[test]
fn what_becomes_of_changes_is_said_by_options() {
    as_all("options of what becomes of changes", |ground| {
        let (code, _, errors) = ground.script(&["--commit-if-ok"], "echo new > file");
        assert_eq!((code, &*ground.read("base/file"), ground.branches()), (Some(0), "new\n", 0), "{errors}");
        let (code, _, errors) = ground.script(&["--commit-if-ok"], "echo newer > file; false");
        assert_eq!((code, &*ground.read("base/file"), ground.branches()), (Some(1), "new\n", 1), "{errors}");
        let (code, _, errors) = ground.script(&["--drop"], "rm -rf *; ls");
        assert_eq!((code, &*ground.read("base/file"), ground.branches()), (Some(0), "new\n", 1), "{errors}");
        let (_, _, errors) = ground.script(&["--keep"], "true");
        assert!(ground.branches() == 2 && errors.contains("kept as"), "{errors}");
        let (_, _, errors) = ground.script(&[], "cat file >/dev/null");
        assert_eq!((ground.branches(), &*errors), (2, "nothing was changed\n"));
    });
}

#[test]
fn a_list_that_names_other_users_does_not_keep_a_file_from_being_read() {
    as_all("a list with other users", |ground| {
        let listed = |path: &str, list: &str| {
            let output = Command::new("setfacl").args(["-m", list]).arg(ground.at(path)).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !listed("base/file", "u:7:rw,g:8:r") || !listed("base/sub", "u:7:rwx") {
            return skipped("a list with other users", "there is no setfacl here, or no such lists");
        }
        fs::write(ground.at("base/own"), "").unwrap();
        ground.own("base/own");
        assert!(listed("base/own", "u:7:rw"));
        if ground.who == Who::User && rustix::process::geteuid().is_root() {
            // The owner's rights are not those of the list.
            for path in ["base/file", "base/sub", "base/sub/inner"] {
                std::os::unix::fs::chown(ground.at(path), Some(0), Some(0)).unwrap();
            }
        }
        let (code, output, errors) = ground.script(&["--drop"], "cat file && ls sub");
        assert_eq!((code, &*output), (Some(0), "old\ninner\n"), "{:?}: {errors}", ground.who);
        // What the namespace does not have is not lost.
        let (code, _, errors) =
            ground.script(&["--commit-if-ok"], "setfacl -m u:$(id -u):r own; setfacl -x u:7 own; chmod 700 own; touch made");
        let list = Command::new("getfacl").arg("-n").arg(ground.at("base/own")).output().unwrap().stdout;
        assert!(
            code == Some(0) && String::from_utf8_lossy(&list).contains("user:7:rw-") == (ground.who == Who::User),
            "{errors}"
        );
    });
}

#[test]
fn conflicts_keep_the_branch() {
    as_all("a commit with conflicts", |ground| {
        ground.script(&["-b", "work"], "echo new > file");
        fs::write(ground.at("base/file"), "by another\n").unwrap();
        let (code, _, errors) = ground.script(&["-b", "work", "--commit-if-ok"], "true");
        assert_eq!((code, ground.branches()), (Some(0), 1));
        assert!(errors.contains("Nothing was done") && errors.contains("/file"), "{errors}");
        assert_eq!(ground.read("base/file"), "by another\n");
    });
}

/// The kernel keeps what it was told of the base for good. What others change there comes to the
/// command by a notice, or this waits for ever.
#[test]
fn what_others_change_in_the_base_is_seen_while_the_command_runs() {
    const WHAT: &str = "changes of the base";
    for ground in Who::all().into_iter().filter_map(|who| Ground::with(WHAT, who, "fuse")) {
        let script = "cat file sub/inner; ls; [ ! -e made ]; sleep 1.5; cat file; echo ready
            until [ \"$(cat file)\" = changed ] && [ -e made ] && [ ! -e sub ]; do sleep 0.01; done
            ls; cat file; echo mine > file";
        let mut command = ground.trying(&["-b", "work"], &["sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.by_ref().any(|line| line == "ready"));
        fs::write(ground.at("base/file"), "changed\n").unwrap();
        fs::write(ground.at("base/made"), "").unwrap();
        fs::remove_dir_all(ground.at("base/sub")).unwrap();
        assert_eq!(lines.collect::<Vec<_>>(), ["file", "made", "changed"]);
        assert!(child.wait().unwrap().success());
        // What is the branch's own is not the base's any more.
        fs::write(ground.at("base/file"), "again\n").unwrap();
        assert_eq!(ground.script(&["-b", "work", "--drop"], "cat file").1, "mine\n");
    }
}

#[test]
fn all_is_told_as_json() {
    as_all("JSON", |ground| {
        let mut command = ground.trying(&["--json", "--keep", "-b", "work"], &["sh", "-c", "echo new > file; kill -9 $$"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(137));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&value["branch"], &value["fate"]), (&"work".into(), &"kept".into()));
        assert_eq!((&value["exit_code"], &value["signal"]), (&137.into(), &9.into()));
        assert_eq!(value["changes"][0]["path"], "/file");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let value = json(&mut ground.trying(&["--json", "--commit-if-ok", "-b", "work"], &["true"]));
        assert_eq!((&value["fate"], &*ground.read("base/file")), (&"committed".into(), "new\n"));
    });
}

#[test]
fn exit_codes_are_those_of_shells() {
    as_all("exit codes", |ground| {
        for (script, code) in [("exit 0", 0), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -SEGV $$", 139)] {
            assert_eq!(ground.script(&[], script).0, Some(code), "{script}");
        }
        let output = ground.tried(&[], &["no-such-command"]);
        assert_eq!(output.status.code(), Some(127));
        assert!(String::from_utf8_lossy(&output.stderr).contains("running \"no-such-command\": it is not there"));
        let output = ground.tried(&[], &["/etc/passwd"]);
        assert_eq!(output.status.code(), Some(126));
        assert!(String::from_utf8_lossy(&output.stderr).contains("Permission denied"));
        let output = ground.tried(&["--base", "/no/such"], &["true"]);
        assert_eq!(output.status.code(), Some(125));
        assert_eq!(ground.tried(&["--no-such-option"], &["true"]).status.code(), Some(2));
        assert_eq!(ground.branches(), 0);
    });
}

#[test]
fn elsewhere_nothing_can_be_written() {
    as_all("what is elsewhere", |ground| {
        let beside = ground.at("beside");
        let beside = beside.to_str().unwrap();
        let script = format!("echo x > {beside}/outside; echo x > {beside}/new; rm -f {beside}/outside; true");
        ground.script(&["--drop"], &script);
        assert_eq!(ground.read("beside/outside"), "untouched\n");
        assert!(!ground.at("beside/new").exists());
        // But for what is named.
        let (_, output, errors) = ground.script(&["--drop", "--rw", beside], &format!("echo x > {beside}/new; ls {beside}"));
        assert_eq!((&*output, &*ground.read("beside/new")), ("new\noutside\n", "x\n"), "{errors}");
        let (_, output, _) = ground.script(&["--drop", "--hide", "sub", "--hide", "file"], "ls sub; cat file; echo x > sub/x");
        assert_eq!(output, "");
        let (_, output, _) = ground.script(&["--drop", "--ro", "sub"], "cat sub/inner; echo x > sub/inner || echo refused");
        assert_eq!((&*output, &*ground.read("base/sub/inner")), ("inner\nrefused\n", "inner\n"));
        // What is private goes with the command.
        ground.script(&["--drop"], "echo x > /tmp/pathwalk-try-private; echo x > /dev/shm/pathwalk-try-private");
        assert!(!Path::new("/tmp/pathwalk-try-private").exists() && !Path::new("/dev/shm/pathwalk-try-private").exists());
    });
}

#[test]
fn what_is_covered_stays_covered_while_others_change_the_base() {
    as_all("what is hidden in a base that changes", |ground| {
        let within = |path: &str| ground.at(path).display().to_string();
        fs::create_dir_all(ground.at("base/a/hidden")).unwrap();
        for path in ["base/key", "base/a/hidden/key", "base/fixed"] {
            fs::write(ground.at(path), "secret\n").unwrap();
        }
        ground.own("base");
        let script = format!(
            "ls -la . a > /dev/null; cat key; touch {ready}; until [ -e {go} ]; do sleep 0.05; done; sleep 2.5
            ls -la . a > /dev/null; cat key; ls a/hidden; cat a/hidden/key; echo x > fixed; cat made",
            ready = within("beside/ready"),
            go = within("beside/go"),
        );
        let options = ["--drop", "--hide", "key", "--hide", "a/hidden", "--ro", "fixed", "--rw", &within("beside")];
        let mut trying = ground.trying(&options, &["sh", "-c", &script]);
        let program = trying.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !ground.at("beside/ready").exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        // Files that are replaced, as editors do it; a directory above; and another mount.
        for name in ["key", "fixed"] {
            fs::write(ground.at("base/other"), "secret\n").unwrap();
            fs::rename(ground.at("base/other"), ground.at(&format!("base/{name}"))).unwrap();
        }
        // On overlayfs, what is in a base that changes is not defined.
        if ground.engine == "fuse" {
            fs::rename(ground.at("base/a"), ground.at("base/old")).unwrap();
            fs::create_dir_all(ground.at("base/a/hidden")).unwrap();
            fs::write(ground.at("base/a/hidden/key"), "secret\n").unwrap();
        }
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            rustix::mount::mount_bind(ground.at("beside"), ground.at("base/sub")).unwrap();
        }
        fs::write(ground.at("base/made"), "made\n").unwrap();
        fs::write(ground.at("beside/go"), "").unwrap();
        let output = program.wait_with_output().unwrap();
        if is_root {
            rustix::mount::unmount(ground.at("base/sub"), rustix::mount::UnmountFlags::DETACH).unwrap();
        }
        let (seen, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(seen, "made\n", "{:?} {}: {errors}", ground.who, ground.engine);
        assert!(!errors.contains("/fixed"), "it is not changed in the branch: {errors}");
        for path in ["beside/ready", "beside/go"] {
            fs::remove_file(ground.at(path)).unwrap();
        }
    });
}

#[test]
fn everything_is_the_base_if_it_is_said() {
    as_all("a branch of the root directory", |ground| {
        let home = ground.at("home");
        let store = ground.at("state/of-root");
        let options = ["--everything", "--store", store.to_str().unwrap(), "--keep", "-b", "all"];
        // What is below /tmp is private, so the base of this ground is not there.
        let script = "pwd; ls -d /usr /etc /proc/self /sys/class /dev/null; echo x > /dev/null; head -c 1 /proc/self/status";
        let (code, output, errors) = ground.script(&options, script);
        assert_eq!(code, Some(0), "{errors}");
        assert!(output.contains("/usr") && output.ends_with('N'), "{output}");
        if ground.who == Who::Root {
            let (code, _, errors) = ground.script(&options, "echo made > /pathwalk-try-made; rm -rf /usr/share/doc; ls /");
            assert_eq!(code, Some(0), "{errors}");
            assert!(!Path::new("/pathwalk-try-made").exists() && errors.contains("/pathwalk-try-made"), "{errors}");
        }
        assert!(home.is_dir());
    });
}

#[test]
fn a_try_in_a_try_is_a_branch_of_the_branch() {
    as_all("a try in a try", |ground| {
        let program = env!("CARGO_BIN_EXE_pathwalk");
        if !crate::common::is_open_to_all(Path::new(program).parent().unwrap()) || Path::new(program).starts_with("/tmp") {
            return skipped("a try in a try", "the program is not where all users see it");
        }
        let inner = format!("{program} try --commit-if-ok -- sh -c 'echo deep > file; touch kept' && cat file; ls");
        let (code, output, errors) = ground.script(&["--keep", "-b", "outer"], &inner);
        assert_eq!((code, &*output), (Some(0), "deep\nfile\nkept\nsub\n"), "{errors}");
        assert_eq!(ground.read("base/file"), "old\n");
        let (_, output, _) = ground.script(&["--drop", "-b", "outer"], "cat file");
        assert_eq!(output, "deep\n");
    });
}

#[test]
fn twenty_at_once_have_branches_of_their_own() {
    as_all("many at once", |ground| {
        let start = |number: usize| {
            let script = format!("echo {number} > file; touch new-{number}; cat file");
            let mut command = ground.trying(&["--keep"], &["sh", "-c", &script]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let all: Vec<_> = (0..20).map(start).collect();
        for (number, child) in all.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{number}\n"), "{errors}");
        }
        assert_eq!((ground.branches(), &*ground.read("base/file")), (20, "old\n"));
    });
}

#[test]
fn a_command_has_the_streams_of_the_caller() {
    as_all("standard streams", |ground| {
        // A file is read from where it is, and the next reader goes on.
        let lines = ground.at("beside/lines");
        fs::write(&lines, "one\ntwo\nthree\n").unwrap();
        fs::set_permissions(&lines, fs::Permissions::from_mode(0o666)).unwrap();
        ground.own("beside/lines");
        let file = fs::File::open(&lines).unwrap();
        let mut command = ground.trying(&["--drop"], &["sh", "-c", "read line; echo $line; : > /dev/stdin; chmod 0 /dev/stdin"]);
        let output = command.stdin(file.try_clone().unwrap()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "one\n");
        assert_eq!(std::io::read_to_string(file).unwrap(), "two\nthree\n", "a shell reads no further than a line");
        assert_eq!(fs::metadata(&lines).unwrap().permissions().mode() & 0o777, 0o666);
        // A directory is a way out.
        let mut command = ground.trying(&["--drop"], &["true"]);
        let output = command.stdin(fs::File::open("/").unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard input is a directory"));
    });
}

/// Commands of others, of which each leaves its result in the file `result`.
const REAL: [(&str, &str, &str); 4] = [
    (
        "git",
        "/usr/bin/git",
        "git init -q -b main . && git config user.email a@b && git config user.name n && git add . && git commit -qm one && \
         git checkout -qb side && echo side > sub/inner && git commit -qam side && git checkout -q main && echo main > file && \
         git commit -qam main && git rebase -q main side && git fsck 2>&1 && git log --format=%s > result && git status -s >> result",
    ),
    (
        "make",
        "/usr/bin/make",
        "printf 'result: a b\\n\\tcat a b > result\\na b: file\\n\\tcp file $@\\n' > Makefile && make -s -j2 && make -q",
    ),
    (
        "SQLite",
        "/usr/bin/python3",
        "/usr/bin/python3 -c \"import sqlite3; c = sqlite3.connect('db'); c.execute('pragma journal_mode=wal'); \
         c.execute('create table t(x)'); c.executemany('insert into t values (?)', [(n,) for n in range(5000)]); c.commit(); \
         print(c.execute('select sum(x) from t').fetchall(), c.execute('pragma integrity_check').fetchall())\" > result",
    ),
    (
        "rsync",
        "/usr/bin/rsync",
        "ln file sub/second && ln -s file link && chmod 640 sub/inner && rsync -aHAX ./ ../home/copy/ && \
         rsync -aHAXin ./ ../home/copy/ && mv ../home/copy . && find copy -type f -links 2 | sort > result",
    ),
];

#[test]
fn real_commands_do_the_same_as_outside() {
    as_all("real commands", |ground| {
        for (name, program, script) in REAL {
            if !Path::new(program).exists() {
                skipped("a real command", &format!("{program} is not installed"));
                continue;
            }
            let Some(outside) = Ground::new("real commands", ground.who) else { return };
            let mut command = std::process::Command::new("/bin/sh");
            command.args(["-c", script]).current_dir(outside.base());
            outside.prepare(&mut command);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{name} outside: {}", String::from_utf8_lossy(&output.stderr));
            let Some(inside) = Ground::new("real commands", ground.who) else { return };
            let home = inside.at("home");
            let options = ["--commit-if-ok", "--rw", home.to_str().unwrap()];
            let (code, _, errors) = inside.script(&options, script);
            assert_eq!(code, Some(0), "{name}: {errors}");
            assert_eq!(inside.read("base/result"), outside.read("base/result"), "{name}: {errors}");
            assert!(!outside.read("base/result").is_empty(), "{name}");
        }
    });
}
