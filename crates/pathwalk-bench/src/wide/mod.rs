//! `wide`: lookups at random in caches that are larger than the processor's.
//!
//! A [`Tree`] six components deep, of 10,000 to ten million files, and as many names that are absent and
//! known to be. All of it is cached by each entrant; then each asks for paths in an order that looks
//! random, files and absent names apart. So nearly each step waits for memory, and what is measured
//! is how long, and how many of the waits overlap.
//!
//! - [`tree`]: the tree, a file system for pathwalk, and its paths;
//! - [`peers`]: caches of whole paths;
//! - `on_disk`: the same files for the kernel.
//!
//! The entrants take turns. Paths lie in memory in the order in which they are asked for, so that
//! reading them costs all entrants alike little. Filling the caches is not timed.
//!
//! What it does not do: change anything, or ask from more than one thread.

mod on_disk;
pub mod peers;
pub mod tree;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use pathwalk::{Access, AsPath, Context, Credentials, Errno, Vfs};

use crate::machine::{Doing, SetUpError};
use crate::rounds::{Pace, Quartiles, Race};
use crate::walktrees::meter::Resident;
use crate::work::Work;
use on_disk::OnDisk;
use peers::{Filled, Moka, Papaya, Quick, WholePaths, fill};
use tree::{Kind, Tree, TreePath};

/// Paths between two looks at the clock, at least: a whole number of what is read ahead together.
const WINDOW: usize = 30 * 32;

/// Bytes that all entrants but the kernel take for a file and an absent name.
const BYTES_OF_ALL: u64 = 1700;

/// What is to be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Numbers of files, one tree each.
    pub files: Vec<u64>,
    /// Where trees of real files are made for the kernel.
    pub dirs: Vec<PathBuf>,
    /// How many rounds are timed.
    pub rounds: u32,
    /// How long an entrant's turn is.
    pub turn: Duration,
}

/// What came out for one entrant.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Who.
    pub who: String,
    /// What was asked for.
    pub kind: Kind,
    /// Nanoseconds a lookup.
    pub ns: Quartiles,
    /// How many times as many lookups a second as `access` of one path at a time, round by round.
    pub times: Quartiles,
}

/// What an entrant holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// Who.
    pub who: &'static str,
    /// Bytes of resident memory a path, files and absent names together.
    pub bytes: f64,
    /// Percent of the paths for which there is room in as many bytes as pathwalk takes.
    pub percent: f64,
}

/// What came out for a tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The tree.
    pub tree: Tree,
    /// By kind, in the order of the entrants.
    pub rows: Vec<Row>,
    /// What each of the caches holds.
    pub held: Vec<Held>,
    /// What one should know when reading the figures.
    pub notes: Vec<String>,
}

/// What is done at the moment, and how far that is: part, whole.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// Measures all trees, one after the other. Blocks until then.
///
/// Errors: too little memory, directories in which nothing can be made, an answer that is wrong.
pub fn run(plan: &Plan, progress: Progress<'_>) -> Result<Vec<Report>, SetUpError> {
    plan.files.iter().map(|files| race(plan, Tree::new(*files), progress)).collect()
}

fn race(plan: &Plan, tree: Tree, progress: Progress<'_>) -> Result<Report, SetUpError> {
    let mut step = |what: &str| progress(&format!("{} files: {what}", tree.files()), 0, 1);
    enough_memory(tree)?;
    step("paths");
    let asked = Kind::ALL.map(|kind| tree.shuffled(kind));
    let paths: Vec<_> = Kind::ALL.into_iter().zip(&asked).map(|(kind, paths)| (kind, &paths[..])).collect();
    let resident = Resident::new()?;
    step("pathwalk");
    let before = resident.bytes();
    let context = cached(tree, &paths)?;
    let budget = resident.bytes().saturating_sub(before).max(1);
    step("papaya");
    let papaya: Filled<Papaya> = fill(&paths, budget, || resident.bytes());
    step("quick_cache");
    let quick: Filled<Quick> = fill(&paths, budget, || resident.bytes());
    step("moka");
    let moka: Filled<Moka> = fill(&paths, budget, || resident.bytes());
    let (mut on_disk, mut notes) = (Vec::new(), Vec::new());
    for dir in &plan.dirs {
        let what = format!("{} files: making them for the kernel", tree.files());
        match OnDisk::make(dir, tree, &mut |made| progress(&what, made, tree.files()))? {
            Ok(made) => on_disk.push(made),
            Err(note) => notes.push(note),
        }
    }
    let all = 2 * tree.files();
    let mut rows = Vec::new();
    for (kind, paths) in paths {
        let entrants = entrants(&context, (&papaya.cache, &quick.cache, &moka.cache), &on_disk, kind, paths);
        rows.extend(rows_of(plan, tree, kind, &entrants, progress)?);
    }
    let percent = |room: u64| room as f64 * 100.0 / all as f64;
    let held = |who, bytes: u64, room| Held { who, bytes: bytes as f64 / all as f64, percent: percent(room) };
    let held = vec![
        held("pathwalk", budget, all),
        held(Papaya::WHAT, papaya.bytes, papaya.room),
        held(Quick::WHAT, quick.bytes, quick.room),
        held(Moka::WHAT, moka.bytes, moka.room),
    ];
    Ok(Report { tree, rows, held, notes })
}

