//! What one tenant of a `Vfs` costs another: a tenant that renames directories in a loop beside one
//! that asks for whole paths. Hits are counted, and no time is measured.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pathwalk::{Access, At, Context, Credentials, Errno, RenameFlags, Vfs};
use pathwalk_memfs::MemFs;

/// Files of the tenant whose hits are counted.
const FILES: usize = 256;

/// Rounds over all of them.
const ROUNDS: usize = 400;

/// Trees whose means count.
const TREES: usize = 8;

/// The least number of renames that count as a loop beside the other tenant.
const RENAMES: u64 = 1000;

/// The most hits that the other tenant may cost, in percent.
const BAR: f64 = 3.0;

/// Builds a tree with the homes of both tenants below one directory.
fn tree() -> Vfs {
    let fs = MemFs::new();
    for dir in ["/srv/home/ann/src/lib/text", "/srv/home/bob/a", "/srv/home/bob-2"] {
        fs.mkdir_all(dir, 0o755).unwrap();
    }
    for file in 0..FILES {
        fs.file(path_of(file), 0o644).unwrap();
        fs.file(format!("/srv/home/bob/a/{file}"), 0o644).unwrap();
    }
    Vfs::builder().build(fs).unwrap()
}

fn path_of(file: usize) -> String {
    format!("/srv/home/ann/src/lib/text/{file}")
}

/// Asks for all files in rounds. Returns the share of hits in the second half of them, in percent.
fn hits(ann: &Context, mut goes_on: impl FnMut() -> ControlFlow<()>) -> f64 {
    let paths: Vec<String> = (0..FILES).map(path_of).collect();
    let round = || paths.iter().for_each(|path| assert_eq!(ann.access(path, Access::READ), Ok(())));
    (0..ROUNDS).for_each(|_| round());
    let (before, mut rounds) = (Vfs::walked_by_this_thread(), 0);
    while rounds < ROUNDS || goes_on().is_continue() {
        round();
        rounds += 1;
    }
    let walked = Vfs::walked_by_this_thread() - before;
    100.0 * (1.0 - walked as f64 / (rounds * FILES) as f64)
}

/// Returns the hits of the tenant that asks, alone and beside one that renames: the means of some
/// trees, in each of which other paths share a place.
fn beside(step: impl Fn(&Context, u64) -> Result<(), Errno> + Sync) -> (f64, f64) {
    let sum = (0..TREES).map(|_| in_one_tree(&step)).fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    (sum.0 / TREES as f64, sum.1 / TREES as f64)
}

/// Runs a tenant that renames beside one that asks. Returns the other's hits alone and beside it.
fn in_one_tree(step: &(impl Fn(&Context, u64) -> Result<(), Errno> + Sync)) -> (f64, f64) {
    let vfs = tree();
    let (ann, bob) = (vfs.context(Credentials::user(1000, 1000, &[])), vfs.context(Credentials::root()));
    let alone = std::thread::scope(|scope| scope.spawn(|| hits(&ann, || ControlFlow::Break(()))).join().unwrap());
    let (steps, over) = (&AtomicU64::new(0), &AtomicBool::new(false));
    let enough = || match steps.load(Ordering::Relaxed) {
        ..RENAMES => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let both = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                step(&bob, steps.load(Ordering::Relaxed)).unwrap();
                steps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let both = scope.spawn(|| hits(&ann, enough)).join();
        over.store(true, Ordering::Relaxed);
        both.unwrap()
    });
    println!("{alone:.2} % alone, {both:.2} % beside {} steps", steps.load(Ordering::Relaxed));
    (alone, both)
}

fn assert_cheap((alone, both): (f64, f64)) {
    assert!(alone > 99.0, "{alone:.2} %");
    assert!(alone - both < BAR, "{both:.2} % of {alone:.2} %");
}

#[test]
fn renames_in_a_directory_of_its_own() {
    assert_cheap(beside(|bob, step| {
        let names = ["/srv/home/bob/a", "/srv/home/bob/b"];
        let (from, to) = (step as usize % 2, (step + 1) as usize % 2);
        bob.renameat(At::Cwd, names[from], At::Cwd, names[to], RenameFlags::empty())
    }));
}

/// The directory that changes is on the way of each path that is asked for.
#[test]
fn renames_in_the_directory_that_both_share() {
    assert_cheap(beside(|bob, step| {
        let names = ["/srv/home/bob-2", "/srv/home/bob-3"];
        let (from, to) = (step as usize % 2, (step + 1) as usize % 2);
        bob.renameat(At::Cwd, names[from], At::Cwd, names[to], RenameFlags::empty())
    }));
}

/// Each name that is asked for after a rename is a path that was never asked for.
#[test]
fn renames_and_lookups_of_ever_new_paths() {
    assert_cheap(beside(|bob, step| {
        let name = |step: u64| format!("/srv/home/bob/{}", if step == 0 { "a".into() } else { format!("n{step}") });
        bob.renameat(At::Cwd, name(step), At::Cwd, name(step + 1), RenameFlags::empty())?;
        for file in 0..FILES {
            let path = format!("{}/{file}", name(step + 1));
            for _ in 0..4 {
                bob.access(&path, Access::READ)?;
            }
        }
        Ok(())
    }));
}
