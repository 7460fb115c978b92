//! Compares `explain --landlock` with the kernel: a thread that becomes the user, restricts itself
//! by the same rules, and opens, lists, makes and executes.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use ::landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
};
use pathwalk_tests::place::{Place, in_a_place};
use pathwalk_tests::skipped;
use rustix::fs::{self as host, AtFlags, CWD, Mode, OFlags};
use rustix::io;
use rustix::process::{Gid, Uid};
use rustix::thread;
use serde_json::Value;

use crate::asked::User;
use crate::{USERS, is_possible, tree};

/// The rulesets: what each restricts, and what it allows where.
type Rules = &'static [(&'static str, &'static [(&'static str, &'static str)])];

const SETS: [Rules; 5] = [
    &[("all", &[("read-file,read-dir", "/open"), ("execute,read-file", "/f777"), ("all", "/d007")])],
    &[("read-file,write-file", &[("read-file", "/")])],
    &[("execute,make-reg,read-dir", &[("make-reg", "/open/sub"), ("read-dir", "/open"), ("execute", "/f750")])],
    &[("all", &[("all", "/")]), ("write-file", &[("write-file", "/f777")])],
    &[("all", &[])],
];

const PATHS: [&str; 13] = [
    "/",
    "/open",
    "/open/f",
    "/open/sub",
    "/d007",
    "/d007/f",
    "/d700",
    "/d700/f",
    "/f750",
    "/f644",
    "/f777",
    "/to-f",
    "/immutable",
];

/// Returns the rights with these names in files.
fn rights(names: &str) -> BitFlags<AccessFs> {
    let one = |name: &str| -> BitFlags<AccessFs> {
        match name {
            "all" => AccessFs::from_all(ABI::V3),
            "execute" => AccessFs::Execute.into(),
            "write-file" => AccessFs::WriteFile.into(),
            "read-file" => AccessFs::ReadFile.into(),
            "read-dir" => AccessFs::ReadDir.into(),
            "make-reg" => AccessFs::MakeReg.into(),
            other => unreachable!("no ruleset has {other}"),
        }
    };
    names.split(',').map(one).fold(BitFlags::EMPTY, |all, one| all | one)
}

fn restrict(rules: Rules) {
    for (restricted, allowed) in rules {
        let handled = rights(restricted);
        let set = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(handled);
        let mut set = set.and_then(Ruleset::create).expect("it was looked for");
        for (names, path) in *allowed {
            let at = host::open(*path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
            let is_directory = host::FileType::from_raw_mode(host::fstat(&at).unwrap().st_mode) == host::FileType::Directory;
            let keeps = rights(names) & handled;
            let keeps = if is_directory { keeps } else { keeps & AccessFs::from_file(ABI::V3) };
            set = set.add_rule(PathBeneath::new(at, keeps)).unwrap();
        }
        set.restrict_self().unwrap();
    }
}

/// Returns the errors of reading, writing and executing, as the calls for that have them; 0 for
/// none. What is made in directories is left there.
fn by_kernel(path: &str, number: usize) -> [i32; 3] {
    let raw = |result: io::Result<()>| result.map_or_else(io::Errno::raw_os_error, |()| 0);
    let stat = host::stat(path);
    let is_directory = stat.is_ok_and(|stat| host::FileType::from_raw_mode(stat.st_mode) == host::FileType::Directory);
    let open = |flags| host::open(path, flags | OFlags::CLOEXEC, Mode::empty()).map(drop);
    if is_directory {
        let new = format!("{path}/made {number}");
        let make = host::mknodat(CWD, &*new, host::FileType::RegularFile, Mode::from(0o644), 0);
        let search = host::accessat(CWD, path, host::Access::EXEC_OK, AtFlags::EACCESS);
        return [raw(open(OFlags::RDONLY | OFlags::DIRECTORY)), raw(make), raw(search)];
    }
    [raw(open(OFlags::RDONLY)), raw(open(OFlags::WRONLY)), raw(execute(path))]
}

/// Calls `execveat` so that it only checks: with `AT_EXECVE_CHECK`.
fn execute(path: &str) -> io::Result<()> {
    const CHECK: libc::c_int = 0x10000;
    let path = CString::new(path).unwrap();
    let none = [std::ptr::null::<libc::c_char>()];
    // SAFETY: path and lists are terminated and outlive the call, which writes to none of our
    // memory and, with this flag, does not return anew.
    let result = unsafe { libc::syscall(libc::SYS_execveat, libc::AT_FDCWD, path.as_ptr(), none.as_ptr(), none.as_ptr(), CHECK) };
    if result == 0 { Ok(()) } else { Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap()) }
}

