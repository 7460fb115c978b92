//! Random changes of a mounted layer, taken into a branch.
//!
//! `PATHWALK_OVERLAY_ROUNDS` is the number of rounds, `PATHWALK_OVERLAY_SEED` the seed.

use fastrand::Rng;

use super::trees::{Scope, change};
use super::world::{Shown, World, as_root, host, keep_accesses};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("it is a number"))
}

/// Returns the seed, which it prints.
pub(crate) fn seed() -> u64 {
    let seed = number("PATHWALK_OVERLAY_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("PATHWALK_OVERLAY_SEED={seed}");
    seed
}

#[test]
fn a_branch_shows_what_the_mount_showed() {
    as_root(|| {
        let seed = seed();
        let mut seeds = Rng::with_seed(seed);
        let (mut steps, rounds) = (0, number("PATHWALK_OVERLAY_ROUNDS").unwrap_or(40));
        for round in 0..rounds {
            let mut random = Rng::with_seed(seeds.u64(..));
            let mut world = World::new();
            let base = host(&world.base());
            (0..random.usize(..120)).for_each(|_| change(&base, &mut random, Scope::All));
            drop(base);
            keep_accesses(&world.base()).expect("it is the caller's");
            let mut mounted = world.mount();
            let many = random.usize(..60);
            // Mounted anew, overlayfs goes by what it noted.
            for _ in 0..random.usize(1..3) {
                let view = host(&mounted.at);
                (0..many).for_each(|_| change(&view, &mut random, Scope::All));
                steps += many;
                drop(view);
                let layer = mounted.unmount();
                mounted = world.mount_again(layer);
            }
            let shown = Shown::of(&host(&mounted.at));
            world.take(&mounted.unmount(), &shown, &format!("round {round} of seed {seed}"));
        }
        println!("{steps} steps in {rounds} rounds");
    });
}
