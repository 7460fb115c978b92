//! A program carried out by the engine: a context for each process, and a thread for each call that
//! may wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{spawn, yield_now};
use std::time::Duration;

use pathwalk::{
    Cancellation, Context, Credentials, Errno, File, Lease, LockKind, LockOwner, LockRange, LockWait, OpenFlags, Vfs,
};
use pathwalk_memfs::MemFs;

use crate::program::{Access, Answer, Call, FILES, Family, Holder, PROCESSES, SLOTS, Wait};

pub(crate) struct Engine {
    vfs: Vfs,
    processes: Vec<Process>,
    answers: Receiver<(usize, Answer, Opened)>,
    /// The processes whose call has not returned, with a means to interrupt each.
    pending: BTreeMap<usize, Cancellation>,
    /// The process that was interrupted, until its call returns.
    interrupted: Option<usize>,
    /// The answers that are known at once.
    ready: BTreeMap<usize, Answer>,
}

struct Process {
    context: Context,
    slots: [Option<Arc<File>>; SLOTS],
    leases: [Option<Lease>; SLOTS],
    /// To its thread for calls that may wait.
    waiting: Sender<Waiting>,
}

/// A file that was opened, and its slot.
type Opened = Option<(usize, Arc<File>)>;

struct Waiting {
    call: Call,
    context: Context,
    file: Option<Arc<File>>,
    cancel: Cancellation,
    /// The owners of locks, by process.
    owners: Arc<[LockOwner]>,
}

impl Engine {
    /// Creates processes. Holders of leases have `break_time`; any time, if that is zero.
    pub(crate) fn new(break_time: Duration) -> Engine {
        let builder = Vfs::builder().budget(Vfs::budget_for(100)).leases(break_time);
        let vfs = builder.build(MemFs::new()).expect("a small budget is enough");
        let root = vfs.context(Credentials::root());
        (0..FILES).for_each(|file| root.write(path(file), "0123456789").expect("a file can be made"));
        let (told, answers) = channel();
        let process = |number: usize| {
            let (waiting, calls) = channel::<Waiting>();
            let told = told.clone();
            spawn(move || {
                for Waiting { call, context, file, cancel, owners } in calls {
                    let mut opened = None;
                    let answer = cancel.during(|| match call {
                        Call::Open { slot, file, access, wait } => answered(open(&context, file, access, wait).map(|file| {
                            opened = Some((slot, Arc::new(file)));
                            Answer::default()
                        })),
                        Call::Truncate { file } => answered(context.truncate(path(file), 10).map(|()| Answer::default())),
                        _ => perform(&call, file.as_deref(), &owners),
                    });
                    // The file may be closed once the answer is known.
                    drop((file, context));
                    if told.send((number, answer, opened)).is_err() {
                        return;
                    }
                }
            });
            Process { context: root.clone(), slots: Default::default(), leases: Default::default(), waiting }
        };
        let processes = (0..PROCESSES).map(process).collect();
        Engine { vfs, processes, answers, pending: BTreeMap::new(), interrupted: None, ready: BTreeMap::new() }
    }

    pub(crate) fn begin(&mut self, process: usize, call: &Call) {
        let owners: Arc<[LockOwner]> = self.processes.iter().map(|process| process.context.lock_owner()).collect();
        let of = &mut self.processes[process];
        match *call {
            Call::Interrupt => {
                self.pending[&process].cancel();
                self.interrupted = Some(process);
            }
            Call::Open { slot, .. } => {
                (of.slots[slot], of.leases[slot]) = (None, None);
                self.send(process, call, None, owners);
            }
            Call::Truncate { .. } => self.send(process, call, None, owners),
            Call::Lease { slot, kind } => {
                let leased = of.lease(slot, kind).map(|()| Answer::default());
                self.ready.insert(process, answered(leased));
            }
            Call::Close { slot } => {
                let errno = if of.slots[slot].take().is_some() { 0 } else { Errno::EBADF.raw() };
                self.ready.insert(process, Answer { errno, ..Answer::default() });
            }
            Call::CloseDuplicate { slot }
            | Call::Set { slot, .. }
            | Call::Get { slot, .. }
            | Call::Flock { slot, .. }
            | Call::GetLease { slot } => {
                let file = of.slots[slot].clone();
                if call.waits() {
                    self.send(process, call, file, owners);
                } else {
                    self.ready.insert(process, perform(call, file.as_deref(), &owners));
                }
            }
            Call::Expire => unreachable!("it is no call"),
        }
    }

    /// Has the process's thread carry out a call that may wait.
    fn send(&mut self, process: usize, call: &Call, file: Option<Arc<File>>, owners: Arc<[LockOwner]>) {
        let (of, cancel) = (&self.processes[process], Cancellation::new());
        self.pending.insert(process, cancel.clone());
        // It opens files as the process does.
        let context = of.context.clone().with_lock_owner(of.context.lock_owner());
        of.waiting.send(Waiting { call: *call, context, file, cancel, owners }).expect("its thread lives");
    }

