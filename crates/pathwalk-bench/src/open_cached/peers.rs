//! The peers: the calls that async programs use in place of a ring over a cache, on the same files;
//! and pathwalk's async face, used in the same way.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use pathwalk::{Context, OpenFlags};
use pathwalk_ring::{AsyncContext, Pool};
use tokio::fs;
use tokio::runtime::{Builder, Runtime};

use super::drive::Failure;
use super::place::{Place, Target};
use super::processors::Processors;
use super::uring::{Begin, Kernel};
use super::world::each;
use crate::rounds::Quartiles;

/// The state of the cache when a peer is timed: the kernel's cache or, for pathwalk, that of the
/// `Vfs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// All files are cached.
    Warm,
    /// No file is cached.
    Cold,
}

/// The result of one peer.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The name of the call.
    pub what: &'static str,
    /// The number of calls in flight at once.
    pub depth: u32,
    /// The state of the cache.
    pub cache: Cache,
    /// The nanoseconds of each call: the time of the whole batch, divided by the number of calls.
    /// It includes closing the opened files.
    pub ns: Quartiles,
}

/// The peers at each depth, round by round.
pub(super) struct Peers {
    rows: Vec<(Peer, Vec<f64>)>,
    notes: Vec<String>,
}

/// The names of a file, owned by the task that opens it.
struct Names {
    inside: String,
    outside: PathBuf,
}

/// The number of calls that the cache answers.
const CALLS: usize = 2000;

impl Peers {
    pub(super) fn new() -> Peers {
        Peers { rows: Vec::new(), notes: Vec::new() }
    }

    /// Runs one round at one depth.
    pub(super) fn turn(
        &mut self,
        depth: u32,
        place: &Place,
        processors: &Processors,
        context: Context,
        hot: &[Target],
        cold: &[Target],
    ) -> Result<(), Failure> {
        let warm: Vec<&Target> = hot.iter().cycle().take(CALLS).collect();
        self.of_async(depth, processors, context, &warm)?;
        let mut kernel = match Kernel::new(depth) {
            Ok(kernel) => kernel,
            Err(error) => {
                self.note(format!("without io_uring, which cannot be had here: {error}"));
                return Ok(());
            }
        };
        for (what, begin) in [("io_uring openat", Begin::Inline), ("io_uring openat, always punted", Begin::Punted)] {
            let time = kernel.opens(&warm, begin)?;
            self.add(what, depth, Cache::Warm, each(time, warm.len()));
        }
        // If the caches cannot be dropped, the earlier rounds have noted the reason.
        if place.cool().is_ok() {
            let cold: Vec<&Target> = cold.iter().collect();
            let time = kernel.opens(&cold, Begin::Inline)?;
            self.add("io_uring openat", depth, Cache::Cold, each(time, cold.len()));
        }
        Ok(())
    }

    fn of_async(&mut self, depth: u32, processors: &Processors, context: Context, warm: &[&Target]) -> Result<(), Failure> {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).build();
        let runtime = runtime.map_err(|error| Failure::Peer("a runtime", error))?;
        // The thread that may block stays for ten seconds, and is used again.
        let started = processors.beside(|| runtime.block_on(runtime.spawn_blocking(|| ())));
        started.map_err(|error| Failure::Peer("a thread", io::Error::other(error)))?;
        let vfs = AsyncContext::new(context, Pool::builder().workers(1).build());
        let to_read = OpenFlags::READ;
        let of_pathwalk = |errno| io::Error::from(errno);
        let mut add = |what, time: Result<Duration, io::Error>| {
            let time = time.map_err(|error| Failure::Peer(what, error))?;
            self.add(what, depth, Cache::Warm, each(time, warm.len()));
            Ok(())
        };
        let stat = async |file: &Names| vfs.stat(&file.inside).await.map(drop).map_err(of_pathwalk);
        add("pathwalk's async stat", timed(&runtime, warm, depth, stat))?;
        let metadata = async |file: &Names| fs::metadata(&file.outside).await.map(drop);
        add("tokio::fs::metadata", timed(&runtime, warm, depth, metadata))?;
        let open = async |file: &Names| vfs.open(&file.inside, to_read).await.map(drop).map_err(of_pathwalk);
        add("pathwalk's async open", timed(&runtime, warm, depth, open))?;
        let open = async |file: &Names| fs::File::open(&file.outside).await.map(drop);
        add("tokio::fs::File::open", timed(&runtime, warm, depth, open))
    }

    fn add(&mut self, what: &'static str, depth: u32, cache: Cache, ns: f64) {
        let is_it = |row: &&mut (Peer, Vec<f64>)| (row.0.what, row.0.depth, row.0.cache) == (what, depth, cache);
        match self.rows.iter_mut().find(is_it) {
            Some((_, rounds)) => rounds.push(ns),
            None => self.rows.push((Peer { what, depth, cache, ns: Quartiles::default() }, vec![ns])),
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the results, and the notes for the reader.
    pub(super) fn rows(self) -> (Vec<Peer>, Vec<String>) {
        let rows = self.rows.into_iter().map(|(peer, rounds)| Peer { ns: Quartiles::of(rounds), ..peer });
        (rows.collect(), self.notes)
    }
}

/// Returns the time of all calls, made by `depth` tasks at once.
fn timed(
    runtime: &Runtime,
    targets: &[&Target],
    depth: u32,
    call: impl AsyncFn(&Names) -> io::Result<()>,
) -> io::Result<Duration> {
    let names = |target: &&Target| Names { inside: target.inside.clone(), outside: target.outside.clone() };
    let all: Vec<Names> = targets.iter().map(names).collect();
    let one = async |files: &[Names]| {
        for file in files {
            call(file).await?;
        }
        io::Result::Ok(())
    };
    let start = Instant::now();
    if depth == 1 {
        runtime.block_on(one(&all))?;
        return Ok(start.elapsed());
    }
    let tasks = all.chunks(all.len().div_ceil(depth as usize)).map(one);
    runtime.block_on(try_join_all(tasks))?;
    Ok(start.elapsed())
}
