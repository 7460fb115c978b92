//! The bench `gcc-trace`: the lookups of a compiler, and the gain from inlining the step of a
//! component.

use pathwalk::Context;
use pathwalk::internals::{self, Config};

use crate::Bench;
use crate::field::{Comparison, Entrant, Field, OURS};
use crate::machine::{self, Backing, Doing, LastLinks, SetUpError};
use crate::peers::{Peer, dashmap, locked_tree::LockedTree, papaya};
use crate::variants::{StepOutOfLine, Walked};
use crate::work::{Asking, Work};
use pathwalk_trace::listing::Listing;
use pathwalk_trace::trace::{Question, Trace};

/// The name of the entrant without the memo of whole paths.
pub(crate) const WALKED: &str = "pathwalk, each path walked";
const OUT_OF_LINE: &str = "pathwalk, step out of line";

/// The bench.
pub const BENCH: Bench =
    Bench { name: "gcc-trace", about: "the 205 lookups that gcc and the linker make to compile one file", set_up };

fn set_up(backing: Backing) -> Result<Field, SetUpError> {
    let trace = Trace::gcc();
    let questions = trace.questions();
    let context = context(backing)?;
    let mut entrants = vec![
        Entrant::new(OURS, ours(&context, questions)),
        Entrant::new(WALKED, variant::<Walked>(&context, questions)),
        Entrant::new(OUT_OF_LINE, variant::<StepOutOfLine>(&context, questions)),
    ];
    if backing == Backing::Machine {
        entrants.insert(1, Entrant::kernel(questions));
        entrants.extend(peers(questions)?);
    }
    let whole = Comparison { what: "whole paths remembered", with: OURS, without: WALKED, linux_percent: None };
    let comparisons =
        vec![whole, Comparison { what: "step inlined", with: WALKED, without: OUT_OF_LINE, linux_percent: Some(4.0) }];
    Ok(Field { name: BENCH.name, entrants, comparisons, notes: vec![], files: None })
}

/// Returns the engine that a bench asks.
pub(crate) fn context(backing: Backing) -> Result<Context, SetUpError> {
    match backing {
        Backing::Machine => machine::host(LastLinks::of_this_machine()),
        Backing::Listing => machine::over(Listing::gcc(), machine::credentials()?),
    }
}

/// Returns the work of asking the engine by its public name.
pub(crate) fn ours(context: &Context, questions: &[Question]) -> impl Work + use<> {
    let context = context.clone();
    let ask = move |question: &Question| context.access(&question.path[..], question.want).is_ok();
    Asking { questions: questions.to_vec(), ask }
}

/// Returns the work of asking a variant of the engine.
pub(crate) fn variant<C: Config>(context: &Context, questions: &[Question]) -> impl Work + use<C> {
    let context = context.clone();
    let ask = move |question: &Question| internals::access::<C>(&context, &question.path, question.want).is_ok();
    Asking { questions: questions.to_vec(), ask }
}

/// Returns all peers, asked as `access(2)` is.
pub(crate) fn peers(questions: &[Question]) -> Result<Vec<Entrant>, SetUpError> {
    let tree = LockedTree::new(machine::credentials()?).doing(|| format!("loading the root of \"{}\"", LockedTree::WHAT))?;
    Ok(vec![
        Entrant::peer(tree, questions),
        Entrant::peer(dashmap::WholePaths::default(), questions),
        Entrant::peer(papaya::WholePaths::default(), questions),
    ])
}
