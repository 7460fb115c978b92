//! The creation and the end of processes: which process made another, and with what state it
//! begins.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::pending::{PendingClone, Waiting};
use super::{Cwd, Descriptors, FsState, Life, Origin, Process, Processes, Root, Strangers};
use crate::flags::CloneFlags;

/// The readiness of a process' line: whether it can be read now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    Ready,
    /// The line has to wait until it is known which process made this one.
    Waits,
}

/// The calls under way that may have made a process.
enum Makers {
    None,
    One(usize),
    /// Several calls that would make the same process. The number is that of one of them.
    Alike(usize),
    Differing,
}

impl Processes {
    /// Registers that a call of `pid` begins. If the process is new, it gets its state.
    pub(crate) fn arrive(&mut self, pid: u32, waiting: &Waiting) -> Arrival {
        if self.runs(pid) {
            return Arrival::Ready;
        }
        if waiting.has(pid) {
            return Arrival::Waits;
        }
        self.try_adopt(pid, waiting)
    }

    /// Gives a new process its state, if it is known by now which process made it.
    pub(crate) fn try_adopt(&mut self, pid: u32, waiting: &Waiting) -> Arrival {
        if self.seen == 0 {
            let fs = FsState { cwd: self.first, root: Root::Same, as_of: self.changes };
            self.insert(pid, fresh(fs, Origin::Known));
            return Arrival::Ready;
        }
        let child = match self.makers() {
            // A process that waits may have made this one.
            _ if waiting.has_others(pid) => None,
            Makers::One(at) => {
                self.clones[at].claimed = Some(pid);
                self.child(self.clones[at])
            }
            Makers::Alike(at) => self.child(self.clones[at]).map(|child| Process { origin: Origin::Ambiguous, ..child }),
            Makers::None => {
                self.insert_stranger(pid);
                return Arrival::Ready;
            }
            Makers::Differing => None,
        };
        match child {
            Some(child) => {
                self.insert(pid, child);
                Arrival::Ready
            }
            None => Arrival::Waits,
        }
    }

    /// Adds a process of which nothing is known.
    pub(crate) fn insert_stranger(&mut self, pid: u32) {
        self.strangers = Strangers::Some;
        self.insert(pid, fresh(unknown(self), Origin::Stranger));
    }

    fn insert(&mut self, pid: u32, process: Process) {
        self.seen += 1;
        self.table.insert(pid, process);
    }

    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.table.has(pid)
    }

    /// Returns whether the process is known and has not called `exit`.
    pub(crate) fn runs(&self, pid: u32) -> bool {
        self.table.get(pid).is_some_and(|process| process.life == Life::Running)
    }

    fn makers(&self) -> Makers {
        let mut free = (0..self.clones.len()).filter(|at| self.clones[*at].claimed.is_none());
        let Some(first) = free.next() else { return Makers::None };
        let mut makers = Makers::One(first);
        for other in free {
            if !self.alike(self.clones[first], self.clones[other]) {
                return Makers::Differing;
            }
            makers = Makers::Alike(first);
        }
        makers
    }

    /// Returns whether both calls would make the same process. Calls that share state would not.
    fn alike(&self, one: PendingClone, other: PendingClone) -> bool {
        let (Some(one_parent), Some(other_parent)) = (self.table.get(one.parent), self.table.get(other.parent)) else {
            return false;
        };
        let shares = |clone: PendingClone| clone.flags.is_none_or(|flags| flags.intersects(CloneFlags::FS | CloneFlags::FILES));
        let state = |process: &Process| (self.cwd_of(process), process.fs.get().root);
        one.flags == other.flags
            && !shares(one)
            && state(one_parent) == state(other_parent)
            && *one_parent.files.borrow() == *other_parent.files.borrow()
    }

    /// Returns the process that a call under way makes.
    fn child(&self, clone: PendingClone) -> Option<Process> {
        let (parent, flags) = (self.table.get(clone.parent)?, clone.flags?);
        let shared_fs = flags.contains(CloneFlags::FS);
        let fs = match shared_fs {
            true => Rc::clone(&parent.fs),
            false => {
                let root = if flags.contains(CloneFlags::NEW_MOUNTS) { Root::Other } else { parent.fs.get().root };
                Rc::new(Cell::new(FsState { cwd: self.cwd_of(parent), root, as_of: self.changes }))
            }
        };
        let files = match flags.contains(CloneFlags::FILES) {
            true => Rc::clone(&parent.files),
            false => Rc::new(RefCell::new(parent.files.borrow().clone())),
        };
        let origin = if shared_fs { parent.origin } else { Origin::Known };
        Some(Process { fs, files, origin, life: Life::Running, unfinished: Default::default() })
    }

    /// Registers the beginning of a call that makes a process.
    pub(crate) fn clone_begins(&mut self, parent: u32, flags: Option<CloneFlags>) {
        self.clones.retain(|clone| clone.parent != parent);
        self.clones.push(PendingClone { parent, flags, claimed: None });
    }

    /// Registers the return of a call that made `child`, or no process.
    pub(crate) fn clone_returns(&mut self, parent: u32, flags: Option<CloneFlags>, child: Option<u32>) {
        let at = self.clones.iter().position(|clone| clone.parent == parent);
        let claimed = at.and_then(|at| self.clones.swap_remove(at).claimed);
        if claimed == child && child.is_some() {
            return;
        }
        if let Some(mistaken) = claimed.filter(|pid| self.knows(*pid)) {
            self.insert_stranger(mistaken);
        }
        let Some(child) = child else { return };
        match self.table.get_mut(child) {
            Some(process) if process.origin == Origin::Ambiguous => {
                process.origin = Origin::Known;
                if process.life == Life::Ending {
                    self.table.remove(child);
                }
            }
            // The process was declared a stranger too early. What its lines have shown since is
            // worth more than its initial state.
            Some(process) if process.origin == Origin::Stranger && process.life == Life::Running => {}
            _ => match self.child(PendingClone { parent, flags, claimed: None }) {
                Some(process) => self.insert(child, process),
                None => self.insert_stranger(child),
            },
        }
    }

    /// Registers that the process called `exit`.
    pub(crate) fn ends(&mut self, pid: u32) {
        if let Some(process) = self.table.get_mut(pid) {
            process.life = Life::Ending;
        }
    }

    /// Removes a process that has ended.
    pub(crate) fn gone(&mut self, pid: u32) {
        self.clones.retain(|clone| clone.parent != pid);
        match self.table.get_mut(pid) {
            // The call of its maker will return its number, and must not make the process again.
            Some(process) if process.origin == Origin::Ambiguous => process.life = Life::Ending,
            _ => drop(self.table.remove(pid)),
        }
    }

    /// Moves a thread to the number of another, which has ended.
    pub(crate) fn becomes(&mut self, pid: u32, to: u32) {
        if pid == to {
            return;
        }
        if let Some(process) = self.table.remove(pid) {
            self.table.insert(to, process);
        }
        for clone in &mut self.clones {
            if clone.parent == pid {
                clone.parent = to;
            }
        }
    }
}

fn unknown(processes: &Processes) -> FsState {
    FsState { cwd: Cwd::Unknown, root: Root::Same, as_of: processes.changes }
}

fn fresh(fs: FsState, origin: Origin) -> Process {
    Process {
        fs: Rc::new(Cell::new(fs)),
        files: Rc::new(RefCell::new(Descriptors::default())),
        origin,
        life: Life::Running,
        unfinished: Default::default(),
    }
}
