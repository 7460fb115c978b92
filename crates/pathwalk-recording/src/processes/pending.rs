//! The processes whose maker is not known yet.
//!
//! Lines of a new process may come before the call that made it has returned, and so before its
//! number is known. If only one such call is under way, that call made it. If there are several,
//! their results are compared: if they would leave the process in the same state, it does not
//! matter which of them made it. Otherwise the lines of the process wait, up to a bound, until one
//! of the calls returns its number.

use crate::flags::CloneFlags;

/// The largest number of bytes of lines that wait.
const MOST: usize = 1 << 20;

/// A call under way that makes a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingClone {
    pub(crate) parent: u32,
    /// The flags of the call, or `None` if it is not known what will be shared.
    pub(crate) flags: Option<CloneFlags>,
    /// The process that was assumed to be the one that the call made.
    pub(crate) claimed: Option<u32>,
}

/// The lines that wait, by process.
#[derive(Default, Debug)]
pub(crate) struct Waiting {
    processes: Vec<Waiter>,
    bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) pid: u32,
    /// The lines' numbers and texts.
    pub(crate) lines: Vec<(u64, Box<[u8]>)>,
}

/// The state of the memory for waiting lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    Left,
    Exhausted,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.processes.iter().any(|waiter| waiter.pid == pid)
    }

    /// Returns whether any other process waits.
    pub(crate) fn has_others(&self, pid: u32) -> bool {
        self.processes.iter().any(|waiter| waiter.pid != pid)
    }

    pub(crate) fn add(&mut self, pid: u32, number: u64, text: &[u8]) -> Room {
        let line = (number, text.into());
        match self.processes.iter_mut().find(|waiter| waiter.pid == pid) {
            Some(waiter) => waiter.lines.push(line),
            None => self.processes.push(Waiter { pid, lines: vec![line] }),
        }
        // A line costs 32 bytes besides its text.
        self.bytes += text.len() + 32;
        if self.bytes > MOST { Room::Exhausted } else { Room::Left }
    }

    /// Takes out the first process for which `ready` returns true.
    pub(crate) fn take(&mut self, mut ready: impl FnMut(&Waiting, u32) -> bool) -> Option<Waiter> {
        let at = (0..self.processes.len()).find(|at| ready(self, self.processes[*at].pid))?;
        let waiter = self.processes.remove(at);
        self.bytes -= waiter.lines.iter().map(|(_, text)| text.len() + 32).sum::<usize>();
        Some(waiter)
    }
}
