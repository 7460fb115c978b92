//! The lookups of programs, read from the output of `strace(1)`.
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
