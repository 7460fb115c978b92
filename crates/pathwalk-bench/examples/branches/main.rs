//! Branches beside a file system in memory, and beside a copy of the tree: forks, lookups,
//! creations, removals and commits, in the first fork and in the deepest.
//!
//! ```sh
//! cargo run --release -p pathwalk-bench --example branches -- [FILES [DEPTH [ROUNDS [PROGRAM]]]]
//! ```
//!
//! The base is in memory and has `FILES` files (20,000), a hundred in a directory. `DEPTH` forks
//! (1,000) lie in one another. Each figure is the median of `ROUNDS` rounds (5), in which all
//! subjects take turns, each with caches that were just made; those of the base know all names.
//! Beside them is a copy of an equal tree on the disk of temporary files (`copied`). Forks in a
//! store come last (`stored`), also by a `PROGRAM`, which is a `pathwalk`.

mod copied;
mod stored;

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use copied::{Copied, Tree};
use pathwalk::{Context, Credentials, FileSystem, Vfs};
use pathwalk_bench::rounds::Quartiles;
use pathwalk_branch::Branches;
use pathwalk_memfs::MemFs;
use stored::Stored;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The number of files in a directory.
const IN_ONE: usize = 100;

/// The number of files that are made.
const MADE: usize = 10_000;

/// The number of changes that are committed.
const COMMITTED: usize = 1_000;

/// The number of forks of which the mean is taken.
const FORKS: usize = 1_000;

/// The sizes of a run.
struct Size {
    files: usize,
    depth: usize,
    rounds: usize,
}

/// The times of a row, one a round, for each subject: in memory, the first fork, the deepest.
#[derive(Default)]
struct Row([Vec<f64>; 3]);

/// What was measured, in microseconds.
#[derive(Default)]
struct Measured {
    fork: Row,
    look: Row,
    again: Row,
    read: Row,
    first: Row,
    make: Row,
    remove: Row,
    commit: Row,
    copied: Copied,
}

fn main() -> Result<()> {
    let numbers = std::env::args().skip(1).take(3).map(|text| text.parse());
    let numbers = numbers.collect::<std::result::Result<Vec<usize>, _>>()?;
    let program = std::env::args_os().nth(4).map(PathBuf::from);
    let number = |place: usize, usual: usize| numbers.get(place).copied().unwrap_or(usual);
    let size = Size { files: number(0, 20_000), depth: number(1, 1_000).max(2), rounds: number(2, 5).max(1) };
    let (tree, mut measured) = (Tree::new(&size)?, Measured::default());
    for round in 0..size.rounds {
        measure(&size, round, &mut measured)?;
        tree.measure(&size, &mut measured.copied)?;
    }
    print(&size, &measured);
    Stored::measure(size.depth, program.as_deref())?.print();
    Ok(())
}

/// Measures one round. The subject that begins is another one in each.
fn measure(size: &Size, round: usize, into: &mut Measured) -> Result<()> {
    let files = size.files;
    let base = shown(memory(files)?)?;
    looked_up(&base, files)?;
    let branches = Branches::new(base)?;
    let first = branches.fork(None, "1")?;
    for depth in 2..=size.depth {
        let branch = branches.fork(Some(&(depth - 1).to_string()), &depth.to_string())?;
        // Each hundredth has something of its own.
        if depth % 100 == 0 {
            shown(branch)?.write("/own", depth.to_string())?;
        }
    }
    let deepest = branches.get(&size.depth.to_string())?;
    let deepest_name = size.depth.to_string();
    let parents = [(1, "1"), (2, &*deepest_name)];
    for (which, parent) in (0..2).map(|turn| parents[(round + turn) % 2]) {
        into.fork.0[which].push(forks(&branches, parent)?);
    }
    let each = |row: &mut Row, work: &dyn Fn(&Context) -> Result<f64>| {
        for which in (0..3).map(|turn| (round + turn) % 3) {
            let context = match which {
                0 => shown(memory(files)?)?,
                1 => shown(first.clone())?,
                _ => shown(deepest.clone())?,
            };
            row.0[which].push(work(&context)?);
        }
        Ok::<_, Box<dyn Error>>(())
    };
    each(&mut into.look, &|context| looked_up(context, files))?;
    each(&mut into.again, &|context| {
        looked_up(context, files)?;
        looked_up(context, files)
    })?;
    each(&mut into.read, &|context| {
        looked_up(context, files)?;
        timed(files, || {
            let path = |number: usize| format!("/{}/{}", number / IN_ONE, number % IN_ONE);
            (0..files).try_for_each(|number| context.read(path(number)).map(drop))
        })
    })?;
    each(&mut into.first, &|context| timed(1, || context.write("/0/0", "new")))?;
    each(&mut into.make, &|context| {
        context.create_dir("/made")?;
        timed(MADE, || (0..MADE).try_for_each(|number| context.write(format!("/made/{number}"), "")))
    })?;
    each(&mut into.remove, &|context| {
        timed(files, || (0..files / IN_ONE).try_for_each(|dir| context.remove_dir_all(format!("/{dir}"))))
    })?;
    into.commit.0[1].push(committed(&branches, None)?);
    into.commit.0[2].push(committed(&branches, Some(&deepest_name))?);
    Ok(())
}

