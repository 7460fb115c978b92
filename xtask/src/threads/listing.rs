//! A listing beside changes: the names that it must have, and those that it may have.
//!
//! A listing is not of one instant. A name that exists from the beginning to the end of the listing
//! comes exactly once. A name that is absent all the while never comes. Any other name may come
//! once or not at all. If it was removed and made again meanwhile, it may come more than once. The
//! entry shows the node that the name led to at some instant of the listing. Source: `readdir(3)`:
//! "If a file is removed from or added to the directory after the most recent call to opendir() or
//! rewinddir(), whether a subsequent call to readdir() returns an entry for that file is
//! unspecified."
//!
//! Names that other threads change during the listing count as coming and going, wherever in the
//! order their changes are: a listing reads the file system, which has a change a moment before the
//! caches have it.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::FileType;

use crate::compare::Identity;
use crate::model::crowd::Names;
use crate::outcome::AGAIN;
use crate::words::Slot;

/// A listing in progress.
#[derive(Clone, Hash, Debug)]
pub(super) struct Span {
    pub(super) slot: Slot,
    /// The names that existed at all instants so far.
    always: BTreeSet<Vec<u8>>,
    /// The inode numbers that each name led to at some instant so far, with their types.
    ever: BTreeMap<Vec<u8>, BTreeMap<u64, Kind>>,
}

/// A type of node that can be hashed, in the form of `d_type`.
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

    /// Adds one more instant of the directory.
    pub(super) fn sees(&mut self, names: Names) {
        self.always.retain(|name| names.contains_key(name));
        for (name, (kind, ino)) in names {
            self.ever.entry(name).or_default().insert(ino, kind_of(kind));
        }
    }

    /// Returns whether these names may have been listed. Names that are coming and going may be
    /// listed or not.
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
                // With several possible inodes, it is unknown which one was listed.
                if let [only] = possible[..] { identity.same(only, *ino) } else { !possible.is_empty() }
            })
    }
}
