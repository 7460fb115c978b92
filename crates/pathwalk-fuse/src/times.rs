//! How long the kernel keeps each answer.

use std::time::Duration;

use pathwalk::{Freshness, Handle};

use crate::{CacheTimes, Options, Reported};

/// How long the kernel keeps answers, by what the file system promises of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    others: CacheTimes,
    /// Of answers of which changes are reported, if they are kept for another time.
    reported: Option<CacheTimes>,
}

impl Times {
    pub(crate) fn new(options: &Options) -> Times {
        let reported = (options.reported == Reported::Forever).then_some(CacheTimes::FOREVER);
        Times { others: options.times, reported }
    }

    /// Limits how long the kernel keeps names, where it cannot be told to ask for all of them.
    pub(crate) fn limit_names(&mut self, to: Duration) {
        for times in [Some(&mut self.others), self.reported.as_mut()].into_iter().flatten() {
            times.entry = times.entry.min(to);
            times.absence = times.absence.min(to);
        }
    }

    /// Returns how long a name leads to this node, by which it was found.
    pub(crate) fn entry(&self, node: &Handle) -> Duration {
        self.by(|| node.name_freshness()).entry
    }

    /// Returns how long a name stays absent in a directory.
    pub(crate) fn absence(&self, dir: &Handle) -> Duration {
        self.by(|| dir.absence_freshness()).absence
    }

    /// Returns how long the attributes of a node stay the same.
    pub(crate) fn attributes(&self, node: &Handle) -> Duration {
        self.by(|| node.attributes_freshness()).attributes
    }

    /// Returns whether the listing of a directory stays the same until the kernel is told.
    pub(crate) fn keeps_listing(&self, dir: &Handle) -> bool {
        self.others.is_forever() || self.reported.is_some() && dir.absence_freshness() == Freshness::Stable
    }

    fn by(&self, freshness: impl FnOnce() -> Freshness) -> &CacheTimes {
        match &self.reported {
            Some(reported) if freshness() == Freshness::Stable => reported,
            _ => &self.others,
        }
    }
}
