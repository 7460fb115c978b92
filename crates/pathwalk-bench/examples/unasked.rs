//! Measures what reading directories as a whole costs a program that looks up few names of each
//! directory, and what it saves a program that looks up many.
//!
//! Looks up each path of its input (one a line, of this machine) with empty caches: once with
//! single lookups only, and once with the engine's default. The two ways alternate.
//!
//! ```sh
//! zcat traces/g++.strace.gz | grep -o '"/[^"]*"' | tr -d '"' |
//!     cargo run --release -p pathwalk-bench --example unasked
//! ```

use std::io::{self, BufRead};
use std::path::Path;
use std::time::{Duration, Instant};

use pathwalk::{Context, Credentials, Stats, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};

const ROUNDS: usize = 41;
const BUDGET: u64 = 64 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Ask {
    OneByOne,
    AsItComes,
}

fn context(ask: Ask) -> Result<Context, Box<dyn std::error::Error>> {
    let builder = Vfs::builder().budget(BUDGET);
    let builder = if ask == Ask::OneByOne { builder.one_by_one() } else { builder };
    Ok(builder.build(HostFs::open(Path::new("/"))?.with_coherence(Coherence::Frozen))?.context(Credentials::root()))
}

/// Looks up all paths. Returns the time that it took, the number of paths found, and the counters
/// of the caches.
fn walk(ask: Ask, paths: &[Vec<u8>]) -> Result<(Duration, usize, Stats), Box<dyn std::error::Error>> {
    let context = context(ask)?;
    let start = Instant::now();
    let found = paths.iter().filter(|path| context.stat(&path[..]).is_ok()).count();
    Ok((start.elapsed(), found, context.vfs().stats()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<Vec<u8>> = io::stdin().lock().split(b'\n').collect::<Result<_, _>>()?;
    if paths.is_empty() {
        return Err("there are no paths in the input: give one a line".into());
    }
    let ways = [(Ask::OneByOne, "one by one"), (Ask::AsItComes, "as it comes")];
    // The first round warms the kernel's caches.
    let mut times = [(); 2].map(|()| Vec::new());
    let mut last = [None, None];
    for round in 0..=ROUNDS {
        for (at, (ask, _)) in ways.iter().enumerate() {
            let (time, found, stats) = walk(*ask, &paths)?;
            if round > 0 {
                times[at].push(time);
            }
            last[at] = Some((found, stats));
        }
    }
    for ((_, name), (times, last)) in ways.iter().zip(times.iter_mut().zip(last)) {
        times.sort_unstable();
        let Some((found, stats)) = last else { continue };
        println!(
            "{name:12} {:6} µs for {} paths, {found} of them there: asked for {} names, told of {} unasked, knew of {} that they are absent",
            times[times.len() / 2].as_micros(),
            paths.len(),
            stats.fs_lookups,
            stats.siblings,
            stats.known_absent,
        );
    }
    Ok(())
}
