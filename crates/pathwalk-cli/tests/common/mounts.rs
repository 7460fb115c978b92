//! Mounts of the program, for its tests.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use pathwalk_tests::skipped;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::pathwalk;

/// A mount point, which is unmounted at the end.
pub(crate) struct Point(TempDir);

impl Point {
    pub(crate) fn new() -> Point {
        Point(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Unmounts. A process that another test is just starting has all files of this one for a
    /// moment, so a mount in use is tried again.
    pub(crate) fn unmount(&self) {
        while let Err(errno) = unmount(self.path(), UnmountFlags::empty()) {
            assert_eq!(errno, rustix::io::Errno::BUSY);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the options of the mount there, as the kernel has them.
    pub(crate) fn mounted(&self) -> Option<String> {
        let at = format!(" {} fuse.pathwalk ", self.0.path().display());
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.lines().find_map(|line| Some(line.split_once(&at)?.1.to_owned()))
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        while self.mounted().is_some() && unmount(self.path(), UnmountFlags::DETACH).is_ok() {}
    }
}

/// The program, serving a mount in the foreground.
pub(crate) struct Served {
    pub(crate) process: Child,
    pub(crate) line: String,
}

impl Served {
    /// Mounts; `None`, with a report, where this is not possible on this machine.
    pub(crate) fn start(what: &str, source: impl AsRef<OsStr>, point: &Point, options: &[&str]) -> Option<Served> {
        let mut command = pathwalk();
        command.args(["mount", "-f"]).args(options).arg(source).arg(point.path());
        Served::run(what, &mut command)
    }

    pub(crate) fn run(what: &str, command: &mut Command) -> Option<Served> {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            is_possible(what, &process.wait_with_output().unwrap());
            return None;
        }
        Some(Served { process, line })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits for the end of the program.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            match self.process.try_wait().unwrap() {
                Some(status) => return status,
                None if begun.elapsed() > Duration::from_secs(60) => panic!("the program has not ended"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns whether mounting is possible on this machine. Reports a skipped test if not.
pub(crate) fn is_possible(what: &str, output: &Output) -> bool {
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return true;
    }
    assert!(errors.contains("/dev/fuse") || errors.contains("CAP_SYS_ADMIN"), "{errors}");
    skipped(what, errors.trim());
    false
}
