//! Memory that readers may look at without asking: slots that keep their type, under one budget.
//!
//! - [`lines`]: arrays of cache lines, zeroed lazily, reserved once;
//! - [`seqcount`]: how a reader notices that a line changed;
//! - [`pin`]: how a slot is kept from being reused;
//! - [`parked`]: which slots a hand need not look at, since they are pinned;
//! - [`free_list`]: which slots are unused;
//! - [`table`]: hash to slot, never moving;
//! - [`side`]: chains of lines for long names and link bodies;
//! - [`dir_lock`]: a reader-writer lock of four bytes;
//! - [`slot`]: the numbers of slots;
//! - [`sample`]: a few slots from which shares of all are told;
//! - [`alone`]: how threads are kept from writing to one line.
//!
//! How many slots there are, and which of them go, is the business of `cache`.
//!
//! Invariant: a slot is never freed and never changes its type, and its sequence count is never set back. So a reader with
//! a stale handle reads something, notices, and starts again.

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
