//! The memo of whole paths: which dentries a walk of a path went through, and what their words were.
//!
//! - [`question`]: what is asked: a path, where it begins, and what a link at its end does;
//! - [`entry`]: what the memo holds of one path;
//! - [`text`]: how a path is hashed, kept and compared;
//! - [`recording`]: what a walk tells, so that an entry can be made of it;
//! - [`store`]: the entries, in sets of two; [`fill`]: which of them goes;
//! - [`classes`]: credentials that may search the same directories;
//! - [`pace`]: when a thread asks the memo, and when it lets it learn.
//!
//! What always holds: an entry answers only while each word that its walk saw is what it was. A
//! dentry's word moves on any change that a walk through it depends on, and so does a mount's; flags
//! never change without the count, but while the word is odd. So no writer knows of the memo.
//!
//! A word only rises, as a number, until its count comes round: a write makes it odd, and its end
//! adds to the count, which stands above the flags. So the sum of the words tells whether all of them
//! are what they were: one that rose cannot be made up for by another. (A mount's word has
//! `CHANGING` set while its flags may be others, which is more than all of them together.) The words need
//! not be loaded at one instant: each was the same from the walk to its own load, so at the
//! first of these loads, all steps of the walk held at once.
//!
//! A child pins its parent. So while a child is what it was, its parent's slot is not another's.
//!
//! Before a count comes round, all entries go: see [`laps`](crate::memory::seqcount::laps).
//!
//! What it does not do: it does not walk, and knows no rules of a walk. It never says that it does
//! not know *and why*: a path that it has not is walked.

pub(crate) mod classes;
mod entry;
mod fill;
mod pace;
pub(crate) mod question;
pub(crate) mod recording;
mod store;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod text;

pub(crate) use entry::{Found, OfMount, Slots, What};
pub(crate) use pace::Taught;
pub(crate) use store::{Learning, Memo};
