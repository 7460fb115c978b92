//! A listing beside changes: what must be in it, and what may.
//!
//! It is not of one instant. A name that is there from its beginning to its end comes exactly once,
//! one that is absent all the while never; any other comes once or not, or again if it was taken
//! away and given meanwhile, as what it led to at some instant of the listing. Source:
//! `readdir(3)`: "If a file is removed from or added to the directory after the most recent call to
//! opendir() or rewinddir(), whether a subsequent call to readdir() returns an entry for that file
//! is unspecified."
//!
//! Names that others are changing while it lasts count as coming and going, wherever in the order
//! their changes are: a listing asks the file system, which knows of a change a moment before the
//! caches do.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::FileType;

use crate::compare::Identity;
use crate::model::crowd::Names;
use crate::outcome::AGAIN;
use crate::words::Slot;

/// A listing under way.
#[derive(Clone, Hash, Debug)]
pub(super) struct Span {
    pub(super) slot: Slot,
    /// Names that were there at all instants so far.
    always: BTreeSet<Vec<u8>>,
    /// What each name led to at some instant so far, by inode number.
    ever: BTreeMap<Vec<u8>, BTreeMap<u64, Kind>>,
}

/// A type that can be hashed: as `d_type` has it.
type Kind = u8;

fn kind_of(kind: FileType) -> Kind {
    (kind.mode_bits() >> 12) as Kind
}

impl Span {
    pub(super) fn new(slot: Slot, names: Names) -> Span {
        let mut span = Span { slot, always: names.keys().cloned().collect(), ever: BTreeMap::new() };
        span.sees(names);
        span
    }

    /// Another instant of it.
    pub(super) fn sees(&mut self, names: Names) {
        self.always.retain(|name| names.contains_key(name));
        for (name, (kind, ino)) in names {
            self.ever.entry(name).or_default().insert(ino, kind_of(kind));
        }
    }

    /// Whether this may be what was listed. Names that are just coming and going may be listed or
    /// not.
    pub(super) fn allows(&self, listed: &Names, coming_and_going: &BTreeSet<Vec<u8>>, identity: &mut Identity) -> bool {
        self.always.iter().all(|name| listed.contains_key(name) || coming_and_going.contains(name))
            && listed.iter().filter(|(name, _)| !matches!(name.as_slice(), b"." | b"..")).all(|(listed, (kind, ino))| {
                let again = listed.iter().position(|byte| *byte == AGAIN);
                let name = &listed[..again.unwrap_or(listed.len())];
                if coming_and_going.contains(name) {
                    return true;
                }
                if again.is_some() && self.always.contains(name) {
                    return false;
                }
                let nodes = self.ever.get(name).into_iter().flatten();
                let possible: Vec<u64> = nodes
                    .filter(|(left, of_kind)| **of_kind == kind_of(*kind) && identity.may_be_same(**left, *ino))
                    .map(|(left, _)| *left)
                    .collect();
                // Which of several it was is not known.
                if let [only] = possible[..] { identity.same(only, *ino) } else { !possible.is_empty() }
            })
    }
}
