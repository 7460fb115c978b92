//! One resource of an account: what is used of it, its limits, and the time of the soft one.
//!
//! Source: `dquot_add_space`, `dquot_add_inodes` and `do_set_dqblk` of Linux.

use pathwalk::{Errno, Timestamp};

use crate::clock::Clock;

/// One resource of an account.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) struct Meter {
    pub(super) used: u64,
    pub(super) hard: Option<u64>,
    pub(super) soft: Option<u64>,
    /// The second from which the soft limit is a hard one, if it is exceeded.
    pub(super) until: Option<i64>,
}

impl Meter {
    /// Takes an amount or nothing: `EDQUOT`. The clock is read only beyond the soft limit.
    pub(super) fn take(&mut self, count: u64, clock: &Clock, grace: i64) -> Result<(), Errno> {
        let total = self.used.saturating_add(count);
        if self.hard.is_some_and(|hard| total > hard) {
            return Err(Errno::EDQUOT);
        }
        if self.soft.is_some_and(|soft| total > soft) {
            let now = clock.now().seconds;
            if self.until.is_some_and(|until| now >= until) {
                return Err(Errno::EDQUOT);
            }
            self.until.get_or_insert(now.saturating_add(grace));
        }
        self.used = total;
        Ok(())
    }

    /// Gives an amount back. The grace time ends if the soft limit is no longer exceeded.
    pub(super) fn give(&mut self, count: u64) {
        debug_assert!(count <= self.used, "more was given back than was taken");
        self.used = self.used.saturating_sub(count);
        if self.soft.is_none_or(|soft| self.used <= soft) {
            self.until = None;
        }
    }

    /// Sets the limits. If the soft one is exceeded, its grace time begins anew.
    pub(super) fn limit(&mut self, hard: Option<u64>, soft: Option<u64>, now: Timestamp, grace: i64) {
        let exceeded = soft.is_some_and(|soft| self.used > soft);
        let until = exceeded.then(|| now.seconds.saturating_add(grace));
        *self = Meter { used: self.used, hard, soft, until };
    }
}
