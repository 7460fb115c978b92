//! The thread that begins passes when they are due. It keeps no tree and no `Vfs` alive.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pathwalk::Sweep;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{KINDS, LEAST, Shared};

/// The thread's running. If it ends before the tree, nothing that is cached is used any more.
struct Runs(Arc<Shared>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.runs.store(false, Ordering::SeqCst);
        let state = self.0.state.lock();
        if state.is_over {
            return;
        }
        let notifiers = state.notifiers.clone();
        drop(state);
        notifiers.iter().for_each(pathwalk::Notifier::invalidate_all);
    }
}

/// The mounts of the namespace in which the mode began.
struct Mounts(Option<File>);

impl Mounts {
    fn new() -> Mounts {
        Mounts(File::open("/proc/thread-self/mountinfo").ok())
    }

    /// Returns whether something was mounted or unmounted since the last call, or may have been.
    fn changed(&self) -> bool {
        let Some(file) = &self.0 else { return true };
        let mut one = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::PRI)];
        poll(&mut one, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

/// Starts the thread.
pub(super) fn start(shared: &Arc<Shared>) {
    let (runs, mounts) = (Runs(Arc::clone(shared)), Mounts::new());
    let run = move || while one_pass(&runs.0, &mounts) {};
    // If there is none, the closure is dropped.
    _ = std::thread::Builder::new().name("pathwalk-ttl".into()).spawn(run);
}

/// Returns the time from the beginning of a pass of a kind to that of the next one; `None` if there
/// is none.
fn period(time: Duration) -> Option<Duration> {
    (time >= LEAST).then(|| time / 2)
}

/// Waits until a pass is due, and carries it out. Returns false if the thread is to end.
fn one_pass(shared: &Shared, mounts: &Mounts) -> bool {
    let mut state = shared.state.lock();
    let due_at = |begun: Instant, time: Duration| begun.checked_add(period(time)?);
    loop {
        if state.is_over {
            return false;
        }
        let due = state.passes.iter().zip(shared.times).filter_map(|(passes, time)| due_at(passes[0], time)).min();
        match due {
            None => shared.ends.wait(&mut state),
            Some(due) if due <= Instant::now() => break,
            Some(due) => _ = shared.ends.wait_until(&mut state, due),
        }
    }
    let begun = Instant::now();
    let before = state.passes;
    let (mut kinds, mut passed) = (Sweep::empty(), [false; 3]);
    for (at, time) in shared.times.iter().enumerate() {
        if due_at(before[at][0], *time).is_some_and(|due| due <= begun) {
            kinds |= KINDS[at];
            passed[at] = true;
            state.passes[at] = [begun, before[at][0], before[at][1]];
        }
    }
    // A mount changes no time of the directory that it is in. The mounts are looked at after the
    // pass has begun, so what is confirmed for this pass was so at its beginning.
    if kinds.intersects(Sweep::NAMES | Sweep::ABSENCES) && mounts.changed() {
        state.mounted = begun;
    }
    let notifiers = state.notifiers.clone();
    drop(state);
    notifiers.iter().for_each(|notifier| notifier.invalidate_all_of(kinds));
    let ended = Instant::now();
    let mut state = shared.state.lock();
    let stats = &mut state.stats;
    stats.passes += 1;
    stats.longest_pass = stats.longest_pass.max(ended - begun);
    for at in (0..KINDS.len()).filter(|at| passed[*at]) {
        let age = ended - before[at][0];
        stats.oldest[at] = stats.oldest[at].max(age);
        stats.late += u64::from(age > shared.times[at]);
    }
    true
}
