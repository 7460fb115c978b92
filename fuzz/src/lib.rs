//! The code of the fuzz targets: bytes become a question or a program, the engine and the model
//! answer, and any difference is a panic.
//!
//! # Layout
//!
//! - `question` is the target `path`; `tree` is the tree of its questions, `world` the sides that
//!   are asked.
//! - `program` is the target `operations`.
//!
//! # What it does not do
//!
//! It contains no expected answers. The model gives them, and the model is compared with the kernel
//! elsewhere.

#![forbid(unsafe_code)]

pub mod program;
pub mod question;
mod tree;
mod world;
