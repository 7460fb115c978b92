//! `pathwalk bench policies`: its arguments and the run. `show` has the tables and the JSON,
//! `whole_paths` those of the memo's policies.

mod show;
mod whole_paths;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args as ClapArgs, value_parser};
use pathwalk_bench::policies::file::{self, Writer};
use pathwalk_bench::policies::generated::{Storm, Weather};
use pathwalk_bench::policies::recorded::{self, Tree};
use pathwalk_bench::policies::recordings::RECORDED;
use pathwalk_bench::policies::study::{self, SIZES, Size, Study, WHOLE};
use pathwalk_bench::policies::trace::{Builder, Walks};
use pathwalk_bench::policies::{ENTRANTS, Entrant, find, optimal, plot};
use pathwalk_recording::{Input, Kind, Options, Recording};
use serde_json::Value;

use crate::exits;
use crate::output;

/// The number of hot files of a storm.
const HOT: usize = 10_000;
/// The numbers of slots for a storm, in tenths of the hot files.
const STORM_SLOTS: [usize; 3] = [11, 15, 25];
/// The most absent names of a storm.
const MOST_NAMES: i64 = 100_000_000;

/// The policy with which the others are compared.
const BASE: &str = "clock-unmarked";

const EXAMPLES: &str = "\
A simulation. Walks go through a cache that has room for some of their names,
and each policy says which to give up. A walk is a hit if all that it touches is
cached. Without FILE, the recorded walks are taken that are built in. FILE is
what strace wrote, or walks that were kept with --save, plain or packed with
gzip. Beside build.strace, build.tree tells its links (pathwalk replay --tree).

Examples:
  pathwalk bench policies
      all policies on the built-in walks
  pathwalk bench policies --svg policies.svg --policy lru,sieve,hands-share
      some of them, and a plot
  pathwalk bench policies build.strace --cwd . --size 5,10,20
      your own recording; the cache has room for 5, 10, 20 % of its names
  pathwalk bench policies --whole-paths
      which whole paths are remembered: policies of that memo
  pathwalk bench policies --storm 10000000
      so many absent names against a hot set of 10,000 files

What the figures say:
  5 %    hits in percent of walks, with slots for 5 % of the names
  looks  slots that are looked at for each that is evicted, at the size where
         they are most
  saved  beside clock-unmarked, over all FILEs and sizes: misses, and names that
         the file system is asked for
  bound  what no policy can exceed, as the future would have to be known
  kept   of a storm: hits of the hot set in percent of those that are possible";