/// Refuses trees for which there is too little memory.
fn enough_memory(tree: Tree) -> Result<(), SetUpError> {
    let needed = tree.files() * BYTES_OF_ALL;
    match on_disk::available() {
        Some(available) if available < needed => {
            let (needed, available) = (needed as f64 / 1e9, available as f64 / 1e9);
            let error = format!("they take some {needed:.1} GB of memory, and {available:.1} are available: ask for fewer");
            Err::<(), _>(error).doing(|| format!("choosing {} files", tree.files()))
        }
        _ => Ok(()),
    }
}

/// Returns a context whose caches hold the whole tree, with the marks of a hit on it.
fn cached(tree: Tree, paths: &[(Kind, &[TreePath])]) -> Result<Context, SetUpError> {
    let doing = || format!("caching {} files and as many absent names", tree.files());
    let budget = Vfs::budget_for(2 * tree.files() + tree.directories() + WINDOW as u64);
    let vfs = Vfs::builder().budget(budget).one_by_one().build(tree).doing(doing)?;
    let context = vfs.context(Credentials::user(1000, 1000, &[]));
    for _ in ["to fill the caches", "to leave the marks"] {
        for (kind, paths) in paths {
            let expected = if *kind == Kind::File { Ok(()) } else { Err(Errno::ENOENT) };
            let wrong = paths.iter().find(|path| context.access(*path, Access::READ) != expected);
            wrong.map_or(Ok(()), |path| Err(format!("{path:?} is not what it should be"))).doing(doing)?;
        }
    }
    match vfs.stats().evictions {
        0 => Ok(context),
        some => Err(format!("{some} names were evicted")).doing(doing),
    }
}

/// One that takes turns.
struct Entrant<'a> {
    who: String,
    work: Box<dyn Work + 'a>,
}

impl<'a> Entrant<'a> {
    fn new(who: impl Into<String>, paths: &'a [TreePath], ask: impl Fn(&[TreePath]) -> usize + Send + Sync + 'a) -> Entrant<'a> {
        Entrant { who: who.into(), work: Box::new(Asking { paths, next: AtomicUsize::new(0), ask }) }
    }
}

/// All that take part; the first is what the others are compared with.
fn entrants<'a>(
    context: &'a Context,
    (papaya, quick, moka): (&'a Papaya, &'a Quick, &'a Moka),
    on_disk: &'a [OnDisk],
    kind: Kind,
    paths: &'a [TreePath],
) -> Vec<Entrant<'a>> {
    const READ: Access = Access::READ;
    let mut all = vec![
        Entrant::new("access", paths, |paths| paths.iter().filter(|path| context.access(*path, READ).is_ok()).count()),
        Entrant::new("access, 32 at once", paths, |paths| context.access_many(paths, READ).filter(Result::is_ok).count()),
        Entrant::new("stat", paths, |paths| paths.iter().filter(|path| context.stat(*path).is_ok()).count()),
        Entrant::new("stat, 32 at once", paths, |paths| context.stat_many(paths).filter(Result::is_ok).count()),
        Entrant::new(Papaya::WHAT, paths, move |paths| held_of(papaya, kind, paths)),
        Entrant::new(Quick::WHAT, paths, move |paths| held_of(quick, kind, paths)),
        Entrant::new(Moka::WHAT, paths, move |paths| held_of(moka, kind, paths)),
    ];
    all.extend(on_disk.iter().map(|on_disk| {
        let who = format!("access(2), {}", on_disk.file_system);
        Entrant::new(who, paths, |paths| paths.iter().filter(|path| on_disk.is_there(path)).count())
    }));
    all
}

/// Returns how many of some paths a cache holds.
#[inline(always)]
fn held_of(cache: &impl WholePaths, kind: Kind, paths: &[TreePath]) -> usize {
    paths.iter().filter(|path| cache.get(path.path_bytes()) == Some(kind)).count()
}

fn rows_of(
    plan: &Plan,
    tree: Tree,
    kind: Kind,
    entrants: &[Entrant<'_>],
    progress: Progress<'_>,
) -> Result<Vec<Row>, SetUpError> {
    let mut race = Race::new(Pace { rounds: plan.rounds as usize, turn: plan.turn });
    let lanes: Vec<_> = entrants.iter().map(|entrant| race.enter(&*entrant.work, 1)).collect();
    race.warm_up();
    let (what, mut round) = (format!("{} files: asking for {}", tree.files(), kind.name()), 0);
    let results = race.run(&mut || {
        round += 1;
        progress(&what, round, plan.rounds.into());
    });
    let row = |(entrant, lane): (&Entrant<'_>, _)| Row {
        who: entrant.who.clone(),
        kind,
        ns: results.nanoseconds(lane),
        times: results.ratio(lane, lanes[0]),
    };
    Ok(entrants.iter().zip(lanes.iter().copied()).map(row).collect())
}

/// Asks for some paths in a pass, and for those behind them in the next.
struct Asking<'a, F> {
    paths: &'a [TreePath],
    next: AtomicUsize,
    ask: F,
}

impl<F: Fn(&[TreePath]) -> usize + Send + Sync> Work for Asking<'_, F> {
    fn lookups(&self) -> u64 {
        self.paths.len().min(WINDOW) as u64
    }

    #[inline(never)]
    fn run(&self, passes: u64) -> u64 {
        let (mut found, mut next) = (0, self.next.load(Relaxed));
        for _ in 0..passes {
            let window = self.paths.get(next..next + WINDOW);
            found += (self.ask)(window.unwrap_or(&self.paths[..self.paths.len().min(WINDOW)]));
            next = if window.is_some() { next + WINDOW } else { WINDOW };
        }
        self.next.store(next, Relaxed);
        found as u64
    }
}
