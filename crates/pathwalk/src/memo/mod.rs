//! The memo of whole paths: which dentries a walk of a path went through, and what their words
//! were.
//!
//! - [`question`]: a path, where it begins, and what becomes of a link at its end;
//! - [`entry`]: the entry of one path; [`what`]: how its walk went;
//! - [`text`]: how a path is hashed, stored and compared;
//! - [`store`]: the entries, in sets of two; [`find`]: how they answer; [`fill`]: how they are
//!   made;
//! - [`recording`]: the way of one walk, from which an entry is made;
//! - [`classes`]: credentials that may search the same directories;
//! - [`pace`]: when a thread asks the memo, and when it lets the memo learn.
//!
//! What always holds: an entry answers only while every word that its walk read is unchanged. A
//! dentry's word changes with all that a walk through the dentry depends on, and so does a mount's.
//! Flags change only together with the count, or while the word is odd.
//!
//! Whether all words are unchanged is told by the entry's stamp, with one compare, or else by their
//! sum. The stamp is a count of the changes of [remembered](crate::cache::dcache::remembered)
//! dentries, and of those of the tree of mounts where the way depends on mounts. All dentries of an
//! entry are remembered. So while the count is the stamp, none of them has been written.
//!
//! As a number, a word only rises until its count wraps: a write makes it odd, and the end of the
//! write adds to the count, which is above the flags. So the sum of the words shows whether any of
//! them has changed: none falls, and one that rose is not made up for by another. (A mount's word
//! has `CHANGING` set while its flags may differ, which is more than all of them together.) The
//! words need not be loaded at one instant. Each was the same from the walk to its own load, so all
//! steps of the walk held at the first of these loads.
//!
//! A child pins its parent. So while a child's word is unchanged, its parent's slot is not reused.
//!
//! Before a count wraps, all entries are emptied: see [`laps`](crate::memory::seqcount::laps).
//!
//! What it does not do: it does not walk, and knows no rules of a walk. It does not say why it has
//! no answer: then the path is walked.

pub(crate) mod classes;
mod entry;
mod fill;
mod find;
mod pace;
pub(crate) mod question;
pub(crate) mod recording;
mod store;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod text;
mod what;

pub(crate) use entry::{Found, OfMount, Slots};
pub(crate) use find::Lookup;
pub(crate) use pace::{Taught, walked};
pub(crate) use store::{Learning, Memo};
pub(crate) use what::What;
