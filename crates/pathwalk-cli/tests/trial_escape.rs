//! Attempts to change something outside, from inside of a `pathwalk try`: none may do so.
//!
//! The attempts are in `escape/attempts.py`. Here is what is looked at before and after: a
//! directory that the command sees and its user may write to, the base, two processes, sockets,
//! and the settings of the machine.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::trial::{Ground, Who};
use pathwalk_tests::skipped;
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use tempfile::TempDir;

/// The interpreter.
const PYTHON: &str = "/usr/bin/python3";

/// What is known of a file.
type State = (u32, u32, u32, u64, i64, i64, Vec<u8>);

/// Returns all that is below a directory, with contents.
fn states(dir: &Path) -> BTreeMap<String, State> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let metadata = entry.metadata().unwrap();
        let text = if metadata.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        let of = &metadata;
        let state = (of.mode(), of.uid(), of.gid(), of.nlink(), of.mtime(), of.ctime_nsec(), text);
        found.insert(entry.path().display().to_string(), state);
        if metadata.is_dir() {
            found.extend(states(&entry.path()));
        }
    }
    found
}

/// Returns settings of the machine that root could change.
fn settings() -> Vec<String> {
    let files = ["core_pattern", "hostname", "domainname"].map(|name| format!("/proc/sys/kernel/{name}"));
    let others = ["/proc/sys/vm/swappiness", "/proc/sys/user/max_user_namespaces", "/proc/sys/fs/file-max"];
    let all = files.iter().map(String::as_str).chain(others);
    let mut all: Vec<_> = all.map(|file| fs::read_to_string(file).unwrap_or_default()).collect();
    all.push(fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default());
    all.push(found_key());
    all.push(fs::read_to_string("/proc/thread-self/mounts").unwrap_or_default());
    all
}

/// Enters a session of keys that lasts as long as this thread and what it starts, so that there is
/// a keyring to reach into.
#[allow(unsafe_code)]
fn enter_session_of_keys() {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: the call takes a number and no name, and reads no memory.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}

/// Enters a namespace of mounts in which others mount nothing, for this thread and what it starts.
/// Without the right to, what others mount meanwhile counts as a change.
#[allow(unsafe_code)]
fn enter_namespace_of_mounts() {
    // SAFETY: root and working directory become the thread's own; no descriptor is affected.
    if unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok() {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    }
}

/// Returns what `request_key(2)` says of the key that an attempt makes.
///
/// It asks for what is in the keyrings of this session. `/proc/keys` does not answer that: it
/// lists all keys of a user, those of a session that has ended too until the kernel collects them.
#[allow(unsafe_code)]
fn found_key() -> String {
    let (kind, name) = (c"user".as_ptr(), c"pathwalk-try-escaped".as_ptr());
    // SAFETY: the strings end in a zero byte, and the call keeps none of them.
    let found = unsafe { libc::syscall(libc::SYS_request_key, kind, name, std::ptr::null::<libc::c_char>(), 0) };
    if found < 0 { std::io::Error::last_os_error().to_string() } else { "it was found".to_owned() }
}

/// Makes a directory that is not private to commands, and that a user may write to.
fn outside(ground: &Ground) -> Option<TempDir> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let places = [Path::new("/srv"), Path::new("/opt"), Path::new("/home"), Path::new(&home)];
    let made = places.iter().filter(|place| !place.starts_with("/tmp"));
    let dir = made.filter_map(|place| tempfile::Builder::new().permissions(common::open_to_all()).tempdir_in(place).ok());
    let dir = dir.into_iter().find(|dir| common::is_open_to_all(dir.path()))?;
    fs::write(dir.path().join("file"), "untouched").unwrap();
    ground.own(dir.path().to_str()?);
    Some(dir)
}

/// A process outside, which ends with the test.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_attempt_changes_anything_outside() {
    if !Path::new(PYTHON).exists() {
        return skipped("attempts to escape", "python3 is not installed");
    }
    enter_session_of_keys();
    enter_namespace_of_mounts();
    for who in Who::all() {
        let Some(ground) = Ground::new("attempts to escape", who) else { return };
        let Some(outside) = outside(&ground) else {
            return skipped("attempts to escape", "there is no directory outside that the user may write to");
        };
        attempt_all(&ground, outside.path());
    }
}

