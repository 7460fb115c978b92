//! Signals of the caller while the command runs.
//!
//! What always holds: a signal that the caller ignored when it was started stays ignored, for the
//! command too. Those that are handled have their defaults in the command.

use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// The signals of the caller, until this is dropped.
pub(crate) struct Handled {
    handle: Handle,
    stop: SigSet,
}

impl Handled {
    /// Begins: each signal that is to be passed on is given to `pass`, by another thread. The
    /// terminal's signals are left to the command, which gets them too.
    pub(crate) fn begin(pass: impl Fn(i32) + Send + 'static) -> std::io::Result<Handled> {
        let ignored = ignored();
        let all = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCONT];
        let mut signals = Signals::new(all.into_iter().filter(|signal| !ignored.contains(signal)))?;
        let handle = signals.handle();
        let mut stop = SigSet::empty();
        stop.add(Signal::SIGTSTP);
        // Blocked for this thread and those that it starts, so that the branch is served while the
        // command puts its things in order.
        stop.thread_block()?;
        let wait = move || signals.forever().filter(|signal| ![SIGINT, SIGQUIT].contains(signal)).for_each(&pass);
        thread::Builder::new().name("signals".into()).spawn(wait)?;
        Ok(Handled { handle, stop })
    }

    /// Stops the caller as the terminal would, until it is continued. Without a shell that could
    /// continue it, the kernel does not stop it.
    pub(crate) fn stop(&self) {
        // A signal that waits is delivered when it is no longer blocked.
        if raise(Signal::SIGTSTP).is_ok() {
            let _ = self.stop.thread_unblock();
            let _ = self.stop.thread_block();
        }
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        self.handle.close();
        // What stopped the command is not to stop the caller later: this removes it.
        let _ = raise(Signal::SIGCONT);
        let _ = self.stop.thread_unblock();
    }
}

/// Returns the signals that this process ignores.
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| bits >> (signal - 1) & 1 == 1).collect()
}
