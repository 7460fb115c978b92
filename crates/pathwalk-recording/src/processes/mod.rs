//! The processes of a recording: where each is, what its descriptors lead to, and what it shares with others.
//!
//! - Nothing is guessed. What the recording does not tell is unknown, and unknown is what a process gets that nobody is known to have
//!   made: a *stranger*.
//! - A stranger may be a thread of any process. So when it changes its working directory, nobody's is known any more; and when anybody
//!   does, the strangers' are not. And from the first stranger on no descriptor is followed.
//! - What threads share is held once, and changes for all of them.

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

/// What a process sees as its root and mounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Root {
    Same,
    /// It changed them.
    Other,
}

/// Who changed the mounts below whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Own,
    Everyones,
}

/// What `CLONE_FS` shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FsState {
    cwd: Cwd,
    root: Root,
    /// What the counts of changes were when this became known.
    as_of: Changes,
}

/// Counts of successful changes of working directories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Changes {
    all: u64,
    by_strangers: u64,
}

/// Who made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Known,
    /// One of several, which are alike.
    Ambiguous,
    Stranger,
}

/// It is a process or a thread.
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
    /// It called `exit`. Its number may be given to another process from then on.
    Ending,
}

/// The beginning of a call that is under way.
#[derive(Clone, Default, Debug)]
pub(crate) struct Unfinished {
    /// Its text; empty if there is none.
    pub(crate) text: Vec<u8>,
    /// The number of its line.
    pub(crate) line: u64,
}

impl Unfinished {
    /// Is it of the call of this name?
    pub(crate) fn is_of(&self, name: &[u8]) -> bool {
        self.text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'('))
    }
}

/// All processes.
#[derive(Debug)]
pub(crate) struct Processes {
    table: table::Table,
    /// Where the first one starts.
    first: Cwd,
    changes: Changes,
    strangers: Strangers,
    clones: Vec<pending::PendingClone>,
    form: Option<who::Form>,
    seen: u64,
}

/// Was there any?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strangers {
    None,
    Some,
}

impl Processes {
    /// With the working directory of the first process.
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

    /// How many were seen.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The beginning of a call of `pid`, and room for one.
    pub(crate) fn unfinished(&mut self, pid: u32) -> Option<&mut Unfinished> {
        self.table.get_mut(pid).map(|process| &mut process.unfinished)
    }

    /// The numbers of all that are left.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.table.iter().map(|(pid, _)| pid).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Where the process is.
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

    /// The recording says where the process is.
    pub(crate) fn learn(&mut self, pid: u32, cwd: Cwd) {
        if let Some(process) = self.table.get(pid) {
            process.fs.set(FsState { cwd, as_of: self.changes, ..process.fs.get() });
        }
    }

    /// The process went somewhere.
    pub(crate) fn moved(&mut self, pid: u32, cwd: Cwd) {
        let Some(process) = self.table.get(pid) else { return };
        self.changes.all += 1;
        self.changes.by_strangers += u64::from(process.origin == Origin::Stranger);
        self.learn(pid, cwd);
    }

    /// From here on the process might have gone where nobody saw it, unless descriptors are followed.
    pub(crate) fn doubt(&mut self, pid: u32) {
        if let (Cwd::Known(place), Some(process)) = (self.cwd(pid), self.table.get(pid)) {
            process.fs.set(FsState { cwd: Cwd::Known(place.if_followed()), ..process.fs.get() });
        }
    }

    /// The root or the mounts are not those of the recording's beginning any more.
    pub(crate) fn new_root(&mut self, pid: u32, whose: Whose) {
        let own = self.root(pid) == Root::Other;
        let everyone = whose == Whose::Everyones && !own;
        let concerned = self.table.iter().filter(|(other, _)| everyone || *other == pid);
        for (_, process) in concerned {
            process.fs.set(FsState { root: Root::Other, ..process.fs.get() });
        }
    }

    /// The descriptors of the process, if they can be known at all.
    pub(crate) fn descriptors(&self, pid: u32) -> Option<RefMut<'_, Descriptors>> {
        if self.strangers == Strangers::Some {
            return None;
        }
        self.table.get(pid).map(|process| process.files.borrow_mut())
    }

    /// As `unshare` does.
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

    /// Another program runs: it has descriptors of its own, without those that are closed on exec.
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