fn attempt_all(ground: &Ground, outside: &Path) {
    fs::write(ground.at("base/attempts.py"), include_str!("escape/attempts.py")).unwrap();
    let name = format!("pathwalk-try-{}-{:?}", std::process::id(), ground.who);
    let address = |suffix: &str| SocketAddr::from_abstract_name(format!("{name}{suffix}")).unwrap();
    let listener = UnixListener::bind_addr(&address("")).unwrap();
    let datagrams = UnixDatagram::bind_addr(&address("-datagrams")).unwrap();
    listener.set_nonblocking(true).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let mut victim = Command::new("/bin/sleep");
    ground.prepare(&mut victim);
    victim.arg("1000").current_dir(outside).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let mut victim = Victim(victim.spawn().unwrap());
    // A directory that the program is given, and that it must not pass on.
    let _given = rustix::fs::open(outside, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let before = (states(outside), states(&ground.base()), settings());

    // Its own number is that of the process that serves, which the shell becomes.
    let script = format!(
        "exec {} try --drop -- {PYTHON} attempts.py {} {} $$ {name}",
        env!("CARGO_BIN_EXE_pathwalk"),
        outside.display(),
        victim.0.id(),
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(ground.base()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ground.prepare(&mut command);
    // In the victim's group, which a signal to all of the group must not reach.
    command.process_group(victim.0.id() as i32);
    let output = command.output().unwrap();

    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{told}{errors}");
    let attempts = told.lines().last().and_then(|line| line.split(' ').next()?.parse::<usize>().ok());
    assert!(attempts.is_some_and(|count| count >= 100), "{told}{errors}");
    assert!(!told.contains("ESCAPED"), "{told}");
    let after = (states(outside), states(&ground.base()), settings());
    assert_eq!(before.0, after.0, "the directory outside has changed: {told}");
    assert_eq!(before.1, after.1, "the base has changed: {told}");
    assert_eq!(before.2, after.2, "the machine has changed: {told}");
    assert!(victim.0.try_wait().unwrap().is_none(), "the process outside has ended: {told}");
    assert!(listener.accept().is_err() && datagrams.recv(&mut [0; 8]).is_err(), "a socket outside was reached: {told}");
    assert!(!Path::new("/sys/fs/cgroup/unified/pathwalk-try-escaped").exists(), "a cgroup was made: {told}");
    assert!(!Path::new("/sys/fs/cgroup/pathwalk-try-escaped").exists(), "a cgroup was made: {told}");
    if std::env::var_os("PATHWALK_TELL_ATTEMPTS").is_some() {
        println!("{:?}:\n{told}", ground.who);
    }
}

/// Tests commits while another process swaps a directory of the base for a link that leads out of
/// it. `PATHWALK_TRY_SWAPS` is the number of commits.
#[test]
fn a_commit_follows_no_link_that_is_put_in_its_way() {
    let rounds = std::env::var("PATHWALK_TRY_SWAPS").map_or(12, |rounds| rounds.parse().expect("it is a number"));
    for who in Who::all() {
        let Some(ground) = Ground::new("links in the way of a commit", who) else { return };
        let (dir, outside) = (ground.at("base/dir"), ground.at("beside/dir"));
        for dir in [&dir, &outside] {
            fs::create_dir_all(dir.join("sub")).unwrap();
            fs::write(dir.join("sub/file"), "old").unwrap();
        }
        ground.own("");
        let before = states(&ground.at("beside"));
        let ends = AtomicBool::new(false);
        let committed = std::thread::scope(|scope| {
            scope.spawn(|| {
                let aside = ground.at("base/aside");
                for turn in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    fs::rename(&dir, &aside).unwrap();
                    std::os::unix::fs::symlink(&outside, &dir).unwrap();
                    std::thread::sleep(Duration::from_micros(turn * 137 % 2000));
                    fs::remove_file(&dir).unwrap();
                    fs::rename(&aside, &dir).unwrap();
                    std::thread::sleep(Duration::from_micros(turn * 7919 % 60_000));
                }
            });
            let script = |round| {
                format!("echo {round} > dir/sub/file; echo x > dir/sub/new-{round}; rm -f dir/sub/new-*0; mv dir/sub/file dir/f")
            };
            let exits = (0..rounds).map(|round| ground.script(&["--commit-if-ok"], &script(round)));
            let committed = exits.filter(|(_, _, errors)| errors.contains("committed")).count();
            ends.store(true, Ordering::Relaxed);
            committed
        });
        assert_eq!(before, states(&ground.at("beside")), "the directory outside has changed");
        println!("{who:?}: {committed} of {rounds} committed");
    }
}