fn print(size: &Size, measured: &Measured) {
    println!("{} files, {} forks in one another, medians of {} rounds\n", size.files, size.depth, size.rounds);
    println!("{:<34}{:>12}{:>12}{:>12}{:>14}", "µs each", "in memory", "first fork", "deepest", "to the first");
    for (name, row) in [
        ("fork", &measured.fork),
        ("lookup of a name, nothing cached", &measured.look),
        ("lookup of a path, all cached", &measured.again),
        ("read of a file of the base", &measured.read),
        ("first write to a file", &measured.first),
        ("make a file", &measured.make),
        ("remove a file", &measured.remove),
    ] {
        let [memory, first, deepest] = row.0.each_ref().map(|times| median(times));
        let ratio: Vec<f64> = row.0[2].iter().zip(&row.0[1]).map(|(deepest, first)| deepest / first).collect();
        println!("{name:<34}{memory:>12}{first:>12}{deepest:>12}{:>14}", median(&ratio));
    }
    println!("\n{:<34}{:>12}{:>12}{:>12}{:>12}", "ms for all", "in memory", "first fork", "deepest", "copied tree");
    let copied = &measured.copied;
    for (name, row, parts, copy) in [
        ("fork", &measured.fork, 1, &copied.copy),
        ("first write to a file", &measured.first, 1, &copied.first),
        ("10,000 files made", &measured.make, MADE, &copied.make),
        ("all files removed", &measured.remove, size.files, &copied.remove),
        ("commit of 1,000 new files", &measured.commit, 1, &copied.back),
    ] {
        let all = |times: &Vec<f64>| median(&times.iter().map(|time| time * parts as f64 / 1e3).collect::<Vec<_>>());
        let [memory, first, deepest] = row.0.each_ref().map(all);
        println!("{name:<34}{memory:>12}{first:>12}{deepest:>12}{:>12}", median(copy));
    }
    measured.copied.print_commit();
}

fn median(times: &[f64]) -> String {
    if times.is_empty() { "-".into() } else { format!("{:.3}", Quartiles::of(times.to_vec()).median) }
}

/// Makes a tree with so many files.
fn fill<E>(
    files: usize,
    mut dir: impl FnMut(String) -> std::result::Result<(), E>,
    mut file: impl FnMut(String) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for number in 0..files {
        if number % IN_ONE == 0 {
            dir((number / IN_ONE).to_string())?;
        }
        file(format!("{}/{}", number / IN_ONE, number % IN_ONE))?;
    }
    Ok(())
}

fn memory(files: usize) -> Result<MemFs> {
    let fs = MemFs::new();
    fill(files, |path| fs.mkdir(format!("/{path}"), 0o755), |path| fs.file(format!("/{path}"), 0o644))?;
    Ok(fs)
}

fn shown(fs: impl FileSystem + 'static) -> Result<Context> {
    Ok(Vfs::builder().budget(256 << 20).build(fs)?.context(Credentials::root()))
}

/// Returns the microseconds that each of so many parts takes.
fn timed<E: Error + 'static>(parts: usize, run: impl FnOnce() -> std::result::Result<(), E>) -> Result<f64> {
    let begin = Instant::now();
    run()?;
    Ok(begin.elapsed().as_secs_f64() * 1e6 / parts as f64)
}

fn looked_up(context: &Context, files: usize) -> Result<f64> {
    let paths: Vec<String> = (0..files).map(|number| format!("/{}/{}", number / IN_ONE, number % IN_ONE)).collect();
    timed(files, || paths.iter().try_for_each(|path| context.stat(path).map(drop)))
}

/// Returns the microseconds of a fork.
fn forks(branches: &Branches, parent: &str) -> Result<f64> {
    let time = timed(FORKS, || (0..FORKS).try_for_each(|number| branches.fork(Some(parent), &format!("f{number}")).map(drop)))?;
    (0..FORKS).try_for_each(|number| branches.drop(&format!("f{number}")))?;
    Ok(time)
}

/// Returns the microseconds of a commit onto a fork of a branch, or of the base.
fn committed(branches: &Branches, of: Option<&str>) -> Result<f64> {
    let target = branches.fork(of, "target")?;
    let seen = shown(target)?;
    let changes = shown(branches.fork(Some("target"), "changes")?)?;
    for number in 0..COMMITTED {
        changes.write(format!("/new-{number}"), "text")?;
    }
    let time = timed(1, || branches.commit("changes"))?;
    seen.stat(format!("/new-{}", COMMITTED - 1))?;
    branches.drop("target")?;
    Ok(time)
}
