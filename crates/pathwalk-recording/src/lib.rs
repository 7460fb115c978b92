//! What programs looked up, read from what `strace(1)` wrote down.
//!
//! ```
//! use pathwalk_recording::{Call, Options, Recording};
//!
//! let text = br#"12 access("/etc/hosts", R_OK) = 0
//! 12 access("/etc/nothing", R_OK) = -1 ENOENT (No such file or directory)
//! "#;
//! let recording = Recording::read(&text[..], Options::default())?;
//! assert_eq!(recording.lookups[0].lookup.call, Call::Access);
//! assert_eq!(recording.lookups[1].answers.absent, 1);
//! # Ok::<(), pathwalk_recording::ReadError>(())
//! ```
//!
//! The way of a line: `input` finds its end, `line` whose it is, `reader` joins what was broken off, `memo` knows what
//! came before, `calls` reads what is asked,
//! `effects` keeps the model of `processes`, and `distinct` counts.

#![forbid(unsafe_code)]

mod call_text;
mod calls;
mod directories;
mod distinct;
mod effects;
mod error;
mod escape;
mod flags;
mod input;
mod kind;
mod line;
mod memo;
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
