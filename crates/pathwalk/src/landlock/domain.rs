//! The rulesets of a context, and the rules for opening, making, removing and moving.
//!
//! A right is granted once each layer that handles it has a rule for it on the way up.

use std::collections::HashMap;
use std::sync::Arc;

use super::Denied;
use crate::Errno;
use crate::attr::FileType;
use crate::handle::Handle;
use crate::security::{Move, MoveKind, NodeId, Object, Rights};

/// One ruleset as it is enforced.
pub(super) struct Layer {
    pub(super) handled: Rights,
    pub(super) granted: HashMap<NodeId, Rights>,
    /// The places of the rules. As long as they are held, no other node gets their identities.
    pub(super) _held: Vec<Handle>,
}

/// The layers of a context, the first restriction first.
#[derive(Clone, Default)]
pub(super) struct Domain(Vec<Arc<Layer>>);

/// The greatest number of layers. Linux: `LANDLOCK_MAX_NUM_LAYERS`.
const MOST_LAYERS: usize = 16;

impl Domain {
    /// Returns the domain with one more layer: `E2BIG` if it has 16.
    pub(super) fn with(mut self, layer: Arc<Layer>) -> Result<Domain, Errno> {
        if self.0.len() == MOST_LAYERS {
            return Err(Errno::E2BIG);
        }
        self.0.push(layer);
        Ok(self)
    }

    /// Returns the layers that refuse some of these rights to an object.
    pub(super) fn refused(&self, object: &Object<'_>, rights: Rights) -> Denied {
        let mut denied = self.all_denied(rights);
        for node in object.and_above() {
            if denied.is_none() {
                break;
            }
            self.grant(node, Rights::all(), &mut denied);
        }
        denied
    }

    /// Returns the layers that handle each of these rights. No layer of a context lets a node move
    /// to another directory without a rule.
    fn all_denied(&self, rights: Rights) -> Denied {
        let mut denied = Denied::default();
        for (index, layer) in self.0.iter().enumerate() {
            denied.add(index, (layer.handled | Rights::REFER) & rights);
        }
        denied
    }

    /// Takes out the layers that grant some of `rights` by a rule about this very node.
    fn grant(&self, node: NodeId, rights: Rights, denied: &mut Denied) {
        for (index, layer) in self.0.iter().enumerate() {
            if let Some(granted) = layer.granted.get(&node) {
                denied.remove(index, *granted & rights);
            }
        }
    }

    /// Checks a link, or a rename from one directory to another: `EACCES` if one of the directories
    /// lacks a right to make or remove; `EXDEV` if one lacks `REFER`, or if the node would come to
    /// where it is restricted less. `needed` are the rights in the two directories. Linux:
    /// `current_check_refer_path`.
    pub(super) fn may_refer(&self, the: &Move<'_>, (leaves, arrives): (Rights, Rights)) -> Result<(), Errno> {
        let (mut from, mut to) = (self.below_mount(&the.from), self.below_mount(&the.to));
        if from.is_none() && to.is_none() {
            return Ok(());
        }
        let node = Below::of(self, &the.node);
        let back = the.target.filter(|_| the.how == MoveKind::Exchange).map(|target| Below::of(self, &target));
        // As long as the node could gain a right, all rights are compared and not only the needed
        // ones.
        let (mut compared, mut is_allowed) = ((Rights::all(), Rights::all()), (false, false));
        let mut may_gain = true;
        for node_above in the.to.mount_and_above() {
            let gains = |node: &Below, left: &Denied, reached: &Denied| left.gains_in(reached, &node.denied, node.kind);
            let loses_nothing = !gains(&node, &from, &to) && !back.as_ref().is_some_and(|back| gains(back, &to, &from));
            if may_gain && loses_nothing {
                may_gain = false;
                compared = (leaves, arrives);
                from.keep(leaves);
                to.keep(arrives);
                is_allowed = (is_allowed.0 || from.is_none(), is_allowed.1 || to.is_none());
                if is_allowed == (true, true) {
                    return Ok(());
                }
            }
            for (denied, compared, is_allowed) in
                [(&mut from, compared.0, &mut is_allowed.0), (&mut to, compared.1, &mut is_allowed.1)]
            {
                self.grant(*node_above, compared, denied);
                *is_allowed |= denied.only(compared).is_none();
            }
            if is_allowed == (true, true) {
                return Ok(());
            }
        }
        let lacks = |denied: &Denied, needed: Rights| !denied.only(needed & !Rights::REFER).is_none();
        Err(if lacks(&from, leaves) || lacks(&to, arrives) { Errno::EACCES } else { Errno::EXDEV })
    }

    /// Returns what is refused in a directory by the rules up to the root of its mount.
    fn below_mount(&self, dir: &Object<'_>) -> Denied {
        let mut denied = self.all_denied(Rights::all());
        for node in dir.in_mount() {
            self.grant(*node, Rights::all(), &mut denied);
            if denied.is_none() {
                break;
            }
        }
        denied
    }
}

/// A node that is moved, with what rules about itself leave refused.
struct Below {
    kind: FileType,
    denied: Denied,
}

impl Below {
    fn of(domain: &Domain, node: &Object<'_>) -> Below {
        let mut denied = domain.all_denied(Rights::all());
        domain.grant(node.node(), Rights::all(), &mut denied);
        Below { kind: node.kind(), denied }
    }
}
