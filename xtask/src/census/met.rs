//! One step and what it met, in the form that rules test.
//!
//! This module reports the step, its answer, what was seen after it and what came before. It judges
//! nothing. In a program that is not watched, the state before the step is unknown.

use std::collections::{HashMap, HashSet};

use pathwalk::{Errno, FileType, MountFlags};

use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::{Answer, Node, Outcome};
use crate::program::{Settings, Step};
use crate::watch::Watched;
use crate::words::Slot;

/// The earlier steps of the same program.
#[derive(Default)]
pub(super) struct Past {
    /// The paths that led nowhere, as they were written.
    pub(super) absent: HashSet<Vec<u8>>,
    /// The paths that were removed.
    pub(super) removed: HashSet<Vec<u8>>,
    /// The actor that opened each descriptor.
    pub(super) openers: HashMap<u8, Actor>,
}

/// A step with its answer.
pub(super) struct Met<'a> {
    pub(super) step: &'a Step,
    pub(super) outcome: &'a Outcome,
    pub(super) settings: Settings,
    pub(super) mount: MountFlags,
    /// The whole tree and all descriptors before the step, in a program that is watched.
    pub(super) before: Option<&'a Watched>,
    pub(super) past: &'a Past,
    /// The paths in the step.
    pub(super) places: Vec<(Option<Slot>, &'a [u8])>,
}

impl<'a> Met<'a> {
    pub(super) fn op(&self) -> &'a Op {
        &self.step.op
    }

    pub(super) fn actor(&self) -> Actor {
        self.step.actor
    }

    pub(super) fn verb(&self) -> &'static str {
        self.step.op.verb()
    }

    pub(super) fn is(&self, verbs: &[&str]) -> bool {
        verbs.contains(&self.verb())
    }

    pub(super) fn fails(&self, errno: Errno) -> bool {
        self.outcome.answer == Answer::Failed(errno)
    }

    pub(super) fn succeeds(&self) -> bool {
        !matches!(self.outcome.answer, Answer::Failed(_) | Answer::NotCarriedOut)
    }

    /// Returns the first path; empty for an operation without one.
    pub(super) fn path(&self) -> &'a [u8] {
        self.places.first().map_or(b"", |place| place.1)
    }

    /// Returns the second path.
    pub(super) fn other(&self) -> &'a [u8] {
        self.places.get(1).map_or(b"", |place| place.1)
    }

    pub(super) fn ends_with_slash(&self) -> bool {
        self.path().len() > 1 && self.path().ends_with(b"/") && self.last() != b""
    }

    /// Returns the last component of the first path.
    pub(super) fn last(&self) -> &'a [u8] {
        last(self.path())
    }

    /// Returns the node that the first path names, after the step.
    pub(super) fn named(&self) -> Option<&'a Node> {
        self.outcome.seen.first()?.as_ref().ok()
    }

    /// Returns the directory of the node that the first path names, after the step.
    pub(super) fn directory(&self) -> Option<&'a Node> {
        self.outcome.seen.get(1)?.as_ref().ok()
    }

    pub(super) fn names_a(&self, kind: FileType) -> bool {
        self.named().is_some_and(|node| node.kind == kind)
    }

    /// Returns the node that had exactly these names from the root before the step.
    pub(super) fn node_before(&self, path: &[u8]) -> Option<&'a Node> {
        let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
        self.before?.tree.get(&path[..end])
    }

    /// Returns whether a path, without following links, led to a node of this type before the step.
    pub(super) fn was_a(&self, path: &[u8], kind: FileType) -> bool {
        self.node_before(path).is_some_and(|node| node.kind == kind)
    }

    /// Returns the node that a descriptor was open on before the step.
    pub(super) fn open_before(&self, slot: Slot) -> Option<&'a Node> {
        Some(&self.before?.slots.get(&slot.0)?.node)
    }

    /// Returns the node that a descriptor is open on after the step.
    pub(super) fn open_after(&self, slot: Slot) -> Option<&'a Node> {
        Some(&self.outcome.watched.as_ref()?.slots.get(&slot.0)?.node)
    }

    /// Returns the node that the first path starts at, where that is a descriptor.
    pub(super) fn start(&self) -> Option<&'a Node> {
        self.open_before(self.places.first()?.0?)
    }

    /// Returns the number of names that the step added.
    pub(super) fn grown_by(&self) -> Option<usize> {
        self.outcome.watched.as_ref()?.tree.len().checked_sub(self.before?.tree.len())
    }

    pub(super) fn makes(&self) -> bool {
        self.is(&["mkdir", "mknod", "symlink", "link"])
            || matches!(self.op(), Op::Open { flags, .. } if flags.contains(pathwalk::OpenFlags::CREATE))
    }
}

/// Returns the last component of a path; empty for the root.
pub(super) fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').find(|name| !name.is_empty()).unwrap_or_default()
}

/// Returns the components of a path.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}
