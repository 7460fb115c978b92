//! `study policies`: policies of the cache of names, on recorded walks.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use pathwalk_output::{exits, print, print_json, progress};
use pathwalk_study::study::{self, SIZES, Size, Study, WHOLE};
use pathwalk_study::{Entrant, plot};
use serde_json::Value;

use crate::files::Files;
use crate::{CODES, chosen, policy, show};

/// The policy with which the others are compared.
const BASE: &str = "clock-unmarked";

const EXAMPLES: &str = "\
A simulation. Walks go through a cache that has room for some of their names,
and a policy chooses the names to evict. A walk is a hit if all that it touches
is cached. FILE is a recording of strace, or walks that `study save` saved,
plain or packed with gzip. The links of build.strace are read from build.tree
beside it, which `pathwalk replay --tree` writes.

Examples:
  study policies
      all policies on the built-in walks
  study policies --svg policies.svg --policy lru,sieve,hands-share
      some of them, and a plot
  study policies build.strace --cwd . --size 5,10,20
      a recording; the cache has room for 5, 10, 20 % of its names

What the figures say:
  5 %    hits in percent of walks, with slots for 5 % of the names
  looks  slots that are examined for each that is evicted, at the size where
         they are most
  saved  beside clock-unmarked, over all FILEs and sizes: misses, and names that
         the file system is asked for
  bound  the most hits that are possible if the future is known";

/// Compare eviction policies on recorded walks: hits, and the cost of finding a victim
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(CODES), after_long_help = exits::long(EXAMPLES, CODES))]
pub(crate) struct PoliciesArgs {
    #[command(flatten)]
    files: Files,
    /// Slots of the cache, in percent of the walked names: above 0, up to 100, to two decimals
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', value_parser = size)]
    size: Vec<Size>,
    /// Policies to compare [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = policy())]
    policy: Vec<Entrant>,
    /// Draw a plot into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Parses a size in percent.
fn size(text: &str) -> Result<Size, String> {
    let percent: f64 = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let size = (percent * f64::from(WHOLE) / 100.0).round();
    if (1.0..=f64::from(WHOLE)).contains(&size) { Ok(Size(size as u32)) } else { Err("it is not within 0.01 and 100".into()) }
}

/// Runs the selected policies, and prints and saves the results.
pub(crate) fn run(args: &PoliciesArgs) -> anyhow::Result<()> {
    let entrants = chosen(&args.policy);
    let mut sizes = if args.size.is_empty() { SIZES.to_vec() } else { args.size.clone() };
    sizes.sort_unstable();
    sizes.dedup();
    let mut studies = Vec::new();
    let mut reports = Vec::new();
    for named in args.files.read_all()? {
        let work = Study::work(&named.walks, entrants, &sizes);
        let bar = progress(work, &named.name, "walks");
        let study = Study::run(&named.name, &named.walks, entrants, &sizes, &mut |walks| bar.inc(walks));
        bar.finish();
        if !args.json {
            print(&show::text(&study, named.note.as_deref()))?;
        }
        reports.push(show::json(&study, named.note.as_deref()));
        studies.push(study);
    }
    let saved = study::saved(&studies, BASE);
    if !args.json && studies.len() > 1 && !saved.is_empty() {
        print(&show::saved_text(&saved, BASE))?;
    }
    if let Some(file) = &args.svg {
        std::fs::write(file, plot::svg(&studies)?).with_context(|| format!("writing the plot to {}", file.display()))?;
    }
    if args.json {
        print_json(&Value::Array(reports))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_percents_to_two_decimals() {
        assert_eq!(["1", "0.01", "12.5", "100"].map(size), [Ok(Size(100)), Ok(Size(1)), Ok(Size(1250)), Ok(Size(10_000))]);
        for bad in ["", "x", "0", "0.001", "100.1", "-1", "NaN", "inf"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
