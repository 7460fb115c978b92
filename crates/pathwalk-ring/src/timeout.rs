//! Time: what is over completes when the owner looks.

use std::time::Instant;

use pathwalk::Errno;

use crate::Ring;
use crate::pool::Found;
use crate::punt::Which;
use crate::ring::HasLimits;

impl Ring {
    /// When the next timeout or time limit is over, for an owner who waits elsewhere: then [`reap`](Self::reap) finds what comes of it.
    pub fn next_timeout(&self) -> Option<Instant> {
        let first = self.timeouts.keys().next().map(|(until, _)| *until);
        let limit = if self.has_limits == HasLimits::Some { self.completions.next_limit() } else { None };
        first.into_iter().chain(limit).min()
    }

    /// Completes the timeouts that are over, and cancels what has a time limit that is.
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
                // With a worker, or answered just now.
                Found::Running | Found::Nowhere => self.completions.let_run(number),
            }
        }
        if self.outstanding == self.done.len() {
            self.has_limits = HasLimits::None;
        }
    }
}
