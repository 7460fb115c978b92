//! The nodes of the base that a commit touches, as they are before it: a file in the staging
//! directory, which is on disk before the first of them is touched.
//!
//! If the commit is not made, those that are as before are noted ([`Restored`]): their times of
//! change are others. What always holds: that is done when nothing touches them any more, and
//! before the file goes. So it is repeated after a crash.
//!
//! What it does not do: of what another program has changed meanwhile, it finds what moves the
//! size, the time of the last write, the mode, the owner or the number of names. It does not look
//! for nodes that were moved.
//!
//! [`Restored`]: crate::restored::Restored

use std::collections::BTreeMap;

use pathwalk::{Attributes, Errno, Handle};
use serde::{Deserialize, Serialize};

use super::hand::Hand;
use super::journal::{Identity, Time, is_path, time};
use super::plan::Plan;
use super::{BEFORE, read, write};
use crate::base::Base;
use crate::branch::record;
use crate::stamp::Stamp;

/// The version of the format.
const VERSION: u8 = 1;

/// A node before it is touched.
#[derive(Serialize, Deserialize)]
struct State {
    path: Vec<u8>,
    node: Identity,
    stamp: u128,
    looks: Looks,
}

/// What stays of a node that is touched: its size, mode, owner, number of names, and the time of
/// its last write.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Looks(u64, u16, (u32, u32), u32, Time);

impl Looks {
    fn of(of: &Attributes) -> Looks {
        Looks(of.size, of.mode, (of.uid, of.gid), of.nlink, time(of.mtime))
    }
}

/// Writes down the nodes that a commit is going to touch.
pub(super) fn write_states(hand: &Hand, staging: &Handle, plan: &Plan<'_>) -> Result<(), Errno> {
    let mut states = BTreeMap::new();
    let changed = plan.changed.iter().map(|changed| changed.node.clone());
    let gone = plan.gone.iter().flat_map(|gone| [gone.dir.clone(), gone.node.clone()]);
    let copied = |number: &u64| record(plan.tree, *number).is_some_and(|record| record.origin.is_some());
    let named = plan.come.keys().filter(|number| copied(number)).map(|number| plan.copied_from(*number));
    for node in changed.chain(gone).map(Ok).chain(named) {
        let node = node?;
        // One that has no path any more is not found again.
        if let Some(path) = plan.base.path(&node) {
            // Before the stamp: the looks of a node that changes in between are others afterwards.
            let attributes = node.attributes()?;
            let (path, looks, stamp) = (path.into_vec(), Looks::of(&attributes), plan.base.stamp(&node)?.0);
            states.insert(path.clone(), State { path, node: hand.identity_by(&attributes), stamp, looks });
        }
    }
    if states.is_empty() {
        return Ok(());
    }
    let states: Vec<State> = states.into_values().collect();
    let bytes = postcard::to_stdvec(&(VERSION, states)).map_err(|_| Errno::EIO)?;
    write(hand, staging, BEFORE, &bytes)
}

/// Notes which nodes are as they were before a commit that is not made. Nothing touches them any
/// more.
pub(super) fn note_restored(hand: &Hand, staging: &Handle, base: &Base) -> Result<(), Errno> {
    if hand.find(staging, BEFORE.as_bytes())?.is_none() {
        return Ok(());
    }
    // One that is cut off was not finished, so nothing was touched.
    let Ok((VERSION, states)) = postcard::from_bytes::<(u8, Vec<State>)>(&read(hand, staging, BEFORE)?) else { return Ok(()) };
    let mut pairs = Vec::new();
    for State { path, node, stamp, looks } in states.into_iter().filter(|state| is_path(&state.path)) {
        let (now, attributes) = match now(hand, base, &path) {
            // It may be there the next time.
            Err(errno @ (Errno::EIO | Errno::ENOMEM)) => return Err(errno),
            Err(_) => continue,
            Ok(found) => found,
        };
        if hand.identity_by(&attributes) == node && Looks::of(&attributes) == looks && now.0 != stamp {
            pairs.push((now, Stamp(stamp)));
        }
    }
    base.note_restored(&pairs)
}

/// Returns what is at a path now.
fn now(hand: &Hand, base: &Base, path: &[u8]) -> Result<(Stamp, Attributes), Errno> {
    let found = hand.at(path)?;
    // Before the looks: a node that changes in between does not look as before.
    let stamp = base.stamp(&found)?;
    Ok((stamp, found.attributes()?))
}
