//! The caller's terminal: its modes, and the process group in its foreground.

use std::os::fd::OwnedFd;

use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// The controlling terminal, as it was when the caller's group was in its foreground.
#[derive(Debug)]
pub(crate) struct Terminal {
    descriptor: OwnedFd,
    group: Pid,
    modes: Termios,
}

impl Terminal {
    /// Remembers the terminal; `None` where there is none, or another group is in its foreground.
    pub(crate) fn of_caller() -> Option<Terminal> {
        let descriptor = openat(CWD, "/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let group = getpgrp();
        let modes = tcgetattr(&descriptor).ok()?;
        (tcgetpgrp(&descriptor).ok()? == group).then_some(Terminal { descriptor, group, modes })
    }

    /// Takes the terminal back, if a group that is gone was the last one in its foreground.
    ///
    /// A command that made groups of its own, as a shell does, may not have been able to give the
    /// terminal back: it does not see the caller's group.
    pub(crate) fn take_back(&self) {
        if tcgetpgrp(&self.descriptor).is_ok_and(|group| group == self.group) {
            return;
        }
        let mut ttou = SigSet::empty();
        ttou.add(Signal::SIGTTOU);
        // Without the signal, which would stop a caller in the background.
        if ttou.thread_block().is_ok() {
            let _ = tcsetpgrp(&self.descriptor, self.group);
            let _ = ttou.thread_unblock();
        }
    }

    /// Takes the terminal back, and sets its modes as they were.
    pub(crate) fn restore(&self) {
        self.take_back();
        let _ = tcsetattr(&self.descriptor, OptionalActions::Drain, &self.modes);
    }
}
