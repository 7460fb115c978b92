//! The times of accesses.
//!
//! Whether an access is stored is decided when it happens. It is stored at the end of the call, or
//! before the call sets the time by itself or answers with it: meanwhile the clock stands still.
//!
//! Source: `touch_atime`, `atime_needs_update`, `relatime_need_update` of Linux.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::flags::NodeFlags;
use crate::node::{Id, Node, Stamp, State};
use crate::{Call, Options};

/// The accesses of which the time is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accesses {
    /// None, as on a mount with `noatime`.
    Never,
    /// Those to a node of which the time of access is not after the last change, or a day old, as
    /// on a mount with `relatime`.
    Relative,
    /// All, as on a mount with `strictatime`.
    Always,
}

/// The years 2020 to 2100, in seconds since 1970. The clock's times are in this range. Of the times
/// that are set, those before it are more than a day old, and those after it are to come.
const CLOCK: std::ops::Range<i64> = 1_577_836_800..4_102_444_800;

/// Returns a value by whose order times are ordered.
fn instant(stamp: Stamp) -> (i64, u32) {
    match stamp {
        Stamp::Clock(tick) => (CLOCK.start, tick),
        Stamp::Set { seconds, nanoseconds } => (seconds, nanoseconds),
    }
}

fn is_due(node: &Node, rule: Accesses, now: Stamp) -> bool {
    let accessed = instant(node.accessed);
    let is_out_of_date = || {
        let is_old = matches!(node.accessed, Stamp::Set { seconds, .. } if seconds < CLOCK.start);
        is_old || instant(node.modified) >= accessed || instant(node.changed) >= accessed
    };
    let is_due = match rule {
        Accesses::Never => false,
        Accesses::Relative => is_out_of_date(),
        Accesses::Always => true,
    };
    is_due && node.accessed != now && !node.flags.contains(NodeFlags::NOATIME)
}

/// Notes an access to a node, if its time is due.
pub(crate) fn access(state: &State, options: &Options, accessed: &RefCell<BTreeSet<Id>>, id: Id) {
    let node = state.node(id);
    let rule = if node.is_directory() { options.directory_accesses } else { options.accesses };
    if is_due(node, rule, state.now()) {
        accessed.borrow_mut().insert(id);
    }
}

impl Call<'_> {
    /// Notes an access to a node, if its time is due.
    pub(crate) fn access(&self, id: Id) {
        access(&self.state, self.options, &self.accessed, id);
    }

    /// Stores the times of the accesses so far.
    pub(crate) fn store_accesses(&mut self) {
        let now = self.state.now();
        for id in self.accessed.take() {
            if let Some(node) = self.state.node_if_there(id) {
                node.accessed = now;
            }
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.store_accesses();
    }
}
