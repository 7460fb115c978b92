//! A program carried out by the engine: a context for each process, and a thread for each call that
//! may wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{spawn, yield_now};

use pathwalk::{Cancellation, Context, Credentials, Errno, File, LockKind, LockOwner, LockRange, LockWait, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;

use crate::program::{Access, Answer, Call, FILES, Family, Holder, PROCESSES, SLOTS, Wait};

pub(crate) struct Engine {
    vfs: Vfs,
    processes: Vec<Process>,
    answers: Receiver<(usize, Answer)>,
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
    /// To its thread for calls that may wait.
    waiting: Sender<Waiting>,
}

struct Waiting {
    call: Call,
    file: Option<Arc<File>>,
    cancel: Cancellation,
    /// The owners of locks, by process.
    owners: Arc<[LockOwner]>,
}

impl Engine {
    pub(crate) fn new() -> Engine {
        let vfs = Vfs::builder().budget(Vfs::budget_for(100)).build(MemFs::new()).expect("a small budget is enough");
        let root = vfs.context(Credentials::root());
        (0..FILES).for_each(|file| root.write(path(file), "0123456789").expect("a file can be made"));
        let (told, answers) = channel();
        let process = |number: usize| {
            let (waiting, calls) = channel::<Waiting>();
            let told = told.clone();
            spawn(move || {
                for Waiting { call, file, cancel, owners } in calls {
                    let answer = cancel.during(|| perform(&call, file.as_deref(), &owners));
                    // The file may be closed once the answer is known.
                    drop(file);
                    if told.send((number, answer)).is_err() {
                        return;
                    }
                }
            });
            Process { context: root.clone(), slots: Default::default(), waiting }
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
            Call::Open { slot, file, access } => {
                let flags = match access {
                    Access::Read => OpenFlags::READ,
                    Access::Write => OpenFlags::WRITE,
                    Access::Both => OpenFlags::READ | OpenFlags::WRITE,
                };
                of.slots[slot] = None;
                of.slots[slot] = Some(Arc::new(of.context.open(path(file), flags).expect("it can be opened")));
                self.ready.insert(process, Answer::default());
            }
            Call::Close { slot } => {
                let errno = if of.slots[slot].take().is_some() { 0 } else { Errno::EBADF.raw() };
                self.ready.insert(process, Answer { errno, lock: None });
            }
            Call::CloseDuplicate { slot } | Call::Set { slot, .. } | Call::Get { slot, .. } | Call::Flock { slot, .. } => {
                let file = of.slots[slot].clone();
                if call.waits() {
                    let cancel = Cancellation::new();
                    self.pending.insert(process, cancel.clone());
                    of.waiting.send(Waiting { call: *call, file, cancel, owners }).expect("its thread lives");
                } else {
                    self.ready.insert(process, perform(call, file.as_deref(), &owners));
                }
            }
        }
    }

    /// Returns the answers of all calls that do not wait.
    pub(crate) fn settle(&mut self) -> BTreeMap<usize, Answer> {
        let mut answers = std::mem::take(&mut self.ready);
        loop {
            for (process, answer) in self.answers.try_iter() {
                self.pending.remove(&process);
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
        assert_eq!((self.vfs.locks().held, self.vfs.locks().waiting), (0, 0), "no file is open");
    }
}

fn path(file: usize) -> String {
    format!("/{file}")
}

fn perform(call: &Call, file: Option<&File>, owners: &[LockOwner]) -> Answer {
    match answer(call, file, owners) {
        Ok(answer) => answer,
        // In the kernel, a signal ends a wait.
        Err(Errno::ECANCELED) => Answer { errno: Errno::EINTR.raw(), lock: None },
        Err(errno) => Answer { errno: errno.raw(), lock: None },
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
        Call::Open { .. } | Call::Close { .. } | Call::Interrupt => unreachable!("it was carried out"),
    };
    let holder = |owner: LockOwner| match owners.iter().position(|known| *known == owner) {
        Some(process) => Holder::Process(process),
        None => Holder::File,
    };
    let lock = found.map(|found| match found {
        None => (LockKind::Unlock, 0, 0, Holder::File),
        Some(lock) => (lock.kind, lock.range.start as i64, lock.range.len as i64, holder(lock.owner)),
    });
    Ok(Answer { errno: 0, lock })
}
