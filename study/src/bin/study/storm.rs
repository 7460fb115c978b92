//! `study storm`: policies on absent names, of which none comes back, against a hot set.

use clap::{Args as ClapArgs, value_parser};
use pathwalk_output::{exits, print, print_json, progress};
use pathwalk_study::generated::{Storm, Weather};
use pathwalk_study::{Entrant, optimal};

use crate::{CODES, chosen, policy, show};

/// The number of hot files of a storm.
const HOT: usize = 10_000;
/// The numbers of slots for a storm, in tenths of the hot files.
const STORM_SLOTS: [usize; 3] = [11, 15, 25];
/// The most absent names of a storm.
const MOST_NAMES: i64 = 100_000_000;

const EXAMPLES: &str = "\
A simulation. After every ten absent names one of 10,000 hot files is looked up,
at random, in caches of 11,000, 15,000 and 25,000 slots.

Examples:
  study storm
      all policies, and ten million absent names
  study storm 100000 --policy lru,sieve,hands-share
      some of them, and fewer names

What the figures say:
  kept   hits of the hot set in percent of those that are possible
  known  the hot files were looked up before the storm
  new    they are looked up for the first time during it
  twice  they were looked up before, and each absent name is asked for twice
  bound  the most that is possible if the future is known";

/// Compare eviction policies on a storm of absent names: the hits that a hot set keeps
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(CODES), after_long_help = exits::long(EXAMPLES, CODES))]
pub(crate) struct StormArgs {
    /// Number of absent names
    #[arg(value_name = "NAMES", default_value_t = 10_000_000, value_parser = value_parser!(u32).range(1..=MOST_NAMES))]
    names: u32,
    /// Policies to compare [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = policy())]
    policy: Vec<Entrant>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// The hits of the hot set that each policy has in a storm, in percent of those that are possible.
pub(crate) struct Kept {
    pub(crate) weather: Weather,
    pub(crate) slots: usize,
    /// The percentage for each policy, by its name, and for the bound.
    pub(crate) of: Vec<(&'static str, f64)>,
}

/// Runs the selected policies in all storms, and prints the results.
pub(crate) fn run(args: &StormArgs) -> anyhow::Result<()> {
    let (names, entrants) = (args.names as usize, chosen(&args.policy));
    let mut all = Vec::new();
    for weather in Weather::ALL {
        let (walks, possible) = Storm { hot: HOT, names, weather }.walks();
        let work = walks.len() as u64 * (entrants.len() * STORM_SLOTS.len()) as u64;
        let bar = progress(work, &format!("storm, hot set {}", weather.name()), "walks");
        let percent = |hits: u64| if possible == 0 { 100.0 } else { hits as f64 * 100.0 / possible as f64 };
        for tenths in STORM_SLOTS {
            let slots = HOT * tenths / 10;
            let kept = |entrant: &Entrant| percent(entrant.run(&walks, slots, &mut |walks| bar.inc(walks)).present.hits);
            let mut of: Vec<_> = entrants.iter().map(|entrant| (entrant.name, kept(entrant))).collect();
            of.push(("bound", percent(optimal::bound(&walks, slots).present.hits)));
            all.push(Kept { weather, slots, of });
        }
        bar.finish();
    }
    if args.json { print_json(&show::storm_json(names, HOT, &all)) } else { print(&show::storm_text(names, HOT, &all)) }
}
