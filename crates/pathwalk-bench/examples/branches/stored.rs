//! Forks in a store on the disk of temporary files: the time of one, in this process and by the
//! program, and the bytes that an empty one takes.

use std::path::Path;
use std::process::Command;

use pathwalk::{Credentials, Vfs};
use pathwalk_bench::rounds::Quartiles;
use pathwalk_branch::{Branches, DiskStore, Options};
use pathwalk_hostfs::{Coherence, HostFs};

use crate::{Result, timed};

/// The number of branches, and the number of runs of the program.
const BRANCHES: usize = 10_000;
const RUNS: usize = 21;

/// What was measured.
pub(crate) struct Stored {
    /// The bytes of the store for each fork.
    bytes: f64,
    /// The microseconds of a fork of the first branch, and of the deepest.
    first: f64,
    deepest: f64,
    /// The milliseconds of the program, and of one that does nothing.
    program: Option<[f64; 2]>,
}

impl Stored {
    /// Measures with so many branches in one another; the others are forks of the deepest.
    pub(crate) fn measure(depth: usize, program: Option<&Path>) -> Result<Stored> {
        let directory = tempfile::tempdir()?;
        let (base, store) = (directory.path().join("base"), directory.path().join("store"));
        std::fs::create_dir(&base)?;
        let before = {
            let branches = open(&base, &store)?;
            branches.fork_only(None, "0")?;
            drop(branches);
            bytes(&store)?
        };
        let branches = open(&base, &store)?;
        // What this process has open is copied from memory; the forks are of what is stored.
        let name = |number: usize| number.to_string();
        let first =
            timed(depth, || (1..=depth).try_for_each(|number| branches.fork_only(Some(&name(number - 1)), &name(number))))?;
        let (parent, rest) = (name(depth), BRANCHES.saturating_sub(depth).max(1));
        let deepest = timed(rest, || (0..rest).try_for_each(|number| branches.fork_only(Some(&parent), &format!("d{number}"))))?;
        drop(branches);
        let bytes = (bytes(&store)? - before) as f64 / (depth + rest) as f64;
        let program = program.map(|program| by_program(program, &base, &store, &parent)).transpose()?;
        Ok(Stored { bytes, first, deepest, program })
    }

    pub(crate) fn print(&self) {
        println!("\nin a store, {BRANCHES} branches");
        println!("bytes of an empty fork: {:.0}", self.bytes);
        println!("fork in this process: {:.0} µs on the way down, {:.0} µs of the deepest", self.first, self.deepest);
        if let Some([fork, nothing]) = self.program {
            println!("fork by the program: {fork:.2} ms; `--version`: {nothing:.2} ms");
        }
    }
}

fn open(base: &Path, store: &Path) -> Result<Branches> {
    let host = HostFs::open_writable(base)?.with_coherence(Coherence::Exclusive);
    let base = Vfs::builder().build(host)?.context(Credentials::root());
    Ok(Branches::open(base, Options::default().sync_every(None), DiskStore::open(store)?)?)
}

/// Returns the bytes of the rows of a store.
fn bytes(store: &Path) -> Result<u64> {
    Ok(std::fs::metadata(store.join("rows"))?.len())
}

/// Returns the milliseconds of a fork by the program, and of the program that does nothing; they
/// take turns.
fn by_program(program: &Path, base: &Path, store: &Path, parent: &str) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for run in 0..RUNS {
        let name = format!("p{run}");
        let mut fork = Command::new(program);
        fork.args(["branch", "fork", &name, "--from", parent, "--base"]).arg(base).arg("--store").arg(store);
        let mut nothing = Command::new(program);
        nothing.arg("--version");
        for (command, times) in [fork, nothing].iter_mut().zip(&mut times) {
            let time = timed(1, || {
                let output = command.output()?;
                if output.status.success() { Ok(()) } else { Err(std::io::Error::other("the program failed")) }
            })?;
            times.push(time / 1e3);
        }
    }
    Ok(times.map(|times| Quartiles::of(times).median))
}
