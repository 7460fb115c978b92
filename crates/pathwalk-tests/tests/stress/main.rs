//! Readers beside a thread that renames, one that creates, unlinks and changes permissions, one
//! that evicts, and one that lists. Every answer must have been true at some instant during its
//! lookup.
//!
//! The tests count iterations, so that they make the same calls on a slow machine.
//! `PATHWALK_STRESS_SECONDS=600` makes each test run that long.

mod failing;
mod phase;
mod readers;
mod sure;
mod world;

use std::time::{Duration, Instant};

use pathwalk::{BuildError, Vfs, internals};
use pathwalk_memfs::MemFs;
use readers::Reader;
use world::{Eviction, World};

/// The number of questions of each reader.
const ITERATIONS: u64 = 20_000;
/// The number of readers. Together with the other threads there are more than the machine may have
/// cores, so that threads are also descheduled at bad moments.
const READERS: usize = 3;
/// A budget with room for a few hundred of the tree's 1,700 nodes.
const BUDGET: u64 = 192 << 10;
/// A budget with room for all of them.
const AMPLE_BUDGET: u64 = 2 << 20;

/// Returns whether a thread that has asked so often asks again.
fn goes_on() -> impl Fn(u64) -> bool + Sync {
    let seconds = std::env::var("PATHWALK_STRESS_SECONDS").ok().map(|text| {
        Duration::from_secs(text.parse().unwrap_or_else(|_| panic!("PATHWALK_STRESS_SECONDS is to be a number, not {text:?}")))
    });
    let begin = Instant::now();
    move |asked| match seconds {
        Some(limit) => !asked.is_multiple_of(64) || begin.elapsed() < limit,
        None => asked < ITERATIONS,
    }
}

fn storm(budget: u64, eviction: Eviction) {
    let goes_on = goes_on();
    let world = World::new(budget, READERS);
    std::thread::scope(|scope| {
        for seed in 1..=READERS as u64 {
            let (world, goes_on) = (&world, &goes_on);
            scope.spawn(move || {
                let _reading = world.reading();
                let mut reader = Reader::new(world, seed);
                (0..).take_while(|asked| goes_on(*asked)).for_each(|_| reader.ask());
            });
        }
        scope.spawn(|| world.rename_again_and_again());
        scope.spawn(|| world.create_again_and_again());
        scope.spawn(|| world.evict_again_and_again(eviction));
        scope.spawn(|| world.list_again_and_again());
    });
    println!("{} renames, {} creations and removals", world.swapped.begun() * 4, world.churned[0].begun() * 6);
    println!("{:?}", world.vfs.stats());
    world.check_nothing_leaked();
}

/// Checks walks that mostly meet an entry that is not cached, and take the locks.
#[test]
fn in_a_cache_that_is_much_too_small() {
    storm(BUDGET, Eviction::Everything);
}

/// Checks a cache with hardly any hits: it has room for 64 names, and the threads pin many of them
/// at any time.
#[test]
fn in_the_smallest_cache_there_can_be() {
    let refused = Vfs::builder().budget(0).build(MemFs::new());
    let Err(BuildError::BudgetTooSmall { least, .. }) = refused else { panic!("a budget of nothing: {refused:?}") };
    storm(least, Eviction::Everything);
}

/// Checks walks that mostly take no lock, beside threads that change what they read.
#[test]
fn in_a_cache_with_room() {
    storm(AMPLE_BUDGET, Eviction::Little);
}

#[test]
fn failed_lookups() {
    failing::every_failure_is_seen(READERS as u64 + 1, goes_on());
}

/// Checks whole paths that are learned at the normal pace.
#[test]
fn sure_answers() {
    sure::all_are_right(|builder| builder);
}

#[test]
fn sure_answers_where_each_path_is_learned() {
    sure::all_are_right(internals::learning_at_once);
}

#[test]
fn sure_answers_where_directories_are_learned() {
    sure::all_are_right(internals::directories_learned_at_once);
}
