//! Memory that readers may read without a lock: slots that keep their type, under one budget.
//!
//! - [`lines`]: arrays of cache lines, zeroed lazily, reserved once;
//! - [`seqcount`]: sequence counts, by which a reader notices that a line changed;
//! - [`pin`]: pins, which keep a slot from being reused;
//! - [`parked`]: the slots that hands skip, since they are pinned;
//! - [`free_list`]: the unused slots;
//! - [`table`]: a hash table from hash to slot, which never moves;
//! - [`side`]: chains of lines for long names and link bodies;
//! - [`dir_lock`]: a reader-writer lock of four bytes;
//! - [`slot`]: the numbers of slots;
//! - [`sample`]: a few slots from which shares of all are estimated;
//! - [`alone`]: values that are kept on separate cache lines.
//!
//! `cache` decides how many slots there are, and which of them are evicted.
//!
//! Invariant: a slot is never freed and never changes its type, and its sequence count is never set
//! back. So a reader with a stale handle reads some value of the right type, notices that the count
//! moved, and starts again.

pub(crate) mod alone;
pub(crate) mod dir_lock;
pub(crate) mod free_list;
pub(crate) mod lines;
pub(crate) mod parked;
pub(crate) mod pin;
pub(crate) mod sample;
pub(crate) mod seqcount;
pub(crate) mod side;
pub(crate) mod slot;
pub(crate) mod table;
