//! Scenarios: submitting, completing, cancelling and dropping beside each other, on a small `Vfs`.
//!
//! Under shuttle, they run with schedulers that are random but repeatable: `RUSTFLAGS="--cfg
//! shuttle" cargo test -p pathwalk-ring --release --lib scenarios`. Otherwise they run on real
//! threads, a few times.
//!
//! | variable | what | default |
//! |---|---|---|
//! | `SHUTTLE_ITERATIONS` | schedules of each scenario and scheduler | 1000 |
//! | `SHUTTLE_SEED` | seed of the schedulers | 1 |
//! | `SHUTTLE_SCHEDULE` | one schedule, as a failure prints it: to repeat it | |
//!
//! Each ends in [`world::World::end`]: every worker has gone, no work is left, and no name was
//! looked up more often than necessary. A lost wake-up shows as a deadlock. What shuttle does not
//! do: let time pass. Time limits here expire at once.

mod closing;
mod futures;
mod rings;
mod world;

/// Runs a scenario under many schedules.
#[cfg(not(shuttle))]
fn explore(scenario: fn()) {
    (0..200).for_each(|_| scenario());
}

#[cfg(shuttle)]
fn explore(scenario: fn()) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};

    if let Ok(schedule) = std::env::var("SHUTTLE_SCHEDULE") {
        return shuttle::replay(scenario, &schedule);
    }
    let (iterations, seed) = (number("SHUTTLE_ITERATIONS", 1000) as usize, number("SHUTTLE_SEED", 1));
    eprintln!("SHUTTLE_SEED={seed} SHUTTLE_ITERATIONS={iterations}");
    run_under(RandomScheduler::new_from_seed(seed, iterations), scenario);
    // Few switches, at any depth.
    run_under(PctScheduler::new_from_seed(seed, 3, iterations), scenario);
}

#[cfg(shuttle)]
fn run_under(scheduler: impl shuttle::scheduler::Scheduler + 'static, scenario: fn()) {
    let mut config = shuttle::Config::new();
    config.stack_size = 256 << 10;
    shuttle::Runner::new(scheduler, config).run(scenario);
}

#[cfg(shuttle)]
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a number")))
}
