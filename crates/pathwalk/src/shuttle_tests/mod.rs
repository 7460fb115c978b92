//! Scenarios: whole operations beside each other on a small `Vfs`, under a scheduler that is random but repeatable.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p pathwalk --release --lib shuttle_`. What is known of memory ordering is not tried here (the
//! scheduler is sequentially consistent); loom tries that on the primitives.
//!
//! | variable | what | default |
//! |---|---|---|
//! | `SHUTTLE_ITERATIONS` | schedules of each scenario and scheduler | 300 |
//! | `SHUTTLE_SEED` | of the schedulers | 1 |
//! | `SHUTTLE_SCHEDULE` | one schedule, as printed by a failure, with `SHUTTLE_HASH` (`spread`, `collide`): to repeat it | |
//!
//! Each scenario ends in [`World::end`]: nothing stays locked, pinned or cached, and the file system was told to forget each
//! node as often as it handed it out.

mod attributes;
mod create_unlink;
mod eviction;
mod failures;
mod fs;
mod inodes;
mod invalidate;
mod moves;
mod one_question;
mod rename;
mod splice;
mod world;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use world::Hash;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: a number is wanted")))
}

/// Runs a scenario under many schedules, with names spread over the table, and with names that all collide.
fn explore(scenario: fn(Hash)) {
    let (iterations, seed) = (number("SHUTTLE_ITERATIONS", 300) as usize, number("SHUTTLE_SEED", 1));
    let schedule = std::env::var("SHUTTLE_SCHEDULE").ok();
    for hash in [Hash::Spread, Hash::Collide] {
        if let Some(schedule) = &schedule {
            if std::env::var("SHUTTLE_HASH").is_ok_and(|name| name == hash.name()) {
                shuttle::replay(move || scenario(hash), schedule);
            }
            continue;
        }
        eprintln!("SHUTTLE_HASH={} SHUTTLE_SEED={seed} SHUTTLE_ITERATIONS={iterations}", hash.name());
        run(RandomScheduler::new_from_seed(seed, iterations), scenario, hash);
        // Few switches, at depths that random walks seldom reach.
        run(PctScheduler::new_from_seed(seed, 3, iterations), scenario, hash);
    }
}

fn run(scheduler: impl Scheduler + 'static, scenario: fn(Hash), hash: Hash) {
    let mut config = shuttle::Config::new();
    config.stack_size = 256 << 10;
    shuttle::Runner::new(scheduler, config).run(move || scenario(hash));
}
