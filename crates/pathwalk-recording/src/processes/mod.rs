//! The processes of a recording: where each is, what its descriptors lead to, and what it shares
//! with others.
//!
//! - Nothing is guessed. What the recording does not contain is unknown. The state of a process
//!   without a known maker is unknown: such a process is a *stranger*.
//! - A stranger may be a thread of any process. So when a stranger changes its working directory,
//!   the working directories of all processes become unknown. When any process does, those of the
//!   strangers become unknown. And from the first stranger on, no descriptor is followed.
//! - The state that threads share is stored once, and changes for all of them.

mod descriptors;
mod lives;
mod pending;
mod table;
mod who;

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

use crate::directories::Place;
use crate::flags::CloneFlags;
pub(crate) use descriptors::{Descriptor, Descriptors};
pub(crate) use lives::Arrival;
pub(crate) use pending::{Room, Waiting};
pub(crate) use who::Part;

/// A working directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cwd {
    Known(Place),
    Unknown,
    Removed,
}

/// The root and mounts that a process sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Root {
    Same,
    /// Others than at the beginning of the recording: the process changed them.
    Other,
}

/// The processes for which a change of mounts holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Own,
    Everyones,
}

/// The state that `CLONE_FS` shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FsState {
    cwd: Cwd,
    root: Root,
    /// The counts of changes when this state became known.
    as_of: Changes,
}

/// The counts of successful changes of working directories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Changes {
    all: u64,
    by_strangers: u64,
}

/// The knowledge about a process' maker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Known,
    /// One of several calls, which would make the same process.
    Ambiguous,
    Stranger,
}

/// A process or a thread.
#[derive(Debug)]
struct Process {
    fs: Rc<Cell<FsState>>,
    files: Rc<RefCell<Descriptors>>,
    origin: Origin,
    life: Life,
    unfinished: Unfinished,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Running,
    /// A process that called `exit`. From then on, its number may be given to another process.
    Ending,
}

/// The beginning of a call that is under way.
#[derive(Clone, Default, Debug)]
pub(crate) struct Unfinished {
    /// The text, empty if there is none.
    pub(crate) text: Vec<u8>,
    /// The number of the line.
    pub(crate) line: u64,
}

impl Unfinished {
    /// Returns whether this is the beginning of a call of this name.
    pub(crate) fn is_of(&self, name: &[u8]) -> bool {
        self.text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'('))
    }
}

/// All processes.
#[derive(Debug)]
pub(crate) struct Processes {
    table: table::Table,
    /// The working directory in which the first process starts.
    first: Cwd,
    changes: Changes,
    strangers: Strangers,
    clones: Vec<pending::PendingClone>,
    form: Option<who::Form>,
    seen: u64,
}

/// The presence of strangers so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strangers {
    None,
    Some,
}

impl Processes {
    /// Creates the table, with the working directory of the first process.
    pub(crate) fn new(first: Cwd) -> Processes {
        Processes {
            table: table::Table::default(),
            first,
            changes: Changes::default(),
            strangers: Strangers::None,
            clones: Vec::new(),
            form: None,
            seen: 0,
        }
    }

    /// Returns the number of processes that were seen.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the storage for the beginning of a call of `pid`.
    pub(crate) fn unfinished(&mut self, pid: u32) -> Option<&mut Unfinished> {
        self.table.get_mut(pid).map(|process| &mut process.unfinished)
    }

    /// Returns the numbers of all processes that are left.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.table.iter().map(|(pid, _)| pid).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns the working directory of the process.
    pub(crate) fn cwd(&self, pid: u32) -> Cwd {
        self.table.get(pid).map_or(Cwd::Unknown, |process| self.cwd_of(process))
    }

    fn cwd_of(&self, process: &Process) -> Cwd {
        let fs = process.fs.get();
        let still = match process.origin {
            Origin::Stranger => fs.as_of.all == self.changes.all,
            Origin::Known | Origin::Ambiguous => fs.as_of.by_strangers == self.changes.by_strangers,
        };
        if still { fs.cwd } else { Cwd::Unknown }
    }

    pub(crate) fn root(&self, pid: u32) -> Root {
        self.table.get(pid).map_or(Root::Same, |process| process.fs.get().root)
    }

    /// Sets the working directory of the process, which the recording contains.
    pub(crate) fn learn(&mut self, pid: u32, cwd: Cwd) {
        if let Some(process) = self.table.get(pid) {
            process.fs.set(FsState { cwd, as_of: self.changes, ..process.fs.get() });
        }
    }

    /// Registers that the process changed its working directory.
    pub(crate) fn moved(&mut self, pid: u32, cwd: Cwd) {
        let Some(process) = self.table.get(pid) else { return };
        self.changes.all += 1;
        self.changes.by_strangers += u64::from(process.origin == Origin::Stranger);
        self.learn(pid, cwd);
    }

    /// Marks the working directory of the process as right only if descriptors are followed: from
    /// here on, an unrecorded call may have changed it.
    pub(crate) fn doubt(&mut self, pid: u32) {
        if let (Cwd::Known(place), Some(process)) = (self.cwd(pid), self.table.get(pid)) {
            process.fs.set(FsState { cwd: Cwd::Known(place.if_followed()), ..process.fs.get() });
        }
    }

    /// Registers that the root or the mounts are not those of the recording's beginning any more.
    pub(crate) fn new_root(&mut self, pid: u32, whose: Whose) {
        let own = self.root(pid) == Root::Other;
        let everyone = whose == Whose::Everyones && !own;
        let concerned = self.table.iter().filter(|(other, _)| everyone || *other == pid);
        for (_, process) in concerned {
            process.fs.set(FsState { root: Root::Other, ..process.fs.get() });
        }
    }

    /// Returns the descriptors of the process, if they can be known at all.
    pub(crate) fn descriptors(&self, pid: u32) -> Option<RefMut<'_, Descriptors>> {
        if self.strangers == Strangers::Some {
            return None;
        }
        self.table.get(pid).map(|process| process.files.borrow_mut())
    }

    /// Applies the flags of `unshare` to the process.
    pub(crate) fn unshare(&mut self, pid: u32, flags: CloneFlags) {
        let Some(process) = self.table.get_mut(pid) else { return };
        if flags.intersects(CloneFlags::FS | CloneFlags::NEW_MOUNTS) {
            process.fs = Rc::new(Cell::new(process.fs.get()));
        }
        if flags.contains(CloneFlags::FILES) {
            unshare_files(process);
        }
        if flags.contains(CloneFlags::NEW_MOUNTS) {
            self.new_root(pid, Whose::Own);
        }
    }

    /// Registers the execution of another program: the process gets descriptors of its own, without
    /// those that are closed on exec.
    pub(crate) fn execute(&mut self, pid: u32) {
        let Some(process) = self.table.get_mut(pid) else { return };
        unshare_files(process);
        process.files.borrow_mut().execute();
    }
}

fn unshare_files(process: &mut Process) {
    if Rc::strong_count(&process.files) > 1 {
        let own = process.files.borrow().clone();
        process.files = Rc::new(RefCell::new(own));
    }
}