fn kernel(place: &Place, user: &User, rules: Rules) -> std::io::Result<Vec<[i32; 3]>> {
    std::thread::scope(|scope| {
        let ask = || {
            place.become_root()?;
            // The places of rules are opened as root.
            let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
            let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
            restrict(rules);
            thread::set_thread_groups(&groups)?;
            thread::set_thread_res_gid(gid, gid, gid)?;
            thread::set_thread_res_uid(uid, uid, uid)?;
            Ok(PATHS.iter().enumerate().map(|(number, path)| by_kernel(path, number)).collect())
        };
        scope.spawn(ask).join().expect("asking does not panic")
    })
}

/// Returns the errors that the program reports for read, write and execute, and the rules.
fn program(root: &Path, user: &User, files: &[std::path::PathBuf], path: &str) -> Option<([i32; 3], [String; 3])> {
    let groups: Vec<String> = [user.gid].iter().chain(user.groups).map(u32::to_string).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwalk"));
    command.args(["explain", "--json", "--root"]).arg(root).stdin(Stdio::null());
    command.args(["--as", &format!("{}:{}", user.uid, groups.join(",")), path]);
    files.iter().for_each(|file| _ = command.arg("--landlock").arg(file));
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let may = ["read", "write", "execute"].map(|want| &value["may"][want]);
    let number = |of: &Value| of["errno"]["number"].as_i64().unwrap_or(0) as i32;
    (value["answer"] == "reached").then(|| (may.map(number), may.map(|of| of["rule"].as_str().unwrap_or("none").to_owned())))
}

#[test]
fn rulesets_refuse_what_the_kernel_s_landlock_refuses() {
    let probe = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(ABI::V3));
    if let Err(why) = probe.and_then(Ruleset::create) {
        return skipped("rulesets of Landlock", &why.to_string());
    }
    in_a_place("landlock::rulesets_refuse_what_the_kernel_s_landlock_refuses", |place| {
        if !is_possible(place) {
            return;
        }
        let missing = tree::lay_out(&place.dir).expect("the tree fits into a tmpfs");
        let outside = tempfile::tempdir().unwrap();
        let (mut wrong, mut refused, mut rules_met) = (Vec::new(), 0, BTreeSet::new());
        // The answers without rules, by user and path.
        let mut plain = HashMap::new();
        for (set, rules) in SETS.into_iter().enumerate() {
            let files: Vec<_> = (0..rules.len()).map(|number| outside.path().join(format!("{set} {number}"))).collect();
            for (file, (restricted, allowed)) in files.iter().zip(rules) {
                let allowed: String = allowed.iter().map(|(names, path)| format!("allow {names} {path}\n")).collect();
                std::fs::write(file, format!("restrict {restricted}\n{allowed}")).unwrap();
            }
            for user in USERS.iter().filter(|user| ["root", "owner", "other"].contains(&user.name)) {
                let theirs = kernel(place, user, rules).expect("a thread may become any user");
                remove_what_was_made(&place.dir);
                for (path, theirs) in PATHS.iter().zip(theirs).filter(|(path, _)| !missing.contains(&&path[1..])) {
                    let what = format!("{path} as {} under ruleset {set}", user.name);
                    let Some((ours, by)) = program(&place.dir, user, &files, path) else { continue };
                    let ask = || program(&place.dir, user, &[], path).expect("it is reached without rules, too").0;
                    let unrestricted = *plain.entry((user.name, *path)).or_insert_with(ask);
                    if ours != theirs {
                        wrong.push(format!("{what}: the program says {ours:?} by {by:?}, the kernel {theirs:?}"));
                    }
                    for at in 0..3 {
                        // Where the permissions refuse, they are the reason, as the kernel asks
                        // them first.
                        let is_by_rules = unrestricted[at] == 0 && ours[at] != 0;
                        if (by[at] == "landlock") != is_by_rules {
                            wrong.push(format!("{what}: {} is told as the reason of {:?}", by[at], ours[at]));
                        }
                        refused += usize::from(is_by_rules);
                    }
                    rules_met.extend(by);
                }
            }
        }
        assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
        assert!(refused > 100, "{refused} refused by rulesets");
        println!("{refused} refused by rulesets; rules: {rules_met:?}");
    });
}

fn remove_what_was_made(root: &Path) {
    for path in PATHS {
        let dir = root.join(&path[1..]);
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.map(|entry| entry.unwrap()) {
            if entry.file_name().as_bytes().starts_with(b"made ") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

#[test]
fn mistakes_in_a_file_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let said = |text: &str| {
        let file = dir.path().join("rules");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pathwalk"));
        let output = command.args(["explain", "/", "--landlock"]).arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said("restrict read\n").contains("line 1"));
    assert!(said("restrict all\nallow read-file /no such place\n").contains("/no such place"));
    assert!(said("restrict read-file\nallow write-file /\n").contains("allowing write-file"));
    assert!(said("").contains("restricts nothing"));
}
