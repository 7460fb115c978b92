//! [`Context`]: pathwalk::Context
#![doc = include_str!("../README.md")]
//!
//! # What is read and what is touched
//!
//! A writer reads both trees by their contexts: the new one is the branch, and the old one what it
//! was forked from ([`Branches::before`](pathwalk_branch::Branches::before)). Neither may change
//! meanwhile. Data is passed on a part at a time.
//!
//! An application starts each path at the root of the context, leads down, and follows no link,
//! also in a tree that others change meanwhile. The input is not trusted: a path that leads out is
//! refused, and so is one through a link of the tree.
//!
//! # Layout
//!
//! - `plan`: what a list of changes means for names and nodes; `files` has it by single files;
//! - `tree` reads and changes a tree below a root, `node` all that a node has, `data` its data;
//! - `apply`: names that go, come and move;
//! - a module for each format; `similarity` finds renames for the summary.

#![forbid(unsafe_code)]

mod acl;
mod apply;
mod bytes;
mod data;
mod error;
mod files;
pub mod json;
mod left_out;
mod node;
pub mod patch;
mod path;
mod plan;
mod similarity;
pub mod summary;
mod tree;

pub use error::{Error, Position};
pub use left_out::{Format, LeftOut, Lost, left_out};
