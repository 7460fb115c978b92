#![doc = include_str!("../README.md")]
//!
//! # The way of a line
//!
//! A line passes through these modules. `input` finds its end. `line` finds its process. `reader`
//! joins interrupted calls. `forms` remembers how calls of one form are read. `calls` reads a call
//! of a new form. `effects` applies it to the model of `processes`. `counter` hands the lookup to
//! `distinct`, which counts on a thread of its own.

#![forbid(unsafe_code)]

mod call_text;
mod calls;
mod counter;
mod directories;
mod distinct;
mod effects;
mod error;
mod escape;
mod flags;
mod forms;
mod input;
mod kind;
mod line;
mod processes;
mod read;
mod reader;
mod recording;
mod whereabouts;

pub use error::ReadError;
pub use input::{BEGINNING, Input};
pub use kind::{Kind, kind_of};
pub use read::Options;
pub use recording::{Answers, Call, Ids, LeftOut, Links, Lookup, Question, Recorded, Recording, Start, Tally, Unreadable};
