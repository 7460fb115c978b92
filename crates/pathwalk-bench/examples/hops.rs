//! The parts of the way to a worker and back: of a `Nop`, for which the worker has nothing to do,
//! and of a cached `open`, both sent to the worker; and of the same `open` answered at submission.
//! Measured in nanoseconds, and in context switches of all threads for each of them.
//!
//! ```sh
//! cargo build --release -p pathwalk-bench --example hops
//! taskset -c 0 target/release/examples/hops [DEPTH [FILE]]
//! ```

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, Descriptors, HostFs};
use pathwalk_ring::{Entry, EntryFlags, Op, Pool, Ring};

const ROUNDS: usize = 41;
const COUNT: usize = 2_000;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Returns the switches of all threads of this process: voluntary and involuntary.
fn switches() -> Result<[u64; 2], Error> {
    let mut sums = [0; 2];
    for task in std::fs::read_dir("/proc/self/task")? {
        let status = std::fs::read_to_string(task?.path().join("status"))?;
        for (sum, name) in sums.iter_mut().zip(["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"]) {
            let count = status.lines().find_map(|line| line.strip_prefix(name));
            *sum += count.map_or(Ok(0), |count| count.trim().parse::<u64>())?;
        }
    }
    Ok(sums)
}

/// The way in which entries are submitted.
#[derive(Clone, Copy)]
enum Submit {
    OneByOne,
    Together,
}

/// Runs all entries with `depth` in flight, reaped by halves.
fn batch<'p>(ring: &mut Ring, depth: usize, submit: Submit, entry: impl Fn() -> Entry<'p>) -> Result<(), Errno> {
    let (mut begun, mut done, mut queue) = (0, 0, ring.queue());
    while done < COUNT {
        while begun < COUNT && ring.outstanding() + queue.len() < depth {
            match submit {
                Submit::OneByOne => ring.submit_one(entry())?,
                Submit::Together => queue.push(entry())?,
            }
            begun += 1;
        }
        if !queue.is_empty() {
            ring.submit(&mut queue)?;
        }
        for completion in (0..ring.wait((depth / 2).max(1))).map_while(|_| ring.reap()) {
            completion.result?;
            done += 1;
        }
    }
    Ok(())
}

/// Measures for each entry: nanoseconds, and switches of both kinds.
fn measured<'p>(ring: &mut Ring, depth: usize, submit: Submit, entry: impl Fn() -> Entry<'p>) -> Result<[f64; 3], Error> {
    let (before, begin) = (switches()?, Instant::now());
    batch(ring, depth, submit, entry)?;
    let took = begin.elapsed().as_nanos() as f64;
    let after = switches()?;
    Ok([took, (after[0] - before[0]) as f64, (after[1] - before[1]) as f64].map(|all| all / COUNT as f64))
}

fn quartiles(mut of: Vec<f64>) -> [f64; 3] {
    of.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| of[of.len() * quarter / 4])
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let depth: usize = arguments.next().map_or(Ok(32), |depth| depth.parse())?;
    let file = PathBuf::from(arguments.next().unwrap_or_else(|| "/usr/bin/env".into())).canonicalize()?;
    let inside = file.to_str().ok_or("the file's path is no text")?;
    let context = Vfs::builder()
        .budget(4 << 20)
        .build(HostFs::open(Path::new("/"))?.with_coherence(Coherence::Frozen).with_descriptors(Descriptors::AtFirstUse))?
        .context(Credentials::root());
    context.open(inside, OpenFlags::READ)?;
    let pool = Pool::builder().workers(1).idle(Duration::from_secs(3600)).build();
    let mut ring = Ring::builder(context).entries(depth).completions(depth).pool(pool).build();
    let nop = || Entry::new(0, Op::Nop).with(EntryFlags::ASYNC);
    let punted = || Entry::new(0, Op::open(inside, OpenFlags::READ)).with(EntryFlags::ASYNC);
    let cached = || Entry::new(0, Op::open(inside, OpenFlags::READ));
    let ways = [Submit::OneByOne, Submit::Together];
    let mut rounds: [[Vec<[f64; 3]>; 3]; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (way, rounds) in ways.into_iter().zip(&mut rounds) {
            rounds[0].push(measured(&mut ring, depth, way, nop)?);
            rounds[1].push(measured(&mut ring, depth, way, punted)?);
            rounds[2].push(measured(&mut ring, depth, way, cached)?);
        }
    }
    println!("depth {depth}, {COUNT} a batch, {ROUNDS} rounds that take turns; quartiles of each");
    for (way, rounds) in ["submitted one by one", "submitted together"].iter().zip(&rounds) {
        println!("{way}:");
        for (name, rounds) in ["nop, punted", "open, punted", "open, cached"].iter().zip(rounds) {
            let of = |which: usize| quartiles(rounds.iter().map(|round| round[which]).collect());
            println!("  {name:13} ns {:6.0?}  switches {:5.3?}  preemptions {:5.3?}", of(0), of(1), of(2));
        }
    }
    Ok(())
}
