//! One named pipe: its readers and writers, and their waits for each other. `fifo(7)`, `pipe(7)`.
//!
//! What always holds: a change that ends a wait is made under the lock, and wakes all that wait for
//! it. An opener that waits for a partner goes by the number of partners that have come, not by
//! those that are there: a partner that has closed again releases it all the same.
//!
//! Source: `fs/pipe.c` of Linux: `fifo_open`, `wait_for_partner`, `pipe_read`, `anon_pipe_write`.

use std::sync::Arc;

use super::buffer::Buffer;
use super::words::Patience;
use crate::Errno;
use crate::cancellation::{Sleeper, Wake};
use crate::fs_api::OpenFor;
use crate::sync::{Condvar, Mutex, MutexGuard, wait};

pub(super) struct Pipe {
    /// Above the locks of cancellations; no file system is called under it.
    state: Mutex<State>,
    /// Readers sleep on this, and all openers. Linux: `rd_wait`.
    came: Condvar,
    /// Writers sleep on this. Linux: `wr_wait`.
    room: Condvar,
}

#[derive(Default)]
struct State {
    data: Buffer,
    readers: Ends,
    writers: Ends,
}

/// The open files at one end.
#[derive(Default)]
struct Ends {
    /// The number of open files, with openers that wait.
    open: usize,
    /// The number of opens so far. Linux: `r_counter`, `w_counter`.
    came: u64,
}

impl Ends {
    fn enter(&mut self) {
        self.open += 1;
        self.came += 1;
    }
}

impl State {
    fn ends(&mut self, what_for: OpenFor) -> impl Iterator<Item = &mut Ends> {
        let readers = what_for.contains(OpenFor::READ).then_some(&mut self.readers);
        let writers = what_for.contains(OpenFor::WRITE).then_some(&mut self.writers);
        readers.into_iter().chain(writers)
    }
}

/// The place where a thread sleeps.
#[derive(Clone, Copy)]
enum Until {
    Came,
    Room,
}

impl Pipe {
    pub(super) fn new() -> Pipe {
        Pipe { state: Mutex::default(), came: Condvar::new(), room: Condvar::new() }
    }

    /// Opens an end, or both, and waits for the other one if the opener is patient. `ENXIO` for a
    /// writer without patience, where there is no reader; `EAGAIN`, `ECANCELED`.
    pub(super) fn open(self: &Arc<Pipe>, what_for: OpenFor, patience: Patience) -> Result<(), Errno> {
        let mut sleeper = Sleeper::default();
        let mut state = self.state.lock();
        let (reads, writes) = (what_for.contains(OpenFor::READ), what_for.contains(OpenFor::WRITE));
        let is_alone = reads && !writes && state.writers.open == 0 || writes && !reads && state.readers.open == 0;
        match patience {
            Patience::OpensAtOnce if is_alone => return Err(Errno::EAGAIN),
            Patience::Nonblocking if is_alone && writes => return Err(Errno::ENXIO),
            _ => {}
        }
        state.ends(what_for).for_each(Ends::enter);
        self.came.notify_all();
        if !is_alone || patience != Patience::Waits {
            return Ok(());
        }
        let partners = |state: &State| if reads { state.writers.came } else { state.readers.came };
        let before = partners(&state);
        while partners(&state) == before {
            match self.sleep(state, Until::Came, &mut sleeper) {
                Ok(awake) => state = awake,
                Err(errno) => {
                    self.close(what_for);
                    return Err(errno);
                }
            }
        }
        Ok(())
    }

    /// Closes what was opened for this.
    pub(super) fn close(&self, what_for: OpenFor) {
        self.state.lock().ends(what_for).for_each(|ends| ends.open -= 1);
        self.came.notify_all();
        self.room.notify_all();
    }

    /// Takes data out: at least a byte; 0 at the end, where no writer is left.
    pub(super) fn read(self: &Arc<Pipe>, buffer: &mut [u8], patience: Patience) -> Result<usize, Errno> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut sleeper = Sleeper::default();
        let mut state = self.state.lock();
        loop {
            let length = state.data.read(buffer);
            if length > 0 {
                self.room.notify_all();
                return Ok(length);
            }
            if state.writers.open == 0 {
                return Ok(0);
            }
            if patience == Patience::Nonblocking {
                return Err(Errno::EAGAIN);
            }
            state = self.sleep(state, Until::Came, &mut sleeper)?;
        }
    }

    /// Puts all of the data in, and waits for room. A writer without patience puts in what fits;
    /// one whose wait is cancelled, or which loses the last reader, has put in what is returned.
    /// `EPIPE` without readers.
    pub(super) fn write(self: &Arc<Pipe>, data: &[u8], patience: Patience) -> Result<usize, Errno> {
        if data.is_empty() {
            return Ok(0);
        }
        let mut sleeper = Sleeper::default();
        let mut state = self.state.lock();
        if state.readers.open == 0 {
            return Err(Errno::EPIPE);
        }
        let mut done = state.data.merge(data);
        loop {
            let so_far = |errno| if done > 0 { Ok(done) } else { Err(errno) };
            if state.readers.open == 0 {
                return so_far(Errno::EPIPE);
            }
            let length = state.data.write(&data[done..]);
            if done + length > 0 {
                self.came.notify_all();
            }
            if done + length == data.len() {
                return Ok(data.len());
            }
            done += length;
            if patience == Patience::Nonblocking {
                return if done > 0 { Ok(done) } else { Err(Errno::EAGAIN) };
            }
            state = match self.sleep(state, Until::Room, &mut sleeper) {
                Ok(state) => state,
                Err(_) if done > 0 => return Ok(done),
                Err(errno) => return Err(errno),
            };
        }
    }

    /// Gives the lock back until woken. Spurious wake-ups are possible. `ECANCELED` if the thread's
    /// waits are cancelled. Linux: a signal.
    fn sleep<'a>(
        self: &'a Arc<Pipe>,
        state: MutexGuard<'a, State>,
        until: Until,
        sleeper: &mut Sleeper,
    ) -> Result<MutexGuard<'a, State>, Errno> {
        if !sleeper.has_begun() {
            // An observer is called without the lock, so the caller has to look again.
            drop(state);
            sleeper.begin(self.clone())?;
            return Ok(self.state.lock());
        }
        sleeper.go_on()?;
        let condvar = match until {
            Until::Came => &self.came,
            Until::Room => &self.room,
        };
        Ok(wait(condvar, state))
    }
}

impl Wake for Arc<Pipe> {
    /// Wakes all that sleep, to look whether they are cancelled.
    fn wake(&self) {
        // A thread that has looked, and does not sleep yet, holds the lock.
        drop(self.state.lock());
        self.came.notify_all();
        self.room.notify_all();
    }
}
