//! Benches of pathwalk: beside the kernel, beside what one writes by hand, and beside variants of itself.
//!
//! - [`trace`]: the questions that are asked, `path TAB mode` a line;
//! - [`kernel`]: the same questions to the running kernel;
//! - [`machine`]: who this process is, and the engine over this machine's files;
//! - [`work`]: the loops that are timed;
//! - [`rounds`]: how it is timed: alternating rounds of one run, so that all contestants meet the same weather;
//! - [`peers`]: what one would use instead, each labelled with what it gets wrong;
//! - [`variants`]: the walk with one thing changed; [`listing`]: a file system for what is not about this machine's files;
//! - [`policies`]: which entry to evict, simulated on recorded walks;
//! - [`field`]: a bench as a set of entrants and what comes out of it;
//! - [`gcc_trace`], [`crtends`], [`readlink`]: the benches; [`walktrees`]: millions of files from
//!   many threads, a bench of its own kind, as is [`open_cached`]: what it brings to try the cache
//!   before a worker is asked; [`pinned`]: what changes cost where most slots are held; and
//!   [`wide`]: lookups at random in more than the processor's caches hold.
//!
//! What it does not do: print. The `pathwalk` program does.

pub mod crtends;
pub mod field;
pub mod gcc_trace;
pub mod kernel;
pub mod listing;
pub mod machine;
pub mod open_cached;
pub mod peers;
pub mod pinned;
pub mod policies;
pub mod readlink;
pub mod rounds;
pub mod trace;
pub mod variants;
pub mod walktrees;
pub mod wide;
pub mod work;

use field::Field;
use machine::{Backing, SetUpError};

/// A bench that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// The name.
    pub name: &'static str,
    /// What it measures, in a sentence.
    pub about: &'static str,
    /// Makes its entrants ready.
    pub set_up: fn(Backing) -> Result<Field, SetUpError>,
}

/// All benches, in the order in which they run.
pub const BENCHES: &[Bench] = &[gcc_trace::BENCH, crtends::BENCH, readlink::BENCH];