/// Compare eviction policies on recorded walks: hits, and the cost of finding a victim
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(EXAMPLES, exits::BENCH))]
pub(crate) struct PoliciesArgs {
    /// Recordings of strace, or saved walks [default: the built-in walks]
    #[arg(value_name = "FILE", conflicts_with = "storm")]
    files: Vec<PathBuf>,
    /// Directory in which the recorded program started
    #[arg(long, value_name = "DIR", requires = "files")]
    cwd: Option<PathBuf>,
    /// Slots of the cache, in percent of the walked names: above 0, up to 100, to two decimals
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', value_parser = size, conflicts_with = "storm")]
    size: Vec<Size>,
    /// Policies to compare [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = policy)]
    policy: Vec<Entrant>,
    /// Make a storm of this many absent names instead of recorded walks
    #[arg(long, value_name = "NAMES", value_parser = value_parser!(u32).range(1..=MOST_NAMES))]
    storm: Option<u32>,
    /// Compare policies of the memo of whole paths: which walks it learns, and which entry goes
    #[arg(long, conflicts_with_all = ["size", "policy", "storm", "save", "svg"])]
    whole_paths: bool,
    /// Save the walks of the only FILE, packed with gzip: of a recording, only what a cache sees
    #[arg(long, value_name = "FILE", requires = "files", conflicts_with = "storm")]
    save: Option<PathBuf>,
    /// Draw a plot into an SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "storm")]
    svg: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

fn size(text: &str) -> Result<Size, String> {
    let percent: f64 = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let size = (percent * f64::from(WHOLE) / 100.0).round();
    if (1.0..=f64::from(WHOLE)).contains(&size) { Ok(Size(size as u32)) } else { Err("it is not within 0.01 and 100".into()) }
}

fn policy(name: &str) -> Result<Entrant, String> {
    let known = || ENTRANTS.iter().map(|entrant| entrant.name).collect::<Vec<_>>().join(", ");
    find(name).ok_or_else(|| format!("there are {}", known()))
}

/// Walks with their name, and with a note on them if there is one.
struct Named {
    name: String,
    walks: Walks,
    note: Option<String>,
}

/// Runs the selected policies, and prints and saves the results.
pub(crate) fn run(args: &PoliciesArgs) -> anyhow::Result<ExitCode> {
    let entrants = if args.policy.is_empty() { ENTRANTS } else { &args.policy };
    if let Some(names) = args.storm {
        return storm(names as usize, entrants, args.json);
    }
    if args.whole_paths {
        let all = read_all(args)?;
        let all: Vec<_> = all.iter().map(|named| (named.name.as_str(), &named.walks)).collect();
        whole_paths::run(&all, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut sizes = if args.size.is_empty() { SIZES.to_vec() } else { args.size.clone() };
    sizes.sort_unstable();
    sizes.dedup();
    let mut studies = Vec::new();
    let mut reports = Vec::new();
    for named in read_all(args)? {
        let work = Study::work(&named.walks, entrants, &sizes);
        let bar = output::progress(work, &named.name, "walks");
        let study = Study::run(&named.name, &named.walks, entrants, &sizes, &mut |walks| bar.inc(walks));
        bar.finish();
        if !args.json {
            output::print(&show::text(&study, named.note.as_deref()))?;
        }
        reports.push(show::json(&study, named.note.as_deref()));
        studies.push(study);
    }
    let saved = study::saved(&studies, BASE);
    if !args.json && studies.len() > 1 && !saved.is_empty() {
        output::print(&show::saved_text(&saved, BASE))?;
    }
    if let Some(file) = &args.svg {
        std::fs::write(file, plot::svg(&studies)?).with_context(|| format!("writing the plot to {}", file.display()))?;
    }
    if args.json {
        output::print_json(&Value::Array(reports))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read_all(args: &PoliciesArgs) -> anyhow::Result<Vec<Named>> {
    if args.save.is_some() && args.files.len() != 1 {
        bail!("--save keeps the walks of one FILE, not of {}; save them one by one", args.files.len());
    }
    if args.files.is_empty() {
        let built_in = RECORDED.iter().map(|recorded| Named { name: recorded.name.into(), walks: recorded.walks(), note: None });
        return Ok(built_in.collect());
    }
    let read = |path: &PathBuf| read(path, args).with_context(|| format!("reading walks from {}", path.display()));
    args.files.iter().map(read).collect()
}

fn read(path: &Path, args: &PoliciesArgs) -> anyhow::Result<Named> {
    let file = File::open(path)?;
    let name = stem(path);
    let input = Input::new(file)?;
    if input.kind() != Kind::Strace {
        let bytes = input.into_bytes()?;
        if let Some(save) = &args.save {
            bail!("these are walks already, there is nothing to save to {}", save.display());
        }
        return Ok(Named { name, walks: file::parse(&bytes)?, note: None });
    }
    let cwd = args.cwd.as_ref().map(std::path::absolute).transpose().context("finding the directory of --cwd")?;
    let recording = Recording::read_input(input, Options { cwd, progress: None })?;
    let tree = path.with_file_name(format!("{name}.tree"));
    let tree = match std::fs::read(&tree) {
        Ok(bytes) => Tree::parse(&bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Tree::default(),
        Err(error) => return Err(error).with_context(|| format!("reading the links from {}", tree.display())),
    };
    if let Some(save) = &args.save {
        save_walks(&recording, &tree, save).with_context(|| format!("saving the walks to {}", save.display()))?;
    }
    let mut builder = Builder::default();
    recorded::tell(&recording, &tree, |line| line.add_to(&mut builder));
    let walks = builder.finish();
    if walks.is_empty() {
        bail!("no lookup of the recording can be walked: without --cwd, those in unknown directories cannot");
    }
    let note = format!("a sample: every {}th walk of a long recording, so that repeats seem farther apart", recording.stride);
    Ok(Named { name, walks, note: (recording.stride > 1).then_some(note) })
}

/// Returns a file's name without `.gz` and without the extension before it.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

fn save_walks(recording: &Recording, tree: &Tree, path: &Path) -> anyhow::Result<()> {
    let mut writer = Writer::packed(BufWriter::new(File::create(path)?))?;
    let mut outcome = Ok(());
    recorded::tell(recording, tree, |line| {
        if outcome.is_ok() {
            outcome = writer.line(line);
        }
    });
    outcome?;
    writer.finish()?.flush()?;
    Ok(())
}

/// The hits of the hot set that each policy has in a storm, in percent of those that are possible.
struct Kept {
    weather: Weather,
    slots: usize,
    /// The percentage for each policy, by its name, and for the bound.
    of: Vec<(&'static str, f64)>,
}

fn storm(names: usize, entrants: &[Entrant], json: bool) -> anyhow::Result<ExitCode> {
    let mut all = Vec::new();
    for weather in Weather::ALL {
        let (walks, possible) = Storm { hot: HOT, names, weather }.walks();
        let work = walks.len() as u64 * (entrants.len() * STORM_SLOTS.len()) as u64;
        let bar = output::progress(work, &format!("storm, hot set {}", weather.name()), "walks");
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
    if json {
        output::print_json(&show::storm_json(names, HOT, &all))?;
    } else {
        output::print(&show::storm_text(names, HOT, &all))?;
    }
    Ok(ExitCode::SUCCESS)
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

    #[test]
    fn policies_are_known_by_name() {
        assert_eq!(policy("sieve").unwrap().name, "sieve");
        assert!(policy("best").unwrap_err().contains("s3-fifo, clock"));
    }

    #[test]
    fn names_of_files_lose_what_is_behind_the_dot() {
        let of = |path: &str| stem(Path::new(path));
        assert_eq!([of("a/g++.strace.gz"), of("b.walks"), of("c")], ["g++", "b", "c"]);
    }
}
