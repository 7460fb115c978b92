//! Scenarios: whole operations beside each other on a small `Vfs`.
//!
//! Under shuttle, with a scheduler that is random but repeatable: `RUSTFLAGS="--cfg shuttle" cargo
//! test -p pathwalk --release --lib scenarios`. Otherwise on real threads, a few times. This is
//! also how they run under Miri, which tries weak memory and other schedules with each seed.
//!
//! | variable | what | default |
//! |---|---|---|
//! | `SHUTTLE_ITERATIONS` | schedules of each scenario, hash and scheduler | 1000 |
//! | `SHUTTLE_SEED` | of the schedulers | 1 |
//! | `SHUTTLE_SCHEDULE`, `SHUTTLE_HASH` | one failed schedule, and `spread` or `collide` | |
//!
//! The last two repeat one schedule, as a failure prints it.
//!
//! Each scenario ends in `World::end`: nothing stays locked, pinned or cached, and the file system
//! was told to forget each node as often as it handed it out.
//!
//! What shuttle does not do: it is sequentially consistent. Orderings are tried by loom, on the
//! primitives, and by Miri.

mod acl;
mod attributes;
mod complete;
mod create_unlink;
mod crossing;
mod doubts;
mod events;
mod eviction;
mod failures;
mod fs;
mod handles;
mod id_maps;
mod iget;
mod inode_flags;
mod inodes;
mod invalidate;
#[cfg(not(shuttle))]
mod kept;
mod leases;
mod listed_nodes;
mod locks;
mod memo;
mod mounts;
mod moves;
mod one_question;
#[cfg(shuttle)]
mod one_switch;
#[cfg(not(shuttle))]
mod one_thread;
mod operations;
mod pipes;
mod rename;
mod scope;
mod search;
mod second_names;
mod siblings;
mod splice;
#[cfg(shuttle)]
mod sticky;
mod sweeps;
mod trees;
mod world;
mod xattr;

#[cfg(shuttle)]
use shuttle::thread;
#[cfg(not(shuttle))]
use std::thread;

use world::Hash;

/// Runs a scenario of one thread.
fn alone(scenario: fn(Hash)) {
    for hash in [Hash::Spread, Hash::Collide] {
        #[cfg(shuttle)]
        run_under(shuttle::scheduler::RandomScheduler::new(1), scenario, hash);
        #[cfg(not(shuttle))]
        scenario(hash);
    }
}

/// Runs a scenario under many schedules, with names spread over the table, and with names that all
/// collide.
fn explore(scenario: fn(Hash)) {
    for hash in [Hash::Spread, Hash::Collide] {
        run(scenario, hash);
    }
}

/// Runs a scenario as [`explore`] does. Also runs it under each schedule in which its first thread
/// is interrupted once, by everything that the other threads do.
fn interrupt(scenario: fn(Hash)) {
    #[cfg(shuttle)]
    if std::env::var("SHUTTLE_SCHEDULE").is_err() {
        for hash in [Hash::Spread, Hash::Collide] {
            eprintln!("SHUTTLE_HASH={}, one switch", hash.name());
            run_under(one_switch::OneSwitch::default(), scenario, hash);
        }
    }
    explore(scenario);
}

#[cfg(not(shuttle))]
fn run(scenario: fn(Hash), hash: Hash) {
    let times = if cfg!(miri) { 1 } else { 50 };
    (0..times).for_each(|_| scenario(hash));
}

#[cfg(shuttle)]
fn run(scenario: fn(Hash), hash: Hash) {
    use shuttle::scheduler::PctScheduler;

    if let Ok(schedule) = std::env::var("SHUTTLE_SCHEDULE") {
        if std::env::var("SHUTTLE_HASH").is_ok_and(|name| name == hash.name()) {
            shuttle::replay(move || scenario(hash), &schedule);
        }
        return;
    }
    let (iterations, seed) = (number("SHUTTLE_ITERATIONS", 1000) as usize, number("SHUTTLE_SEED", 1));
    eprintln!("SHUTTLE_HASH={} SHUTTLE_SEED={seed} SHUTTLE_ITERATIONS={iterations}", hash.name());
    run_under(sticky::Sticky::new(seed, iterations), scenario, hash);
    // Few switches, at any depth.
    run_under(PctScheduler::new_from_seed(seed, 3, iterations), scenario, hash);
}

#[cfg(shuttle)]
fn run_under(scheduler: impl shuttle::scheduler::Scheduler + 'static, scenario: fn(Hash), hash: Hash) {
    let mut config = shuttle::Config::new();
    config.stack_size = 256 << 10;
    shuttle::Runner::new(scheduler, config).run(move || scenario(hash));
}

#[cfg(shuttle)]
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a number")))
}
