//! Signals of the caller while the command runs.
//!
//! What always holds: a signal that the caller ignored when it was started stays ignored, for the
//! command too. Those that are handled have their defaults in the command.

use std::thread;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

/// The signals of the caller, until this is dropped.
pub(crate) struct Handled(Handle);

impl Handled {
    /// Begins: each signal that is to be passed on is given to `pass`, by another thread. The
    /// terminal's signals are left to the command, which gets them too: so the branch is served
    /// while the command puts its things in order.
    pub(crate) fn begin(pass: impl Fn(i32) + Send + 'static) -> std::io::Result<Handled> {
        let ignored = ignored();
        let all = [SIGINT, SIGQUIT, SIGTSTP, SIGTERM, SIGHUP, SIGCONT];
        let mut signals = Signals::new(all.into_iter().filter(|signal| !ignored.contains(signal)))?;
        let handle = signals.handle();
        let is_passed = |signal: &i32| ![SIGINT, SIGQUIT, SIGTSTP].contains(signal);
        let wait = move || signals.forever().filter(is_passed).for_each(&pass);
        thread::Builder::new().name("signals".into()).spawn(wait)?;
        Ok(Handled(handle))
    }

    /// Stops the caller as the terminal would, until it is continued.
    pub(crate) fn stop(&self) {
        let _ = emulate_default_handler(SIGTSTP);
    }
}

impl Drop for Handled {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Returns the signals that this process ignores.
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| bits >> (signal - 1) & 1 == 1).collect()
}
