//! Signals for a command: those that the caller gets, and those that a [`Stopper`] is asked to
//! send.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, pidfd_send_signal};

/// What ends a command that runs apart from the caller.
///
/// A clone is for the same command. One is for one run.
///
/// ```no_run
/// use pathwalk_try::{Caller, Stopper, Streams, Trial};
/// # let program = vec!["/proc/self/exe".into()];
/// let stopper = Stopper::default();
/// let mut trial = Trial::new("/srv/www", ["sleep", "1000"]);
/// (trial.caller, trial.program) = (Caller::Apart(stopper.clone()), program);
/// assert!(matches!(trial.streams, Streams::Callers));
/// std::thread::spawn(move || stopper.end());
/// # let serve = |_, _: &_| Ok(());
/// assert_eq!(trial.run(serve)?.asked_to_end, Some(15));
/// # Ok::<(), pathwalk_try::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<First>);

impl Stopper {
    /// Sends `SIGTERM` to the command. It may come before the command has started.
    pub fn end(&self) {
        self.0.pass(libc::SIGTERM);
    }

    /// Ends all processes of the command at once.
    pub fn kill(&self) {
        self.0.pass(libc::SIGKILL);
    }

    pub(crate) fn first(&self) -> &Arc<First> {
        &self.0
    }
}

/// The first process inside, once it is there, and the signal that it is to be sent.
#[derive(Debug, Default)]
pub(crate) struct First {
    process: OnceLock<OwnedFd>,
    /// The last signal to end; 0 for none. It orders nothing.
    asked: AtomicI32,
}

impl First {
    /// Passes a signal on. One that comes too early is passed on later.
    pub(crate) fn pass(&self, signal: i32) {
        if signal != signal_hook::consts::SIGCONT {
            self.asked.store(signal, Ordering::Relaxed);
        }
        self.send(signal);
    }

    pub(crate) fn send(&self, signal: i32) {
        if let (Some(process), Some(signal)) = (self.process.get(), Signal::from_named_raw(signal)) {
            // It may have ended.
            let _ = pidfd_send_signal(process, signal);
        }
    }

    /// Returns the last signal to end that was passed on.
    pub(crate) fn asked(&self) -> Option<i32> {
        Some(self.asked.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    pub(crate) fn is(&self, process: OwnedFd) {
        let _ = self.process.set(process);
        if let Some(signal) = self.asked() {
            self.send(signal);
        }
    }

    /// Ends it, and waits until it and all that it started have ended.
    pub(crate) fn end(&self) {
        self.send(signal_hook::consts::SIGKILL);
        if let Some(process) = self.process.get() {
            while poll(&mut [PollFd::new(process, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {}
        }
    }
}
