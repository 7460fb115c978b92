//! The ranges of one node that are locked, and how a request changes them.
//!
//! What always holds: the locks of one owner stand together, in the order of their ranges, and do
//! not overlap; two of the same kind do not even touch. Owners stand in the order in which they
//! came, so that a search finds the same conflict first as on Linux.
//!
//! Source: `posix_lock_inode` of Linux.
//!
//! What it does not do: it checks for no conflict with other owners. The caller did that.

use super::request::{Held, Id, LockKind, Want};

/// The effect of a request on the locks of its owner.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// The lock that has the requested range, if it is a new one and not one that was there.
    pub(super) new: Option<Id>,
    /// The locks that cover less than before, or are gone.
    pub(super) smaller: Vec<Id>,
}

/// Sets the range of a request to its kind, for its owner. Cost: linear in the number of locks.
pub(super) fn set(locks: &mut Vec<Held>, want: &Want, ids: &mut Id) -> Change {
    let first = locks.iter().position(|held| held.owner == want.owner).unwrap_or(locks.len());
    let count = locks[first..].iter().take_while(|held| held.owner == want.owner).count();
    let mut change = Change::default();
    let (mut rest, mut grown, mut is_replaced) = (Vec::with_capacity(count + 2), None::<Held>, false);
    let mut span = want.span;
    for held in &locks[first..first + count] {
        if held.kind == want.kind && held.span.touches(span) {
            // The first of these grows, unless a lock of the other kind made room for a new one.
            span = span.with(held.span);
            if grown.is_none() && !is_replaced {
                grown = Some(*held);
            } else {
                change.smaller.push(held.id);
            }
        } else if held.span.overlaps(want.span) {
            change.smaller.push(held.id);
            let (before, behind) = held.span.without(want.span);
            is_replaced |= before.is_none() && behind.is_none();
            let id = if behind.is_some() && before.is_some() { ids.next() } else { held.id };
            rest.extend(before.map(|span| Held { id, span, ..*held }));
            rest.extend(behind.map(|span| Held { span, ..*held }));
        } else {
            rest.push(*held);
        }
    }
    if want.kind != LockKind::Unlock {
        let lock = grown.unwrap_or_else(|| Held::new(*change.new.insert(ids.next()), want));
        let at = rest.iter().position(|held| held.span.start > span.start).unwrap_or(rest.len());
        rest.insert(at, Held { span, ..lock });
    }
    locks.splice(first..first + count, rest);
    change
}

/// Returns how many locks more there may be after a request than before.
pub(super) fn growth(locks: &[Held], want: &Want) -> u64 {
    let splits = |held: &&Held| {
        held.owner == want.owner && held.kind != want.kind && {
            let (before, behind) = held.span.without(want.span);
            held.span.overlaps(want.span) && before.is_some() && behind.is_some()
        }
    };
    let is_new = u64::from(want.kind != LockKind::Unlock);
    is_new + locks.iter().filter(splits).count() as u64
}
