//! Reaping completions, and waiting for them.

use std::time::{Duration, Instant};

use pathwalk::Errno;

use crate::{Completion, Ring};

impl Ring {
    /// Returns the next completion, if there is one. Never blocks.
    pub fn reap(&mut self) -> Option<Completion> {
        if self.done.is_empty() {
            if self.outstanding == 0 {
                return None;
            }
            self.catch_up();
        }
        let completion = self.done.pop_front()?;
        self.outstanding -= 1;
        Some(completion)
    }

    /// Waits until `at_least` completions can be reaped, or all that are outstanding, if those are
    /// fewer. Returns the number that can be reaped. Source: `min_complete` of `io_uring_enter(2)`.
    pub fn wait(&mut self, at_least: usize) -> usize {
        loop {
            if let Some(ready) = self.ready(at_least) {
                return ready;
            }
            self.sleep(at_least, None);
        }
    }

    /// Does the same as [`wait`](Self::wait), for at most `time`: then `ETIME`. Source:
    /// `IORING_ENTER_EXT_ARG`.
    pub fn wait_for(&mut self, at_least: usize, time: Duration) -> Result<usize, Errno> {
        let Some(until) = Instant::now().checked_add(time) else { return Ok(self.wait(at_least)) };
        loop {
            if let Some(ready) = self.ready(at_least) {
                return Ok(ready);
            }
            if Instant::now() >= until {
                return Err(Errno::ETIME);
            }
            self.sleep(at_least, Some(until));
        }
    }

    /// Returns the number of completions that can be reaped, if that is enough.
    fn ready(&mut self, at_least: usize) -> Option<usize> {
        if self.done.len() < self.outstanding.min(at_least) {
            self.catch_up();
        }
        let ready = self.done.len();
        (ready >= self.outstanding.min(at_least)).then_some(ready)
    }

    fn sleep(&self, at_least: usize, until: Option<Instant>) {
        let wanted = self.outstanding.min(at_least) - self.done.len();
        let timeout = self.timeouts.keys().next().map(|(until, _)| *until);
        self.completions.sleep(wanted, until.into_iter().chain(timeout).min());
    }

    /// Checks the clock, and fetches the completions of the workers.
    fn catch_up(&mut self) {
        self.look_at_clock();
        self.completions.fetch(&mut self.done);
    }
}
