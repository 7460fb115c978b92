//! Counters with their names, in what is printed for debugging.

use std::fmt::{Debug, Formatter, Result};

use super::{HandOver, Stats};

/// Hand-overs, each with the name of its reason.
struct ByReason<'a>(&'a Stats);

impl Debug for ByReason<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_map().entries(HandOver::ALL.map(|reason| (reason.name(), self.0.hand_overs_for(reason)))).finish()
    }
}

impl Debug for Stats {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        // Without `..`, so that none is forgotten.
        let Stats {
            mounts,
            hand_overs: _,
            fs_lookups,
            siblings,
            known_absent,
            waits,
            evictions,
            looks,
            dentries,
            inodes,
            side,
            whole_paths,
            budget,
            file_system,
        } = self;
        f.debug_struct("Stats")
            .field("mounts", mounts)
            .field("hand_overs", &ByReason(self))
            .field("fs_lookups", fs_lookups)
            .field("siblings", siblings)
            .field("known_absent", known_absent)
            .field("waits", waits)
            .field("evictions", evictions)
            .field("looks", looks)
            .field("dentries", dentries)
            .field("inodes", inodes)
            .field("side", side)
            .field("whole_paths", whole_paths)
            .field("budget", budget)
            .field("file_system", file_system)
            .finish()
    }
}
