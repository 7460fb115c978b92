//! The program, run as its users run it, and places to run it in.

#![allow(dead_code)] // Each test program takes what it needs.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pathwalk_tests::skipped;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn pathwalk() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathwalk"));
    // So that no simulator is found to count instructions in, which takes long.
    command.env("PATH", "").stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&OsStr]) -> Output {
    pathwalk().args(args).output().expect("the program starts")
}

/// Runs it and takes its standard output for JSON.
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

/// Runs it on bad input and returns what it said.
pub(crate) fn refused(args: &[&OsStr]) -> String {
    let output = run(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Runs it below another root and takes its standard output for JSON; says that it is skipped where that cannot be.
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

/// A directory to which everyone may come: the usual one for temporary files may lie below one that is its owner's alone.
pub(crate) fn place_for_all() -> Option<TempDir> {
    let usual = std::env::temp_dir();
    let candidates = [usual.as_path(), Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm")];
    let made = candidates.iter().filter_map(|dir| tempfile::Builder::new().permissions(open_to_all()).tempdir_in(dir).ok());
    made.into_iter().find(|dir| is_open_to_all(dir.path()))
}

/// Whether everyone may search the directory and all above it.
pub(crate) fn is_open_to_all(dir: &Path) -> bool {
    let open = |dir: &Path| dir.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0);
    dir.canonicalize().is_ok_and(|dir| dir.ancestors().all(open))
}

pub(crate) fn open_to_all() -> std::fs::Permissions {
    std::fs::Permissions::from_mode(0o755)
}
