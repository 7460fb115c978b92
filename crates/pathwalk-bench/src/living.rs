//! The bench `living`: the lookups of a compiler in each mode of [`Coherence`], on files that do
//! not change meanwhile.

use std::time::Duration;

use pathwalk_hostfs::Coherence;

use crate::Bench;
use crate::field::{Comparison, Entrant, Field, OURS};
use crate::gcc_trace::{context, ours};
use crate::machine::{self, Backing, LastLinks, SetUpError};
use pathwalk_trace::trace::Trace;

const WATCHED: &str = "pathwalk, watched";

/// The time for which answers are used.
const SECOND: Duration = Duration::from_secs(1);

/// The modes beside the one that never asks again.
const MODES: [(&str, Coherence); 3] = [
    (WATCHED, Coherence::Watch),
    ("pathwalk, asked again after 1 s", Coherence::Ttl { entry: SECOND, absence: SECOND, attributes: SECOND }),
    ("pathwalk, confirmed each time", Coherence::Strict),
];

/// The bench.
pub const BENCH: Bench =
    Bench { name: "living", about: "the 205 lookups, by what is promised about changes of other processes", set_up };

fn set_up(backing: Backing) -> Result<Field, SetUpError> {
    let trace = Trace::gcc();
    let questions = trace.questions();
    let mut entrants = vec![Entrant::new(OURS, ours(&context(backing)?, questions))];
    let mut comparisons = Vec::new();
    if backing == Backing::Machine {
        entrants.push(Entrant::kernel(questions));
        for (name, mode) in MODES {
            let context = machine::host_in(LastLinks::of_this_machine(), mode)?;
            entrants.push(Entrant::new(name, ours(&context, questions)));
        }
        comparisons.push(Comparison { what: "not watched", with: OURS, without: WATCHED, linux_percent: None });
    }
    Ok(Field { name: BENCH.name, entrants, comparisons, notes: vec![], files: None })
}
