//! A program on a terminal of its own, which is typed to and read from.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// How long a text is waited for.
const LONG: Duration = Duration::from_secs(60);

/// The program and its terminal. The program is killed when this is dropped.
pub(crate) struct Pty {
    master: File,
    child: Child,
    /// What was read, and not yet expected.
    read: String,
    /// All that was read.
    all: String,
}

impl Pty {
    /// Starts a command as the leader of a session on a new terminal.
    pub(crate) fn start(command: &mut Command) -> Pty {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(&*name, flags, Mode::empty()).unwrap();
        // A user of whom the test changes the ids opens it by name.
        rustix::fs::chmod(&*name, Mode::from_raw_mode(0o666)).unwrap();
        tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let stream = || slave.try_clone().unwrap();
        let (input, output, errors): (OwnedFd, OwnedFd, OwnedFd) = (stream(), stream(), stream());
        command.stdin(input).stdout(output).stderr(errors);
        let lead = move || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes system calls only.
        unsafe { command.pre_exec(lead) };
        let child = command.spawn().expect("the program starts");
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        Pty { master: File::from(master), child, read: String::new(), all: String::new() }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.send(&format!("{text}\r"));
    }

    /// Reads until a text comes, and passes over it.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.read.find(text) {
                self.read.drain(..at + text.len());
                return;
            }
            assert!(begun.elapsed() < LONG && self.read_some(), "\"{text}\" did not come: {}", self.all);
        }
    }

    /// Reads what there is for a moment. Returns whether there may be more.
    fn read_some(&mut self) -> bool {
        let moment = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        if poll(&mut [PollFd::new(&self.master.as_fd(), PollFlags::IN)], Some(&moment)) == Ok(0) {
            return true;
        }
        let mut part = [0; 4096];
        match self.master.read(&mut part) {
            Ok(length @ 1..) => {
                let text = String::from_utf8_lossy(&part[..length]).replace('\r', "");
                self.read += &text;
                self.all += &text;
                true
            }
            _ => false,
        }
    }

    /// Waits for the end of the program, and returns its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < LONG, "it has not ended: {}", self.all);
            if !self.read_some() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
