#![doc = include_str!("../README.md")]
//!
//! # What always holds
//!
//! - A branch into which a layer is taken shows the base, and nothing else, when that begins.
//! - Nothing is written to the layer or to the base. A commit may give new files of the one names
//!   in the other afterwards ([`LeftFiles`]).
//!   What is read gets new times of access where the host writes them.
//! - Paths start at the root, lead down, and follow no link.
//!
//! # What it does not do
//!
//! - Take several layers: a branch that has changes of its own is no lower layer.
//! - Read what a process may not read that has not the rights of root: a directory or file without
//!   rights for its owner, in a layer of a user namespace. The error names it, and the layer stays.
//! - Tell that a flag of `chattr(1)` was removed which overlayfs does not copy (`NODUMP`).
//! - Keep the times of accesses: [`Layer::mount`] mounts with `noatime`.
//! - Keep the holes of a file of the base whose size stays: where the layer has zeros in a hole of
//!   the base, nothing is written.
//! - Follow forms of overlayfs that the base itself has, such as whiteouts: overlayfs hides what
//!   they hide, and a branch shows them.
//!
//! # Layout
//!
//! - `form` reads what overlayfs notes on nodes; `tree` is what is asked of a context, `upper` what
//!   is asked of the host for a layer;
//! - `plan` is what a layer means for a branch, `look` makes it, `hidden` is what the layer hides
//!   of the base;
//! - `take` carries it out, with `settings` and `data` for one node; `files` are those whose data
//!   the branch shows where it is, `left` those that a commit uses up;
//! - `layer` is the directory of a layer, `mounting` mounts it, `suited` says what is then not as
//!   on a plain directory, `start` is the time from which a change of the base counts.

#![forbid(unsafe_code)]

mod data;
mod error;
mod files;
mod form;
mod hidden;
mod layer;
mod left;
mod look;
mod mounting;
mod plan;
mod settings;
mod start;
mod suited;
mod take;
mod tree;
mod upper;

pub use error::Error;
pub use files::LayerFiles;
pub use form::Form;
pub use layer::Layer;
pub use left::{Left, LeftFiles};
pub use suited::{Limit, Suited};
pub use take::Taking;