    /// Returns the answers of all calls that do not wait.
    pub(crate) fn settle(&mut self) -> BTreeMap<usize, Answer> {
        let mut answers = std::mem::take(&mut self.ready);
        loop {
            for (process, answer, opened) in self.answers.try_iter() {
                self.pending.remove(&process);
                if let Some((slot, file)) = opened {
                    self.processes[process].slots[slot] = Some(file);
                }
                self.interrupted.take_if(|interrupted| *interrupted == process);
                answers.insert(process, answer);
            }
            if self.interrupted.is_none() && self.vfs.locks().waiting == self.pending.len() as u64 {
                return answers;
            }
            yield_now();
        }
    }

    /// Interrupts each call that waits, until none does.
    pub(crate) fn interrupt_all(&mut self) {
        while let Some(process) = self.pending.keys().next().copied() {
            self.begin(process, &Call::Interrupt);
            self.settle();
        }
    }

    /// Closes all files. No call waits.
    pub(crate) fn reset(&mut self) {
        self.processes.iter_mut().for_each(|process| process.slots = Default::default());
        assert_eq!(self.vfs.locks(), Default::default(), "no file is open");
        self.processes.iter_mut().for_each(|process| process.leases = Default::default());
    }
}

impl Process {
    fn lease(&mut self, slot: usize, kind: LockKind) -> Result<(), Errno> {
        let file = self.slots[slot].as_ref().ok_or(Errno::EBADF)?;
        let Self { leases, .. } = self;
        match (kind, leases[slot].take()) {
            (LockKind::Unlock, None) => Err(Errno::EAGAIN),
            (LockKind::Unlock, Some(lease)) => lease.set(kind),
            (kind, before) => match file.lease(kind) {
                Ok(lease) => {
                    leases[slot] = Some(lease);
                    Ok(())
                }
                Err(errno) => {
                    leases[slot] = before;
                    Err(errno)
                }
            },
        }
    }
}

fn open(context: &Context, file: usize, access: Access, wait: Wait) -> Result<File, Errno> {
    let flags = match access {
        Access::Read => OpenFlags::READ,
        Access::Write => OpenFlags::WRITE,
        Access::Both => OpenFlags::READ | OpenFlags::WRITE,
    };
    context.open(path(file), flags | if wait == Wait::Not { OpenFlags::NONBLOCK } else { OpenFlags::empty() })
}

fn path(file: usize) -> String {
    format!("/{file}")
}

fn perform(call: &Call, file: Option<&File>, owners: &[LockOwner]) -> Answer {
    answered(answer(call, file, owners))
}

fn answered(result: Result<Answer, Errno>) -> Answer {
    let failed = |errno: Errno| Answer { errno: errno.raw(), ..Answer::default() };
    match result {
        Ok(answer) => answer,
        // In the kernel, a signal ends a wait.
        Err(Errno::ECANCELED) => failed(Errno::EINTR),
        Err(errno) => failed(errno),
    }
}

fn answer(call: &Call, file: Option<&File>, owners: &[LockOwner]) -> Result<Answer, Errno> {
    let file = file.ok_or(Errno::EBADF)?;
    let wait = |wait| if wait == Wait::Waits { LockWait::Yes } else { LockWait::No };
    let range = |start: i64, len: i64| LockRange::new(start as u64, len as u64);
    let found = match *call {
        Call::Set { family: Family::Process, kind, start, len, wait: of, .. } => {
            file.setlk(kind, range(start, len), wait(of))?;
            None
        }
        Call::Set { family: Family::File, kind, start, len, wait: of, .. } => {
            file.ofd_setlk(kind, range(start, len), wait(of))?;
            None
        }
        Call::Get { family: Family::Process, kind, start, len, .. } => Some(file.getlk(kind, range(start, len))?),
        Call::Get { family: Family::File, kind, start, len, .. } => Some(file.ofd_getlk(kind, range(start, len))?),
        Call::Flock { kind, wait: of, .. } => {
            file.flock(kind, wait(of))?;
            None
        }
        Call::CloseDuplicate { .. } => {
            file.locks_of(file.lock_owner()).release();
            None
        }
        Call::GetLease { .. } => return Ok(Answer { lease: Some(file.getlease()?), ..Answer::default() }),
        _ => unreachable!("it was carried out"),
    };
    let holder = |owner: LockOwner| match owners.iter().position(|known| *known == owner) {
        Some(process) => Holder::Process(process),
        None => Holder::File,
    };
    let lock = found.map(|found| match found {
        None => (LockKind::Unlock, 0, 0, Holder::File),
        Some(lock) => (lock.kind, lock.range.start as i64, lock.range.len as i64, holder(lock.owner)),
    });
    Ok(Answer { lock, ..Answer::default() })
}
