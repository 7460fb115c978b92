//! Helpers that run the program as its users do, and directories to run it in.

#![allow(dead_code)] // Each test program uses some of the helpers.

pub(crate) mod mounts;
pub(crate) mod pty;
pub(crate) mod server;
pub(crate) mod trial;

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pathwalk_tests::skipped;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn pathwalk() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwalk"));
    // An empty PATH hides valgrind. With it, counting instructions would take long.
    command.env("PATH", "").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&OsStr]) -> Output {
    pathwalk().args(args).output().expect("the program starts")
}

/// Runs the program and parses its standard output as JSON.
pub(crate) fn json(command: &mut Command) -> Value {
    let output = command.output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("valid JSON")
}

pub(crate) fn trace(dir: &TempDir, lines: &[u8]) -> PathBuf {
    let path = dir.path().join("trace.tsv");
    std::fs::write(&path, lines).unwrap();
    path
}

/// Runs the program on bad input and returns its error message.
pub(crate) fn refused(args: &[&OsStr]) -> String {
    let output = run(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Runs the program below another root and parses its standard output as JSON. Reports a skipped
/// test where that is not possible.
pub(crate) fn json_enclosed(command: &mut Command, what: &str) -> Option<Value> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skipped(what, &format!("the program cannot be started so: {error}"));
            return None;
        }
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && stderr.contains("user namespace") {
        skipped(what, &format!("neither CAP_SYS_CHROOT nor user namespaces here: {}", stderr.trim()));
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{stderr}{}", String::from_utf8_lossy(&output.stdout));
    Some(serde_json::from_slice(&output.stdout).expect("valid JSON"))
}

/// Creates a directory that all users can reach. The usual place for temporary files may be below a
/// directory that only its owner may search.
pub(crate) fn place_for_all() -> Option<TempDir> {
    let usual = std::env::temp_dir();
    let candidates = [usual.as_path(), Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm")];
    let made = candidates.iter().filter_map(|dir| tempfile::Builder::new().permissions(open_to_all()).tempdir_in(dir).ok());
    made.into_iter().find(|dir| is_open_to_all(dir.path()))
}

/// Returns whether all users may search the directory and all directories above it.
pub(crate) fn is_open_to_all(dir: &Path) -> bool {
    let open = |dir: &Path| dir.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0);
    dir.canonicalize().is_ok_and(|dir| dir.ancestors().all(open))
}

pub(crate) fn open_to_all() -> std::fs::Permissions {
    std::fs::Permissions::from_mode(0o755)
}

/// Runs the program on a terminal of this many columns. Returns its exit code, and its output
/// without carriage returns. The error says why there is no terminal.
pub(crate) fn on_a_terminal(command: &mut Command, columns: u16) -> Result<(Option<i32>, String), String> {
    let failed = |doing: &'static str| move |errno: rustix::io::Errno| format!("{doing}: {errno}");
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map_err(failed("openpt"))?;
    grantpt(&master).and_then(|()| unlockpt(&master)).map_err(failed("unlockpt"))?;
    let name = ptsname(&master, Vec::new()).map_err(failed("ptsname"))?;
    let slave = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).map_err(failed("opening it"))?;
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size).map_err(failed("setting its size"))?;
    let mut child = command.stdout(slave).spawn().map_err(|error| error.to_string())?;
    // The command's own descriptor has to go, or the output has no end.
    command.stdout(Stdio::null());
    let (mut output, mut part) = (Vec::new(), [0; 4096]);
    // The end of the output is an error of the terminal.
    while let Ok(length @ 1..) = rustix::io::read(&master, &mut part) {
        output.extend_from_slice(&part[..length]);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok((status.code(), String::from_utf8_lossy(&output).replace('\r', "")))
}
