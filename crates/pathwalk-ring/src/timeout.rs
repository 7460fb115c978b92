//! Timeouts and time limits: what has expired completes when the owner checks the clock.

use std::time::Instant;

use pathwalk::Errno;

use crate::Ring;
use crate::pool::Found;
use crate::punt::Which;
use crate::ring::HasLimits;

impl Ring {
    /// Returns the instant at which the next timeout or time limit expires, for an owner that waits
    /// elsewhere. From then on [`reap`](Self::reap) returns the completion.
    pub fn next_timeout(&self) -> Option<Instant> {
        let first = self.timeouts.keys().next().map(|(until, _)| *until);
        let limit = if self.has_limits == HasLimits::Some { self.completions.next_limit() } else { None };
        first.into_iter().chain(limit).min()
    }

    /// Completes the timeouts that have expired, and cancels entries whose time limits have.
    pub(crate) fn look_at_clock(&mut self) {
        if self.timeouts.is_empty() && self.has_limits == HasLimits::None {
            return;
        }
        let now = Instant::now();
        while let Some(first) = self.timeouts.first_entry().filter(|first| first.key().0 <= now) {
            let user_data = first.remove();
            self.complete(user_data, Err(Errno::ETIME));
        }
        if self.has_limits == HasLimits::Some {
            self.look_at_limits(now);
        }
    }

    fn look_at_limits(&mut self, now: Instant) {
        for number in self.completions.overdue(now) {
            match self.pool.cancel(self.completions.owner, Which::Limit(number), self.context.vfs()) {
                Found::Cut => {}
                // A worker has it, or it was just completed.
                Found::Running | Found::Nowhere => self.completions.let_run(number),
            }
        }
        if self.outstanding == self.done.len() {
            self.has_limits = HasLimits::None;
        }
    }
}
