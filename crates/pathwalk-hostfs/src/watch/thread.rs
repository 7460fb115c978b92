//! The thread that waits for events, of the kernel and of mounts, and handles them.
//!
//! It keeps the tree alive only while it handles events, and ends when the tree is dropped.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io;

use super::drain::{Drained, Look};
use super::{Report, Watch};
use crate::tree::Tree;

/// The time after which a watch that could not be had is tried again.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// The time that is let pass after events that concerned nothing here, in which more of them come.
/// A neighbour in the same file system, or this program's own writes elsewhere, would wake the
/// thread for each of theirs.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// The thread's running. If it ends before the tree, since an observer panicked or there is no
/// thread, nothing counts as watched any more.
struct Runs(Arc<Watch>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.runs.store(false, Ordering::SeqCst);
        if !self.0.ends.load(Ordering::SeqCst) {
            self.0.report(Report::All);
        }
    }
}

/// Starts the thread.
pub(super) fn start(watch: &Arc<Watch>, tree: Weak<Tree>) {
    let runs = Runs(Arc::clone(watch));
    if watch.wake.is_none() {
        return;
    }
    let run = move || {
        while let Some(look) = wait(&runs.0) {
            let Some(tree) = tree.upgrade() else { return };
            let drained = runs.0.drain(&tree, look);
            runs.0.try_again(&tree);
            drop(tree);
            if drained == Drained::Nothing {
                pause(&runs.0);
            }
        }
    };
    // If there is none, the closure is dropped.
    _ = std::thread::Builder::new().name("pathwalk-watch".into()).spawn(run);
}

/// Lets some time pass, unless the thread is woken.
fn pause(watch: &Watch) {
    if let Some(wake) = &watch.wake {
        // What woke it is read by the next wait.
        _ = poll(&mut [PollFd::new(wake, PollFlags::IN)], Some(&PAUSE));
    }
}

/// Waits for something to do. `None` if the thread is to end.
fn wait(watch: &Watch) -> Option<Look> {
    let mounts = watch.draining.lock().mounts.file();
    let queues = watch.coverage.queues();
    let wake = watch.wake.as_ref()?;
    let mut all = vec![PollFd::new(wake, PollFlags::IN)];
    all.extend(queues.iter().map(|queue| PollFd::new(*queue, PollFlags::IN)));
    if let Some(mounts) = &mounts {
        all.push(PollFd::from_borrowed_fd(mounts.as_fd(), PollFlags::PRI));
    }
    let timeout = (watch.coverage.inotify.counts().1 > 0).then_some(AGAIN);
    let polled = poll(&mut all, timeout.as_ref());
    if watch.ends.load(Ordering::SeqCst) {
        return None;
    }
    if polled.is_ok_and(|ready| ready > 0) && all[0].revents().contains(PollFlags::IN) {
        _ = io::read(wake, &mut [0_u8; 8]);
    }
    let mounted =
        mounts.is_some() && all.last().is_some_and(|mounts| mounts.revents().intersects(PollFlags::PRI | PollFlags::ERR));
    Some(if mounted { Look::AtMountsToo } else { Look::AtEvents })
}
