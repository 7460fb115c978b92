//! The command `pathwalk replay`: every lookup of a recording or a trace, answered by the engine
//! and by the kernel.
//!
//! 1. [`source`]: the file is read; then the root is entered.
//! 2. The kernel is asked every lookup once.
//! 3. [`survey`]: an engine of its own walks all lookups step by step, to find where they end and
//!    which are left out.
//! 4. The engine starts empty and answers every lookup, loading what it needs. [`verdict`] compares
//!    the answers.
//! 5. Both are timed: all lookups together in alternating rounds ([`timing`]), and each name alone
//!    ([`costly`]).
//! 6. Both answer every lookup once more, and are compared again.
//! 7. [`report`] prints; [`svg`] draws; [`tree`] writes the nodes that the lookups went through.
//!
//! [`question`], [`answer`] and [`sides`] are the lookups, the answers, and the two sides. The
//! survey uses [`names`] and [`file_systems`]. [`figures`] has the counts.

mod answer;
mod costly;
mod figures;
mod file_systems;
mod names;
mod outputs;
mod question;
mod report;
mod sides;
mod source;
mod survey;
mod svg;
mod timing;
mod tree;
mod verdict;

use std::process::ExitCode;
use std::time::Duration;

use pathwalk_bench::machine::{self, LastLinks};
use pathwalk_bench::rounds::Pace;

use crate::args::ReplayArgs;
use crate::{enclosure, exits, output};
use figures::Figures;
use file_systems::FileSystems;
use outputs::Outputs;
use report::Report;
use sides::Engine;
use survey::{Survey, Surveyor};
use timing::Sides;
use tree::Tree;
use verdict::Interview;

/// The length of one side's turn in a round.
const TURN: Duration = Duration::from_millis(20);

/// Runs the replay and prints the results.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let cwd = args.cwd.as_deref().map(|cwd| source::absolute_cwd(cwd, &args.root)).transpose()?;
    let source = source::read(args.trace.as_deref(), cwd.as_deref())?;
    // Files outside the root have to be opened before the root is entered.
    let outputs = Outputs::open(args)?;
    let links = LastLinks::of_this_machine();
    let file_systems = FileSystems::of_this_process();
    sides::allow_many_descriptors();
    let enclosure = enclosure::enter(&args.root)?;

    let recording = &source.recording;
    // There are three passes: the kernel's first answers, the survey, and the comparison.
    let bar = output::progress(3 * recording.lookups.len() as u64, "asking", "lookups");
    let tick = &mut || bar.inc(1);
    let mut interview = Interview::new(recording, links, tick);
    let known = file_systems.as_ref();
    let mut tree = outputs.wants_tree().then(Tree::default);
    let survey = walk_all(&interview, known.unwrap_or(&FileSystems::default()), &source, links, tree.as_mut(), tick)?;
    let mode = args.coherence.coherence();
    let engine = Engine::new(machine::host_in(links, mode)?, &recording.starts);
    interview.compare(&survey.places, &engine, tick)?;
    bar.finish();

    let sample = timing::sample(recording, &survey.places, interview.prepared());
    let pace = Pace { rounds: args.rounds as usize, turn: TURN };
    let bar = output::progress(u64::from(args.rounds), "timing all", "rounds");
    let walking = Engine::new(machine::walking_host(links, mode)?, &recording.starts);
    let sides = Sides { engine: &engine, walking: &walking, kernel: interview.kernel() };
    let timing = timing::measure(&sample, &sides, args.threads as usize, pace, &mut || bar.inc(1));
    bar.finish();
    let bar = output::progress(2 * recording.lookups.len() as u64, "timing each, and asking again", "lookups");
    let tick = &mut || bar.inc(1);
    let costliest = costly::costliest(recording, &survey.places, &engine, &interview, tick);
    interview.compare(&survey.places, &engine, tick)?;
    bar.finish();

    let figures = Figures::count(recording, &survey, &interview);
    let mut notes = outputs.write(&source, &survey, &interview, tree.as_ref())?;
    notes.extend(source.notes(known.is_some()));
    let report = Report {
        args,
        enclosure,
        source: &source,
        interview: &interview,
        figures: &figures,
        timing: timing.as_ref(),
        costliest: &costliest,
        notes,
    };
    if args.json {
        output::print_json(&report.json())?;
    } else {
        output::print(&report.text())?;
    }
    Ok(exits::of_answer(interview.disagreements().next().is_none()))
}

/// Walks all lookups with an engine that is thrown away, because the engine that is compared has to
/// start empty.
fn walk_all(
    interview: &Interview<'_>,
    file_systems: &FileSystems,
    source: &source::Source,
    links: LastLinks,
    tree: Option<&mut Tree>,
    tick: &mut dyn FnMut(),
) -> anyhow::Result<Survey> {
    let engine = Engine::new(machine::host(links)?, &source.recording.starts);
    let surveyor = Surveyor { engine: &engine, kernel: interview.kernel(), file_systems };
    Ok(surveyor.survey(&source.recording, interview.prepared(), tree, tick))
}
