//! The process that is at work in a staging directory.
//!
//! What always holds: a process that lives is found to live by every process that sees the same
//! process ids. A process in another PID namespace cannot be seen: it counts as ended. Then two
//! processes may finish one commit, which is safe, since each step tells whether it was done.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

/// The commits that are under way in this process.
static RUNNING: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// The number of the next commit.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A commit that is under way, as long as this lives.
pub(super) struct Running(u64);

impl Running {
    pub(super) fn begin() -> Running {
        // Relaxed: the numbers only have to differ.
        let number = NEXT.fetch_add(1, Relaxed);
        RUNNING.lock().insert(number);
        Running(number)
    }

    /// Returns what tells it from all others, as text.
    pub(super) fn describe(&self) -> String {
        let pid = std::process::id();
        format!("{}\n{}\n{pid}\n{}\n{}\n", boot(), namespace(), start(pid).unwrap_or_default(), self.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().remove(&self.0);
    }
}

/// Returns whether a commit that was described so is under way.
pub(super) fn is_running(description: &str) -> bool {
    let Ok([boot_id, pid_namespace, pid, started, number]) = <[&str; 5]>::try_from(description.lines().collect::<Vec<_>>())
    else {
        return false;
    };
    let Ok(pid) = pid.parse() else { return false };
    let lives = boot_id == boot() && pid_namespace == namespace() && start(pid).is_some_and(|of| of == started);
    let is_under_way = || number.parse().is_ok_and(|number| RUNNING.lock().contains(&number));
    lives && (pid != std::process::id() || is_under_way())
}

/// Returns what tells this start of the system from others.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns what tells the PID namespace of this process from others.
fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the time at which a process began, in ticks since the start of the system. Source:
/// `proc_pid_stat(5)`.
fn start(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may have any characters.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_runs_until_it_ends() {
        let running = Running::begin();
        let description = running.describe();
        assert!(is_running(&description));
        drop(running);
        assert!(!is_running(&description));
        assert!(!is_running("") && !is_running(&description.replace('\n', " ")));
    }

    #[test]
    fn a_process_that_began_later_is_another() {
        let running = Running::begin();
        let of_another = running.describe().replace(&start(std::process::id()).expect("it runs"), "1");
        assert!(!is_running(&of_another));
    }
}
