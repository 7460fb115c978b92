//! `wide`: lookups at random in caches that are larger than the processor's.
//!
//! The names are those of a [`Tree`] six components deep, with 10,000 to ten million files, and as
//! many names that are absent and known to be. pathwalk and papaya cache all of them. The caches
//! that evict have room for as many as fit into pathwalk's bytes. The kernel fills its own caches.
//! Then each entrant looks up paths in an order that looks random, files and absent names apart. So
//! nearly each step waits for memory. The measurement shows how long the waits are, and how many of
//! them overlap.
//!
//! - [`tree`]: the tree, a file system for pathwalk, and its paths;
//! - [`peers`]: caches of whole paths;
//! - `on_disk`: the same files for the kernel.
//!
//! The entrants take turns. Paths lie in memory in the order in which they are looked up, so that
//! reading them costs little, and the same for all entrants. Filling the caches is not timed.
//!
//! What it does not do: change anything, or look up paths from more than one thread.

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

/// The least number of paths between two looks at the clock: a multiple of the number of paths that
/// are read ahead together.
const WINDOW: usize = 30 * 32;

/// The number of bytes that all entrants but the kernel take for one file and one absent name
/// together.
const BYTES_OF_ALL: u64 = 1700;

/// A plan of measurements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The numbers of files, with one tree for each.
    pub files: Vec<u64>,
    /// The directories in which trees of real files are made for the kernel.
    pub dirs: Vec<PathBuf>,
    /// The number of rounds that are timed.
    pub rounds: u32,
    /// The duration of an entrant's turn.
    pub turn: Duration,
}

/// The result of one entrant.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The name of the entrant.
    pub who: String,
    /// The kind of paths that were looked up.
    pub kind: Kind,
    /// The time of a lookup, in nanoseconds.
    pub ns: Quartiles,
    /// The ratio of this entrant's lookups per second to those of `access` of one path at a time,
    /// taken round by round.
    pub times: Quartiles,
}

/// The capacity and memory of an entrant.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// The name of the entrant.
    pub who: &'static str,
    /// The resident memory for a path in bytes, with files and absent names counted alike.
    pub bytes: f64,
    /// The percentage of the paths for which the entrant has room: within as many bytes as pathwalk
    /// takes if it can evict, and all of them otherwise.
    pub percent: f64,
}

/// The results for a tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The tree.
    pub tree: Tree,
    /// The results by kind, in the order of the entrants.
    pub rows: Vec<Row>,
    /// The capacity and memory of each cache.
    pub held: Vec<Held>,
    /// Remarks on the figures, such as entrants that were left out.
    pub notes: Vec<String>,
}

/// A callback for progress. Its arguments are the current step, the part of it that is done, and
/// the whole.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// Measures all trees, one after the other. Blocks until then.
///
/// Returns an error if there is too little memory, if files cannot be made in a directory, or if an
/// answer is wrong.
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

/// Returns an error if there is too little memory for a tree.
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

/// Returns a context whose caches hold the whole tree, with the mark of a hit on each entry.
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

/// An entrant of the race.
struct Entrant<'a> {
    who: String,
    work: Box<dyn Work + 'a>,
}

impl<'a> Entrant<'a> {
    fn new(who: impl Into<String>, paths: &'a [TreePath], ask: impl Fn(&[TreePath]) -> usize + Send + Sync + 'a) -> Entrant<'a> {
        Entrant { who: who.into(), work: Box::new(Asking { paths, next: AtomicUsize::new(0), ask }) }
    }
}

/// Returns all entrants. The others are compared with the first.
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

/// Returns the number of the given paths that a cache holds.
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

/// A loop that looks up one window of paths in each pass, and the next window in the next pass.
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
