//! Events: what changed below a directory, for programs in front of the `Vfs`.
//!
//! - [`event`]: one event, by path;
//! - [`node_event`]: one event, by node;
//! - [`queue`]: the events of one subscription, bounded, and the wait for them;
//! - [`hub`]: all subscriptions, and which of them an event concerns.
//!
//! What always holds: an event is put into the queues while the lock is held that orders the
//! change, so events of one directory come in the order of its changes. No code of a subscriber
//! runs here: a queue wakes the threads that wait for it, and calls nothing. A full queue gets a
//! mark in the place of what is lost. Without subscriptions, a change loads one flag.
//!
//! Source: which operation makes which event is `inotify(7)`'s, with the flag `IN_EXCL_UNLINK`.

pub(crate) mod event;
pub(crate) mod hub;
pub(crate) mod node_event;
pub(crate) mod queue;

pub use event::{Event, Invalidated};
pub(crate) use hub::Hub;
pub use node_event::NodeEvent;
pub(crate) use queue::Queue;
