//! What the fuzz targets do: bytes become a question or a program, the engine and the model answer, and whatever differs is a panic.
//!
//! # Layout
//!
//! - `question` is the target `path`; `tree` is where it is asked, `world` who is asked.
//! - `program` is the target `operations`; `draw` makes its parts of bytes.
//!
//! # What it does not do
//!
//! It does not know what is right: the model does, and that is held against the kernel elsewhere.

#![forbid(unsafe_code)]

mod draw;
pub mod program;
pub mod question;
mod tree;
mod world;
