//! Locks on files, as Linux has them: `flock(2)`, record locks and open file description locks of
//! `fcntl(2)`.
//!
//! - [`request`]: the values of a request: kind, range, owner;
//! - [`record`]: the ranges of one node, and how a request changes them; [`flock`]: the locks on
//!   one node as a whole;
//! - [`waiters`]: the requests that wait, what each of them waits for, and deadlocks;
//! - [`wait`]: the sleep of a request;
//! - [`table`]: all locks of a `Vfs`, by node;
//! - [`lease`]: a lease, as its holder has it; [`lease_rules`]: the leases on one node, and the
//!   opens that break them; [`leases`]: all leases of a `Vfs`, and how often each node is open;
//!   [`breaks`]: opens that are in the way, and waits.
//!
//! What always holds: no two locks of one node and one family conflict. A request that waits waits
//! for a lock with which it conflicts, or for another such request, or is about to be tried again.
//! The locks of an owner on a node are gone once a file of that owner on that node is closed.
//!
//! What it does not do: mandatory locks, which Linux has no more. It calls no file system.
//! A file system with locks of its own implements [`Locks`](crate::Locks), and the face asks that
//! one.

pub(crate) mod breaks;
mod flock;
pub(crate) mod lease;
mod lease_rules;
pub(crate) mod leases;
mod record;
pub(crate) mod request;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod wait;
mod waiters;
