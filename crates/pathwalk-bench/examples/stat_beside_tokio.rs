//! The cost of a cached `stat` in an async task: through the async face, through a ring, and by
//! `tokio::fs::metadata` and `std::fs::metadata` on the same file, in alternating rounds.
//!
//! ```sh
//! cargo run --release -p pathwalk-bench --example stat_beside_tokio [FILE]
//! ```

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use pathwalk::{Context, Credentials, Errno, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_ring::{AsyncContext, Entry, Op, Pool, Ring};

const ROUNDS: usize = 21;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Returns the nanoseconds for each of so many operations.
fn each(begin: Instant, times: u32) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(times)
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Measures the async face.
async fn face(vfs: &AsyncContext, path: &str) -> Result<f64, Error> {
    const TIMES: u32 = 100_000;
    let begin = Instant::now();
    for _ in 0..TIMES {
        black_box(vfs.stat(black_box(path)).await?);
    }
    Ok(each(begin, TIMES))
}

/// Measures the engine without a face. Its calls may wait.
fn direct(context: &Context, path: &str) -> Result<f64, Error> {
    const TIMES: u32 = 100_000;
    let begin = Instant::now();
    for _ in 0..TIMES {
        black_box(context.stat(black_box(path))?);
    }
    Ok(each(begin, TIMES))
}

/// Measures a ring, in batches.
fn ring(ring: &mut Ring, path: &str) -> Result<f64, Error> {
    const BATCH: u32 = 32;
    const BATCHES: u32 = 3_000;
    let begin = Instant::now();
    for _ in 0..BATCHES {
        let mut queue = ring.queue();
        for id in 0..BATCH {
            queue.push(Entry::new(id.into(), Op::stat(black_box(path)))).map_err(Errno::from)?;
        }
        ring.submit(&mut queue)?;
        while let Some(done) = ring.reap() {
            black_box(done.result?);
        }
    }
    Ok(each(begin, BATCH * BATCHES))
}

async fn tokio_fs(file: &std::path::Path) -> Result<f64, Error> {
    const TIMES: u32 = 1_000;
    let begin = Instant::now();
    for _ in 0..TIMES {
        black_box(tokio::fs::metadata(black_box(file)).await?);
    }
    Ok(each(begin, TIMES))
}

fn std_fs(file: &std::path::Path) -> Result<f64, Error> {
    const TIMES: u32 = 10_000;
    let begin = Instant::now();
    for _ in 0..TIMES {
        black_box(std::fs::metadata(black_box(file))?);
    }
    Ok(each(begin, TIMES))
}

async fn measure(file: PathBuf) -> Result<(), Error> {
    let file = file.canonicalize()?;
    let path = file.to_str().ok_or("a path that is text")?;
    let context: Context =
        Vfs::builder().build(HostFs::open("/".as_ref())?.with_coherence(Coherence::Frozen))?.context(Credentials::root());
    let vfs = AsyncContext::new(context.clone(), Pool::default());
    let mut batches = Ring::new(context);
    vfs.stat(path).await?;
    let [mut ours, mut plain, mut of_ring, mut of_tokio, mut of_std] = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        ours.push(face(&vfs, path).await?);
        plain.push(direct(vfs.context(), path)?);
        of_ring.push(ring(&mut batches, path)?);
        of_tokio.push(tokio_fs(&file).await?);
        of_std.push(std_fs(&file)?);
    }
    let ratio = median(of_tokio.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect());
    println!("stat of {}, ns, medians of {ROUNDS} rounds:", file.display());
    println!("  async face, cached      {:>10.1}", median(ours));
    println!("  Context::stat, cached   {:>10.1}", median(plain));
    println!("  ring, cached, by 32     {:>10.1}", median(of_ring));
    println!("  tokio::fs::metadata     {:>10.1}", median(of_tokio));
    println!("  std::fs::metadata       {:>10.1}", median(of_std));
    println!("tokio::fs::metadata takes {ratio:.0} times as long as the async face");
    Ok(())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    let file = std::env::args_os().nth(1).map_or_else(std::env::current_exe, |file| Ok(file.into()))?;
    // On a worker of the runtime, where a server's tasks run.
    tokio::spawn(measure(file)).await?
}
