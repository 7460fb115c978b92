//! `cargo xtask fsx`: random reads, writes, truncations, changes of space, copies and clones of two
//! files, checked against a plain buffer and beside the same files of the kernel.
//!
//! The rules are those of the classic file system exerciser of that name; no code is taken from it.
//! Operations are drawn in episodes that begin with two empty files. They do not depend on the
//! state, so that an episode with a mismatch is shrunk by leaving operations out.
//!
//! The kernel's files are on ext4, which has all modes of `fallocate` but unsharing, and no clones:
//! there a clone is written as bytes. XFS has both. After a clone, and for reserved pages, the
//! kernel's holes say nothing: its caches decide whether a reserved page that was read is data.
//!
//! What it does not do: times, modes and limits of space, which `differential` draws.

mod disk;
mod op;
mod oracle;
mod sides;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use disk::{Disk, Image};
use op::Op;
use oracle::Oracle;
use sides::{KernelFiles, OurFiles, Side};

/// The number of operations of one episode.
const EPISODE: usize = 1000;

/// The number of operations after which all contents are compared.
const ALL_AFTER: usize = 16;

/// The arguments of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The number of operations in all.
    #[arg(long, default_value_t = 100_000)]
    ops: u64,
    /// Go on for this number of seconds, however many operations that are.
    #[arg(long)]
    seconds: Option<u64>,
    /// The seed of the first episode; the others count up from it. A fresh one if it is not given;
    /// it is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// The kernel's file system.
    #[arg(long, value_enum, default_value_t = Disk::Ext4, conflicts_with = "alone")]
    disk: Disk,
    /// A directory of the host, on that file system, for the kernel's files. Without it, one is
    /// made in an image and mounted, for which root is needed.
    #[arg(long)]
    beside: Option<PathBuf>,
    /// Check against the buffer alone, and leave the kernel out.
    #[arg(long, conflicts_with = "beside")]
    alone: bool,
    /// The file system of pathwalk: in memory, or a directory of the host beside the kernel's
    /// files.
    #[arg(long, value_enum, default_value_t = Below::Memfs, conflicts_with = "alone")]
    fs: Below,
}

/// The file system of pathwalk.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Below {
    /// The reference file system, in memory.
    Memfs,
    /// A directory of the host, on the same file system as the kernel's files.
    Host,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let first = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let image = if args.alone || args.beside.is_some() { None } else { Some(Image::mounted(args.disk)?) };
    let beside = image.as_ref().map(Image::directory).or(args.beside.as_deref());
    let begun = Instant::now();
    let is_over = |done: u64| match args.seconds {
        Some(seconds) => begun.elapsed() >= Duration::from_secs(seconds),
        None => done >= args.ops,
    };
    let mut done = 0;
    for seed in first.. {
        if is_over(done) {
            break;
        }
        let ops = op::drawn(seed, EPISODE);
        let play = |ops: &[Op]| -> Result<Option<Difference>> {
            let ours = match beside {
                Some(directory) if args.fs == Below::Host => OurFiles::on_host(directory, args.disk)?,
                _ => OurFiles::new()?,
            };
            let mut sides: Vec<Box<dyn Side>> = vec![Box::new(ours)];
            if let Some(directory) = beside {
                sides.push(Box::new(KernelFiles::new(directory, args.disk)?));
            }
            episode(ops, &mut sides)
        };
        if let Some(difference) = play(&ops)? {
            return report(seed, &ops[..=difference.step], difference, play);
        }
        done += EPISODE as u64;
    }
    println!("{done} operations from seed {first}: nothing differs ({:.0?})", begun.elapsed());
    Ok(ExitCode::SUCCESS)
}

/// A difference of one side from the buffer.
struct Difference {
    /// The number of the operation, from 0.
    step: usize,
    text: String,
}

/// Carries the operations out on all sides.
fn episode(ops: &[Op], sides: &mut [Box<dyn Side>]) -> Result<Option<Difference>> {
    let mut oracle = Oracle::default();
    for (step, op) in ops.iter().enumerate() {
        let expected = oracle.carry_out(op);
        for side in &mut *sides {
            let found = side.carry_out(op, &oracle, &expected)?;
            if !oracle.allows(op, &expected, &found, side.kind()) {
                let text = format!("{} answers {found}, and the buffer {expected}", side.name());
                return Ok(Some(Difference { step, text }));
            }
            let compares_all = step % ALL_AFTER == ALL_AFTER - 1 || step + 1 == ops.len();
            if compares_all && let Some(text) = side.differs(&oracle)? {
                return Ok(Some(Difference { step, text: format!("{}: {text}", side.name()) }));
            }
        }
    }
    Ok(None)
}

/// Shrinks an episode, and prints what is left of it.
fn report(seed: u64, ops: &[Op], mut last: Difference, play: impl Fn(&[Op]) -> Result<Option<Difference>>) -> Result<ExitCode> {
    let mut left = ops.to_vec();
    let mut size = left.len() / 2;
    while size > 0 {
        let mut begin = 0;
        while begin < left.len() {
            let mut fewer = left.clone();
            fewer.drain(begin..left.len().min(begin + size));
            match play(&fewer)? {
                Some(difference) => {
                    fewer.truncate(difference.step + 1);
                    (left, last) = (fewer, difference);
                }
                None => begin += size,
            }
        }
        size /= 2;
    }
    if left.is_empty() {
        bail!("an episode of seed {seed} without operations differs: {}", last.text);
    }
    println!("seed {seed}, shrunk to {} of {} operations:", left.len(), ops.len());
    left.iter().for_each(|op| println!("    {op}"));
    println!("{}", last.text);
    Ok(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_operations_say() {
        for seed in 0..20 {
            let ops = op::drawn(seed, EPISODE);
            let mut sides: Vec<Box<dyn Side>> = vec![Box::new(OurFiles::new().expect("files are made"))];
            let differs = episode(&ops, &mut sides).expect("it is carried out");
            assert!(differs.is_none(), "seed {seed}: {}", differs.map(|found| found.text).unwrap_or_default());
        }
    }
}
