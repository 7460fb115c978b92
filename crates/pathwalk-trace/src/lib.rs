//! Recorded lookups, and the files that they were asked about.
//!
//! - [`trace`]: the questions, `path TAB mode` a line;
//! - [`listing`]: a file system that is made from a listing of files.
//!
//! The benches and the programs ask these questions. `tests/instructions` counts what they take, in
//! release: so this crate depends on little, and is built in little time.
//!
//! What it does not do: record. `pathwalk-recording` reads what `strace` has recorded.

pub mod listing;
pub mod trace;
