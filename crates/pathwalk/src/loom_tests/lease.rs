//! Models of an open beside the grant of a lease: the open finds the lease, or the grant finds the
//! open.
//!
//! This follows `locks/breaks.rs` and `locks/leases.rs`. Each of the two is one word here, and the lease a value under
//! the lock.

use super::race;
use crate::sync::Ordering::{Relaxed, SeqCst};
use crate::sync::{AtomicU32, AtomicU64, Mutex, fence_after_swap};

#[derive(Default)]
struct Node {
    opens: AtomicU64,
    mark: AtomicU32,
    is_leased: Mutex<bool>,
}

/// Returns whether the open found no lease.
fn open(node: &Node) -> bool {
    node.opens.fetch_add(1, SeqCst);
    fence_after_swap();
    node.mark.load(SeqCst) == 0 || !*node.is_leased.lock()
}

/// Returns whether the lease was granted.
fn grant(node: &Node) -> bool {
    let mut is_leased = node.is_leased.lock();
    node.mark.fetch_add(1, SeqCst);
    fence_after_swap();
    *is_leased = node.opens.load(SeqCst) == 0;
    if !*is_leased {
        node.mark.fetch_sub(1, SeqCst);
    }
    *is_leased
}

#[test]
fn an_open_beside_a_grant() {
    race(Node::default, [open, grant], |_, [opened, granted]| assert!(!opened || !granted));
}

#[test]
fn two_opens_beside_a_grant() {
    race(Node::default, [open, grant, open], |node, [one, granted, other]| {
        assert!(!granted || !one && !other);
        assert_eq!(node.opens.load(Relaxed), 2);
    });
}
