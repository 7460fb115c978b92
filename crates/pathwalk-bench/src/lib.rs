//! The benches of pathwalk: beside the kernel, beside hand-written alternatives, and beside
//! variants of itself.
//!
//! - [`kernel`]: the questions of [`pathwalk_trace`] to the running kernel;
//! - [`machine`]: the credentials of this process, and the engine over this machine's files;
//! - [`work`]: the loops that are timed;
//! - [`rounds`]: the timing: alternating rounds of one run, so that all contestants meet the same
//!   conditions;
//! - [`peers`]: the alternatives to pathwalk, each labelled with what it gets wrong;
//! - [`variants`]: the walk with one thing changed;
//! - [`field`]: a bench as a set of entrants, and its results;
//! - [`gcc_trace`], [`crtends`], [`readlink`], [`living`]: the benches of that kind.
//!
//! These benches are of their own kind:
//!
//! - [`walktrees`]: millions of files, looked up by many threads;
//! - [`open_cached`]: the gain from trying the cache before a worker is asked;
//! - [`pinned`]: the cost of changes where most slots are pinned;
//! - [`resolver`]: a module resolver beside another one;
//! - [`wide`]: lookups at random among more names than the processor's caches hold.
//!
//! What it does not do: print. The `pathwalk` program does.

pub mod crtends;
pub mod field;
pub mod gcc_trace;
pub mod kernel;
pub mod living;
pub mod machine;
pub mod open_cached;
pub mod peers;
pub mod pinned;
pub mod readlink;
pub mod resolver;
pub mod rounds;
pub mod variants;
pub mod walktrees;
pub mod wide;
pub mod work;

use field::Field;
use machine::{Backing, SetUpError};

/// A bench that can be requested by name.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// The name.
    pub name: &'static str,
    /// The description of what it measures, in a sentence.
    pub about: &'static str,
    /// The function that prepares its entrants.
    pub set_up: fn(Backing) -> Result<Field, SetUpError>,
}

/// All benches, in the order in which they run.
pub const BENCHES: &[Bench] = &[gcc_trace::BENCH, crtends::BENCH, readlink::BENCH, living::BENCH];
