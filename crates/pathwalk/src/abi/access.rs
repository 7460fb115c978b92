//! The times of accesses: which of them are stored.
//!
//! Source: `atime_needs_update` and `relatime_need_update` of Linux.

use crate::attr::{Attributes, Timestamp};

/// The age in seconds from which a time of access is stored anew, whatever happened meanwhile.
const DAY: i64 = 24 * 60 * 60;

/// The accesses of which a mount has the time stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessRule {
    /// No access: `noatime`, `nodiratime` for a directory, or read-only.
    Never,
    /// The first access after a change, and the first one of a day: `relatime`.
    Relative,
    /// Each access: `strictatime`.
    Always,
}

impl AccessRule {
    /// Returns whether an access at `now` is stored. A time that is stored already is not stored
    /// again.
    pub(crate) fn is_due(self, of: &Attributes, now: Timestamp) -> bool {
        let is_due = match self {
            AccessRule::Never => false,
            AccessRule::Relative => is_out_of_date(of, now),
            AccessRule::Always => true,
        };
        is_due && of.atime != now
    }
}

/// Returns whether the time of the last access is not after the last change, or a day old.
pub(crate) fn is_out_of_date(of: &Attributes, now: Timestamp) -> bool {
    of.mtime >= of.atime || of.ctime >= of.atime || now.seconds.saturating_sub(of.atime.seconds) >= DAY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::FileType;

    #[test]
    fn a_time_is_stored_after_a_change_and_once_a_day() {
        let at = |seconds| Timestamp { seconds, nanoseconds: 0 };
        let now = at(1_000_000);
        let node = |atime, mtime, ctime| {
            let mut node = Attributes::new(FileType::Regular, 0o644);
            (node.atime, node.mtime, node.ctime) = (at(atime), at(mtime), at(ctime));
            node
        };
        let due = |rule: AccessRule, node: &Attributes| rule.is_due(node, now);
        // The kernel's answers, with these times set by `utimensat(2)`.
        let rows = [
            (node(999_000, 998_000, 998_000), false),
            (node(999_000, 999_000, 998_000), true),
            (node(999_000, 998_000, 999_000), true),
            (node(999_000, 999_500, 998_000), true),
            (node(1_000_000 - DAY + 1, 0, 0), false),
            (node(1_000_000 - DAY, 0, 0), true),
            (node(2_000_000, 1_000_000, 1_000_000), false),
            (node(1_000_000, 1_000_000, 1_000_000), false),
            (node(i64::MIN, i64::MIN, i64::MIN), true),
        ];
        for (node, is_due) in rows {
            assert_eq!(due(AccessRule::Relative, &node), is_due, "{node:?}");
            assert_eq!(due(AccessRule::Always, &node), node.atime != now, "{node:?}");
            assert!(!due(AccessRule::Never, &node));
        }
    }
}
